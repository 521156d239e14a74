//! All services answer, and support exactly what the simulator's features declare.

use selene_ros::geometry_msgs::Vector3;
use selene_ros::simulation_interfaces::{
    Bounds, EntityCategory, EntityFilters, EntityInfo, Resource, Result as ResultCode, SimulationState,
    SimulatorFeatures as Feature, TagsFilter, srv,
};
use selene_simulation::{ControlOptions, OfferedScenario, SimulationOptions, WorldRequest, Worlds};
use selene_tests::control_client::{ControlClient, YARD_ROVER, at, controlled, of_uri, paused, spawning, yard};

/// A feature, the request that was tried, and the result code.
type FeatureCall = (u8, &'static str, u8);

#[test]
fn every_service_answers_and_can_do_what_the_features_say() {
    controlled(&paused(&[]), |caller| {
        let request = Default::default();
        let reported = caller.call::<srv::GetSimulatorFeatures>("get_simulator_features", &request).features.features;
        let tried: Vec<FeatureCall> =
            [of_entities(caller), of_spawning(caller), of_worlds(caller), of_places(caller), of_time(caller)].concat();
        for (feature, what, code) in &tried {
            let can = *code != ResultCode::RESULT_FEATURE_UNSUPPORTED;
            assert_eq!(reported.contains(&u16::from(*feature)), can, "{what} answers {code}");
        }
        let is_tried = |feature: &&u16| tried.iter().any(|(tried, ..)| u16::from(*tried) == **feature);
        let untried: Vec<_> = reported.iter().filter(|feature| !is_tried(feature)).copied().collect();
        assert_eq!(untried, [u16::from(Feature::STEP_SIMULATION_ACTION)], "the action is tried by itself");
    });
}

/// Answer of a process that refuses to switch to the world of site polar, and accepts all others.
fn answer(request: WorldRequest) {
    match request.file().ends_with("site/polar.yaml") {
        true => request.refuse_file("line 3: not today"),
        false => request.accept(yard().scenario()),
    }
}

#[test]
fn a_world_is_loaded_only_where_that_is_possible_and_by_a_file_that_may_be_used() {
    let elsewhere = OfferedScenario {
        name: "elsewhere".to_owned(),
        file: "/selene:/config/scenario/elsewhere.yaml".into(),
        description: "Another place".to_owned(),
    };
    let (worlds, requested) = Worlds::offering(move || vec![elsewhere.clone()]);
    let answering = std::thread::spawn(move || requested.into_iter().for_each(answer));
    let control = ControlOptions { worlds: Some(worlds), ..paused(&[]).control };
    controlled(&SimulationOptions { control, ..paused(&[]) }, |caller| {
        let reported = caller.call::<srv::GetSimulatorFeatures>("get_simulator_features", &Default::default()).features;
        assert!(reported.features.contains(&u16::from(Feature::WORLD_LOADING)));
        let filter = TagsFilter { tags: vec!["scenario".to_owned()], ..TagsFilter::default() };
        let request = srv::GetAvailableWorldsRequest { filter, ..Default::default() };
        let worlds = caller.call::<srv::GetAvailableWorlds>("get_available_worlds", &request).worlds;
        let [offered] = &worlds[..] else { panic!("{worlds:?}") };
        assert_eq!((offered.name.as_str(), offered.description.as_str()), ("elsewhere", "Another place"));
        let load = |world_resource: Resource| {
            let request = srv::LoadWorldRequest { world_resource, ..Default::default() };
            caller.call::<srv::LoadWorld>("load_world", &request)
        };
        for resource in [offered.world_resource.clone(), of_uri("site/mare.yaml")] {
            let loaded = load(resource);
            assert_eq!((loaded.result.result, loaded.world.name.as_str()), (ResultCode::RESULT_OK, "test_yard"));
        }
        type Code = srv::LoadWorldResponse;
        for (uri, code) in [
            ("site/polar.yaml", Code::RESOURCE_PARSE_ERROR),
            ("", Code::NO_RESOURCE),
            ("rover/viper.urdf", Code::UNSUPPORTED_FORMAT),
            ("http://example.org/x.yaml", Code::UNSUPPORTED_FORMAT),
            ("site/nowhere.yaml", ResultCode::RESULT_OPERATION_FAILED),
            ("../Cargo.yaml", ResultCode::RESULT_OPERATION_FAILED),
            ("file:///selene%3A/config/scenario/none.yaml", ResultCode::RESULT_NOT_FOUND),
        ] {
            let refused = load(of_uri(uri)).result;
            assert_eq!(refused.result, code, "{uri}: {}", refused.error_message);
        }
        assert_eq!(caller.state(), SimulationState::STATE_PAUSED, "the run goes on");
    });
    answering.join().expect("all are answered");
}

fn of_entities(caller: &ControlClient) -> Vec<FeatureCall> {
    let rover = || YARD_ROVER.to_owned();
    let found = |filters: EntityFilters| {
        caller.call::<srv::GetEntities>("get_entities", &srv::GetEntitiesRequest { filters }).result.result
    };
    let within = |r#type: u8, count: usize| {
        let points = vec![Vector3 { x: 1.0, y: 1.0, z: 1.0 }; count];
        found(EntityFilters { bounds: Bounds { r#type, points }, ..EntityFilters::default() })
    };
    let tags = TagsFilter { tags: vec!["rock".to_owned()], ..TagsFilter::default() };
    let categories = vec![EntityCategory { category: EntityCategory::CATEGORY_ROBOT }];
    let states = caller.call::<srv::GetEntitiesStates>("get_entities_states", &Default::default());
    let bounds = srv::GetEntityBoundsRequest { entity: rover() };
    let bounds = caller.call::<srv::GetEntityBounds>("get_entity_bounds", &bounds);
    let info = caller.call::<srv::GetEntityInfo>("get_entity_info", &srv::GetEntityInfoRequest { entity: rover() });
    let set_info = srv::SetEntityInfoRequest { entity: rover(), info: EntityInfo::default() };
    let set_info = caller.call::<srv::SetEntityInfo>("set_entity_info", &set_info);
    assert_eq!(caller.entity_state(YARD_ROVER).header.frame_id, "map");
    vec![
        (Feature::ENTITY_TAGS, "tags", found(EntityFilters { tags, ..EntityFilters::default() })),
        (Feature::ENTITY_CATEGORIES, "categories", found(EntityFilters { categories, ..EntityFilters::default() })),
        (Feature::ENTITY_BOUNDS, "get_entity_bounds", bounds.result.result),
        (Feature::ENTITY_BOUNDS_BOX, "a box", within(Bounds::TYPE_BOX, 2)),
        (Feature::ENTITY_BOUNDS_CONVEX, "a hull", within(Bounds::TYPE_CONVEX_HULL, 4)),
        (Feature::ENTITY_STATE_GETTING, "get_entities_states", states.result.result),
        (Feature::ENTITY_STATE_SETTING, "set_entity_state", caller.place(YARD_ROVER, at(0.0, 7.0)).result),
        (Feature::ENTITY_INFO_GETTING, "get_entity_info", info.result.result),
        (Feature::ENTITY_INFO_SETTING, "set_entity_info", set_info.result.result),
    ]
}

fn of_spawning(caller: &ControlClient) -> Vec<FeatureCall> {
    let rock = caller.spawn(&spawning("one", "selene:rock?diameter_m=0.2", at(5.0, 5.0)));
    let text = Resource { resource_string: "<robot name='x'/>".to_owned(), ..of_uri("") };
    let by_text = caller.spawn(&srv::SpawnEntityRequest { entity_resource: text, ..spawning("x", "", at(5.0, 5.0)) });
    let several = caller.call::<srv::SpawnEntities>("spawn_entities", &Default::default());
    let spawnables = caller.call::<srv::GetSpawnables>("get_spawnables", &Default::default());
    assert!(spawnables.spawnables.iter().any(|of| of.entity_resource.uri.ends_with("rover/viper.yaml")));
    vec![
        (Feature::SPAWNING, "spawn_entity", rock.result.result),
        (Feature::SPAWNING_RESOURCE_STRING, "a text", by_text.result.result),
        (Feature::SPAWNING_ENTITIES, "spawn_entities", several.result.result),
        (Feature::DELETING, "delete_entity", caller.delete("one")),
        (Feature::SPAWNABLES, "get_spawnables", spawnables.result.result),
    ]
}

fn of_worlds(caller: &ControlClient) -> Vec<FeatureCall> {
    let load = |world_resource: Resource| {
        let request = srv::LoadWorldRequest { world_resource, ..Default::default() };
        caller.call::<srv::LoadWorld>("load_world", &request).result.result
    };
    let worlds = |tag: &str| {
        let filter = TagsFilter { tags: vec![tag.to_owned()], ..TagsFilter::default() };
        let request = srv::GetAvailableWorldsRequest { filter, ..Default::default() };
        let answer = caller.call::<srv::GetAvailableWorlds>("get_available_worlds", &request);
        let names: Vec<_> = answer.worlds.iter().map(|world| world.name.clone()).collect();
        assert_eq!(names.contains(&"polar".to_owned()), tag != "measured", "{tag}: {names:?}");
        answer.result.result
    };
    let current = caller.call::<srv::GetCurrentWorld>("get_current_world", &Default::default());
    assert_eq!(current.world.name, "test_yard");
    let unload = caller.call::<srv::UnloadWorld>("unload_world", &Default::default());
    let text = Resource { resource_string: "name: x".to_owned(), ..of_uri("") };
    vec![
        (Feature::WORLD_LOADING, "load_world", load(of_uri("site/polar.yaml"))),
        (Feature::WORLD_RESOURCE_STRING, "a world's text", load(text)),
        (Feature::WORLD_UNLOADING, "unload_world", unload.result.result),
        (Feature::WORLD_INFO_GETTING, "get_current_world", current.result.result),
        (Feature::AVAILABLE_WORLDS, "get_available_worlds", worlds("moon")),
        (Feature::WORLD_TAGS, "worlds by tags", worlds("measured")),
    ]
}

fn of_places(caller: &ControlClient) -> Vec<FeatureCall> {
    let poses = caller.call::<srv::GetNamedPoses>("get_named_poses", &Default::default());
    let names: Vec<_> = poses.poses.iter().map(|pose| pose.name.as_str()).collect();
    assert_eq!(names, ["curiosity/start", "curiosity/waypoint_1"]);
    let bounds = srv::GetNamedPoseBoundsRequest { name: names[0].to_owned() };
    let bounds = caller.call::<srv::GetNamedPoseBounds>("get_named_pose_bounds", &bounds);
    vec![
        (Feature::NAMED_POSES, "get_named_poses", poses.result.result),
        (Feature::POSE_BOUNDS, "get_named_pose_bounds", bounds.result.result),
    ]
}

fn of_time(caller: &ControlClient) -> Vec<FeatureCall> {
    type Scope = srv::ResetSimulationRequest;
    let reset = |scope: u8| {
        caller.call::<srv::ResetSimulation>("reset_simulation", &srv::ResetSimulationRequest { scope }).result.result
    };
    let step = |steps: u64| {
        caller.call::<srv::StepSimulation>("step_simulation", &srv::StepSimulationRequest { steps }).result.result
    };
    let state = caller.call::<srv::GetSimulationState>("get_simulation_state", &Default::default());
    vec![
        (Feature::SIMULATION_RESET, "reset", reset(Scope::SCOPE_ALL)),
        (Feature::SIMULATION_RESET_TIME, "reset of time", reset(Scope::SCOPE_TIME)),
        (Feature::SIMULATION_RESET_STATE, "reset of state", reset(Scope::SCOPE_STATE)),
        (Feature::SIMULATION_RESET_SPAWNED, "reset of spawned", reset(Scope::SCOPE_SPAWNED)),
        (Feature::SIMULATION_STATE_GETTING, "get_simulation_state", state.result.result),
        (Feature::SIMULATION_STATE_SETTING, "playing", caller.enter(SimulationState::STATE_PLAYING)),
        (Feature::SIMULATION_STATE_PAUSE, "paused", caller.enter(SimulationState::STATE_PAUSED)),
        (Feature::STEP_SIMULATION_SINGLE, "a step", step(1)),
        (Feature::STEP_SIMULATION_MULTIPLE, "steps", step(3)),
    ]
}

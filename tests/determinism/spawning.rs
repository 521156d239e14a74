//! Entities added to a run over its services, removed, moved and queried; and requests that are refused.

use selene_ros::geometry_msgs::{PoseStamped, Twist, Vector3};
use selene_ros::simulation_interfaces::{
    Bounds, EntityCategory, EntityFilters, EntityInfo, EntityState, Resource, Result as ResultCode, SpawnEntity,
    TagsFilter, srv,
};
use selene_ros::transport::{Publisher, Transport};
use selene_ros::{Qos, std_msgs};
use selene_tests::control_client::{TIMEOUT, YARD_ROVER, at, controlled, paused, spawning, well};
use selene_tests::repository_file;

/// Whether a topic is open: an open topic refuses messages of another type.
fn is_open(transport: &dyn Transport, topic: &str) -> bool {
    Publisher::<std_msgs::Float64>::new(transport, topic, Qos::reliable()).is_err()
}

#[test]
fn what_is_added_is_sensed_until_it_is_taken_away_also_while_time_stands() {
    controlled(&paused(&["navigation"]), |caller| {
        let bus: &dyn Transport = &caller.recording;
        let added = caller.spawn(&spawning("second", "rover/sorato.yaml?sensors=imu", at(3.0, 5.0)));
        assert_eq!((added.result.result, added.entity_name.as_str()), (ResultCode::RESULT_OK, "second"));
        assert!(is_open(bus, "/second/joint_states") && is_open(bus, "/second/cmd_vel"));
        caller.step(40);
        let reported = caller.recording.take();
        assert!(reported["/second/imu/data"].len() > 20, "{:?}", reported.keys());
        assert_eq!(caller.delete("second"), ResultCode::RESULT_OK);
        caller.step(2);
        assert!(!is_open(bus, "/second/joint_states") && !is_open(bus, "/second/imu/data"));
        assert_eq!(caller.delete("second"), ResultCode::RESULT_NOT_FOUND);
    });
}

#[test]
fn the_number_of_a_rover_that_was_reset_away_may_be_that_of_another_one() {
    controlled(&paused(&["navigation"]), |caller| {
        well(&caller.spawn(&spawning("second", "rover/sorato.yaml?sensors=imu", at(3.0, 5.0))).result);
        caller.step(10);
        caller.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        let other = srv::SpawnEntityRequest {
            entity_namespace: "/moon/other".to_owned(),
            ..spawning("other", "rover/rassor.yaml?sensors=imu", at(3.0, 5.0))
        };
        well(&caller.spawn(&other).result);
        drop(caller.recording.take());
        caller.step(40);
        let reported = caller.recording.take();
        assert!(reported["/moon/other/imu/data"].len() > 20, "{:?}", reported.keys());
        assert!(!reported.keys().any(|topic| topic.starts_with("/second/")), "{:?}", reported.keys());
    });
}

#[test]
fn a_name_is_given_once_unless_another_one_may_be_taken() {
    controlled(&paused(&[]), |caller| {
        let second = |x: f64| spawning("second", "rover/sorato.yaml", at(x, -5.0));
        well(&caller.spawn(&second(0.0)).result);
        assert_eq!(caller.spawn(&second(3.0)).result.result, srv::SpawnEntityResponse::NAME_NOT_UNIQUE);
        let renaming = srv::SpawnEntityRequest { allow_renaming: true, ..second(3.0) };
        let renamed = caller.spawn(&renaming);
        assert_eq!((renamed.result.result, renamed.entity_name.as_str()), (ResultCode::RESULT_OK, "second_1"));
        let nameless = caller.spawn(&spawning("two words", "rover/sorato.yaml", at(6.0, -5.0)));
        assert_eq!(nameless.result.result, srv::SpawnEntityResponse::NAME_INVALID);
        let elsewhere = srv::SpawnEntityRequest {
            entity_namespace: "second".to_owned(),
            ..spawning("third", "rover/sorato.yaml", at(6.0, -5.0))
        };
        assert_eq!(caller.spawn(&elsewhere).result.result, srv::SpawnEntityResponse::NAMESPACE_INVALID);
    });
}

#[test]
fn an_object_is_spawned_by_the_text_of_its_urdf_and_several_one_by_one() {
    controlled(&paused(&[]), |caller| {
        let urdf = "<robot name='post'><link name='post'><visual><geometry><box size='0.2 0.2 2'/></geometry>\
                    </visual></link></robot>";
        let post = Resource { uri: String::new(), resource_string: urdf.to_owned() };
        let request = srv::SpawnEntityRequest { entity_resource: post.clone(), ..spawning("", "", at(5.0, 5.0)) };
        let added = caller.spawn(&request);
        assert_eq!((added.result.result, added.entity_name.as_str()), (ResultCode::RESULT_OK, "post"));
        let bounds = srv::GetEntityBoundsRequest { entity: "post".to_owned() };
        let bounds = caller.call::<srv::GetEntityBounds>("get_entity_bounds", &bounds).bounds;
        assert_eq!((bounds.r#type, bounds.points[0].z, bounds.points[1].z), (Bounds::TYPE_BOX, 1.0, -1.0));

        let one = |name: &str, x: f64| SpawnEntity {
            name: name.to_owned(),
            entity_resource: post.clone(),
            initial_pose: PoseStamped { pose: at(x, 7.0), ..PoseStamped::default() },
            ..SpawnEntity::default()
        };
        let several =
            srv::SpawnEntitiesRequest { spawn_requests: vec![one("a", 1.0), one("post", 2.0), one("b", 3.0)] };
        let answer = caller.call::<srv::SpawnEntities>("spawn_entities", &several);
        let codes: Vec<_> = answer.results.iter().map(|of| of.result.result).collect();
        assert_eq!(answer.result.result, srv::SpawnEntitiesResponse::ENTITIES_SPAWN_FAILED);
        assert_eq!(codes, [ResultCode::RESULT_OK, srv::SpawnEntityResponse::NAME_NOT_UNIQUE, ResultCode::RESULT_OK]);
        let many = srv::SpawnEntitiesRequest { spawn_requests: vec![one("c", 4.0); 101] };
        let refused = caller.call::<srv::SpawnEntities>("spawn_entities", &many).result.result;
        assert_eq!(refused, ResultCode::RESULT_OPERATION_FAILED);
        caller.step(5);
    });
}

#[test]
fn a_rover_is_put_where_it_is_requested_and_not_into_anything() {
    controlled(&paused(&[]), |caller| {
        caller.step(20);
        well(&caller.place(YARD_ROVER, at(2.0, 6.0)));
        let stands = caller.entity_state(YARD_ROVER);
        let place = (stands.pose.position.x, stands.pose.position.y);
        assert_eq!((stands.header.frame_id.as_str(), place), ("map", (2.0, 6.0)));
        caller.step(20);
        assert!((caller.entity_state(YARD_ROVER).pose.position.x - 2.0).abs() < 0.1);

        well(&caller.spawn(&spawning("boulder", "selene:rock?diameter_m=2", at(-8.0, 6.0))).result);
        let inside = caller.place(YARD_ROVER, at(-8.0, 6.0));
        assert_eq!(inside.result, ResultCode::RESULT_OPERATION_FAILED);
        assert!(inside.error_message.contains("inside"), "{inside:?}");
        let mut turned = at(0.0, 8.0);
        turned.orientation.w = 0.0;
        for nowhere in [at(f64::NAN, 0.0), at(1e9, 0.0), turned] {
            assert_eq!(caller.place(YARD_ROVER, nowhere).result, srv::SetEntityStateResponse::INVALID_POSE);
        }
        assert_eq!(caller.place("nobody", at(0.0, 8.0)).result, ResultCode::RESULT_NOT_FOUND);

        let twist = Twist { linear: Vector3 { x: 0.0, y: 0.0, z: 0.5 }, ..Twist::default() };
        let state = EntityState { twist, ..EntityState::default() };
        let entity = "boulder".to_owned();
        let request = srv::SetEntityStateRequest { entity, state, set_twist: true, ..Default::default() };
        well(&caller.call::<srv::SetEntityState>("set_entity_state", &request).result);
        assert_eq!(caller.entity_state("boulder").twist, twist);
    });
}

#[test]
fn queries_take_those_that_all_filters_take() {
    controlled(&paused(&[]), |caller| {
        well(&caller.spawn(&spawning("stone", "selene:rock?diameter_m=0.3", at(5.0, 5.0))).result);
        let all = EntityFilters::default;
        assert_eq!(caller.entities(all()).len(), 8);
        let named = EntityFilters { filter: "^st|osity$".to_owned(), ..all() };
        assert_eq!(caller.entities(named), [YARD_ROVER, "stone"]);
        let robots = vec![EntityCategory { category: EntityCategory::CATEGORY_ROBOT }];
        assert_eq!(caller.entities(EntityFilters { categories: robots, ..all() }), [YARD_ROVER]);
        let both = ["rock", "spawned"].map(str::to_owned).to_vec();
        let tags = TagsFilter { tags: both, filter_mode: TagsFilter::FILTER_MODE_ALL };
        assert_eq!(caller.entities(EntityFilters { tags, ..all() }), ["stone"]);
        let points = vec![Vector3 { x: 5.0, y: 5.0, z: 0.0 }, Vector3 { x: 1.0, y: 0.0, z: 0.0 }];
        let bounds = Bounds { r#type: Bounds::TYPE_SPHERE, points };
        assert_eq!(caller.entities(EntityFilters { bounds, ..all() }), ["stone"]);
    });
}

#[test]
fn the_info_of_an_entity_is_reported_and_found_until_a_reset() {
    controlled(&paused(&[]), |caller| {
        let entity = || YARD_ROVER.to_owned();
        let reported = || {
            let request = srv::GetEntityInfoRequest { entity: entity() };
            caller.call::<srv::GetEntityInfo>("get_entity_info", &request).info
        };
        let own = reported();
        let info = EntityInfo { tags: vec!["boss".to_owned()], ..EntityInfo::default() };
        let request = srv::SetEntityInfoRequest { entity: entity(), info: info.clone() };
        well(&caller.call::<srv::SetEntityInfo>("set_entity_info", &request).result);
        assert_eq!(reported(), info);
        let tags = TagsFilter { tags: info.tags, ..TagsFilter::default() };
        let request = srv::GetEntitiesStatesRequest { filters: EntityFilters { tags, ..EntityFilters::default() } };
        let states = caller.call::<srv::GetEntitiesStates>("get_entities_states", &request);
        assert_eq!((states.entities, states.states), (vec![entity()], vec![caller.entity_state(YARD_ROVER)]));
        caller.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        assert_eq!(reported(), own);
    });
}

#[test]
fn what_cannot_be_spawned_is_refused_with_the_reason() {
    controlled(&paused(&[]), |caller| {
        let outside = repository_file("Cargo.toml").display().to_string();
        let climbing = ["../../../etc/passwd", "file:///etc/passwd", "rover/../../Cargo.toml", &outside];
        let nonsense = ["", "http://x/y.urdf", "rover/nobody.yaml", "site/polar.yaml", "selene:rock?diameter_m=99"];
        for uri in climbing.into_iter().chain(nonsense) {
            let answer = caller.spawn(&spawning("bad", uri, at(5.0, 5.0)));
            assert_ne!(answer.result.result, ResultCode::RESULT_OK, "{uri}");
            assert!(!answer.result.error_message.is_empty() && answer.entity_name.is_empty(), "{uri}");
        }
        for pose in [at(f64::INFINITY, 0.0), at(1e8, 0.0)] {
            let answer = caller.spawn(&spawning("bad", "rover/sorato.yaml", pose));
            assert_eq!(answer.result.result, srv::SpawnEntityResponse::INVALID_POSE);
        }
        assert_eq!(caller.entities(EntityFilters::default()).len(), 7);
        caller.step(3);
    });
}

#[test]
fn a_flood_of_requests_is_bounded_and_everybody_gets_an_answer() {
    controlled(&paused(&[]), |caller| {
        // While the simulation steps, it handles one request at each step.
        let steps = caller.send::<srv::StepSimulation>("step_simulation", &srv::StepSimulationRequest { steps: 100 });
        let spawn = |i: usize| spawning(&format!("flood_{i}"), "selene:rock?diameter_m=0.1", at(5.0, 5.0));
        let flood: Vec<_> = (0..1000).map(|i| caller.send::<srv::SpawnEntity>("spawn_entity", &spawn(i))).collect();
        well(&steps.recv_timeout(TIMEOUT).expect("answered").result);
        let answers = flood.iter().map(|answer| answer.recv_timeout(TIMEOUT).expect("answered").result);
        let answers: Vec<_> = answers.collect();
        well(&answers[0]);
        let codes = [ResultCode::RESULT_OK, ResultCode::RESULT_OPERATION_FAILED];
        assert!(answers.iter().all(|answer| codes.contains(&answer.result)), "{answers:?}");
        assert!(answers.iter().any(|answer| answer.error_message.contains("256 requests wait")));
        caller.step(3);
    });
}

//! A run that is controlled over its services: time stands, goes on by steps and goes back, for every node.

use std::sync::Arc;
use std::sync::mpsc::channel;

use selene_base::SimTime;
use selene_ros::Qos;
use selene_ros::geometry_msgs::{Twist, TwistStamped, Vector3};
use selene_ros::service::Client;
use selene_ros::simulation_interfaces::action::{
    SimulateStepsFeedbackMessage, SimulateStepsGetResult, SimulateStepsGetResultRequest, SimulateStepsGoal,
    SimulateStepsSendGoal, SimulateStepsSendGoalRequest,
};
use selene_ros::simulation_interfaces::{EntityFilters, Result as ResultCode, SimulationState, srv};
use selene_ros::transport::{Publisher, Transport, subscribe};
use selene_ros::unique_identifier_msgs::UUID;
use selene_sim::{AwaitedTopic, Model};
use selene_simulation::{ControlOptions, Ending, SimulationOptions};
use selene_tests::asker::{
    Asker, NODE, PATIENCE, YARD_ROVER, at, controlled, controlled_in, paused, spawning, well, yard,
};
use selene_tests::witness::Published;
use selene_tests::{model, scenario, world};

const HEARTBEAT: SimTime = SimTime::from_nanos(5_000_000);
/// Topics that tell of the process and not of the world, or come from a thread that nobody waits for.
const NOT_COMPARED: [&str; 5] =
    ["/selene/", "/selene_simulation/", "/diagnostics", "/ground_truth/rocks", "/tf_static"];

/// How often a world is reset; `SELENE_LONG_RUNS` makes it a thousand times.
fn resets() -> usize {
    if std::env::var_os("SELENE_LONG_RUNS").is_some() { 1000 } else { 50 }
}

fn of_the_world(mut published: Published) -> Published {
    published.retain(|topic, _| NOT_COMPARED.iter().all(|name| !topic.contains(name)));
    published
}

fn rocks(asker: &Asker) -> Vec<String> {
    asker.entities(EntityFilters { filter: "^rock_".to_owned(), ..EntityFilters::default() })
}

/// Changes all that can be changed.
fn disturb(asker: &Asker) {
    let cmd_vel = Publisher::<TwistStamped>::new(&asker.witness, "/cmd_vel", Qos::reliable()).expect("topic");
    let forward = || {
        let twist = Twist { linear: Vector3 { x: 0.1, y: 0.0, z: 0.0 }, ..Twist::default() };
        cmd_vel.publish(&TwistStamped { twist, ..TwistStamped::default() }, SimTime::ZERO).expect("told");
    };
    well(&asker.spawn(&spawning("second", "rover/sorato.yaml?sensors=imu", at(3.0, 5.0))).result);
    well(&asker.spawn(&spawning("stone", "selene:rock?diameter_m=0.3", at(5.0, 5.0))).result);
    well(&asker.place(YARD_ROVER, at(-6.0, -6.0)));
    assert_eq!(asker.delete(&rocks(asker)[0]), ResultCode::RESULT_OK);
    forward();
    asker.step(3);
    // It waits for the heartbeat to come when the world is reset.
    forward();
}

#[test]
fn a_world_that_is_reset_is_each_time_the_one_that_began_and_its_nodes_begin_with_it() {
    const STEPS: i64 = 24;
    let (first, outcome) = controlled(&paused(&["navigation"]), |asker| {
        let mut first: Option<Published> = None;
        for time in 0..=resets() {
            asker.state();
            drop(asker.witness.take());
            asker.step(STEPS as u64);
            let told = of_the_world(asker.witness.take());
            assert_eq!(asker.time(), HEARTBEAT * STEPS);
            let first = &*first.get_or_insert_with(|| told.clone());
            assert!(first.keys().eq(told.keys()), "{:?} became {:?}", first.keys(), told.keys());
            for (topic, messages) in first {
                assert!(*messages == told[topic], "{topic} is another after {time} resets");
            }
            if time < resets() {
                if time % 10 == 0 {
                    disturb(asker);
                }
                asker.reset(srv::ResetSimulationRequest::SCOPE_ALL);
                assert_eq!(asker.time(), SimTime::ZERO);
            }
        }
        first.expect("a first one")
    });
    for topic in ["/clock", "/tf", "/joint_states", "/imu/data", "/ground_truth/odom"] {
        assert!(first.contains_key(topic), "{topic} is not among {:?}", first.keys());
    }
    let mut alone = world(yard());
    (0..STEPS).for_each(|_| drop(alone.heartbeat().expect("heartbeat")));
    assert_eq!((outcome.state_hash, outcome.ending), (alone.hash(), Ending::Stopped));
}

#[test]
fn parts_of_the_world_go_back_alone() {
    let (_, outcome) = controlled(&paused(&["navigation"]), |asker| {
        asker.step(40);
        disturb(asker);
        let time = asker.time();
        asker.reset(srv::ResetSimulationRequest::SCOPE_STATE);
        assert_eq!(asker.time(), time);
        assert_eq!(asker.entity_state(YARD_ROVER).pose.position.x, -3.0);
        assert_eq!(asker.entities(EntityFilters::default()).len(), 1 + 6 + 2, "what was taken away is there again");
        asker.step(5);
        asker.reset(srv::ResetSimulationRequest::SCOPE_SPAWNED);
        assert_eq!(asker.entities(EntityFilters::default()).len(), 1 + 6);
        asker.step(5);
        assert_eq!(asker.time(), time + HEARTBEAT * 10);
        let stands = asker.entity_state(YARD_ROVER).pose;
        asker.reset(srv::ResetSimulationRequest::SCOPE_TIME);
        assert_eq!((asker.time(), asker.entity_state(YARD_ROVER).pose), (SimTime::ZERO, stands));
        asker.step(5);
    });
    assert_eq!(outcome.simulated, HEARTBEAT * 5);
}

#[test]
fn time_stands_while_paused_and_goes_on_by_so_many_steps() {
    type State = SimulationState;
    let control = ControlOptions { starts_paused: false, ..paused(&[]).control };
    let playing = SimulationOptions { control, ..paused(&[]) };
    let (_, outcome) = controlled(&playing, |asker| {
        assert_eq!(asker.state(), State::STATE_PLAYING);
        let one = srv::StepSimulationRequest { steps: 1 };
        let refused = asker.ask::<srv::StepSimulation>("step_simulation", &one).result;
        assert_eq!(refused.result, ResultCode::RESULT_OPERATION_FAILED);
        assert_eq!(asker.enter(State::STATE_PAUSED), ResultCode::RESULT_OK);
        assert_eq!(asker.enter(State::STATE_PAUSED), srv::SetSimulationStateResponse::ALREADY_IN_TARGET_STATE);
        let stands = asker.time();
        assert!((0..100).all(|_| asker.time() == stands && asker.state() == State::STATE_PAUSED));
        asker.step(7);
        assert_eq!((asker.time(), asker.state()), (stands + HEARTBEAT * 7, State::STATE_PAUSED));
        asker.step(0);
        assert_eq!(asker.enter(State::STATE_STOPPED), ResultCode::RESULT_OK);
        assert_eq!((asker.time(), asker.state()), (SimTime::ZERO, State::STATE_STOPPED));
        assert_eq!(asker.enter(State::STATE_PLAYING), ResultCode::RESULT_OK);
        while asker.time() < HEARTBEAT * 3 {}
        for state in [State::STATE_NO_WORLD, State::STATE_LOADING_WORLD, 77] {
            assert_ne!(asker.enter(state), ResultCode::RESULT_OK, "{state}");
        }
    });
    assert!(outcome.simulated >= HEARTBEAT * 3 && outcome.ending == Ending::Stopped);
}

/// The yard, in which time holds for `cmd_vel` at every second heartbeat.
fn held_yard() -> Arc<Model> {
    let mut scenario = scenario("curiosity_rocks", None);
    scenario.lockstep = vec![AwaitedTopic {
        name: "/cmd_vel".to_owned(),
        type_name: None,
        period: HEARTBEAT * 2,
        lag: SimTime::ZERO,
        timeout: PATIENCE * 2,
        start_timeout: PATIENCE * 2,
    }];
    model(scenario)
}

#[test]
fn whom_time_holds_for_may_ask_first() {
    let one = srv::StepSimulationRequest { steps: 1 };
    let (_, outcome) = controlled_in(&held_yard(), &paused(&[]), |asker| {
        let cmd_vel = Publisher::<TwistStamped>::new(&asker.witness, "/cmd_vel", Qos::reliable()).expect("topic");
        asker.step(2);
        assert_eq!(asker.time(), HEARTBEAT * 2);
        let stepped = asker.send::<srv::StepSimulation>("step_simulation", &one);
        // It was heard, and time holds.
        assert_eq!(asker.time(), HEARTBEAT * 2);
        assert!(stepped.try_recv().is_err());
        cmd_vel.publish(&TwistStamped::default(), SimTime::ZERO).expect("told");
        well(&stepped.recv_timeout(PATIENCE).expect("answered").result);
        assert_eq!(asker.time(), HEARTBEAT * 3);
        // A reset ends a hold: the world that it was for is gone.
        asker.step(1);
        asker.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        asker.step(1);
    });
    assert_eq!(outcome.simulated, HEARTBEAT);
    let [cmd_vel] = &outcome.holds.topics[..] else { panic!("one topic") };
    assert_eq!((cmd_vel.holds, cmd_vel.timeouts), (2, 0));
}

#[test]
fn requests_are_carried_out_while_a_silent_participant_is_waited_for() {
    type State = SimulationState;
    let one = srv::StepSimulationRequest { steps: 1 };
    let (_, outcome) = controlled(&paused(&["navigation", "somebody who never comes"]), |asker| {
        assert_eq!(asker.enter(State::STATE_PLAYING), ResultCode::RESULT_OK);
        assert_eq!((asker.time(), asker.state()), (SimTime::ZERO, State::STATE_PLAYING));
        well(&asker.spawn(&spawning("stone", "selene:rock?diameter_m=0.3", at(5.0, 5.0))).result);
        assert_eq!(asker.delete(&rocks(asker)[0]), ResultCode::RESULT_OK);
        well(&asker.place(YARD_ROVER, at(-6.0, -6.0)));
        assert!((asker.entity_state(YARD_ROVER).pose.position.x + 6.0).abs() < 1e-9);
        assert_eq!(asker.enter(State::STATE_PAUSED), ResultCode::RESULT_OK);
        // A step waits for the participant, as time does.
        let stepped = asker.send::<srv::StepSimulation>("step_simulation", &one);
        asker.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        let stepped = stepped.recv_timeout(PATIENCE).expect("answered").result;
        assert_eq!(stepped.result, ResultCode::RESULT_OPERATION_FAILED, "{}", stepped.error_message);
        assert_eq!(asker.entities(EntityFilters::default()).len(), 1 + 6);
        assert_eq!(asker.entity_state(YARD_ROVER).pose.position.x, -3.0);
    });
    assert_eq!((outcome.simulated, outcome.ending), (SimTime::ZERO, Ending::Stopped));
}

#[test]
fn an_action_tells_of_each_step() {
    controlled(&paused(&[]), |asker| {
        let (sender, told) = channel();
        // The test may have ended.
        let on_feedback = move |message: SimulateStepsFeedbackMessage| _ = sender.send(message.feedback);
        let topic = format!("{NODE}/simulate_steps/_action/feedback");
        let transport: &dyn Transport = &asker.witness;
        let _ear = subscribe(transport, &topic, Qos::reliable(), on_feedback).expect("topic");
        let goal_id = UUID { uuid: [7; 16] };
        let goal = SimulateStepsSendGoalRequest { goal_id, goal: SimulateStepsGoal { steps: 4 } };
        assert!(asker.ask::<SimulateStepsSendGoal>("simulate_steps/_action/send_goal", &goal).accepted);
        let asked = SimulateStepsGetResultRequest { goal_id };
        let ended = asker.ask::<SimulateStepsGetResult>("simulate_steps/_action/get_result", &asked);
        well(&ended.result.result);
        let told: Vec<_> = told.try_iter().map(|of| (of.completed_steps, of.remaining_steps)).collect();
        assert_eq!(told, [(1, 3), (2, 2), (3, 1), (4, 0)]);
        assert_eq!(asker.time(), HEARTBEAT * 4);
    });
}

#[test]
fn the_clock_is_told_at_the_start_and_with_each_step() {
    let (clocks, _) = controlled(&paused(&[]), |asker| {
        asker.step(3);
        asker.witness.take()["/clock"].len()
    });
    assert_eq!(clocks, 4);
}

#[test]
fn services_are_at_the_root_where_that_is_asked_for() {
    let is_at_root = |at_root: bool| {
        let control = ControlOptions { at_root, ..paused(&[]).control };
        let options = SimulationOptions { control, ..paused(&[]) };
        let (served, _) = controlled(&options, |asker| {
            asker.state();
            let name = "/get_simulation_state";
            let client = Client::<srv::GetSimulationState>::new(&asker.witness, name).expect("client");
            let answer = client.is_served().then(|| client.call(&Default::default()).expect("sent"));
            answer.map(|answer| answer.recv_timeout(PATIENCE).expect("answered").state.state)
        });
        served
    };
    assert_eq!([is_at_root(false), is_at_root(true)], [None, Some(SimulationState::STATE_PAUSED)]);
}

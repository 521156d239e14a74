//! A run controlled over its services: for every node, time pauses, advances by steps, and goes back.

use std::sync::Arc;
use std::sync::mpsc::channel;

use selene_base::SimTime;
use selene_ros::diagnostic_msgs::DiagnosticArray;
use selene_ros::geometry_msgs::TwistStamped;
use selene_ros::service::Client;
use selene_ros::simulation_interfaces::action::{
    SimulateStepsFeedbackMessage, SimulateStepsGetResult, SimulateStepsGetResultRequest, SimulateStepsGoal,
    SimulateStepsSendGoal, SimulateStepsSendGoalRequest,
};
use selene_ros::simulation_interfaces::{EntityFilters, Result as ResultCode, SimulationState, srv};
use selene_ros::transport::{Publisher, Transport, subscribe};
use selene_ros::unique_identifier_msgs::UUID;
use selene_ros::{Encoded, Qos, ServiceName, decode};
use selene_sim::{AwaitedTopic, Model};
use selene_simulation::{ControlOptions, EndReason, SimulationOptions};
use selene_tests::control_client::{NODE, TIMEOUT, YARD_ROVER, at, controlled, controlled_in, paused, spawning, well};
use selene_tests::{model, scenario};

const HEARTBEAT: SimTime = SimTime::from_nanos(5_000_000);

#[test]
fn parts_of_the_world_go_back_alone() {
    let (_, outcome) = controlled(&paused(&["navigation"]), |caller| {
        caller.step(40);
        caller.disturb();
        let time = caller.time();
        caller.reset(srv::ResetSimulationRequest::SCOPE_STATE);
        assert_eq!(caller.time(), time);
        assert_eq!(caller.entity_state(YARD_ROVER).pose.position.x, -3.0);
        assert_eq!(caller.entities(EntityFilters::default()).len(), 1 + 6 + 2, "what was taken away is there again");
        caller.step(5);
        caller.reset(srv::ResetSimulationRequest::SCOPE_SPAWNED);
        assert_eq!(caller.entities(EntityFilters::default()).len(), 1 + 6);
        caller.step(5);
        assert_eq!(caller.time(), time + HEARTBEAT * 10);
        let stands = caller.entity_state(YARD_ROVER).pose;
        caller.reset(srv::ResetSimulationRequest::SCOPE_TIME);
        assert_eq!((caller.time(), caller.entity_state(YARD_ROVER).pose), (SimTime::ZERO, stands));
        caller.step(5);
    });
    assert_eq!(outcome.simulated, HEARTBEAT * 5);
}

#[test]
fn time_stands_while_paused_and_goes_on_by_so_many_steps() {
    type State = SimulationState;
    let control = ControlOptions { starts_paused: false, ..paused(&[]).control };
    let playing = SimulationOptions { control, ..paused(&[]) };
    let (_, outcome) = controlled(&playing, |caller| {
        assert_eq!(caller.state(), State::STATE_PLAYING);
        let one = srv::StepSimulationRequest { steps: 1 };
        let refused = caller.call::<srv::StepSimulation>("step_simulation", &one).result;
        assert_eq!(refused.result, ResultCode::RESULT_OPERATION_FAILED);
        assert_eq!(caller.enter(State::STATE_PAUSED), ResultCode::RESULT_OK);
        assert_eq!(caller.enter(State::STATE_PAUSED), srv::SetSimulationStateResponse::ALREADY_IN_TARGET_STATE);
        let stands = caller.time();
        assert!((0..100).all(|_| caller.time() == stands && caller.state() == State::STATE_PAUSED));
        caller.step(7);
        assert_eq!((caller.time(), caller.state()), (stands + HEARTBEAT * 7, State::STATE_PAUSED));
        caller.step(0);
        assert_eq!(caller.enter(State::STATE_STOPPED), ResultCode::RESULT_OK);
        assert_eq!((caller.time(), caller.state()), (SimTime::ZERO, State::STATE_STOPPED));
        assert_eq!(caller.enter(State::STATE_PLAYING), ResultCode::RESULT_OK);
        while caller.time() < HEARTBEAT * 3 {}
        for state in [State::STATE_NO_WORLD, State::STATE_LOADING_WORLD, 77] {
            assert_ne!(caller.enter(state), ResultCode::RESULT_OK, "{state}");
        }
    });
    assert!(outcome.simulated >= HEARTBEAT * 3 && outcome.ending == EndReason::Stopped);
}

/// The yard, in which time waits for `cmd_vel` at every second heartbeat.
fn held_yard() -> Arc<Model> {
    let mut scenario = scenario("curiosity_rocks", None);
    scenario.lockstep = vec![AwaitedTopic {
        name: "/cmd_vel".to_owned(),
        type_name: None,
        period: HEARTBEAT * 2,
        lag: SimTime::ZERO,
        timeout: TIMEOUT * 2,
        start_timeout: TIMEOUT * 2,
    }];
    model(scenario)
}

#[test]
fn a_stack_that_time_holds_for_may_call_services_first() {
    let one = srv::StepSimulationRequest { steps: 1 };
    let (_, outcome) = controlled_in(&held_yard(), &paused(&[]), |caller| {
        let cmd_vel = Publisher::<TwistStamped>::new(&caller.recording, "/cmd_vel", Qos::reliable()).expect("topic");
        caller.step(2);
        assert_eq!(caller.time(), HEARTBEAT * 2);
        let stepped = caller.send::<srv::StepSimulation>("step_simulation", &one);
        // The step was received, and time is held.
        assert_eq!(caller.time(), HEARTBEAT * 2);
        assert!(stepped.try_recv().is_err());
        cmd_vel.publish(&TwistStamped::default(), SimTime::ZERO).expect("published");
        well(&stepped.recv_timeout(TIMEOUT).expect("answered").result);
        assert_eq!(caller.time(), HEARTBEAT * 3);
        // A reset ends a hold, since the world that was held no longer exists.
        caller.step(1);
        caller.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        caller.step(1);
    });
    assert_eq!(outcome.simulated, HEARTBEAT);
    let [cmd_vel] = &outcome.holds.topics[..] else { panic!("one topic") };
    assert_eq!((cmd_vel.holds, cmd_vel.timeouts), (2, 0));
}

#[test]
fn requests_are_carried_out_while_a_silent_participant_is_waited_for() {
    type State = SimulationState;
    let one = srv::StepSimulationRequest { steps: 1 };
    let (_, outcome) = controlled(&paused(&["navigation", "somebody who never comes"]), |caller| {
        assert_eq!(caller.enter(State::STATE_PLAYING), ResultCode::RESULT_OK);
        assert_eq!((caller.time(), caller.state()), (SimTime::ZERO, State::STATE_PLAYING));
        well(&caller.spawn(&spawning("stone", "selene:rock?diameter_m=0.3", at(5.0, 5.0))).result);
        assert_eq!(caller.delete(&caller.rocks()[0]), ResultCode::RESULT_OK);
        well(&caller.place(YARD_ROVER, at(-6.0, -6.0)));
        assert!((caller.entity_state(YARD_ROVER).pose.position.x + 6.0).abs() < 1e-9);
        assert_eq!(caller.enter(State::STATE_PAUSED), ResultCode::RESULT_OK);
        // A step waits for the participant, as time does.
        let stepped = caller.send::<srv::StepSimulation>("step_simulation", &one);
        caller.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        let stepped = stepped.recv_timeout(TIMEOUT).expect("answered").result;
        assert_eq!(stepped.result, ResultCode::RESULT_OPERATION_FAILED, "{}", stepped.error_message);
        assert_eq!(caller.entities(EntityFilters::default()).len(), 1 + 6);
        assert_eq!(caller.entity_state(YARD_ROVER).pose.position.x, -3.0);
    });
    assert_eq!((outcome.simulated, outcome.ending), (SimTime::ZERO, EndReason::Stopped));
}

#[test]
fn an_action_gives_feedback_on_each_step() {
    controlled(&paused(&[]), |caller| {
        let (sender, reported) = channel();
        // Ignores a closed channel: the test may have ended.
        let on_feedback = move |message: SimulateStepsFeedbackMessage| _ = sender.send(message.feedback);
        let topic = format!("{NODE}/simulate_steps/_action/feedback");
        let transport: &dyn Transport = &caller.recording;
        let _subscription = subscribe(transport, &topic, Qos::reliable(), on_feedback).expect("topic");
        let goal_id = UUID { uuid: [7; 16] };
        let goal = SimulateStepsSendGoalRequest { goal_id, goal: SimulateStepsGoal { steps: 4 } };
        assert!(caller.call::<SimulateStepsSendGoal>("simulate_steps/_action/send_goal", &goal).accepted);
        let requested = SimulateStepsGetResultRequest { goal_id };
        let ended = caller.call::<SimulateStepsGetResult>("simulate_steps/_action/get_result", &requested);
        well(&ended.result.result);
        let reported: Vec<_> = reported.try_iter().map(|of| (of.completed_steps, of.remaining_steps)).collect();
        assert_eq!(reported, [(1, 3), (2, 2), (3, 1), (4, 0)]);
        assert_eq!(caller.time(), HEARTBEAT * 4);
    });
}

#[test]
fn the_clock_is_published_at_the_start_and_with_each_step() {
    let (clocks, _) = controlled(&paused(&[]), |caller| {
        caller.step(3);
        caller.recording.take()["/clock"].len()
    });
    assert_eq!(clocks, 4);
}

#[test]
fn the_place_of_a_rover_is_published_at_the_start_and_after_a_reset_while_time_stands() {
    let ([start, again], _) = controlled(&paused(&[]), |caller| {
        // A run publishes its start before it answers.
        caller.state();
        let start = caller.recording.take();
        caller.step(40);
        caller.disturb();
        drop(caller.recording.take());
        caller.reset(srv::ResetSimulationRequest::SCOPE_ALL);
        [start, caller.recording.take()]
    });
    for topic in ["/tf", "/joint_states", "/ground_truth/odom", "/ground_truth/wheels"] {
        assert_eq!(start[topic].len(), 1, "{topic}");
        assert!(start[topic] == again[topic], "{topic} is another after a reset");
    }
}

/// Heartbeats until the first diagnostics.
const TO_DIAGNOSTICS: u64 = 200;

#[test]
fn requests_that_do_not_decode_are_dropped_and_counted_and_others_are_answered() {
    let (published, _) = controlled(&paused(&[]), |caller| {
        let name = ServiceName::new::<srv::StepSimulation>(format!("{NODE}/step_simulation")).expect("a name");
        let garbage = caller.recording.client(&name).expect("client");
        // The service is served once it has answered this.
        caller.step(1);
        for bytes in [vec![], vec![0_u8, 1, 0, 0, 9], vec![255; 64]] {
            garbage.call(&Encoded::from_bytes(bytes), Box::new(|_| ())).expect("sent");
        }
        caller.step(TO_DIAGNOSTICS);
        caller.recording.take()
    });
    let (_, bytes) = published["/diagnostics"].last().expect("diagnostics");
    let last: DiagnosticArray = decode(&Encoded::from_bytes(bytes.clone())).expect("diagnostics");
    let counted = last.status.iter().flat_map(|status| &status.values).find(|of| of.key == "requests_undecodable");
    assert_eq!(counted.map(|of| of.value.as_str()), Some("3"));
}

#[test]
fn services_are_at_the_root_where_that_is_requested() {
    let is_at_root = |at_root: bool| {
        let control = ControlOptions { at_root, ..paused(&[]).control };
        let options = SimulationOptions { control, ..paused(&[]) };
        let (served, _) = controlled(&options, |caller| {
            caller.state();
            let name = "/get_simulation_state";
            let client = Client::<srv::GetSimulationState>::new(&caller.recording, name).expect("client");
            let answer = client.is_served().then(|| client.call(&Default::default()).expect("sent"));
            answer.map(|answer| answer.recv_timeout(TIMEOUT).expect("answered").state.state)
        });
        served
    };
    assert_eq!([is_at_root(false), is_at_root(true)], [None, Some(SimulationState::STATE_PAUSED)]);
}

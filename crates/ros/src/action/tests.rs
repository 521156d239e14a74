//! Tests of actions within one process.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use selene_base::SimTime;

use super::{GOALS_MAX, GoalHandle, RESULTS_MAX, serve_action};
use crate::action_msgs::srv::{CancelGoal, CancelGoalRequest, CancelGoalResponse};
use crate::action_msgs::{GoalInfo, GoalStatus, GoalStatusArray};
use crate::in_process::InProcess;
use crate::message::Message;
use crate::qos::Qos;
use crate::rosgraph_msgs::Clock;
use crate::service::{Client, Service};
use crate::simulation_interfaces::Result as StepResult;
use crate::simulation_interfaces::action::{
    SimulateSteps, SimulateStepsFeedback, SimulateStepsFeedbackMessage, SimulateStepsGetResult,
    SimulateStepsGetResultRequest, SimulateStepsGetResultResponse, SimulateStepsGoal, SimulateStepsResult,
    SimulateStepsSendGoal, SimulateStepsSendGoalRequest, SimulateStepsSendGoalResponse,
};
use crate::transport::{Publisher, Subscription, subscribe};
use crate::unique_identifier_msgs::UUID;

const NAME: &str = "/selene/simulate_steps";
/// Far longer than anything within the process takes.
const TIMEOUT: Duration = Duration::from_secs(30);

type Handle = GoalHandle<SimulateSteps>;

/// A server that accepts goals of fewer than 100 steps, and passes its handles to the test.
struct Rig {
    transport: InProcess,
    begun: Receiver<(SimulateStepsGoal, Handle)>,
    _served: Subscription,
}

impl Rig {
    fn new() -> Self {
        let (transport, (sender, begun)) = (InProcess::new(), channel());
        let begin = move |goal, handle| sender.send((goal, handle)).unwrap();
        let served = serve_action::<SimulateSteps>(&transport, NAME, |goal| goal.steps < 100, begin).unwrap();
        Self { transport, begun, _served: served }
    }

    fn call<S: Service>(&self, service: &str, request: &S::Request) -> Receiver<S::Response> {
        let name = format!("{NAME}/_action/{service}");
        Client::<S>::new(&self.transport, &name).unwrap().call(request).unwrap()
    }

    fn send(&self, goal: u8, steps: u64) -> SimulateStepsSendGoalResponse {
        let request = SimulateStepsSendGoalRequest { goal_id: id(goal), goal: SimulateStepsGoal { steps } };
        self.call::<SimulateStepsSendGoal>("send_goal", &request).try_recv().unwrap()
    }

    fn begin(&self, goal: u8) -> Handle {
        assert!(self.send(goal, 5).accepted);
        self.begun.try_recv().unwrap().1
    }

    fn result(&self, goal: u8) -> Receiver<SimulateStepsGetResultResponse> {
        self.call::<SimulateStepsGetResult>("get_result", &SimulateStepsGetResultRequest { goal_id: id(goal) })
    }

    fn cancel(&self, goal_id: UUID, stamp_s: f64) -> (i8, Vec<UUID>) {
        let goal_info = GoalInfo { goal_id, stamp: SimTime::from_secs_f64(stamp_s).into() };
        let response = self.call::<CancelGoal>("cancel_goal", &CancelGoalRequest { goal_info }).try_recv().unwrap();
        (response.return_code, response.goals_canceling.iter().map(|goal| goal.goal_id).collect())
    }

    fn listen<M: Message>(&self, topic: &str, qos: Qos) -> (Subscription, Receiver<M>) {
        let (sender, receiver) = channel();
        let on = move |message: M| sender.send(message).unwrap();
        (subscribe(&self.transport, &format!("{NAME}/_action/{topic}"), qos, on).unwrap(), receiver)
    }

    /// The states of all goals that a new subscriber receives.
    fn statuses(&self) -> Vec<(UUID, i8)> {
        let (_received, status) = self.listen::<GoalStatusArray>("status", Qos::latched());
        let latest = status.try_recv().unwrap();
        latest.status_list.iter().map(|goal| (goal.goal_info.goal_id, goal.status)).collect()
    }

    fn set_clock(&self, now_s: f64) {
        let clock = Publisher::new(&self.transport, "/clock", Qos::clock()).unwrap();
        clock.publish(&Clock { clock: SimTime::from_secs_f64(now_s).into() }, SimTime::ZERO).unwrap();
    }
}

fn id(goal: u8) -> UUID {
    UUID { uuid: [goal; 16] }
}

fn done(words: &str) -> SimulateStepsResult {
    SimulateStepsResult { result: StepResult { result: StepResult::RESULT_OK, error_message: words.to_owned() } }
}

#[test]
fn a_goal_is_accepted_reports_how_far_it_is_and_ends_with_its_result() {
    let rig = Rig::new();
    rig.set_clock(7.5);
    let (_received, feedback) = rig.listen::<SimulateStepsFeedbackMessage>("feedback", Qos::reliable());
    let answer = rig.send(1, 5);
    assert_eq!((answer.accepted, SimTime::from(answer.stamp)), (true, SimTime::from_secs_f64(7.5)));
    let (goal, handle) = rig.begun.try_recv().unwrap();
    assert_eq!((goal.steps, rig.statuses()), (5, vec![(id(1), GoalStatus::STATUS_EXECUTING)]));
    let early = rig.result(1);
    let progress = SimulateStepsFeedback { completed_steps: 2, remaining_steps: 3 };
    handle.feedback(&progress);
    assert_eq!(feedback.try_recv().unwrap(), SimulateStepsFeedbackMessage { goal_id: id(1), feedback: progress });
    assert!(early.try_recv().is_err(), "the goal has not ended");
    handle.succeed(done("five"));
    for response in [early, rig.result(1)] {
        let SimulateStepsGetResultResponse { status, result } = response.try_recv().unwrap();
        assert_eq!((status, result), (GoalStatus::STATUS_SUCCEEDED, done("five")));
    }
    assert_eq!(rig.statuses(), [(id(1), GoalStatus::STATUS_SUCCEEDED)]);
}

#[test]
fn a_goal_that_is_not_wanted_or_known_already_is_not_begun() {
    let rig = Rig::new();
    assert!(!rig.send(1, 100).accepted);
    let _handle = rig.begin(2);
    assert!(!rig.send(2, 5).accepted, "the number is taken");
    assert!(!rig.send(0, 5).accepted, "the number that stands for all goals");
    assert!(rig.begun.try_recv().is_err());
    assert_eq!(rig.statuses(), [(id(2), GoalStatus::STATUS_EXECUTING)]);
}

#[test]
fn an_unknown_goal_has_no_result_and_cannot_be_cancelled() {
    let rig = Rig::new();
    let response = rig.result(9).try_recv().unwrap();
    assert_eq!((response.status, response.result), (GoalStatus::STATUS_UNKNOWN, SimulateStepsResult::default()));
    assert_eq!(rig.cancel(id(9), 0.0), (CancelGoalResponse::ERROR_UNKNOWN_GOAL_ID, vec![]));
}

#[test]
fn a_cancelled_goal_ends_when_its_handle_says_so() {
    let rig = Rig::new();
    let handle = rig.begin(1);
    assert!(!handle.is_cancel_requested());
    assert_eq!(rig.cancel(id(1), 0.0), (CancelGoalResponse::ERROR_NONE, vec![id(1)]));
    assert!(handle.is_cancel_requested());
    assert_eq!(rig.statuses(), [(id(1), GoalStatus::STATUS_CANCELING)]);
    let result = rig.result(1);
    handle.cancelled(done("stopped"));
    assert_eq!(result.try_recv().unwrap().status, GoalStatus::STATUS_CANCELED);
    assert_eq!(rig.cancel(id(1), 0.0), (CancelGoalResponse::ERROR_GOAL_TERMINATED, vec![]));
}

/// `rcl_action`: a time alone means all goals accepted up to it, nothing means all goals.
#[test]
fn goals_are_cancelled_by_time_and_all_at_once() {
    let rig = Rig::new();
    let handles: Vec<Handle> = (1..=3_u8)
        .map(|goal| {
            rig.set_clock(f64::from(goal));
            rig.begin(goal)
        })
        .collect();
    let requested = || handles.iter().map(Handle::is_cancel_requested).collect::<Vec<_>>();
    assert_eq!(rig.cancel(id(0), 1.5), (CancelGoalResponse::ERROR_NONE, vec![id(1)]));
    assert_eq!(requested(), [true, false, false]);
    assert_eq!(rig.cancel(id(0), 0.0), (CancelGoalResponse::ERROR_NONE, vec![id(2), id(3)]));
    assert_eq!(requested(), [true, true, true]);
    assert_eq!(rig.cancel(id(0), 0.0), (CancelGoalResponse::ERROR_NONE, vec![]), "all are requested already");
}

#[test]
fn a_dropped_handle_aborts_its_goal_with_an_empty_result() {
    let rig = Rig::new();
    let result = {
        let _dropped = rig.begin(1);
        rig.result(1)
    };
    let response = result.try_recv().unwrap();
    assert_eq!((response.status, response.result), (GoalStatus::STATUS_ABORTED, SimulateStepsResult::default()));
}

#[test]
fn a_handle_may_end_its_goal_on_another_thread() {
    let rig = Rig::new();
    let handle = rig.begin(1);
    let result = rig.result(1);
    thread::spawn(move || handle.abort(done("too steep"))).join().unwrap();
    let response = result.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((response.status, response.result), (GoalStatus::STATUS_ABORTED, done("too steep")));
}

#[test]
fn the_latest_results_are_kept_and_no_more() {
    let rig = Rig::new();
    for goal in 1..=RESULTS_MAX as u8 + 1 {
        rig.begin(goal).succeed(done("here"));
    }
    let status = |goal| rig.result(goal).try_recv().unwrap().status;
    assert_eq!(status(1), GoalStatus::STATUS_UNKNOWN);
    assert_eq!(status(2), GoalStatus::STATUS_SUCCEEDED);
    assert_eq!(rig.statuses().len(), RESULTS_MAX);
}

#[test]
fn a_flood_of_goals_is_bounded() {
    let rig = Rig::new();
    let send = |number: usize| {
        let mut uuid = [1; 16];
        uuid[..8].copy_from_slice(&number.to_le_bytes());
        let request = SimulateStepsSendGoalRequest { goal_id: UUID { uuid }, goal: SimulateStepsGoal { steps: 1 } };
        rig.call::<SimulateStepsSendGoal>("send_goal", &request).try_recv().unwrap().accepted
    };
    assert_eq!((0..GOALS_MAX + 10).filter(|number| send(*number)).count(), GOALS_MAX);
    let (_, first) = rig.begun.try_recv().unwrap();
    first.succeed(done("room"));
    assert!(send(GOALS_MAX + 10), "one has ended");
}

#[test]
fn names_are_those_of_the_ros_graph() {
    let types = [SimulateStepsSendGoal::TYPE_NAME, SimulateStepsGetResult::TYPE_NAME];
    let wanted =
        ["simulation_interfaces/action/SimulateSteps_SendGoal", "simulation_interfaces/action/SimulateSteps_GetResult"];
    assert_eq!(types, wanted);
    let feedback = SimulateStepsFeedbackMessage::TYPE_NAME;
    assert_eq!(feedback, "simulation_interfaces/action/SimulateSteps_FeedbackMessage");
}

//! Action servers: a goal runs for a while, with feedback during it and a result at its end. [`serve_action`]
//! implements the protocol of `rcl_action` (design.ros2.org, "Actions") over any [`Transport`]: services `send_goal`,
//! `cancel_goal` and `get_result` and topics `feedback` and `status` (latched) under `NAME/_action/`.
//!
//! Time is that of `/clock`, as in every node with `use_sim_time`: goals are stamped with it. The number of kept
//! results is limited ([`RESULTS_MAX`]), not their age, so that a paused simulation loses none.

mod goals;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selene_base::SimTime;

use crate::action_msgs::srv::{CancelGoal, CancelGoalRequest};
use crate::action_msgs::{GoalStatus, GoalStatusArray};
use crate::builtin_interfaces::Time;
use crate::message::Message;
use crate::qos::Qos;
use crate::rosgraph_msgs::Clock;
use crate::service::{Reply, Service, serve};
use crate::transport::{Publisher, Subscription, Transport, TransportError, subscribe};
use crate::unique_identifier_msgs::UUID;
pub use goals::{GOALS_MAX, RESULTS_MAX};
use goals::{GoalId, Goals, ResultAnswer};

/// A ROS 2 action and the messages that it sends.
pub trait Action: 'static {
    /// The goal's description.
    type Goal: Message;
    /// The result at the goal's end.
    type Result: Message + Default;
    /// The progress of a goal.
    type Feedback: Message;
    /// The service `send_goal`.
    type SendGoal: Service;
    /// The service `get_result`.
    type GetResult: Service;
    /// The message type of topic `feedback`.
    type FeedbackMessage: Message;
    /// Full name of the type, such as `simulation_interfaces/action/SimulateSteps`.
    const TYPE_NAME: &'static str;

    /// The goal's id and description in a request of `send_goal`.
    fn goal(request: <Self::SendGoal as Service>::Request) -> (UUID, Self::Goal);
    /// Builds a response of `send_goal`.
    fn goal_answer(accepted: bool, stamp: Time) -> <Self::SendGoal as Service>::Response;
    /// The id of the goal whose result a request of `get_result` asks for.
    fn requested(request: &<Self::GetResult as Service>::Request) -> UUID;
    /// Builds a response of `get_result`.
    fn result_answer(status: i8, result: Self::Result) -> <Self::GetResult as Service>::Response;
    /// Builds a message of topic `feedback`.
    fn feedback(goal_id: UUID, feedback: Self::Feedback) -> Self::FeedbackMessage;
}

/// Serves action `name` until the subscription is dropped. `decide` returns whether a goal is accepted; an accepted
/// goal is passed to `begin` with a handle for its feedback and result. Both run on the adapter's thread and must not
/// block. More than [`GOALS_MAX`] goals at a time, and goals with a known id, are rejected.
///
/// # Errors
/// When the name is not a ROS name, the process serves it already, or the middleware refuses.
pub fn serve_action<A: Action>(
    transport: &dyn Transport,
    name: &str,
    decide: impl Fn(&A::Goal) -> bool + Send + Sync + 'static,
    begin: impl Fn(A::Goal, GoalHandle<A>) + Send + Sync + 'static,
) -> Result<Subscription, TransportError> {
    let server = Arc::new(Server::<A>::new(transport, name)?);
    let [clock, goals, cancels, results]: [Arc<Server<A>>; 4] = std::array::from_fn(|_| Arc::clone(&server));
    let served = [
        subscribe(transport, "/clock", Qos::clock(), move |now: Clock| clock.set_time(now.clock))?,
        serve::<A::SendGoal>(transport, &format!("{name}/_action/send_goal"), move |request, reply| {
            let (goal_id, goal) = A::goal(request);
            let accepted = decide(&goal) && goals.accept(goal_id.uuid);
            if goals.answer_goal(goal_id.uuid, accepted, reply) {
                begin(goal, GoalHandle { server: Arc::clone(&goals), goal: goal_id.uuid, ended: false });
            }
        })?,
        serve::<CancelGoal>(transport, &format!("{name}/_action/cancel_goal"), move |request, reply| {
            cancels.cancel(&request, reply);
        })?,
        serve::<A::GetResult>(transport, &format!("{name}/_action/get_result"), move |request, reply| {
            results.answer_result(A::requested(&request).uuid, reply);
        })?,
    ];
    Ok(Subscription::guarded_by(served))
}

/// The server's handle of an accepted goal: it sends feedback and, once, the result. Dropping the handle aborts its
/// goal with an empty result.
pub struct GoalHandle<A: Action> {
    server: Arc<Server<A>>,
    goal: GoalId,
    ended: bool,
}

impl<A: Action> GoalHandle<A> {
    /// Publishes the progress of the goal.
    pub fn feedback(&self, feedback: &A::Feedback) {
        let message = A::feedback(UUID { uuid: self.goal }, feedback.clone());
        reported(self.server.feedback.publish(&message, self.server.now()));
    }

    /// Whether a client has requested the goal's cancellation.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.server.goals().is_cancelling(&self.goal)
    }

    /// Ends the goal successfully.
    pub fn succeed(self, result: A::Result) {
        self.end(GoalStatus::STATUS_SUCCEEDED, result);
    }

    /// Ends the goal unsuccessfully; the result says why.
    pub fn abort(self, result: A::Result) {
        self.end(GoalStatus::STATUS_ABORTED, result);
    }

    /// Ends the goal as cancelled, after a client's request.
    pub fn cancelled(self, result: A::Result) {
        self.end(GoalStatus::STATUS_CANCELED, result);
    }

    fn end(mut self, status: i8, result: A::Result) {
        self.ended = true;
        self.server.end(&self.goal, status, result);
    }
}

impl<A: Action> Drop for GoalHandle<A> {
    fn drop(&mut self) {
        if !self.ended {
            self.server.end(&self.goal, GoalStatus::STATUS_ABORTED, A::Result::default());
        }
    }
}

/// State shared by the services, topics and handles of one action.
struct Server<A: Action> {
    goals: Mutex<Goals<A>>,
    feedback: Publisher<A::FeedbackMessage>,
    status: Publisher<GoalStatusArray>,
    /// The latest time of `/clock`, ns.
    now_ns: AtomicI64,
}

impl<A: Action> Server<A> {
    fn new(transport: &dyn Transport, name: &str) -> Result<Self, TransportError> {
        let feedback = Publisher::new(transport, &format!("{name}/_action/feedback"), Qos::reliable())?;
        let status = Publisher::new(transport, &format!("{name}/_action/status"), Qos::latched())?;
        Ok(Self { goals: Mutex::default(), feedback, status, now_ns: AtomicI64::new(0) })
    }

    fn goals(&self) -> MutexGuard<'_, Goals<A>> {
        self.goals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> SimTime {
        SimTime::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }

    fn set_time(&self, now: Time) {
        self.now_ns.store(SimTime::from(now).nanos(), Ordering::Relaxed);
    }

    fn accept(&self, goal: GoalId) -> bool {
        self.goals().accept(goal, self.now().into())
    }

    /// Answers whether the goal was accepted; returns true if it may begin. If the client cannot be answered, the goal
    /// is removed.
    fn answer_goal(&self, goal: GoalId, accepted: bool, reply: Reply<A::SendGoal>) -> bool {
        let answered = reported(reply.send(&A::goal_answer(accepted, self.now().into())));
        if accepted && !answered {
            self.goals().forget(&goal);
        }
        if accepted && answered {
            self.publish_status();
        }
        accepted && answered
    }

    fn cancel(&self, request: &CancelGoalRequest, reply: Reply<CancelGoal>) {
        let response = self.goals().cancel(request);
        let changed = !response.goals_canceling.is_empty();
        if changed {
            self.publish_status();
        }
        reported(reply.send(&response));
    }

    fn answer_result(&self, goal: GoalId, reply: Reply<A::GetResult>) {
        let known = self.goals().result(&goal, reply);
        let (status, result, reply) = match known {
            ResultAnswer::Waits => return,
            ResultAnswer::Ended(status, result, reply) => (status, result, reply),
            ResultAnswer::Not(reply) => (GoalStatus::STATUS_UNKNOWN, A::Result::default(), reply),
        };
        reported(reply.send(&A::result_answer(status, result)));
    }

    fn end(&self, goal: &GoalId, status: i8, result: A::Result) {
        let waiting = self.goals().end(goal, status, result.clone());
        let response = A::result_answer(status, result);
        for reply in waiting {
            reported(reply.send(&response));
        }
        self.publish_status();
    }

    /// Publishes the status of all goals. Only one thread at a time does so, outside the lock, and repeats it if
    /// something has changed meanwhile, so that the last message is the newest state.
    fn publish_status(&self) {
        if !self.goals().begin_reporting() {
            return;
        }
        loop {
            let Some(status) = self.goals().next_report() else { return };
            reported(self.status.publish(&status, self.now()));
        }
    }
}

/// Whether it was sent; the goal goes on even if the client cannot be reached.
fn reported(sent: Result<(), TransportError>) -> bool {
    sent.inspect_err(|error| tracing::warn!("{error}; the goal goes on")).is_ok()
}

#[cfg(test)]
mod tests;

//! Actions: a goal that takes its time, with feedback on the way and a result at
//! the end. [`serve_action`] speaks the protocol of `rcl_action` (design.ros2.org,
//! "Actions") over any [`Transport`]: services `send_goal`, `cancel_goal` and
//! `get_result` and topics `feedback` and `status` (latched) under
//! `NAME/_action/`.
//!
//! Time is that of `/clock`, as in every node with `use_sim_time`: goals are
//! stamped with it. Results are kept by number ([`RESULTS_MAX`]), not by time, so
//! that a paused simulation loses none.

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
use goals::{GoalId, Goals, Known};

/// A ROS 2 action and the messages that it puts on the wire.
pub trait Action: 'static {
    /// What is to be done.
    type Goal: Message;
    /// What came of it.
    type Result: Message + Default;
    /// How far it is.
    type Feedback: Message;
    /// The service `send_goal`.
    type SendGoal: Service;
    /// The service `get_result`.
    type GetResult: Service;
    /// What topic `feedback` carries.
    type FeedbackMessage: Message;
    /// `simulation_interfaces/action/SimulateSteps`.
    const TYPE_NAME: &'static str;

    /// What a request of `send_goal` holds.
    fn goal(request: <Self::SendGoal as Service>::Request) -> (UUID, Self::Goal);
    /// A response of `send_goal`.
    fn goal_answer(accepted: bool, stamp: Time) -> <Self::SendGoal as Service>::Response;
    /// Whose result a request of `get_result` asks for.
    fn asked_for(request: &<Self::GetResult as Service>::Request) -> UUID;
    /// A response of `get_result`.
    fn result_answer(status: i8, result: Self::Result) -> <Self::GetResult as Service>::Response;
    /// A message of topic `feedback`.
    fn feedback(goal_id: UUID, feedback: Self::Feedback) -> Self::FeedbackMessage;
}

/// Serves action `name` until the subscription is dropped. `decide` says whether
/// a goal is accepted; one that is goes to `begin`, whose handle tells how it
/// goes. Both run on the adapter's thread and must not block. More than
/// [`GOALS_MAX`] goals at a time, and a goal whose number is known already, are
/// not accepted.
///
/// # Errors
/// When the name is not a ROS name, the process serves it already, or the
/// middleware refuses.
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
            results.answer_result(A::asked_for(&request).uuid, reply);
        })?,
    ];
    Ok(Subscription::guarded_by(served))
}

/// An accepted goal in the server's hands: it says how it goes and, once, how it
/// ended. A handle that is dropped aborts its goal with an empty result.
pub struct GoalHandle<A: Action> {
    server: Arc<Server<A>>,
    goal: GoalId,
    ended: bool,
}

impl<A: Action> GoalHandle<A> {
    /// Tells how far the goal is.
    pub fn feedback(&self, feedback: &A::Feedback) {
        let message = A::feedback(UUID { uuid: self.goal }, feedback.clone());
        told(self.server.feedback.publish(&message, self.server.now()));
    }

    /// Whether somebody has asked for the goal's end.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.server.goals().is_cancelling(&self.goal)
    }

    /// The goal was reached.
    pub fn succeed(self, result: A::Result) {
        self.end(GoalStatus::STATUS_SUCCEEDED, result);
    }

    /// The goal was given up for a reason that the result tells.
    pub fn abort(self, result: A::Result) {
        self.end(GoalStatus::STATUS_ABORTED, result);
    }

    /// The goal was given up because somebody asked for it.
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

/// What the services, the topics and the handles of one action share.
struct Server<A: Action> {
    goals: Mutex<Goals<A>>,
    feedback: Publisher<A::FeedbackMessage>,
    status: Publisher<GoalStatusArray>,
    /// The latest time of `/clock`, nanoseconds.
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

    /// Answers whether the goal was accepted; true when it may begin. A goal whose
    /// asker cannot be answered is forgotten.
    fn answer_goal(&self, goal: GoalId, accepted: bool, reply: Reply<A::SendGoal>) -> bool {
        let answered = told(reply.send(&A::goal_answer(accepted, self.now().into())));
        if accepted && !answered {
            self.goals().forget(&goal);
        }
        if accepted && answered {
            self.tell_status();
        }
        accepted && answered
    }

    fn cancel(&self, request: &CancelGoalRequest, reply: Reply<CancelGoal>) {
        let response = self.goals().cancel(request);
        let changed = !response.goals_canceling.is_empty();
        if changed {
            self.tell_status();
        }
        told(reply.send(&response));
    }

    fn answer_result(&self, goal: GoalId, reply: Reply<A::GetResult>) {
        let known = self.goals().result(&goal, reply);
        let (status, result, reply) = match known {
            Known::Waits => return,
            Known::Ended(status, result, reply) => (status, result, reply),
            Known::Not(reply) => (GoalStatus::STATUS_UNKNOWN, A::Result::default(), reply),
        };
        told(reply.send(&A::result_answer(status, result)));
    }

    fn end(&self, goal: &GoalId, status: i8, result: A::Result) {
        let waiting = self.goals().end(goal, status, result.clone());
        let response = A::result_answer(status, result);
        for reply in waiting {
            told(reply.send(&response));
        }
        self.tell_status();
    }

    /// Publishes how far all goals are. One thread at a time does, outside the
    /// lock, and does it again when something has changed meanwhile: the last word
    /// is the newest.
    fn tell_status(&self) {
        if !self.goals().begin_telling() {
            return;
        }
        loop {
            let Some(status) = self.goals().next_telling() else { return };
            told(self.status.publish(&status, self.now()));
        }
    }
}

/// Whether it was sent; a peer that cannot be told does not stop the goal.
fn told(sent: Result<(), TransportError>) -> bool {
    sent.inspect_err(|error| tracing::warn!("{error}; the goal goes on")).is_ok()
}

#[cfg(test)]
mod tests;

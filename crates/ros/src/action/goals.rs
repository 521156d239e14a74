//! The goals of an action server. States and transitions are those of `rcl_action` (`goal_state_machine.c`,
//! `rcl_action_process_cancel_request`).

use std::collections::{BTreeMap, VecDeque};

use selene_base::SimTime;

use super::Action;
use crate::action_msgs::srv::{CancelGoalRequest, CancelGoalResponse};
use crate::action_msgs::{GoalInfo, GoalStatus, GoalStatusArray};
use crate::builtin_interfaces::Time;
use crate::service::Reply;
use crate::unique_identifier_msgs::UUID;

/// Maximum number of active goals of one server.
pub const GOALS_MAX: usize = 256;
/// Number of ended goals whose results one server keeps, the latest ones.
pub const RESULTS_MAX: usize = 64;
/// Maximum number of clients that wait for one result; beyond it the first is dropped.
const WAITING_MAX: usize = 64;
/// The id that means no particular goal.
const ANY: GoalId = [0; 16];

pub(super) type GoalId = [u8; 16];

struct Goal<A: Action> {
    accepted: Time,
    state: State<A>,
}

enum State<A: Action> {
    /// The replies to clients that wait for the result.
    Executing(VecDeque<Reply<A::GetResult>>),
    Cancelling(VecDeque<Reply<A::GetResult>>),
    Ended(i8, A::Result),
}

/// Answer to a request for a goal's result.
pub(super) enum ResultAnswer<A: Action> {
    Ended(i8, A::Result, Reply<A::GetResult>),
    /// The goal has not ended; the client waits.
    Waits,
    Not(Reply<A::GetResult>),
}

pub(super) struct Goals<A: Action> {
    goals: BTreeMap<GoalId, Goal<A>>,
    /// Ids of ended goals, oldest first.
    ended: VecDeque<GoalId>,
    /// Whether a thread is publishing the status, and has not published the latest change.
    reporting: bool,
    changed: bool,
}

impl<A: Action> Default for Goals<A> {
    fn default() -> Self {
        Self { goals: BTreeMap::new(), ended: VecDeque::new(), reporting: false, changed: false }
    }
}

impl<A: Action> Goal<A> {
    fn status(&self) -> i8 {
        match &self.state {
            State::Executing(_) => GoalStatus::STATUS_EXECUTING,
            State::Cancelling(_) => GoalStatus::STATUS_CANCELING,
            State::Ended(status, _) => *status,
        }
    }

    /// Changes to cancelling if that is possible; returns whether it did.
    fn cancel(&mut self) -> bool {
        let State::Executing(waiting) = &mut self.state else { return false };
        self.state = State::Cancelling(std::mem::take(waiting));
        true
    }
}

impl<A: Action> Goals<A> {
    /// Adds a new goal, unless there are too many or its id is known already.
    pub(super) fn accept(&mut self, goal: GoalId, now: Time) -> bool {
        let active = self.goals.len() - self.ended.len();
        if goal == ANY || active >= GOALS_MAX || self.goals.contains_key(&goal) {
            return false;
        }
        self.goals.insert(goal, Goal { accepted: now, state: State::Executing(VecDeque::new()) });
        true
    }

    /// Removes a goal that has not begun.
    pub(super) fn forget(&mut self, goal: &GoalId) {
        self.goals.remove(goal);
    }

    pub(super) fn is_cancelling(&self, goal: &GoalId) -> bool {
        self.goals.get(goal).is_some_and(|goal| matches!(goal.state, State::Cancelling(_)))
    }

    /// Ends the goal; returns the replies to the clients that wait for its result.
    pub(super) fn end(&mut self, id: &GoalId, status: i8, result: A::Result) -> VecDeque<Reply<A::GetResult>> {
        let Some(goal) = self.goals.get_mut(id) else { return VecDeque::new() };
        let waiting = match std::mem::replace(&mut goal.state, State::Ended(status, result)) {
            State::Executing(waiting) | State::Cancelling(waiting) => waiting,
            State::Ended(..) => return VecDeque::new(),
        };
        self.ended.push_back(*id);
        if self.ended.len() > RESULTS_MAX
            && let Some(oldest) = self.ended.pop_front()
        {
            self.goals.remove(&oldest);
        }
        waiting
    }

    /// The result of a goal; until there is one, adds the reply to the goal's queue.
    pub(super) fn result(&mut self, id: &GoalId, reply: Reply<A::GetResult>) -> ResultAnswer<A> {
        match self.goals.get_mut(id).map(|goal| &mut goal.state) {
            None => ResultAnswer::Not(reply),
            Some(State::Ended(status, result)) => ResultAnswer::Ended(*status, result.clone(), reply),
            Some(State::Executing(waiting) | State::Cancelling(waiting)) => {
                if waiting.len() == WAITING_MAX {
                    drop(waiting.pop_front());
                }
                waiting.push_back(reply);
                ResultAnswer::Waits
            }
        }
    }

    /// Cancels goals: one by its id; or all accepted up to a time, and one by its id; or, if both are zero, all.
    pub(super) fn cancel(&mut self, request: &CancelGoalRequest) -> CancelGoalResponse {
        let (id, until) = (request.goal_info.goal_id.uuid, SimTime::from(request.goal_info.stamp));
        if id != ANY && until == SimTime::ZERO {
            return self.cancel_one(&id);
        }
        let all = id == ANY && until == SimTime::ZERO;
        let mut goals_canceling = Vec::new();
        for (known, goal) in &mut self.goals {
            let meant = all || *known == id || SimTime::from(goal.accepted) <= until;
            if meant && goal.cancel() {
                goals_canceling.push(info(known, goal));
            }
        }
        CancelGoalResponse { return_code: CancelGoalResponse::ERROR_NONE, goals_canceling }
    }

    fn cancel_one(&mut self, id: &GoalId) -> CancelGoalResponse {
        let (return_code, goals_canceling) = match self.goals.get_mut(id) {
            None => (CancelGoalResponse::ERROR_UNKNOWN_GOAL_ID, Vec::new()),
            Some(goal) => match goal.cancel() {
                true => (CancelGoalResponse::ERROR_NONE, vec![info(id, goal)]),
                false => (CancelGoalResponse::ERROR_GOAL_TERMINATED, Vec::new()),
            },
        };
        CancelGoalResponse { return_code, goals_canceling }
    }

    /// Notes a change; returns true if the caller must publish it.
    pub(super) fn begin_reporting(&mut self) -> bool {
        self.changed = true;
        !std::mem::replace(&mut self.reporting, true)
    }

    /// The next status to publish; `None` if the latest one has been published.
    pub(super) fn next_report(&mut self) -> Option<GoalStatusArray> {
        self.reporting = std::mem::take(&mut self.changed);
        self.reporting.then(|| GoalStatusArray { status_list: self.statuses() })
    }

    fn statuses(&self) -> Vec<GoalStatus> {
        let status = |(id, goal): (&GoalId, &Goal<A>)| GoalStatus { goal_info: info(id, goal), status: goal.status() };
        self.goals.iter().map(status).collect()
    }
}

fn info<A: Action>(id: &GoalId, goal: &Goal<A>) -> GoalInfo {
    GoalInfo { goal_id: UUID { uuid: *id }, stamp: goal.accepted }
}

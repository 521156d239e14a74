//! The queue of all changes to a running world. Requests from this process and from services enter it in the order in
//! which they are made. The node carries them out between two heartbeats, also while simulated time is paused.
//!
//! The queue is bounded, and so is the work between two heartbeats: a flood of requests slows the world down and is
//! refused beyond that, but it neither stops the world nor uses ever more memory.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_sim::{Entity, Placement, ResetScope, Spawn, SpawnError};

use crate::node::Node;
use crate::run_control::{RunState, StepClient};

/// Maximum number of waiting requests.
pub(crate) const WAITING_MAX: usize = 256;
/// Maximum number of light tasks between two heartbeats.
const LIGHT_MAX: usize = 32;
/// Maximum number of heavy tasks between two heartbeats.
const HEAVY_MAX: usize = 1;
/// Minimum interval between two log messages about refused requests (wall time).
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// A change of the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Add an entity.
    Spawn(Spawn),
    /// Remove an entity.
    Remove(Entity),
    /// Move an entity, or set its velocity.
    Place(Entity, Placement),
    /// Reset the world, or parts of it, to its beginning.
    Reset(ResetScope),
    /// Play, pause, stop or end the run.
    Enter(RunState),
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The entity cannot be added, removed or placed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The topics of an added entity cannot be opened.
    #[error("its topics cannot be opened: {0}")]
    Topics(String),
    /// Several processes share the world.
    #[error("several processes share this world: it cannot be changed, paused or stepped")]
    Shared,
    /// The run is in that state already.
    #[error("the simulation is in that state already")]
    AlreadySo,
    /// Steps were requested while the run is not paused.
    #[error("steps are made while the simulation is paused; pause it first")]
    NotPaused,
    /// Other steps are under way.
    #[error("steps are in progress; request again when they are done")]
    Stepping,
    /// Not all steps were made.
    #[error("only {done} steps were made: {why}")]
    StepsEnded {
        /// Number of steps that were made.
        done: u64,
        /// Why no more were made.
        why: &'static str,
    },
    /// Too many requests are waiting.
    #[error("{WAITING_MAX} requests wait already; request again when they are done")]
    Full,
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
}

/// The entity that was added, moved or removed (`None` if the whole world was changed), or why nothing was changed.
pub type Answer = Result<Option<Entity>, ChangeError>;

/// Requests to a running world; all clones share one queue.
#[derive(Clone, Default)]
pub struct Changes {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    list: Mutex<List>,
    came: Condvar,
}

#[derive(Default)]
struct List {
    waiting: VecDeque<Box<dyn Task>>,
    refused: u64,
    /// When refused requests were last logged.
    reported: Option<Instant>,
    has_ended: bool,
}

/// A piece of work that the node does between two heartbeats.
pub(crate) trait Task: Send {
    fn cost(&self) -> Cost;

    /// Does the work; a remainder that it returns is done first after the next heartbeats.
    fn carry_out(self: Box<Self>, node: &mut Node, stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError>;

    /// Answers that the work is not done, and why.
    fn refuse(self: Box<Self>, why: ChangeError);
}

/// How much time a task takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// It only reads the world, or changes little.
    Light,
    /// It reads files, searches for free ground, or has other nodes begin anew.
    Heavy,
}

/// The number of tasks that may still be done between these two heartbeats.
pub(crate) struct TaskBudget {
    light: usize,
    heavy: usize,
}

struct QueuedChange {
    change: Change,
    answer: Sender<Answer>,
}

/// A request for heartbeats while time is paused.
pub(crate) struct StepRequest {
    pub(crate) heartbeats: u64,
    pub(crate) waiting: StepClient,
}

impl TaskBudget {
    pub(crate) fn of_a_heartbeat() -> Self {
        Self { light: LIGHT_MAX, heavy: HEAVY_MAX }
    }

    /// Takes one task of this cost off the budget; false if there is no room for it.
    fn spend(&mut self, cost: Cost) -> bool {
        let left = match cost {
            Cost::Light => &mut self.light,
            Cost::Heavy => &mut self.heavy,
        };
        let has_room = *left > 0;
        *left = left.saturating_sub(1);
        has_room
    }
}

impl Changes {
    /// Requests a change. The answer arrives when the change was made or refused, at the latest when the run ends.
    pub fn request(&self, change: Change) -> Receiver<Answer> {
        let (answer, answered) = channel();
        self.put(Box::new(QueuedChange { change, answer }));
        answered
    }

    /// Requests this many heartbeats while time is paused; the answer arrives when they were made.
    pub fn step(&self, heartbeats: u64) -> Receiver<Answer> {
        let (answer, answered) = channel();
        self.put(Box::new(StepRequest { heartbeats, waiting: StepClient::Process(answer) }));
        answered
    }

    /// Puts a task at the end of the queue, or refuses it at once.
    pub(crate) fn put(&self, task: Box<dyn Task>) {
        let mut list = self.list();
        match list.refusal() {
            None => {
                list.waiting.push_back(task);
                self.shared.came.notify_all();
            }
            Some(why) => {
                let (refused, report) = list.count_refused();
                drop(list);
                if report {
                    tracing::warn!(refused, "a request was refused: {why}");
                }
                task.refuse(why);
            }
        }
    }

    /// Puts the remainder of a task at the front of the queue.
    pub(crate) fn put_back(&self, task: Box<dyn Task>) {
        self.list().waiting.push_front(task);
    }

    /// The next task, if the budget has room for it.
    pub(crate) fn take(&self, budget: &mut TaskBudget) -> Option<Box<dyn Task>> {
        let mut list = self.list();
        let cost = list.waiting.front()?.cost();
        if budget.spend(cost) { list.waiting.pop_front() } else { None }
    }

    /// Waits until a request arrives, at most for `longest` (wall time).
    pub(crate) fn wait(&self, longest: Duration) {
        let list = self.list();
        if list.waiting.is_empty() {
            // The caller checks the queue again, however this wait ends.
            drop(self.shared.came.wait_timeout(list, longest));
        }
    }

    /// The number of waiting requests, and of those refused because the queue was full.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let list = self.list();
        (list.waiting.len(), list.refused)
    }

    /// Accepts requests: a run begins.
    pub(crate) fn open(&self) {
        self.list().has_ended = false;
    }

    /// Refuses all waiting and later requests: the run has ended.
    pub(crate) fn close(&self) {
        let mut list = self.list();
        list.has_ended = true;
        let waiting = std::mem::take(&mut list.waiting);
        drop(list);
        waiting.into_iter().for_each(|task| task.refuse(ChangeError::Ended));
    }

    /// The queue is consistent even if a thread panicked while holding the lock.
    fn list(&self) -> MutexGuard<'_, List> {
        self.shared.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (waiting, refused) = self.counts();
        f.debug_struct("Changes").field("waiting", &waiting).field("refused", &refused).finish()
    }
}

impl List {
    fn refusal(&self) -> Option<ChangeError> {
        match self.waiting.len() {
            _ if self.has_ended => Some(ChangeError::Ended),
            WAITING_MAX.. => Some(ChangeError::Full),
            _ => None,
        }
    }

    /// Counts a refused request; returns the count so far and whether to log it now.
    fn count_refused(&mut self) -> (u64, bool) {
        self.refused += 1;
        let report = self.reported.is_none_or(|reported| reported.elapsed() >= REPORT_EVERY);
        if report {
            self.reported = Some(Instant::now());
        }
        (self.refused, report)
    }
}

impl Task for QueuedChange {
    fn cost(&self) -> Cost {
        match &self.change {
            Change::Spawn(_) | Change::Place(..) | Change::Reset(_) | Change::Enter(_) => Cost::Heavy,
            Change::Remove(_) => Cost::Light,
        }
    }

    fn carry_out(self: Box<Self>, node: &mut Node, stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError> {
        let made = node.make(self.change, stop)?;
        // The receiver may already be dropped.
        drop(self.answer.send(made));
        Ok(None)
    }

    fn refuse(self: Box<Self>, why: ChangeError) {
        drop(self.answer.send(Err(why)));
    }
}

impl Task for StepRequest {
    fn cost(&self) -> Cost {
        Cost::Light
    }

    fn carry_out(self: Box<Self>, node: &mut Node, _stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError> {
        node.step_on(self.heartbeats, self.waiting);
        Ok(None)
    }

    fn refuse(self: Box<Self>, why: ChangeError) {
        self.waiting.fail(why);
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, ChangeError, Changes, HEAVY_MAX, LIGHT_MAX, TaskBudget, WAITING_MAX};
    use selene_sim::{Entity, ResetScope};

    #[test]
    fn beyond_what_may_wait_requests_are_refused_at_once_and_counted() {
        let changes = Changes::default();
        let remove = || changes.request(Change::Remove(Entity::Rock(1)));
        let waiting: Vec<_> = (0..WAITING_MAX).map(|_| remove()).collect();
        assert!(waiting.iter().all(|answer| answer.try_recv().is_err()));
        assert!(matches!(remove().try_recv(), Ok(Err(ChangeError::Full))));
        assert_eq!(changes.counts(), (WAITING_MAX, 1));
        changes.close();
        assert!(waiting.iter().all(|answer| matches!(answer.try_recv(), Ok(Err(ChangeError::Ended)))));
        assert!(matches!(remove().try_recv(), Ok(Err(ChangeError::Ended))));
        changes.open();
        assert!(remove().try_recv().is_err());
    }

    #[test]
    fn between_two_heartbeats_so_much_is_done_and_no_more_in_the_order_of_requests() {
        let changes = Changes::default();
        let _light: Vec<_> = (0..2 * LIGHT_MAX).map(|_| changes.request(Change::Remove(Entity::Rock(1)))).collect();
        let _heavy: Vec<_> = (0..3).map(|_| changes.request(Change::Reset(ResetScope::ALL))).collect();
        let _last = changes.request(Change::Remove(Entity::Rock(2)));
        let taken = || {
            let mut budget = TaskBudget::of_a_heartbeat();
            std::iter::from_fn(|| changes.take(&mut budget)).count()
        };
        // Tasks behind one for which there is no room wait with it.
        let expected = [LIGHT_MAX, LIGHT_MAX + HEAVY_MAX, HEAVY_MAX, HEAVY_MAX + 1, 0];
        assert_eq!([taken(), taken(), taken(), taken(), taken()], expected);
    }
}

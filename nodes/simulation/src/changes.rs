//! The one way in which a running world is changed. What is asked for, by somebody in the process or over a
//! service, comes into one list, in the order in which it is asked. The node does it between two heartbeats,
//! while simulated time stands too.
//!
//! The list is bounded, and so is what is done between two heartbeats: a flood of requests slows the world and is
//! refused beyond that, but nothing stops or grows.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_sim::{Entity, Placement, ResetScope, Spawn, SpawnError};

use crate::going::{RunState, Waiting};
use crate::node::Node;

/// Requests that wait at most.
pub(crate) const WAITING_MAX: usize = 256;
/// Of those that cost little so many are dealt with between two heartbeats.
const LIGHT_MAX: usize = 32;
/// Of the others so many are.
const HEAVY_MAX: usize = 1;
/// Refused requests are told of no more often (wall time).
const TELL_EVERY: Duration = Duration::from_secs(1);

/// A change of the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Add this.
    Spawn(Spawn),
    /// Take this away.
    Remove(Entity),
    /// Put this elsewhere, or give it another motion.
    Place(Entity, Placement),
    /// Go back to where the world began.
    Reset(ResetScope),
    /// Let time pass or stand, or end the run.
    Enter(RunState),
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// It cannot be.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Its topics cannot be opened.
    #[error("its topics cannot be opened: {0}")]
    Topics(String),
    /// Several processes share the world.
    #[error("several processes share this world: it cannot be changed, paused or stepped")]
    Shared,
    /// The run is in that state already.
    #[error("the simulation is in that state already")]
    AlreadySo,
    /// Time passes.
    #[error("steps are made while the simulation is paused; pause it first")]
    NotPaused,
    /// Others are made.
    #[error("steps are under way; ask again when they are made")]
    Stepping,
    /// Not all steps were made.
    #[error("only {done} steps were made: {why}")]
    StepsEnded {
        /// How many were made.
        done: u64,
        /// Why no more.
        why: &'static str,
    },
    /// Too much is asked.
    #[error("{WAITING_MAX} requests wait already; ask again when they are dealt with")]
    Full,
    /// There is no world any more.
    #[error("the run has ended")]
    Ended,
}

/// What was added, moved or taken away, nothing where the whole world was changed, or why it was not.
pub type Answer = Result<Option<Entity>, ChangeError>;

/// What is asked of a world that runs; all copies are one list.
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
    /// When refused requests were last told of.
    told: Option<Instant>,
    has_ended: bool,
}

/// Something that the node does between two heartbeats.
pub(crate) trait Task: Send {
    fn cost(&self) -> Cost;

    /// Does it; what is left of it is done after heartbeats to come, before all else.
    fn carry_out(self: Box<Self>, node: &mut Node, stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError>;

    /// Answers that it is not done.
    fn refuse(self: Box<Self>, why: ChangeError);
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// It looks at the world.
    Light,
    /// It reads files, looks for ground where nobody was, or has others begin anew.
    Heavy,
}

/// What may still be done between two heartbeats.
pub(crate) struct Budget {
    light: usize,
    heavy: usize,
}

struct Asked {
    change: Change,
    answer: Sender<Answer>,
}

/// Heartbeats to be made while time stands.
pub(crate) struct AskedSteps {
    pub(crate) heartbeats: u64,
    pub(crate) waiting: Waiting,
}

impl Budget {
    pub(crate) fn of_a_heartbeat() -> Self {
        Self { light: LIGHT_MAX, heavy: HEAVY_MAX }
    }

    /// Whether there is room for it, which is then taken.
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
    /// Asks for a change. The answer comes when it was made or refused, at the latest when the run ends.
    pub fn ask(&self, change: Change) -> Receiver<Answer> {
        let (answer, answered) = channel();
        self.put(Box::new(Asked { change, answer }));
        answered
    }

    /// Asks for so many heartbeats of a world whose time stands; the answer comes when they were made.
    pub fn step(&self, heartbeats: u64) -> Receiver<Answer> {
        let (answer, answered) = channel();
        self.put(Box::new(AskedSteps { heartbeats, waiting: Waiting::Process(answer) }));
        answered
    }

    /// Puts something at the end of the list, or refuses it at once.
    pub(crate) fn put(&self, task: Box<dyn Task>) {
        let mut list = self.list();
        match list.refusal() {
            None => {
                list.waiting.push_back(task);
                self.shared.came.notify_all();
            }
            Some(why) => {
                let (refused, tell) = list.count_refused();
                drop(list);
                if tell {
                    tracing::warn!(refused, "a request was refused: {why}");
                }
                task.refuse(why);
            }
        }
    }

    /// What is left of something that was begun comes first.
    pub(crate) fn put_back(&self, task: Box<dyn Task>) {
        self.list().waiting.push_front(task);
    }

    /// The next thing to do, if there is room for it between these two heartbeats.
    pub(crate) fn take(&self, budget: &mut Budget) -> Option<Box<dyn Task>> {
        let mut list = self.list();
        let cost = list.waiting.front()?.cost();
        if budget.spend(cost) { list.waiting.pop_front() } else { None }
    }

    /// Waits until something is asked for, or for a while.
    pub(crate) fn wait(&self, longest: Duration) {
        let list = self.list();
        if list.waiting.is_empty() {
            // However it ends, who waits looks again.
            drop(self.shared.came.wait_timeout(list, longest));
        }
    }

    /// How many requests wait, and how many were refused because too many did.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let list = self.list();
        (list.waiting.len(), list.refused)
    }

    /// A run begins.
    pub(crate) fn open(&self) {
        self.list().has_ended = false;
    }

    /// The run has ended: whoever waits is told so.
    pub(crate) fn close(&self) {
        let mut list = self.list();
        list.has_ended = true;
        let waiting = std::mem::take(&mut list.waiting);
        drop(list);
        waiting.into_iter().for_each(|task| task.refuse(ChangeError::Ended));
    }

    /// A list is whole even if somebody panicked while holding it.
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

    /// Counts a refused request: how many there were, and whether that is to be told now.
    fn count_refused(&mut self) -> (u64, bool) {
        self.refused += 1;
        let tell = self.told.is_none_or(|told| told.elapsed() >= TELL_EVERY);
        if tell {
            self.told = Some(Instant::now());
        }
        (self.refused, tell)
    }
}

impl Task for Asked {
    fn cost(&self) -> Cost {
        match &self.change {
            Change::Spawn(_) | Change::Place(..) | Change::Reset(_) | Change::Enter(_) => Cost::Heavy,
            Change::Remove(_) => Cost::Light,
        }
    }

    fn carry_out(self: Box<Self>, node: &mut Node, stop: &AtomicBool) -> Result<Option<Box<dyn Task>>, NodeError> {
        let made = node.make(self.change, stop)?;
        // Who asked may not wait for the answer.
        drop(self.answer.send(made));
        Ok(None)
    }

    fn refuse(self: Box<Self>, why: ChangeError) {
        drop(self.answer.send(Err(why)));
    }
}

impl Task for AskedSteps {
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
    use super::{Budget, Change, ChangeError, Changes, HEAVY_MAX, LIGHT_MAX, WAITING_MAX};
    use selene_sim::{Entity, ResetScope};

    #[test]
    fn beyond_what_may_wait_requests_are_refused_at_once_and_counted() {
        let changes = Changes::default();
        let remove = || changes.ask(Change::Remove(Entity::Rock(1)));
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
    fn between_two_heartbeats_so_much_is_done_and_no_more_in_the_order_of_asking() {
        let changes = Changes::default();
        let _light: Vec<_> = (0..2 * LIGHT_MAX).map(|_| changes.ask(Change::Remove(Entity::Rock(1)))).collect();
        let _heavy: Vec<_> = (0..3).map(|_| changes.ask(Change::Reset(ResetScope::ALL))).collect();
        let _last = changes.ask(Change::Remove(Entity::Rock(2)));
        let taken = || {
            let mut budget = Budget::of_a_heartbeat();
            std::iter::from_fn(|| changes.take(&mut budget)).count()
        };
        // What comes after something for which there is no room waits with it.
        let expected = [LIGHT_MAX, LIGHT_MAX + HEAVY_MAX, HEAVY_MAX, HEAVY_MAX + 1, 0];
        assert_eq!([taken(), taken(), taken(), taken(), taken()], expected);
    }
}

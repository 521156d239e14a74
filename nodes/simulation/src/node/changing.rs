//! How the node changes its world between two heartbeats, and what it does while simulated time is paused.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_sim::{AllowedFolders, Entity, Placement, ResetScope, Snapshot, Spawn};

use super::waiting::WaitLimit;
use super::{Node, begin_feed};
use crate::changes::{Answer, Change, ChangeError, TaskBudget};
use crate::run_control::{RunState, StepClient};

/// How often requests are checked while time is paused or waits for participants (wall time).
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often clock and rovers are published again while time is paused (wall time).
const REPEAT_EVERY: Duration = Duration::from_secs(1);

impl Node {
    pub(crate) fn folders(&self) -> &AllowedFolders {
        &self.folders
    }

    /// The snapshot that was published last.
    pub(crate) fn latest(&self) -> &Snapshot {
        self.feed.last()
    }

    /// Whether other processes simulate a part of the world.
    pub(crate) fn is_shared(&self) -> bool {
        self.sharing.is_some()
    }

    pub(crate) fn state(&self) -> RunState {
        self.run_control.state()
    }

    /// Carries out pending requests, up to the budget of one heartbeat.
    pub(super) fn carry_out(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        if self.is_shared() {
            self.settings.report(&self.world);
        } else {
            self.settings.give(&mut self.world);
        }
        let mut budget = TaskBudget::of_a_heartbeat();
        while let Some(task) = self.changes.take(&mut budget) {
            if let Some(rest) = task.carry_out(self, stop)? {
                self.changes.put_back(rest);
            }
            if self.run_control.quits() {
                break;
            }
        }
        Ok(())
    }

    /// Waits briefly for a request while time is paused; meanwhile it takes commands, answers requests for terrain, and
    /// publishes clock and rovers again for those who look only now.
    pub(super) fn stand(&mut self) -> Result<(), NodeError> {
        self.take_commands();
        if self.repeated.elapsed() >= REPEAT_EVERY {
            self.repeated = Instant::now();
            self.run.clock_again(self.world.time())?;
            self.rovers.repeat(self.feed.last())?;
        }
        let latest = self.feed.last().sequence;
        // Called for its side effect of reading acknowledgements: no participant is waited for.
        self.lockstep.must_wait(latest, true);
        self.answer_terrain()?;
        self.changes.wait(LOOK_EVERY);
        Ok(())
    }

    /// Has rovers take their commands while time is paused, so that none pile up.
    pub(super) fn take_commands(&mut self) {
        self.inputs.hand_to(&mut self.world);
    }

    /// Makes a change, or says why it cannot be made.
    ///
    /// # Errors
    /// When the node cannot go on.
    pub(crate) fn make(&mut self, change: Change, stop: &AtomicBool) -> Result<Answer, NodeError> {
        // A process can only leave a world that it shares.
        if self.is_shared() && change != Change::Enter(RunState::Quitting) {
            return Ok(Err(ChangeError::Shared));
        }
        match change {
            Change::Spawn(spawn) => self.spawn(&spawn),
            Change::Remove(entity) => self.remove(entity),
            Change::Place(entity, placement) => Ok(self.place(entity, &placement)),
            Change::Reset(scope) => self.reset(scope, stop),
            Change::Enter(state) => self.enter(state, stop),
        }
    }

    /// Makes `heartbeats` steps while time is paused.
    pub(crate) fn step_on(&mut self, heartbeats: u64, waiting: StepClient) {
        if self.is_shared() {
            return waiting.fail(ChangeError::Shared);
        }
        self.run_control.begin_steps(heartbeats, waiting);
    }

    fn spawn(&mut self, spawn: &Spawn) -> Result<Answer, NodeError> {
        let entity = match self.world.spawn(spawn, &self.folders) {
            Ok(entity) => entity,
            Err(error) => return Ok(Err(error.into())),
        };
        let Err(error) = self.follow_rovers() else { return Ok(Ok(Some(entity))) };
        // A topic that another node already owns must not end the run.
        if let Err(error) = self.world.remove(entity) {
            return Ok(Err(error.into()));
        }
        self.follow_rovers()?;
        Ok(Err(ChangeError::Topics(error.to_string())))
    }

    fn remove(&mut self, entity: Entity) -> Result<Answer, NodeError> {
        if let Err(error) = self.world.remove(entity) {
            return Ok(Err(error.into()));
        }
        self.infos.forget(entity);
        self.follow_rovers()?;
        Ok(Ok(Some(entity)))
    }

    fn place(&mut self, entity: Entity, placement: &Placement) -> Answer {
        self.world.place(entity, placement)?;
        if let (Entity::Rover(id), Some(_)) = (entity, placement.pose) {
            self.placed.insert(id);
        }
        Ok(Some(entity))
    }

    /// Changes to another run state; entering `Stopped` also resets the world.
    fn enter(&mut self, state: RunState, stop: &AtomicBool) -> Result<Answer, NodeError> {
        if self.run_control.state() == state {
            return Ok(Err(ChangeError::AlreadySo));
        }
        if state == RunState::Stopped
            && let Err(error) = self.reset(ResetScope::ALL, stop)?
        {
            return Ok(Err(error));
        }
        self.run_control.enter(state);
        self.pacer.begin_anew();
        self.diagnostics.begin_anew(self.world.time());
        Ok(Ok(None))
    }

    fn reset(&mut self, scope: ResetScope, stop: &AtomicBool) -> Result<Answer, NodeError> {
        // Nothing from before the reset is published after the clock went back, unless a silent participant answers
        // late.
        let mut limit = WaitLimit::UntilSilent;
        self.await_delivery(&Arc::clone(self.feed.last()), &mut limit, stop)?;
        if let Err(error) = self.world.reset_in(scope) {
            return Ok(Err(error.into()));
        }
        self.begin_anew(scope, &mut limit, stop)?;
        Ok(Ok(None))
    }

    /// Begins anew after a reset of the world: forgets what was kept from before it and publishes the new beginning.
    fn begin_anew(&mut self, scope: ResetScope, limit: &mut WaitLimit, stop: &AtomicBool) -> Result<(), NodeError> {
        let (epoch, time) = (self.world.epoch(), self.world.time());
        self.run_control.begin_anew(time);
        self.pacer.begin_anew();
        self.inputs.begin_anew(time);
        self.infos.forget_all();
        self.settings.begin_anew(&self.world);
        self.lockstep.begin_anew(epoch);
        self.rovers.begin_anew();
        self.diagnostics.begin_anew(time);
        self.distances_m.clear();
        self.placed.clear();
        self.follow_rovers()?;
        // The end of the previous run is published again only if the world is as that run left it.
        let recent = self.recent.as_ref().filter(|_| scope == ResetScope::ALL).map(|recent| recent.of_epoch(epoch));
        let (feed, recorder) = begin_feed(&mut self.world, recent.as_ref(), Some(&mut self.maps))?;
        self.feed = feed;
        // Maps and rocks from before the reset are published before the clock goes back.
        self.maps.take(self.feed.standing(&self.world))?;
        self.maps.catch_up();
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.begin_anew(&self.world, recorder);
        }
        if recent.is_some() {
            self.run.clock(time)?;
        }
        self.publish_beginning(recent.as_ref(), limit, stop)?;
        self.await_delivery(&Arc::clone(self.feed.last()), limit, stop)
    }
}

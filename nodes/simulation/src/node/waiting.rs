//! What the node waits for between two heartbeats: lockstep participants, topics for which time holds, and the clock
//! that it follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_sim::Snapshot;

use super::Node;
use super::changing::LOOK_EVERY;
use crate::run_control::RunState;
use crate::sharing::Sharing;

/// A reset or the end of the run stops waiting for participants when none has acknowledged anything new for this long
/// (wall time).
const SILENT_AFTER: Duration = Duration::from_secs(2);

/// How long participants are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitLimit {
    /// Until all have acknowledged what was published.
    Endless,
    /// Until none of them acknowledges anything new.
    UntilSilent,
    /// No longer.
    Over,
}

impl Node {
    /// Waits for everyone that the heartbeat's data are published to.
    pub(super) fn await_others(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        // An answer to a hold is based on all sensor data so far, and a step is complete when all data of the last one
        // are out.
        let to_the_last = self.inputs.has_hold() || self.run_control.is_last_step();
        self.await_participants(to_the_last, stop)?;
        let last = Arc::clone(self.feed.last());
        if self.inputs.has_hold() && self.leads() {
            self.run.clock(last.time)?;
        }
        // The client that requested the steps may be the one that time holds for.
        self.run_control.stepped();
        self.hold(&last, stop)
    }

    /// Waits until the heartbeat that was made is due; steps are due at once.
    pub(super) fn keep_pace(&mut self) -> Result<(), NodeError> {
        if self.run_control.state() != RunState::Playing {
            return Ok(());
        }
        let sharing = &mut self.sharing;
        self.pacer.wait_for(self.world.time(), || sharing.iter_mut().for_each(Sharing::stay_alive))?;
        Ok(())
    }

    /// At a hold: waits until every awaited topic has a message or its timeout is over. Meanwhile it repeats the clock
    /// for programs that missed it, and carries out requests, since a program may send one before it answers.
    fn hold(&mut self, last: &Snapshot, stop: &AtomicBool) -> Result<(), NodeError> {
        if !self.inputs.has_hold() {
            return Ok(());
        }
        let begun = Instant::now();
        while self.inputs.is_held(begun.elapsed()) && !stop.load(Ordering::Relaxed) && !self.run_control.quits() {
            self.sharing.iter_mut().for_each(Sharing::stay_alive);
            if self.inputs.wait(begun.elapsed()) && self.leads() {
                self.run.clock_again(last.time)?;
            }
            self.answer_terrain()?;
            self.carry_out(stop)?;
        }
        self.inputs.end_hold(begun.elapsed());
        Ok(())
    }

    /// Waits while a participant is too far behind, repeating the latest snapshot for one that was restarted. Requests
    /// are carried out meanwhile: a silent participant holds time, and nothing else. After a reset it waits for all
    /// from the world's first snapshot.
    pub(super) fn await_participants(&mut self, to_the_last: bool, stop: &AtomicBool) -> Result<(), NodeError> {
        loop {
            let last = Arc::clone(self.feed.last());
            let is_over = stop.load(Ordering::Relaxed) || self.run_control.quits();
            if is_over || !self.must_wait(last.sequence, to_the_last) {
                return Ok(());
            }
            self.sharing.iter_mut().for_each(Sharing::stay_alive);
            if self.lockstep.wait_for(LOOK_EVERY) {
                self.run.state(&self.world, &last)?;
            }
            self.answer_terrain()?;
            self.carry_out(stop)?;
            // At a hold, commands are taken when the hold ends.
            if !self.run_control.moves() && !self.inputs.has_hold() {
                self.take_commands();
            }
        }
    }

    /// Waits until all participants have dealt with a snapshot, or as long as there is patience. It carries out no
    /// request meanwhile: its caller is carrying one out, or beginning or ending the run.
    pub(super) fn await_delivery(
        &mut self,
        reported: &Snapshot,
        limit: &mut WaitLimit,
        stop: &AtomicBool,
    ) -> Result<(), NodeError> {
        let begun = Instant::now();
        while *limit != WaitLimit::Over && self.must_wait(reported.sequence, true) && !stop.load(Ordering::Relaxed) {
            self.sharing.iter_mut().for_each(Sharing::stay_alive);
            if self.lockstep.wait_for(LOOK_EVERY) {
                self.run.state(&self.world, reported)?;
            }
            self.answer_terrain()?;
            if *limit == WaitLimit::UntilSilent && self.lockstep.silent_since(begun) >= SILENT_AFTER {
                tracing::warn!(
                    "a reset or the end of the run waits no longer for a participant that does not acknowledge"
                );
                *limit = WaitLimit::Over;
            }
        }
        Ok(())
    }

    /// Whether a participant is too far behind. Of the processes that share a world only the leader waits for
    /// participants, and the others wait for its part: one that missed an acknowledgement could not have it repeated.
    fn must_wait(&mut self, sequence: u64, to_the_last: bool) -> bool {
        // Acknowledgements are read in any case, for a process that leads later.
        let is_behind = self.lockstep.must_wait(sequence, to_the_last);
        is_behind && self.leads()
    }

    pub(super) fn answer_terrain(&self) -> Result<(), NodeError> {
        let (state, epoch) = (self.world.state(), self.world.epoch());
        match &self.ground_then {
            Some((sequence, ruts)) => self.terrain.answer(epoch, *sequence, ruts, state.time),
            None => self.terrain.answer(epoch, state.terrain_sequence, &state.ruts, state.time),
        }
    }
}

//! Whom the node waits for between two heartbeats: participants of lockstep, topics that time holds for, and the
//! clock that it follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selene_coherence::NodeError;
use selene_sim::Snapshot;

use super::Node;
use super::changing::LOOK_EVERY;
use crate::going::RunState;
use crate::sharing::Sharing;

/// A reset, or somebody who ends the run, waits for participants no longer when none of them dealt with anything new
/// for so long (wall time).
const SILENT_AFTER: Duration = Duration::from_secs(2);

/// How long participants are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Until all have dealt with what they were told.
    Endless,
    /// Until none of them deals with anything new.
    UntilSilent,
    /// Not any longer.
    Over,
}

impl Node {
    /// Waits for all whom the heartbeat that was made is told to.
    pub(super) fn await_others(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        // Who is held for answers all sensor data until now, and steps are made when all data of the last one are.
        let to_the_last = self.inputs.has_hold() || self.going.is_last_step();
        self.await_participants(to_the_last, stop)?;
        let last = Arc::clone(self.feed.last());
        if self.inputs.has_hold() && self.leads() {
            self.run.clock(last.time)?;
        }
        // Who asked for steps may be the one that is held for.
        self.going.stepped();
        self.hold(&last, stop)
    }

    /// Waits until the heartbeat that was made is due; steps are due at once.
    pub(super) fn keep_pace(&mut self) -> Result<(), NodeError> {
        if self.going.state() != RunState::Playing {
            return Ok(());
        }
        let sharing = &mut self.sharing;
        self.pacer.wait_for(self.world.time(), || sharing.iter_mut().for_each(Sharing::stay_alive))?;
        Ok(())
    }

    /// Where a hold has begun: holds simulated time until all that is awaited has answered or its timeout is over.
    /// Who missed the clock hears it again, and who asks something before it answers is told.
    fn hold(&mut self, last: &Snapshot, stop: &AtomicBool) -> Result<(), NodeError> {
        if !self.inputs.has_hold() {
            return Ok(());
        }
        let begun = Instant::now();
        while self.inputs.is_held(begun.elapsed()) && !stop.load(Ordering::Relaxed) && !self.going.quits() {
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

    /// Waits while a participant is too far behind, repeating the latest snapshot for one that was started again.
    /// Meanwhile requests are carried out: a participant that is silent holds time, and nothing else. A world that is
    /// reset is waited for from its beginning.
    pub(super) fn await_participants(&mut self, to_the_last: bool, stop: &AtomicBool) -> Result<(), NodeError> {
        loop {
            let last = Arc::clone(self.feed.last());
            let is_over = stop.load(Ordering::Relaxed) || self.going.quits();
            if is_over || !self.lockstep.must_wait(last.sequence, to_the_last) {
                return Ok(());
            }
            self.sharing.iter_mut().for_each(Sharing::stay_alive);
            if self.lockstep.wait_for(LOOK_EVERY) && self.leads() {
                self.run.state(&self.world, &last)?;
            }
            self.answer_terrain()?;
            self.carry_out(stop)?;
            // Those that time holds for are taken when it does.
            if !self.going.moves() && !self.inputs.has_hold() {
                self.take_commands();
            }
        }
    }

    /// Waits until all participants have dealt with a snapshot, or as long as there is patience. No request is carried
    /// out meanwhile: one is, or the run begins or ends.
    pub(super) fn await_told(
        &mut self,
        told: &Snapshot,
        patience: &mut Patience,
        stop: &AtomicBool,
    ) -> Result<(), NodeError> {
        let begun = Instant::now();
        while *patience != Patience::Over
            && self.lockstep.must_wait(told.sequence, true)
            && !stop.load(Ordering::Relaxed)
        {
            self.sharing.iter_mut().for_each(Sharing::stay_alive);
            if self.lockstep.wait_for(LOOK_EVERY) && self.leads() {
                self.run.state(&self.world, told)?;
            }
            self.answer_terrain()?;
            if *patience == Patience::UntilSilent && self.lockstep.silent_since(begun) >= SILENT_AFTER {
                tracing::warn!("a reset or the end of the run waits no longer for a participant that is silent");
                *patience = Patience::Over;
            }
        }
        Ok(())
    }

    pub(super) fn answer_terrain(&self) -> Result<(), NodeError> {
        let (state, epoch) = (self.world.state(), self.world.epoch());
        match &self.ground_then {
            Some((sequence, ruts)) => self.terrain.answer(epoch, *sequence, ruts, state.time),
            None => self.terrain.answer(epoch, state.terrain_sequence, &state.ruts, state.time),
        }
    }
}

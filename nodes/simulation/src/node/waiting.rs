//! Whom the node waits for between two heartbeats: participants of lockstep, topics that time holds for, and the
//! clock that it follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use selene_coherence::NodeError;
use selene_sim::Snapshot;

use super::Node;
use crate::going::RunState;
use crate::sharing::Sharing;

impl Node {
    /// Waits for all whom the heartbeat that was made is told to.
    pub(super) fn await_others(&mut self, stop: &AtomicBool) -> Result<(), NodeError> {
        let last = Arc::clone(self.feed.last());
        // Who is held for answers all sensor data until now, and steps are made when all data of the last one are.
        let to_the_last = self.inputs.has_hold() || self.going.is_last_step();
        self.await_participants(&last, to_the_last, stop)?;
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

    /// Waits while a participant is too far behind, answering requests and repeating
    /// the latest snapshot for one that was started again.
    pub(super) fn await_participants(
        &mut self,
        last: &Snapshot,
        to_the_last: bool,
        stop: &AtomicBool,
    ) -> Result<(), NodeError> {
        while self.lockstep.must_wait(last.sequence, to_the_last) && !stop.load(Ordering::Relaxed) {
            self.sharing.iter_mut().for_each(Sharing::stay_alive);
            if self.lockstep.wait() && self.leads() {
                self.run.state(&self.world, last)?;
            }
            self.answer_terrain()?;
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

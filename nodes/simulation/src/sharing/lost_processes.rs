//! Agreement about processes that are gone: the remaining ones agree on the last part of each, however many die in one
//! heartbeat and whomever they still reached.
//!
//! - A process that lacks the part of one that is gone states which processes are gone and whose parts it lacks
//!   ([`LostProcesses`]). From then on it accepts nothing from those that it named. A process that is gone for one is gone for
//!   all.
//! - A process that has a part that another lacks passes it on, also if it receives it later.
//! - A part is given up once all remaining processes have named the same processes as gone and lack it. It can then
//!   arrive from nobody: not from those that are gone, whom all ignore, and not from those that remain.
//! - A process that has already merged a heartbeat answers with the parts that it went on without.
//!
//! So a part that any remaining process has counts for all of them, and one that none has was effectively never sent.
//! This is the view change of virtual synchrony (Birman and Joseph, 1987) for one message of each process. It needs
//! links that keep the order of messages, and that all remaining processes can reach each other.

use std::collections::BTreeSet;

use selene_sim::World;

use super::Sharing;
use super::streams::{Frame, HeartbeatPart, LostProcesses, PeerMessage};

impl Sharing {
    /// Goes on without the processes that are gone, once no remaining one has their part of this heartbeat: their
    /// rovers stand still.
    pub(super) fn give_up_lost(&mut self, world: &mut World, sequence: u64) {
        self.pass_on(sequence);
        let Some(gone) = self.lost_processes(sequence) else { return };
        gone.processes.iter().for_each(|name| self.others.note_lost(name));
        self.announce_lost(&gone);
        let mut left = self.active.difference(&gone.processes);
        if left.all(|name| self.others.get(name).is_some_and(|other| other.agrees(&gone))) {
            gone.lacking.iter().for_each(|name| self.give_up(world, name, sequence));
        }
    }

    /// The members that are gone; `None` if no part of theirs is missing.
    fn lost_processes(&self, sequence: u64) -> Option<LostProcesses> {
        let is_gone = |name: &&String| self.others.get(name).is_none_or(|other| !other.is_there());
        let processes: BTreeSet<String> = self.active.iter().filter(is_gone).cloned().collect();
        let is_lacking = |name: &&String| self.others.part(name, sequence).is_none();
        let lacking: BTreeSet<String> = processes.iter().filter(is_lacking).cloned().collect();
        (!lacking.is_empty()).then_some(LostProcesses { sequence, processes, lacking })
    }

    /// Sends the statement to everybody whenever it changes.
    fn announce_lost(&mut self, gone: &LostProcesses) {
        if self.gone != *gone {
            self.gone.clone_from(gone);
            self.streams.send_all(&Frame::of(&PeerMessage::LostProcesses(gone.clone())));
        }
    }

    /// Handles another process's statement of which processes are gone and which parts it lacks.
    pub(super) fn note_lost_elsewhere(&mut self, process: &str, gone: LostProcesses) {
        gone.processes.iter().for_each(|name| self.others.note_lost(name));
        let gone = self.pass(process, gone);
        if gone.sequence <= self.put_together {
            self.streams.send_message(process, Frame::of(&PeerMessage::WentOn(gone)));
        } else {
            self.others.note_announced(process, gone);
        }
    }

    /// Passes on the parts of this heartbeat that others lack, including those that arrived here since they reported it.
    fn pass_on(&mut self, sequence: u64) {
        for (process, gone) in self.others.announced_of(sequence) {
            let gone = self.pass(&process, gone);
            self.others.note_passed_to(&process, gone);
        }
    }

    /// Sends a process the parts that it lacks and this one has; returns what it lacks then.
    fn pass(&self, process: &str, mut gone: LostProcesses) -> LostProcesses {
        for (of, part) in self.others.parts_of(gone.sequence) {
            if gone.lacking.remove(of) {
                self.streams.send_message(process, passed(of, part));
            }
        }
        gone
    }

    /// Passes on the last parts of all others: once this process has ended it can answer nobody.
    pub(super) fn pass_on_all(&self) {
        if !self.is_free {
            let parts = self.others.parts_of(self.put_together);
            parts.for_each(|(of, part)| self.streams.send_all(&passed(of, part)));
        }
    }

    pub(super) fn give_up(&mut self, world: &mut World, name: &str, sequence: u64) {
        self.active.remove(name);
        self.given_up.insert(name.to_owned());
        self.streams.hang_up(name);
        let Some(other) = self.others.get_mut(name) else { return };
        other.is_running = false;
        other.forget_parts();
        world.halt(&other.rovers);
        let rovers: Vec<_> = other.rovers.iter().filter_map(|id| self.names.get(id).cloned()).collect();
        let stand = if rovers.len() == 1 { "stands" } else { "stand" };
        tracing::warn!("process {name} is gone: {} {stand} from heartbeat {sequence} on", rovers.join(", "));
    }
}

fn passed(of: &str, part: &HeartbeatPart) -> Frame {
    Frame::of(&PeerMessage::Passed { process: of.to_owned(), part: part.clone() })
}

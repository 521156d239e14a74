//! What becomes of processes that are gone: those that are left agree on what each of them did last, however many
//! die in one heartbeat and whomever they still reached.
//!
//! - Who lacks a part of one that is gone says who is gone and whose parts it lacks ([`Gone`]). From then on it
//!   takes nothing from those that it named. Who is gone for one is gone for all.
//! - Who has a part that another lacks passes it on, also when it comes to have it later.
//! - A part is given up once all that are left have named the same processes as gone and lack it. It can come from
//!   nobody then: not from those who are gone, whom all have stopped hearing, and not from those who are left.
//! - Who has put a heartbeat together already says of it what it went on without.
//!
//! So a part that any process has that is left counts for all of them, and one that nobody has was never told.
//! This is the view change of virtual synchrony (Birman and Joseph, 1987) for one message of each process. It needs
//! links that keep the order of what they carry, and that those who are left can reach each other.

use std::collections::BTreeSet;

use selene_sim::World;

use super::Sharing;
use super::streams::{Frame, Gone, Told, ToldPart};

impl Sharing {
    /// Goes on without those who are gone, once nobody who is left has their part of this heartbeat: their rovers
    /// stand.
    pub(super) fn give_up_gone(&mut self, world: &mut World, sequence: u64) {
        self.pass_on(sequence);
        let Some(gone) = self.who_is_gone(sequence) else { return };
        gone.processes.iter().for_each(|name| self.others.note_gone(name));
        self.say_gone(&gone);
        let mut left = self.active.difference(&gone.processes);
        if left.all(|name| self.others.get(name).is_some_and(|other| other.agrees(&gone))) {
            gone.lacking.iter().for_each(|name| self.give_up(world, name, sequence));
        }
    }

    /// Who is gone; none where no part of theirs is lacking.
    fn who_is_gone(&self, sequence: u64) -> Option<Gone> {
        let is_gone = |name: &&String| self.others.get(name).is_none_or(|other| !other.is_there());
        let processes: BTreeSet<String> = self.active.iter().filter(is_gone).cloned().collect();
        let is_lacking = |name: &&String| self.others.part(name, sequence).is_none();
        let lacking: BTreeSet<String> = processes.iter().filter(is_lacking).cloned().collect();
        (!lacking.is_empty()).then_some(Gone { sequence, processes, lacking })
    }

    /// Tells everybody, whenever it changes.
    fn say_gone(&mut self, gone: &Gone) {
        if self.gone != *gone {
            self.gone.clone_from(gone);
            self.streams.tell_all(&Frame::of(&Told::Gone(gone.clone())));
        }
    }

    /// Another process says who is gone, and what it lacks.
    pub(super) fn note_gone_elsewhere(&mut self, process: &str, gone: Gone) {
        gone.processes.iter().for_each(|name| self.others.note_gone(name));
        let gone = self.pass(process, gone);
        if gone.sequence <= self.put_together {
            self.streams.tell(process, Frame::of(&Told::WentOn(gone)));
        } else {
            self.others.note_said(process, gone);
        }
    }

    /// Passes on what others lack of this heartbeat, and what has come here since they said so.
    fn pass_on(&mut self, sequence: u64) {
        for (process, gone) in self.others.said_of(sequence) {
            let gone = self.pass(&process, gone);
            self.others.note_passed_to(&process, gone);
        }
    }

    /// Passes on to a process what it lacks and this one has; what it lacks then.
    fn pass(&self, process: &str, mut gone: Gone) -> Gone {
        for (of, part) in self.others.parts_of(gone.sequence) {
            if gone.lacking.remove(of) {
                self.streams.tell(process, passed(of, part));
            }
        }
        gone
    }

    /// Passes on what others did last: who has ended answers nobody who lacks it.
    pub(super) fn pass_on_all(&self) {
        if !self.is_free {
            let parts = self.others.parts_of(self.put_together);
            parts.for_each(|(of, part)| self.streams.tell_all(&passed(of, part)));
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
        tracing::warn!("process {name} is gone: {} stand from heartbeat {sequence} on", rovers.join(", "));
    }
}

fn passed(of: &str, part: &ToldPart) -> Frame {
    Frame::of(&Told::Passed { process: of.to_owned(), part: part.clone() })
}

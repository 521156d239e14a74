//! What a process knows about the other processes of its world.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use selene_ros::selene_msgs;
use selene_sim::EntityId;

use super::streams::{HeartbeatPart, LostProcesses, Participant};

/// A process that is silent for this long is given up (wall time).
pub(super) const LOST_AFTER: Duration = Duration::from_secs(10);

/// Another process of the world, as far as it is known.
pub(super) struct PeerProcess {
    pub(super) rovers: BTreeSet<EntityId>,
    pub(super) is_running: bool,
    /// Whether it has connected to this process and has the same world.
    has_called: bool,
    /// Names of the processes with which it began, including itself.
    founders: Vec<String>,
    /// Whether it has announced its end, or nothing more can arrive from it.
    pub(super) has_left: bool,
    received: Instant,
    /// Its parts by heartbeat, from the last merged one on.
    parts: BTreeMap<u64, HeartbeatPart>,
    /// Its latest statement, by heartbeat, of which processes are gone.
    gone: BTreeMap<u64, LostProcesses>,
}

impl PeerProcess {
    fn new() -> Self {
        Self {
            rovers: BTreeSet::new(),
            is_running: false,
            has_called: false,
            founders: Vec::new(),
            has_left: false,
            received: Instant::now(),
            parts: BTreeMap::new(),
            gone: BTreeMap::new(),
        }
    }

    /// Whether it is alive: it sent something recently and has not left.
    pub(super) fn is_there(&self) -> bool {
        !self.has_left && self.received.elapsed() <= LOST_AFTER
    }

    pub(super) fn part(&self, sequence: u64) -> Option<&HeartbeatPart> {
        self.parts.get(&sequence)
    }

    /// Removes and returns its part of a heartbeat. Older parts are dropped; this one is kept.
    pub(super) fn take_part(&mut self, sequence: u64) -> Option<HeartbeatPart> {
        self.parts.retain(|kept, _| *kept >= sequence);
        self.parts.get(&sequence).cloned()
    }

    /// Whether it has connected to this process and has the same world.
    pub(super) fn has_called(&self) -> bool {
        self.has_called
    }

    /// Whether it lacks the same parts as this process, and accepts nothing more from those that are gone.
    pub(super) fn agrees(&self, gone: &LostProcesses) -> bool {
        self.gone.get(&gone.sequence).is_some_and(|theirs| theirs.covers(gone))
    }

    /// Drops its parts, once all processes go on without it.
    pub(super) fn forget_parts(&mut self) {
        self.parts.clear();
    }
}

/// All other processes by name.
#[derive(Default)]
pub(super) struct PeerProcesses(BTreeMap<String, PeerProcess>);

impl PeerProcesses {
    pub(super) fn get(&self, process: &str) -> Option<&PeerProcess> {
        self.0.get(process)
    }

    /// A process's part of a heartbeat.
    pub(super) fn part(&self, process: &str, sequence: u64) -> Option<&HeartbeatPart> {
        self.0.get(process)?.part(sequence)
    }

    pub(super) fn get_mut(&mut self, process: &str) -> Option<&mut PeerProcess> {
        self.0.get_mut(process)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &PeerProcess)> {
        self.0.iter()
    }

    fn received(&mut self, process: &str) -> &mut PeerProcess {
        let other = self.0.entry(process.to_owned()).or_insert_with(PeerProcess::new);
        other.received = Instant::now();
        other
    }

    pub(super) fn note_member(&mut self, reported: selene_msgs::SharedMember) {
        let other = self.received(&reported.process);
        other.rovers = reported.rovers.into_iter().map(EntityId).collect();
        other.is_running |= reported.running;
        other.founders = reported.founders;
        // A member announces its end after its last part, on the same connection; DDS may deliver `left` before that.
        other.has_left |= reported.left && !other.is_running;
    }

    pub(super) fn note_called(&mut self, process: &str) {
        self.received(process).has_called = true;
    }

    pub(super) fn note_part(&mut self, process: &str, part: HeartbeatPart) {
        self.received(process).parts.insert(part.part.sequence, part);
    }

    /// Takes in a process's part that another one passed on; that is no sign of life of the first.
    pub(super) fn note_passed(&mut self, process: &str, part: HeartbeatPart) {
        if let Some(other) = self.0.get_mut(process) {
            other.parts.insert(part.part.sequence, part);
        }
    }

    /// Takes in a process's statement of which processes are gone.
    pub(super) fn note_announced(&mut self, process: &str, gone: LostProcesses) {
        self.received(process).gone.insert(gone.sequence, gone);
    }

    /// Takes in which parts a process still lacks after this one has passed some on; that is no sign of life.
    pub(super) fn note_passed_to(&mut self, process: &str, gone: LostProcesses) {
        if let Some(other) = self.0.get_mut(process) {
            other.gone.insert(gone.sequence, gone);
        }
    }

    /// All statements about a heartbeat, with the processes that made them.
    pub(super) fn announced_of(&self, sequence: u64) -> Vec<(String, LostProcesses)> {
        let reports = self.0.iter().filter_map(|(name, other)| Some((name, other.gone.get(&sequence)?)));
        reports.map(|(name, gone)| (name.clone(), gone.clone())).collect()
    }

    /// Drops the statements about all heartbeats up to this one.
    pub(super) fn forget_announced(&mut self, until: u64) {
        self.0.values_mut().for_each(|other| other.gone.retain(|sequence, _| *sequence > until));
    }

    /// The parts of a heartbeat that have arrived, by process.
    pub(super) fn parts_of(&self, sequence: u64) -> impl Iterator<Item = (&String, &HeartbeatPart)> {
        self.0.iter().filter_map(move |(name, other)| Some((name, other.part(sequence)?)))
    }

    pub(super) fn note_lost(&mut self, process: &str) {
        self.0.entry(process.to_owned()).or_insert_with(PeerProcess::new).has_left = true;
    }

    /// Adds a member that another process named, since it may not have sent anything here yet.
    pub(super) fn introduce(&mut self, taking: &Participant) {
        let other = self.0.entry(taking.process.clone()).or_insert_with(PeerProcess::new);
        other.is_running = true;
        if other.rovers.is_empty() {
            other.rovers.clone_from(&taking.rovers);
        }
    }

    /// Counts all processes as just received from, after this one did not receive for a while.
    pub(super) fn excuse_all(&mut self) {
        self.0.values_mut().for_each(|other| other.received = Instant::now());
    }

    /// Removes and returns the processes that sent a part up to this heartbeat although they are no members.
    pub(super) fn take_strangers(&mut self, sequence: u64, active: &BTreeSet<String>) -> Vec<String> {
        let strangers = self.0.iter_mut().filter(|(name, _)| !active.contains(*name));
        let reported = strangers.filter(|(_, other)| other.parts.range(..=sequence).next().is_some());
        reported
            .map(|(name, other)| {
                other.parts.clear();
                name.clone()
            })
            .collect()
    }

    /// Removes and returns all parts of these processes that have arrived, each process's in order.
    pub(super) fn take_parts(&mut self, of: &BTreeSet<String>) -> Vec<HeartbeatPart> {
        let theirs = self.0.iter_mut().filter(|(name, _)| of.contains(*name));
        theirs.flat_map(|(_, other)| std::mem::take(&mut other.parts).into_values()).collect()
    }

    /// Whether a process will end because another that began before it has one of its rovers.
    fn ends(&self, name: &str, process: &PeerProcess) -> bool {
        let mut earlier = self.0.iter().filter(|(other, of)| other.as_str() < name && of.is_there());
        !process.is_running && earlier.any(|(_, other)| !other.rovers.is_disjoint(&process.rovers))
    }

    /// Whether another process may be a founder: this one knows its rovers, or that it is lost.
    fn is_known(&self, process: &str) -> bool {
        self.0.get(process).is_some_and(|other| other.has_called || other.has_left)
    }

    /// The processes with which the world of process `own` begins: those that have the awaited rovers, once all have
    /// one. `None` until then, and for a process that joins a running world. Where others have begun with this one
    /// before it has heard of all of them, it waits: it would count those as gone.
    pub(super) fn founders_with(
        &self,
        own: (&String, &BTreeSet<EntityId>),
        awaited: &BTreeSet<EntityId>,
    ) -> Option<Vec<String>> {
        let there = || self.0.iter().filter(|(name, other)| other.is_there() && !self.ends(name, other));
        // The world of a process is known only when it has connected.
        if there().any(|(_, other)| !other.has_called) {
            return None;
        }
        let of_world = || there().filter(|(_, other)| other.has_called);
        let mut running = of_world().map(|(_, other)| other).filter(|other| other.is_running).peekable();
        if running.peek().is_some() {
            let founders = running.find(|other| other.founders.contains(own.0)).map(|other| &other.founders)?;
            let all_are_known = founders.iter().all(|name| name == own.0 || self.is_known(name));
            return all_are_known.then(|| founders.clone());
        }
        let is_founder = |rovers: &BTreeSet<EntityId>| !rovers.is_disjoint(awaited);
        let others = of_world().filter(|(_, other)| is_founder(&other.rovers));
        let founders: Vec<_> = others.map(|(name, other)| (name, &other.rovers)).chain([own]).collect();
        let all_taken = awaited.iter().all(|id| founders.iter().any(|(_, rovers)| rovers.contains(id)));
        let mut names: Vec<_> = founders.into_iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        (all_taken && is_founder(own.1)).then_some(names)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use selene_ros::selene_msgs::SharedMember;
    use selene_sim::EntityId;

    use super::PeerProcesses;

    /// What a process with one rover says of itself.
    fn member(process: &str, rover: u32, founders: &[&str]) -> SharedMember {
        SharedMember {
            process: process.to_owned(),
            addresses: Vec::new(),
            rovers: vec![rover],
            running: !founders.is_empty(),
            founders: founders.iter().map(|&name| name.to_owned()).collect(),
            left: false,
        }
    }

    #[test]
    fn who_hears_of_a_running_world_before_it_hears_of_all_founders_waits_for_them() {
        let (own, rovers) = ("c".to_owned(), BTreeSet::from([EntityId(3)]));
        let awaited = (1..=3).map(EntityId).collect();
        let mut others = PeerProcesses::default();
        others.note_member(member("a", 1, &["a", "b", "c"]));
        others.note_called("a");
        assert_eq!(others.founders_with((&own, &rovers), &awaited), None, "b is not known");
        others.note_member(member("b", 2, &[]));
        assert_eq!(others.founders_with((&own, &rovers), &awaited), None, "b has not called");
        let mut lost = PeerProcesses::default();
        lost.note_member(member("a", 1, &["a", "b", "c"]));
        lost.note_called("a");
        lost.note_lost("b");
        others.note_called("b");
        for known in [others, lost] {
            assert_eq!(known.founders_with((&own, &rovers), &awaited).expect("begins"), ["a", "b", "c"]);
        }
    }
}

//! What a process knows of the other processes of its world.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use selene_ros::selene_msgs;
use selene_sim::EntityId;

use super::streams::{Gone, Taking, ToldPart};

/// A process that says nothing for so long is given up (wall time).
pub(super) const LOST_AFTER: Duration = Duration::from_secs(10);

/// Another process.
pub(super) struct Other {
    pub(super) rovers: BTreeSet<EntityId>,
    pub(super) is_running: bool,
    /// It has called here, and is of the same world.
    has_called: bool,
    /// With whom it began, itself included.
    founders: Vec<String>,
    /// It said so, or nothing more can come from it.
    pub(super) has_left: bool,
    heard: Instant,
    /// What it did, by heartbeat, from the last one that was put together on.
    parts: BTreeMap<u64, ToldPart>,
    /// Who is gone, as it said last of a heartbeat.
    gone: BTreeMap<u64, Gone>,
}

impl Other {
    fn new() -> Self {
        Self {
            rovers: BTreeSet::new(),
            is_running: false,
            has_called: false,
            founders: Vec::new(),
            has_left: false,
            heard: Instant::now(),
            parts: BTreeMap::new(),
            gone: BTreeMap::new(),
        }
    }

    /// Whether it was heard of a short while ago.
    pub(super) fn is_there(&self) -> bool {
        !self.has_left && self.heard.elapsed() <= LOST_AFTER
    }

    pub(super) fn part(&self, sequence: u64) -> Option<&ToldPart> {
        self.parts.get(&sequence)
    }

    /// Takes what it did in a heartbeat; older ones but this are needed no more.
    pub(super) fn take_part(&mut self, sequence: u64) -> Option<ToldPart> {
        self.parts.retain(|kept, _| *kept >= sequence);
        self.parts.get(&sequence).cloned()
    }

    /// Whether it has called here, and is of the same world.
    pub(super) fn has_called(&self) -> bool {
        self.has_called
    }

    /// Whether it lacks what this process lacks, and will never have it from those who are gone.
    pub(super) fn agrees(&self, gone: &Gone) -> bool {
        self.gone.get(&gone.sequence).is_some_and(|theirs| theirs.covers(gone))
    }

    /// Forgets what it did, once all go on without it.
    pub(super) fn forget_parts(&mut self) {
        self.parts.clear();
    }
}

/// All other processes by name.
#[derive(Default)]
pub(super) struct Others(BTreeMap<String, Other>);

impl Others {
    pub(super) fn get(&self, process: &str) -> Option<&Other> {
        self.0.get(process)
    }

    /// What a process did in a heartbeat.
    pub(super) fn part(&self, process: &str, sequence: u64) -> Option<&ToldPart> {
        self.0.get(process)?.part(sequence)
    }

    pub(super) fn get_mut(&mut self, process: &str) -> Option<&mut Other> {
        self.0.get_mut(process)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Other)> {
        self.0.iter()
    }

    fn heard(&mut self, process: &str) -> &mut Other {
        let other = self.0.entry(process.to_owned()).or_insert_with(Other::new);
        other.heard = Instant::now();
        other
    }

    pub(super) fn note_member(&mut self, told: selene_msgs::SharedMember) {
        let other = self.heard(&told.process);
        other.rovers = told.rovers.into_iter().map(EntityId).collect();
        other.is_running |= told.running;
        other.founders = told.founders;
        // Who takes part says so after its last part; what comes another way may come before it.
        other.has_left |= told.left && !other.is_running;
    }

    pub(super) fn note_called(&mut self, process: &str) {
        self.heard(process).has_called = true;
    }

    pub(super) fn note_part(&mut self, process: &str, part: ToldPart) {
        self.heard(process).parts.insert(part.part.sequence, part);
    }

    /// What one did, as another passed it on: that is no sign of life.
    pub(super) fn note_passed(&mut self, process: &str, part: ToldPart) {
        if let Some(other) = self.0.get_mut(process) {
            other.parts.insert(part.part.sequence, part);
        }
    }

    /// Who is gone, as a process says.
    pub(super) fn note_said(&mut self, process: &str, gone: Gone) {
        self.heard(process).gone.insert(gone.sequence, gone);
    }

    /// What a process still lacks after all was passed on to it that is here: that is no sign of life.
    pub(super) fn note_passed_to(&mut self, process: &str, gone: Gone) {
        if let Some(other) = self.0.get_mut(process) {
            other.gone.insert(gone.sequence, gone);
        }
    }

    /// Who said of a heartbeat who is gone, and what.
    pub(super) fn said_of(&self, sequence: u64) -> Vec<(String, Gone)> {
        let said = self.0.iter().filter_map(|(name, other)| Some((name, other.gone.get(&sequence)?)));
        said.map(|(name, gone)| (name.clone(), gone.clone())).collect()
    }

    /// Forgets what was said of heartbeats until this one.
    pub(super) fn forget_said(&mut self, until: u64) {
        self.0.values_mut().for_each(|other| other.gone.retain(|sequence, _| *sequence > until));
    }

    /// What each did in a heartbeat, as far as it is here.
    pub(super) fn parts_of(&self, sequence: u64) -> impl Iterator<Item = (&String, &ToldPart)> {
        self.0.iter().filter_map(move |(name, other)| Some((name, other.part(sequence)?)))
    }

    pub(super) fn note_gone(&mut self, process: &str) {
        self.0.entry(process.to_owned()).or_insert_with(Other::new).has_left = true;
    }

    /// One that takes part, as another told: it may not have been heard of here yet.
    pub(super) fn introduce(&mut self, taking: &Taking) {
        let other = self.0.entry(taking.process.clone()).or_insert_with(Other::new);
        other.is_running = true;
        if other.rovers.is_empty() {
            other.rovers.clone_from(&taking.rovers);
        }
    }

    /// Nobody is silent while this process does not listen itself.
    pub(super) fn excuse_all(&mut self) {
        self.0.values_mut().for_each(|other| other.heard = Instant::now());
    }

    /// Those that told a part of a heartbeat until this one, and take no part; it is forgotten.
    pub(super) fn take_strangers(&mut self, sequence: u64, active: &BTreeSet<String>) -> Vec<String> {
        let strangers = self.0.iter_mut().filter(|(name, _)| !active.contains(*name));
        let told = strangers.filter(|(_, other)| other.parts.range(..=sequence).next().is_some());
        told.map(|(name, other)| {
            other.parts.clear();
            name.clone()
        })
        .collect()
    }

    /// Takes all that these processes did and that has come, of each in order.
    pub(super) fn take_parts(&mut self, of: &BTreeSet<String>) -> Vec<ToldPart> {
        let theirs = self.0.iter_mut().filter(|(name, _)| of.contains(*name));
        theirs.flat_map(|(_, other)| std::mem::take(&mut other.parts).into_values()).collect()
    }

    /// With whom the world of process `own` begins: the processes that have the rovers that are waited for, once
    /// all have one. None where that is not so yet, and for who comes to a world that runs without it.
    pub(super) fn founders_with(
        &self,
        own: (&String, &BTreeSet<EntityId>),
        awaited: &BTreeSet<EntityId>,
    ) -> Option<Vec<String>> {
        // Of which world somebody is, is known when it has called.
        if self.0.values().any(|other| other.is_there() && !other.has_called) {
            return None;
        }
        let of_world = || self.0.iter().filter(|(_, other)| other.has_called && other.is_there());
        let mut running = of_world().map(|(_, other)| other).filter(|other| other.is_running).peekable();
        if running.peek().is_some() {
            return running.find(|other| other.founders.contains(own.0)).map(|other| other.founders.clone());
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

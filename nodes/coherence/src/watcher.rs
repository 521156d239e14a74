//! A sensor node's view of the world: snapshots in order, two at a time, with no
//! terrain edit missed.
//!
//! A world may be reset. How many times it was, its epoch, is in all that is told of it; with a new epoch the
//! watcher begins anew, as one that comes late, and what is left of the epochs before is void.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::Interval;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{AllowedFolders, Model, Snapshot};
use selene_terrain::Edit;

use crate::entities::entities_from_message;
use crate::links::{Links, NodeContext};
use crate::run::{RUN_INFO, RunId};
use crate::terrain_parts::{Assembly, Part};
use crate::wire::{edits_from_message, state_from_message};
use crate::{NodeError, terrain_qos};

/// How often the stop flag is looked at while nothing comes (wall time).
const STOP_POLL: Duration = Duration::from_millis(100);
/// How long an answer to a terrain request is waited for before asking again (wall time).
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// Snapshots kept while the terrain is incomplete; older ones are then dropped.
const HELD_MAX: usize = 4096;
/// A participant that is further behind leaves out samples. More than the window of a
/// lockstep run, which therefore never loses one.
const BEHIND_MAX: usize = 400;
/// How long after the run's end missing terrain is still waited for (wall time).
const FINISHED_WAIT: Duration = Duration::from_secs(1);

enum Event {
    State(Box<Snapshot>),
    Terrain { epoch: u32, part: Part },
    Entities(selene_msgs::EntityTable),
    Info(selene_msgs::RunInfo),
}

/// Watches the world on behalf of one participant.
pub struct WorldWatcher {
    participant: String,
    run: RunId,
    /// How many times the world was reset, as far as anything told it.
    epoch: u32,
    /// The same as the latest snapshot told it.
    told_epoch: u32,
    /// The scenario's world.
    scenario: Arc<Model>,
    /// The same with what was added since.
    model: Arc<Model>,
    /// How many entities were added until `model`, and how many times some were added or removed.
    entities_added: usize,
    entities_version: u64,
    /// Where files of what is added may lie.
    folders: AllowedFolders,
    told_until: Option<SimTime>,
    events: Receiver<Event>,
    requests: Publisher<selene_msgs::TerrainRequest>,
    acknowledgements: Publisher<selene_msgs::Acknowledge>,
    previous: Option<Arc<Snapshot>>,
    /// Snapshots that wait for terrain or for word of what was added.
    held: VecDeque<Arc<Snapshot>>,
    /// How many were passed over so far, this node being too slow.
    left_out: u64,
    /// Edits taken but not yet handed on.
    edits: Vec<Edit>,
    terrain_sequence: u64,
    asked: Option<Instant>,
    /// Terrain that was asked for, as far as it has come.
    assembly: Assembly,
    /// When the run was said to have ended.
    finished: Option<Instant>,
    _subscriptions: [Subscription; 4],
}

impl WorldWatcher {
    /// Begins to watch as `participant`.
    ///
    /// # Errors
    /// When a topic cannot be opened.
    pub fn new(context: &NodeContext, participant: &str) -> Result<Self, NodeError> {
        let NodeContext { links, model, folders, told_until } = context;
        let (sender, events) = channel();
        let transport = links.internal.as_ref();
        Ok(Self {
            participant: participant.to_owned(),
            run: links.run.clone(),
            epoch: 0,
            told_epoch: 0,
            scenario: Arc::clone(model),
            model: Arc::clone(model),
            entities_added: 0,
            entities_version: 0,
            folders: folders.clone(),
            told_until: *told_until,
            events,
            requests: Publisher::new(transport, &links.terrain_request(), Qos::reliable())?,
            acknowledgements: Publisher::new(transport, &links.acknowledge(), Qos::state())?,
            previous: None,
            held: VecDeque::new(),
            left_out: 0,
            edits: Vec::new(),
            terrain_sequence: 0,
            asked: None,
            assembly: Assembly::default(),
            finished: None,
            _subscriptions: open_subscriptions(links, &sender)?,
        })
    }

    /// The next two snapshots in a row; none when the run has ended or `stop` is set.
    ///
    /// # Errors
    /// When a request for missed terrain cannot be sent.
    pub fn next(&mut self, stop: &AtomicBool) -> Result<Option<Interval>, NodeError> {
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.take(event)?;
            }
            self.leave_out();
            if let Some(interval) = self.next_held()? {
                return Ok(Some(interval));
            }
            if stop.load(Ordering::Relaxed) || self.has_ended() {
                return Ok(None);
            }
            match self.events.recv_timeout(STOP_POLL) {
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// Heartbeats that came and are not dealt with.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Heartbeats that were passed over so far, this node being too slow.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Says that all work of heartbeat `sequence` is done.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn acknowledge(&self, sequence: u64, time: SimTime) -> Result<(), NodeError> {
        let message = selene_msgs::Acknowledge { participant: self.participant.clone(), epoch: self.epoch, sequence };
        Ok(self.acknowledgements.publish(&message, time)?)
    }

    fn take(&mut self, event: Event) -> Result<(), NodeError> {
        match event {
            Event::State(state) => self.hold(*state),
            Event::Terrain { epoch, part } => {
                if epoch == self.epoch {
                    self.take_terrain(part);
                }
                Ok(())
            }
            Event::Entities(table) => self.take_entities(&table),
            Event::Info(info) => {
                self.take_info(&info);
                Ok(())
            }
        }
    }

    fn take_info(&mut self, info: &selene_msgs::RunInfo) {
        if info.run == self.run.to_string() {
            self.finished = info.finished.then(Instant::now);
        }
    }

    /// Begins anew if the world was reset: nothing of what was told before is of the world that there is now.
    fn follow(&mut self, epoch: u32) {
        if epoch <= self.epoch {
            return;
        }
        tracing::info!(participant = self.participant, epoch, "the world was reset");
        self.epoch = epoch;
        self.model = Arc::clone(&self.scenario);
        (self.entities_added, self.entities_version, self.terrain_sequence) = (0, 0, 0);
        (self.previous, self.asked, self.assembly) = (None, None, Assembly::default());
        self.held.clear();
        self.edits.clear();
    }

    /// Tables only grow between resets: one that is ahead of the snapshots held has all that is in them.
    fn take_entities(&mut self, table: &selene_msgs::EntityTable) -> Result<(), NodeError> {
        self.follow(table.epoch);
        if table.epoch == self.epoch && table.version > self.entities_version {
            let spawned = entities_from_message(table);
            let new = spawned.get(self.entities_added..).unwrap_or_default();
            self.model = Arc::new(self.model.with_spawned(new, &self.folders)?);
            (self.entities_added, self.entities_version) = (spawned.len(), table.version);
        }
        Ok(())
    }

    /// Whether the run is over and nothing can come of what is held.
    fn has_ended(&self) -> bool {
        self.finished.is_some_and(|since| self.held.is_empty() || since.elapsed() > FINISHED_WAIT)
    }

    /// Keeps a snapshot in order. The latest one seen only has its acknowledgement
    /// repeated: the simulation says it again to those who may have missed it. One
    /// from before that can only come from another simulation of this id, unless the
    /// world was reset.
    fn hold(&mut self, state: Snapshot) -> Result<(), NodeError> {
        let latest = self.previous.as_ref().map_or(0, |previous| previous.sequence);
        let restarted = || NodeError::SimulationRestarted { run: self.run.clone(), from: latest, to: state.sequence };
        if state.epoch < self.told_epoch {
            return Err(restarted());
        }
        // What was added after a reset may be known before the first snapshot of after.
        if state.epoch < self.epoch {
            return Ok(());
        }
        self.told_epoch = state.epoch;
        self.follow(state.epoch);
        if let Some(previous) = &self.previous {
            let (from, to) = (previous.sequence, state.sequence);
            if to < from {
                return Err(NodeError::SimulationRestarted { run: self.run.clone(), from, to });
            }
            if to == from {
                return self.acknowledge(to, state.time);
            }
        }
        if self.held.back().is_some_and(|last| state.sequence <= last.sequence) {
            return Ok(());
        }
        if self.held.len() == HELD_MAX {
            self.held.pop_front();
        }
        self.held.push_back(Arc::new(state));
        Ok(())
    }

    /// Passes over snapshots, but not their edits, until this participant is no longer
    /// too far behind: a sample that is missing is better than images of long ago.
    fn leave_out(&mut self) {
        let mut left_out = 0;
        while self.held.len() > BEHIND_MAX && self.held[0].terrain_sequence <= self.terrain_sequence {
            self.previous = self.take_oldest();
            left_out += 1;
        }
        if left_out > 0 {
            self.left_out += left_out;
            tracing::warn!(participant = self.participant, left_out, "too slow for this pace: heartbeats left out");
        }
    }

    /// The oldest held snapshot, its edits taken unless a terrain snapshot had them.
    fn take_oldest(&mut self) -> Option<Arc<Snapshot>> {
        let state = self.held.pop_front()?;
        if state.terrain_sequence == self.terrain_sequence {
            self.terrain_sequence += state.edits.len() as u64;
            self.edits.extend_from_slice(&state.edits);
        }
        Some(state)
    }

    /// The oldest held snapshot, if terrain and entities are complete up to it.
    fn next_held(&mut self) -> Result<Option<Interval>, NodeError> {
        while let Some(state) = self.held.front() {
            if state.terrain_sequence > self.terrain_sequence {
                self.ask_for_terrain()?;
                return Ok(None);
            }
            // The table is on its way: its topic keeps it for nodes that come later.
            if state.entities_version > self.entities_version {
                return Ok(None);
            }
            let older_than_terrain = state.terrain_sequence < self.terrain_sequence;
            let Some(next) = self.take_oldest() else { return Ok(None) };
            if older_than_terrain {
                self.previous = Some(next);
                continue;
            }
            let Some(previous) = self.previous.replace(Arc::clone(&next)) else {
                self.acknowledge(next.sequence, next.time)?;
                continue;
            };
            let (model, edits) = (Arc::clone(&self.model), std::mem::take(&mut self.edits));
            return Ok(Some(Interval { model, previous, next, edits, told_until: self.told_until }));
        }
        Ok(None)
    }

    fn ask_for_terrain(&mut self) -> Result<(), NodeError> {
        if self.asked.is_some_and(|asked| asked.elapsed() < ASK_AGAIN) {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        tracing::info!(participant = self.participant, "asks for the terrain it missed");
        let message =
            selene_msgs::TerrainRequest { participant: self.participant.clone(), have_sequence: self.terrain_sequence };
        Ok(self.requests.publish(&message, SimTime::ZERO)?)
    }

    /// Takes a part of a full copy of the terrain; when it is whole, drops snapshots that are
    /// older than it. As long as parts come nobody is asked again.
    fn take_terrain(&mut self, part: Part) {
        let sequence = part.sequence;
        if sequence <= self.terrain_sequence || self.asked.is_none() {
            return;
        }
        self.asked = Some(Instant::now());
        let Some(edits) = self.assembly.take(part) else { return };
        self.asked = None;
        self.terrain_sequence = sequence;
        self.edits = edits;
        while self.held.front().is_some_and(|state| state.terrain_sequence < sequence) {
            self.previous = self.held.pop_front();
        }
    }
}

fn open_subscriptions(links: &Links, sender: &Sender<Event>) -> Result<[Subscription; 4], NodeError> {
    let transport = links.internal.as_ref();
    let tell = |sender: &Sender<Event>| {
        let sender = sender.clone();
        // A closed channel means that the watcher is gone: nobody is left to tell.
        move |event| drop(sender.send(event))
    };
    let (on_state, on_terrain, on_entities, on_info) = (tell(sender), tell(sender), tell(sender), tell(sender));
    let run = links.run.to_string();
    Ok([
        subscribe(transport, RUN_INFO, Qos::latched(), move |info: selene_msgs::RunInfo| {
            on_info(Event::Info(info));
        })?,
        subscribe(transport, &links.entities(), Qos::latched(), move |table: selene_msgs::EntityTable| {
            on_entities(Event::Entities(table));
        })?,
        subscribe(transport, &links.terrain_snapshot(), terrain_qos(), move |part: selene_msgs::TerrainSnapshot| {
            let edits = edits_from_message(&part.terrain_edits);
            let selene_msgs::TerrainSnapshot { epoch, terrain_sequence: sequence, part, parts, .. } = part;
            on_terrain(Event::Terrain { epoch, part: Part { sequence, part, parts, edits } });
        })?,
        subscribe(transport, &links.world_state(), Qos::state(), move |message: selene_msgs::WorldState| {
            // Whatever is played on this run's topic, snapshots of another one are not its own.
            if message.run == run {
                on_state(Event::State(Box::new(state_from_message(&message))));
            }
        })?,
    ])
}

#[cfg(test)]
mod tests;

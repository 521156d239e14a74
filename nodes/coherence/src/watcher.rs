//! A sensor node's view of the world: snapshots in order, two at a time, with no terrain edit missed.
//!
//! A world may be reset. All its messages carry the number of resets so far, the epoch. With a new epoch the watcher
//! begins anew, like one that joins late, and drops what remains of earlier epochs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::Interval;
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{AllowedFolders, Model, Snapshot, Unread};
use selene_terrain::Edit;

use crate::entities::entities_from_message;
use crate::links::{Links, NodeContext};
use crate::run::{RUN_INFO, RunId};
use crate::terrain_parts::{Assembly, Part};
use crate::wire::{edits_from_message, state_from_message};
use crate::{NodeError, terrain_qos};

/// How often the stop flag is checked while no message arrives (wall time).
const STOP_POLL: Duration = Duration::from_millis(100);
/// How long an answer to a terrain request is waited for before asking again (wall time).
const REQUEST_AGAIN: Duration = Duration::from_millis(500);
/// Maximum number of snapshots kept while the terrain is incomplete; the oldest are dropped beyond it.
const HELD_MAX: usize = 4096;
/// A participant that is more heartbeats behind skips samples. It is more than the window of a lockstep run, which
/// therefore never loses one.
const BEHIND_MAX: usize = 400;
/// How long to wait for missing terrain after the run's end (wall time).
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
    /// Number of resets of the world, as known from any message.
    epoch: u32,
    /// Number of resets of the world, as known from snapshots.
    reported_epoch: u32,
    /// The scenario's world.
    scenario: Arc<Model>,
    /// The scenario's world with the entities that were added since.
    model: Arc<Model>,
    /// Entities of the table whose files are not as they were.
    unread: Unread,
    /// How often entities were added or removed until the table that `model` has the entities of.
    entities_version: u64,
    /// Folders in which the files of added entities may lie.
    folders: AllowedFolders,
    published_until: Option<SimTime>,
    events: Receiver<Event>,
    requests: Publisher<selene_msgs::TerrainRequest>,
    acknowledgements: Publisher<selene_msgs::Acknowledge>,
    previous: Option<Arc<Snapshot>>,
    /// Snapshots that wait for terrain or for the table of entities.
    held: VecDeque<Arc<Snapshot>>,
    /// Number of snapshots skipped so far because this node is too slow.
    left_out: u64,
    /// Edits that are applied but not yet part of an interval.
    edits: Vec<Edit>,
    terrain_sequence: u64,
    requested: Option<Instant>,
    /// The requested terrain snapshot, as far as it has arrived.
    assembly: Assembly,
    /// When the end of the run was announced.
    finished: Option<Instant>,
    _subscriptions: [Subscription; 4],
}

impl WorldWatcher {
    /// Starts watching as participant `participant`.
    ///
    /// # Errors
    /// When a topic cannot be opened.
    pub fn new(context: &NodeContext, participant: &str) -> Result<Self, NodeError> {
        let NodeContext { links, model, folders, published_until } = context;
        let (sender, events) = channel();
        let transport = links.internal.as_ref();
        Ok(Self {
            participant: participant.to_owned(),
            run: links.run.clone(),
            epoch: 0,
            reported_epoch: 0,
            scenario: Arc::clone(model),
            model: Arc::clone(model),
            unread: Unread::default(),
            entities_version: 0,
            folders: folders.clone(),
            published_until: *published_until,
            events,
            requests: Publisher::new(transport, &links.terrain_request(), Qos::reliable())?,
            acknowledgements: Publisher::new(transport, &links.acknowledge(), Qos::state())?,
            previous: None,
            held: VecDeque::new(),
            left_out: 0,
            edits: Vec::new(),
            terrain_sequence: 0,
            requested: None,
            assembly: Assembly::default(),
            finished: None,
            _subscriptions: open_subscriptions(links, &sender)?,
        })
    }

    /// Waits for the interval between the next two snapshots; `None` when the run has ended or `stop` is set.
    ///
    /// # Errors
    /// When a request for missed terrain cannot be sent, or an entity that was added cannot be read as it was.
    pub fn next(&mut self, stop: &AtomicBool) -> Result<Option<Interval>, NodeError> {
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.take(event)?;
            }
            self.leave_out()?;
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

    /// Number of heartbeats that have arrived and are not processed yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Number of heartbeats skipped so far because this node is too slow.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Acknowledges that all work of heartbeat `sequence` is done.
    ///
    /// # Errors
    /// When the message cannot be sent.
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
            Event::Entities(table) => {
                self.take_entities(&table);
                Ok(())
            }
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

    /// Begins anew if the world was reset: earlier messages say nothing about the new world.
    fn follow(&mut self, epoch: u32) {
        if epoch <= self.epoch {
            return;
        }
        tracing::info!(participant = self.participant, epoch, "the world was reset");
        self.epoch = epoch;
        (self.model, self.unread) = (Arc::clone(&self.scenario), Unread::default());
        (self.entities_version, self.terrain_sequence) = (0, 0);
        (self.previous, self.requested, self.assembly) = (None, None, Assembly::default());
        self.held.clear();
        self.edits.clear();
    }

    /// A table newer than the held snapshots contains all their entities: those that were removed stay in it for longer
    /// than snapshots are held. An entity whose files were changed is refused when a snapshot has it.
    fn take_entities(&mut self, table: &selene_msgs::EntityTable) {
        self.follow(table.epoch);
        if table.epoch == self.epoch && table.version > self.entities_version {
            let mut new = entities_from_message(table);
            new.retain(|known| !self.model.knows(known.entity));
            let (model, unread) = self.model.with_spawned(&new, &self.folders);
            (self.model, self.unread) = (Arc::new(model), unread);
            self.entities_version = table.version;
        }
    }

    /// Whether the run is over and no more intervals can follow.
    fn has_ended(&self) -> bool {
        self.finished.is_some_and(|since| self.held.is_empty() || since.elapsed() > FINISHED_WAIT)
    }

    /// Keeps a snapshot in order. If it is the latest one seen, only its acknowledgement is repeated: the simulation
    /// publishes it again for nodes that may have missed it. An older one can only come from another simulation with
    /// this id, unless the world was reset.
    fn hold(&mut self, state: Snapshot) -> Result<(), NodeError> {
        let latest = self.previous.as_ref().map_or(0, |previous| previous.sequence);
        let restarted = || NodeError::SimulationRestarted { run: self.run.clone(), from: latest, to: state.sequence };
        if state.epoch < self.reported_epoch {
            return Err(restarted());
        }
        // A table of entities may announce a reset before the first snapshot after it.
        if state.epoch < self.epoch {
            return Ok(());
        }
        self.reported_epoch = state.epoch;
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

    /// Skips snapshots, but not their edits, until this participant is no longer too far behind: a missing sample is
    /// better than images from long ago.
    fn leave_out(&mut self) -> Result<(), NodeError> {
        let mut left_out = 0;
        while self.held.len() > BEHIND_MAX && self.held[0].terrain_sequence <= self.terrain_sequence {
            self.previous = self.take_oldest()?;
            left_out += 1;
        }
        if left_out > 0 {
            self.left_out += left_out;
            tracing::warn!(participant = self.participant, left_out, "too slow for this pace: heartbeats left out");
        }
        Ok(())
    }

    /// Removes the oldest held snapshot and adds its edits, unless a terrain snapshot contained them. Refuses one with an
    /// entity whose files were changed.
    fn take_oldest(&mut self) -> Result<Option<Arc<Snapshot>>, NodeError> {
        let Some(state) = self.held.pop_front() else { return Ok(None) };
        self.unread.refuse(|entity| state.has(entity))?;
        if state.terrain_sequence == self.terrain_sequence {
            self.terrain_sequence += state.edits.len() as u64;
            self.edits.extend_from_slice(&state.edits);
        }
        Ok(Some(state))
    }

    /// The interval up to the oldest held snapshot, if terrain and entities are complete up to it.
    fn next_held(&mut self) -> Result<Option<Interval>, NodeError> {
        while let Some(state) = self.held.front() {
            if state.terrain_sequence > self.terrain_sequence {
                self.request_terrain()?;
                return Ok(None);
            }
            // The table is on its way: its topic is latched.
            if state.entities_version > self.entities_version {
                return Ok(None);
            }
            let older_than_terrain = state.terrain_sequence < self.terrain_sequence;
            let Some(next) = self.take_oldest()? else { return Ok(None) };
            if older_than_terrain {
                self.previous = Some(next);
                continue;
            }
            let Some(previous) = self.previous.replace(Arc::clone(&next)) else {
                self.acknowledge(next.sequence, next.time)?;
                continue;
            };
            let (model, edits) = (Arc::clone(&self.model), std::mem::take(&mut self.edits));
            return Ok(Some(Interval { model, previous, next, edits, published_until: self.published_until }));
        }
        Ok(None)
    }

    fn request_terrain(&mut self) -> Result<(), NodeError> {
        if self.requested.is_some_and(|requested| requested.elapsed() < REQUEST_AGAIN) {
            return Ok(());
        }
        self.requested = Some(Instant::now());
        tracing::info!(participant = self.participant, "requests the terrain it missed");
        let message =
            selene_msgs::TerrainRequest { participant: self.participant.clone(), have_sequence: self.terrain_sequence };
        Ok(self.requests.publish(&message, SimTime::ZERO)?)
    }

    /// Takes a part of a full copy of the terrain. When the copy is complete, drops older snapshots. While parts
    /// arrive, no new request is sent.
    fn take_terrain(&mut self, part: Part) {
        let sequence = part.sequence;
        if sequence <= self.terrain_sequence || self.requested.is_none() {
            return;
        }
        self.requested = Some(Instant::now());
        let Some(edits) = self.assembly.take(part) else { return };
        self.requested = None;
        self.terrain_sequence = sequence;
        self.edits = edits;
        while self.held.front().is_some_and(|state| state.terrain_sequence < sequence) {
            self.previous = self.held.pop_front();
        }
    }
}

fn open_subscriptions(links: &Links, sender: &Sender<Event>) -> Result<[Subscription; 4], NodeError> {
    let transport = links.internal.as_ref();
    let report = |sender: &Sender<Event>| {
        let sender = sender.clone();
        // Sending fails only when the watcher has been dropped.
        move |event| drop(sender.send(event))
    };
    let (on_state, on_terrain, on_entities, on_info) = (report(sender), report(sender), report(sender), report(sender));
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
            // Ignore snapshots of other runs, whoever publishes them on this run's topic.
            if message.run == run {
                on_state(Event::State(Box::new(state_from_message(&message))));
            }
        })?,
    ])
}

#[cfg(test)]
mod tests;

//! A sensor node's view of the world: snapshots in order, two at a time, with no
//! terrain edit missed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::transport::{Publisher, Subscription, Transport, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::WorldState;
use selene_terrain::Edit;

use crate::snapshot::{Assembly, Part};
use crate::wire::{edits_from_message, state_from_message};
use crate::{ACKNOWLEDGE, NodeError, RUN_INFO, TERRAIN_REQUEST, TERRAIN_SNAPSHOT, WORLD_STATE, terrain_qos};

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
    State(Box<WorldState>),
    Terrain(Part),
    Finished,
}

/// Two snapshots in a row and the ground that changed up to the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The earlier snapshot.
    pub previous: WorldState,
    /// The later one.
    pub next: WorldState,
    /// Edits to apply before anything in the interval is sampled.
    pub edits: Vec<Edit>,
}

impl Interval {
    /// The instant after which samples belong to this interval; they belong up to and
    /// with `next.time`. The very first interval has the scenario's start as well.
    #[must_use]
    pub fn after(&self) -> SimTime {
        match self.previous.sequence {
            0 => self.previous.time - SimTime::from_nanos(1),
            _ => self.previous.time,
        }
    }
}

/// Watches the world on behalf of one participant.
pub struct WorldWatcher {
    participant: String,
    /// Links of this node's rover.
    links: usize,
    events: Receiver<Event>,
    requests: Publisher<selene_msgs::TerrainRequest>,
    acknowledgements: Publisher<selene_msgs::Acknowledge>,
    previous: Option<WorldState>,
    /// Snapshots that wait for terrain.
    held: VecDeque<WorldState>,
    /// Edits taken but not yet handed on.
    edits: Vec<Edit>,
    terrain_sequence: u64,
    asked: Option<Instant>,
    /// Terrain that was asked for, as far as it has come.
    assembly: Assembly,
    /// When the run was said to have ended.
    finished: Option<Instant>,
    _subscriptions: [Subscription; 3],
}

impl WorldWatcher {
    /// Begins to watch as `participant` the world of a rover with `links` links.
    ///
    /// # Errors
    /// When a topic cannot be opened.
    pub fn new(transport: &dyn Transport, participant: &str, links: usize) -> Result<Self, NodeError> {
        let (sender, events) = channel();
        Ok(Self {
            participant: participant.to_owned(),
            links,
            events,
            requests: Publisher::new(transport, TERRAIN_REQUEST, Qos::reliable())?,
            acknowledgements: Publisher::new(transport, ACKNOWLEDGE, Qos::state())?,
            previous: None,
            held: VecDeque::new(),
            edits: Vec::new(),
            terrain_sequence: 0,
            asked: None,
            assembly: Assembly::default(),
            finished: None,
            _subscriptions: open_subscriptions(transport, &sender)?,
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

    /// Says that all work of heartbeat `sequence` is done.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn acknowledge(&self, sequence: u64, time: SimTime) -> Result<(), NodeError> {
        let message = selene_msgs::Acknowledge { participant: self.participant.clone(), sequence };
        Ok(self.acknowledgements.publish(&message, time)?)
    }

    fn take(&mut self, event: Event) -> Result<(), NodeError> {
        match event {
            Event::State(state) => {
                self.refuse_other_rover(&state)?;
                self.hold(*state)?;
            }
            Event::Terrain(part) => self.take_terrain(part),
            Event::Finished => self.finished = Some(Instant::now()),
        }
        Ok(())
    }

    fn refuse_other_rover(&self, state: &WorldState) -> Result<(), NodeError> {
        let theirs = state.world_from_links.len();
        if theirs == self.links { Ok(()) } else { Err(NodeError::OtherRover { theirs, ours: self.links }) }
    }

    /// Whether the run is over and nothing can come of what is held.
    fn has_ended(&self) -> bool {
        self.finished.is_some_and(|since| self.held.is_empty() || since.elapsed() > FINISHED_WAIT)
    }

    /// Keeps a snapshot in order. The latest one seen only has its acknowledgement
    /// repeated: the simulation says it again to those who may have missed it. One
    /// from before that can only come from another run.
    fn hold(&mut self, state: WorldState) -> Result<(), NodeError> {
        match self.previous.as_ref().map(|previous| state.sequence.cmp(&previous.sequence)) {
            Some(std::cmp::Ordering::Less) => return Err(NodeError::SimulationRestarted),
            Some(std::cmp::Ordering::Equal) => return self.acknowledge(state.sequence, state.time),
            Some(std::cmp::Ordering::Greater) | None => {}
        }
        if self.held.back().is_some_and(|last| state.sequence <= last.sequence) {
            return Ok(());
        }
        if self.held.len() == HELD_MAX {
            self.held.pop_front();
        }
        self.held.push_back(state);
        Ok(())
    }

    /// Passes over snapshots, but not their edits, until this participant is no longer
    /// too far behind: better a sample less than images of long ago.
    fn leave_out(&mut self) {
        let mut left_out = 0;
        while self.held.len() > BEHIND_MAX && self.held[0].terrain_sequence <= self.terrain_sequence {
            self.previous = self.take_oldest();
            left_out += 1;
        }
        if left_out > 0 {
            tracing::warn!(participant = self.participant, left_out, "too slow for this pace: heartbeats left out");
        }
    }

    /// The oldest held snapshot, its edits taken unless a terrain snapshot had them.
    fn take_oldest(&mut self) -> Option<WorldState> {
        let state = self.held.pop_front()?;
        if state.terrain_sequence == self.terrain_sequence {
            self.terrain_sequence += state.edits.len() as u64;
            self.edits.extend_from_slice(&state.edits);
        }
        Some(state)
    }

    /// The oldest held snapshot, if the terrain is complete up to it.
    fn next_held(&mut self) -> Result<Option<Interval>, NodeError> {
        while let Some(state) = self.held.front() {
            if state.terrain_sequence > self.terrain_sequence {
                self.ask_for_terrain()?;
                return Ok(None);
            }
            let older_than_terrain = state.terrain_sequence < self.terrain_sequence;
            let Some(next) = self.take_oldest() else { return Ok(None) };
            if older_than_terrain {
                self.previous = Some(next);
                continue;
            }
            let Some(previous) = self.previous.replace(next.clone()) else {
                self.acknowledge(next.sequence, next.time)?;
                continue;
            };
            return Ok(Some(Interval { previous, next, edits: std::mem::take(&mut self.edits) }));
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

fn open_subscriptions(transport: &dyn Transport, sender: &Sender<Event>) -> Result<[Subscription; 3], NodeError> {
    let tell = |sender: &Sender<Event>| {
        let sender = sender.clone();
        // A closed channel means that the watcher is gone: nobody is left to tell.
        move |event| drop(sender.send(event))
    };
    let (on_state, on_terrain, on_info) = (tell(sender), tell(sender), tell(sender));
    Ok([
        subscribe(transport, WORLD_STATE, Qos::state(), move |message: selene_msgs::WorldState| {
            on_state(Event::State(Box::new(state_from_message(&message))));
        })?,
        subscribe(transport, TERRAIN_SNAPSHOT, terrain_qos(), move |message: selene_msgs::TerrainSnapshot| {
            let selene_msgs::TerrainSnapshot { terrain_sequence: sequence, part, parts, .. } = message;
            on_terrain(Event::Terrain(Part {
                sequence,
                part,
                parts,
                edits: edits_from_message(&message.terrain_edits),
            }));
        })?,
        subscribe(transport, RUN_INFO, Qos::latched(), move |message: selene_msgs::RunInfo| {
            if message.finished {
                on_info(Event::Finished);
            }
        })?,
    ])
}

#[cfg(test)]
mod tests;

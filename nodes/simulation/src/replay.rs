//! Replays a recorded run to sensor nodes: snapshots, added entities and the initial driven ground come from a
//! recording instead of a world that is stepped. Sensor nodes watch them as they watch a simulation, in lockstep, so
//! that none skips a sample. The replay also publishes what follows from snapshots: clock, transforms, joint states and
//! ground truth. It leaves out what only a world knows: diagnostics, maps and rocks.
//!
//! The sensors may differ from those of the recording.

mod recorded;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use selene_base::SimTime;
use selene_coherence::{
    NodeContext, NodeError, RUN_INFO, edits_from_message, entities_from_message, state_from_message, state_to_message,
};
use selene_ros::transport::Publisher;
use selene_ros::{Qos, rosgraph_msgs, selene_msgs};
use selene_sim::{AllowedFolders, Model, Snapshot, Unread};
use selene_terrain::{Edit, Ruts};

use crate::lockstep::Lockstep;
use crate::publishers::name_of;
use crate::rover_publishers::{BEFORE_START, RoverPublishers};
use crate::terrain::TerrainAnswers;

pub use recorded::{RecordedMessage, RecordedRun};

/// Maximum number of snapshots recorded before the initial ground, which follows the first ones closely.
const WAITING_MAX: usize = 1000;

/// The result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayResult {
    /// Number of snapshots.
    pub heartbeats: u64,
    /// Simulated time of the last snapshot.
    pub until: SimTime,
}

/// Replays a recorded run to `participants` in lockstep until its end or `stop`.
///
/// # Errors
/// When a topic cannot be opened, `reported` fails, or the recording lacks what sensors need.
pub fn replay(
    context: &NodeContext,
    recorded: &RecordedRun,
    reported: impl Iterator<Item = Result<RecordedMessage, NodeError>>,
    participants: &[String],
    stop: &AtomicBool,
) -> Result<ReplayResult, NodeError> {
    let mut replaying = Replay::new(context, recorded, participants)?;
    for reported in reported {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match reported? {
            RecordedMessage::Entities(table) => replaying.take_entities(&table)?,
            RecordedMessage::Terrain(part) => replaying.take_terrain(&part, stop)?,
            RecordedMessage::State(state) => replaying.take_state(&state, stop)?,
        }
    }
    replaying.end(stop)
}

struct Replay {
    recorded: RecordedRun,
    /// The scenario's world with the entities that were added since.
    model: Arc<Model>,
    /// Added entities whose files are not as they were.
    unread: Unread,
    folders: AllowedFolders,
    clock: Publisher<rosgraph_msgs::Clock>,
    rovers: RoverPublishers,
    states: Publisher<selene_msgs::WorldState>,
    entities: Publisher<selene_msgs::EntityTable>,
    info: Publisher<selene_msgs::RunInfo>,
    lockstep: Lockstep,
    terrain: TerrainAnswers,
    ground: Option<Ground>,
    /// Parts of the initial driven ground that have been read so far.
    parts: Vec<Edit>,
    /// Snapshots that wait for that ground.
    waiting: VecDeque<Snapshot>,
    last: Option<Snapshot>,
    heartbeats: u64,
}

/// The driven ground before a snapshot, and the number of edits that led to it.
struct Ground {
    edits: u64,
    ruts: Ruts,
}

impl Replay {
    fn new(context: &NodeContext, recorded: &RecordedRun, participants: &[String]) -> Result<Self, NodeError> {
        let NodeContext { links, model, folders, .. } = context;
        let (public, internal) = (links.public.as_ref(), links.internal.as_ref());
        Ok(Self {
            recorded: recorded.clone(),
            model: Arc::clone(model),
            unread: Unread::default(),
            folders: folders.clone(),
            clock: Publisher::new(public, "/clock", Qos::clock())?,
            rovers: RoverPublishers::new(&links.public)?,
            states: Publisher::new(internal, &links.world_state(), Qos::state())?,
            entities: Publisher::new(internal, &links.entities(), Qos::latched())?,
            info: Publisher::new(internal, RUN_INFO, Qos::latched())?,
            lockstep: Lockstep::new(links, participants)?,
            terrain: TerrainAnswers::new(links)?,
            ground: None,
            parts: Vec::new(),
            waiting: VecDeque::new(),
            last: None,
            heartbeats: 0,
        })
    }

    /// Publishes a table and adds its new entities; a recording in several files repeats the last table.
    fn take_entities(&mut self, table: &selene_msgs::EntityTable) -> Result<(), NodeError> {
        let mut new = entities_from_message(table);
        new.retain(|known| !self.model.knows(known.entity));
        let (model, unread) = self.model.with_spawned(&new, &self.folders);
        (self.model, self.unread) = (Arc::new(model), unread);
        Ok(self.entities.publish(table, self.time())?)
    }

    /// Reads a part of the initial ground. Later parts are ignored: they answered nodes that joined late in that run.
    fn take_terrain(&mut self, part: &selene_msgs::TerrainSnapshot, stop: &AtomicBool) -> Result<(), NodeError> {
        if self.ground.is_some() {
            return Ok(());
        }
        if part.part == 0 {
            self.parts.clear();
        }
        self.parts.extend(edits_from_message(&part.terrain_edits));
        if part.parts.checked_sub(1) != Some(part.part) {
            return Ok(());
        }
        let mut ruts = Ruts::default();
        ruts.apply(&std::mem::take(&mut self.parts));
        self.ground = Some(Ground { edits: part.terrain_sequence, ruts });
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().try_for_each(|snapshot| self.publish_snapshot(snapshot, stop))
    }

    fn take_state(&mut self, message: &selene_msgs::WorldState, stop: &AtomicBool) -> Result<(), NodeError> {
        if message.run != self.recorded.info.run {
            return Ok(());
        }
        if message.epoch != 0 {
            return Err(fault(
                "the run was reset while it was recorded; what came after cannot be replayed".to_owned(),
            ));
        }
        let mut snapshot = state_from_message(message);
        self.unread.refuse(|entity| snapshot.has(entity))?;
        self.recorded.remount(&mut snapshot, &self.model)?;
        if self.last.is_none() && self.waiting.is_empty() && snapshot.terrain_sequence == 0 {
            self.ground.get_or_insert_with(|| Ground { edits: 0, ruts: Ruts::default() });
        }
        if self.ground.is_some() {
            return self.publish_snapshot(snapshot, stop);
        }
        self.waiting.push_back(snapshot);
        if self.waiting.len() > WAITING_MAX { Err(no_ground()) } else { Ok(()) }
    }

    /// Publishes a snapshot and what follows from it. Skips snapshots that the simulation repeated, and those from
    /// before the ground was requested.
    fn publish_snapshot(&mut self, mut snapshot: Snapshot, stop: &AtomicBool) -> Result<(), NodeError> {
        let Some(Ground { edits, .. }) = self.ground else { return Ok(()) };
        let follows = self.last.as_ref().map(|last| last.sequence + 1);
        let is_old = follows.is_some_and(|follows| snapshot.sequence < follows);
        if is_old || (self.last.is_none() && snapshot.terrain_sequence < edits) {
            return Ok(());
        }
        if snapshot.terrain_sequence != edits || follows.is_some_and(|follows| snapshot.sequence != follows) {
            let what = format!("snapshots before heartbeat {} are missing", snapshot.sequence);
            return Err(fault(format!("{what}; the recording was damaged, or does not begin with the run")));
        }
        if let Some(last) = &self.last {
            // The sensors may differ from the recorded ones: compute the memory that they would have.
            self.model.remember(last, &mut snapshot);
        }
        self.publish_public(&snapshot)?;
        let name = |id| name_of(&self.model, id);
        let message = state_to_message(&self.recorded.run, &snapshot, name);
        self.states.publish(&message, snapshot.time)?;
        self.heartbeats += 1;
        let is_first = self.last.is_none();
        self.last = Some(snapshot);
        self.await_participants(&message, is_first, stop)?;
        self.end_heartbeat();
        Ok(())
    }

    /// Publishes clock, transforms and ground truth as the simulation does. What was published before the run was
    /// resumed only updates the encoders.
    fn publish_public(&mut self, snapshot: &Snapshot) -> Result<(), NodeError> {
        let was_reported = self.recorded.published_until().is_some_and(|until| snapshot.time <= until);
        let rovers: Vec<_> = snapshot.rovers.iter().map(|rover| rover.id).collect();
        self.rovers.follow(&self.model, &rovers, snapshot.time)?;
        let last = self.last.as_ref().map_or(BEFORE_START, |last| last.time);
        self.rovers.truth(last, snapshot, was_reported)?;
        if !was_reported {
            self.clock.publish(&rosgraph_msgs::Clock { clock: snapshot.time.into() }, snapshot.time)?;
        }
        Ok(())
    }

    /// Waits while a participant is too far behind, answers requests for terrain, and repeats the latest snapshot for
    /// those that have not received it.
    fn await_participants(
        &mut self,
        latest: &selene_msgs::WorldState,
        to_the_last: bool,
        stop: &AtomicBool,
    ) -> Result<(), NodeError> {
        while self.lockstep.must_wait(latest.sequence, to_the_last) && !stop.load(Ordering::Relaxed) {
            if self.lockstep.wait() {
                self.states.publish(latest, self.time())?;
            }
            if let Some(Ground { edits, ruts }) = &self.ground {
                self.terrain.answer(0, *edits, ruts, self.time())?;
            }
        }
        Ok(())
    }

    /// Applies the last snapshot's edits to the ground.
    fn end_heartbeat(&mut self) {
        if let (Some(ground), Some(last)) = (&mut self.ground, &self.last) {
            ground.ruts.apply(&last.edits);
            ground.edits += last.edits.len() as u64;
        }
    }

    /// Waits for all participants, then publishes that the run has ended.
    fn end(mut self, stop: &AtomicBool) -> Result<ReplayResult, NodeError> {
        let until = self.time();
        match self.last.clone() {
            Some(last) => {
                let latest = state_to_message(&self.recorded.run, &last, |id| name_of(&self.model, id));
                self.await_participants(&latest, true, stop)?;
            }
            None if stop.load(Ordering::Relaxed) => {}
            None if self.waiting.is_empty() => return Err(fault("it has no snapshot".to_owned())),
            None => return Err(no_ground()),
        }
        let info = selene_msgs::RunInfo { finished: true, ..self.recorded.info.clone() };
        self.info.publish(&info, until)?;
        Ok(ReplayResult { heartbeats: self.heartbeats, until })
    }

    /// Simulated time of the last snapshot.
    fn time(&self) -> SimTime {
        self.last.as_ref().map_or(SimTime::ZERO, |last| last.time)
    }
}

fn fault(what: String) -> NodeError {
    NodeError::Recorded { what }
}

fn no_ground() -> NodeError {
    fault("the driven ground that the run began on is not in it; record the whole run, sensors and all".to_owned())
}

//! A recorded run: checks that it has the same world as the given model, and decodes its messages. Frames that exist
//! only for sensors are not part of a rover's body: where they differ, the scenario's frames replace the recorded ones.

use std::collections::BTreeSet;

use selene_base::SimTime;
use selene_coherence::{NodeError, RunId, fingerprint_of};
use selene_ros::{Encoded, decode, selene_msgs};
use selene_sim::{EntityId, Fingerprint, Model, RoverSnapshot, Snapshot};

use super::fault;
use crate::publishers::name_of;

/// A message on one of a run's internal topics.
#[derive(Clone, Debug)]
pub enum RecordedMessage {
    /// The entities that were added to the world.
    Entities(selene_msgs::EntityTable),
    /// A part of the driven ground with which the run began.
    Terrain(selene_msgs::TerrainSnapshot),
    /// A snapshot.
    State(Box<selene_msgs::WorldState>),
}

/// A recorded run whose world is that of the given model.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    pub(super) run: RunId,
    pub(super) info: selene_msgs::RunInfo,
    /// Rovers whose sensors had other frames in the recording.
    remounted: BTreeSet<EntityId>,
}

impl RecordedRun {
    /// The run that published `info`, if its world is that of `model`; sensors may differ.
    ///
    /// # Errors
    /// When the worlds differ.
    pub fn new(info: &selene_msgs::RunInfo, model: &Model) -> Result<Self, NodeError> {
        let run = info.run.parse::<RunId>().map_err(|error| fault(error.to_string()))?;
        let (here, there) = (Fingerprint::of(model.scenario(), model.terrain()), fingerprint_of(info));
        if let Some(difference) = here.world_difference(&there) {
            let advice = "take the scenario, seed and data of that run; only its sensors may differ";
            return Err(fault(format!("run {run} is of another world: {difference}; {advice}")));
        }
        let is_remounted = |id: &&EntityId| !here.has_same_mounts(&there, name_of(model, **id));
        let remounted = model.rovers().keys().filter(is_remounted).copied().collect();
        Ok(Self { run, info: info.clone(), remounted })
    }

    /// The run's id, which nodes that watch it must use.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Decodes a recorded message; `None` if its topic is not needed here.
    ///
    /// # Errors
    /// When the message is not of its topic's type.
    pub fn reported(&self, topic: &str, message: &Encoded) -> Result<Option<RecordedMessage>, NodeError> {
        let name = topic.strip_prefix(&self.run.topic("")).unwrap_or_default();
        let reported = match name {
            "entities" => decode(message).map(RecordedMessage::Entities),
            "terrain_snapshot" => decode(message).map(RecordedMessage::Terrain),
            "world_state" => decode(message).map(|state| RecordedMessage::State(Box::new(state))),
            _ => return Ok(None),
        };
        reported.map(Some).map_err(|error| fault(format!("{topic}: {error}")))
    }

    /// Simulated time until which an earlier run had published data, if this one was resumed.
    #[must_use]
    pub fn published_until(&self) -> Option<SimTime> {
        let published_until = SimTime::from(self.info.told_until);
        (published_until > SimTime::ZERO).then_some(published_until)
    }

    /// Replaces the recorded frames of sensors with those of `model`.
    pub(super) fn remount(&self, snapshot: &mut Snapshot, model: &Model) -> Result<(), NodeError> {
        let mut remounted = snapshot.rovers.iter_mut().filter(|rover| self.remounted.contains(&rover.id));
        remounted.try_for_each(|rover| remount(model, rover))
    }
}

fn remount(model: &Model, rover: &mut RoverSnapshot) -> Result<(), NodeError> {
    let Some(kind) = model.rovers().get(&rover.id) else { return Ok(()) };
    let (links, frames) = (kind.model().links().len(), kind.model().added_frames());
    let (own, known) = (links - frames.len(), rover.world_from_links.len());
    if known < own {
        let name = name_of(model, rover.id);
        return Err(fault(format!("rover {name} has {known} links in it and {own} here")));
    }
    rover.world_from_links.truncate(own);
    for frame in frames {
        let pose = rover.world_from_links[frame.parent] * frame.parent_from_child_at_zero;
        rover.world_from_links.push(pose);
    }
    Ok(())
}

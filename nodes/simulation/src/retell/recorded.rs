//! A recorded run: whether its world is the one at hand, and what its messages tell. A frame that only sensors have is
//! no part of a rover's body: where these frames differ, those of the recording are taken away and those of the
//! scenario added.

use std::collections::BTreeSet;

use selene_base::SimTime;
use selene_coherence::{NodeError, RunId, fingerprint_of};
use selene_ros::{Encoded, decode, selene_msgs};
use selene_sim::{EntityId, Fingerprint, Model, RoverSnapshot, Snapshot};

use super::fault;
use crate::publishers::name_of;

/// What a recording has of a run's internal topics.
#[derive(Clone, Debug)]
pub enum Told {
    /// What was added to the world.
    Entities(selene_msgs::EntityTable),
    /// A part of the driven ground that the run began on.
    Terrain(selene_msgs::TerrainSnapshot),
    /// A snapshot.
    State(Box<selene_msgs::WorldState>),
}

/// A recorded run of a world that is at hand.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    pub(super) run: RunId,
    pub(super) info: selene_msgs::RunInfo,
    /// Rovers whose sensors had other frames then.
    remounted: BTreeSet<EntityId>,
}

impl RecordedRun {
    /// The run that told `info`, if its world is that of `model`, whatever rovers sense it with.
    ///
    /// # Errors
    /// When it is another world.
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

    /// Its id: nodes that watch it belong to this run.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What a message of the recording tells; none where it is of no use here.
    ///
    /// # Errors
    /// When it is not of its topic's type.
    pub fn told(&self, topic: &str, message: &Encoded) -> Result<Option<Told>, NodeError> {
        let name = topic.strip_prefix(&self.run.topic("")).unwrap_or_default();
        let told = match name {
            "entities" => decode(message).map(Told::Entities),
            "terrain_snapshot" => decode(message).map(Told::Terrain),
            "world_state" => decode(message).map(|state| Told::State(Box::new(state))),
            _ => return Ok(None),
        };
        told.map(Some).map_err(|error| fault(format!("{topic}: {error}")))
    }

    /// Until when data were told before it was resumed.
    #[must_use]
    pub fn told_until(&self) -> Option<SimTime> {
        let told_until = SimTime::from(self.info.told_until);
        (told_until > SimTime::ZERO).then_some(told_until)
    }

    /// Gives rovers the frames of their sensors in `model` in place of those that they had.
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

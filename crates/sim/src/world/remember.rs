//! Updates the memories of sensors of rovers' bodies (`selene_sensors::body`) at every heartbeat. A memory follows from
//! the bodies before and after alone: with the snapshots of a run, any process can continue the memories as the run
//! did.

use selene_base::{Pose, SimTime};
use selene_sensors::{BodyHeartbeat, BodySensor, Posture, SensorMemory};
use selene_vehicle::Rover;

use crate::world::entity::EntityId;
use crate::world::model::{Model, RoverKind};
use crate::world::snapshot::{Snapshot, samples_after};
use crate::world::state::State;

/// Bodies before a step, of rovers with sensors of their own body.
pub(crate) struct SensedBodies {
    after: SimTime,
    from: SimTime,
    bodies: Vec<(EntityId, LinkStates)>,
}

struct LinkStates {
    world_from_links: Vec<Pose>,
    position: Vec<f64>,
    velocity: Vec<f64>,
    effort: Vec<f64>,
}

impl SensedBodies {
    pub(crate) fn new<'a>(state: &State, rovers: impl Iterator<Item = (EntityId, &'a Rover)>) -> Self {
        Self {
            after: samples_after(state.sequence, state.time),
            from: state.time,
            bodies: rovers.map(|(id, rover)| (id, LinkStates::of(rover))).collect(),
        }
    }
}

impl LinkStates {
    fn of(rover: &Rover) -> Self {
        let joints = rover.joint_states();
        Self {
            world_from_links: rover.world_from_links(),
            position: joints.iter().map(|joint| joint.position).collect(),
            velocity: joints.iter().map(|joint| joint.velocity).collect(),
            effort: joints.iter().map(|joint| joint.effort).collect(),
        }
    }

    fn posture(&self) -> Posture<'_> {
        Posture {
            world_from_links: &self.world_from_links,
            position: &self.position,
            velocity: &self.velocity,
            effort: &self.effort,
        }
    }
}

impl RoverKind {
    /// Sensors of its own body, in the order of its sensors.
    #[must_use]
    pub fn body_sensors(&self) -> &[BodySensor] {
        &self.body_sensors
    }

    fn remember(&self, memories: &[SensorMemory], beat: &BodyHeartbeat) -> Vec<SensorMemory> {
        self.body_sensors.iter().filter_map(|sensor| sensor.take(memories, beat, drop)).collect()
    }
}

impl Model {
    /// Updates memories by the step that led to `snapshot`, in the state and in the snapshot.
    pub(crate) fn remember_step(&self, state: &mut State, before: &SensedBodies, snapshot: &mut Snapshot) {
        let (until, sun) = (snapshot.time, snapshot.sun_direction);
        for (id, body) in &before.bodies {
            let Ok(at) = snapshot.rovers.binary_search_by_key(id, |rover| rover.id) else { continue };
            let (Some(kind), Some(of)) = (self.rovers().get(id), state.rovers.get_mut(id)) else { continue };
            let reported = &mut snapshot.rovers[at];
            let SensedBodies { after, from, .. } = *before;
            let beat = BodyHeartbeat { after, from, until, before: body.posture(), now: reported.posture(), sun };
            of.memories = kind.remember(&of.memories, &beat);
            reported.memories.clone_from(&of.memories);
        }
    }

    /// Updates the memories of `next` from the snapshot before it, for the sensors of this model.
    pub fn remember(&self, last: &Snapshot, next: &mut Snapshot) {
        let carried = |rover: EntityId| {
            let kind = self.rovers().get(&rover)?;
            Some(kind.remember(&last.rover(rover)?.memories, &last.beat(next, rover)?))
        };
        let carried: Vec<_> = next.rovers.iter().map(|rover| carried(rover.id).unwrap_or_default()).collect();
        next.rovers.iter_mut().zip(carried).for_each(|(rover, memories)| rover.memories = memories);
    }
}

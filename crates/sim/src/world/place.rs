//! Moves an entity to another place, or gives it another motion, between two heartbeats.
//!
//! Rovers and rocks are set down on the ground, at rest: a rover parallel to the ground under its wheels, a rock
//! with its given rotation and its lowest corner touching. The driving state of a rover stays: commands, the
//! angles of steers and servos, the wheels' own angles.

use selene_base::{Pose, Twist, frames};
use selene_vehicle::contact::LooseRockState;
use selene_vehicle::{RoverModel, RoverState};

use crate::scenario::{Start, resting};
use crate::world::entity::{Entity, EntityId};
use crate::world::model::Model;
use crate::world::spawn::SpawnError;
use crate::world::state::State;
use crate::world::world::World;

/// Maximum speed that an entity can be given, m/s.
const SPEED_MAX_M_S: f64 = 20.0;
/// Maximum turn rate that an entity can be given, rad/s.
const TURN_MAX_RAD_S: f64 = 20.0;

/// A new place of an entity, and its motion from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Placement {
    /// New pose, map frame; `None` if it stays. Only x, y and heading of a rover count, only x, y and rotation of a
    /// rock.
    pub pose: Option<Pose>,
    /// New velocity, map axes; `None` for rest at a new pose, and for the present motion if it stays.
    pub twist: Option<Twist>,
}

impl World {
    /// Moves a rover or a loose rock to another place, or gives it another motion.
    ///
    /// # Errors
    /// When there is no such entity, it is a fixed object, the place is off the ground or inside something, or the
    /// motion is too fast; the world is then unchanged.
    pub fn place(&mut self, entity: Entity, placement: &Placement) -> Result<(), SpawnError> {
        let (model, state, scratch) = self.parts_mut();
        let mut new = state.clone();
        if let Some(twist) = &placement.twist {
            check_twist(twist)?;
        }
        match entity {
            Entity::Rover(id) => model.place_rover(id, placement, &mut new)?,
            Entity::Rock(id) => model.place_rock(id, placement, &mut new)?,
            Entity::Object(id) => return Err(model.stands_fast(id, state)),
        }
        new.contacts.forget(|party| entity.has(party));
        // Rocks that leant on it or lay on it are no longer held: wake all rocks.
        new.rocks.values_mut().for_each(|rock| rock.still_s = 0.0);
        model.check(&new)?;
        model.refuse_overlaps(&mut new, scratch, |party| entity.has(party))?;
        *state = new;
        Ok(())
    }
}

impl Model {
    fn place_rover(&self, id: EntityId, placement: &Placement, state: &mut State) -> Result<(), SpawnError> {
        let State { rovers, ruts, .. } = state;
        let (Some(kind), Some(of)) = (self.rovers().get(&id), rovers.get_mut(&id)) else {
            return Err(SpawnError::Unknown(format!("rover {id}")));
        };
        if let Some(pose) = &placement.pose {
            let (x_m, y_m) = self.checked(pose)?;
            let place = Start { x_m, y_m, z_m: 0.0, yaw_rad: frames::yaw_rad(pose) };
            let fresh = kind.standing_at(place, self, ruts)?;
            of.body = set_down(&of.body, fresh.body, kind.model());
            (of.wheels, of.floors, of.clipmap_centre) = (fresh.wheels, fresh.floors, fresh.clipmap_centre);
        }
        if let Some(twist) = placement.twist {
            of.body.base_twist = twist;
        }
        Ok(())
    }

    fn place_rock(&self, id: u32, placement: &Placement, state: &mut State) -> Result<(), SpawnError> {
        let State { rocks, ruts, .. } = state;
        let (Some(inertia), Some(rock)) = (self.rocks().get(&id), rocks.get_mut(&id)) else {
            return Err(SpawnError::Unknown(format!("rock {id}")));
        };
        if let Some(pose) = &placement.pose {
            let (x_m, y_m) = self.checked(pose)?;
            let shape = self.terrain().shapes().get(inertia.shape);
            let lies = shape
                .and_then(|shape| resting(shape, inertia.radius_m, [x_m, y_m], pose.rotation, self.terrain(), ruts));
            let off_ground = SpawnError::Place { x_m, y_m, what: "is off the ground that there is" };
            *rock = LooseRockState::at_rest(lies.ok_or(off_ground)?);
        }
        if let Some(twist) = placement.twist {
            rock.twist = twist;
        }
        Ok(())
    }

    /// Map x and y of a pose, m, if there is ground.
    fn checked(&self, pose: &Pose) -> Result<(f64, f64), SpawnError> {
        let (x_m, y_m) = (pose.translation.x, pose.translation.y);
        self.check_place(x_m, y_m)?;
        if pose.rotation.coords.iter().all(|part| part.is_finite()) {
            return Ok((x_m, y_m));
        }
        Err(SpawnError::Place { x_m, y_m, what: "attitude must be finite" })
    }

    fn stands_fast(&self, id: EntityId, state: &State) -> SpawnError {
        match self.objects().get(&id).filter(|_| state.objects.contains(&id)) {
            Some(kind) => SpawnError::StandsFast(kind.name.clone()),
            None => SpawnError::Unknown(format!("object {id}")),
        }
    }
}

/// A rover set down as in `fresh`, at rest, that keeps the angles of the joints with motors.
fn set_down(was: &RoverState, fresh: RoverState, model: &RoverModel) -> RoverState {
    let of_wheels = |joint: usize| {
        model
            .wheels()
            .iter()
            .any(|wheel| (wheel.is_driven() && wheel.drive_joint == joint) || wheel.steer_joint == Some(joint))
    };
    let is_driven = |joint: usize| of_wheels(joint) || model.servos().iter().any(|servo| servo.joint == joint);
    let joints = model.moving_joints().iter().zip(was.joints.iter().zip(&fresh.joints));
    let joints = joints.map(|(joint, (was, fresh))| if is_driven(*joint) { [was[0], 0.0] } else { *fresh });
    RoverState {
        joints: joints.collect(),
        target_steer_rad: was.target_steer_rad.clone(),
        steer_setpoint_rad: was.steer_setpoint_rad.clone(),
        servo_target: was.servo_target.clone(),
        servo_setpoint: was.servo_setpoint.clone(),
        ..fresh
    }
}

fn check_twist(twist: &Twist) -> Result<(), SpawnError> {
    let parts = [("speed", &twist.linear, SPEED_MAX_M_S), ("turn rate", &twist.angular, TURN_MAX_RAD_S)];
    for (what, velocity, most) in parts {
        let value = velocity.norm();
        let is_allowed = value.is_finite() && value <= most;
        if !is_allowed {
            return Err(SpawnError::Twist { what, value, most });
        }
    }
    Ok(())
}

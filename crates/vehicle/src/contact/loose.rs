//! Loose rocks: free rigid bodies. Mass and inertia are those of the convex mesh at uniform
//! density. Integration is semi-implicit Euler, with the gyroscopic torque implicit (one Newton
//! step in the body's axes, after Catto 2015), so that a tumbling rock gains no energy.
//!
//! A rock that has hardly moved for a while sleeps: it is not stepped until a rover or a
//! moving rock touches it. Digging away the soil below does not wake it.

use std::sync::Arc;

use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, Wrench};
use selene_terrain::{GroundPatch, RockShape};
use serde::{Deserialize, Serialize};

use super::contact_body::{ContactBody, Mobility};
use super::floor::{FloorMemory, FloorPoints, FloorScratch};

/// A rock is nearly at rest when all its points are slower than this, m/s: it sways on its
/// soil's shear at about 2 Hz by less than 0.4 mm.
const STILL_M_S: f64 = 5e-3;
/// Time nearly at rest after which a rock sleeps, s.
const STILL_S: f64 = 0.5;

/// The state of a loose rock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LooseRockState {
    /// Pose of the rock; its origin is the centre of mass.
    pub world_from_rock: Pose,
    /// Velocity of its centre of mass and angular velocity, map frame.
    pub twist: Twist,
    /// Time for which it has been nearly at rest, s.
    pub still_s: f64,
    /// State of its contact with hard ground.
    pub floor: FloorMemory,
}

/// The constants of a loose rock: shape, mass and inertia.
#[derive(Clone, Debug)]
pub struct RockInertia {
    /// Index of its shape among the ground's shapes.
    pub shape: usize,
    /// Mean radius, m: the shape's scale.
    pub radius_m: f64,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Inertia about the centre of mass in its own axes, kg m².
    inertia_kg_m2: Matrix3<f64>,
    /// Distance of its farthest corner from the centre of mass, m.
    reach_m: f64,
    floor: FloorPoints,
}

/// A loose rock, ready for stepping.
#[derive(Clone, Debug)]
pub struct LooseRock {
    /// Number of the rock on this site.
    pub id: u32,
    /// Its constants, shared with copies.
    pub inertia: Arc<RockInertia>,
    /// Its state.
    pub state: LooseRockState,
    /// Wrench of this step about the centre of mass, map frame.
    wrench: Wrench,
    /// Whether a rover touches it in this step.
    pub(crate) held: bool,
}

impl LooseRockState {
    /// A rock at rest.
    #[must_use]
    pub fn at_rest(world_from_rock: Pose) -> Self {
        Self { world_from_rock, twist: Twist::default(), still_s: 0.0, floor: FloorMemory::default() }
    }

    /// Whether it sleeps.
    #[must_use]
    pub fn asleep(&self) -> bool {
        self.still_s >= STILL_S
    }

    /// Whether its pose and velocity are finite numbers.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        let pose = &self.world_from_rock;
        let place = pose.translation.vector.iter().chain(pose.rotation.coords.iter());
        place.chain(self.twist.linear.iter()).chain(self.twist.angular.iter()).all(|value| value.is_finite())
    }
}

impl RockInertia {
    /// A rock of one of a ground's `shapes`, `radius_m` times as large; none for a shape that is not there.
    #[must_use]
    pub fn new(shapes: &[RockShape], shape: usize, radius_m: f64, density_kg_m3: f64) -> Option<Self> {
        let of = shapes.get(shape)?;
        let corners: Vec<_> = of.vertices.iter().map(|v| Vector3::from(*v).cast::<f64>() * radius_m).collect();
        let (volume_m3, inertia_m5) = moments(&corners, &of.triangles);
        Some(Self {
            shape,
            radius_m,
            mass_kg: volume_m3 * density_kg_m3,
            inertia_kg_m2: inertia_m5 * density_kg_m3,
            reach_m: of.reach() * radius_m,
            floor: FloorPoints::new(corners),
        })
    }

    /// Distance of its farthest corner from its centre of mass, m.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        self.reach_m
    }
}

impl LooseRock {
    /// A rock from its constants and state.
    #[must_use]
    pub fn new(id: u32, inertia: Arc<RockInertia>, state: LooseRockState) -> Self {
        Self { id, inertia, state, wrench: Wrench::default(), held: false }
    }

    /// Whether it sleeps.
    #[must_use]
    pub fn asleep(&self) -> bool {
        self.state.asleep()
    }

    /// Wakes it.
    pub fn wake(&mut self) {
        if self.asleep() {
            self.state.still_s = 0.0;
        }
    }

    /// Whether some point of it moves faster than a rock at rest.
    pub(crate) fn moves(&self) -> bool {
        let Twist { linear, angular } = &self.state.twist;
        linear.norm() + angular.norm() * self.inertia.reach_m > STILL_M_S
    }

    /// Adds a wrench about its centre of mass, map frame, for the next step.
    pub fn add(&mut self, wrench: &Wrench) {
        self.wrench.force += wrench.force;
        self.wrench.torque += wrench.torque;
    }

    /// Adds the wrench of hard ground, for soils whose laws carry only wheels.
    pub fn stand_on(&mut self, ground: &GroundPatch, dt_s: f64) {
        if self.inertia.floor.is_free(&mut self.state.floor, &self.state.twist, dt_s) {
            return;
        }
        let (body, floor) = (self.body(), &self.inertia.floor);
        let pushed = floor.push(&mut self.state.floor, &mut FloorScratch::default(), &body, ground, dt_s);
        pushed.iter().for_each(|wrench| self.add(wrench));
    }

    /// The forces that act on it in the step to come, about its centre of mass.
    #[must_use]
    pub fn wrench(&self) -> &Wrench {
        &self.wrench
    }

    /// The rock as input of contacts.
    #[must_use]
    pub fn body(&self) -> ContactBody {
        let LooseRockState { world_from_rock, twist, .. } = &self.state;
        let turn = world_from_rock.rotation.to_rotation_matrix();
        let inertia = turn * self.inertia.inertia_kg_m2 * turn.transpose();
        ContactBody {
            world_from_body: *world_from_rock,
            linear_m_s: twist.linear,
            angular_rad_s: twist.angular,
            mobility: Mobility::new(self.inertia.mass_kg, world_from_rock.translation.vector, &inertia),
        }
    }

    /// Moves it by one step under its forces and gravity, if it is awake, and clears the forces.
    pub fn step(&mut self, gravity_m_s2: &Vector3<f64>, dt_s: f64) {
        let wrench = std::mem::take(&mut self.wrench);
        if self.asleep() {
            return;
        }
        let turn = self.state.world_from_rock.rotation;
        let twist = &self.state.twist;
        let linear = twist.linear + (wrench.force / self.inertia.mass_kg + gravity_m_s2) * dt_s;
        let spin = self.spun(turn.inverse() * twist.angular, turn.inverse() * wrench.torque, dt_s);
        self.state.twist = Twist { linear, angular: turn * spin };
        let pose = &mut self.state.world_from_rock;
        pose.translation.vector += linear * dt_s;
        pose.rotation = UnitQuaternion::new(self.state.twist.angular * dt_s) * turn;
        pose.rotation.renormalize();
        self.state.still_s = if self.moves() || self.held { 0.0 } else { self.state.still_s + dt_s };
        if self.asleep() {
            self.state.twist = Twist::default();
        }
    }

    /// Turn rate after a step under a torque, own axes.
    fn spun(&self, rate: Vector3<f64>, torque_nm: Vector3<f64>, dt_s: f64) -> Vector3<f64> {
        let inertia = &self.inertia.inertia_kg_m2;
        let momentum = inertia * rate;
        let excess = (rate.cross(&momentum) - torque_nm) * dt_s;
        let slope = inertia + (rate.cross_matrix() * inertia - momentum.cross_matrix()) * dt_s;
        slope.lu().solve(&excess).map_or(rate, |change| rate - change)
    }
}

/// Volume and inertia about the origin at unit density of a closed mesh, by the
/// tetrahedra between its triangles and the origin.
fn moments(corners: &[Vector3<f64>], triangles: &[[u32; 3]]) -> (f64, Matrix3<f64>) {
    let (mut volume, mut second) = (0.0, Matrix3::zeros());
    for triangle in triangles {
        let [a, b, c] = triangle.map(|i| corners[i as usize]);
        let part = a.dot(&b.cross(&c)) / 6.0;
        let sum = a + b + c;
        volume += part;
        second += (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose()) * (part / 20.0);
    }
    (volume, Matrix3::identity() * second.trace() - second)
}

#[cfg(test)]
mod tests {
    use super::{LooseRock, LooseRockState, RockInertia, moments};
    use nalgebra::{Matrix3, Vector3};
    use selene_base::Pose;
    use selene_terrain::RockShape;
    use std::sync::Arc;

    /// Corners are `f32`.
    const SINGLE_TOLERANCE: f64 = 1e-5;

    fn block(size: Vector3<f64>) -> RockShape {
        let corner = |i: u32| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>().component_mul(&size);
        RockShape::hull(&(0..8).map(corner).collect::<Vec<_>>()).expect("a volume")
    }

    #[test]
    fn a_blocks_volume_and_inertia_are_those_of_a_cuboid() {
        let shape = block(Vector3::new(2.0, 1.0, 0.5));
        let corners: Vec<_> = shape.vertices.iter().map(|v| Vector3::from(*v).cast::<f64>()).collect();
        let (volume, inertia) = moments(&corners, &shape.triangles);
        let [x, y, z] = [0, 1, 2].map(|i| 2.0 * corners.iter().map(|c| c[i]).fold(0.0, f64::max));
        let diagonal = Vector3::new(y * y + z * z, x * x + z * z, x * x + y * y) * (volume / 12.0);
        assert!((volume / (x * y * z) - 1.0).abs() < SINGLE_TOLERANCE);
        assert!((inertia - Matrix3::from_diagonal(&diagonal)).norm() < SINGLE_TOLERANCE);
    }

    /// One Newton step of an implicit equation, over 1000 steps.
    const ENERGY_TOLERANCE: f64 = 1e-2;

    #[test]
    fn a_tumbling_rock_in_free_flight_gains_no_energy_and_keeps_its_momentum() {
        let shape = block(Vector3::new(2.0, 1.0, 0.5));
        let inertia = Arc::new(RockInertia::new(&[shape], 0, 0.2, 2700.0).expect("a shape"));
        let mut rock = LooseRock::new(0, inertia, LooseRockState::at_rest(Pose::identity()));
        rock.state.twist.angular = Vector3::new(0.05, 3.0, 0.05);
        rock.state.twist.linear = Vector3::new(1.0, 0.0, 0.0);
        let energy = |rock: &LooseRock| {
            let turn = rock.state.world_from_rock.rotation.inverse();
            let own = turn * rock.state.twist.angular;
            own.dot(&(rock.inertia.inertia_kg_m2 * own))
        };
        let momentum = |rock: &LooseRock| {
            let turn = rock.state.world_from_rock.rotation;
            turn * (rock.inertia.inertia_kg_m2 * (turn.inverse() * rock.state.twist.angular))
        };
        let (energy_before, momentum_before) = (energy(&rock), momentum(&rock));
        for _ in 0..10_000 {
            rock.step(&Vector3::zeros(), 1e-3);
        }
        assert!(energy(&rock) < energy_before * (1.0 + 1e-3), "{} {energy_before}", energy(&rock));
        let lost = (momentum(&rock) - momentum_before).norm() / momentum_before.norm();
        assert!(lost < ENERGY_TOLERANCE, "{lost}");
        assert!((rock.state.world_from_rock.translation.x - 10.0).abs() < 1e-9);
    }
}

//! Loose rocks: free rigid bodies. Mass and inertia are those of the convex mesh at one
//! density; semi-implicit Euler, the gyroscopic torque implicit (one Newton step in the
//! body's axes, after Catto 2015), so that a tumbling rock gains no energy.
//!
//! A rock that has hardly moved for a while sleeps: it costs nothing until a rover or a
//! moving rock touches it. Soil that is dug away beneath does not wake it.

use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use selene_base::{Pose, Twist, Wrench};
use selene_terrain::{Ground, Rock, RockShape};

use super::body::{Body, Mobility};
use super::floor::Floor;

/// A rock slower than this anywhere is nearly at rest, m/s: it sways on its soil's shear at
/// about 2 Hz by less than 0.4 mm.
const STILL_M_S: f64 = 5e-3;
/// How long it must be nearly at rest before it sleeps, s.
const STILL_S: f64 = 0.5;

/// A free rock.
#[derive(Clone, Debug)]
pub struct LooseRock {
    /// Its number on this site.
    pub id: u32,
    /// Which of the ground's shapes it has.
    pub shape: usize,
    /// Mean radius, m: the shape's scale.
    pub radius_m: f64,
    /// Mass, kg.
    pub mass_kg: f64,
    /// Where it is: its centre of mass and how it lies.
    pub world_from_rock: Pose,
    /// How its centre of mass moves, map frame.
    pub twist: Twist,
    /// Inertia about the centre of mass in its own axes, kg m².
    inertia_kg_m2: Matrix3<f64>,
    /// Its farthest corner, m.
    reach_m: f64,
    floor: Floor,
    /// Forces of this step about the centre of mass.
    wrench: Wrench,
    still_s: f64,
    /// Whether the rover touches it in this step.
    pub(crate) held: bool,
}

/// The loose rocks of a site, in order of their id.
#[derive(Clone, Debug, Default)]
pub struct LooseRocks {
    rocks: Vec<LooseRock>,
}

impl LooseRocks {
    /// The ground's loose rocks where they lie at the start, each of its own density.
    #[must_use]
    pub fn new(ground: &Ground, density_kg_m3: impl Fn(&Rock) -> f64) -> Self {
        let rock = |rock: &Rock| {
            let shape = ground.rock_shapes().get(rock.shape)?;
            Some(LooseRock::new(rock, shape, density_kg_m3(rock)))
        };
        Self { rocks: ground.loose_rocks().iter().filter_map(rock).collect() }
    }

    /// The rocks.
    #[must_use]
    pub fn rocks(&self) -> &[LooseRock] {
        &self.rocks
    }

    /// The rocks, to be thrown or placed.
    pub fn rocks_mut(&mut self) -> &mut [LooseRock] {
        &mut self.rocks
    }

    /// Moves every rock that is awake by one step under its forces and gravity, and drops
    /// the forces.
    pub fn step(&mut self, gravity_m_s2: &Vector3<f64>, dt_s: f64) {
        self.rocks.iter_mut().filter(|rock| !rock.asleep()).for_each(|rock| rock.step(gravity_m_s2, dt_s));
        self.rocks.iter_mut().for_each(|rock| rock.wrench = Wrench::default());
    }

    /// Whether every pose and velocity is a finite number.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        let finite = |rock: &LooseRock| {
            let pose = &rock.world_from_rock;
            let place = pose.translation.vector.iter().chain(pose.rotation.coords.iter());
            place.chain(rock.twist.linear.iter()).chain(rock.twist.angular.iter()).all(|value| value.is_finite())
        };
        self.rocks.iter().all(finite)
    }
}

impl LooseRock {
    fn new(rock: &Rock, shape: &RockShape, density_kg_m3: f64) -> Self {
        let corners: Vec<_> = shape.vertices.iter().map(|v| Vector3::from(*v).cast::<f64>() * rock.radius_m).collect();
        let (volume_m3, inertia_m5) = moments(&corners, &shape.triangles);
        Self {
            id: rock.id,
            shape: rock.shape,
            radius_m: rock.radius_m,
            mass_kg: volume_m3 * density_kg_m3,
            world_from_rock: rock.world_from_rock,
            twist: Twist::default(),
            inertia_kg_m2: inertia_m5 * density_kg_m3,
            reach_m: shape.reach() * rock.radius_m,
            floor: Floor::new(corners),
            wrench: Wrench::default(),
            still_s: 0.0,
            held: false,
        }
    }

    /// Whether it sleeps.
    #[must_use]
    pub fn asleep(&self) -> bool {
        self.still_s >= STILL_S
    }

    /// Wakes it.
    pub fn wake(&mut self) {
        if self.asleep() {
            self.still_s = 0.0;
        }
    }

    /// Whether some point of it moves faster than a rock at rest.
    pub(crate) fn moves(&self) -> bool {
        self.twist.linear.norm() + self.twist.angular.norm() * self.reach_m > STILL_M_S
    }

    pub(crate) fn reach_m(&self) -> f64 {
        self.reach_m
    }

    /// Adds a wrench about its centre of mass, map frame, for the next step.
    pub fn add(&mut self, wrench: &Wrench) {
        self.wrench.force += wrench.force;
        self.wrench.torque += wrench.torque;
    }

    /// Adds what hard ground does to it, for soils whose laws know wheels alone.
    pub fn stand_on(&mut self, ground: &Ground, dt_s: f64) {
        if let Some(wrench) = self.floor.push(&self.body(), ground, dt_s) {
            self.add(&wrench);
        }
    }

    /// The forces that act on it in the step to come, about its centre of mass.
    #[must_use]
    pub fn wrench(&self) -> &Wrench {
        &self.wrench
    }

    /// As contacts see it.
    #[must_use]
    pub fn body(&self) -> Body {
        let turn = self.world_from_rock.rotation.to_rotation_matrix();
        let inertia = turn * self.inertia_kg_m2 * turn.transpose();
        Body {
            world_from_body: self.world_from_rock,
            linear_m_s: self.twist.linear,
            angular_rad_s: self.twist.angular,
            mobility: Mobility::new(self.mass_kg, self.world_from_rock.translation.vector, &inertia),
        }
    }

    /// Bits of its state beside pose and twist, for state hashes.
    pub fn memory(&self) -> impl Iterator<Item = f64> {
        self.floor.memory().chain([self.still_s])
    }

    fn step(&mut self, gravity_m_s2: &Vector3<f64>, dt_s: f64) {
        let turn = self.world_from_rock.rotation;
        self.twist.linear += (self.wrench.force / self.mass_kg + gravity_m_s2) * dt_s;
        let spin = self.spun(turn.inverse() * self.twist.angular, turn.inverse() * self.wrench.torque, dt_s);
        self.twist.angular = turn * spin;
        self.world_from_rock.translation.vector += self.twist.linear * dt_s;
        self.world_from_rock.rotation = UnitQuaternion::new(self.twist.angular * dt_s) * turn;
        self.world_from_rock.rotation.renormalize();
        self.still_s = if self.moves() || self.held { 0.0 } else { self.still_s + dt_s };
        if self.asleep() {
            self.twist = Twist::default();
        }
    }

    /// Turn rate after a step under a torque, own axes.
    fn spun(&self, rate: Vector3<f64>, torque_nm: Vector3<f64>, dt_s: f64) -> Vector3<f64> {
        let inertia = &self.inertia_kg_m2;
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
    use super::{LooseRock, moments};
    use nalgebra::{Matrix3, Vector3};
    use selene_base::Pose;
    use selene_terrain::{Rock, RockShape};

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
        let rock = Rock { id: 0, shape: 0, world_from_rock: Pose::identity(), radius_m: 0.2 };
        let mut rock = LooseRock::new(&rock, &shape, 2700.0);
        rock.twist.angular = Vector3::new(0.05, 3.0, 0.05);
        rock.twist.linear = Vector3::new(1.0, 0.0, 0.0);
        let energy = |rock: &LooseRock| {
            let turn = rock.world_from_rock.rotation.inverse();
            let own = turn * rock.twist.angular;
            own.dot(&(rock.inertia_kg_m2 * own))
        };
        let momentum = |rock: &LooseRock| {
            let turn = rock.world_from_rock.rotation;
            turn * (rock.inertia_kg_m2 * (turn.inverse() * rock.twist.angular))
        };
        let (energy_before, momentum_before) = (energy(&rock), momentum(&rock));
        for _ in 0..10_000 {
            rock.step(&Vector3::zeros(), 1e-3);
        }
        assert!(energy(&rock) < energy_before * (1.0 + 1e-3), "{} {energy_before}", energy(&rock));
        let lost = (momentum(&rock) - momentum_before).norm() / momentum_before.norm();
        assert!(lost < ENERGY_TOLERANCE, "{lost}");
        assert!((rock.world_from_rock.translation.x - 10.0).abs() < 1e-9);
    }
}

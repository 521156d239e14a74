//! The world and its step, in a fixed order: the driver's commands become
//! targets of joints; each wheel and each loose rock presses the soil where it stands; contacts
//! with rocks and of the body with the ground add their wrenches; rover and loose rocks
//! move; the clock advances. A heartbeat is a whole number of steps and ends with a
//! snapshot; between two heartbeats the ground's windows follow the rover (`outlook`).
//!
//! The step is a pure function of state and command: wheels are taken one after the
//! other in the rover's order, since they share the ground.

use std::sync::Arc;

use nalgebra::{Matrix3, UnitQuaternion, Vector2, Vector3};
use selene_base::{Pose, SimTime, Wrench};
use selene_soil::solid::{self, ConvexSolid, SolidMotion};
use selene_soil::{Bed, Conditions, Scratch, SoilMemory, WheelContact, WheelMemory, WheelMotion, WheelShape};
use selene_terrain::Ground;
use selene_vehicle::contact::{self, ContactConditions, ContactState, LooseRock, LooseRocks};
use selene_vehicle::{BodyTwist, Forces, Rover, Targets, VehicleError, Wheel};

use crate::command::{Command, CommandError};
use crate::driver::Driver;
use crate::hash::StateHash;
use crate::outlook::Outlook;
use crate::route::RouteFollower;
use crate::scenario::Scenario;
use crate::state::{RockPose, WheelTruth, WorldState};

/// How near the detailed ground's border the rover may come, m.
pub(crate) const BORDER_M: f64 = 2.0;

/// Why the world cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The rover cannot be built.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The rover left the ground that there is.
    #[error(
        "at {time} the rover is at ({x_m:.1}, {y_m:.1}) m, within {BORDER_M} m of the border of the site's ground; make `side_m` of the last of the site's `levels` larger or keep the route inside"
    )]
    LeftSite {
        /// When.
        time: SimTime,
        /// Map x, m.
        x_m: f64,
        /// Map y, m.
        y_m: f64,
    },
    /// The scenario's kernels end.
    #[error(transparent)]
    Sky(#[from] selene_sky::KernelError),
    /// The state is no longer finite.
    #[error("at {time} the rover's state is no longer finite; a smaller `step_s` or less stiff suspension may help")]
    NotFinite {
        /// When.
        time: SimTime,
    },
}

/// What left its valid range so far: said in diagnostics instead of going quiet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// Commands that could not be meant and were ignored.
    pub refused_commands: u64,
    /// Commands from outside that were beyond a limit, each counted once a joint.
    pub limited_commands: u64,
    /// Steps of a wheel whose contact was too narrow for the soil's negative Kc.
    pub floored_contacts: u64,
    /// Steps of a wheel that was in deeper than its radius.
    pub buried_wheels: u64,
    /// Steps of a wheel whose slip, speed, slope or load was outside its soil's fit.
    pub outside_fit: u64,
}

impl Notices {
    fn count(&mut self, contact: &WheelContact) {
        self.floored_contacts += u64::from(contact.modulus_floored);
        self.buried_wheels += u64::from(contact.sinkage_beyond_radius);
        self.outside_fit += u64::from(contact.slip_outside_fit);
    }
}

/// Vehicle, soil and light at one instant.
pub struct World {
    scenario: Arc<Scenario>,
    ground: Ground,
    outlook: Outlook,
    memory: SoilMemory,
    scratch: Scratch,
    rover: Rover,
    shapes: Vec<WheelShape>,
    wheel_memories: Vec<WheelMemory>,
    contacts: Vec<WheelContact>,
    soil_on_wheel: Vec<Wrench>,
    rocks_on_wheel: Vec<u32>,
    on_links: Vec<(usize, Wrench)>,
    touching: ContactState,
    loose: LooseRocks,
    /// Each loose rock as the soil sees it.
    solids: Vec<ConvexSolid>,
    driver: Driver,
    contact_notices: Notices,
    follower: Option<RouteFollower>,
    sun_direction: Vector3<f64>,
    time: SimTime,
    sequence: u64,
    terrain_sequence: u64,
}

impl World {
    /// The scenario's world at time zero, the rover standing on `ground`.
    ///
    /// # Errors
    /// When the rover cannot be built or would stand off the detailed ground.
    pub fn new(scenario: Arc<Scenario>, mut ground: Ground) -> Result<Self, WorldError> {
        let [x, y, drop_m, yaw] = scenario.start;
        let shapes: Vec<_> = scenario.rover.wheels().iter().map(wheel_shape).collect();
        let mut world_from_base = standing_pose(&scenario, &ground, x, y, yaw);
        world_from_base.translation.z += drop_m;
        let gravity = Vector3::new(0.0, 0.0, -scenario.gravity_m_s2);
        let rover = Rover::new(&scenario.rover, world_from_base, gravity, scenario.step.secs_f64())?;
        let mut memory = scenario.ruts.as_ref().map_or_else(|| SoilMemory::new(&ground), |ruts| ruts.memory(&ground));
        let mut scratch = Scratch::default();
        let loose = LooseRocks::new(&ground, |rock| scenario.density_kg_m3(&ground, rock.id));
        let mut bed = Bed { soils: &scenario.soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        let solids = bedded(&loose, &mut bed);
        let wheel_load_n = scenario.rover.mass_kg() * scenario.gravity_m_s2 / shapes.len().max(1) as f64;
        let world = Self {
            memory,
            scratch,
            touching: ContactState::new(&scenario.rover, &ground),
            loose,
            solids,
            on_links: Vec::new(),
            rocks_on_wheel: vec![0; shapes.len()],
            wheel_memories: vec![WheelMemory::carrying(wheel_load_n); shapes.len()],
            contacts: vec![WheelContact::default(); shapes.len()],
            soil_on_wheel: vec![Wrench::default(); shapes.len()],
            driver: Driver::new(&scenario.rover),
            contact_notices: Notices::default(),
            follower: scenario.route.as_ref().map(|route| RouteFollower::new(route, [x, y])),
            sun_direction: scenario.sun(SimTime::ZERO)?.unit_enu,
            time: SimTime::ZERO,
            sequence: 0,
            // Ruts of an earlier run count as told: who sees the first snapshot asks for them.
            terrain_sequence: scenario.ruts.as_ref().map_or(0, |ruts| ruts.count() as u64),
            scenario,
            ground,
            outlook: Outlook::default(),
            rover,
            shapes,
        };
        world.check()?;
        Ok(world)
    }

    pub(crate) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Simulated time.
    #[must_use]
    pub fn time(&self) -> SimTime {
        self.time
    }

    /// The surface as it is now.
    #[must_use]
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Pose of `base_link` in the map frame.
    #[must_use]
    pub fn world_from_base(&self) -> Pose {
        self.rover.world_from_base()
    }

    /// The loose rocks as they are now.
    #[must_use]
    pub fn loose_rocks(&self) -> &LooseRocks {
        &self.loose
    }

    /// What the soil remembers of having been pressed.
    #[must_use]
    pub fn soil_memory(&self) -> &SoilMemory {
        &self.memory
    }

    /// Takes a command from outside.
    pub fn drive(&mut self, command: Command) {
        self.driver.take(command, self.time);
    }

    /// What left its valid range so far.
    #[must_use]
    pub fn notices(&self) -> Notices {
        Notices {
            refused_commands: self.driver.refused(),
            limited_commands: self.driver.limited(),
            ..self.contact_notices
        }
    }

    /// Why the latest refused command was refused.
    #[must_use]
    pub fn last_refusal(&self) -> Option<&CommandError> {
        self.driver.last_refusal()
    }

    /// Whether the built-in driver has reached the route's end.
    #[must_use]
    pub fn route_done(&self) -> bool {
        self.follower.as_ref().is_some_and(RouteFollower::arrived)
    }

    /// Where every late joiner stands: the edits told so far, latest heights only,
    /// and how many they were.
    #[must_use]
    pub fn terrain(&self) -> (u64, Vec<selene_terrain::Edit>) {
        (self.terrain_sequence, self.ground.all_edits())
    }

    /// Steps one heartbeat and takes a snapshot.
    ///
    /// # Errors
    /// When the rover leaves the detailed ground, its state is no longer finite or the
    /// scenario's kernels end.
    pub fn heartbeat(&mut self) -> Result<WorldState, WorldError> {
        let before = self.rover.base_twist().linear;
        let targets = self.targets();
        self.follow();
        for _ in 0..self.scenario.heartbeat / self.scenario.step {
            self.step(&targets);
        }
        self.check()?;
        self.sun_direction = self.scenario.sun(self.time)?.unit_enu;
        self.sequence += 1;
        let mean_acceleration = (self.rover.base_twist().linear - before) / self.scenario.heartbeat.secs_f64();
        Ok(self.snapshot(mean_acceleration))
    }

    /// The world as it stands before the first heartbeat.
    pub fn first_snapshot(&mut self) -> WorldState {
        self.snapshot(Vector3::zeros())
    }

    /// A hash over every bit of the physical state: time, rover, lamps, ground, soil memory.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hash = StateHash::default();
        hash.time(self.time);
        self.rover.world_from_links().iter().for_each(|pose| hash.pose(pose));
        hash.twist(&self.rover.base_twist());
        self.rover.joint_states().iter().for_each(|joint| hash.numbers(&[joint.position, joint.velocity]));
        hash.numbers(self.driver.lamp_levels());
        for rock in self.loose.rocks() {
            hash.pose(&rock.world_from_rock);
            hash.twist(&rock.twist);
            rock.memory().for_each(|value| hash.number(value));
        }
        self.touching.memory().for_each(|value| hash.number(value));
        self.ground.all_edits().iter().for_each(|edit| hash.edit(edit));
        for node in self.memory.touched().flat_map(|(_, nodes)| nodes) {
            hash.numbers(&[node.initial_m, node.plastic_m].map(f64::from));
            hash.numbers(&node.mobilised());
        }
        self.memory.beyond().for_each(|known| hash.numbers(&known.map(f64::from)));
        self.wheel_memories.iter().for_each(|wheel| hash.numbers(&wheel.numbers()));
        hash.finish()
    }

    fn targets(&mut self) -> Targets {
        let undriven = match self.follower.as_mut().filter(|_| !self.driver.has_driven()) {
            Some(route) => route.command(&self.rover.world_from_base()),
            None => BodyTwist::REST,
        };
        self.driver.targets(self.time, &self.rover.joint_states(), undriven)
    }

    /// Moves the ground's windows with the rover.
    fn follow(&mut self) {
        let (at, velocity) = (self.rover.world_from_base().translation, self.rover.base_twist().linear);
        let next = self.outlook.next(&self.ground, Vector2::new(at.x, at.y), velocity.xy());
        if let Some(windows) = next {
            self.ground.enter(windows);
            self.memory.follow(&self.ground);
        }
    }

    fn step(&mut self, targets: &Targets) {
        self.press_soil();
        self.touch();
        self.rover.step(targets, &Forces { soil_on_wheel: &self.soil_on_wheel, on_links: &self.on_links });
        let gravity = Vector3::new(0.0, 0.0, -self.scenario.gravity_m_s2);
        self.loose.step(&gravity, self.scenario.step.secs_f64());
        self.time += self.scenario.step;
    }

    fn conditions(&self) -> Conditions {
        Conditions { dt_s: self.scenario.step.secs_f64(), gravity_m_s2: self.scenario.gravity_m_s2 }
    }

    /// Wheels, and loose rocks that are awake, press the soil; rocks stand on hard ground
    /// where the soil's law knows wheels alone.
    fn press_soil(&mut self) {
        let conditions = self.conditions();
        let mut bed = Bed {
            soils: &self.scenario.soils,
            ground: &mut self.ground,
            memory: &mut self.memory,
            scratch: &mut self.scratch,
        };
        for (i, motion) in self.rover.wheel_motions().into_iter().enumerate() {
            let motion = WheelMotion {
                world_from_wheel: motion.world_from_wheel,
                linear_m_s: motion.linear,
                angular_rad_s: motion.angular,
            };
            let contact =
                selene_soil::step(&mut bed, &self.shapes[i], &mut self.wheel_memories[i], &motion, &conditions);
            self.contact_notices.count(&contact);
            self.soil_on_wheel[i] = contact.wrench;
            self.contacts[i] = contact;
        }
        let awake = self.loose.rocks_mut().iter_mut().zip(&mut self.solids).filter(|(rock, _)| !rock.asleep());
        awake.for_each(|(rock, solid)| press_rock(&mut bed, rock, solid, &conditions));
    }

    /// Contacts of rover and loose rocks with rocks, and of the rover's body with the ground.
    fn touch(&mut self) {
        let conditions = ContactConditions { dt_s: self.scenario.step.secs_f64() };
        let forces = contact::forces(&self.rover, &self.ground, &mut self.loose, &mut self.touching, &conditions);
        for (i, (soil, rocks)) in self.soil_on_wheel.iter_mut().zip(&forces.on_wheels).enumerate() {
            soil.force += rocks.force;
            soil.torque += rocks.torque;
            self.contacts[i].wrench = *soil;
            self.rocks_on_wheel[i] = forces.rocks_on_wheel[i];
        }
        self.on_links.clone_from(&forces.on_links);
    }

    fn check(&self) -> Result<(), WorldError> {
        let time = self.time;
        if !self.rover.is_finite() || !self.loose.is_finite() {
            return Err(WorldError::NotFinite { time });
        }
        let at = self.rover.world_from_base().translation;
        let level = self.ground.finest();
        let inside = [at.x, at.y]
            .iter()
            .zip(level.origin_m)
            .all(|(&value, origin)| value > origin + BORDER_M && value < origin + level.side_m() - BORDER_M);
        let reach_m = 0.5 * self.scenario.site.side_m() - BORDER_M;
        let within_site = !self.scenario.end_at_site_border || (at.x.abs() < reach_m && at.y.abs() < reach_m);
        if inside && within_site { Ok(()) } else { Err(WorldError::LeftSite { time, x_m: at.x, y_m: at.y }) }
    }

    fn snapshot(&mut self, base_acceleration: Vector3<f64>) -> WorldState {
        let edits = self.ground.take_edits();
        let terrain_sequence = self.terrain_sequence;
        self.terrain_sequence += edits.len() as u64;
        let joints = self.rover.joint_states();
        WorldState {
            time: self.time,
            sequence: self.sequence,
            terrain_sequence,
            place: self.ground.place(),
            world_from_links: self.rover.world_from_links(),
            joint_position: joints.iter().map(|joint| joint.position).collect(),
            joint_velocity: joints.iter().map(|joint| joint.velocity).collect(),
            joint_effort: joints.iter().map(|joint| joint.effort).collect(),
            base_twist: self.rover.base_twist(),
            base_acceleration,
            wheels: self.wheel_truth(),
            edits,
            loose_rocks: self
                .loose
                .rocks()
                .iter()
                .map(|r| RockPose { id: r.id, world_from_rock: r.world_from_rock })
                .collect(),
            lamp_levels: self.driver.lamp_levels().to_vec(),
            sun_direction: self.sun_direction,
        }
    }

    fn wheel_truth(&self) -> Vec<WheelTruth> {
        let base_from_world = self.rover.world_from_base().rotation.inverse();
        let motions = self.rover.wheel_motions();
        let torques = self.rover.drive_torques_nm();
        self.scenario
            .rover
            .wheels()
            .iter()
            .enumerate()
            .map(|(i, wheel)| {
                let (slip_ratio, slip_angle_rad, rate_rad_s) =
                    slip(&motions[i], &self.contacts[i].terrain_normal, wheel.radius_m);
                WheelTruth {
                    name: wheel.name.clone(),
                    slip_ratio,
                    slip_angle_rad,
                    sinkage_m: self.contacts[i].sinkage_m,
                    force_n: base_from_world * self.contacts[i].wrench.force,
                    torque_nm: base_from_world * self.contacts[i].wrench.torque,
                    rate_rad_s,
                    drive_torque_nm: torques[i],
                    in_contact: self.contacts[i].contact_nodes > 0 || self.rocks_on_wheel[i] > 0,
                }
            })
            .collect()
    }
}

/// Each loose rock as the soil sees it; one that is partly in the soil has its bed there.
fn bedded(loose: &LooseRocks, bed: &mut Bed) -> Vec<ConvexSolid> {
    let solid = |rock: &contact::LooseRock| {
        let shape = bed.ground.rock_shapes()[rock.shape].clone();
        let mut solid = ConvexSolid::new(&shape, rock.radius_m);
        solid.place(&rock.world_from_rock);
        solid::bed_in(bed, &solid);
        solid
    };
    loose.rocks().iter().map(solid).collect()
}

fn press_rock(bed: &mut Bed, rock: &mut LooseRock, solid: &mut ConvexSolid, conditions: &Conditions) {
    solid.place(&rock.world_from_rock);
    let motion =
        SolidMotion { linear_m_s: rock.twist.linear, angular_rad_s: rock.twist.angular, mass_kg: rock.mass_kg };
    match solid::step(bed, solid, rock.world_from_rock.translation.vector, &motion, conditions) {
        Some(contact) => rock.add(&contact.wrench),
        None => rock.stand_on(bed.ground, conditions.dt_s),
    }
}

fn wheel_shape(wheel: &Wheel) -> WheelShape {
    WheelShape {
        radius_m: wheel.radius_m,
        width_m: wheel.width_m,
        grouser_height_m: wheel.grouser_height_m,
        grousers: wheel.grousers,
        ..WheelShape::default()
    }
}

/// Slip ratio, slip angle and rate about the axle of a wheel of `radius_m`, along the
/// ground under it; along the level where it touches none.
fn slip(motion: &selene_vehicle::WheelMotion, terrain_normal: &Vector3<f64>, radius_m: f64) -> (f64, f64, f64) {
    let axle = motion.world_from_wheel.rotation * Vector3::y();
    let up = if *terrain_normal == Vector3::zeros() { Vector3::z() } else { *terrain_normal };
    let rate_rad_s = motion.angular.dot(&axle);
    let forward = axle.cross(&up).try_normalize(1e-9).unwrap_or_else(Vector3::x);
    let side = up.cross(&forward);
    let forward_m_s = motion.linear.dot(&forward);
    let slip_ratio = selene_soil::slip_ratio(forward_m_s, rate_rad_s * radius_m);
    let slip_angle_rad = selene_soil::slip_angle_rad(forward_m_s, motion.linear.dot(&side));
    (slip_ratio, slip_angle_rad, rate_rad_s)
}

/// A rover set down with its wheels on the ground: leaning as the plane through the
/// heights under its wheels does, lifted until no wheel is buried.
fn standing_pose(scenario: &Scenario, ground: &Ground, x: f64, y: f64, yaw: f64) -> Pose {
    let heading = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw);
    let wheels = scenario.rover.wheels();
    let soil_at = |arm: Vector3<f64>| ground.height_m(x + arm.x, y + arm.y).unwrap_or(0.0);
    let under_wheels: Vec<_> = wheels
        .iter()
        .map(|wheel| heading * wheel.centre_in_base_m)
        .map(|arm| Vector3::new(arm.x, arm.y, soil_at(arm)))
        .collect();
    let lean = UnitQuaternion::rotation_between(&Vector3::z(), &plane_normal(&under_wheels)).unwrap_or_default();
    let rotation = lean * heading;
    let height = |wheel: &Wheel| {
        let arm = rotation * wheel.centre_in_base_m;
        soil_at(arm) + wheel.radius_m - arm.z
    };
    let z = wheels.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
    Pose::from_parts(Vector3::new(x, y, z).into(), rotation)
}

/// Upward normal of the plane z = a x + b y + c nearest to `points` in height (least
/// squares); the vertical when they do not span a plane.
fn plane_normal(points: &[Vector3<f64>]) -> Vector3<f64> {
    let (mut normal_matrix, mut right_side) = (Matrix3::zeros(), Vector3::zeros());
    for point in points {
        let row = Vector3::new(point.x, point.y, 1.0);
        normal_matrix += row * row.transpose();
        right_side += row * point.z;
    }
    let slopes = normal_matrix.lu().solve(&right_side).filter(|slopes| slopes.iter().all(|slope| slope.is_finite()));
    slopes.map_or(Vector3::z(), |slopes| Vector3::new(-slopes.x, -slopes.y, 1.0).normalize())
}

//! Granular windows in a world: which bodies are in a window, and the forces between them and its points or grains.
//!
//! A wheel, a body of a rover or a loose rock is in a window while all of it is, and low enough;
//! until then the height field carries it. At each exchange the points are stepped while the bodies
//! move along their twists. The impulse on each body becomes its wrench until the next exchange, so
//! the body gets exactly the impulse that the soil gave.
//!
//! Rocks in a window wake with it, and do not sleep while a rover is in it. Later they may come
//! to rest on the points, and sleep there as on the height field.
//!
//! Wheels are cylinders. Grousers are plates on them where the points' cells resolve these; where they do not, and among
//! grains, the cylinder has the radius that presses the soil and the friction of the soil itself. Drums are thin shells;
//! with soil in them they are in the window at any height below its lid, and it is an error if they leave it. Boxes,
//! cylinders and spheres keep their shape, a mesh is its bounding box, and a rock is a sphere of its mean radius.

use std::collections::BTreeMap;
use std::sync::Arc;

use nalgebra::{Isometry3, UnitQuaternion, Vector3};
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime, Wrench};
use selene_crm::{Body, BodyShape, Drum, Wheel};
use selene_soil::{
    Conditions, Domain, EndOfHeartbeat, GranularDevice, GranularError, GranularWindow, MemoryPatch, SoilSolver,
    StirredSoil, WheelContact, WindowState,
};
use selene_terrain::{GroundPatch, NodeRect, Terrain};
use selene_vehicle::contact::LooseRock;
use selene_vehicle::{BucketDrum, RoverModel, Shape};

use crate::scenario::{RoverSetup, Scenario, ScenarioError};
use crate::world::dust::ThrownDust;
use crate::world::entity::EntityId;
use crate::world::group::{GroupRover, RoverScratch};
use crate::world::model::{Model, RoverKind};

/// Friction coefficient of metal on regolith, where the rover's file gives none.
const BODY_FRICTION: f64 = 0.6;
/// Minimum half thickness of a flat shape, m.
const THIN_M: f64 = 0.001;

/// Maximum number of points of all windows together.
const POINTS_IN_ALL_MAX: f64 = 1.6e7;
/// Maximum number of points of all windows together where the CPU steps them: with its working memory, a gigabyte and
/// a half.
const POINTS_ON_CPU_MAX: f64 = 4e6;

/// Bits of a body's number that no part of a rover has.
const OF_WHEELS: u64 = 1 << 31;
const OF_ROCKS: u64 = 1 << 63;

/// A body of a rover, as granular soil collides with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartShape {
    link: usize,
    link_from_shape: Pose,
    shape: BodyShape,
}

/// What advances the soil of each window, by its index.
#[derive(Debug, Default)]
pub(crate) struct SoilSolvers {
    /// The device of new solvers; `None` for the CPU.
    device: Option<GranularDevice>,
    solvers: BTreeMap<u32, SoilSolver>,
}

impl SoilSolvers {
    /// Makes new solvers with a device from now on, or on the CPU.
    pub(crate) fn use_device(&mut self, device: Option<&GranularDevice>) {
        self.device = device.cloned();
    }

    /// The solver of a window.
    pub(crate) fn of(&mut self, window: u32) -> &mut SoilSolver {
        self.solvers.entry(window).or_insert_with(|| SoilSolver::new(self.device.as_ref()))
    }

    pub(crate) fn find(&self, window: u32) -> Option<&SoilSolver> {
        self.solvers.get(&window)
    }

    pub(crate) fn take(&mut self, window: u32) -> SoilSolver {
        self.solvers.remove(&window).unwrap_or_else(|| SoilSolver::new(self.device.as_ref()))
    }

    pub(crate) fn put(&mut self, window: u32, solver: SoilSolver) {
        self.solvers.insert(window, solver);
    }

    /// Forgets all solvers, and with them what is on a device.
    pub(crate) fn clear(&mut self) {
        self.solvers.clear();
    }
}

/// A window that is stepped in a group.
pub(crate) struct GroupWindow {
    pub(crate) id: u32,
    window: Arc<GranularWindow>,
    pub(crate) state: WindowState,
    pub(crate) solver: SoilSolver,
    /// Speed of its fastest points or grains at the end of the heartbeat, m/s.
    fastest_m_s: f32,
    /// Bodies in it at the last exchange, and the wrench of its soil on each since then.
    inside: Vec<(BodyInWindow, Wrench)>,
}

/// A body in a window.
#[derive(Clone, Copy, Debug)]
struct BodyInWindow {
    at: BodyIndex,
    body: Body,
    /// Whether it wakes the window, that is turns its soil into points.
    is_awake: bool,
}

/// Index of a body in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyIndex {
    /// With the rover's id, which stays the same from heartbeat to heartbeat.
    Wheel {
        rover: usize,
        id: EntityId,
        wheel: usize,
    },
    Part {
        rover: usize,
        id: EntityId,
        part: usize,
    },
    /// With the rock's number on its site.
    Rock {
        rock: usize,
        id: u32,
    },
}

impl BodyIndex {
    /// The body's permanent number.
    fn number(self) -> u64 {
        match self {
            Self::Part { id, part, .. } => (u64::from(id.0) << 32) | (part as u64 + 1),
            Self::Wheel { id, wheel, .. } => (u64::from(id.0) << 32) | OF_WHEELS | wheel as u64,
            Self::Rock { id, .. } => OF_ROCKS | u64::from(id),
        }
    }
}

/// Soil in each of a rover's drums, kg; 0 for a drum in no window.
pub(crate) fn drum_loads_kg(
    model: &Model,
    states: &BTreeMap<u32, WindowState>,
    solvers: &mut SoilSolvers,
    (id, kind): (EntityId, &RoverKind),
) -> Result<Vec<f64>, GranularError> {
    let is_drum = |part: &usize| kind.part_shapes[*part].shape.is_shell();
    let number = |part: usize| BodyIndex::Part { rover: 0, id, part }.number();
    let numbers: Vec<_> = (0..kind.part_shapes.len()).filter(is_drum).map(number).collect();
    let mut in_all_kg = vec![0.0; numbers.len()];
    for (at, state) in states {
        let Some(window) = model.windows().get(*at as usize) else { continue };
        let loads_kg = window.loads_kg(state, solvers.of(*at), &numbers)?;
        in_all_kg.iter_mut().zip(loads_kg).for_each(|(sum_kg, load_kg)| *sum_kg += load_kg);
    }
    Ok(in_all_kg)
}

/// Name of the drum with this number, for messages; `None` if its rover is not there.
fn drum_name(number: u64, rovers: &[GroupRover]) -> Option<String> {
    let rover = rovers.iter().find(|rover| u64::from(rover.id.0) == number >> 32)?;
    let part = (number & u64::from(u32::MAX)).checked_sub(1)?;
    let link = rover.kind.part_shapes.get(part as usize)?.link;
    let RoverSetup { name, model, .. } = rover.kind.setup();
    Some(format!("drum '{}' of rover '{name}'", model.links().get(link)?.name))
}

/// The windows of a scenario on its ground.
pub(crate) fn windows(scenario: &Scenario, terrain: &Terrain) -> Result<Arc<[Arc<GranularWindow>]>, ScenarioError> {
    let conditions = Conditions { dt_s: scenario.step.secs_f64(), gravity_m_s2: scenario.gravity_m_s2 };
    let steps = (scenario.heartbeat / scenario.step) as usize;
    let mut windows: Vec<Arc<GranularWindow>> = Vec::with_capacity(scenario.granular.len());
    for (i, spec) in scenario.granular.iter().enumerate() {
        let place = format!("granular[{i}]");
        let window = GranularWindow::new(spec, &scenario.soils, terrain, &conditions)
            .map_err(|error| scenario.refusal(&place, error))?;
        let name = window.name();
        if !steps.is_multiple_of(window.exchange_steps()) {
            let what = format!("window '{name}': heartbeat_s must be a whole number of its exchange_s");
            return Err(scenario.refusal(&place, what).into());
        }
        if let Some(other) = windows.iter().find(|other| other.meets(&window)) {
            let what = format!("windows '{}' and '{name}' meet: keep them apart", other.name());
            return Err(scenario.refusal(&place, what).into());
        }
        windows.push(Arc::new(window));
    }
    let points = points_in_all(&windows);
    if points > POINTS_IN_ALL_MAX {
        let what = format!("windows have {points:.0} points together; {POINTS_IN_ALL_MAX} are allowed");
        return Err(scenario.refusal("granular", what).into());
    }
    Ok(windows.into())
}

fn points_in_all(windows: &[Arc<GranularWindow>]) -> f64 {
    windows.iter().map(|window| window.points()).sum()
}

/// Refuses windows with more points than the CPU's memory is made for, where no device steps them.
pub(crate) fn check_for_cpu(model: &Model) -> Result<(), GranularError> {
    let points = points_in_all(model.windows());
    let Some(window) = model.windows().first().filter(|_| model.soil_device().is_none() && points > POINTS_ON_CPU_MAX)
    else {
        return Ok(());
    };
    let what = format!(
        "all windows have {points:.0} points together; {POINTS_ON_CPU_MAX} are allowed on the CPU, \
         {POINTS_IN_ALL_MAX} on a GPU (--soil-device gpu)"
    );
    Err(GranularError::Window { window: window.name().to_owned(), what })
}

/// The bodies of a rover that are not its wheels.
pub(crate) fn part_shapes(model: &RoverModel) -> Vec<PartShape> {
    let is_wheel = |link: usize| model.wheels().iter().any(|wheel| wheel.link == link);
    let links = model.links().iter().enumerate().filter(|(link, _)| !is_wheel(*link));
    let part = |link: usize, collision: &selene_vehicle::Collision| {
        let (shape_from_solid, shape) = shape_of(&collision.shape);
        PartShape { link, link_from_shape: collision.link_from_shape * shape_from_solid, shape }
    };
    let is_drum = |link: usize| model.drums().iter().any(|drum| drum.link == link);
    let solid = links.filter(|(link, _)| !is_drum(*link));
    let solids = solid.flat_map(|(link, of)| of.collisions.iter().map(move |collision| part(link, collision)));
    solids.chain(model.drums().iter().map(drum_shape)).collect()
}

fn drum_shape(drum: &BucketDrum) -> PartShape {
    let &BucketDrum { link, link_from_drum, radius_m, length_m, slices, scoops, channel_m, overlap_rad } = drum;
    let half_length_m = 0.5 * length_m;
    let shape = BodyShape::Drum(Drum { radius_m, half_length_m, slices, scoops, channel_m, overlap_rad });
    PartShape { link, link_from_shape: link_from_drum, shape }
}

/// The solid of a link's shape, and the pose of its middle in the shape's frame.
fn shape_of(shape: &Shape) -> (Pose, BodyShape) {
    let half = |m: f64| (0.5 * m).max(THIN_M);
    let (middle, shape) = match shape {
        Shape::Box { size_m } => (Vector3::zeros(), BodyShape::Cuboid { half_m: size_m.map(half) }),
        Shape::Cylinder { radius_m, length_m } => {
            (Vector3::zeros(), BodyShape::Cylinder { radius_m: radius_m.max(THIN_M), half_length_m: half(*length_m) })
        }
        Shape::Sphere { radius_m } => (Vector3::zeros(), BodyShape::Sphere { radius_m: radius_m.max(THIN_M) }),
        Shape::Mesh { vertices, .. } => {
            let corners = || vertices.iter().map(|corner| Vector3::from(*corner).cast::<f64>());
            let low = corners().reduce(|a, b| a.inf(&b)).unwrap_or_default();
            let high = corners().reduce(|a, b| a.sup(&b)).unwrap_or_default();
            (0.5 * (low + high), BodyShape::Cuboid { half_m: <[f64; 3]>::from(high - low).map(half) })
        }
    };
    (Isometry3::from_parts(middle.into(), UnitQuaternion::identity()), shape)
}

impl GroupWindow {
    /// A window that a group takes over from the state.
    pub(crate) fn new(id: u32, window: Arc<GranularWindow>, state: WindowState, solver: SoilSolver) -> Self {
        Self { id, window, state, solver, fastest_m_s: 0.0, inside: Vec::new() }
    }

    /// The ground nodes of the window.
    pub(crate) fn nodes(&self) -> NodeRect {
        self.window.nodes()
    }

    /// Finds the bodies in it, if an exchange is due at this step of the heartbeat. Returns whether its points are to
    /// be stepped.
    pub(crate) fn meet(
        &mut self,
        step: usize,
        rovers: &[GroupRover],
        rocks: &mut [LooseRock],
        ground: &GroundPatch,
    ) -> Result<bool, GranularError> {
        if !step.is_multiple_of(self.window.exchange_steps()) {
            return Ok(false);
        }
        let found = self.bodies(rovers, rocks, ground);
        self.check_drums(&found, rovers)?;
        let was_asleep = !self.state.is_flowing();
        if found.iter().any(|body| body.is_awake) {
            self.window.wake(&mut self.state, ground);
        }
        let has_rover = found.iter().any(|body| !matches!(body.at, BodyIndex::Rock { .. }));
        if self.state.is_flowing() && (was_asleep || has_rover) {
            wake_rocks(&found, rocks);
        }
        self.inside.clear();
        if self.state.is_flowing() {
            self.inside.extend(found.into_iter().map(|body| (body, Wrench::default())));
        }
        Ok(self.state.is_flowing())
    }

    /// Steps its points to the next exchange, with the bodies in it.
    pub(crate) fn step(&mut self) -> Result<(), GranularError> {
        let bodies: Vec<_> = self.inside.iter().map(|(found, _)| (found.at.number(), found.body)).collect();
        let wrenches = self.window.step(&mut self.state, &bodies, &mut self.solver)?;
        self.inside.iter_mut().zip(wrenches).for_each(|((_, wrench), of_points)| *wrench = of_points);
        Ok(())
    }

    /// Keeps points that are on a device, so that a heartbeat that fails can be made again.
    pub(crate) fn mark(&mut self) -> Result<(), GranularError> {
        self.window.mark(&self.state, &mut self.solver)
    }

    /// Gives `copy`, from before a heartbeat that failed, its points of then.
    pub(crate) fn go_back(&mut self, copy: &mut WindowState) -> Result<(), GranularError> {
        self.window.go_back(copy, &mut self.solver)
    }

    /// At the end of a heartbeat, finds what `settle` is to do.
    pub(crate) fn end_heartbeat(&mut self, elapsed_s: f64) -> Result<EndOfHeartbeat, GranularError> {
        let is_entered = self.inside.iter().any(|(body, _)| body.is_awake);
        let end = self.window.end_heartbeat(&mut self.state, &mut self.solver, is_entered, elapsed_s)?;
        self.fastest_m_s = end.fastest_m_s;
        Ok(end)
    }

    /// Updates the ground by what flowed, and puts soil that is still to sleep.
    pub(crate) fn settle(
        &mut self,
        ground: &mut GroundPatch,
        memory: &mut MemoryPatch,
        end: EndOfHeartbeat,
    ) -> Result<(), GranularError> {
        self.window.settle(&mut self.state, ground, memory, end)
    }

    /// Gives the bodies in it the wrenches of its points; `on_rocks` has an entry for each rock.
    pub(crate) fn share_out(&self, rovers: &mut [GroupRover], on_rocks: &mut [Option<Wrench>], ground: &GroundPatch) {
        for (found, wrench) in &self.inside {
            match found.at {
                BodyIndex::Wheel { rover, wheel, .. } => {
                    let contact = self.contact(found, ground, wrench);
                    rovers[rover].scratch.domains[wheel] = Domain::Points(contact);
                }
                BodyIndex::Part { rover, part, .. } => {
                    let GroupRover { kind, scratch, .. } = &mut rovers[rover];
                    let link = kind.part_shapes[part].link;
                    let arm = found.body.pose.translation.vector - link_origin_m(scratch, link);
                    let mut about_link = Wrench { force: Vector3::zeros(), torque: wrench.torque };
                    about_link.add_force_at(wrench.force, arm);
                    scratch.in_points.push((link, about_link));
                }
                BodyIndex::Rock { rock, .. } => on_rocks[rock] = Some(*wrench),
            }
        }
    }

    /// Adds the dust that its fast soil throws at the end of a heartbeat.
    ///
    /// # Errors
    /// When the device fails on which the soil is.
    pub(crate) fn throw_dust(
        &mut self,
        model: &Model,
        (sequence, at): (u64, SimTime),
        ground: &GroundPatch,
        thrown: &mut ThrownDust,
    ) -> Result<(), GranularError> {
        let scenario = model.scenario();
        if !scenario.soils.any_dust() {
            return Ok(());
        }
        for soil in self.window.stirred_soil(&self.state, &mut self.solver, self.fastest_m_s)? {
            let StirredSoil { cell, place_m, .. } = soil;
            let Some(dust) = scenario.soils.at(place_m.x, place_m.y).dust() else { continue };
            let thrower = ([u32::MAX - self.id, cell], at, scenario.heartbeat.secs_f64());
            let mut rng = stream_at(scenario.seed, &format!("dust of window {} {cell}", self.id), sequence);
            if let Some(parcel) = dust.shed(&soil, thrower, |x, y| ground.height_m(x, y), &mut rng) {
                thrown.push(parcel, scenario.gravity_m_s2, ground);
            }
        }
        Ok(())
    }

    fn contact(&self, wheel: &BodyInWindow, ground: &GroundPatch, wrench: &Wrench) -> WheelContact {
        let Some(radius_m) = wheel.body.shape.wheel_radius_m() else { return WheelContact::default() };
        let centre_m = wheel.body.pose.translation.vector;
        self.window.wheel_contact(&self.state, ground, &centre_m, radius_m, *wrench)
    }

    /// Bodies in the window: those of rovers that this process steps, and rocks.
    fn bodies(&self, rovers: &[GroupRover], rocks: &[LooseRock], ground: &GroundPatch) -> Vec<BodyInWindow> {
        let (friction, cell_m) = (self.window.friction(), self.window.cell_m());
        let stepped = || rovers.iter().enumerate().filter(|(_, rover)| !rover.is_ghost());
        let wheels = stepped().flat_map(|(at, rover)| wheel_bodies(at, rover, friction, cell_m));
        let parts = stepped().flat_map(|(at, rover)| part_bodies(at, rover));
        let rocks = rocks.iter().enumerate().map(|(at, rock)| rock_body(at, rock, friction));
        let is_in = |found: &BodyInWindow| {
            let Body { shape, pose, .. } = &found.body;
            let (at_m, radius_m) = (&pose.translation.vector, shape.bounding_radius_m());
            let was_in = self.state.drums().any(|number| number == found.at.number());
            self.window.holds(ground, at_m, radius_m) || was_in && self.window.spans(at_m, radius_m)
        };
        wheels.chain(parts).chain(rocks).filter(is_in).collect()
    }

    /// Refuses a drum with soil that has left the window. The soil of a rover that was taken away falls.
    fn check_drums(&mut self, found: &[BodyInWindow], rovers: &[GroupRover]) -> Result<(), GranularError> {
        let is_in = |number: &u64| found.iter().any(|body| body.at.number() == *number);
        let left: Vec<_> = self.state.drums().filter(|number| !is_in(number)).collect();
        if !left.is_empty() {
            self.window.bring_grains_back(&mut self.state, &mut self.solver)?;
        }
        for number in left {
            let Some(drum) = drum_name(number, rovers) else { continue };
            let load_kg = self.window.loads_kg(&self.state, &mut self.solver, &[number])?.iter().sum();
            if load_kg > 0.0 {
                return Err(GranularError::Carried { window: self.window.name().to_owned(), drum, load_kg });
            }
        }
        Ok(())
    }
}

/// Wakes rocks in the window: the soil under them became points, or a rover may push it.
fn wake_rocks(found: &[BodyInWindow], rocks: &mut [LooseRock]) {
    for body in found {
        if let BodyIndex::Rock { rock, .. } = body.at {
            rocks[rock].wake();
        }
    }
}

fn wheel_bodies(at: usize, rover: &GroupRover, friction: f64, cell_m: Option<f64>) -> Vec<BodyInWindow> {
    // The cylinder of a body is along z, a wheel's axle along y.
    let along_axle = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
    let motions = rover.scratch.rover.wheel_motions().into_iter().zip(&rover.kind.wheel_shapes).enumerate();
    let body_of = |(wheel, (motion, shape)): (usize, (selene_vehicle::WheelKinematics, &selene_soil::WheelShape))| {
        let grousered = cell_m.and_then(|cell_m| grousered(shape, cell_m));
        let is_rough = shape.grousers > 0 && grousered.is_none();
        let radius_m = shape.pressing_radius_m(friction);
        let body = Body {
            shape: grousered.unwrap_or(BodyShape::Cylinder { radius_m, half_length_m: 0.5 * shape.width_m }),
            pose: motion.world_from_wheel * along_axle,
            velocity_m_s: motion.linear,
            angular_velocity_rad_s: motion.angular,
            friction: if is_rough { friction } else { friction.min(BODY_FRICTION) },
        };
        BodyInWindow { at: BodyIndex::Wheel { rover: at, id: rover.id, wheel }, body, is_awake: true }
    };
    motions.map(body_of).collect()
}

/// A wheel with grousers, where cells resolve these: two cells in their height, and on the rim two between them beside
/// the two that each plate takes.
fn grousered(shape: &selene_soil::WheelShape, cell_m: f64) -> Option<BodyShape> {
    let rim_m = shape.radius_m - shape.grouser_height_m;
    let apart_m = std::f64::consts::TAU * rim_m / f64::from(shape.grousers.max(1));
    let is_resolved = shape.grousers > 0 && 2.0 * cell_m <= shape.grouser_height_m && 4.0 * cell_m <= apart_m;
    let wheel = Wheel {
        rim_m,
        half_length_m: 0.5 * shape.width_m,
        grousers: shape.grousers,
        height_m: shape.grouser_height_m,
        thickness_m: 2.0 * cell_m,
    };
    is_resolved.then_some(BodyShape::Wheel(wheel))
}

fn part_bodies(at: usize, rover: &GroupRover) -> Vec<BodyInWindow> {
    let body_of = |(part, of): (usize, &PartShape)| {
        let (world_from_link, twist) = rover.scratch.rover.link_motion(of.link)?;
        let pose = world_from_link * of.link_from_shape;
        let arm = pose.translation.vector - world_from_link.translation.vector;
        let body = Body {
            shape: of.shape,
            pose,
            velocity_m_s: twist.linear + twist.angular.cross(&arm),
            angular_velocity_rad_s: twist.angular,
            friction: rover.kind.model().ground_friction(of.link).unwrap_or(BODY_FRICTION),
        };
        Some(BodyInWindow { at: BodyIndex::Part { rover: at, id: rover.id, part }, body, is_awake: true })
    };
    rover.kind.part_shapes.iter().enumerate().filter_map(body_of).collect()
}

fn rock_body(at: usize, rock: &LooseRock, friction: f64) -> BodyInWindow {
    let twist = &rock.state.twist;
    let body = Body {
        shape: BodyShape::Sphere { radius_m: rock.inertia.radius_m },
        pose: rock.state.world_from_rock,
        velocity_m_s: twist.linear,
        angular_velocity_rad_s: twist.angular,
        friction,
    };
    BodyInWindow { at: BodyIndex::Rock { rock: at, id: rock.id }, body, is_awake: !rock.asleep() }
}

fn link_origin_m(scratch: &RoverScratch, link: usize) -> Vector3<f64> {
    scratch.rover.link_motion(link).map_or_else(Vector3::zeros, |(pose, _)| pose.translation.vector)
}

#[cfg(test)]
mod tests {
    use selene_crm::{BodyShape, Wheel};
    use selene_soil::WheelShape;

    use super::grousered;

    #[test]
    fn grousers_are_bodies_where_cells_resolve_them() {
        let viper = WheelShape { grousers: 24, grouser_height_m: 0.025, ..WheelShape::plain(0.25, 0.2) };
        let expected = Wheel { rim_m: 0.225, half_length_m: 0.1, grousers: 24, height_m: 0.025, thickness_m: 0.025 };
        assert_eq!(grousered(&viper, 0.0125), Some(BodyShape::Wheel(expected)));
        assert_eq!(grousered(&viper, 0.013), None, "lower than two cells");
        assert_eq!(grousered(&WheelShape { grousers: 48, ..viper }, 0.0125), None, "too near to each other");
        assert_eq!(grousered(&WheelShape::plain(0.25, 0.2), 0.0125), None, "without grousers");
    }
}

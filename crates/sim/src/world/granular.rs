//! Granular windows in a world: which bodies are in one, and what its points and they do to each other.
//!
//! A wheel, a body of a rover or a loose rock is in a window while all of it is, and low enough;
//! until then the height field carries it. At each exchange the points are stepped while those in
//! them move along their twists. The impulse that each got becomes its wrench until the next
//! exchange: what it gets is what the soil gave.
//!
//! Rocks in a window wake with it, and do not sleep while a rover is in it. Later they may come
//! to rest on the points, and sleep there as on the height field.
//!
//! Wheels are cylinders; with grousers, of the radius that presses the soil, and as rough as the
//! soil itself. Boxes, cylinders and spheres are themselves, meshes the boxes about them, and
//! rocks balls of their mean radius.

use std::sync::Arc;

use nalgebra::{Isometry3, UnitQuaternion, Vector3};
use selene_base::{InputError, Pose, Wrench};
use selene_crm::{Body, Scratch, Shape};
use selene_soil::{Conditions, Domain, GranularError, MemoryPatch, WheelContact, Window, WindowState};
use selene_terrain::{GroundPatch, NodeRect, Terrain};
use selene_vehicle::contact::LooseRock;
use selene_vehicle::{RoverModel, Shape as LinkShape};

use crate::scenario::{Scenario, ScenarioError};
use crate::world::group::{GroupRover, RoverScratch};

/// Metal on regolith.
const BODY_FRICTION: f64 = 0.6;
/// Half the thickness that a flat shape has at least, m.
const THIN_M: f64 = 0.001;

/// A body of a rover as granular soil meets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PartShape {
    link: usize,
    link_from_shape: Pose,
    shape: Shape,
}

/// A window at work in a group.
pub(crate) struct GroupWindow {
    pub(crate) id: u32,
    window: Arc<Window>,
    pub(crate) state: WindowState,
    pub(crate) scratch: Scratch,
    /// Bodies in it at the last exchange, and what its points do to them since.
    inside: Vec<(BodyInWindow, Wrench)>,
}

/// A body in a window.
#[derive(Clone, Copy, Debug)]
struct BodyInWindow {
    at: BodyIndex,
    body: Body,
    /// Whether it makes points of the soil.
    is_awake: bool,
}

/// Which body it is, by places in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyIndex {
    Wheel { rover: usize, wheel: usize },
    Part { rover: usize, part: usize },
    Rock(usize),
}

/// The windows of a scenario on its ground.
pub(crate) fn windows(scenario: &Scenario, terrain: &Terrain) -> Result<Arc<[Arc<Window>]>, ScenarioError> {
    let refuse = |what: String| InputError::content(scenario.file(), what);
    let conditions = Conditions { dt_s: scenario.step.secs_f64(), gravity_m_s2: scenario.gravity_m_s2 };
    let steps = (scenario.heartbeat / scenario.step) as usize;
    let mut windows: Vec<Arc<Window>> = Vec::with_capacity(scenario.granular.len());
    for spec in &scenario.granular {
        let window = Window::new(spec, &scenario.soils, terrain, &conditions).map_err(|e| refuse(e.to_string()))?;
        let name = window.name();
        if !steps.is_multiple_of(window.exchange_steps()) {
            let what = format!("granular window '{name}': heartbeat_s must be a whole number of its exchange_s");
            return Err(refuse(what).into());
        }
        if let Some(other) = windows.iter().find(|other| other.meets(&window)) {
            let what = format!("granular windows '{}' and '{name}' meet: keep them apart", other.name());
            return Err(refuse(what).into());
        }
        windows.push(Arc::new(window));
    }
    Ok(windows.into())
}

/// The bodies of a rover that are not its wheels.
pub(crate) fn part_shapes(model: &RoverModel) -> Vec<PartShape> {
    let is_wheel = |link: usize| model.wheels().iter().any(|wheel| wheel.link == link);
    let links = model.links().iter().enumerate().filter(|(link, _)| !is_wheel(*link));
    let part = |link: usize, collision: &selene_vehicle::Collision| {
        let (shape_from_solid, shape) = shape_of(&collision.shape);
        PartShape { link, link_from_shape: collision.link_from_shape * shape_from_solid, shape }
    };
    links.flat_map(|(link, of)| of.collisions.iter().map(move |collision| part(link, collision))).collect()
}

/// A link's shape, and where its middle is.
fn shape_of(shape: &LinkShape) -> (Pose, Shape) {
    let half = |m: f64| (0.5 * m).max(THIN_M);
    let (middle, shape) = match shape {
        LinkShape::Box { size_m } => (Vector3::zeros(), Shape::Cuboid { half_m: size_m.map(half) }),
        LinkShape::Cylinder { radius_m, length_m } => {
            (Vector3::zeros(), Shape::Cylinder { radius_m: radius_m.max(THIN_M), half_length_m: half(*length_m) })
        }
        LinkShape::Sphere { radius_m } => (Vector3::zeros(), Shape::Sphere { radius_m: radius_m.max(THIN_M) }),
        LinkShape::Mesh { vertices, .. } => {
            let corners = || vertices.iter().map(|corner| Vector3::from(*corner).cast::<f64>());
            let low = corners().reduce(|a, b| a.inf(&b)).unwrap_or_default();
            let high = corners().reduce(|a, b| a.sup(&b)).unwrap_or_default();
            (0.5 * (low + high), Shape::Cuboid { half_m: <[f64; 3]>::from(high - low).map(half) })
        }
    };
    (Isometry3::from_parts(middle.into(), UnitQuaternion::identity()), shape)
}

impl GroupWindow {
    /// A window that a group takes over.
    pub(crate) fn new(id: u32, window: Arc<Window>, state: WindowState, scratch: Scratch) -> Self {
        Self { id, window, state, scratch, inside: Vec::new() }
    }

    /// The nodes of its posts.
    pub(crate) fn nodes(&self) -> NodeRect {
        self.window.nodes()
    }

    /// Steps its points with the bodies in it, if an exchange is due at this step of the heartbeat.
    pub(crate) fn exchange(
        &mut self,
        step: usize,
        rovers: &[GroupRover],
        rocks: &mut [LooseRock],
        ground: &GroundPatch,
    ) -> Result<(), GranularError> {
        if !step.is_multiple_of(self.window.exchange_steps()) {
            return Ok(());
        }
        let found = self.bodies(rovers, rocks, ground);
        let was_asleep = !self.state.is_flowing();
        if found.iter().any(|body| body.is_awake) {
            self.window.wake(&mut self.state, ground);
        }
        let has_rover = found.iter().any(|body| !matches!(body.at, BodyIndex::Rock(_)));
        if self.state.is_flowing() && (was_asleep || has_rover) {
            wake_rocks(&found, rocks);
        }
        self.inside.clear();
        if self.state.is_flowing() {
            let bodies: Vec<Body> = found.iter().map(|found| found.body).collect();
            let wrenches = self.window.step(&mut self.state, &bodies, &mut self.scratch)?;
            self.inside.extend(found.into_iter().zip(wrenches));
        }
        Ok(())
    }

    /// At the end of a heartbeat: the ground shows what flowed, and soil that is still sleeps.
    pub(crate) fn settle(
        &mut self,
        ground: &mut GroundPatch,
        memory: &mut MemoryPatch,
        elapsed_s: f64,
    ) -> Result<(), GranularError> {
        let is_entered = self.inside.iter().any(|(body, _)| body.is_awake);
        self.window.settle(&mut self.state, ground, memory, is_entered, elapsed_s)
    }

    /// Tells the bodies in it what its points do to them: `on_rocks` has a place for each rock.
    pub(crate) fn share_out(&self, rovers: &mut [GroupRover], on_rocks: &mut [Option<Wrench>], ground: &GroundPatch) {
        for (found, wrench) in &self.inside {
            match found.at {
                BodyIndex::Wheel { rover, wheel } => {
                    let contact = self.contact(found, ground, wrench);
                    rovers[rover].scratch.domains[wheel] = Domain::Points(contact);
                }
                BodyIndex::Part { rover, part } => {
                    let GroupRover { kind, scratch, .. } = &mut rovers[rover];
                    let link = kind.part_shapes[part].link;
                    let arm = found.body.pose.translation.vector - link_origin_m(scratch, link);
                    let mut about_link = Wrench { force: Vector3::zeros(), torque: wrench.torque };
                    about_link.add_force_at(wrench.force, arm);
                    scratch.in_points.push((link, about_link));
                }
                BodyIndex::Rock(rock) => on_rocks[rock] = Some(*wrench),
            }
        }
    }

    fn contact(&self, wheel: &BodyInWindow, ground: &GroundPatch, wrench: &Wrench) -> WheelContact {
        let Shape::Cylinder { radius_m, .. } = wheel.body.shape else { return WheelContact::default() };
        let centre_m = wheel.body.pose.translation.vector;
        self.window.wheel_contact(&self.state, ground, &centre_m, radius_m, *wrench)
    }

    /// Bodies in the window: of rovers that this process steps, and rocks.
    fn bodies(&self, rovers: &[GroupRover], rocks: &[LooseRock], ground: &GroundPatch) -> Vec<BodyInWindow> {
        let friction = self.window.soil().friction_static;
        let stepped = || rovers.iter().enumerate().filter(|(_, rover)| !rover.is_ghost());
        let wheels = stepped().flat_map(|(at, rover)| wheel_bodies(at, rover, friction));
        let parts = stepped().flat_map(|(at, rover)| part_bodies(at, rover));
        let rocks = rocks.iter().enumerate().map(|(at, rock)| rock_body(at, rock, friction));
        let is_in = |found: &BodyInWindow| {
            let Body { shape, pose, .. } = &found.body;
            self.window.holds(ground, &pose.translation.vector, shape.bounding_radius_m())
        };
        wheels.chain(parts).chain(rocks).filter(is_in).collect()
    }
}

/// Sleeping rocks in the window are free again: the soil under them became points, or a rover may push it.
fn wake_rocks(found: &[BodyInWindow], rocks: &mut [LooseRock]) {
    for body in found {
        if let BodyIndex::Rock(rock) = body.at {
            rocks[rock].wake();
        }
    }
}

fn wheel_bodies(at: usize, rover: &GroupRover, friction: f64) -> Vec<BodyInWindow> {
    // The cylinder of a body is along z, a wheel's axle along y.
    let along_axle = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
    let motions = rover.scratch.rover.wheel_motions().into_iter().zip(&rover.kind.wheel_shapes).enumerate();
    let body_of = |(wheel, (motion, shape)): (usize, (selene_vehicle::WheelKinematics, &selene_soil::WheelShape))| {
        let radius_m = shape.pressing_radius_m(friction);
        let body = Body {
            shape: Shape::Cylinder { radius_m, half_length_m: 0.5 * shape.width_m },
            pose: motion.world_from_wheel * along_axle,
            velocity_m_s: motion.linear,
            angular_velocity_rad_s: motion.angular,
            friction: if shape.grousers > 0 { friction } else { friction.min(BODY_FRICTION) },
        };
        BodyInWindow { at: BodyIndex::Wheel { rover: at, wheel }, body, is_awake: true }
    };
    motions.map(body_of).collect()
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
            friction: BODY_FRICTION,
        };
        Some(BodyInWindow { at: BodyIndex::Part { rover: at, part }, body, is_awake: true })
    };
    rover.kind.part_shapes.iter().enumerate().filter_map(body_of).collect()
}

fn rock_body(at: usize, rock: &LooseRock, friction: f64) -> BodyInWindow {
    let twist = &rock.state.twist;
    let body = Body {
        shape: Shape::Sphere { radius_m: rock.inertia.radius_m },
        pose: rock.state.world_from_rock,
        velocity_m_s: twist.linear,
        angular_velocity_rad_s: twist.angular,
        friction,
    };
    BodyInWindow { at: BodyIndex::Rock(at), body, is_awake: !rock.asleep() }
}

fn link_origin_m(scratch: &RoverScratch, link: usize) -> Vector3<f64> {
    scratch.rover.link_motion(link).map_or_else(Vector3::zeros, |(pose, _)| pose.translation.vector)
}

//! A rover's arm and drum in a granular window: their commands, the soil that they take in and the work that it costs.
//!
//! The arm gets a target angle. An action moves it by a fraction of its servo's rate, and it stays between the task's
//! angles; an arm that starts beyond them moves to the nearer one. The drum gets a fraction of its servo's rate. Work
//! is the energy that the motors of wheels, arm and drum put in: torque times rate at each heartbeat, where both have
//! the same sign. Braking gives no energy back.
//!
//! Soil in the drum is the soil inside the drum's cylinder. While the drum is in the ground, that includes soil around
//! its panels, which stays there when the drum is lifted. So the drum is full only above the undisturbed ground, and if
//! time runs out before, the soil that it had when it was last lifted counts.
//!
//! A drum that leaves its window with soil in it ends a run with an error, since nothing could carry the soil there. So
//! an episode ends before: when the bounding sphere of the drum is nearer to a side than the drum moves in one step.

use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::Pose;
use selene_sim::{Command, GranularWindow, JointCommand, Model, RoverKind, RoverSnapshot, Start};
use selene_terrain::Terrain;
use selene_vehicle::{BucketDrum, RoverModel, ServoKind};

use crate::course::ground_m;
use crate::task::{DigSpec, DigStep};

/// An arm with a drum, and the window that it digs in.
#[derive(Clone, Debug)]
pub(crate) struct Digger {
    window: Arc<GranularWindow>,
    terrain: Arc<Terrain>,
    arm: ServoJoint,
    drum: ServoJoint,
    /// Lowest and highest target of the arm, rad.
    arm_rad: [f64; 2],
    /// Index of the drum among the rover's.
    load: usize,
    shape: BucketDrum,
    /// Middle of the drum in the base link with every joint at zero, m.
    base_from_drum_m: Vector3<f64>,
    /// Maximum distance that the drum moves in one step, m.
    margin_m: f64,
    /// Time between two actions, s.
    control_s: f64,
    /// Target angle of the arm, rad.
    target_rad: f64,
    /// Soil in the drum after the last step, and when it was last above the ground, kg.
    soil_kg: f64,
    lifted_kg: f64,
    /// Work of the motors since the last step, J.
    work_j: f64,
}

/// A joint with a servo.
#[derive(Clone, Debug)]
struct ServoJoint {
    joint: String,
    /// Index among the rover's joints.
    index: usize,
    /// Index among its moving joints.
    moving: usize,
    /// The servo's maximum rate, rad/s.
    rate_rad_s: f64,
    /// Lowest and highest target of its servo, rad or rad/s.
    limits: [f64; 2],
}

impl ServoJoint {
    /// The servo of this kind on a joint, or an error that says why there is none.
    fn find(rover: &RoverModel, joint: &str, kind: ServoKind) -> Result<Self, String> {
        let servos: Vec<_> = rover.servos().iter().filter(|servo| servo.kind == kind).collect();
        let names: Vec<_> = servos.iter().map(|servo| rover.joints()[servo.joint].name.as_str()).collect();
        let Some(at) = names.iter().position(|name| *name == joint) else {
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let by = if kind == ServoKind::Position { "position" } else { "rate" };
            return Err(format!("'{joint}' is no joint with a servo by {by}; the rover has {known}"));
        };
        let servo = servos[at];
        let moving = rover.moving_joints().iter().position(|moving| *moving == servo.joint);
        let moving = moving.ok_or_else(|| format!("'{joint}' does not move"))?;
        let limits = [servo.lowest, servo.highest];
        Ok(Self { joint: joint.to_owned(), index: servo.joint, moving, rate_rad_s: servo.rate_rad_s, limits })
    }

    fn command(&self, target: f64) -> Command {
        Command::Joint(JointCommand { joint: self.joint.clone(), target })
    }

    /// Measured angle, rad, rate, rad/s, and torque, N m.
    fn measured(&self, rover: &RoverSnapshot) -> [f64; 3] {
        [&rover.joint_position, &rover.joint_velocity, &rover.joint_effort]
            .map(|of| of.get(self.moving).copied().unwrap_or(0.0))
    }

    fn power_w(&self, rover: &RoverSnapshot) -> f64 {
        let [_, rate_rad_s, torque_nm] = self.measured(rover);
        (torque_nm * rate_rad_s).max(0.0)
    }
}

impl Digger {
    /// The arm and drum of a rover that a task names, or the task's key whose value does not allow it, and why.
    pub(crate) fn find(
        spec: &DigSpec,
        model: &Model,
        kind: &RoverKind,
        control_s: f64,
    ) -> Result<Self, (&'static str, String)> {
        let at = |key: &'static str| move |what: String| (key, what);
        let rover = kind.model();
        let arm = ServoJoint::find(rover, &spec.arm, ServoKind::Position).map_err(at("arm"))?;
        let drum = ServoJoint::find(rover, &spec.drum, ServoKind::Rate).map_err(at("drum"))?;
        let arm_rad = angles_rad(spec, &arm).map_err(at("arm_deg"))?;
        let link = rover.joints()[drum.index].child;
        let load = rover.drums().iter().position(|of| of.link == link);
        let load = load.ok_or_else(|| ("drum", format!("'{}' turns no link among the rover's `drums`", spec.drum)))?;
        let shape = rover.drums()[load];
        let base_from_drum = rover.base_from_links_at_zero()[link] * shape.link_from_drum;
        let base_from_drum_m = base_from_drum.translation.vector;
        let limits = &rover.spec().limits;
        let turning_m_s = (limits.turn_rate_rad_s + arm.rate_rad_s) * base_from_drum_m.norm();
        Ok(Self {
            window: find_window(model, &spec.window).map_err(at("window"))?,
            terrain: Arc::clone(model.terrain()),
            arm,
            drum,
            arm_rad,
            load,
            shape,
            base_from_drum_m,
            margin_m: (limits.speed_m_s + turning_m_s) * control_s,
            control_s,
            target_rad: 0.0,
            soil_kg: 0.0,
            lifted_kg: 0.0,
            work_j: 0.0,
        })
    }

    /// Whether the drum of a rover at this start, its arm level, is far enough from the window's sides.
    pub(crate) fn is_within_at(&self, start: &Start) -> bool {
        let (sin, cos) = start.yaw_rad.sin_cos();
        let [x, y] = [self.base_from_drum_m.x, self.base_from_drum_m.y];
        let [x_m, y_m] = [start.x_m + cos * x - sin * y, start.y_m + sin * x + cos * y];
        // Only x and y count: the height depends on the arm.
        self.spans(&Vector3::new(x_m, y_m, self.window.corner_m().z))
    }

    /// Begins an episode.
    pub(crate) fn begin(&mut self, start: &RoverSnapshot) {
        let [low, high] = self.arm_rad;
        self.target_rad = self.arm.measured(start)[0].clamp(low, high);
        self.soil_kg = self.load_kg(start);
        (self.lifted_kg, self.work_j) = (self.soil_kg, 0.0);
    }

    /// The commands of an action: fractions of the rates of arm and drum.
    pub(crate) fn act(&mut self, arm: f64, drum: f64) -> [Command; 2] {
        let [low, high] = self.arm_rad;
        self.target_rad = (self.target_rad + arm * self.arm.rate_rad_s * self.control_s).clamp(low, high);
        [self.arm.command(self.target_rad), self.drum.command(drum * self.drum.rate_rad_s)]
    }

    /// Adds the work of the motors in a heartbeat that ended.
    pub(crate) fn go_on(&mut self, now: &RoverSnapshot, heartbeat_s: f64) {
        let wheels = now.wheels.iter().map(|wheel| (wheel.drive_torque_nm * wheel.rate_rad_s).max(0.0));
        let power_w = wheels.sum::<f64>() + self.arm.power_w(now) + self.drum.power_w(now);
        self.work_j += power_w * heartbeat_s;
    }

    /// Results of the step to this snapshot; `is_last` if the episode's time ends with it.
    pub(crate) fn dug(&mut self, now: &RoverSnapshot, is_last: bool) -> DigStep {
        let at_m = self.drum_in_world(now).translation.vector;
        let (is_lifted, work_j) = (self.is_lifted(&at_m), self.work_j);
        if is_lifted {
            self.lifted_kg = self.load_kg(now);
        }
        let soil_kg = if is_last { self.lifted_kg } else { self.load_kg(now) };
        let taken_kg = soil_kg - self.soil_kg;
        (self.soil_kg, self.work_j) = (soil_kg, 0.0);
        DigStep { taken_kg, soil_kg, work_j, is_lifted, has_left: !self.spans(&at_m) }
    }

    /// Angle, rate and torque of the arm, rate and torque of the drum, soil in it: rad, rad/s, N m, kg.
    pub(crate) fn observe(&self, now: &RoverSnapshot) -> [f64; 6] {
        let [arm_rad, arm_rad_s, arm_torque_nm] = self.arm.measured(now);
        let [_, drum_rad_s, drum_torque_nm] = self.drum.measured(now);
        [arm_rad, arm_rad_s, arm_torque_nm, drum_rad_s, drum_torque_nm, self.load_kg(now)]
    }

    fn load_kg(&self, rover: &RoverSnapshot) -> f64 {
        rover.drum_loads_kg.get(self.load).copied().unwrap_or(0.0)
    }

    fn drum_in_world(&self, rover: &RoverSnapshot) -> Pose {
        let link = rover.world_from_links.get(self.shape.link).copied();
        link.unwrap_or_else(Pose::identity) * self.shape.link_from_drum
    }

    /// Whether a drum with its middle at this place and its axis level is entirely above the undisturbed ground.
    fn is_lifted(&self, at_m: &Vector3<f64>) -> bool {
        at_m.z - self.shape.radius_m > ground_m(&self.terrain, [at_m.x, at_m.y])
    }

    fn spans(&self, at_m: &Vector3<f64>) -> bool {
        let ball_m = self.shape.radius_m.hypot(0.5 * self.shape.length_m);
        self.window.spans(at_m, ball_m + self.margin_m)
    }
}

/// The task's limits of the arm's angle, rad; the servo must reach them.
fn angles_rad(spec: &DigSpec, arm: &ServoJoint) -> Result<[f64; 2], String> {
    let [low_deg, high_deg] = spec.arm_deg;
    let [least_deg, most_deg] = arm.limits.map(f64::to_degrees);
    // The servo's limits were converted from degrees to radians and back.
    if low_deg < least_deg - 1e-9 || high_deg > most_deg + 1e-9 {
        let allowed = format!("must be {least_deg:.1} to {most_deg:.1}, as its servo allows");
        return Err(format!("[{low_deg}, {high_deg}] is not allowed: {allowed}"));
    }
    Ok([low_deg.to_radians(), high_deg.to_radians()])
}

fn find_window(model: &Model, name: &str) -> Result<Arc<GranularWindow>, String> {
    let windows = model.windows();
    windows.iter().find(|window| window.name() == name).cloned().ok_or_else(|| {
        let known: Vec<_> = windows.iter().map(|window| window.name()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("'{name}' is no granular window of the scenario; it has {known}")
    })
}

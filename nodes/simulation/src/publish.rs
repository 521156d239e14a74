//! What the simulation tells: clock, transforms, joint states, odometry, wheel
//! truth, diagnostics, and the snapshots that sensor nodes live on.

use std::sync::Arc;
use std::time::Instant;

use selene_base::{SimTime, frames};
use selene_coherence::{
    NodeError, RUN_INFO, WORLD_STATE, state_to_message, to_pose, to_vector, transform, wheel_to_message,
};
use selene_ros::transport::{Publisher, Transport};
use selene_ros::{
    Qos, diagnostic_msgs, geometry_msgs, nav_msgs, rosgraph_msgs, selene_msgs, sensor_msgs, std_msgs, tf2_msgs,
};
use selene_sensors::Schedule;
use selene_sim::{Notices, Scenario, World, WorldState};
use selene_vehicle::RoverModel;

use crate::encoders::Encoders;

/// Rate of transforms, joint states, odometry and wheel truth, Hz.
const TRUTH_RATE_HZ: f64 = 50.0;
/// Rate of diagnostics, Hz.
const DIAGNOSTICS_RATE_HZ: f64 = 1.0;

pub(crate) struct Publishers {
    rover: Arc<RoverModel>,
    clock: Publisher<rosgraph_msgs::Clock>,
    world_state: Publisher<selene_msgs::WorldState>,
    run_info: Publisher<selene_msgs::RunInfo>,
    tf: Publisher<tf2_msgs::TFMessage>,
    tf_static: Publisher<tf2_msgs::TFMessage>,
    robot_description: Publisher<std_msgs::String>,
    joint_states: Publisher<sensor_msgs::JointState>,
    encoders: Encoders,
    odometry: Publisher<nav_msgs::Odometry>,
    wheels: Publisher<selene_msgs::WheelStates>,
    diagnostics: Publisher<diagnostic_msgs::DiagnosticArray>,
    truth_due: Schedule,
    diagnostics_due: Schedule,
    since: (Instant, SimTime),
}

impl Publishers {
    pub(crate) fn new(transport: &dyn Transport, scenario: &Scenario) -> Result<Self, NodeError> {
        // Deeper than the default, so that a subscriber killed without a goodbye does not
        // stop the others before DDS has given it up.
        let reliable = Qos { depth: 100, ..Qos::reliable() };
        Ok(Self {
            rover: Arc::clone(&scenario.rover),
            clock: Publisher::new(transport, "/clock", Qos::clock())?,
            world_state: Publisher::new(transport, WORLD_STATE, Qos::state())?,
            run_info: Publisher::new(transport, RUN_INFO, Qos::latched())?,
            tf: Publisher::new(transport, "/tf", reliable)?,
            tf_static: Publisher::new(transport, "/tf_static", Qos::latched())?,
            robot_description: Publisher::new(transport, &scenario.topic("robot_description"), Qos::latched())?,
            encoders: Encoders::new(&scenario.rover),
            joint_states: Publisher::new(transport, &scenario.topic("joint_states"), reliable)?,
            odometry: Publisher::new(transport, &scenario.topic("ground_truth/odom"), reliable)?,
            wheels: Publisher::new(transport, &scenario.topic("ground_truth/wheels"), reliable)?,
            diagnostics: Publisher::new(transport, "/diagnostics", reliable)?,
            truth_due: Schedule::new(TRUTH_RATE_HZ, SimTime::ZERO, SimTime::ZERO),
            diagnostics_due: Schedule::new(DIAGNOSTICS_RATE_HZ, SimTime::ZERO, SimTime::ZERO),
            since: (Instant::now(), SimTime::ZERO),
        })
    }

    /// What is told once: the rover, its fixed frames, and that the run begins.
    pub(crate) fn begin(&self, scenario: &Scenario) -> Result<(), NodeError> {
        let description = std_msgs::String { data: self.rover.urdf_text().to_owned() };
        self.robot_description.publish(&description, SimTime::ZERO)?;
        self.tf_static.publish(&static_transforms(&self.rover), SimTime::ZERO)?;
        Ok(self.run_info.publish(&run_info(scenario, None), SimTime::ZERO)?)
    }

    /// That the run has ended, and in which state.
    pub(crate) fn end(&self, scenario: &Scenario, state_hash: u64, time: SimTime) -> Result<(), NodeError> {
        Ok(self.run_info.publish(&run_info(scenario, Some(state_hash)), time)?)
    }

    /// The clock and the snapshot.
    pub(crate) fn state(&self, state: &WorldState) -> Result<(), NodeError> {
        self.clock.publish(&rosgraph_msgs::Clock { clock: state.time.into() }, state.time)?;
        Ok(self.world_state.publish(&state_to_message(state), state.time)?)
    }

    /// Transforms, joint states, odometry and wheel truth, when they are due.
    pub(crate) fn truth(&mut self, last: &WorldState, state: &WorldState) -> Result<(), NodeError> {
        if self.truth_due.measured_in(last.time, state.time).next().is_none() {
            return Ok(());
        }
        self.tf.publish(&moving_transforms(&self.rover, state), state.time)?;
        let mut joints = joint_states(&self.rover, state);
        self.encoders.read(state.time, &mut joints);
        self.joint_states.publish(&joints, state.time)?;
        self.odometry.publish(&odometry(state), state.time)?;
        let wheels = selene_msgs::WheelStates {
            header: std_msgs::Header::new(state.time, frames::BASE_LINK),
            wheels: state.wheels.iter().map(wheel_to_message).collect(),
        };
        Ok(self.wheels.publish(&wheels, state.time)?)
    }

    /// How the run goes, once a simulated second.
    pub(crate) fn diagnostics(&mut self, state: &WorldState, world: &World, overruns: u64) -> Result<(), NodeError> {
        let (wall, simulated) = self.since;
        if self.diagnostics_due.measured_in(simulated, state.time).next().is_none() {
            return Ok(());
        }
        let factor = wall.elapsed().as_secs_f64() / (state.time - simulated).secs_f64();
        self.since = (Instant::now(), state.time);
        Ok(self.diagnostics.publish(&diagnostics(state, factor, world, overruns), state.time)?)
    }
}

fn run_info(scenario: &Scenario, state_hash: Option<u64>) -> selene_msgs::RunInfo {
    selene_msgs::RunInfo {
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        finished: state_hash.is_some(),
        state_hash: state_hash.map(|hash| format!("{hash:016x}")).unwrap_or_default(),
    }
}

fn stamped(parent: &str, child: &str, pose: &selene_base::Pose, time: SimTime) -> geometry_msgs::TransformStamped {
    geometry_msgs::TransformStamped {
        header: std_msgs::Header::new(time, parent),
        child_frame_id: child.to_owned(),
        transform: transform(pose),
    }
}

/// Frames that never move: `map` → `odom` (truth has no drift) and fixed joints.
fn static_transforms(rover: &RoverModel) -> tf2_msgs::TFMessage {
    let links = rover.links();
    let fixed = rover.joints().iter().filter(|joint| !joint.moves()).map(|joint| {
        let (parent, child) = (&links[joint.parent].name, &links[joint.child].name);
        stamped(parent, child, &joint.parent_from_child_at_zero, SimTime::ZERO)
    });
    let odom = stamped(frames::MAP, frames::ODOM, &selene_base::Pose::identity(), SimTime::ZERO);
    tf2_msgs::TFMessage { transforms: std::iter::once(odom).chain(fixed).collect() }
}

/// `odom` → `base_link` and every joint that moves.
fn moving_transforms(rover: &RoverModel, state: &WorldState) -> tf2_msgs::TFMessage {
    let links = rover.links();
    let moving = rover.joints().iter().filter(|joint| joint.moves()).map(|joint| {
        let world_from_parent = state.world_from_links[joint.parent];
        let parent_from_child = world_from_parent.inverse() * state.world_from_links[joint.child];
        stamped(&links[joint.parent].name, &links[joint.child].name, &parent_from_child, state.time)
    });
    let base = stamped(frames::ODOM, &links[0].name, &state.world_from_base(), state.time);
    tf2_msgs::TFMessage { transforms: std::iter::once(base).chain(moving).collect() }
}

fn joint_states(rover: &RoverModel, state: &WorldState) -> sensor_msgs::JointState {
    let joints = rover.joints();
    sensor_msgs::JointState {
        header: std_msgs::Header::new(state.time, ""),
        name: rover.moving_joints().iter().map(|&joint| joints[joint].name.clone()).collect(),
        position: state.joint_position.clone(),
        velocity: state.joint_velocity.clone(),
        effort: state.joint_effort.clone(),
    }
}

fn odometry(state: &WorldState) -> nav_msgs::Odometry {
    let twist = state.body_twist();
    nav_msgs::Odometry {
        header: std_msgs::Header::new(state.time, frames::ODOM),
        child_frame_id: frames::BASE_LINK.to_owned(),
        pose: geometry_msgs::PoseWithCovariance { pose: to_pose(&state.world_from_base()), ..Default::default() },
        twist: geometry_msgs::TwistWithCovariance {
            twist: geometry_msgs::Twist { linear: to_vector(&twist.linear), angular: to_vector(&twist.angular) },
            ..Default::default()
        },
    }
}

fn diagnostics(state: &WorldState, factor: f64, world: &World, overruns: u64) -> diagnostic_msgs::DiagnosticArray {
    let value = |key: &str, value: String| diagnostic_msgs::KeyValue { key: key.to_owned(), value };
    let notices = world.notices();
    let (level, message) = match notices {
        notices if notices == Notices::default() => (diagnostic_msgs::DiagnosticStatus::OK, "running"),
        Notices { refused_commands: 1.., .. } => {
            (diagnostic_msgs::DiagnosticStatus::WARN, "commands were refused: see last_refusal")
        }
        _ => (diagnostic_msgs::DiagnosticStatus::WARN, "something left its valid range: see the values"),
    };
    let deepest_m = state.wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    let status = diagnostic_msgs::DiagnosticStatus {
        level,
        name: "selene: simulation".to_owned(),
        message: message.to_owned(),
        hardware_id: "simulated".to_owned(),
        values: vec![
            value("real_time_factor", format!("{factor:.3}")),
            value("pace_overruns", overruns.to_string()),
            value("commands_refused", notices.refused_commands.to_string()),
            value("last_refusal", world.last_refusal().map(ToString::to_string).unwrap_or_default()),
            value("commands_limited", notices.limited_commands.to_string()),
            value("soil_modulus_floored", notices.floored_contacts.to_string()),
            value("sinkage_beyond_radius", notices.buried_wheels.to_string()),
            value("slip_outside_fit", notices.outside_fit.to_string()),
            value("heartbeat", state.sequence.to_string()),
            value("deepest_sinkage_m", format!("{deepest_m:.4}")),
        ],
    };
    diagnostic_msgs::DiagnosticArray { header: std_msgs::Header::new(state.time, ""), status: vec![status] }
}

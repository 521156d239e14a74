//! The console's knowledge of the run, and the JSON in which clients get it. All of it comes from messages. What no
//! message contained is left out, and numbers that are not finite become `null`.

use std::collections::BTreeMap;

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus};
use selene_ros::nav_msgs::Odometry;
use selene_ros::selene_msgs::WheelStates;
use selene_ros::sensor_msgs::BatteryState;
use selene_ros::simulation_interfaces::SimulationState;
use serde::Serialize;

use crate::catalogue::{Catalogue, Kind};
use crate::counts::Counts;
use crate::tree::{self, Tree};

/// Least distance between the points of a rover's track, m, and greatest number of points; at more, every second point
/// is removed and the distance doubled.
const WAY_STEP_M: f64 = 0.1;
const WAY_POINTS_MAX: usize = 4000;
/// Upper limit of diagnostic statuses, more than any run has.
const STATUSES_MAX: usize = 512;

/// The console's knowledge of the run.
#[derive(Default)]
pub(crate) struct RunStatus {
    /// Which run this is; `None` until its parameters answered.
    pub(crate) run: Option<RunIdentity>,
    /// Number of runs before this one: each change of the world starts a new run.
    pub(crate) runs: u64,
    pub(crate) time: SimTime,
    /// Recent pace: simulated seconds per second of wall time.
    pub(crate) pace: Option<f64>,
    /// A constant of `SimulationState`; `None` if the simulation does not answer.
    pub(crate) run_state: Option<u8>,
    pub(crate) catalogue: Catalogue,
    pub(crate) tree: Tree,
    /// Rovers by their topic prefix, such as `/viper`.
    pub(crate) rovers: BTreeMap<String, Rover>,
    pub(crate) statuses: BTreeMap<String, NodeStatus>,
    pub(crate) lamps: Vec<Lamp>,
    pub(crate) places: Vec<Landmark>,
    pub(crate) spawnables: Vec<Spawnable>,
    /// `None` until the run has listed them.
    pub(crate) scenarios: Option<Vec<OfferedScenario>>,
}

/// The id of a run and the name of its scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RunIdentity {
    pub(crate) id: String,
    pub(crate) scenario: String,
}

/// The latest values of a rover.
#[derive(Default)]
pub(crate) struct Rover {
    /// The frame of its body, such as `viper/base_link`.
    pub(crate) frame: String,
    /// The pose of its body in `map`.
    pub(crate) pose: Pose,
    /// Linear velocity in its own frame, m/s.
    linear: [f64; 3],
    turn_rad_s: f64,
    wheels: Vec<Wheel>,
    pub(crate) batteries: BTreeMap<String, Battery>,
    pub(crate) way: Track,
}

/// The latest values of a wheel.
#[derive(Clone, Debug, Serialize)]
struct Wheel {
    name: String,
    slip: f64,
    sinkage_m: f64,
    drive_torque_n_m: f64,
    rate_rad_s: f64,
    in_contact: bool,
}

/// The latest values of a battery; `charge` is 0 to 1.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Battery {
    charge: f32,
    voltage_v: f32,
    current_a: f32,
}

/// A place that the scenario names; x and y in `map`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Landmark {
    pub(crate) name: String,
    pub(crate) at_m: [f64; 2],
    pub(crate) is_waypoint: bool,
}

/// A lamp by the name of its parameter, and its brightness as a share of its greatest, 0 to 1, if the run reports it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Lamp {
    pub(crate) name: String,
    pub(crate) level: Option<f64>,
}

/// A rover or an object that can be put into the world.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Spawnable {
    pub(crate) uri: String,
    pub(crate) name: String,
}

/// A scenario that the run can load in place of its own.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OfferedScenario {
    pub(crate) uri: String,
    pub(crate) name: String,
    pub(crate) about: String,
}

/// The latest diagnostic status of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct NodeStatus {
    level: &'static str,
    text: String,
}

/// The track of a rover: points in `map`, m.
pub(crate) struct Track {
    step_m: f64,
    points_m: Vec<[f64; 2]>,
}

impl Default for Track {
    fn default() -> Self {
        Self { step_m: WAY_STEP_M, points_m: Vec::new() }
    }
}

impl Track {
    /// Adds a point if it is far enough from the last one.
    fn add(&mut self, at_m: [f64; 2]) {
        let is_far = |last: &[f64; 2]| (last[0] - at_m[0]).hypot(last[1] - at_m[1]) >= self.step_m;
        if self.points_m.last().is_none_or(is_far) {
            self.points_m.push(at_m);
        }
        if self.points_m.len() > WAY_POINTS_MAX {
            self.points_m = self.points_m.iter().copied().step_by(2).collect();
            self.step_m *= 2.0;
        }
    }
}

impl RunStatus {
    /// Sets which run this is. When it is a new one, all knowledge of the previous run is discarded.
    pub(crate) fn take_run(&mut self, run: RunIdentity) {
        if self.run.as_ref() == Some(&run) {
            return;
        }
        // Before the first answer, all knowledge is already of this run.
        if self.run.is_some() {
            *self = Self { runs: self.runs + 1, run_state: self.run_state, time: self.time, ..Self::default() };
        }
        self.run = Some(run);
    }

    /// The name of the scenario of a URI, if it is one that the run offers.
    pub(crate) fn name_of_scenario(&self, uri: &str) -> Option<String> {
        let known = self.scenarios.iter().flatten().find(|known| known.uri == uri);
        known.map(|known| known.name.clone())
    }

    /// Sets the simulated time. When it goes back the world was reset, and the tracks start again.
    pub(crate) fn take_time(&mut self, time: SimTime) {
        if time < self.time {
            self.rovers.values_mut().for_each(|rover| rover.way = Track::default());
        }
        self.time = time;
    }

    /// Adds topics and statuses from a message on `/diagnostics`.
    pub(crate) fn take_diagnostics(&mut self, message: DiagnosticArray) {
        self.catalogue.take(&message);
        for status in message.status {
            let name = status.name.strip_prefix("selene: ").unwrap_or(&status.name).to_owned();
            if self.statuses.len() < STATUSES_MAX || self.statuses.contains_key(&name) {
                self.statuses.insert(name, NodeStatus { level: level(status.level), text: status.message });
            }
        }
    }

    /// Sets a rover's pose and velocity.
    pub(crate) fn take_odometry(&mut self, rover: &str, message: &Odometry) {
        let Some(pose) = tree::pose_of(&message.pose.pose) else { return };
        let map_from_odom = self.tree.map_from(&message.header.frame_id).unwrap_or_else(Pose::identity);
        let of = self.rovers.entry(rover.to_owned()).or_default();
        let twist = &message.twist.twist;
        message.child_frame_id.clone_into(&mut of.frame);
        of.pose = map_from_odom * pose;
        of.linear = [twist.linear.x, twist.linear.y, twist.linear.z];
        of.turn_rad_s = twist.angular.z;
        of.way.add([of.pose.translation.x, of.pose.translation.y]);
    }

    /// Sets the states of a rover's wheels.
    pub(crate) fn take_wheels(&mut self, rover: &str, message: WheelStates) {
        let wheel = |wheel: selene_ros::selene_msgs::WheelState| Wheel {
            name: wheel.name,
            slip: wheel.slip_ratio,
            sinkage_m: wheel.sinkage,
            drive_torque_n_m: wheel.drive_torque,
            rate_rad_s: wheel.angular_velocity,
            in_contact: wheel.in_contact,
        };
        let of = self.rovers.entry(rover.to_owned()).or_default();
        of.wheels = message.wheels.into_iter().map(wheel).collect();
    }

    /// Sets the state of a battery. It belongs to the rover with the longest prefix of the topic's name.
    pub(crate) fn take_battery(&mut self, topic: &str, message: &BatteryState) {
        let owners = self.rovers.iter_mut().filter(|(rover, _)| topic.starts_with(&format!("{rover}/")));
        if let Some((_, of)) = owners.max_by_key(|(rover, _)| rover.len()) {
            let BatteryState { percentage: charge, voltage: voltage_v, current: current_a, .. } = *message;
            of.batteries.insert(topic.to_owned(), Battery { charge, voltage_v, current_a });
        }
    }
}

fn level(of: u8) -> &'static str {
    match of {
        DiagnosticStatus::OK => "ok",
        DiagnosticStatus::WARN => "warning",
        DiagnosticStatus::ERROR => "error",
        _ => "stale",
    }
}

fn run_state(of: u8) -> &'static str {
    match of {
        SimulationState::STATE_STOPPED => "stopped",
        SimulationState::STATE_PLAYING => "playing",
        SimulationState::STATE_PAUSED => "paused",
        SimulationState::STATE_QUITTING => "quitting",
        _ => "other",
    }
}

/// The state message that a client gets.
#[derive(Serialize)]
struct StateMessage<'a> {
    is: &'static str,
    number: u64,
    time_s: f64,
    pace: Option<f64>,
    run: Option<&'static str>,
    run_id: Option<&'a str>,
    scenario: Option<&'a str>,
    has_control: bool,
    clients: usize,
    refused: BTreeMap<&'static str, u64>,
    rovers: Vec<RoverMessage<'a>>,
    images: Vec<&'a str>,
    boxes: Vec<&'a str>,
    points: Vec<&'a str>,
    lamps: &'a [Lamp],
    statuses: &'a BTreeMap<String, NodeStatus>,
}

#[derive(Serialize)]
struct RoverMessage<'a> {
    rover: &'a str,
    name: &'a str,
    /// The TF frame of its body.
    frame: &'a str,
    at_m: [f64; 3],
    /// Quaternion in the order x, y, z, w.
    attitude: [f64; 4],
    roll_pitch_yaw_deg: [f64; 3],
    speed_m_s: f64,
    turn_rad_s: f64,
    wheels: &'a [Wheel],
    batteries: &'a BTreeMap<String, Battery>,
}

/// The state of the console itself.
pub(crate) struct ConsoleState<'a> {
    pub(crate) has_control: bool,
    pub(crate) clients: usize,
    pub(crate) counts: &'a Counts,
}

impl RunStatus {
    /// The state message with this number, as JSON.
    pub(crate) fn state(&self, number: u64, own: &ConsoleState) -> Result<String, serde_json::Error> {
        let of = |kind| self.catalogue.of(kind).collect();
        serde_json::to_string(&StateMessage {
            is: "state",
            number,
            time_s: self.time.secs_f64(),
            pace: self.pace,
            run: self.run_state.map(run_state),
            run_id: self.run.as_ref().map(|run| run.id.as_str()),
            scenario: self.run.as_ref().map(|run| run.scenario.as_str()),
            has_control: own.has_control,
            clients: own.clients,
            refused: own.counts.reported().into_iter().map(|(refusal, count)| (refusal.word(), count)).collect(),
            rovers: self.rovers.iter().map(|(rover, of)| of.message(rover)).collect(),
            images: of(Kind::Image),
            boxes: of(Kind::Boxes),
            points: of(Kind::Points),
            lamps: &self.lamps,
            statuses: &self.statuses,
        })
    }

    /// Position and attitude of each frame in `map`, and its parent, as JSON.
    pub(crate) fn frames(&self) -> Result<String, serde_json::Error> {
        let placed = self.tree.each().filter_map(|(frame, parent)| {
            let pose = self.tree.map_from(frame)?;
            Some((frame, parent, place(&pose), attitude(&pose)))
        });
        serde_json::to_string(&serde_json::json!({ "is": "frames", "frames": placed.collect::<Vec<_>>() }))
    }

    /// As JSON: the tracks driven so far, named places, what can be spawned, and the scenarios that can be loaded.
    pub(crate) fn paths(&self) -> Result<String, serde_json::Error> {
        let ways: BTreeMap<&String, &[[f64; 2]]> =
            self.rovers.iter().map(|(rover, of)| (rover, of.way.points_m.as_slice())).collect();
        let Self { places, spawnables, scenarios, .. } = self;
        serde_json::to_string(&serde_json::json!({
            "is": "paths", "ways": ways, "places": places, "spawnables": spawnables, "scenarios": scenarios,
        }))
    }
}

impl Rover {
    fn message<'a>(&'a self, rover: &'a str) -> RoverMessage<'a> {
        let (roll, pitch, yaw) = self.pose.rotation.euler_angles();
        let name = rover.trim_start_matches('/');
        RoverMessage {
            rover,
            name: if name.is_empty() { "rover" } else { name },
            frame: &self.frame,
            at_m: place(&self.pose),
            attitude: attitude(&self.pose),
            roll_pitch_yaw_deg: [roll, pitch, yaw].map(f64::to_degrees),
            speed_m_s: Vector3::from(self.linear).norm(),
            turn_rad_s: self.turn_rad_s,
            wheels: &self.wheels,
            batteries: &self.batteries,
        }
    }
}

fn place(pose: &Pose) -> [f64; 3] {
    pose.translation.vector.into()
}

/// A quaternion in the order x, y, z, w.
fn attitude(pose: &Pose) -> [f64; 4] {
    pose.rotation.coords.into()
}

#[cfg(test)]
mod tests {
    use super::{ConsoleState, NodeStatus, RunIdentity, RunStatus, Track, WAY_POINTS_MAX};
    use crate::counts::Counts;
    use selene_base::SimTime;
    use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus};
    use selene_ros::nav_msgs::Odometry;
    use selene_ros::selene_msgs::{WheelState, WheelStates};
    use selene_ros::sensor_msgs::BatteryState;
    use serde_json::Value;

    fn odometry(x: f64) -> Odometry {
        let mut message = Odometry { child_frame_id: "viper/base_link".to_owned(), ..Odometry::default() };
        message.pose.pose.position.x = x;
        message.pose.pose.orientation.w = 1.0;
        message.twist.twist.linear.x = 0.2;
        message
    }

    fn reported(known: &RunStatus) -> Value {
        let own = ConsoleState { has_control: false, clients: 1, counts: &Counts::default() };
        serde_json::from_str(&known.state(7, &own).expect("a state")).expect("JSON")
    }

    #[test]
    fn a_client_gets_what_the_messages_contain() {
        let mut known = RunStatus::default();
        known.take_time(SimTime::from_secs_f64(2.5));
        known.take_odometry("/viper", &odometry(3.0));
        let wheel =
            WheelState { name: "left".to_owned(), slip_ratio: 0.25, sinkage: f64::NAN, ..WheelState::default() };
        known.take_wheels("/viper", WheelStates { wheels: vec![wheel], ..WheelStates::default() });
        known.take_battery("/viper/battery/state", &BatteryState { percentage: 0.5, ..BatteryState::default() });
        let state = reported(&known);
        assert_eq!((state["number"].as_u64(), state["time_s"].as_f64()), (Some(7), Some(2.5)));
        let rover = &state["rovers"][0];
        assert_eq!(rover["at_m"][0].as_f64(), Some(3.0));
        assert_eq!((rover["speed_m_s"].as_f64(), rover["name"].as_str()), (Some(0.2), Some("viper")));
        assert_eq!(rover["wheels"][0]["slip"].as_f64(), Some(0.25));
        assert!(rover["wheels"][0]["sinkage_m"].is_null(), "no number");
        assert_eq!(rover["batteries"]["/viper/battery/state"]["charge"].as_f64(), Some(0.5));
    }

    #[test]
    fn statuses_are_the_newest_of_each_node() {
        let mut known = RunStatus::default();
        for (level, message) in [(DiagnosticStatus::OK, "running"), (DiagnosticStatus::WARN, "slower than its pace")] {
            let name = "selene: simulation".to_owned();
            let status = DiagnosticStatus { level, name, message: message.to_owned(), ..DiagnosticStatus::default() };
            known.take_diagnostics(DiagnosticArray { status: vec![status], ..DiagnosticArray::default() });
        }
        let expected = NodeStatus { level: "warning", text: "slower than its pace".to_owned() };
        assert_eq!(known.statuses["simulation"], expected);
    }

    #[test]
    fn what_was_of_another_run_is_forgotten_and_what_came_before_the_first_answer_is_not() {
        let run = |id: &str| RunIdentity { id: id.to_owned(), scenario: "polar".to_owned() };
        let mut known = RunStatus::default();
        known.take_odometry("/viper", &odometry(3.0));
        known.take_run(run("r1"));
        known.take_run(run("r1"));
        assert!(known.rovers.contains_key("/viper") && known.runs == 0);
        known.take_run(run("r2"));
        assert!(known.rovers.is_empty() && known.runs == 1 && known.run == Some(run("r2")));
    }

    #[test]
    fn ways_begin_anew_when_the_clock_goes_back() {
        let mut known = RunStatus::default();
        known.take_time(SimTime::from_secs_f64(5.0));
        known.take_odometry("/viper", &odometry(3.0));
        known.take_time(SimTime::ZERO);
        assert!(known.rovers["/viper"].way.points_m.is_empty());
    }

    #[test]
    fn a_long_way_gets_coarser_and_not_longer() {
        let mut way = Track::default();
        for step in 0..20_000 {
            way.add([0.11 * f64::from(step), 0.0]);
        }
        assert!(way.points_m.len() <= WAY_POINTS_MAX && way.step_m > 0.1);
        assert_eq!(way.points_m[0], [0.0, 0.0]);
        let last = way.points_m.last().expect("points")[0];
        assert!((last - 0.11 * 19_999.0).abs() < 4.0 * way.step_m, "{last}");
    }
}

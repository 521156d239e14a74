//! Manual driving. The dead-man rule: a command holds for [`DEAD_MAN`] of wall time, then the console stops the rover,
//! even if the client is gone. While one client drives a rover, no other client can.
//!
//! Driving to a place is a command like any other that the client must repeat: each time, speed and rate of turn are
//! computed from the rover's present pose.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use selene_base::{Pose, SimTime, frames};
use selene_ros::Qos;
use selene_ros::geometry_msgs::{Twist, TwistStamped, Vector3};
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Publisher, Transport, TransportError};

/// How long a command holds (wall time).
pub(crate) const DEAD_MAN: Duration = Duration::from_millis(300);
/// Greatest commands that are accepted: no rover is faster.
const SPEED_MAX_M_S: f64 = 5.0;
const TURN_MAX_RAD_S: f64 = 5.0;
/// A rover has arrived when its distance from the place is at most this, m.
pub(crate) const ARRIVED_M: f64 = 0.3;
/// On the way to a place: rate of turn per radian of heading error, and greatest rate of turn.
const TURN_GAIN_1_S: f64 = 1.0;
const GO_TURN_MAX_RAD_S: f64 = 0.3;
/// Least share of the speed while the heading is wrong, so that a rover that cannot turn on the spot turns too.
const SLOW_PART: f64 = 0.15;

/// A command to a rover.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Motion {
    /// Forward speed, m/s.
    pub(crate) forward_m_s: f64,
    /// Rate of turn to the left, rad/s.
    pub(crate) turn_rad_s: f64,
}

impl Motion {
    /// Refuses values beyond the limits, and those that are not numbers.
    pub(crate) fn check(self) -> Result<Self, String> {
        let is_speed = self.forward_m_s.abs() <= SPEED_MAX_M_S && self.turn_rad_s.abs() <= TURN_MAX_RAD_S;
        let allowed = || format!("must be at most {SPEED_MAX_M_S} m/s and {TURN_MAX_RAD_S} rad/s");
        if is_speed { Ok(self) } else { Err(allowed()) }
    }

    /// The motion from pose `map_from_base` toward a place in `map`; zero within [`ARRIVED_M`] of it.
    pub(crate) fn toward(map_from_base: &Pose, at_m: [f64; 2], speed_m_s: f64) -> Self {
        let [x, y] = [at_m[0] - map_from_base.translation.x, at_m[1] - map_from_base.translation.y];
        if x.hypot(y) <= ARRIVED_M {
            return Self::default();
        }
        let (sin, cos) = (y.atan2(x) - frames::yaw_rad(map_from_base)).sin_cos();
        let off_rad = sin.atan2(cos);
        Self {
            forward_m_s: speed_m_s * cos.max(SLOW_PART),
            turn_rad_s: (TURN_GAIN_1_S * off_rad).clamp(-GO_TURN_MAX_RAD_S, GO_TURN_MAX_RAD_S),
        }
    }

    fn twist(self) -> Twist {
        Twist {
            linear: Vector3 { x: self.forward_m_s, y: 0.0, z: 0.0 },
            angular: Vector3 { x: 0.0, y: 0.0, z: self.turn_rad_s },
        }
    }
}

/// The publisher of a rover's `cmd_vel`.
enum Commands {
    Stamped(Publisher<TwistStamped>),
    Unstamped(Publisher<Twist>),
}

impl Commands {
    fn open(transport: &dyn Transport, rover: &str, unstamped: bool) -> Result<Self, TransportError> {
        let topic = format!("{rover}/cmd_vel");
        Ok(match unstamped {
            true => Self::Unstamped(Publisher::new(transport, &topic, Qos::reliable())?),
            false => Self::Stamped(Publisher::new(transport, &topic, Qos::reliable())?),
        })
    }

    fn send(&self, motion: Motion, time: SimTime) -> Result<(), TransportError> {
        let twist = motion.twist();
        match self {
            Self::Stamped(publisher) => {
                publisher.publish(&TwistStamped { header: Header::new(time, frames::BASE_LINK), twist }, time)
            }
            Self::Unstamped(publisher) => publisher.publish(&twist, time),
        }
    }
}

/// A rover that has been driven from the console.
struct DrivenRover {
    commands: Commands,
    /// The client that drives it, and when its command expires.
    by: Option<(u64, Instant)>,
}

/// The rovers that clients of the console drive.
pub(crate) struct Drives {
    transport: Arc<dyn Transport>,
    unstamped: bool,
    rovers: Mutex<BTreeMap<String, DrivenRover>>,
}

impl Drives {
    /// No rovers yet.
    pub(crate) fn new(transport: Arc<dyn Transport>, unstamped: bool) -> Self {
        Self { transport, unstamped, rovers: Mutex::default() }
    }

    fn rovers(&self) -> MutexGuard<'_, BTreeMap<String, DrivenRover>> {
        self.rovers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a rover the motion that client `by` commands at wall time `now` and simulated time `time`.
    pub(crate) fn drive(
        &self,
        by: u64,
        rover: &str,
        motion: Motion,
        (now, time): (Instant, SimTime),
    ) -> Result<(), String> {
        let motion = motion.check()?;
        let mut rovers = self.rovers();
        let driven = match rovers.entry(rover.to_owned()) {
            Entry::Occupied(driven) => driven.into_mut(),
            Entry::Vacant(new) => {
                let commands = Commands::open(self.transport.as_ref(), rover, self.unstamped);
                new.insert(DrivenRover { commands: commands.map_err(|error| error.to_string())?, by: None })
            }
        };
        if driven.by.is_some_and(|(other, until)| other != by && until > now) {
            return Err("somebody else drives this rover".to_owned());
        }
        driven.commands.send(motion, time).map_err(|error| error.to_string())?;
        // A command to stand does not expire.
        driven.by = (motion != Motion::default()).then(|| (by, now + DEAD_MAN));
        Ok(())
    }

    /// Stops the rovers whose commands have expired.
    pub(crate) fn tend(&self, now: Instant, time: SimTime) {
        self.stop(time, |(_, until)| until <= now);
    }

    /// Stops the rovers that a client drives.
    pub(crate) fn release(&self, client: u64, time: SimTime) {
        self.stop(time, |(by, _)| by == client);
    }

    fn stop(&self, time: SimTime, which: impl Fn((u64, Instant)) -> bool) {
        for (rover, driven) in self.rovers().iter_mut().filter(|(_, driven)| driven.by.is_some_and(&which)) {
            driven.by = None;
            if let Err(error) = driven.commands.send(Motion::default(), time) {
                tracing::warn!("rover {rover} got no stop command, and stops when its last command is old: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEAD_MAN, Drives, Motion};
    use selene_base::{Pose, SimTime};
    use selene_ros::Qos;
    use selene_ros::geometry_msgs::TwistStamped;
    use selene_ros::in_process::InProcess;
    use selene_ros::transport::{Subscription, subscribe};
    use std::sync::{Arc, mpsc};
    use std::time::{Duration, Instant};

    const FORWARD: Motion = Motion { forward_m_s: 0.2, turn_rad_s: 0.0 };

    fn received(bus: &InProcess) -> (Subscription, mpsc::Receiver<f64>) {
        let (sender, speeds) = mpsc::channel();
        let on = move |message: TwistStamped| sender.send(message.twist.linear.x).unwrap();
        (subscribe(bus, "/viper/cmd_vel", Qos::reliable(), on).unwrap(), speeds)
    }

    #[test]
    fn a_rover_stops_when_its_driver_falls_silent_and_not_before() {
        let bus = InProcess::new();
        let (_subscription, speeds) = received(&bus);
        let drives = Drives::new(Arc::new(bus), false);
        let begun = Instant::now();
        drives.drive(1, "/viper", FORWARD, (begun, SimTime::ZERO)).unwrap();
        drives.tend(begun + DEAD_MAN - Duration::from_millis(1), SimTime::ZERO);
        assert_eq!(speeds.try_iter().collect::<Vec<_>>(), [0.2]);
        drives.tend(begun + DEAD_MAN, SimTime::ZERO);
        drives.tend(begun + 2 * DEAD_MAN, SimTime::ZERO);
        assert_eq!(speeds.try_iter().collect::<Vec<_>>(), [0.0]);
    }

    #[test]
    fn one_drives_at_a_time_and_who_leaves_stops_the_rover() {
        let bus = InProcess::new();
        let (_subscription, speeds) = received(&bus);
        let drives = Drives::new(Arc::new(bus), false);
        let at = (Instant::now(), SimTime::ZERO);
        drives.drive(1, "/viper", FORWARD, at).unwrap();
        assert!(drives.drive(2, "/viper", FORWARD, at).is_err_and(|why| why.contains("somebody else")));
        drives.release(2, SimTime::ZERO);
        drives.release(1, SimTime::ZERO);
        drives.drive(2, "/viper", FORWARD, at).unwrap();
        assert_eq!(speeds.try_iter().collect::<Vec<_>>(), [0.2, 0.0, 0.2]);
    }

    #[test]
    fn motions_of_no_rover_are_refused() {
        for (forward_m_s, turn_rad_s) in [(f64::NAN, 0.0), (6.0, 0.0), (0.0, f64::INFINITY)] {
            assert!(Motion { forward_m_s, turn_rad_s }.check().is_err());
        }
    }

    #[test]
    fn a_rover_turns_to_its_goal_and_stands_there() {
        let here = Pose::identity();
        let ahead = Motion::toward(&here, [5.0, 0.0], 0.2);
        assert_eq!((ahead.forward_m_s, ahead.turn_rad_s), (0.2, 0.0));
        let left = Motion::toward(&here, [0.0, 5.0], 0.2);
        assert!(left.turn_rad_s == 0.3 && left.forward_m_s < 0.05);
        assert!(Motion::toward(&here, [-5.0, -0.1], 0.2).turn_rad_s < 0.0, "the shorter way round");
        assert_eq!(Motion::toward(&here, [0.1, 0.2], 0.2), Motion::default());
    }
}

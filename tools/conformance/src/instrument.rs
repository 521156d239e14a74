//! Checks of instruments: magnetometers, inclinometers, velocities, Sun sensors, star trackers, loads, batteries,
//! temperatures, planar scans and the true state of wheels; and that each ground truth under `ground_truth/` matches
//! its sensor.

use std::f64::consts::PI;

use selene_base::SimTime;
use selene_ros::geometry_msgs::{QuaternionStamped, TwistStamped, Vector3Stamped, WrenchStamped};
use selene_ros::selene_msgs::{WheelContact, WheelStates};
use selene_ros::sensor_msgs::{BatteryState, LaserScan, MagneticField, Temperature};
use selene_ros::std_msgs::Header;

use crate::finding::Finding;
use crate::kind::Kind;
use crate::motion::{is_covariance, is_turn, vector};
use crate::sample::{Sample, frame_fault, those};
use crate::stream::Stream;

/// Largest deviation of a direction's length from 1.
const LENGTH_MAX: f64 = 1e-6;
/// Largest plausible field, T: no body in space has a stronger one, so a higher value has another unit.
const FIELD_MAX_T: f64 = 1.0;
const ABSOLUTE_ZERO_C: f64 = -273.15;
/// Largest difference between the number of rays and that given by the angles.
const RAYS_OFF: f64 = 0.5;
/// One in this many readings may lack its ground truth, which may be lost in transport.
const LOSS: usize = 5;

impl Sample for MagneticField {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let field_t = vector(&self.magnetic_field);
        let is_field = field_t.iter().all(|component| component.abs() < FIELD_MAX_T);
        let covariance = &self.magnetic_field_covariance;
        those([
            frame_fault(&self.header),
            (!is_field, format!("field {field_t:?} T")),
            (!is_covariance(covariance), format!("covariance {covariance:?}")),
        ])
    }
}

/// A tilt (x roll, y pitch, rad) or a unit direction.
impl Sample for Vector3Stamped {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, kind: Kind) -> Vec<String> {
        let [x, y, z] = vector(&self.vector);
        let is_good = match kind {
            Kind::Tilt => x.abs() <= PI && y.abs() <= PI && z == 0.0,
            _ => ((x * x + y * y + z * z).sqrt() - 1.0).abs() <= LENGTH_MAX,
        };
        those([frame_fault(&self.header), (!is_good, format!("vector {x}, {y}, {z}"))])
    }
}

impl Sample for TwistStamped {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, kind: Kind) -> Vec<String> {
        let moves = [vector(&self.twist.linear), vector(&self.twist.angular)];
        let is_finite = moves.as_flattened().iter().all(|value| value.is_finite());
        those([other_frame(&self.header, kind), (!is_finite, "numbers that are not finite".to_owned())])
    }
}

impl Sample for QuaternionStamped {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, kind: Kind) -> Vec<String> {
        let turn = &self.quaternion;
        those([other_frame(&self.header, kind), (!is_turn(turn), format!("quaternion {turn:?}"))])
    }
}

impl Sample for WrenchStamped {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let parts = [vector(&self.wrench.force), vector(&self.wrench.torque)];
        let is_finite = parts.as_flattened().iter().all(|value| value.is_finite());
        those([frame_fault(&self.header), (!is_finite, "numbers that are not finite".to_owned())])
    }
}

impl Sample for WheelContact {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        those([frame_fault(&self.header), (!self.load.is_finite(), format!("load {} N", self.load))])
    }
}

impl Sample for BatteryState {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { voltage, current, charge, percentage, .. } = self;
        let is_electric = [voltage, current, charge].iter().all(|value| value.is_finite());
        let is_known = self.power_supply_status <= Self::POWER_SUPPLY_STATUS_FULL
            && self.power_supply_health <= Self::POWER_SUPPLY_HEALTH_SAFETY_TIMER_EXPIRE
            && self.power_supply_technology <= Self::POWER_SUPPLY_TECHNOLOGY_VRLA;
        those([
            frame_fault(&self.header),
            (!is_electric, format!("{voltage} V, {current} A, {charge} A h")),
            (!(0.0..=1.0).contains(percentage), format!("percentage {percentage}")),
            (!is_known, "a status, a health or a technology that is not one of ROS".to_owned()),
        ])
    }
}

impl Sample for Temperature {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { temperature, variance, .. } = self;
        let is_good = temperature.is_finite() && *temperature >= ABSOLUTE_ZERO_C && *variance >= 0.0;
        those([frame_fault(&self.header), (!is_good, format!("{temperature} degrees, variance {variance}"))])
    }
}

impl Sample for LaserScan {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { angle_min, angle_max, angle_increment, ranges, intensities, range_min, range_max, .. } = self;
        let rays = f64::from(angle_max - angle_min) / f64::from(*angle_increment) + 1.0;
        let fits = (rays - ranges.len() as f64).abs() <= RAYS_OFF;
        let wrong = ranges.iter().filter(|range| range.is_nan() || **range < 0.0).count();
        those([
            frame_fault(&self.header),
            (!fits, format!("{} ranges from {angle_min} to {angle_max} by {angle_increment}", ranges.len())),
            (
                !intensities.is_empty() && intensities.len() != ranges.len(),
                format!("{} intensities", intensities.len()),
            ),
            (range_min.is_nan() || range_min >= range_max, format!("ranges from {range_min} to {range_max} m")),
            (wrong > 0, format!("{wrong} ranges below 0 or no number (REP-117)")),
        ])
    }
}

impl Sample for WheelStates {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let mut numbers = self.wheels.iter().flat_map(|wheel| {
            let loads = [vector(&wheel.force), vector(&wheel.torque)].concat();
            let scalars =
                [wheel.slip_ratio, wheel.slip_angle, wheel.sinkage, wheel.angular_velocity, wheel.drive_torque];
            loads.into_iter().chain(scalars)
        });
        let nameless = self.wheels.iter().filter(|wheel| wheel.name.is_empty()).count();
        those([
            (self.wheels.is_empty(), "no wheels".to_owned()),
            (nameless > 0, format!("{nameless} wheels without a name")),
            (numbers.any(|value: f64| !value.is_finite()), "numbers that are not finite".to_owned()),
        ])
    }

    fn names(&self) -> Vec<String> {
        self.wheels.iter().map(|wheel| wheel.name.clone()).collect()
    }
}

/// The fault of a frame other than that of messages of this kind.
fn other_frame(header: &Header, kind: Kind) -> (bool, String) {
    match kind.frame() {
        Some(frame) => (header.frame_id != frame, format!("frame_id {:?} and not {frame:?}", header.frame_id)),
        None => frame_fault(header),
    }
}

/// The topic of the sensor whose ground truth this is; `None` for other topics.
pub(crate) fn measured_topic(topic: &str) -> Option<String> {
    let (rover, sensor) = topic.split_once("/ground_truth/")?;
    sensor.contains('/').then(|| format!("{rover}/{sensor}"))
}

/// Checks that each reading has a ground truth with its stamp and frame. A sensor without a measurement publishes
/// nothing, but its ground truth does.
pub(crate) fn check_truth(topic: &str, truth: &Stream, measured: &Stream, kind: Kind) -> Finding {
    let (what, expected) = (format!("{topic} beside its sensor"), "one of the same stamp and frame for each reading");
    let stamps = |of: &Stream| of.arrivals.iter().map(|arrival| arrival.stamp).collect::<Vec<SimTime>>();
    let (reported, read) = (stamps(truth), stamps(measured));
    if read.is_empty() {
        let silent = "the sensor published nothing";
        return if kind.may_be_silent() {
            Finding::not_measured(what, silent, expected)
        } else {
            Finding::new(what, false, silent, expected)
        };
    }
    let (first, last) = (reported.iter().min(), reported.iter().max());
    // Readings at both ends are left out if their ground truth may have been sent before the subscription.
    let within: Vec<_> = read.iter().filter(|stamp| first <= Some(*stamp) && Some(*stamp) <= last).collect();
    let without = within.iter().filter(|stamp| !reported.contains(stamp)).count();
    let frames = if truth.frames == measured.frames { "the same frame" } else { "another frame" };
    let measured_text = format!("{} readings: {without} without one, {frames}", within.len());
    let holds = !within.is_empty() && without * LOSS <= within.len() && truth.frames == measured.frames;
    Finding::new(what, holds, measured_text, expected)
}

#[cfg(test)]
mod tests {
    use super::{check_truth, measured_topic};
    use crate::finding::Outcome;
    use crate::kind::Kind;
    use crate::sample::Sample;
    use crate::stream::Stream;
    use selene_base::SimTime;
    use selene_ros::geometry_msgs::{
        Quaternion, QuaternionStamped, TwistStamped, Vector3, Vector3Stamped, WrenchStamped,
    };
    use selene_ros::selene_msgs::{WheelContact, WheelState, WheelStates};
    use selene_ros::sensor_msgs::{BatteryState, LaserScan, MagneticField, Temperature};
    use selene_ros::std_msgs::Header;

    fn header(frame: &str) -> Header {
        Header::new(SimTime::ZERO, frame)
    }

    fn reported<M: Sample>(kind: Kind, mut message: M, change: impl FnOnce(&mut M)) -> String {
        change(&mut message);
        message.faults(kind).join("; ")
    }

    #[test]
    fn fields_are_in_tesla() {
        let good = || MagneticField {
            header: header("imu"),
            magnetic_field: Vector3 { x: 2e-7, ..Vector3::default() },
            ..MagneticField::default()
        };
        assert_eq!(reported(Kind::MagneticField, good(), |_| {}), "");
        assert!(reported(Kind::MagneticField, good(), |field| field.magnetic_field.x = 200.0).contains("200"));
        assert!(reported(Kind::MagneticField, good(), |field| field.magnetic_field.y = f64::NAN).contains("NaN"));
        assert!(
            reported(Kind::MagneticField, good(), |field| field.magnetic_field_covariance[4] = -2.0).contains("covar")
        );
    }

    #[test]
    fn a_tilt_has_no_heading_and_a_direction_has_length_1() {
        let of = |x, y, z| Vector3Stamped { header: header("imu"), vector: Vector3 { x, y, z } };
        assert_eq!(reported(Kind::Tilt, of(0.1, -0.2, 0.0), |_| {}), "");
        assert!(reported(Kind::Tilt, of(0.1, -0.2, 0.3), |_| {}).contains("0.3"), "a heading");
        assert!(reported(Kind::Tilt, of(5.7, 0.0, 0.0), |_| {}).contains("5.7"), "degrees");
        assert_eq!(reported(Kind::Direction, of(0.6, 0.0, 0.8), |_| {}), "");
        assert!(reported(Kind::Direction, of(0.6, 0.0, 0.9), |_| {}).contains("0.9"));
        assert!(reported(Kind::Direction, of(f64::NAN, 0.0, 1.0), |_| {}).contains("NaN"));
        assert!(reported(Kind::Direction, of(0.0, 0.0, 1.0), |d| d.header.frame_id.clear()).contains("frame_id"));
    }

    #[test]
    fn attitudes_and_velocities_are_in_frames_of_the_sky_and_of_the_map() {
        let turn =
            || QuaternionStamped { header: header("icrf"), quaternion: Quaternion { w: 1.0, x: 0.0, y: 0.0, z: 0.0 } };
        assert_eq!(reported(Kind::Attitude, turn(), |_| {}), "");
        assert!(reported(Kind::AttitudeInMap, turn(), |_| {}).contains("not \"map\""));
        assert!(reported(Kind::Attitude, turn(), |turn| turn.quaternion.w = 0.9).contains("quaternion"));
        let velocity = || TwistStamped { header: header("map"), ..TwistStamped::default() };
        assert_eq!(reported(Kind::Velocity, velocity(), |_| {}), "");
        assert!(reported(Kind::Velocity, velocity(), |v| v.header.frame_id = "gps".to_owned()).contains("gps"));
        assert!(reported(Kind::Velocity, velocity(), |v| v.twist.linear.x = f64::INFINITY).contains("finite"));
    }

    #[test]
    fn loads_are_finite_and_have_a_frame() {
        let wrench = || WrenchStamped { header: header("hub_frame"), ..WrenchStamped::default() };
        assert_eq!(reported(Kind::Wrench, wrench(), |_| {}), "");
        assert!(reported(Kind::Wrench, wrench(), |of| of.wrench.torque.y = f64::NAN).contains("finite"));
        let contact = || WheelContact { header: header("wheel"), in_contact: true, load: 180.0 };
        assert_eq!(reported(Kind::Contact, contact(), |_| {}), "");
        assert!(reported(Kind::Contact, contact(), |of| of.load = f64::NAN).contains("NaN"));
        assert!(reported(Kind::Contact, contact(), |of| of.header.frame_id.clear()).contains("frame_id"));
        let wheel = || WheelState { name: "front".to_owned(), ..WheelState::default() };
        let wheels = || WheelStates { header: header("base_link"), wheels: vec![wheel()] };
        assert_eq!(reported(Kind::Wheels, wheels(), |_| {}), "");
        assert_eq!(wheels().names(), ["front"]);
        assert!(reported(Kind::Wheels, wheels(), |of| of.wheels.clear()).contains("no wheels"));
        assert!(reported(Kind::Wheels, wheels(), |of| of.wheels[0].name.clear()).contains("without a name"));
        assert!(reported(Kind::Wheels, wheels(), |of| of.wheels[0].sinkage = f64::NAN).contains("finite"));
    }

    #[test]
    fn a_battery_s_charge_is_a_share_and_a_temperature_is_above_absolute_zero() {
        let battery = || BatteryState { header: header("base_link"), percentage: 0.9, ..BatteryState::default() };
        assert_eq!(reported(Kind::Battery, battery(), |_| {}), "");
        assert!(reported(Kind::Battery, battery(), |of| of.percentage = 90.0).contains("90"));
        assert!(reported(Kind::Battery, battery(), |of| of.voltage = f32::NAN).contains("NaN V"));
        assert!(reported(Kind::Battery, battery(), |of| of.power_supply_health = 9).contains("not one of ROS"));
        let plate = || Temperature { header: header("base_link"), temperature: -120.0, variance: 0.04 };
        assert_eq!(reported(Kind::Temperature, plate(), |_| {}), "");
        assert!(reported(Kind::Temperature, plate(), |of| of.temperature = -300.0).contains("-300"));
        assert!(reported(Kind::Temperature, plate(), |of| of.variance = f64::NAN).contains("NaN"));
    }

    #[test]
    fn a_scan_has_as_many_ranges_as_its_angles_say() {
        let scan = || LaserScan {
            header: header("lidar"),
            angle_min: 3.0,
            angle_max: -3.0,
            angle_increment: -0.01,
            range_min: 0.5,
            range_max: 100.0,
            ranges: vec![f32::INFINITY; 601],
            ..LaserScan::default()
        };
        assert_eq!(reported(Kind::Scan, scan(), |_| {}), "");
        assert!(reported(Kind::Scan, scan(), |of| of.ranges.truncate(599)).contains("599 ranges"));
        assert!(reported(Kind::Scan, scan(), |of| of.angle_increment = 0.0).contains("by 0"));
        assert!(reported(Kind::Scan, scan(), |of| of.intensities = vec![1.0]).contains("1 intensities"));
        assert!(reported(Kind::Scan, scan(), |of| of.range_max = 0.1).contains("to 0.1 m"));
        assert!(reported(Kind::Scan, scan(), |of| of.ranges[7] = f32::NAN).contains("1 ranges"));
    }

    /// A stream of temperatures at these times, ms.
    fn stream(frame: &str, stamps_ms: impl IntoIterator<Item = i64>) -> Stream {
        let mut stream = Stream::default();
        for ms in stamps_ms {
            let header = Header::new(SimTime::from_nanos(ms * 1_000_000), frame);
            stream.take(0.0, &Temperature { header, ..Temperature::default() }, Vec::new());
        }
        stream
    }

    #[test]
    fn a_truth_is_beside_its_sensor_with_its_stamps_and_its_frame() {
        assert_eq!(measured_topic("/viper/ground_truth/imu/data").as_deref(), Some("/viper/imu/data"));
        assert_eq!(measured_topic("/ground_truth/sun_sensor/direction").as_deref(), Some("/sun_sensor/direction"));
        assert_eq!((measured_topic("/ground_truth/odom"), measured_topic("/imu/data")), (None, None));
        let outcome = |truth: &Stream, measured: &Stream, kind| check_truth("/t", truth, measured, kind).outcome;
        let truth = stream("deck", (0..20).map(|i| 100 * i));
        assert_eq!(outcome(&truth, &stream("deck", (5..30).map(|i| 100 * i)), Kind::Temperature), Outcome::Ok);
        let seldom = stream("deck", (0..10).map(|i| 200 * i));
        assert_eq!(outcome(&truth, &seldom, Kind::Direction), Outcome::Ok, "it did not see the rest");
        assert_eq!(outcome(&seldom, &truth, Kind::Temperature), Outcome::Failed);
        assert_eq!(outcome(&truth, &stream("plate", [0, 100]), Kind::Temperature), Outcome::Failed);
        assert_eq!(outcome(&truth, &Stream::default(), Kind::Temperature), Outcome::Failed);
        assert_eq!(outcome(&truth, &Stream::default(), Kind::Direction), Outcome::NotMeasured);
    }
}

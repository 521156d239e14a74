//! Readings as ROS messages; each function gives none for readings of other kinds.
//!
//! - The attitude in `Imu` is the true one, its covariance zero ("unknown"), or none, the covariance's first element
//!   −1 (REP-145).
//! - Tilt is a `Vector3Stamped`: x roll, y pitch, rad; z is 0. There is no standard message of inclinometers. `Imu`
//!   would claim a heading and is what filters take for an inertial unit.

use selene_coherence::{to_quaternion, to_vector};
use selene_observe::Measured;
use selene_ros::geometry_msgs::{Quaternion, Vector3, Vector3Stamped};
use selene_ros::sensor_msgs::{Imu, MagneticField, NavSatFix, NavSatStatus};
use selene_ros::std_msgs::Header;

/// What is told in place of an attitude: a rotation, so that nobody divides by zero.
const LEVEL: Quaternion = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
/// The covariance that says that there is no estimate.
const NO_ESTIMATE: [f64; 9] = [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

pub(crate) fn imu(header: Header, measured: &Measured) -> Option<Imu> {
    let Measured::Imu(sample) = measured else { return None };
    let [gyro, accelerometer] = sample.white_variances;
    Some(Imu {
        header,
        orientation: sample.attitude.as_ref().map_or(LEVEL, to_quaternion),
        orientation_covariance: if sample.attitude.is_some() { [0.0; 9] } else { NO_ESTIMATE },
        angular_velocity: to_vector(&sample.angular_velocity_rad_s),
        angular_velocity_covariance: diagonal(gyro),
        linear_acceleration: to_vector(&sample.linear_acceleration_m_s2),
        linear_acceleration_covariance: diagonal(accelerometer),
    })
}

pub(crate) fn fix(header: Header, measured: &Measured) -> Option<NavSatFix> {
    let Measured::Fix(fix) = measured else { return None };
    Some(NavSatFix {
        header,
        status: NavSatStatus { status: NavSatStatus::STATUS_FIX, service: 0 },
        latitude: fix.latitude_deg,
        longitude: fix.longitude_deg,
        altitude: fix.altitude_m,
        position_covariance: fix.covariance_m2,
        position_covariance_type: NavSatFix::COVARIANCE_TYPE_DIAGONAL_KNOWN,
    })
}

pub(crate) fn magnetic_field(header: Header, measured: &Measured) -> Option<MagneticField> {
    let Measured::MagneticField(sample) = measured else { return None };
    Some(MagneticField {
        header,
        magnetic_field: to_vector(&sample.field_t),
        magnetic_field_covariance: diagonal(sample.white_variance_t2),
    })
}

pub(crate) fn tilt(header: Header, measured: &Measured) -> Option<Vector3Stamped> {
    let Measured::Tilt(tilt) = measured else { return None };
    Some(Vector3Stamped { header, vector: Vector3 { x: tilt.roll_rad, y: tilt.pitch_rad, z: 0.0 } })
}

fn diagonal(variance: f64) -> [f64; 9] {
    [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]
}

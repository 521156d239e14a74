//! Readings as ROS messages; each function gives none for readings of other kinds. The attitude in `Imu` is the
//! true one, its covariance zero ("unknown"): no attitude filter is modelled.

use selene_coherence::{to_quaternion, to_vector};
use selene_observe::Measured;
use selene_ros::sensor_msgs::{Imu, NavSatFix, NavSatStatus};
use selene_ros::std_msgs::Header;

pub(crate) fn imu(header: Header, measured: &Measured) -> Option<Imu> {
    let Measured::Imu(sample) = measured else { return None };
    let [gyro, accelerometer] = sample.white_variances;
    Some(Imu {
        header,
        orientation: to_quaternion(&sample.world_from_imu),
        orientation_covariance: [0.0; 9],
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

fn diagonal(variance: f64) -> [f64; 9] {
    [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]
}

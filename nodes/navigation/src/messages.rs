//! Readings as ROS messages. The attitude in `Imu` is the true one, its covariance
//! zero ("unknown"): no attitude filter is modelled.

use selene_coherence::{to_quaternion, to_vector};
use selene_observe::{ImuSample, PositionSample};
use selene_ros::sensor_msgs::{Imu, NavSatFix, NavSatStatus};
use selene_ros::std_msgs::Header;

pub(crate) fn imu(sample: &ImuSample) -> Imu {
    let [gyro, accelerometer] = sample.white_variances;
    Imu {
        header: Header::new(sample.stamp, &sample.frame),
        orientation: to_quaternion(&sample.world_from_imu),
        orientation_covariance: [0.0; 9],
        angular_velocity: to_vector(&sample.angular_velocity_rad_s),
        angular_velocity_covariance: diagonal(gyro),
        linear_acceleration: to_vector(&sample.linear_acceleration_m_s2),
        linear_acceleration_covariance: diagonal(accelerometer),
    }
}

pub(crate) fn fix(sample: &PositionSample) -> NavSatFix {
    NavSatFix {
        header: Header::new(sample.stamp, &sample.frame),
        status: NavSatStatus { status: NavSatStatus::STATUS_FIX, service: 0 },
        latitude: sample.fix.latitude_deg,
        longitude: sample.fix.longitude_deg,
        altitude: sample.fix.altitude_m,
        position_covariance: sample.fix.covariance_m2,
        position_covariance_type: NavSatFix::COVARIANCE_TYPE_DIAGONAL_KNOWN,
    }
}

fn diagonal(variance: f64) -> [f64; 9] {
    [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]
}

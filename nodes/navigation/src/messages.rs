//! Readings as ROS messages. The attitude in `Imu` is the true one, its covariance
//! zero ("unknown"): no attitude filter is modelled.

use selene_base::SimTime;
use selene_coherence::{to_quaternion, to_vector};
use selene_ros::sensor_msgs::{Imu, NavSatFix, NavSatStatus};
use selene_ros::std_msgs::Header;
use selene_sensors::{Fix, ImuReading};

pub(crate) fn imu(frame: &str, reading: &ImuReading, white_variances: [f64; 2], time: SimTime) -> Imu {
    let [gyro, accelerometer] = white_variances;
    Imu {
        header: Header::new(time, frame),
        orientation: to_quaternion(&reading.world_from_imu),
        orientation_covariance: [0.0; 9],
        angular_velocity: to_vector(&reading.angular_velocity),
        angular_velocity_covariance: diagonal(gyro),
        linear_acceleration: to_vector(&reading.linear_acceleration),
        linear_acceleration_covariance: diagonal(accelerometer),
    }
}

pub(crate) fn fix(frame: &str, fix: &Fix, time: SimTime) -> NavSatFix {
    NavSatFix {
        header: Header::new(time, frame),
        status: NavSatStatus { status: NavSatStatus::STATUS_FIX, service: 0 },
        latitude: fix.latitude_deg,
        longitude: fix.longitude_deg,
        altitude: fix.altitude_m,
        position_covariance: fix.covariance_m2,
        position_covariance_type: NavSatFix::COVARIANCE_TYPE_DIAGONAL_KNOWN,
    }
}

fn diagonal(variance: f64) -> [f64; 9] {
    [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]
}

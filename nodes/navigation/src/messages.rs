//! Conversion of readings to ROS messages; each function returns `None` for readings of other kinds.
//!
//! - The attitude in `Imu` is either the true one with covariance zero ("unknown"), or absent, with −1 as the
//!   covariance's first element (REP-145).
//! - Tilt is a `Vector3Stamped` with x roll, y pitch, rad, and z 0. ROS has no standard message for inclinometers;
//!   `Imu` would claim a heading, and filters would take the sensor for an inertial unit.

use selene_base::frames;
use selene_coherence::{to_pose, to_quaternion, to_vector};
use selene_observe::Measured;
use selene_ros::geometry_msgs::{
    PoseWithCovariance, Quaternion, QuaternionStamped, Twist, TwistStamped, TwistWithCovariance, Vector3,
    Vector3Stamped, Wrench, WrenchStamped,
};
use selene_ros::nav_msgs::Odometry;
use selene_ros::selene_msgs::WheelContact;
use selene_ros::sensor_msgs::{BatteryState, Imu, JointState, MagneticField, NavSatFix, NavSatStatus, Temperature};
use selene_ros::std_msgs::Header;
use selene_sensors::BatteryHealth;

/// Placeholder for an absent attitude: a valid rotation, so that no subscriber divides by zero.
const LEVEL: Quaternion = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
/// The covariance that marks an absent estimate.
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

/// Without service, the receiver continues with `STATUS_NO_FIX`, as drivers do (`nmea_navsat_driver`), without position
/// and covariance.
pub(crate) fn fix(header: Header, measured: &Measured) -> Option<NavSatFix> {
    let Measured::Fix(fix) = measured else { return None };
    let Some(place) = fix.place else {
        return Some(NavSatFix {
            header,
            status: NavSatStatus { status: NavSatStatus::STATUS_NO_FIX, service: 0 },
            latitude: f64::NAN,
            longitude: f64::NAN,
            altitude: f64::NAN,
            position_covariance: [0.0; 9],
            position_covariance_type: NavSatFix::COVARIANCE_TYPE_UNKNOWN,
        });
    };
    Some(NavSatFix {
        header,
        status: NavSatStatus { status: NavSatStatus::STATUS_FIX, service: 0 },
        latitude: place.latitude_deg,
        longitude: place.longitude_deg,
        altitude: place.altitude_m,
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

/// Velocity to the east, north and up, m/s, in the axes of `map`, whatever the antenna's attitude. `None` without
/// service.
pub(crate) fn velocity(header: Header, measured: &Measured) -> Option<TwistStamped> {
    let Measured::Fix(fix) = measured else { return None };
    let linear = to_vector(&fix.velocity_m_s?);
    let header = Header { frame_id: frames::MAP.to_owned(), ..header };
    Some(TwistStamped { header, twist: Twist { linear, ..Twist::default() } })
}

pub(crate) fn joints(header: Header, measured: &Measured) -> Option<JointState> {
    let Measured::Joints(sample) = measured else { return None };
    Some(JointState {
        // Joints have no frame, so joint states have none.
        header: Header { frame_id: String::new(), ..header },
        name: sample.names.clone(),
        position: sample.position.clone(),
        velocity: sample.velocity.clone(),
        effort: sample.effort.clone(),
    })
}

pub(crate) fn odometry(header: Header, measured: &Measured) -> Option<Odometry> {
    let Measured::Odometry(sample) = measured else { return None };
    let of = &sample.reading;
    let planar = |covariance: &nalgebra::Matrix3<f64>| planar_covariance(covariance, of.unmeasured_variance);
    Some(Odometry {
        header: Header { frame_id: sample.odom_frame.clone(), ..header },
        child_frame_id: sample.base_frame.clone(),
        pose: PoseWithCovariance { pose: to_pose(&of.odom_from_base), covariance: planar(&of.pose_covariance) },
        twist: TwistWithCovariance {
            twist: Twist {
                linear: Vector3 { x: of.twist.x, y: of.twist.y, z: 0.0 },
                angular: Vector3 { x: 0.0, y: 0.0, z: of.twist.z },
            },
            covariance: planar(&of.twist_covariance),
        },
    })
}

/// Expands a 3×3 covariance of x, y and yaw to ROS's 6×6 one of x, y, z and rotations about x, y and z, row by row.
fn planar_covariance(of: &nalgebra::Matrix3<f64>, unmeasured: f64) -> [f64; 36] {
    const PLACES: [usize; 3] = [0, 1, 5];
    let mut covariance = [0.0; 36];
    for (row, place) in PLACES.into_iter().enumerate() {
        for (column, other) in PLACES.into_iter().enumerate() {
            covariance[6 * place + other] = of[(row, column)];
        }
    }
    for place in 2..5 {
        covariance[7 * place] = unmeasured;
    }
    covariance
}

pub(crate) fn battery(header: Header, measured: &Measured) -> Option<BatteryState> {
    let Measured::Battery(of) = measured else { return None };
    let health = match of.health {
        BatteryHealth::Good => BatteryState::POWER_SUPPLY_HEALTH_GOOD,
        BatteryHealth::Overloaded => BatteryState::POWER_SUPPLY_HEALTH_UNSPEC_FAILURE,
        BatteryHealth::Empty => BatteryState::POWER_SUPPLY_HEALTH_DEAD,
    };
    let is_empty = of.health == BatteryHealth::Empty;
    Some(BatteryState {
        header,
        voltage: of.voltage_v as f32,
        temperature: f32::NAN,
        current: -of.current_a as f32,
        charge: of.charge_ah as f32,
        capacity: of.capacity_ah as f32,
        design_capacity: of.capacity_ah as f32,
        percentage: (of.charge_ah / of.capacity_ah) as f32,
        power_supply_status: if is_empty {
            BatteryState::POWER_SUPPLY_STATUS_NOT_CHARGING
        } else {
            BatteryState::POWER_SUPPLY_STATUS_DISCHARGING
        },
        power_supply_health: health,
        power_supply_technology: BatteryState::POWER_SUPPLY_TECHNOLOGY_UNKNOWN,
        present: true,
        ..BatteryState::default()
    })
}

pub(crate) fn temperature(header: Header, measured: &Measured) -> Option<Temperature> {
    let Measured::Temperature(of) = measured else { return None };
    Some(Temperature { header, temperature: of.celsius, variance: of.variance_k2 })
}

/// A unit vector instead of a pose or two angles: TF can rotate it into any frame, and a fusion filter can use it
/// directly. It is in the sensor's frame, whose z axis is the boresight.
pub(crate) fn sun_direction(header: Header, measured: &Measured) -> Option<Vector3Stamped> {
    let Measured::SunDirection(direction) = measured else { return None };
    Some(Vector3Stamped { header, vector: to_vector(direction) })
}

/// The attitude of the sensor in the ICRF: the quaternion rotates vectors from the sensor's frame to `icrf`, the
/// header's frame, which TF does not have.
pub(crate) fn attitude_in_icrf(header: Header, measured: &Measured) -> Option<QuaternionStamped> {
    let Measured::StarAttitude(attitude) = measured else { return None };
    Some(attitude_in("icrf", header, to_quaternion(&attitude.icrf_from_sensor)))
}

/// The same attitude in the map frame.
pub(crate) fn attitude_in_map(header: Header, measured: &Measured) -> Option<QuaternionStamped> {
    let Measured::StarAttitude(attitude) = measured else { return None };
    Some(attitude_in(frames::MAP, header, to_quaternion(&attitude.map_from_sensor)))
}

fn attitude_in(frame: &str, header: Header, quaternion: Quaternion) -> QuaternionStamped {
    let header = Header { frame_id: frame.to_owned(), ..header };
    QuaternionStamped { header, quaternion }
}

pub(crate) fn contact(header: Header, measured: &Measured) -> Option<WheelContact> {
    let Measured::Contact(contact) = measured else { return None };
    Some(WheelContact { header, in_contact: contact.in_contact, load: contact.load_n })
}

pub(crate) fn wrench(header: Header, measured: &Measured) -> Option<WrenchStamped> {
    let Measured::Load(load) = measured else { return None };
    let wrench = Wrench { force: to_vector(&load.force), torque: to_vector(&load.torque) };
    Some(WrenchStamped { header, wrench })
}

fn diagonal(variance: f64) -> [f64; 9] {
    [variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance]
}

#[cfg(test)]
mod tests {
    use super::{fix, planar_covariance, velocity};
    use nalgebra::Matrix3;
    use selene_observe::Measured;
    use selene_ros::sensor_msgs::{NavSatFix, NavSatStatus};
    use selene_ros::std_msgs::Header;
    use selene_sensors::Fix;

    #[test]
    fn without_service_a_fix_says_so_and_has_no_place_and_no_velocity() {
        let none = Measured::Fix(Fix { place: None, covariance_m2: [1.0; 9], velocity_m_s: None });
        let reported = fix(Header::default(), &none).expect("a fix");
        assert_eq!(reported.status.status, NavSatStatus::STATUS_NO_FIX);
        assert!(reported.latitude.is_nan() && reported.longitude.is_nan() && reported.altitude.is_nan());
        assert_eq!(reported.position_covariance_type, NavSatFix::COVARIANCE_TYPE_UNKNOWN);
        assert!(velocity(Header::default(), &none).is_none());
    }

    #[test]
    fn planar_covariances_sit_where_ros_has_x_y_and_yaw() {
        let reported = planar_covariance(&Matrix3::new(1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0), 9.0);
        let at = |row: usize, column: usize| reported[6 * row + column];
        assert_eq!([at(0, 0), at(0, 1), at(0, 5), at(1, 1), at(1, 5), at(5, 5)], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!([at(5, 0), at(2, 2), at(3, 3), at(4, 4), at(2, 0)], [3.0, 9.0, 9.0, 9.0, 0.0]);
    }
}

//! The kinds of topics in the contract, identified by the end of their names below the rover's prefix, with their type
//! and the quality of service of a subscription. A best-effort subscription also receives from reliable publishers, so
//! a sensor set to `reliable` is received too.

use selene_ros::geometry_msgs::{QuaternionStamped, TwistStamped, Vector3Stamped, WrenchStamped};
use selene_ros::qos::{Durability, Reliability};
use selene_ros::radar_msgs::RadarScan;
use selene_ros::selene_msgs::{WheelContact, WheelStates};
use selene_ros::sensor_msgs::{
    BatteryState, CameraInfo, CompressedImage, Image, Imu, JointState, LaserScan, MagneticField, NavSatFix,
    PointCloud2, Range, Temperature,
};
use selene_ros::{Message, Qos, nav_msgs};

/// Depth of the subscription's queue, for times when this process is busy.
const DEPTH: usize = 100;
/// Rate of joint states, odometry, wheels and transforms, Hz.
pub(crate) const TRUTH_RATE_HZ: f64 = 50.0;

/// A kind of topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// State of all joints of the rover.
    JointStates,
    /// The true odometry.
    Odometry,
    Wheels,
    Image,
    /// An image of depths.
    Depth,
    Compressed,
    CameraInfo,
    Points,
    /// An image of a lidar, which has no calibration.
    LidarImage,
    Scan,
    Imu,
    MagneticField,
    Tilt,
    Fix,
    RadarScan,
    Range,
    Velocity,
    /// Readings of encoders or torque sensors.
    Joints,
    /// Odometry by dead reckoning.
    WheelOdometry,
    Battery,
    Temperature,
    Direction,
    Attitude,
    AttitudeInMap,
    Contact,
    Wrench,
}

impl Kind {
    /// The kind of a topic, given its name below the rover's prefix; `None` if the contract does not name it.
    pub(crate) fn of(topic: &str) -> Option<Self> {
        match topic {
            "/joint_states" => return Some(Self::JointStates),
            "/ground_truth/odom" => return Some(Self::Odometry),
            "/ground_truth/wheels" => return Some(Self::Wheels),
            _ => {}
        }
        if topic.ends_with("/depth/image_rect_raw") {
            return Some(Self::Depth);
        }
        if topic.ends_with("/image_raw/compressed") {
            return Some(Self::Compressed);
        }
        match topic.rsplit('/').next()? {
            "image" | "image_raw" | "image_rect" | "image_rect_color" => Some(Self::Image),
            "camera_info" => Some(Self::CameraInfo),
            "points" => Some(Self::Points),
            "range_image" | "intensity_image" => Some(Self::LidarImage),
            "scan" => Some(Self::Scan),
            "data" => Some(Self::Imu),
            "mag" => Some(Self::MagneticField),
            "tilt" => Some(Self::Tilt),
            "fix" => Some(Self::Fix),
            "radar_scan" => Some(Self::RadarScan),
            "range" => Some(Self::Range),
            "vel" => Some(Self::Velocity),
            "joint_states" | "joint_torques" => Some(Self::Joints),
            "odom" => Some(Self::WheelOdometry),
            "state" => Some(Self::Battery),
            "temperature" => Some(Self::Temperature),
            "direction" => Some(Self::Direction),
            "attitude" => Some(Self::Attitude),
            "attitude_in_map" => Some(Self::AttitudeInMap),
            "contact" => Some(Self::Contact),
            "wrench" => Some(Self::Wrench),
            _ => None,
        }
    }

    /// Quality of service of a subscription.
    pub(crate) fn qos(self) -> Qos {
        let requested = if self.rate_hz().is_some() { Qos::reliable() } else { Qos::sensor_data() };
        Qos { depth: DEPTH, ..requested }
    }

    /// Its rate in the contract, Hz, if there is one.
    pub(crate) fn rate_hz(self) -> Option<f64> {
        matches!(self, Self::JointStates | Self::Odometry | Self::Wheels).then_some(TRUTH_RATE_HZ)
    }

    /// The frame of its headers, if it is not the sensor's own. `icrf` is not a frame of TF.
    pub(crate) fn frame(self) -> Option<&'static str> {
        match self {
            Self::Attitude => Some("icrf"),
            Self::AttitudeInMap | Self::Velocity => Some("map"),
            _ => None,
        }
    }

    /// Whether its frame is one of TF.
    pub(crate) fn is_in_tf(self) -> bool {
        self != Self::Attitude
    }

    /// Whether it may be silent while its sensor has no measurement.
    pub(crate) fn may_be_silent(self) -> bool {
        matches!(self, Self::Direction | Self::Attitude | Self::AttitudeInMap | Self::Velocity)
    }

    /// Type and quality of service as text.
    pub(crate) fn offer(self) -> String {
        offer(self.type_name(), self.qos())
    }

    /// Description of a valid message.
    pub(crate) fn good(self) -> &'static str {
        match self {
            Self::JointStates | Self::Joints => "as many finite values as names",
            Self::Odometry | Self::WheelOdometry => "a finite pose, a turn of length 1, a child frame",
            Self::Wheels => "finite numbers of named wheels",
            Self::Image => "a known encoding, step x height bytes",
            Self::Depth => "32FC1 above 0 m, NaN or infinite (REP-118), or 16UC1; step x height bytes",
            Self::Compressed => "a JPEG or PNG, as its format says",
            Self::CameraInfo => "K, R, P of a camera of this size, D as its model has it",
            Self::Points => "x y z as FLOAT32, fields within point_step, row_step x height bytes",
            Self::LidarImage => "32FC1, step x height bytes",
            Self::Scan => "as many ranges as its angles say, none below 0 (REP-117)",
            Self::Imu => "finite values, covariances by REP-145",
            Self::MagneticField => "a field in T, a covariance",
            Self::Tilt => "roll and pitch in rad, z 0",
            Self::Fix => "a place on a sphere, a known status, no negative variance",
            Self::RadarScan => "finite values, no range below 0 m",
            Self::Range => "a range within its limits, or infinite (REP-117)",
            Self::Velocity => "finite, in map",
            Self::Battery => "finite numbers, a percentage of 0 to 1, states of ROS",
            Self::Temperature => "above absolute zero, a variance",
            Self::Direction => "a vector of length 1",
            Self::Attitude => "a turn of length 1 in icrf",
            Self::AttitudeInMap => "a turn of length 1 in map",
            Self::Contact => "a finite load",
            Self::Wrench => "a finite force and torque",
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::JointStates | Self::Joints => JointState::TYPE_NAME,
            Self::Odometry | Self::WheelOdometry => nav_msgs::Odometry::TYPE_NAME,
            Self::Wheels => WheelStates::TYPE_NAME,
            Self::Image | Self::Depth | Self::LidarImage => Image::TYPE_NAME,
            Self::Compressed => CompressedImage::TYPE_NAME,
            Self::CameraInfo => CameraInfo::TYPE_NAME,
            Self::Points => PointCloud2::TYPE_NAME,
            Self::Scan => LaserScan::TYPE_NAME,
            Self::Imu => Imu::TYPE_NAME,
            Self::MagneticField => MagneticField::TYPE_NAME,
            Self::Tilt | Self::Direction => Vector3Stamped::TYPE_NAME,
            Self::Fix => NavSatFix::TYPE_NAME,
            Self::RadarScan => RadarScan::TYPE_NAME,
            Self::Range => Range::TYPE_NAME,
            Self::Velocity => TwistStamped::TYPE_NAME,
            Self::Battery => BatteryState::TYPE_NAME,
            Self::Temperature => Temperature::TYPE_NAME,
            Self::Attitude | Self::AttitudeInMap => QuaternionStamped::TYPE_NAME,
            Self::Contact => WheelContact::TYPE_NAME,
            Self::Wrench => WrenchStamped::TYPE_NAME,
        }
    }
}

/// A type and the least quality of service as text.
pub(crate) fn offer(type_name: &str, qos: Qos) -> String {
    let reliability = match qos.reliability {
        Reliability::Reliable => "reliable",
        Reliability::BestEffort => "best effort or reliable",
    };
    let durability = match qos.durability {
        Durability::TransientLocal => ", transient local",
        Durability::Volatile => "",
    };
    format!("messages of {type_name}, {reliability}{durability}")
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_topic_s_kind_is_the_end_of_its_name() {
        for (topic, kind) in [
            ("/joint_states", Some(Kind::JointStates)),
            ("/ground_truth/odom", Some(Kind::Odometry)),
            ("/ground_truth/wheels", Some(Kind::Wheels)),
            ("/wheel_encoders/joint_states", Some(Kind::Joints)),
            ("/ground_truth/wheel_encoders/joint_states", Some(Kind::Joints)),
            ("/wheel_odometry/odom", Some(Kind::WheelOdometry)),
            ("/lidar/range_image", Some(Kind::LidarImage)),
            ("/star_tracker/attitude_in_map", Some(Kind::AttitudeInMap)),
            ("/ground_truth/inclinometer/tilt", Some(Kind::Tilt)),
            ("/navcam_left/depth/image_rect_raw", Some(Kind::Depth)),
            ("/navcam_left/image_raw/compressed", Some(Kind::Compressed)),
            ("/navcam_left/image_rect", Some(Kind::Image)),
            ("/navcam_left/segmentation/image", Some(Kind::Image)),
            ("/imu/data", Some(Kind::Imu)),
            ("/radar/radar_scan", Some(Kind::RadarScan)),
            ("/ground_truth/altimeter/range", Some(Kind::Range)),
            ("/cmd_vel", None),
            ("/selene/run1/world_state", None),
        ] {
            assert_eq!(Kind::of(topic), kind, "{topic}");
        }
    }

    #[test]
    fn a_star_trackers_attitude_is_in_no_frame_of_tf() {
        assert_eq!((Kind::Attitude.frame(), Kind::Attitude.is_in_tf()), (Some("icrf"), false));
        assert_eq!((Kind::AttitudeInMap.frame(), Kind::AttitudeInMap.is_in_tf()), (Some("map"), true));
        assert!(Kind::Direction.may_be_silent() && !Kind::Temperature.may_be_silent());
    }

    #[test]
    fn sensors_are_received_whatever_their_reliability() {
        assert!(Kind::Image.offer().contains("sensor_msgs/msg/Image, best effort or reliable"));
        assert!(Kind::JointStates.offer().ends_with("sensor_msgs/msg/JointState, reliable"));
    }
}

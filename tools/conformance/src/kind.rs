//! The kinds of topics that the contract names, by the end of their names, with the type and the quality of service
//! that a subscriber asks for. A subscriber that asks for less hears more, so that a sensor set to `reliable` is heard
//! too.

use selene_ros::qos::{Durability, Reliability};
use selene_ros::radar_msgs::RadarScan;
use selene_ros::sensor_msgs::{CameraInfo, CompressedImage, Image, Imu, JointState, NavSatFix, PointCloud2, Range};
use selene_ros::{Message, Qos, nav_msgs};

/// Messages kept for us while a thread of ours is busy.
const DEPTH: usize = 100;
/// Rate of joint states, odometry and transforms, Hz.
pub(crate) const TRUTH_RATE_HZ: f64 = 50.0;

/// A kind of topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    JointStates,
    Odometry,
    Image,
    /// An image of distances.
    Depth,
    Compressed,
    CameraInfo,
    Points,
    Imu,
    Fix,
    RadarScan,
    Range,
}

impl Kind {
    /// Of the topic of this name; none where the contract says nothing of it.
    pub(crate) fn of(topic: &str) -> Option<Self> {
        if topic.ends_with("/depth/image_rect_raw") {
            return Some(Self::Depth);
        }
        if topic.ends_with("/image_raw/compressed") {
            return Some(Self::Compressed);
        }
        match topic.rsplit('/').next()? {
            "joint_states" => Some(Self::JointStates),
            "odom" => Some(Self::Odometry),
            "image" | "image_raw" | "image_rect" | "image_rect_color" => Some(Self::Image),
            "camera_info" => Some(Self::CameraInfo),
            "points" => Some(Self::Points),
            "data" => Some(Self::Imu),
            "fix" => Some(Self::Fix),
            "radar_scan" => Some(Self::RadarScan),
            "range" => Some(Self::Range),
            _ => None,
        }
    }

    /// What a subscriber asks for.
    pub(crate) fn qos(self) -> Qos {
        let asked = if self.rate_hz().is_some() { Qos::reliable() } else { Qos::sensor_data() };
        Qos { depth: DEPTH, ..asked }
    }

    /// Its rate, where the contract gives one, Hz.
    pub(crate) fn rate_hz(self) -> Option<f64> {
        matches!(self, Self::JointStates | Self::Odometry).then_some(TRUTH_RATE_HZ)
    }

    /// Type and quality of service, in words.
    pub(crate) fn offer(self) -> String {
        offer(self.type_name(), self.qos())
    }

    /// What a good message is, in words.
    pub(crate) fn good(self) -> &'static str {
        match self {
            Self::JointStates => "as many finite values as names",
            Self::Odometry => "a finite pose, a turn of length 1, a child frame",
            Self::Image => "a known encoding, step x height bytes",
            Self::Depth => "32FC1 above 0 m, NaN or infinite (REP-118), or 16UC1; step x height bytes",
            Self::Compressed => "a JPEG or PNG, as its format says",
            Self::CameraInfo => "K, R, P of a camera of this size, D as its model has it",
            Self::Points => "x y z as FLOAT32, fields within point_step, row_step x height bytes",
            Self::Imu => "finite values, covariances by REP-145",
            Self::Fix => "a place on a sphere, a known status, no negative variance",
            Self::RadarScan => "finite values, no range below 0 m",
            Self::Range => "a range within its limits, or infinite (REP-117)",
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::JointStates => JointState::TYPE_NAME,
            Self::Odometry => nav_msgs::Odometry::TYPE_NAME,
            Self::Image | Self::Depth => Image::TYPE_NAME,
            Self::Compressed => CompressedImage::TYPE_NAME,
            Self::CameraInfo => CameraInfo::TYPE_NAME,
            Self::Points => PointCloud2::TYPE_NAME,
            Self::Imu => Imu::TYPE_NAME,
            Self::Fix => NavSatFix::TYPE_NAME,
            Self::RadarScan => RadarScan::TYPE_NAME,
            Self::Range => Range::TYPE_NAME,
        }
    }
}

/// A type and the least quality of service, in words.
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
            ("/viper/ground_truth/odom", Some(Kind::Odometry)),
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
    fn sensors_are_heard_whatever_their_reliability() {
        assert!(Kind::Image.offer().contains("sensor_msgs/msg/Image, best effort or reliable"));
        assert!(Kind::JointStates.offer().ends_with("sensor_msgs/msg/JointState, reliable"));
    }
}

//! Types of ROS 2 messages, services and actions. Their only source are the texts under `interfaces/` (standard
//! packages, as in ROS 2 Jazzy) and in the repository's `msgs/` (`selene_msgs`). The build script generates from each
//! text its Rust struct, its [`Message::DEFINITION`] and its [`Message::TYPE_HASH`], so that the encoding always agrees
//! with what bags and peers learn about it.
//!
//! Each package has a module: [`sensor_msgs::Image`]. Fields keep the order and names of the text; `uint8[]` is
//! `Vec<u8>` and encodes in one copy. Services and actions are in submodules: [`std_srvs::srv::SetBool`] pairs
//! [`std_srvs::srv::SetBoolRequest`] with [`std_srvs::srv::SetBoolResponse`].

use selene_base::SimTime;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A ROS 2 message, or a part of a service or action.
pub trait Message: Serialize + DeserializeOwned + Clone + Send + 'static {
    /// Full name of the type, such as `sensor_msgs/msg/Image` or `std_srvs/srv/SetBool_Request`.
    const TYPE_NAME: &'static str;
    /// The type's text, followed by those of all types that it depends on, each after a line of 80 `=` and a line
    /// `MSG: package/Type` (schema encoding `ros2msg`).
    const DEFINITION: &'static str;
    /// `RIHS01_` and 64 hexadecimal digits (REP-2016), by which peers check that their types have the same fields.
    const TYPE_HASH: &'static str;
}

/// Name, definition and hash of a message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// [`Message::TYPE_NAME`].
    pub type_name: &'static str,
    /// [`Message::DEFINITION`].
    pub definition: &'static str,
    /// [`Message::TYPE_HASH`].
    pub type_hash: &'static str,
}

impl Interface {
    /// The interface of message type `M`.
    #[must_use]
    pub const fn of<M: Message>() -> Self {
        Self { type_name: M::TYPE_NAME, definition: M::DEFINITION, type_hash: M::TYPE_HASH }
    }
}

include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));

impl From<SimTime> for builtin_interfaces::Time {
    fn from(time: SimTime) -> Self {
        let (sec, nanosec) = time.sec_nanosec();
        Self { sec, nanosec }
    }
}

impl From<builtin_interfaces::Time> for SimTime {
    fn from(time: builtin_interfaces::Time) -> Self {
        Self::from_sec_nanosec(time.sec, time.nanosec)
    }
}

impl std_msgs::Header {
    /// A header stamped `time` in `frame`.
    #[must_use]
    pub fn new(time: SimTime, frame: &str) -> Self {
        Self { stamp: time.into(), frame_id: frame.to_owned() }
    }
}

/// Serialization of arrays longer than serde's limit of 32 as CDR requires: elements without a count.
mod array {
    use std::fmt;

    use serde::de::{Error, SeqAccess, Visitor};
    use serde::ser::SerializeTuple;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer, const N: usize>(
        values: &[f64; N],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(N)?;
        values.iter().try_for_each(|value| tuple.serialize_element(value))?;
        tuple.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<[f64; N], D::Error> {
        deserializer.deserialize_tuple(N, Elements::<N>)
    }

    struct Elements<const N: usize>;

    impl<'de, const N: usize> Visitor<'de> for Elements<N> {
        type Value = [f64; N];

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{N} numbers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut values = [0.0; N];
            for (index, value) in values.iter_mut().enumerate() {
                *value = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(index, &self))?;
            }
            Ok(values)
        }
    }
}

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests {
    use super::{
        INTERFACES, Interface, Message, builtin_interfaces, geometry_msgs, sensor_msgs, simulation_interfaces,
        std_msgs, std_srvs,
    };
    use crate::action::Action;
    use crate::service::Service;
    use selene_base::SimTime;

    /// Hashes that ROS 2 Jazzy installs (`share/PACKAGE/msg/NAME.json`), for nested messages, fixed arrays, bytes,
    /// bounded sequences and bounded strings.
    const HASHES: [(&str, &str); 11] = [
        ("std_msgs/msg/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"),
        ("geometry_msgs/msg/TwistStamped", "5f0fcd4f81d5d06ad9b4c4c63e3ea51b82d6ae4d0558f1d475229b1121db6f64"),
        ("sensor_msgs/msg/Image", "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"),
        ("sensor_msgs/msg/PointCloud2", "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"),
        ("sensor_msgs/msg/Imu", "7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"),
        ("nav_msgs/msg/Odometry", "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0"),
        ("tf2_msgs/msg/TFMessage", "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"),
        ("rosgraph_msgs/msg/Clock", "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564"),
        ("rcl_interfaces/msg/ParameterValue", "115fc089a387e23c7ecd3525c9189c379109119d6ab82e8dfbde0fdf6a7f9b68"),
        ("rcl_interfaces/msg/ParameterDescriptor", "52175dbfda6c51153101d33d2a9da05743f66f02d5ab2ca9ec4709b46b73d704"),
        (
            "type_description_interfaces/msg/FieldType",
            "a70b6dd919645a03a3586f7f821defbc886ea3e531a1d95cc0f380a3973ccaa6",
        ),
    ];

    #[test]
    fn a_definition_is_the_text_and_then_each_dependency_once() {
        let rule = "=".repeat(80);
        let expected = format!(
            "# When and in which frame data was taken.\n\nbuiltin_interfaces/Time stamp\nstring frame_id\n{rule}\n\
             MSG: builtin_interfaces/Time\n# A point in time: whole seconds and the nanoseconds within the second.\n\n\
             int32 sec\nuint32 nanosec\n"
        );
        assert_eq!(std_msgs::Header::DEFINITION, expected);
        for Interface { type_name, definition, .. } in INTERFACES {
            let parts: Vec<&str> = definition.split(&format!("{rule}\nMSG: ")).collect();
            let mut titles: Vec<&str> = parts[1..].iter().filter_map(|part| part.lines().next()).collect();
            titles.sort_unstable();
            titles.dedup();
            assert_eq!(titles.len(), parts.len() - 1, "{type_name}");
        }
    }

    #[test]
    fn names_are_package_msg_type_and_every_type_is_listed_once() {
        assert_eq!(sensor_msgs::Image::TYPE_NAME, "sensor_msgs/msg/Image");
        let mut names: Vec<&str> = INTERFACES.iter().map(|interface| interface.type_name).collect();
        assert!(names.iter().all(|name| name.split('/').nth(1) == Some("msg")));
        names.dedup();
        assert_eq!(names.len(), INTERFACES.len());
    }

    #[test]
    fn services_and_actions_are_named_as_on_the_ros_graph() {
        use simulation_interfaces::action::{SimulateSteps, SimulateStepsFeedback, SimulateStepsGoal};
        use std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
        assert_eq!(SetBool::TYPE_NAME, "std_srvs/srv/SetBool");
        let parts = [SetBoolRequest::TYPE_NAME, SetBoolResponse::TYPE_NAME];
        assert_eq!(parts, ["std_srvs/srv/SetBool_Request", "std_srvs/srv/SetBool_Response"]);
        assert_eq!(SetBoolResponse::DEFINITION, "bool success\nstring message\n");
        assert_eq!(SimulateSteps::TYPE_NAME, "simulation_interfaces/action/SimulateSteps");
        assert_eq!(SimulateStepsGoal::TYPE_NAME, "simulation_interfaces/action/SimulateSteps_Goal");
        assert_eq!(SimulateStepsFeedback::DEFINITION, "uint64 completed_steps\nuint64 remaining_steps\n");
    }

    #[test]
    fn type_hashes_are_those_of_ros_2() {
        use std_srvs::srv::TriggerRequest;
        let hash_of = |name: &str| INTERFACES.iter().find(|known| known.type_name == name).unwrap().type_hash;
        for (type_name, of_ros) in HASHES {
            assert_eq!(hash_of(type_name), format!("RIHS01_{of_ros}"), "{type_name}");
        }
        let without_fields = "RIHS01_d010825374ce8918e72bfd826c82603e60f45419e932ea976f807b74a863a199";
        let of_an_action = "RIHS01_275e6fd2fafc5d33dcdc83bdea6de5cf29f30b9df74a3b9514a8c5d501fd0fe3";
        let send_goal = simulation_interfaces::action::SimulateStepsSendGoalRequest::TYPE_HASH;
        assert_eq!((TriggerRequest::TYPE_HASH, send_goal), (without_fields, of_an_action));
    }

    #[test]
    fn constants_belong_to_the_part_that_names_them() {
        use simulation_interfaces::srv::{ResetSimulationRequest, SpawnEntityResponse};
        assert_eq!((ResetSimulationRequest::SCOPE_ALL, SpawnEntityResponse::INVALID_POSE), (255, 109));
        assert_eq!(simulation_interfaces::Result::RESULT_FEATURE_UNSUPPORTED, 0_u8);
        assert_eq!(simulation_interfaces::srv::StepSimulationRequest::default().steps, 1);
    }

    #[test]
    fn defaults_are_those_of_the_msg_text() {
        assert_eq!(geometry_msgs::Quaternion::default().w, 1.0);
        assert_eq!(geometry_msgs::PoseWithCovariance::default().pose.orientation.w, 1.0);
        assert_eq!(sensor_msgs::NavSatStatus::default().status, sensor_msgs::NavSatStatus::STATUS_UNKNOWN);
    }

    #[test]
    fn a_stamp_is_the_simulated_time() {
        let time = SimTime::from_nanos(12_345_678_901);
        let stamp = builtin_interfaces::Time::from(time);
        assert_eq!((stamp.sec, stamp.nanosec), (12, 345_678_901));
        assert_eq!(SimTime::from(stamp), time);
    }
}

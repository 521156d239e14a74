//! ROS 2 messages. One source: the `.msg` texts under `interfaces/` (standard
//! packages, as in ROS 2 Jazzy) and in the repository's `msgs/` (`selene_msgs`).
//! The build script makes from each text its Rust struct and its
//! [`Message::DEFINITION`], so that what is encoded and what a bag says about
//! it cannot drift apart.
//!
//! Types live in a module per package: [`sensor_msgs::Image`]. Fields keep the
//! order and names of the text; `uint8[]` is `Vec<u8>` and encodes in one copy.

use selene_base::SimTime;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A ROS 2 message.
pub trait Message: Serialize + DeserializeOwned + Clone + Send + 'static {
    /// `sensor_msgs/msg/Image`.
    const TYPE_NAME: &'static str;
    /// The type's `.msg` text followed by those of all types it depends on, each
    /// after a line of 80 `=` and a line `MSG: package/Type` (schema encoding
    /// `ros2msg`).
    const DEFINITION: &'static str;
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

/// Arrays longer than serde's 32, as CDR wants them: elements without a count.
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
    use super::{INTERFACES, Message, builtin_interfaces, geometry_msgs, sensor_msgs, std_msgs};
    use selene_base::SimTime;

    #[test]
    fn a_definition_is_the_text_and_then_each_dependency_once() {
        let rule = "=".repeat(80);
        let expected = format!(
            "# When and in which frame data was taken.\n\nbuiltin_interfaces/Time stamp\nstring frame_id\n{rule}\n\
             MSG: builtin_interfaces/Time\n# A point in time: whole seconds and the nanoseconds within the second.\n\n\
             int32 sec\nuint32 nanosec\n"
        );
        assert_eq!(std_msgs::Header::DEFINITION, expected);
        for (name, definition) in INTERFACES {
            let parts: Vec<&str> = definition.split(&format!("{rule}\nMSG: ")).collect();
            let mut titles: Vec<&str> = parts[1..].iter().filter_map(|part| part.lines().next()).collect();
            titles.sort_unstable();
            titles.dedup();
            assert_eq!(titles.len(), parts.len() - 1, "{name}");
        }
    }

    #[test]
    fn names_are_package_msg_type_and_every_type_is_listed_once() {
        assert_eq!(sensor_msgs::Image::TYPE_NAME, "sensor_msgs/msg/Image");
        let mut names: Vec<&str> = INTERFACES.iter().map(|(name, _)| *name).collect();
        assert!(names.iter().all(|name| name.split('/').nth(1) == Some("msg")));
        names.dedup();
        assert_eq!(names.len(), INTERFACES.len());
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

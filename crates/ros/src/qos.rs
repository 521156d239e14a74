//! Quality of service and the names of topics.
//!
//! The profiles are those users expect (REP-2003 and the `rmw` presets): a
//! best-effort publisher never matches a reliable subscriber, a volatile one
//! never matches a transient-local subscriber. History is always "keep last".
//! Names follow `rmw_validate_full_topic_name`.

use crate::message::Message;

/// The longest topic name a ROS 2 middleware takes, characters.
const NAME_LENGTH_MAX: usize = 247;

/// Whether lost samples are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reliability {
    /// Lost samples stay lost.
    BestEffort,
    /// Lost samples are sent again while they are kept.
    Reliable,
}

/// Whether late subscribers get what was sent before they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// They do not.
    Volatile,
    /// They get the kept samples.
    TransientLocal,
}

/// Quality of service of one topic, history "keep last".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qos {
    /// Whether lost samples are sent again.
    pub reliability: Reliability,
    /// Whether late subscribers get what was sent before.
    pub durability: Durability,
    /// Samples kept, at least 1.
    pub depth: usize,
}

impl Qos {
    /// Sensors: best effort, volatile, the last 5.
    #[must_use]
    pub const fn sensor_data() -> Self {
        Self { reliability: Reliability::BestEffort, durability: Durability::Volatile, depth: 5 }
    }

    /// `/clock`: best effort, volatile, the last one.
    #[must_use]
    pub const fn clock() -> Self {
        Self { depth: 1, ..Self::sensor_data() }
    }

    /// The ROS 2 default: reliable, volatile, the last 10.
    #[must_use]
    pub const fn reliable() -> Self {
        Self { reliability: Reliability::Reliable, durability: Durability::Volatile, depth: 10 }
    }

    /// `/tf_static`, `/robot_description`: reliable, transient local, the last one.
    #[must_use]
    pub const fn latched() -> Self {
        Self { durability: Durability::TransientLocal, depth: 1, ..Self::reliable() }
    }

    /// The world's state between nodes: reliable, volatile, the last 1000, so
    /// that a slow participant misses no terrain edit.
    #[must_use]
    pub const fn state() -> Self {
        Self { depth: 1000, ..Self::reliable() }
    }

    /// The YAML text that rosbag2 keeps as `offered_qos_profiles` (metadata
    /// versions up to 8: enumerators as numbers, unlimited spans).
    #[must_use]
    pub fn rosbag2_yaml(&self) -> String {
        let reliability = match self.reliability {
            Reliability::Reliable => 1,
            Reliability::BestEffort => 2,
        };
        let durability = match self.durability {
            Durability::TransientLocal => 1,
            Durability::Volatile => 2,
        };
        let unlimited = "\n    sec: 9223372036\n    nsec: 854775807";
        format!(
            "- history: 1\n  depth: {}\n  reliability: {reliability}\n  durability: {durability}\n  \
             deadline:{unlimited}\n  lifespan:{unlimited}\n  liveliness: 1\n  \
             liveliness_lease_duration:{unlimited}\n  avoid_ros_namespace_conventions: false",
            self.depth
        )
    }
}

/// A topic: what travels under which name and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Full name, `/viper/odom`.
    pub name: String,
    /// Type, `nav_msgs/msg/Odometry`.
    pub type_name: &'static str,
    /// The type's `ros2msg` text with all that it depends on.
    pub definition: &'static str,
    /// Quality of service.
    pub qos: Qos,
}

impl Topic {
    /// The topic `name` of messages `M`.
    ///
    /// # Errors
    /// When `name` is not a full ROS 2 topic name.
    pub fn new<M: Message>(name: impl Into<String>, qos: Qos) -> Result<Self, TopicError> {
        let name = name.into();
        match name_fault(&name) {
            Some(fault) => Err(TopicError { name, fault }),
            None => Ok(Self { name, type_name: M::TYPE_NAME, definition: M::DEFINITION, qos }),
        }
    }
}

/// A topic name that ROS 2 would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("topic name {name:?} {fault}; a full name reads like \"/viper/imu/data\"")]
pub struct TopicError {
    name: String,
    fault: &'static str,
}

fn name_fault(name: &str) -> Option<&'static str> {
    let Some(relative) = name.strip_prefix('/') else {
        return Some("does not begin with \"/\"");
    };
    if name.chars().count() > NAME_LENGTH_MAX {
        return Some("is longer than 247 characters");
    }
    relative.split('/').find_map(token_fault)
}

fn token_fault(token: &str) -> Option<&'static str> {
    match token.chars().next() {
        None => Some("has nothing between or after its slashes"),
        Some(first) if first.is_ascii_digit() => Some("has a part that begins with a digit"),
        Some(_) => token
            .contains(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .then_some("has characters other than letters, digits, \"_\" and \"/\""),
    }
}

#[cfg(test)]
mod tests {
    use super::{Qos, Topic};
    use crate::std_msgs;

    fn refusal(name: &str) -> Option<String> {
        Topic::new::<std_msgs::Bool>(name, Qos::reliable()).err().map(|e| e.to_string())
    }

    #[test]
    fn full_names_are_taken_and_others_refused_with_the_reason() {
        for good in ["/clock", "/viper/imu/data", "/_hidden/a_1"] {
            assert_eq!(refusal(good), None);
        }
        let long = format!("/{}", "a".repeat(247));
        for (bad, reason) in [
            ("clock", "begin"),
            ("", "begin"),
            ("/", "nothing"),
            ("/a//b", "nothing"),
            ("/a/", "nothing"),
            ("/a/1b", "digit"),
            ("/a b", "characters"),
            ("/~/a", "characters"),
            ("/é", "characters"),
            (long.as_str(), "247"),
        ] {
            let message = refusal(bad).expect(bad);
            assert!(message.contains(reason) && message.contains(&format!("{bad:?}")), "{message}");
        }
    }

    #[test]
    fn the_bag_text_has_the_enumerators_of_rmw() {
        let text = Qos::latched().rosbag2_yaml();
        assert!(text.starts_with("- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"), "{text}");
        let text = Qos::sensor_data().rosbag2_yaml();
        assert!(text.starts_with("- history: 1\n  depth: 5\n  reliability: 2\n  durability: 2\n"), "{text}");
    }
}

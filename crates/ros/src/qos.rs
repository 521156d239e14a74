//! Quality of service, and the names of topics and services.
//!
//! The profiles are those that users expect (REP-2003 and the `rmw` presets): a best-effort publisher never matches a
//! reliable subscriber, and a volatile one never matches a transient-local subscriber. History is always "keep last".
//! Names follow `rmw_validate_full_topic_name`.

use crate::message::{INTERFACES, Interface, Message};

/// Maximum length of a ROS 2 name, characters.
const NAME_LENGTH_MAX: usize = 247;

/// Whether lost samples are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reliability {
    /// Lost samples stay lost.
    BestEffort,
    /// Lost samples are sent again while they are kept.
    Reliable,
}

/// Whether late subscribers get messages that were sent before they joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Late subscribers do not get them.
    Volatile,
    /// Late subscribers get the kept samples.
    TransientLocal,
}

/// Quality of service of one topic, history "keep last".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qos {
    /// Whether lost samples are sent again.
    pub reliability: Reliability,
    /// Whether late subscribers get messages that were sent before they joined.
    pub durability: Durability,
    /// Number of samples kept, at least 1.
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

    /// `/rosout`: reliable, transient local, the last 1000. ROS's own also has a lifespan of 10 s.
    #[must_use]
    pub const fn rosout() -> Self {
        Self { depth: 1000, ..Self::latched() }
    }

    /// The world's state between nodes: reliable, volatile, the last 1000, so that a slow participant misses no terrain
    /// edit.
    #[must_use]
    pub const fn state() -> Self {
        Self { depth: 1000, ..Self::reliable() }
    }
}

/// A topic: its name, message type and quality of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Full name, such as `/viper/odom`.
    pub name: String,
    /// Full name of the type, such as `nav_msgs/msg/Odometry`.
    pub type_name: &'static str,
    /// The type's `ros2msg` text with all that it depends on.
    pub definition: &'static str,
    /// The type's hash ([`Message::TYPE_HASH`]).
    pub type_hash: &'static str,
    /// Quality of service.
    pub qos: Qos,
}

impl Topic {
    /// The topic `name` of messages `M`.
    ///
    /// # Errors
    /// When `name` is not a full ROS 2 topic name.
    pub fn new<M: Message>(name: impl Into<String>, qos: Qos) -> Result<Self, TopicError> {
        let name = checked_name(name.into())?;
        let Interface { type_name, definition, type_hash } = Interface::of::<M>();
        Ok(Self { name, type_name, definition, type_hash, qos })
    }

    /// The topic `name` for a message type given by name; `None` if Selene does not have that type.
    ///
    /// # Errors
    /// When `name` is not a full ROS 2 topic name.
    pub fn of_type(name: &str, type_name: &str, qos: Qos) -> Result<Option<Self>, TopicError> {
        let name = checked_name(name.to_owned())?;
        let known = INTERFACES.iter().find(|known| known.type_name == type_name);
        Ok(known.map(|&Interface { type_name, definition, type_hash }| Self {
            name,
            type_name,
            definition,
            type_hash,
            qos,
        }))
    }
}

/// Returns a full name of a topic, service or node unchanged if ROS 2 accepts it.
///
/// # Errors
/// When it is not a full name.
pub fn checked_name(name: String) -> Result<String, TopicError> {
    match name_fault(&name) {
        Some(fault) => Err(TopicError { name, fault }),
        None => Ok(name),
    }
}

/// A name of a topic or service that ROS 2 would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("name {name:?} {fault}; a full name reads like \"/viper/imu/data\"")]
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
}

//! Quality of service as rosbag2 stores it, a list of profiles in YAML: with the enumerators of `rmw` as numbers up to
//! metadata version 8, as words from version 9 on. Unlimited durations are `RMW_DURATION_INFINITE`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::options::MetadataVersion;
use crate::qos::{Durability, Qos, Reliability};

/// `depth` of profiles that give none.
const DEPTH: usize = 10;

/// A list with one profile.
pub(super) fn written(qos: Qos, version: MetadataVersion) -> String {
    let words = version == MetadataVersion::Current;
    let either = |number, word| if words { word } else { number };
    let reliability = match qos.reliability {
        Reliability::Reliable => either("1", "reliable"),
        Reliability::BestEffort => either("2", "best_effort"),
    };
    let durability = match qos.durability {
        Durability::TransientLocal => either("1", "transient_local"),
        Durability::Volatile => either("2", "volatile"),
    };
    let (history, liveliness) = (either("1", "keep_last"), either("1", "automatic"));
    let unlimited = "\n    sec: 9223372036\n    nsec: 854775807";
    format!(
        "- history: {history}\n  depth: {}\n  reliability: {reliability}\n  durability: {durability}\n  \
         deadline:{unlimited}\n  lifespan:{unlimited}\n  liveliness: {liveliness}\n  \
         liveliness_lease_duration:{unlimited}\n  avoid_ros_namespace_conventions: false",
        qos.depth
    )
}

/// The first profile of a list; `None` if there is none, or the text is no such list. What a profile leaves to the
/// middleware is read as ROS 2's default: reliable and volatile.
pub(super) fn read(text: &str) -> Option<Qos> {
    let profiles: Vec<Profile> = serde_yaml::from_str(text).ok()?;
    let Profile { depth, reliability, durability } = profiles.into_iter().next()?;
    Some(Qos {
        reliability: match reliability.0.as_str() {
            "2" | "best_effort" => Reliability::BestEffort,
            _ => Reliability::Reliable,
        },
        durability: match durability.0.as_str() {
            "1" | "transient_local" => Durability::TransientLocal,
            _ => Durability::Volatile,
        },
        depth: depth.filter(|depth| *depth > 0).unwrap_or(DEPTH),
    })
}

/// The fields of a profile that are used here.
#[derive(Deserialize)]
struct Profile {
    depth: Option<usize>,
    reliability: Policy,
    durability: Policy,
}

/// An enumerator, by number or by word.
struct Policy(String);

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrWord)
    }
}

struct NumberOrWord;

impl Visitor<'_> for NumberOrWord {
    type Value = Policy;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a policy as number or word")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Policy, E> {
        Ok(Policy(number.to_string()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Policy, E> {
        Ok(Policy(number.to_string()))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Policy, E> {
        Ok(Policy(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{MetadataVersion, read, written};
    use crate::qos::{Durability, Qos, Reliability};

    #[test]
    fn the_text_has_the_enumerators_of_rmw() {
        let text = written(Qos::latched(), MetadataVersion::Humble);
        assert!(text.starts_with("- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"), "{text}");
        let text = written(Qos::sensor_data(), MetadataVersion::Humble);
        assert!(text.starts_with("- history: 1\n  depth: 5\n  reliability: 2\n  durability: 2\n"), "{text}");
        let text = written(Qos::clock(), MetadataVersion::Current);
        let words = "- history: keep_last\n  depth: 1\n  reliability: best_effort\n  durability: volatile\n";
        assert!(text.starts_with(words) && text.contains("liveliness: automatic"), "{text}");
    }

    #[test]
    fn what_is_written_is_read_in_both_versions() {
        for version in [MetadataVersion::Humble, MetadataVersion::Current] {
            for qos in [Qos::latched(), Qos::sensor_data(), Qos::clock(), Qos::state()] {
                assert_eq!(read(&written(qos, version)), Some(qos), "{version:?}");
            }
        }
    }

    #[test]
    fn what_is_left_to_the_middleware_is_the_default_and_no_list_is_none() {
        let text = "- {history: system_default, depth: 0, reliability: system_default, durability: unknown}";
        let default = Qos { reliability: Reliability::Reliable, durability: Durability::Volatile, depth: 10 };
        assert_eq!(read(text), Some(default));
        for none in ["", "[]", "reliable", "- 1", "{"] {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}

//! Lockstep with external programs: topics for which simulated time waits. At every multiple of a topic's period,
//! simulated time holds until the topic has a message that answers what was published until then, or until a timeout
//! of wall time; `nodes/simulation` says which messages answer. A topic without a leading slash is the rover's.

use std::collections::BTreeSet;
use std::time::Duration;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{YamlFile, within};
use selene_base::{InputError, SimTime};
use serde::Deserialize;

use crate::scenario::rover::RoverSetup;
use crate::scenario::spec::RoverEntrySpec;

/// Maximum number of topics of one list.
pub(crate) const AWAITED_MAX: usize = 64;
/// Maximum number of characters of a topic or a type.
const LENGTH_MAX: usize = 200;
/// Wall time that a hold waits for a message, s.
const TIMEOUT_S: f64 = 2.0;
/// Wall time that the first hold waits for a topic's first message, s.
const START_TIMEOUT_S: f64 = 30.0;

/// Error about a topic without a leading slash beside a list of rovers.
const OF_NO_ROVER: &str =
    "beside `rovers` belongs to none of them: begin it with a slash, or put it into an entry of `rovers`";

/// A topic for which simulated time waits.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LockstepSpec {
    /// The topic; without a leading slash it is under the rover's namespace.
    #[garde(custom(topic_name))]
    pub topic: String,
    /// Its type, such as `geometry_msgs/msg/TwistStamped`; needed unless Selene takes commands on the topic.
    #[garde(inner(custom(type_name)))]
    #[serde(default)]
    pub r#type: Option<String>,
    /// Simulated time between two holds, s: not shorter than any heartbeat.
    #[garde(custom(within(0.01, 3600.0)))]
    pub period_s: f64,
    /// By how much an answer's stamp may precede the held instant, s: less than the period, so that a message answers
    /// only one hold.
    #[garde(custom(shorter_than(self.period_s)))]
    #[serde(default)]
    pub lag_s: f64,
    /// Wall time that a hold waits, s.
    #[garde(custom(within(0.001, 3600.0)))]
    #[serde(default = "timeout_s")]
    pub timeout_s: f64,
    /// Wall time that the first hold waits for the topic's first message, s. Thereafter simulated time is not held for
    /// the topic until it has a message.
    #[garde(custom(within(0.001, 3600.0)))]
    #[serde(default = "start_timeout_s")]
    pub start_timeout_s: f64,
}

/// A topic for which simulated time waits, with its full name.
#[derive(Clone, Debug, PartialEq)]
pub struct AwaitedTopic {
    /// Full name, `/viper/cmd_vel`.
    pub name: String,
    /// Its type, if the scenario gives one.
    pub type_name: Option<String>,
    /// Simulated time between two holds.
    pub period: SimTime,
    /// By how much an answer's stamp may precede the held instant.
    pub lag: SimTime,
    /// Wall time that a hold waits.
    pub timeout: Duration,
    /// Wall time that the first hold waits for the first message.
    pub start_timeout: Duration,
}

impl LockstepSpec {
    fn named(&self, name: String) -> AwaitedTopic {
        AwaitedTopic {
            name,
            type_name: self.r#type.clone(),
            period: SimTime::from_secs_f64(self.period_s),
            lag: SimTime::from_secs_f64(self.lag_s),
            timeout: Duration::from_secs_f64(self.timeout_s),
            start_timeout: Duration::from_secs_f64(self.start_timeout_s),
        }
    }
}

/// All topics for which simulated time waits: those of the world, and those of each rover. `specs` and `rovers` have
/// the same order; `file` is that of the scenario.
pub(crate) fn awaited(
    of_world: &[LockstepSpec],
    specs: &[RoverEntrySpec],
    rovers: &[RoverSetup],
    file: &YamlFile,
) -> Result<Vec<AwaitedTopic>, InputError> {
    let refuse = |place: &str, topic: &str, what: &str| Err(file.refusal(place, format!("topic {topic} {what}")));
    let mut topics = Vec::new();
    for (i, spec) in of_world.iter().enumerate() {
        let place = format!("lockstep[{i}].topic");
        if !spec.topic.starts_with('/') {
            return refuse(&place, &spec.topic, OF_NO_ROVER);
        }
        topics.push((place, spec.named(spec.topic.clone())));
    }
    for (spec, rover) in specs.iter().zip(rovers) {
        for (i, awaited) in spec.lockstep.iter().enumerate() {
            let place = spec.place(&format!("lockstep[{i}].topic"));
            topics.push((place, awaited.named(rover.topic(&awaited.topic))));
        }
    }
    let mut known = BTreeSet::new();
    match topics.iter().find(|(_, topic)| !known.insert(&topic.name)) {
        Some((place, topic)) => refuse(place, &topic.name, "is there twice; topics must differ"),
        None => Ok(topics.into_iter().map(|(_, topic)| topic).collect()),
    }
}

fn timeout_s() -> f64 {
    TIMEOUT_S
}

fn start_timeout_s() -> f64 {
    START_TIMEOUT_S
}

/// Whether `text` is a valid part of a ROS 2 name.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn topic_name(name: &str, (): &()) -> garde::Result {
    let relative = name.strip_prefix('/').unwrap_or(name);
    if name.len() <= LENGTH_MAX && relative.split('/').all(is_word) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value '{name}' is not allowed: must be a topic, such as cmd_vel or /viper/cmd_vel")))
}

fn type_name(name: &str, (): &()) -> garde::Result {
    let words: Vec<&str> = name.split('/').collect();
    if name.len() <= LENGTH_MAX && words.len() == 3 && words[1] == "msg" && words.into_iter().all(is_word) {
        return Ok(());
    }
    let allowed = "must be a message type, such as geometry_msgs/msg/TwistStamped";
    Err(garde::Error::new(format!("value '{name}' is not allowed: {allowed}")))
}

fn shorter_than(period_s: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |lag_s, ()| {
        if (0.0..period_s).contains(lag_s) {
            return Ok(());
        }
        Err(garde::Error::new(format!(
            "value {lag_s} is not allowed: must be 0 or more and less than period_s ({period_s})"
        )))
    }
}

#[cfg(test)]
mod tests {
    use crate::{LoadOptions, Scenario, ScenarioError};
    use selene_base::SimTime;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    fn file(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/scenario/{name}.yaml"))
    }

    /// A shipped scenario with `more` text at its end.
    fn with(name: &str, more: &str, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
        let text = std::fs::read_to_string(file(name)).expect("a scenario");
        Scenario::parse(&format!("{text}{more}"), &file(name), options)
    }

    fn names(scenario: &Scenario) -> Vec<&str> {
        scenario.lockstep.iter().map(|topic| topic.name.as_str()).collect()
    }

    #[test]
    fn a_topic_without_a_slash_is_the_rovers_and_the_rest_has_defaults() {
        let more = "lockstep:\n  - {topic: cmd_vel, period_s: 0.1}\n  - {topic: /plan, type: nav_msgs/msg/Path, \
                    period_s: 0.5, lag_s: 0.2, timeout_s: 1.5, start_timeout_s: 5}\n";
        let scenario = with("polar", more, &LoadOptions::default()).expect("good");
        assert_eq!(names(&scenario), ["/cmd_vel", "/plan"]);
        let [first, second] = &scenario.lockstep[..] else { panic!("two topics") };
        assert_eq!((first.period, first.lag), (SimTime::from_nanos(100_000_000), SimTime::ZERO));
        assert_eq!((first.timeout, first.start_timeout), (Duration::from_secs(2), Duration::from_secs(30)));
        assert_eq!(second.type_name.as_deref(), Some("nav_msgs/msg/Path"));
        assert_eq!((second.lag, second.timeout), (SimTime::from_nanos(200_000_000), Duration::from_millis(1500)));
        let options = LoadOptions { namespace: Some("scout".to_owned()), ..LoadOptions::default() };
        assert_eq!(names(&with("polar", more, &options).expect("good")), ["/scout/cmd_vel", "/plan"]);
    }

    #[test]
    fn in_a_list_of_rovers_each_has_its_own_and_the_world_those_with_a_slash() {
        let text = std::fs::read_to_string(file("convoy")).expect("a scenario");
        let text = text.replace(
            "    file: ../rover/ex1.yaml\n",
            "    file: ../rover/ex1.yaml\n    lockstep: [{topic: cmd_vel, period_s: 0.1}]\n",
        );
        let load = |more: &str| Scenario::parse(&format!("{text}{more}"), &file("convoy"), &LoadOptions::default());
        let world = "lockstep: [{topic: /viper/cmd_vel, period_s: 0.2}]\n";
        assert_eq!(names(&load(world).expect("good")), ["/viper/cmd_vel", "/ex1/cmd_vel"]);
        for (more, part) in [
            ("lockstep: [{topic: cmd_vel, period_s: 0.2}]\n", "belongs to none of them"),
            ("lockstep: [{topic: /ex1/cmd_vel, period_s: 0.2}]\n", "/ex1/cmd_vel is there twice"),
        ] {
            let error = load(more).expect_err(part).to_string();
            assert!(error.contains(part) && error.contains("convoy.yaml"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_waited_for_is_refused_with_file_line_and_what_is_allowed() {
        let lines = std::fs::read_to_string(file("polar")).expect("a scenario").lines().count();
        for (entry, parts) in [
            ("topic: cmd vel, period_s: 0.1", ["'cmd vel'", "such as cmd_vel"]),
            ("topic: /a//b, period_s: 0.1", ["'/a//b'", "must be a topic"]),
            ("topic: cmd_vel, period_s: 0.001", ["0.001", "0.01 to 3600"]),
            ("topic: cmd_vel, period_s: .nan", ["NaN", "0.01 to 3600"]),
            ("topic: cmd_vel, period_s: 0.1, lag_s: 0.1", ["lag_s", "less than period_s (0.1)"]),
            ("topic: cmd_vel, period_s: 0.1, timeout_s: 0", ["timeout_s", "0.001 to 3600"]),
            ("topic: cmd_vel, period_s: 0.1, type: Twist", ["'Twist'", "geometry_msgs/msg/TwistStamped"]),
            ("topic: cmd_vel, period: 0.1", ["period", "polar.yaml"]),
        ] {
            let more = format!("lockstep:\n  - {{{entry}}}\n");
            let error = with("polar", &more, &LoadOptions::default()).expect_err(entry).to_string();
            let line = format!("line {}", lines + 2);
            for part in parts.into_iter().chain(["polar.yaml", &line]) {
                assert!(error.contains(part), "'{part}' is missing in: {error}");
            }
        }
    }
}

//! Filter of the recorded topics: those whose names match a pattern, except those that match another one. A pattern is
//! a regular expression that matches anywhere in the name, as with `ros2 bag record --regex`. Topics between Selene's
//! own nodes have a switch of their own instead of patterns.

use std::str::FromStr;

use regex_lite::Regex;

/// Prefix of the names of topics between Selene's own nodes.
pub const INTERNAL_TOPICS: &str = "/selene/";

/// Whether a topic is between Selene's own nodes.
#[must_use]
pub fn is_internal(topic: &str) -> bool {
    topic.starts_with(INTERNAL_TOPICS)
}

/// A regular expression for topic names.
#[derive(Clone, Debug)]
pub struct TopicPattern(Regex);

/// A text that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a regular expression, such as '^/navcam' or 'odom|imu': {0}")]
pub struct PatternError(String);

impl TopicPattern {
    /// Whether it matches anywhere in the name.
    #[must_use]
    pub fn matches(&self, topic: &str) -> bool {
        self.0.is_match(topic)
    }

    /// The expression as typed.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for TopicPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Regex::new(text).map(Self).map_err(|error| PatternError(error.to_string()))
    }
}

/// Which topics are recorded; by default all except those between Selene's own nodes.
#[derive(Clone, Debug, Default)]
pub struct TopicFilter {
    /// If not empty, only topics that match one of these are recorded.
    pub include: Vec<TopicPattern>,
    /// Topics that match one of these are not recorded.
    pub exclude: Vec<TopicPattern>,
    /// Whether topics between Selene's own nodes are recorded, whatever the patterns say.
    pub internal: bool,
}

impl TopicFilter {
    /// Whether a topic is recorded.
    #[must_use]
    pub fn admits(&self, topic: &str) -> bool {
        if is_internal(topic) {
            return self.internal;
        }
        let matches = |patterns: &[TopicPattern]| patterns.iter().any(|pattern| pattern.matches(topic));
        (self.include.is_empty() || matches(&self.include)) && !matches(&self.exclude)
    }

    /// The patterns, as typed, that match none of the topics.
    #[must_use]
    pub fn unmatched(&self, topics: &[&str]) -> Vec<String> {
        let of_use = |pattern: &&TopicPattern| topics.iter().any(|topic| !is_internal(topic) && pattern.matches(topic));
        let patterns = self.include.iter().chain(&self.exclude);
        patterns.filter(|pattern| !of_use(pattern)).map(|pattern| pattern.text().to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{TopicFilter, TopicPattern};

    const TOPICS: [&str; 5] =
        ["/clock", "/navcam_left/image_raw", "/navcam_left/camera_info", "/imu/data", "/selene/r1/world_state"];

    fn patterns(texts: &[&str]) -> Vec<TopicPattern> {
        texts.iter().map(|text| text.parse().expect("a pattern")).collect()
    }

    fn admitted(include: &[&str], exclude: &[&str], internal: bool) -> Vec<&'static str> {
        let filter = TopicFilter { include: patterns(include), exclude: patterns(exclude), internal };
        TOPICS.into_iter().filter(|topic| filter.admits(topic)).collect()
    }

    #[test]
    fn topics_are_taken_by_one_pattern_and_left_out_by_another() {
        assert_eq!(admitted(&[], &[], false), TOPICS[..4]);
        assert_eq!(admitted(&["image", "^/clock$"], &[], false), ["/clock", "/navcam_left/image_raw"]);
        assert_eq!(admitted(&["navcam"], &["camera_info"], false), ["/navcam_left/image_raw"]);
        assert_eq!(admitted(&[], &["."], false), [""; 0]);
    }

    #[test]
    fn internal_topics_follow_their_own_switch_and_no_pattern() {
        assert_eq!(admitted(&["world_state"], &[], false), [""; 0]);
        assert_eq!(admitted(&["clock"], &["selene"], true), ["/clock", "/selene/r1/world_state"]);
    }

    #[test]
    fn patterns_of_no_use_are_known() {
        let filter =
            TopicFilter { include: patterns(&["clock", "lidar"]), exclude: patterns(&["world"]), internal: true };
        assert_eq!(filter.unmatched(&TOPICS), ["lidar", "world"]);
    }

    #[test]
    fn what_is_no_regular_expression_is_refused_with_an_example() {
        let refusal = "navcam(".parse::<TopicPattern>().expect_err("not closed").to_string();
        assert!(refusal.contains("^/navcam") && refusal.contains("open group"), "{refusal}");
    }
}

//! The list of topics that clients can request. `/diagnostics` lists those that have carried messages (`bytes_per_s
//! TOPIC`), also while a run is paused. The kind of a topic follows from the end of its name (docs/topics.md).

use std::collections::BTreeSet;

use selene_ros::diagnostic_msgs::DiagnosticArray;

/// Upper limit of topics in the list, more than any run has.
const TOPICS_MAX: usize = 4096;
/// First words of the keys of `/diagnostics` whose second word is a topic.
const REPORTS: [&str; 2] = ["bytes_per_s", "frames_dropped"];
/// End of the name of each rover's odometry topic: each such topic is a rover.
pub(crate) const ODOMETRY: &str = "/ground_truth/odom";
/// Last words of the names of image topics.
const IMAGES: [&str; 7] =
    ["image_raw", "image_rect", "image_rect_color", "image_rect_raw", "image", "range_image", "intensity_image"];

/// Kinds of topics that the console shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Image,
    Boxes,
    Points,
    Battery,
    /// A rover's true odometry.
    Odometry,
}

impl Kind {
    /// The kind of topic `name`; `None` if the console does not show it.
    pub(crate) fn of(name: &str) -> Option<Self> {
        if name.ends_with(ODOMETRY) {
            return Some(Self::Odometry);
        }
        match name.rsplit('/').next()? {
            "detections" => Some(Self::Boxes),
            "points" => Some(Self::Points),
            "state" if !name.starts_with("/selene/") => Some(Self::Battery),
            last if IMAGES.contains(&last) => Some(Self::Image),
            _ => None,
        }
    }
}

/// The topics of the run that the console can show.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    topics: BTreeSet<String>,
}

impl Catalogue {
    /// Adds the topics that a message on `/diagnostics` lists.
    pub(crate) fn take(&mut self, diagnostics: &DiagnosticArray) {
        let values = diagnostics.status.iter().flat_map(|status| &status.values);
        let reported = values.filter_map(|pair| pair.key.split_once(' ')).filter(|(key, _)| REPORTS.contains(key));
        reported.for_each(|(_, topic)| self.add(topic));
    }

    fn add(&mut self, topic: &str) {
        if Kind::of(topic).is_some() && !self.topics.contains(topic) && self.topics.len() < TOPICS_MAX {
            self.topics.insert(topic.to_owned());
        }
    }

    /// Whether `topic` is in the list and of this kind.
    pub(crate) fn has(&self, topic: &str, kind: Kind) -> bool {
        Kind::of(topic) == Some(kind) && self.topics.contains(topic)
    }

    /// All topics of a kind, sorted by name.
    pub(crate) fn of(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.topics.iter().map(String::as_str).filter(move |topic| Kind::of(topic) == Some(kind))
    }

    /// The topic prefix of each rover, such as `/viper`.
    pub(crate) fn rovers(&self) -> impl Iterator<Item = &str> {
        self.of(Kind::Odometry).filter_map(|topic| topic.strip_suffix(ODOMETRY))
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalogue, Kind};
    use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus, KeyValue};

    #[test]
    fn topics_are_those_that_diagnostics_report() {
        let keys = [
            "bytes_per_s",
            "bytes_per_s /viper/lidar/points",
            "publishers /cmd_vel",
            "bytes_per_s /viper/imu/data",
            "bytes_per_s /viper/ground_truth/odom",
            "frames_dropped /viper/navcam_left/image_raw",
        ];
        let pair = |key: &str| KeyValue { key: key.to_owned(), value: "1".to_owned() };
        let status = DiagnosticStatus { values: keys.map(pair).into(), ..DiagnosticStatus::default() };
        let mut catalogue = Catalogue::default();
        catalogue.take(&DiagnosticArray { status: vec![status], ..DiagnosticArray::default() });
        assert!(catalogue.has("/viper/lidar/points", Kind::Points));
        assert!(catalogue.has("/viper/navcam_left/image_raw", Kind::Image));
        assert!(!catalogue.has("/viper/lidar/points", Kind::Image) && !catalogue.has("/viper/imu/data", Kind::Image));
        assert_eq!(catalogue.rovers().collect::<Vec<_>>(), ["/viper"]);
    }

    #[test]
    fn kinds_are_known_by_the_ends_of_names() {
        for (topic, kind) in [
            ("/navcam_left/image_raw", Some(Kind::Image)),
            ("/navcam_left/depth/image_rect_raw", Some(Kind::Image)),
            ("/navcam_left/detections", Some(Kind::Boxes)),
            ("/ground_truth/odom", Some(Kind::Odometry)),
            ("/wheel_odometry/odom", None),
            ("/battery/state", Some(Kind::Battery)),
            ("/image_raw/compressed", None),
            ("/selene/r1/world_state", None),
        ] {
            assert_eq!(Kind::of(topic), kind, "{topic}");
        }
    }
}

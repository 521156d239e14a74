//! The topics to check. DDS is not asked for a list: `/diagnostics` names the topics that are published
//! (`bytes_per_s TOPIC`, `frames_dropped TOPIC`), and these must be received. The contract's usual names, and those of
//! cameras with optical frames on TF, are subscribed to as well: each process reports its topics only once a second of
//! wall time.

use std::collections::{BTreeMap, BTreeSet};

use selene_ros::diagnostic_msgs::DiagnosticArray;

use crate::kind::Kind;

/// Keys of `/diagnostics` whose second word is a topic published by the run.
const REPORTS: [&str; 2] = ["bytes_per_s", "frames_dropped"];
/// The topic that identifies a rover; every rover has it.
const ODOMETRY: &str = "/ground_truth/odom";
/// Topics of every rover.
const OF_EACH: [&str; 3] = [ODOMETRY, "/joint_states", "/ground_truth/wheels"];
/// Topics of most rovers.
const USUAL: [&str; 3] = ["/imu/data", "/gps/fix", "/lidar/points"];
/// Topics that a camera may have, under its name.
const OF_CAMERA: [&str; 6] = [
    "image_raw",
    "camera_info",
    "depth/image_rect_raw",
    "depth/camera_info",
    "segmentation/image",
    "segmentation/camera_info",
];
const OPTICAL: &str = "_optical";

/// A topic to subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedTopic {
    pub(crate) kind: Kind,
    /// Whether silence is a failure.
    pub(crate) is_due: bool,
}

/// The topics that a message of `/diagnostics` names.
pub(crate) fn reported(diagnostics: &DiagnosticArray) -> impl Iterator<Item = &str> {
    // A topic of 0 bytes a second is silent now, such as a latched one.
    let values = diagnostics.status.iter().flat_map(|status| &status.values).filter(|pair| pair.value != "0");
    let pairs = values.filter_map(|pair| pair.key.split_once(' '));
    pairs.filter(|(key, _)| REPORTS.contains(key)).map(|(_, topic)| topic)
}

/// Topic prefixes of the rovers: the requested one, else those of all odometry topics in `reported`, else the empty one.
pub(crate) fn rovers(reported: &BTreeSet<String>, requested: Option<&str>) -> BTreeSet<String> {
    if let Some(rover) = requested {
        return [rover.to_owned()].into();
    }
    let found: BTreeSet<String> =
        reported.iter().filter_map(|topic| topic.strip_suffix(ODOMETRY)).map(str::to_owned).collect();
    if found.is_empty() { [String::new()].into() } else { found }
}

/// The topics of these rovers to subscribe to.
pub(crate) fn wanted<'a>(
    reported: &BTreeSet<String>,
    rovers: &BTreeSet<String>,
    frames: impl Iterator<Item = &'a str> + Clone,
) -> BTreeMap<String, ExpectedTopic> {
    let mut wanted = BTreeMap::new();
    let mut add = |rover: &str, topic: &str, is_due: bool| {
        if let Some(kind) = Kind::of(topic) {
            wanted.insert(format!("{rover}{topic}"), ExpectedTopic { kind, is_due: is_due && !is_silent(topic, kind) });
        }
    };
    for rover in rovers {
        USUAL.iter().for_each(|topic| add(rover, topic, false));
        for camera in frames.clone().filter_map(|frame| camera_of(rover, frame)) {
            OF_CAMERA.iter().for_each(|topic| add(rover, &format!("/{camera}/{topic}"), false));
        }
        OF_EACH.iter().for_each(|topic| add(rover, topic, true));
    }
    for topic in reported {
        // If one rover's prefix is empty, a topic belongs to the longest matching prefix.
        let owners = rovers.iter().filter_map(|rover| topic.strip_prefix(rover.as_str()).map(|rest| (rover, rest)));
        let owner = owners.filter(|(_, rest)| rest.starts_with('/')).max_by_key(|(rover, _)| rover.len());
        owner.into_iter().for_each(|(rover, rest)| add(rover, rest, true));
    }
    wanted
}

/// Whether a topic may be silent although it is published: ground truth never is.
fn is_silent(topic: &str, kind: Kind) -> bool {
    kind.may_be_silent() && !topic.starts_with("/ground_truth/")
}

/// The camera of an optical frame, if it belongs to this rover: with several rovers, frames begin with the rover's
/// name.
fn camera_of<'a>(rover: &str, frame: &'a str) -> Option<&'a str> {
    let camera = frame.strip_suffix(OPTICAL)?;
    match camera.rsplit_once('/') {
        None => Some(camera),
        Some((owner, camera)) => (rover.trim_start_matches('/') == owner).then_some(camera),
    }
}

#[cfg(test)]
mod tests {
    use super::{ExpectedTopic, reported, rovers, wanted};
    use crate::kind::Kind;
    use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus, KeyValue};
    use std::collections::BTreeSet;

    fn set(of: &[&str]) -> BTreeSet<String> {
        of.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn diagnostics_report_the_topics_that_carry_something() {
        let keys = ["bytes_per_s", "bytes_per_s /imu/data", "publishers /cmd_vel", "frames_dropped /lidar/points"];
        let pair = |key: &&str| KeyValue { key: (*key).to_owned(), value: "1".to_owned() };
        let status = DiagnosticStatus { values: keys.iter().map(pair).collect(), ..DiagnosticStatus::default() };
        let diagnostics = DiagnosticArray { status: vec![status], ..DiagnosticArray::default() };
        assert_eq!(reported(&diagnostics).collect::<Vec<_>>(), ["/imu/data", "/lidar/points"]);
    }

    #[test]
    fn rovers_are_those_whose_odometry_is_reported_or_the_one_requested() {
        let topics = set(&["/viper/ground_truth/odom", "/ex1/ground_truth/odom", "/clock"]);
        assert_eq!(rovers(&topics, None), set(&["/viper", "/ex1"]));
        assert_eq!(rovers(&topics, Some("/ex1")), set(&["/ex1"]));
        assert_eq!(rovers(&set(&["/ground_truth/odom"]), None), set(&[""]));
        assert_eq!(rovers(&set(&[]), None), set(&[""]));
    }

    #[test]
    fn a_rovers_joint_states_are_not_those_of_its_encoders_and_a_sensor_may_see_nothing() {
        let topics = set(&["/viper/wheels/joint_states", "/sun/direction", "/ground_truth/sun/direction"]);
        let two = wanted(&topics, &set(&["", "/viper"]), std::iter::empty());
        assert_eq!(two["/viper/joint_states"].kind, Kind::JointStates);
        assert_eq!(two["/viper/wheels/joint_states"], ExpectedTopic { kind: Kind::Joints, is_due: true });
        assert_eq!(two["/sun/direction"], ExpectedTopic { kind: Kind::Direction, is_due: false });
        assert_eq!(two["/ground_truth/sun/direction"], ExpectedTopic { kind: Kind::Direction, is_due: true });
    }

    #[test]
    fn reported_topics_of_the_rovers_are_due_and_the_usual_ones_are_subscribed_to() {
        let topics = set(&["/viper/mast/image_raw", "/ex1/imu/data", "/viper/cmd_vel"]);
        let frames = ["viper/navcam_optical", "ex1/front_optical", "viper/base_link"];
        let wanted = wanted(&topics, &set(&["/viper"]), frames.into_iter());
        assert_eq!(wanted["/viper/mast/image_raw"], ExpectedTopic { kind: Kind::Image, is_due: true });
        assert_eq!(wanted["/viper/joint_states"], ExpectedTopic { kind: Kind::JointStates, is_due: true });
        assert_eq!(wanted["/viper/imu/data"], ExpectedTopic { kind: Kind::Imu, is_due: false });
        assert_eq!(wanted["/viper/navcam/depth/camera_info"], ExpectedTopic { kind: Kind::CameraInfo, is_due: false });
        assert!(wanted.keys().all(|topic| topic.starts_with("/viper/") && !topic.contains("front")), "{wanted:?}");
        assert!(!wanted.contains_key("/viper/cmd_vel"));
    }
}

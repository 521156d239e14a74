//! Checks of a rover: its description, its joints, and the chain of frames from `map` to its base.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::stream::Stream;
use crate::tree::Tree;

/// The parts of a URDF with which other topics must agree.
struct Described {
    /// Names of the joints that move.
    joints: BTreeSet<String>,
    links: BTreeSet<String>,
}

impl Described {
    fn read(urdf: &str) -> Result<Self, String> {
        let document = roxmltree::Document::parse(urdf).map_err(|error| format!("not XML: {error}"))?;
        let robot = document.root_element();
        if robot.tag_name().name() != "robot" {
            return Err(format!("<{}> is not a <robot>", robot.tag_name().name()));
        }
        let named = |tag: &'static str, moving: bool| {
            let of_tag = robot.children().filter(move |node| node.has_tag_name(tag));
            let kept = of_tag.filter(move |node| !moving || node.attribute("type") != Some("fixed"));
            kept.filter_map(|node| node.attribute("name").map(str::to_owned)).collect()
        };
        Ok(Self { joints: named("joint", true), links: named("link", false) })
    }
}

/// Checks the description, received by a late subscriber, and the joints and frames that it names.
pub(crate) fn check_description(
    rover: &str,
    urdf: Option<&str>,
    joint_states: &Stream,
    base: &str,
    tree: &Tree,
) -> Vec<Finding> {
    let topic = format!("{rover}/robot_description");
    let expected = "a URDF for a subscriber that comes late, std_msgs/msg/String, reliable, transient local";
    let Some(urdf) = urdf else { return vec![Finding::new(topic, false, "nothing was received", expected)] };
    let described = match Described::read(urdf) {
        Ok(described) => described,
        Err(what) => return vec![Finding::new(topic, false, what, expected)],
    };
    let measured = format!("{} links, {} joints that move", described.links.len(), described.joints.len());
    let description = Finding::new(topic, !described.links.is_empty(), measured, expected);
    let prefixes = described.links.iter().filter_map(|link| base.strip_suffix(link.as_str()));
    let prefix = prefixes.min_by_key(|prefix| prefix.len()).unwrap_or_default();
    let is_lost = |link: &&String| !tree.reaches_map(&format!("{prefix}{link}"));
    let lost: Vec<&str> = described.links.iter().filter(is_lost).map(String::as_str).collect();
    let measured = format!("{} missing {}", lost.len(), lost.join(" "));
    let links =
        Finding::new(format!("{rover}/robot_description links"), lost.is_empty(), measured.trim_end(), "all under map");
    vec![description, links, check_joints(rover, &described.joints, &joint_states.names)]
}

fn check_joints(rover: &str, described: &BTreeSet<String>, reported: &[String]) -> Finding {
    let names: BTreeSet<String> = reported.iter().cloned().collect();
    let differ: Vec<&str> = described.symmetric_difference(&names).map(String::as_str).collect();
    let measured = format!("{} joints, {} on one side only {}", reported.len(), differ.len(), differ.join(" "));
    let holds = differ.is_empty() && names.len() == reported.len();
    let what = format!("{rover}/joint_states names");
    Finding::new(what, holds, measured.trim_end(), "each moving joint of robot_description, once")
}

/// Checks that the root link is under `odom` and that under `map`, by the frames that odometry names; the root is on
/// `/tf`.
pub(crate) fn check_odometry(rover: &str, odometry: &Stream, tree: &Tree) -> Finding {
    let base = odometry.names.first().map_or("", String::as_str);
    let odom = odometry.frames.first().map_or("", String::as_str);
    let above = tree.parent(base).unwrap_or("nothing");
    let top = tree.parent(odom).unwrap_or("nothing");
    let measured = format!("odometry of {base:?} in {odom:?}; TF has {base:?} under {above:?}, {odom:?} under {top:?}");
    let are_named = !base.is_empty() && odom.ends_with("odom") && odometry.frames.len() == 1;
    let holds = are_named && above == odom && top == "map" && !tree.moving(base).is_empty();
    Finding::new(
        format!("{rover}/ground_truth/odom frames"),
        holds,
        measured,
        "the root link under odom under map, on /tf",
    )
}

#[cfg(test)]
mod tests {
    use super::{check_description, check_odometry};
    use crate::stream::Stream;
    use crate::tree::tests::tree;

    const URDF: &str = r#"<robot name="r"><link name="base_link"/><link name="wheel"/><link name="lidar"/>
        <joint name="drive" type="continuous"><parent link="base_link"/><child link="wheel"/></joint>
        <joint name="mount" type="fixed"><parent link="base_link"/><child link="lidar"/></joint></robot>"#;

    fn stream(frame: &str, names: &[&str]) -> Stream {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Stream { names, frames: [frame.to_owned()].into(), ..Stream::default() }
    }

    fn failures(urdf: Option<&str>, joints: &[&str]) -> usize {
        let findings = check_description("", urdf, &stream("", joints), "base_link", &tree());
        findings.iter().filter(|finding| finding.is_failure()).count()
    }

    #[test]
    fn joints_and_links_are_those_of_the_description() {
        assert_eq!(failures(Some(URDF), &["drive"]), 0);
        assert_eq!(failures(Some(URDF), &["drive", "mount"]), 1, "a fixed joint");
        assert_eq!(failures(Some(URDF), &[]), 1, "no joints");
        assert_eq!(failures(Some(URDF), &["drive", "drive"]), 1, "twice");
        assert_eq!(
            failures(Some(&URDF.replace("link name=\"lidar\"", "link name=\"mast\"")), &["drive"]),
            1,
            "no frame"
        );
    }

    #[test]
    fn a_description_that_is_missing_or_no_urdf_fails() {
        for urdf in [None, Some(""), Some("<robot"), Some("<sdf/>")] {
            assert_eq!(failures(urdf, &["drive"]), 1, "{urdf:?}");
        }
    }

    #[test]
    fn odometry_names_the_chain_of_frames() {
        assert!(!check_odometry("", &stream("odom", &["base_link"]), &tree()).is_failure());
        for (frame, child) in [("map", "base_link"), ("odom", "wheel"), ("odom", "arm/base_link")] {
            assert!(check_odometry("", &stream(frame, &[child]), &tree()).is_failure(), "{frame} {child}");
        }
    }
}

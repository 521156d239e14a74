//! Checks of frames by REP-105: one tree under `map`, each frame with one parent, moving frames on `/tf` only, fixed
//! ones on `/tf_static` only, and quaternions of length 1.

use std::collections::{BTreeMap, BTreeSet};

use selene_base::SimTime;
use selene_ros::geometry_msgs::TransformStamped;
use selene_ros::tf2_msgs::TFMessage;

use crate::finding::{Faults, Finding};
use crate::motion::is_turn;
use crate::stream::Reception;

/// Root of the tree.
const MAP: &str = "map";

/// The topic of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Moving,
    Static,
}

/// The frames received so far.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// For each child, its parents and the topics that named them.
    parents: BTreeMap<String, BTreeSet<(String, Source)>>,
    /// For each child, its messages on `/tf`.
    moving: BTreeMap<String, Vec<Reception>>,
    faults: Faults,
    static_messages: usize,
}

impl Tree {
    /// Adds a message received at `at_s`.
    pub(crate) fn take(&mut self, source: Source, at_s: f64, message: &TFMessage) {
        self.static_messages += usize::from(source == Source::Static);
        for transform in &message.transforms {
            self.faults.extend(fault(transform));
            let (child, parent) = (&transform.child_frame_id, &transform.header.frame_id);
            self.parents.entry(child.clone()).or_default().insert((parent.clone(), source));
            if source == Source::Moving {
                let arrival = Reception { at_s, stamp: SimTime::from(transform.header.stamp) };
                self.moving.entry(child.clone()).or_default().push(arrival);
            }
        }
    }

    /// Frames that have a parent.
    pub(crate) fn children(&self) -> impl Iterator<Item = &str> {
        self.parents.keys().map(String::as_str)
    }

    /// Messages on `/tf` for a frame.
    pub(crate) fn moving(&self, child: &str) -> &[Reception] {
        self.moving.get(child).map(Vec::as_slice).unwrap_or_default()
    }

    /// Parent of a frame; the first if it has several.
    pub(crate) fn parent(&self, child: &str) -> Option<&str> {
        self.parents.get(child)?.first().map(|(parent, _)| parent.as_str())
    }

    /// Whether a frame is below `map`.
    pub(crate) fn reaches_map(&self, frame: &str) -> bool {
        let mut at = frame;
        // More steps than there are frames mean a cycle.
        for _ in 0..=self.parents.len() {
            match self.parent(at) {
                Some(parent) => at = parent,
                None => return at == MAP,
            }
        }
        false
    }

    /// Checks the tree, and that it contains the frames named by messages.
    pub(crate) fn check(&self, named: &BTreeSet<String>) -> Vec<Finding> {
        let twice: Vec<&str> =
            self.parents.iter().filter(|(_, parents)| parents.len() > 1).map(|(c, _)| c.as_str()).collect();
        let lost: Vec<&str> = self.children().filter(|child| !self.reaches_map(child)).collect();
        let unknown: Vec<&str> = named.iter().map(String::as_str).filter(|frame| !self.reaches_map(frame)).collect();
        let count = self.parents.len();
        let reported =
            |frames: &[&str], of: usize| format!("{} of {of} {}", frames.len(), frames.join(" ")).trim_end().to_owned();
        vec![
            self.faults.finding(
                "transforms",
                format!("{count} frames"),
                "named frames without a leading slash, finite, turns of length 1",
            ),
            Finding::new("frames with two parents or on two topics", twice.is_empty(), reported(&twice, count), "0"),
            Finding::new(
                "frames not under map",
                lost.is_empty() && count > 0,
                reported(&lost, count),
                "0 of at least 1",
            ),
            Finding::new(
                "frame_ids of messages not under map",
                unknown.is_empty(),
                reported(&unknown, named.len()),
                "0",
            ),
            Finding::new(
                "/tf_static latched",
                self.static_messages > 0,
                format!("{} messages", self.static_messages),
                "tf2_msgs/msg/TFMessage for a subscriber that comes late, reliable, transient local",
            ),
        ]
    }
}

fn fault(transform: &TransformStamped) -> Option<String> {
    let (child, parent) = (&transform.child_frame_id, &transform.header.frame_id);
    let (to, turn) = (&transform.transform.translation, &transform.transform.rotation);
    let is_named = |frame: &str| !frame.is_empty() && !frame.starts_with('/');
    let is_good = is_named(child) && is_named(parent) && is_turn(turn) && (to.x + to.y + to.z).is_finite();
    (!is_good).then(|| format!("{parent:?} to {child:?}: {to:?}, {turn:?}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Source, Tree};
    use selene_base::SimTime;
    use selene_ros::geometry_msgs::TransformStamped;
    use selene_ros::std_msgs::Header;
    use selene_ros::tf2_msgs::TFMessage;
    use std::collections::BTreeSet;

    fn message(edges: &[(&str, &str)]) -> TFMessage {
        let of = |(parent, child): &(&str, &str)| TransformStamped {
            header: Header::new(SimTime::ZERO, parent),
            child_frame_id: (*child).to_owned(),
            ..TransformStamped::default()
        };
        TFMessage { transforms: edges.iter().map(of).collect() }
    }

    /// Usual tree of a rover.
    pub(crate) fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.take(Source::Static, 0.0, &message(&[("map", "odom"), ("base_link", "lidar")]));
        tree.take(Source::Moving, 0.0, &message(&[("odom", "base_link"), ("base_link", "wheel")]));
        tree
    }

    fn failures(tree: &Tree, named: &[&str]) -> usize {
        let named: BTreeSet<String> = named.iter().map(|frame| (*frame).to_owned()).collect();
        tree.check(&named).iter().filter(|finding| finding.is_failure()).count()
    }

    fn with(source: Source, edges: &[(&str, &str)]) -> usize {
        let mut tree = tree();
        tree.take(source, 0.0, &message(edges));
        failures(&tree, &[])
    }

    #[test]
    fn one_tree_under_map_is_good() {
        assert_eq!(failures(&tree(), &["lidar", "wheel", "odom", "map"]), 0);
        assert_eq!((tree().parent("base_link"), tree().moving("base_link").len()), (Some("odom"), 1));
    }

    #[test]
    fn broken_trees_are_reported() {
        assert_eq!(with(Source::Moving, &[("map", "base_link")]), 1, "two parents");
        assert_eq!(with(Source::Static, &[("odom", "base_link")]), 1, "on both topics");
        assert_eq!(with(Source::Moving, &[("nowhere", "arm")]), 1, "not under map");
        assert_eq!(with(Source::Moving, &[("a", "b"), ("b", "a")]), 1, "a ring");
        assert_eq!(with(Source::Moving, &[("base_link", "/arm")]), 1, "a leading slash");
        assert_eq!(failures(&tree(), &["camera_optical"]), 1, "a sensor without a frame");
        assert_eq!(failures(&Tree::default(), &[]), 2, "silence");
    }

    #[test]
    fn a_turn_has_length_1() {
        let mut tree = tree();
        let mut long = message(&[("base_link", "wheel")]);
        long.transforms[0].transform.rotation.w = 1.1;
        tree.take(Source::Moving, 0.0, &long);
        assert_eq!(failures(&tree, &[]), 1);
    }
}

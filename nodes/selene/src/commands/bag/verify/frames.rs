//! Checks that the transforms of a bag form one tree: each frame has one parent, and one frame is the root of all.

use std::collections::{BTreeMap, BTreeSet};

use selene_ros::bag::BagMessage;
use selene_ros::{Message, decode, tf2_msgs};

/// The frames of a bag.
#[derive(Default)]
pub(super) struct Frames {
    /// The first parent found for each frame.
    parents: BTreeMap<String, String>,
    /// Frames with a second parent, and that parent.
    others: BTreeSet<(String, String)>,
}

impl Frames {
    pub(super) fn take(&mut self, message: &BagMessage) {
        if message.topic.type_name != tf2_msgs::TFMessage::TYPE_NAME {
            return;
        }
        // Another check reports messages that do not decode.
        let Ok(tree) = decode::<tf2_msgs::TFMessage>(&message.encoded) else { return };
        for transform in tree.transforms {
            let (child, parent) = (transform.child_frame_id, transform.header.frame_id);
            match self.parents.get(&child) {
                None => drop(self.parents.insert(child, parent)),
                Some(known) if *known == parent => {}
                Some(_) => drop(self.others.insert((child, parent))),
            }
        }
    }

    pub(super) fn end(self) -> Vec<String> {
        let second = |(child, parent): &(String, String)| {
            format!("transforms: frame {child} has the parents {} and {parent}", self.parents[child])
        };
        let mut faults: Vec<_> = self.others.iter().map(second).collect();
        let roots: BTreeSet<_> = self.parents.values().filter(|frame| !self.parents.contains_key(*frame)).collect();
        let names = roots.iter().map(|root| root.as_str()).collect::<Vec<_>>().join(", ");
        if roots.len() > 1 {
            faults.push(format!("transforms: {} trees, below {names}, where one is expected", roots.len()));
        }
        faults.extend(self.a_circle().map(|frame| format!("transforms: frame {frame} is above itself")));
        faults
    }

    /// A frame that is its own ancestor.
    fn a_circle(&self) -> Option<&str> {
        let is_above_itself = |frame: &&String| {
            let mut above = self.parents.get(*frame);
            // More steps than there are frames mean a loop.
            for _ in 0..self.parents.len() {
                match above {
                    Some(parent) if parent == *frame => return true,
                    Some(parent) => above = self.parents.get(parent),
                    None => return false,
                }
            }
            false
        };
        self.parents.keys().find(is_above_itself).map(String::as_str)
    }
}

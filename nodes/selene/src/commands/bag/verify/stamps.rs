//! Checks that the publish times and header stamps of a topic do not go back. Topics with several publishers, each at
//! its own time, are not checked: those between Selene's own nodes, diagnostics and logs.

use std::collections::BTreeMap;

use selene_ros::bag::{BagMessage, BagTopic, is_internal};
use selene_ros::stamp::{begins_with_header, header_stamp};
use selene_ros::{Message, diagnostic_msgs, rcl_interfaces};

use crate::commands::bag::seconds;

/// The latest times of each topic.
#[derive(Default)]
pub(super) struct Stamps {
    topics: BTreeMap<String, Times>,
}

#[derive(Default)]
struct Times {
    published: Latest,
    stamped: Latest,
}

/// The latest time so far, ns, the number of times that went back, and the first of these, ns.
#[derive(Default)]
struct Latest {
    latest_ns: Option<i64>,
    back: u64,
    first_ns: i64,
}

impl Stamps {
    pub(super) fn take(&mut self, message: &BagMessage) {
        if is_of_many(&message.topic) {
            return;
        }
        let times = self.topics.entry(message.topic.name.clone()).or_default();
        // Times after the year 2262 do not fit and count as equal.
        times.published.take(i64::try_from(message.publish_ns).unwrap_or(i64::MAX));
        if begins_with_header(&message.topic.definition)
            && let Some(stamp) = header_stamp(&message.encoded)
        {
            times.stamped.take(stamp.nanos());
        }
    }

    pub(super) fn end(self) -> Vec<String> {
        let faults = |(topic, times): (String, Times)| {
            let published = times.published.fault(&topic, "are published");
            published.into_iter().chain(times.stamped.fault(&topic, "are stamped")).collect::<Vec<_>>()
        };
        self.topics.into_iter().flat_map(faults).collect()
    }
}

impl Latest {
    fn take(&mut self, ns: i64) {
        match self.latest_ns {
            Some(latest_ns) if ns < latest_ns => {
                if self.back == 0 {
                    self.first_ns = ns;
                }
                self.back += 1;
            }
            _ => self.latest_ns = Some(ns),
        }
    }

    fn fault(&self, topic: &str, are: &str) -> Option<String> {
        let first_s = seconds(self.first_ns.unsigned_abs());
        let count = self.back;
        (count > 0)
            .then(|| format!("{topic}: {count} {are} before the ones in front of them, the first at {first_s:.3} s"))
    }
}

/// Whether several nodes publish on a topic.
fn is_of_many(topic: &BagTopic) -> bool {
    let types = [diagnostic_msgs::DiagnosticArray::TYPE_NAME, rcl_interfaces::Log::TYPE_NAME];
    is_internal(&topic.name) || types.contains(&topic.type_name.as_str())
}

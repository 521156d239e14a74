//! Messages decode as the types that their topics have, where Selene knows these.

use std::collections::BTreeMap;

use selene_ros::bag::BagMessage;
use selene_ros::message;

/// What does not.
#[derive(Default)]
pub(super) struct Decoding {
    /// By topic: how many, and why the first.
    refused: BTreeMap<String, (u64, String)>,
}

impl Decoding {
    pub(super) fn take(&mut self, message: &BagMessage) {
        let topic = &message.topic;
        if let Some(Err(error)) = message::check(&topic.type_name, &message.encoded) {
            let why = || (0, format!("the first is number {}: {error}", message.sequence));
            self.refused.entry(topic.name.clone()).or_insert_with(why).0 += 1;
        }
    }

    pub(super) fn end(self) -> Vec<String> {
        let told = |(topic, (count, why)): (String, (u64, String))| format!("{topic}: {count} do not decode; {why}");
        self.refused.into_iter().map(told).collect()
    }
}

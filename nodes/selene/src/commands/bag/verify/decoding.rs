//! Checks that messages decode as the types of their topics, if Selene knows these types.

use std::collections::BTreeMap;

use selene_ros::bag::BagMessage;
use selene_ros::message;

/// The messages that do not decode.
#[derive(Default)]
pub(super) struct Decoding {
    /// For each topic, the number of them and the error of the first.
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
        let reported =
            |(topic, (count, why)): (String, (u64, String))| format!("{topic}: {count} do not decode; {why}");
        self.refused.into_iter().map(reported).collect()
    }
}

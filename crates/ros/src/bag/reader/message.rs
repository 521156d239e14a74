//! Messages, topics and damages read from a bag.

use std::path::PathBuf;
use std::sync::Arc;

use crate::bag::qos_text;
use crate::cdr::Encoded;
use crate::qos::Qos;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagTopic {
    /// Full name, such as `/viper/odom`.
    pub name: String,
    /// Full name of the type, such as `nav_msgs/msg/Odometry`; empty if the bag has none.
    pub type_name: String,
    /// The type's definition in the bag.
    pub definition: String,
    /// Encoding of the messages, such as `cdr`.
    pub encoding: String,
    /// Quality of service of its first publisher, if the bag has it.
    pub qos: Option<Qos>,
}

/// A recorded message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagMessage {
    /// Its topic.
    pub topic: Arc<BagTopic>,
    /// Its sequence number within the topic; rosbag2 writes none.
    pub sequence: u32,
    /// Time of recording, ns; a file by Selene is in this order.
    pub log_ns: u64,
    /// Time of publication, ns; in a bag by Selene, the simulated stamp.
    pub publish_ns: u64,
    /// The encoded message, header included.
    pub encoded: Encoded,
}

/// A part of a bag that cannot be read; reading continues after it if possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct BagDamage {
    /// The file's path.
    pub file: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl BagTopic {
    /// The topic of an MCAP channel.
    pub(super) fn of(channel: &mcap::Channel<'_>) -> Self {
        let schema = channel.schema.as_ref();
        let profiles = channel.metadata.get("offered_qos_profiles");
        Self {
            name: channel.topic.clone(),
            type_name: schema.map(|schema| schema.name.clone()).unwrap_or_default(),
            definition: schema.map(|schema| String::from_utf8_lossy(&schema.data).into_owned()).unwrap_or_default(),
            encoding: channel.message_encoding.clone(),
            qos: profiles.and_then(|profiles| qos_text::read(profiles)),
        }
    }
}

//! What is read: messages, the topics they are of, and what could not be read.

use std::path::PathBuf;
use std::sync::Arc;

use crate::bag::qos_text;
use crate::cdr::Encoded;
use crate::qos::Qos;

/// A topic of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagTopic {
    /// Full name, `/viper/odom`.
    pub name: String,
    /// Type, `nav_msgs/msg/Odometry`; empty where the bag tells none.
    pub type_name: String,
    /// The type's definition as the bag has it.
    pub definition: String,
    /// How messages are encoded: `cdr`.
    pub encoding: String,
    /// Quality of service of its first publisher, where the bag tells.
    pub qos: Option<Qos>,
}

/// A message of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagMessage {
    /// Its topic.
    pub topic: Arc<BagTopic>,
    /// Its number among the topic's; rosbag2 writes none.
    pub sequence: u32,
    /// When it was recorded, ns: messages of a file of ours are in this order.
    pub log_ns: u64,
    /// When it was published, ns: its simulated stamp in a bag of ours.
    pub publish_ns: u64,
    /// Its bytes, header included.
    pub encoded: Encoded,
}

/// A part of a bag that cannot be read; what follows is read if it can be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct BagDamage {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl BagTopic {
    /// A channel as MCAP has it.
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

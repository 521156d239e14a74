//! The names of other ROS 2 nodes by their endpoints: each participant lists its nodes with their readers and writers on
//! topic `ros_discovery_info` (design.ros2.org, "Node to Participant mapping").

use std::collections::BTreeMap;

use ros2_client::Gid;
use ros2_client::builtin_topics::ros_discovery;
use rustdds::dds::CreateResult;
use rustdds::no_key::DataReaderCdr;
use rustdds::policy::{Durability, History, Reliability};
use rustdds::{DomainParticipant, Duration, QosPolicyBuilder, Subscriber, TopicKind};
use serde::Deserialize;

use super::graph::DISCOVERY_TYPE_HASH;
use super::with_type_hash;

/// Maximum number of lists kept between two reads.
const UNREAD_MAX: i32 = 256;

/// `rmw_dds_common/msg/ParticipantEntitiesInfo`; the struct of `ros2-client` keeps the endpoints to itself.
#[derive(Deserialize)]
struct ParticipantNodes {
    participant: Gid,
    nodes: Vec<ListedNode>,
}

/// `rmw_dds_common/msg/NodeEntitiesInfo`.
#[derive(Deserialize)]
struct ListedNode {
    namespace: String,
    name: String,
    readers: Vec<Gid>,
    writers: Vec<Gid>,
}

/// Reads which endpoints belong to which nodes.
pub(super) struct PeerNodes {
    reader: DataReaderCdr<ParticipantNodes>,
    /// The newest list of each participant.
    listed: BTreeMap<Gid, Vec<ListedNode>>,
}

impl PeerNodes {
    pub(super) fn new(participant: &DomainParticipant, subscriber: &Subscriber) -> CreateResult<Self> {
        let qos = QosPolicyBuilder::new()
            .durability(Durability::TransientLocal)
            .reliability(Reliability::Reliable { max_blocking_time: Duration::ZERO })
            .history(History::KeepLast { depth: UNREAD_MAX })
            .build();
        let (name, kind) = (ros_discovery::TOPIC_NAME.to_owned(), ros_discovery::TYPE_NAME.to_owned());
        let topic = participant.create_topic(name, kind, &qos, TopicKind::NoKey)?;
        let qos = with_type_hash(qos, DISCOVERY_TYPE_HASH);
        let reader = subscriber.create_datareader_no_key_cdr(&topic, Some(qos))?;
        Ok(Self { reader, listed: BTreeMap::new() })
    }

    /// Takes in the lists that arrived. One that cannot be read is left out: it only names nodes in messages.
    pub(super) fn read(&mut self) {
        for _ in 0..UNREAD_MAX {
            match self.reader.take_next_sample() {
                Ok(Some(sample)) => {
                    let ParticipantNodes { participant, nodes } = sample.into_value();
                    self.listed.insert(participant, nodes);
                }
                Ok(None) => return,
                Err(_) => {}
            }
        }
    }

    /// Full name of the node with this endpoint.
    pub(super) fn name_of(&self, endpoint: Gid) -> Option<String> {
        let nodes = self.listed.values().flatten();
        nodes
            .filter(|node| node.readers.contains(&endpoint) || node.writers.contains(&endpoint))
            .map(ListedNode::full_name)
            .next()
    }
}

impl ListedNode {
    fn full_name(&self) -> String {
        format!("{}/{}", self.namespace.trim_end_matches('/'), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::ListedNode;

    #[test]
    fn a_name_begins_with_its_namespace() {
        for (namespace, full) in [("/", "/teleop"), ("/lab/desk", "/lab/desk/teleop")] {
            let node = ListedNode {
                namespace: namespace.to_owned(),
                name: "teleop".to_owned(),
                readers: Vec::new(),
                writers: Vec::new(),
            };
            assert_eq!(node.full_name(), full);
        }
    }
}

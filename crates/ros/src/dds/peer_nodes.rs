//! The names of other ROS 2 nodes by their endpoints: each participant lists its nodes with their readers and writers on
//! topic `ros_discovery_info` (design.ros2.org, "Node to Participant mapping").

use std::collections::BTreeMap;

use ros2_client::Gid;
use rustdds::dds::CreateResult;
use rustdds::policy::{Durability, History, Reliability};
use rustdds::{DomainParticipant, Duration, QosPolicyBuilder, Subscriber};

use super::node_lists::{ListedNode, NodeListReader};

/// Maximum number of lists kept between two reads.
const UNREAD_MAX: u16 = 256;

/// Reads which endpoints belong to which nodes.
pub(super) struct PeerNodes {
    reader: NodeListReader,
    /// The newest list of each participant.
    listed: BTreeMap<Gid, Vec<ListedNode<Gid>>>,
}

impl PeerNodes {
    pub(super) fn new(participant: &DomainParticipant, subscriber: &Subscriber) -> CreateResult<Self> {
        let qos = QosPolicyBuilder::new()
            .durability(Durability::TransientLocal)
            .reliability(Reliability::Reliable { max_blocking_time: Duration::ZERO })
            .history(History::KeepLast { depth: UNREAD_MAX.into() })
            .build();
        Ok(Self { reader: NodeListReader::new(participant, subscriber, qos)?, listed: BTreeMap::new() })
    }

    /// Takes in the lists that arrived.
    pub(super) fn read(&mut self) {
        for list in self.reader.take(UNREAD_MAX.into()) {
            self.listed.insert(list.participant, list.nodes);
        }
    }

    /// Full name of the node with this endpoint.
    pub(super) fn name_of(&self, endpoint: Gid) -> Option<String> {
        let nodes = self.listed.values().flatten();
        nodes.filter(|node| node.readers.contains(&endpoint) || node.writers.contains(&endpoint)).map(full_name).next()
    }
}

fn full_name(node: &ListedNode<Gid>) -> String {
    format!("{}/{}", node.namespace.trim_end_matches('/'), node.name)
}

#[cfg(test)]
mod tests {
    use super::{ListedNode, full_name};

    #[test]
    fn a_name_begins_with_its_namespace() {
        for (namespace, full) in [("/", "/teleop"), ("/lab/desk", "/lab/desk/teleop")] {
            let node = ListedNode {
                namespace: namespace.to_owned(),
                name: "teleop".to_owned(),
                readers: Vec::new(),
                writers: Vec::new(),
            };
            assert_eq!(full_name(&node), full);
        }
    }
}

//! Makes a DDS participant a ROS 2 node: publishes the list of its nodes, readers and writers on topic
//! `ros_discovery_info` (design.ros2.org, "Node to Participant mapping"), again whenever it changes, and empty at the
//! end.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ros2_client::{Gid, NodeName};
use rustdds::dds::CreateResult;
use rustdds::{DomainParticipant, GUID, Publisher, RTPSEntity};

use super::node_lists::{ListedNode, NodeList, NodeListWriters};

/// An endpoint of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Endpoint {
    Reader(Gid),
    Writer(Gid),
}

impl Endpoint {
    pub(super) fn reader(guid: GUID) -> Self {
        Self::Reader(guid.into())
    }

    pub(super) fn writer(guid: GUID) -> Self {
        Self::Writer(guid.into())
    }
}

/// Publishes which endpoints belong to our node.
pub(super) struct Graph {
    participant: Gid,
    node: NodeName,
    /// `None` once the node has left the graph.
    endpoints: Mutex<Option<BTreeSet<Endpoint>>>,
    announcer: NodeListWriters,
}

impl Graph {
    pub(super) fn new(participant: &DomainParticipant, publisher: &Publisher, node: NodeName) -> CreateResult<Self> {
        let announcer = NodeListWriters::new(participant, publisher)?;
        let endpoints = Mutex::new(Some(BTreeSet::new()));
        let graph = Self { participant: participant.guid().into(), node, endpoints, announcer };
        graph.change(|_| ());
        Ok(graph)
    }

    pub(super) fn add(&self, endpoint: Endpoint) {
        self.change(|endpoints| _ = endpoints.insert(endpoint));
    }

    pub(super) fn remove(&self, endpoint: Endpoint) {
        self.change(|endpoints| _ = endpoints.remove(&endpoint));
    }

    /// Announces that the node has left, for good.
    pub(super) fn close(&self) {
        let mut endpoints = self.lock();
        *endpoints = None;
        self.announce(Vec::new());
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeSet<Endpoint>>> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes under the lock, so that the last message is the newest.
    fn change(&self, change: impl FnOnce(&mut BTreeSet<Endpoint>)) {
        let mut endpoints = self.lock();
        let Some(endpoints) = endpoints.as_mut() else { return };
        change(endpoints);
        let mut node = ListedNode {
            namespace: self.node.namespace().to_owned(),
            name: self.node.base_name().to_owned(),
            readers: Vec::new(),
            writers: Vec::new(),
        };
        for endpoint in endpoints.iter() {
            match endpoint {
                Endpoint::Reader(gid) => node.readers.push(*gid),
                Endpoint::Writer(gid) => node.writers.push(*gid),
            }
        }
        self.announce(vec![node]);
    }

    fn announce(&self, nodes: Vec<ListedNode<Gid>>) {
        if let Err(error) = self.announcer.write(NodeList { participant: self.participant, nodes }) {
            tracing::warn!("a change in our topics is not announced to peers: {error}");
        }
    }
}

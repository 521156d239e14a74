//! Lists of nodes that participants publish on topic `ros_discovery_info` (design.ros2.org, "Node to Participant
//! mapping"). `rmw_dds_common/msg/ParticipantEntitiesInfo` has two forms under one name: identifiers of 16 bytes since
//! ROS 2 Iron, of 24 bytes until Humble. A node of Humble reads nonsense from the later form: on Fast DDS it may take all
//! memory, on Cyclone DDS it cannot list nodes any more. Each form therefore has a writer that matches only readers of
//! that form. Readers of ROS 2 are in participants whose USER_DATA names their enclave, and since Iron their own has the
//! type's hash (REP-2016). Other programs, such as zenoh-bridge-ros2dds, have neither and get the later form.

use ros2_client::Gid;
use ros2_client::builtin_topics::ros_discovery;
use rustdds::dds::CreateResult;
use rustdds::no_key::{DataReader, DataWriterCdr};
use rustdds::{DomainParticipant, PeerFilter, Publisher, QosPolicies, ReaderKind, Subscriber, Topic, TopicKind};
use serde::{Deserialize, Serialize};

use super::raw::Raw;
use super::{TYPE_HASH_KEY, with_type_hash};
use crate::cdr::{Encoded, decode_as};

/// The lists' type.
const TYPE_NAME: &str = "rmw_dds_common/msg/ParticipantEntitiesInfo";

/// The type hash of `rmw_dds_common/msg/ParticipantEntitiesInfo` since Iron.
const TYPE_HASH: &str = "RIHS01_91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e";

/// Readers of Humble and before.
const OF_HUMBLE: ReaderKind = ReaderKind { participant_has: b"enclave=", reader_lacks: TYPE_HASH_KEY.as_bytes() };

/// An endpoint's or participant's identifier in Humble: the 16 bytes of a GUID, and eight zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LongGid([u8; 24]);

impl From<Gid> for LongGid {
    fn from(gid: Gid) -> Self {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(gid.as_bytes());
        Self(bytes)
    }
}

impl From<LongGid> for Gid {
    fn from(LongGid(bytes): LongGid) -> Self {
        let mut guid = [0; 16];
        guid.copy_from_slice(&bytes[..16]);
        Self::from(guid)
    }
}

/// `rmw_dds_common/msg/ParticipantEntitiesInfo`, with identifiers of type `G`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NodeList<G> {
    pub(super) participant: G,
    pub(super) nodes: Vec<ListedNode<G>>,
}

/// `rmw_dds_common/msg/NodeEntitiesInfo`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ListedNode<G> {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) readers: Vec<G>,
    pub(super) writers: Vec<G>,
}

impl<G> NodeList<G> {
    /// The list with other identifiers.
    pub(super) fn with_ids<H: From<G>>(self) -> NodeList<H> {
        let ids = |ids: Vec<G>| ids.into_iter().map(H::from).collect();
        let node = |node: ListedNode<G>| ListedNode {
            namespace: node.namespace,
            name: node.name,
            readers: ids(node.readers),
            writers: ids(node.writers),
        };
        NodeList { participant: self.participant.into(), nodes: self.nodes.into_iter().map(node).collect() }
    }
}

/// The writers of both forms.
pub(super) struct NodeListWriters {
    /// Since Iron.
    new: DataWriterCdr<NodeList<Gid>>,
    /// Until Humble.
    old: DataWriterCdr<NodeList<LongGid>>,
}

impl NodeListWriters {
    pub(super) fn new(participant: &DomainParticipant, publisher: &Publisher) -> CreateResult<Self> {
        let qos = &*ros_discovery::QOS_PUB;
        let topic = topic(participant, qos)?;
        Ok(Self {
            new: publisher.create_datawriter_no_key(&topic, Some(of_new_form(qos.clone())))?,
            old: publisher.create_datawriter_no_key(&topic, Some(of_old_form(qos.clone())))?,
        })
    }

    pub(super) fn write(&self, list: NodeList<Gid>) -> Result<(), String> {
        let old = self.old.write(list.clone().with_ids(), None).map_err(|error| error.to_string());
        let new = self.new.write(list, None).map_err(|error| error.to_string());
        old.and(new)
    }
}

/// Reads lists of both forms.
pub(super) struct NodeListReader {
    reader: DataReader<Encoded, Raw>,
}

impl NodeListReader {
    pub(super) fn new(
        participant: &DomainParticipant,
        subscriber: &Subscriber,
        qos: QosPolicies,
    ) -> CreateResult<Self> {
        let topic = topic(participant, &qos)?;
        Ok(Self { reader: subscriber.create_datareader_no_key(&topic, Some(with_type_hash(qos, TYPE_HASH)))? })
    }

    /// Takes at most `count` lists. One that cannot be read is left out.
    pub(super) fn take(&mut self, count: usize) -> Vec<NodeList<Gid>> {
        let samples = (0..count).map_while(|_| self.reader.take_next_sample().transpose()).flatten();
        samples.filter_map(|sample| decoded(sample.value())).collect()
    }
}

/// A list of either form. As the later form, one of Humble's has no nodes and bytes that are left over.
fn decoded(list: &Encoded) -> Option<NodeList<Gid>> {
    let old = || decode_as::<NodeList<LongGid>>(TYPE_NAME, list).map(NodeList::with_ids);
    decode_as(TYPE_NAME, list).or_else(|_| old()).ok()
}

fn topic(participant: &DomainParticipant, qos: &QosPolicies) -> CreateResult<Topic> {
    let (name, kind) = (ros_discovery::TOPIC_NAME.to_owned(), ros_discovery::TYPE_NAME.to_owned());
    participant.create_topic(name, kind, qos, TopicKind::NoKey)
}

fn of_new_form(qos: QosPolicies) -> QosPolicies {
    with_type_hash(qos, TYPE_HASH).with_peer_filter(PeerFilter::AllBut(OF_HUMBLE))
}

/// Cyclone DDS of later distributions warns of endpoints without any USER_DATA.
fn of_old_form(qos: QosPolicies) -> QosPolicies {
    let user_data = b"identifiers=24;".to_vec();
    qos.with_user_data(user_data).with_peer_filter(PeerFilter::Only(OF_HUMBLE))
}

#[cfg(test)]
mod tests {
    use super::{ListedNode, LongGid, NodeList, decoded};
    use crate::cdr::{CDR_LE, Encoded};
    use byteorder::LittleEndian;
    use ros2_client::Gid;
    use serde::Serialize;

    fn encoded(list: &impl Serialize) -> Encoded {
        Encoded::from_parts(CDR_LE, &cdr_encoding::to_vec::<_, LittleEndian>(list).unwrap())
    }

    #[test]
    fn lists_of_humble_and_of_later_distributions_are_told_apart() {
        let gid = |number: u8| Gid::from([number; 16]);
        let node = ListedNode {
            namespace: "/lab".to_owned(),
            name: "teleop".to_owned(),
            readers: vec![gid(1)],
            writers: vec![gid(2), gid(3)],
        };
        for nodes in [vec![], vec![node]] {
            let list = NodeList { participant: gid(9), nodes };
            let old: NodeList<LongGid> = list.clone().with_ids();
            for bytes in [encoded(&list), encoded(&old)] {
                assert_eq!(format!("{:?}", decoded(&bytes)), format!("{:?}", Some(&list)));
            }
        }
    }
}

//! The transport over DDS: the process is a ROS 2 node that any DDS peer hears,
//! with no ROS installed. RustDDS speaks RTPS; `ros2-client` gives the ROS names,
//! types and graph messages.
//!
//! Readers and writers are made on the RustDDS participant with serialisation
//! hooks of our own, which pass ready CDR bytes, and the node's graph information
//! is announced here. `ros2-client`'s own node is not used: its publishers
//! serialise once more, and its background task subscribes to `/clock` with
//! another type than ROS 2's, which every `ros2 topic list -t` would show.
//!
//! Nothing blocks: a reliable writer whose readers fall behind refuses the next
//! sample ([`TransportError::Send`]) instead of waiting. Samples of our own
//! participant are passed over, so that in-process delivery beside DDS delivers
//! once.

mod graph;
mod listener;
mod raw;

use std::sync::Arc;

use ros2_client::{MessageTypeName, NodeName};
use rustdds::dds::{CreateError, CreateResult, WriteError};
use rustdds::mio1::Token;
use rustdds::no_key::DataWriter;
use rustdds::policy::{self, History, ResourceLimits};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, Duration, Publisher, QosPolicies, QosPolicyBuilder, RTPSEntity,
    Subscriber, Timestamp, TopicKind,
};
use selene_base::SimTime;

use self::graph::{Endpoint, Graph};
use self::listener::{Listener, Reader, Requests};
use self::raw::Raw;
use crate::cdr::Encoded;
use crate::qos::{Durability, Qos, Reliability, Topic};
use crate::transport::{Outlet, Sink, Subscription, Transport, TransportError};

/// The highest domain whose ports fit 16 bits (RTPS 2.5, 9.6.2.3).
const DOMAIN_ID_MAX: u16 = 232;
/// Samples a reliable writer holds for readers that have not acknowledged them, at
/// least: 25 s of a 10 Hz camera.
const UNACKNOWLEDGED_MIN: i32 = 256;
/// And in depths of its history: a minute of snapshots, longer than the 50 s for which
/// a peer of ours that died without a goodbye is still believed alive.
const UNACKNOWLEDGED_DEPTHS: i32 = 12;
const UNLIMITED: i32 = -1;
const CDR_LE: [u8; 2] = [0, 1];

/// Which node to be on which DDS domain.
#[derive(Clone, Debug)]
pub struct DdsOptions {
    /// `ROS_DOMAIN_ID`, 0 to 232.
    pub domain_id: u16,
    /// Name of the node, `selene`.
    pub node_name: String,
    /// Namespace of the node, `/` or `/viper`.
    pub namespace: String,
}

/// A ROS 2 node on a DDS domain. Dropping it says goodbye to all peers and ends
/// its threads; outlets and subscriptions that outlive it do nothing.
pub struct Dds {
    // Dropped in this order: no sink runs any more when the endpoints leave, and
    // the participant leaves last.
    listener: Listener,
    graph: Arc<Graph>,
    publisher: Publisher,
    subscriber: Subscriber,
    participant: DomainParticipant,
}

impl Dds {
    /// Joins the domain.
    ///
    /// # Errors
    /// When the domain or a name is not valid, or no port can be opened.
    pub fn open(options: DdsOptions) -> Result<Self, TransportError> {
        let refused = |what: String| TransportError::Open { middleware: middleware(&options), what };
        if options.domain_id > DOMAIN_ID_MAX {
            return Err(refused(format!("domains go from 0 to {DOMAIN_ID_MAX}")));
        }
        let node = NodeName::new(&options.namespace, &options.node_name)
            .map_err(|error| refused(format!("node {:?} in {:?}: {error:?}", options.node_name, options.namespace)))?;
        Self::join(options.domain_id, node).map_err(|error| refused(error.to_string()))
    }

    fn join(domain_id: u16, node: NodeName) -> CreateResult<Self> {
        let participant = DomainParticipantBuilder::new(domain_id).build()?;
        let publisher = participant.create_publisher(&QosPolicies::default())?;
        let subscriber = participant.create_subscriber(&QosPolicies::default())?;
        let graph = Arc::new(Graph::new(&participant, &publisher, node)?);
        let listener = Listener::start(participant.guid())?;
        Ok(Self { listener, graph, publisher, subscriber, participant })
    }

    fn dds_topic(&self, topic: &Topic) -> CreateResult<rustdds::Topic> {
        self.participant.create_topic(
            format!("rt{}", topic.name),
            dds_type_name(topic.type_name),
            &dds_qos(topic.qos).build(),
            TopicKind::NoKey,
        )
    }

    fn writer(&self, topic: &Topic) -> CreateResult<DataWriter<Encoded, Raw>> {
        self.publisher.create_datawriter_no_key(&self.dds_topic(topic)?, Some(writer_qos(topic.qos)))
    }

    fn reader(&self, topic: &Topic) -> CreateResult<Reader> {
        self.subscriber.create_simple_datareader_no_key(&self.dds_topic(topic)?, None)
    }
}

impl Drop for Dds {
    fn drop(&mut self) {
        self.graph.close();
    }
}

fn middleware(options: &DdsOptions) -> String {
    format!("DDS domain {}", options.domain_id)
}

/// `sensor_msgs/msg/Image` as DDS has it: `sensor_msgs::msg::dds_::Image_`.
fn dds_type_name(type_name: &str) -> String {
    let (package, _) = type_name.split_once('/').unwrap_or_default();
    let (_, name) = type_name.rsplit_once('/').unwrap_or_default();
    MessageTypeName::new(package, name).dds_msg_type()
}

fn dds_qos(qos: Qos) -> QosPolicyBuilder {
    let builder = QosPolicyBuilder::new().history(History::KeepLast { depth: dds_depth(qos) });
    let builder = builder.durability(match qos.durability {
        Durability::Volatile => policy::Durability::Volatile,
        Durability::TransientLocal => policy::Durability::TransientLocal,
    });
    match qos.reliability {
        Reliability::BestEffort => builder.best_effort(),
        // The longest a write may block while too many samples are unacknowledged.
        Reliability::Reliable => builder.reliable(Duration::ZERO),
    }
}

/// RustDDS takes the sample limit as how many may be unacknowledged.
fn writer_qos(qos: Qos) -> QosPolicies {
    let limits = ResourceLimits {
        max_samples: dds_depth(qos).saturating_mul(UNACKNOWLEDGED_DEPTHS).max(UNACKNOWLEDGED_MIN),
        max_instances: UNLIMITED,
        max_samples_per_instance: UNLIMITED,
    };
    dds_qos(qos).resource_limits(limits).build()
}

fn dds_depth(qos: Qos) -> i32 {
    i32::try_from(qos.depth).unwrap_or(i32::MAX)
}

fn endpoint_error(topic: &Topic) -> impl Fn(CreateError) -> TransportError {
    move |error| TransportError::Endpoint { topic: topic.name.clone(), what: error.to_string() }
}

impl Transport for Dds {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let writer = self.writer(topic).map_err(endpoint_error(topic))?;
        let presence = Presence::new(&self.graph, Endpoint::writer(writer.guid()));
        Ok(Box::new(DdsOutlet { topic: topic.name.clone(), writer, _presence: presence }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let reader = self.reader(topic).map_err(endpoint_error(topic))?;
        let presence = Presence::new(&self.graph, Endpoint::reader(reader.guid()));
        let requests = self.listener.requests().clone();
        let token = requests.add(reader, topic.name.clone(), sink);
        Ok(Subscription::guarded_by(Heard { requests, token, _presence: presence }))
    }
}

/// An endpoint's line in the graph.
struct Presence {
    graph: Arc<Graph>,
    endpoint: Endpoint,
}

impl Presence {
    fn new(graph: &Arc<Graph>, endpoint: Endpoint) -> Self {
        graph.add(endpoint);
        Self { graph: Arc::clone(graph), endpoint }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.graph.remove(self.endpoint);
    }
}

struct DdsOutlet {
    topic: String,
    writer: DataWriter<Encoded, Raw>,
    _presence: Presence,
}

impl DdsOutlet {
    fn refused(&self, what: impl ToString) -> TransportError {
        TransportError::Send { topic: self.topic.clone(), what: what.to_string() }
    }
}

impl Outlet for DdsOutlet {
    fn send(&self, message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        if message.representation() != Some(CDR_LE) {
            return Err(self.refused("only little-endian plain CDR is sent"));
        }
        // The source timestamp is the wall clock's, as every ROS 2 node has it.
        self.writer.write(message.clone(), Some(Timestamp::now())).map_err(|error| match error {
            WriteError::WouldBlock { .. } => self.refused("a reliable subscriber has stopped taking them"),
            other => self.refused(other),
        })
    }
}

/// A reader on the listener thread; dropping it takes the reader away.
struct Heard {
    requests: Requests,
    token: Token,
    _presence: Presence,
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.requests.remove(self.token);
    }
}

#[cfg(test)]
mod tests;

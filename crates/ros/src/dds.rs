//! The transport over DDS: the process is a ROS 2 node that any DDS peer can hear, without ROS being installed. RustDDS
//! implements RTPS; `ros2-client` provides the ROS names, types and graph messages.
//!
//! Readers and writers are created on the RustDDS participant with serialization hooks of our own, which pass encoded
//! CDR bytes, and the node's graph information is published here. `ros2-client`'s own node is not used: its publishers
//! would serialize again, and its background task subscribes to `/clock` with another type than ROS 2's, which every
//! `ros2 topic list -t` would show.
//!
//! Nothing blocks: a reliable writer whose readers fall behind refuses the next sample ([`TransportError::Send`])
//! instead of waiting. Samples of our own participant are ignored, so that together with in-process delivery each
//! message is delivered once.

mod discovery;
mod graph;
mod listener;
mod mapping;
mod matches;
mod mismatches;
mod node_lists;
mod peer_nodes;
mod raw;
mod services;

use std::sync::Arc;

use ros2_client::NodeName;
use rustdds::dds::{CreateError, CreateResult, WriteError};
use rustdds::mio1::Token;
use rustdds::no_key::DataWriter;
use rustdds::policy::{self, History, ResourceLimits};
use rustdds::{
    DomainParticipant, DomainParticipantBuilder, Duration, GUID, Publisher, QosPolicies, QosPolicyBuilder, RTPSEntity,
    Subscriber, Timestamp, TopicKind,
};
use selene_base::SimTime;

pub use self::discovery::{Discovery, DiscoveryError, DiscoveryOptions, Range};
use self::graph::{Endpoint, Graph};
use self::listener::{Listener, Purpose, Reader, Requests, Sample, SampleSink};
pub use self::mapping::ServiceMapping;
use self::matches::Matches;
use self::mismatches::{MismatchMonitor, OwnEndpoints};
use self::peer_nodes::PeerNodes;
use self::raw::Raw;
use crate::cdr::{CDR_LE, Encoded};
use crate::qos::{Durability, Qos, Reliability, Topic};
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};

/// The highest domain whose ports fit into 16 bits (RTPS 2.5, 9.6.2.3).
const DOMAIN_ID_MAX: u16 = 232;
/// Minimum number of unacknowledged samples that a reliable writer holds: 25 s of a 10 Hz camera.
const UNACKNOWLEDGED_MIN: i32 = 256;
/// The same as a multiple of the history depth: a minute of snapshots, longer than the 50 s for which a peer that was
/// killed is still believed alive.
const UNACKNOWLEDGED_DEPTHS: i32 = 12;
/// Number of clock ticks that may wait to be sent.
const UNSENT_TICKS: usize = 10;
const UNLIMITED: i32 = -1;
/// How long a latched topic that is closed waits for acknowledgements of its last message: a dead subscriber must not
/// delay the end of a run for long.
const FAREWELL: std::time::Duration = std::time::Duration::from_millis(500);

/// The node and the DDS domain that it joins.
#[derive(Clone, Debug)]
pub struct DdsOptions {
    /// The domain (`ROS_DOMAIN_ID`), 0 to 232.
    pub domain_id: u16,
    /// Name of the node, such as `selene`.
    pub node_name: String,
    /// Namespace of the node, such as `/` or `/viper`.
    pub namespace: String,
    /// Which peers the node looks for.
    pub discovery: Discovery,
    /// How services map to DDS topics with peers other than Fast DDS and Cyclone DDS, which are known by their vendor.
    pub service_mapping: ServiceMapping,
}

/// A ROS 2 node on a DDS domain. Dropping it takes it off the graph and ends its threads; outlets and subscriptions
/// that outlive it do nothing.
pub struct Dds {
    // Fields are dropped in this order: no sink runs any more when the endpoints are removed, and the participant is
    // removed last.
    listener: Listener,
    watch: MismatchMonitor,
    graph: Arc<Graph>,
    matches: Arc<Matches>,
    mapping: ServiceMapping,
    publisher: Publisher,
    subscriber: Subscriber,
    participant: DomainParticipant,
}

impl Dds {
    /// Joins the domain.
    ///
    /// # Errors
    /// When the domain or a name is invalid, the discovery range is off, or no port can be opened.
    pub fn open(options: DdsOptions) -> Result<Self, TransportError> {
        let refused = |what: String| TransportError::Open { middleware: middleware(&options), what };
        if options.domain_id > DOMAIN_ID_MAX {
            return Err(refused(format!("domains go from 0 to {DOMAIN_ID_MAX}")));
        }
        if options.discovery.range == Range::Off {
            return Err(refused("nobody may be discovered".to_owned()));
        }
        let node = NodeName::new(&options.namespace, &options.node_name)
            .map_err(|error| refused(format!("node {:?} in {:?}: {error:?}", options.node_name, options.namespace)))?;
        Self::join(&options, node).map_err(|error| refused(error.to_string()))
    }

    fn join(options: &DdsOptions, node: NodeName) -> CreateResult<Self> {
        let participant = builder(options).build()?;
        let publisher = participant.create_publisher(&QosPolicies::default())?;
        let subscriber = participant.create_subscriber(&QosPolicies::default())?;
        let graph = Arc::new(Graph::new(&participant, &publisher, node)?);
        let watch = MismatchMonitor::start(&participant, PeerNodes::new(&participant, &subscriber)?)?;
        let matches = Arc::new(Matches::new(participant.guid()));
        let listener = Listener::start(&participant, Arc::clone(&matches))?;
        let mapping = options.service_mapping;
        Ok(Self { listener, watch, graph, matches, mapping, publisher, subscriber, participant })
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
        let qos = with_type_hash(writer_qos(topic.qos), topic.type_hash);
        self.publisher.create_datawriter_no_key(&self.dds_topic(topic)?, Some(qos))
    }

    fn reader(&self, topic: &Topic) -> CreateResult<Reader> {
        let qos = with_type_hash(dds_qos(topic.qos).build(), topic.type_hash);
        self.subscriber.create_simple_datareader_no_key(&self.dds_topic(topic)?, Some(qos))
    }

    /// Adds our endpoint to the graph; if it belongs to a `topic`, peers' endpoints are compared with it.
    fn presence(&self, endpoint: Endpoint, guid: GUID, topic: Option<&Topic>) -> Registration {
        let (graph, own) = (Arc::clone(&self.graph), Arc::clone(self.watch.own()));
        graph.add(endpoint);
        topic.into_iter().for_each(|topic| own.add(endpoint, topic));
        Registration { graph, own, matches: Arc::clone(&self.matches), endpoint, guid }
    }

    /// Passes the samples of `reader` to `sink` until the guard is dropped.
    fn received(
        &self,
        reader: Reader,
        purpose: Purpose,
        topic: String,
        sink: SampleSink,
        presence: Registration,
    ) -> RegisteredReader {
        let requests = self.listener.requests().clone();
        let token = requests.add(reader, purpose, topic, sink);
        RegisteredReader { requests, token, _presence: presence }
    }
}

impl Drop for Dds {
    fn drop(&mut self) {
        self.graph.close();
    }
}

/// The builder of the participant.
fn builder(options: &DdsOptions) -> DomainParticipantBuilder {
    let Discovery { only_networks, static_peers, range } = &options.discovery;
    let builder = DomainParticipantBuilder::new(options.domain_id);
    // A node limited to this machine and static peers sends no multicast.
    let builder = builder.static_peers(static_peers.iter().copied()).multicast(*range == Range::Subnet);
    match only_networks {
        Some(only) => builder.with_only_networks(only.iter().copied()),
        None => builder,
    }
}

fn middleware(options: &DdsOptions) -> String {
    format!("DDS domain {}", options.domain_id)
}

/// The DDS name of a type: `sensor_msgs/msg/Image` is `sensor_msgs::msg::dds_::Image_`.
fn dds_type_name(type_name: &str) -> String {
    let (folder, name) = type_name.rsplit_once('/').unwrap_or_default();
    format!("{}::dds_::{name}_", folder.replace('/', "::"))
}

fn dds_qos(qos: Qos) -> QosPolicyBuilder {
    let builder = QosPolicyBuilder::new().history(History::KeepLast { depth: dds_depth(qos) });
    let builder = builder.durability(match qos.durability {
        Durability::Volatile => policy::Durability::Volatile,
        Durability::TransientLocal => policy::Durability::TransientLocal,
    });
    match qos.reliability {
        Reliability::BestEffort => builder.best_effort(),
        // The longest time that a write may block when too many samples are unacknowledged.
        Reliability::Reliable => builder.reliable(Duration::ZERO),
    }
}

/// RustDDS uses the sample limit as the maximum number of unacknowledged samples. A clock's samples are kept until they
/// are sent; with a depth of 1 it would skip ticks whenever the sending thread has no time.
fn writer_qos(qos: Qos) -> QosPolicies {
    let qos = if qos == Qos::clock() { Qos { depth: UNSENT_TICKS, ..qos } } else { qos };
    let limits = ResourceLimits {
        max_samples: dds_depth(qos).saturating_mul(UNACKNOWLEDGED_DEPTHS).max(UNACKNOWLEDGED_MIN),
        max_instances: UNLIMITED,
        max_samples_per_instance: UNLIMITED,
    };
    dds_qos(qos).resource_limits(limits).build()
}

/// Begins a type's hash in USER_DATA.
const TYPE_HASH_KEY: &str = "typehash=";

/// Adds the type's hash as USER_DATA: peers read it there and warn of every endpoint without one (`rmw_dds_common`,
/// `encode_type_hash_for_user_data_qos`).
fn with_type_hash(qos: QosPolicies, type_hash: &str) -> QosPolicies {
    qos.with_user_data(format!("{TYPE_HASH_KEY}{type_hash};").into_bytes())
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
        let presence = self.presence(Endpoint::writer(writer.guid()), writer.guid(), Some(topic));
        let farewell = (topic.qos.durability == Durability::TransientLocal).then_some(FAREWELL);
        Ok(Box::new(DdsOutlet { topic: topic.name.clone(), writer, farewell, presence }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let reader = self.reader(topic).map_err(endpoint_error(topic))?;
        let presence = self.presence(Endpoint::reader(reader.guid()), reader.guid(), Some(topic));
        let sink = move |sample: Sample| sink(&sample.message);
        let received = self.received(reader, Purpose::Topic, topic.name.clone(), Box::new(sink), presence);
        Ok(Subscription::guarded_by(received))
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.serve_service(service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        self.service_client(service)
    }

    fn publishers_of(&self, name: &str) -> Option<usize> {
        self.watch.own().publishers_of(name)
    }
}

/// Registration of an endpoint in the graph, in the comparison with peers' endpoints, and in the table of matches;
/// dropping it removes the endpoint from all of them.
struct Registration {
    graph: Arc<Graph>,
    own: Arc<OwnEndpoints>,
    matches: Arc<Matches>,
    endpoint: Endpoint,
    guid: GUID,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.graph.remove(self.endpoint);
        self.own.remove(self.endpoint);
        self.matches.forget(self.guid);
    }
}

struct DdsOutlet {
    topic: String,
    writer: DataWriter<Encoded, Raw>,
    /// How long to wait for acknowledgements of the last messages when the outlet is dropped.
    farewell: Option<std::time::Duration>,
    presence: Registration,
}

impl Drop for DdsOutlet {
    /// Waits until the readers have the latched message: peers depend on such a state, for instance a run's end, and
    /// nobody sends it again once the writer is gone.
    fn drop(&mut self) {
        let Some(longest) = self.farewell else { return };
        if self.writer.wait_for_acknowledgments(longest).is_ok_and(|all_have_it| !all_have_it) {
            tracing::debug!(topic = self.topic, "not every subscriber has acknowledged the last message");
        }
    }
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
        // The source timestamp is wall time, as for every ROS 2 node.
        self.writer.write(message.clone(), Some(Timestamp::now())).map_err(|error| self.refused(refusal(error)))
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.send(message, stamp)
    }

    fn subscribers(&self) -> Option<usize> {
        Some(self.presence.matches.count(self.presence.guid))
    }
}

/// Why a sample could not be written.
fn refusal(error: WriteError<Encoded>) -> String {
    match error {
        WriteError::WouldBlock { .. } => "a reliable subscriber has stopped taking them".to_owned(),
        other => other.to_string(),
    }
}

/// A reader on the listener thread; dropping it removes the reader.
struct RegisteredReader {
    requests: Requests,
    token: Token,
    _presence: Registration,
}

impl Drop for RegisteredReader {
    fn drop(&mut self) {
        self.requests.remove(self.token);
    }
}

#[cfg(test)]
mod tests;

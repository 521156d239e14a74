//! Detects peers that use our topics but cannot exchange messages with us, because of another message type or
//! incompatible quality of service. DDS silently leaves such endpoints unmatched (DDS 1.4, 2.2.3). Once a second (wall
//! time) a thread compares all endpoints of peers with ours, logs once for each whose it is, what differs and what to do,
//! and counts the publishers that match our subscriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use std::{fmt, io};

use ros2_client::Gid;
use rustdds::{DomainParticipant, QosPolicies, RTPSEntity, policy};

use super::graph::Endpoint;
use super::peer_nodes::PeerNodes;
use super::{dds_qos, dds_type_name};
use crate::qos::{Durability, Reliability, Topic};

/// How often peers' endpoints are compared (wall time).
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Prefix that ROS 2 adds to the names of topics in DDS.
const ROS_TOPIC: &str = "rt";
/// How often an incompatible endpoint is seen without a node before it is logged without one: Fast DDS repeats what was lost
/// each three seconds.
const LOOKS_FOR_NODE: u32 = 30;
/// The two types of `cmd_vel`: Selene has an option that takes the unstamped one.
const STAMPED: &str = "geometry_msgs/msg/TwistStamped";
const UNSTAMPED: &str = "geometry_msgs/msg/Twist";

/// Handle of the thread; dropping it ends and joins it.
pub(super) struct MismatchMonitor {
    own: Arc<OwnEndpoints>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Our endpoints, and what is known of their peers.
#[derive(Default)]
pub(super) struct OwnEndpoints {
    known: Mutex<KnownEndpoints>,
}

#[derive(Default)]
struct KnownEndpoints {
    own: BTreeMap<Endpoint, Topic>,
    /// Numbers of publishers elsewhere that match our subscriptions, by topic.
    publishers: BTreeMap<String, usize>,
    /// Incompatible endpoints that were already logged.
    reported: BTreeSet<Gid>,
    /// Incompatible endpoints whose node is not known, with how often they were seen: its name comes after the endpoint.
    nameless: BTreeMap<Gid, u32>,
}

/// An endpoint of another participant.
#[derive(Clone, Debug)]
struct Peer {
    gid: Gid,
    side: EndpointRole,
    /// The topic's name in DDS.
    topic: String,
    type_name: String,
    qos: QosPolicies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndpointRole {
    Publishes,
    Subscribes,
}

impl MismatchMonitor {
    pub(super) fn start(participant: &DomainParticipant, nodes: PeerNodes) -> io::Result<Self> {
        let (own, (stop, stopped)) = (Arc::new(OwnEndpoints::default()), channel());
        let (participant, watched) = (participant.clone(), Arc::clone(&own));
        let work = move || watch(&participant, nodes, &watched, &stopped);
        let thread = Builder::new().name("dds mismatches".to_owned()).spawn(work)?;
        Ok(Self { own, stop: Some(stop), thread: Some(thread) })
    }

    pub(super) fn own(&self) -> &Arc<OwnEndpoints> {
        &self.own
    }
}

impl Drop for MismatchMonitor {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("peers that do not fit are not reported any more: the thread that looks for them broke off");
        }
    }
}

fn watch(participant: &DomainParticipant, mut nodes: PeerNodes, own: &OwnEndpoints, stopped: &Receiver<()>) {
    while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        nodes.read();
        for what in own.look_at(&peers(participant), |gid| nodes.name_of(gid)) {
            tracing::warn!("{what}");
        }
    }
}

/// All endpoints of other participants.
fn peers(participant: &DomainParticipant) -> Vec<Peer> {
    let own = participant.guid().prefix;
    let writers = participant.discovered_writers().into_iter().map(|writer| {
        let (guid, data) = (writer.writer_proxy.remote_writer_guid, writer.publication_topic_data);
        let qos = data.qos();
        (guid, EndpointRole::Publishes, data.topic_name, data.type_name, qos)
    });
    let readers = participant.discovered_readers().into_iter().map(|reader| {
        let (guid, data) = (reader.reader_proxy.remote_reader_guid, reader.subscription_topic_data);
        let (type_name, qos) = (data.type_name().clone(), data.qos());
        (guid, EndpointRole::Subscribes, data.topic_name, type_name, qos)
    });
    let others = writers.chain(readers).filter(|(guid, ..)| guid.prefix != own);
    others.map(|(guid, side, topic, type_name, qos)| Peer { gid: guid.into(), side, topic, type_name, qos }).collect()
}

impl OwnEndpoints {
    pub(super) fn add(&self, endpoint: Endpoint, topic: &Topic) {
        self.known().own.insert(endpoint, topic.clone());
    }

    pub(super) fn remove(&self, endpoint: Endpoint) {
        self.known().own.remove(&endpoint);
    }

    /// Number of publishers elsewhere that match our subscription to topic `name`; `None` without such a subscription.
    pub(super) fn publishers_of(&self, name: &str) -> Option<usize> {
        let known = self.known();
        let is_received =
            |(endpoint, topic): (&Endpoint, &Topic)| matches!(endpoint, Endpoint::Reader(_)) && topic.name == name;
        let subscribed = known.own.iter().any(is_received);
        subscribed.then(|| known.publishers.get(name).copied().unwrap_or_default())
    }

    /// Takes in the present endpoints; returns the warnings about incompatible ones that were not logged yet. `node_of`
    /// gives the full name of an endpoint's node.
    fn look_at(&self, peers: &[Peer], node_of: impl Fn(Gid) -> Option<String>) -> Vec<String> {
        let mut known = self.known();
        let present: BTreeSet<Gid> = peers.iter().map(|peer| peer.gid).collect();
        known.reported.retain(|gid| present.contains(gid));
        known.nameless.retain(|gid, _| present.contains(gid));
        known.publishers.clear();
        let mut messages = Vec::new();
        for peer in peers {
            match known.meeting(peer) {
                Compatibility::Nobody => {}
                Compatibility::Fits(topic) if peer.side == EndpointRole::Publishes => {
                    *known.publishers.entry(topic).or_default() += 1
                }
                Compatibility::Fits(_) => {}
                Compatibility::Misfits(misfit) => messages.extend(known.warning(peer, &misfit, &node_of)),
            }
        }
        messages
    }

    /// Number of incompatible endpoints that were logged.
    #[cfg(test)]
    pub(super) fn misfits(&self) -> usize {
        self.known().reported.len()
    }

    fn known(&self) -> MutexGuard<'_, KnownEndpoints> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Relation between a peer's endpoint and ours.
enum Compatibility {
    /// None of ours has its topic.
    Nobody,
    /// It is compatible with one of ours on this topic.
    Fits(String),
    /// It is incompatible with ours.
    Misfits(Misfit),
}

/// Why a peer's endpoint does not fit ours.
struct Misfit {
    /// Our topic.
    topic: String,
    /// What differs, and what to do.
    what: String,
}

impl KnownEndpoints {
    /// The warning about an endpoint, once; `None` as long as the name of its node may still come.
    fn warning(&mut self, peer: &Peer, misfit: &Misfit, node_of: impl Fn(Gid) -> Option<String>) -> Option<String> {
        if self.reported.contains(&peer.gid) {
            return None;
        }
        let node = node_of(peer.gid);
        let looks = self.nameless.entry(peer.gid).or_default();
        *looks += 1;
        if node.is_none() && *looks < LOOKS_FOR_NODE {
            return None;
        }
        self.nameless.remove(&peer.gid);
        self.reported.insert(peer.gid);
        let named =
            |what: &str| node.map_or_else(|| format!("{what} whose node is not known"), |node| format!("node {node}"));
        let Misfit { topic, what } = misfit;
        Some(match peer.side {
            EndpointRole::Publishes => {
                format!("topic {topic}: messages of {} are not received: {what}", named("a publisher"))
            }
            EndpointRole::Subscribes => format!("topic {topic}: {} gets nothing: {what}", named("a subscriber")),
        })
    }

    fn meeting(&self, peer: &Peer) -> Compatibility {
        let mut met = Compatibility::Nobody;
        for (endpoint, topic) in &self.own {
            let is_met = matches!(
                (endpoint, peer.side),
                (Endpoint::Reader(_), EndpointRole::Publishes) | (Endpoint::Writer(_), EndpointRole::Subscribes)
            );
            if is_met && peer.topic.strip_prefix(ROS_TOPIC) == Some(topic.name.as_str()) {
                match peer.misfit(topic) {
                    None => return Compatibility::Fits(topic.name.clone()),
                    Some(what) => met = Compatibility::Misfits(Misfit { topic: topic.name.clone(), what }),
                }
            }
        }
        met
    }
}

impl Peer {
    /// What is incompatible with our endpoint on a topic, and what to do; `None` if they match.
    fn misfit(&self, ours: &Topic) -> Option<String> {
        if self.type_name != dds_type_name(ours.type_name) {
            let theirs = ros_type_name(&self.type_name);
            let advice = type_advice(ours.type_name, &theirs);
            return Some(format!("its type is {theirs} and not {}; {advice}", ours.type_name));
        }
        let of_ours = dds_qos(ours.qos).build();
        let failing = match self.side {
            EndpointRole::Publishes => self.qos.compliance_failure_wrt(&of_ours),
            EndpointRole::Subscribes => of_ours.compliance_failure_wrt(&self.qos),
        };
        let (policy, has) = (failing?, QosSummary::of_ours(ours));
        let theirs = QosSummary::of_peer(self);
        let advice = match self.side {
            EndpointRole::Publishes => format!("publish {has}"),
            EndpointRole::Subscribes if ours.qos.reliability == Reliability::BestEffort => {
                format!("subscribe {has}, or set `qos: reliable` in a sensor's file")
            }
            EndpointRole::Subscribes => format!("subscribe {has}"),
        };
        Some(format!("its quality of service ({theirs}) does not fit ours ({has}) in {policy:?}; {advice}"))
    }
}

fn type_advice(ours: &str, theirs: &str) -> String {
    match (ours, theirs) {
        (STAMPED, UNSTAMPED) => format!("publish {ours}, or start Selene with --twist-unstamped"),
        (UNSTAMPED, STAMPED) => format!("publish {ours}, or start Selene without --twist-unstamped"),
        _ => format!("use {ours} there, or another name for the topic"),
    }
}

/// The ROS 2 name of a DDS type: `geometry_msgs::msg::dds_::Twist_` is `geometry_msgs/msg/Twist`. Other names are
/// unchanged.
fn ros_type_name(dds: &str) -> String {
    let parts = dds.strip_suffix('_').and_then(|name| name.split_once("::dds_::"));
    parts.map_or_else(|| dds.to_owned(), |(package, name)| format!("{}/{name}", package.replace("::", "/")))
}

/// Reliability and durability, for display.
struct QosSummary {
    is_reliable: bool,
    is_latched: bool,
}

impl QosSummary {
    fn of_ours(topic: &Topic) -> Self {
        Self {
            is_reliable: topic.qos.reliability == Reliability::Reliable,
            is_latched: topic.qos.durability == Durability::TransientLocal,
        }
    }

    /// A policy that a peer leaves out has its DDS default: writers are reliable, readers best effort, both volatile.
    fn of_peer(peer: &Peer) -> Self {
        let left_out = peer.side == EndpointRole::Publishes;
        let is_reliable = |requested| matches!(requested, policy::Reliability::Reliable { .. });
        Self {
            is_reliable: peer.qos.reliability().map_or(left_out, is_reliable),
            is_latched: peer.qos.durability().is_some_and(|requested| requested != policy::Durability::Volatile),
        }
    }
}

impl fmt::Display for QosSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reliability = if self.is_reliable { "reliable" } else { "best effort" };
        let durability = if self.is_latched { "transient local" } else { "volatile" };
        write!(f, "{reliability}, {durability}")
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointRole, LOOKS_FOR_NODE, OwnEndpoints, Peer, dds_qos, dds_type_name, ros_type_name};
    use crate::dds::graph::Endpoint;
    use crate::geometry_msgs::{Twist, TwistStamped};
    use crate::sensor_msgs::Image;
    use crate::{Message, Qos, Topic};
    use ros2_client::Gid;

    fn gid(number: u8) -> Gid {
        Gid::from([number; 16])
    }

    fn peer<M: Message>(number: u8, side: EndpointRole, topic: &str, qos: Qos) -> Peer {
        let (topic, type_name) = (format!("rt{topic}"), dds_type_name(M::TYPE_NAME));
        Peer { gid: gid(number), side, topic, type_name, qos: dds_qos(qos).build() }
    }

    /// One of our endpoints.
    fn own<M: Message>(endpoint: fn(Gid) -> Endpoint, topic: &str, qos: Qos) -> OwnEndpoints {
        let own = OwnEndpoints::default();
        own.add(endpoint(gid(200)), &Topic::new::<M>(topic, qos).unwrap());
        own
    }

    fn named(_: Gid) -> Option<String> {
        Some("/node".to_owned())
    }

    #[test]
    fn the_name_of_a_node_is_waited_for_and_what_has_none_is_reported_in_the_end() {
        let plain = [peer::<Twist>(1, EndpointRole::Publishes, "/cmd_vel", Qos::reliable())];
        let own = || own::<TwistStamped>(Endpoint::Reader, "/cmd_vel", Qos::reliable());
        let late = own();
        assert!(late.look_at(&plain, |_| None).is_empty());
        assert!(late.look_at(&plain, named).concat().contains("messages of node /node are"));
        assert!(late.look_at(&plain, named).is_empty());
        let foreign = own();
        let reported: Vec<_> = (0..LOOKS_FOR_NODE + 2).map(|_| foreign.look_at(&plain, |_| None).concat()).collect();
        let last = &reported[LOOKS_FOR_NODE as usize - 1];
        assert!(last.contains("a publisher whose node is not known") && reported.concat() == *last);
    }

    #[test]
    fn a_plain_twist_is_reported_once_with_the_option_that_takes_it() {
        let own = own::<TwistStamped>(Endpoint::Reader, "/cmd_vel", Qos::reliable());
        let plain = peer::<Twist>(1, EndpointRole::Publishes, "/cmd_vel", Qos::reliable());
        let node = |_| Some("/lab/teleop".to_owned());
        let reported = own.look_at(std::slice::from_ref(&plain), node);
        let [reported] = &reported[..] else { panic!("{reported:?}") };
        for part in [
            "topic /cmd_vel",
            "node /lab/teleop",
            "is geometry_msgs/msg/Twist and not geometry_msgs/msg/TwistStamped",
            "--twist-unstamped",
        ] {
            assert!(reported.contains(part), "{part} is missing in: {reported}");
        }
        assert_eq!(own.publishers_of("/cmd_vel"), Some(0));
        let stamped = peer::<TwistStamped>(2, EndpointRole::Publishes, "/cmd_vel", Qos::reliable());
        assert!(own.look_at(&[plain.clone(), stamped], node).is_empty(), "reported once");
        assert_eq!((own.publishers_of("/cmd_vel"), own.publishers_of("/other")), (Some(1), None));
        assert!(own.look_at(&[], node).is_empty() && own.look_at(&[plain], node).len() == 1, "it went and came again");
    }

    #[test]
    fn quality_of_service_that_does_not_fit_is_reported_from_both_sides() {
        let images = own::<Image>(Endpoint::Writer, "/image_raw", Qos::sensor_data());
        let requests = |qos| images.look_at(&[peer::<Image>(1, EndpointRole::Subscribes, "/image_raw", qos)], named);
        assert!(requests(Qos::sensor_data()).is_empty());
        let reported = requests(Qos::reliable()).concat();
        for part in ["/image_raw", "(reliable, volatile)", "(best effort, volatile)", "Reliability", "qos: reliable"] {
            assert!(reported.contains(part), "{part} is missing in: {reported}");
        }
        let commands = own::<Twist>(Endpoint::Reader, "/cmd_vel", Qos::reliable());
        let offers = |qos| commands.look_at(&[peer::<Twist>(1, EndpointRole::Publishes, "/cmd_vel", qos)], named);
        assert!(offers(Qos::latched()).is_empty());
        assert!(
            offers(Qos::sensor_data()).concat().contains("are not received")
                && commands.publishers_of("/cmd_vel") == Some(0)
        );
    }

    #[test]
    fn who_is_on_the_same_side_or_on_another_topic_is_no_matter() {
        let own = own::<TwistStamped>(Endpoint::Reader, "/cmd_vel", Qos::reliable());
        let beside = peer::<Twist>(1, EndpointRole::Subscribes, "/cmd_vel", Qos::reliable());
        let elsewhere = peer::<Twist>(2, EndpointRole::Publishes, "/viper/cmd_vel", Qos::reliable());
        assert!(own.look_at(&[beside, elsewhere], named).is_empty());
        own.remove(Endpoint::Reader(gid(200)));
        assert_eq!(own.publishers_of("/cmd_vel"), None);
    }

    #[test]
    fn names_of_types_are_reported_as_ros_has_them() {
        assert_eq!(ros_type_name(&dds_type_name("geometry_msgs/msg/Twist")), "geometry_msgs/msg/Twist");
        assert_eq!(ros_type_name("ShapeType"), "ShapeType");
    }
}

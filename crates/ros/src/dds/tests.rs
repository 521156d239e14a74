//! Tests with two participants in this process, each a node of its own, over the loopback interface. Skipped with a
//! message if no socket can be opened.

#[path = "../../../../tests/src/skip.rs"]
pub(super) mod skip;

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;

use super::{DOMAIN_ID_MAX, Dds, DdsOptions, Discovery, DiscoveryOptions, Range, ServiceMapping};
use crate::geometry_msgs::{Twist, TwistStamped};
use crate::message::Message;
use crate::qos::Qos;
use crate::sensor_msgs::Image;
use crate::service::serve;
use crate::std_msgs::Header;
use crate::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use crate::transport::{Publisher, Subscription, Transport, TransportError, subscribe};

/// A domain for these tests only, away from the user's nodes.
const DOMAIN: u16 = 87;
/// A domain for two nodes only: within a machine, only the first ports of a domain are contacted.
const DOMAIN_OF_TWO: u16 = 86;
/// Timeout: peers find each other within seconds, but a slow machine may need much longer.
const TIMEOUT: Duration = Duration::from_secs(30);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
/// A NavCam frame, 640 × 360 mono8.
const IMAGE_BYTES: usize = 640 * 360;
const FIRST: u32 = 0;
const FIRST_OF_OTHER: u32 = 1_000_000;

fn options(node_name: &str) -> DdsOptions {
    DdsOptions {
        domain_id: DOMAIN,
        node_name: node_name.to_owned(),
        namespace: "/".to_owned(),
        discovery: Discovery::default(),
        service_mapping: ServiceMapping::default(),
    }
}

fn open(node_name: &str) -> Option<Dds> {
    open_with(options(node_name))
}

fn open_with(options: DdsOptions) -> Option<Dds> {
    match Dds::open(options) {
        Ok(dds) => Some(dds),
        Err(error) => {
            skip::skip_peer(&error.to_string());
            None
        }
    }
}

fn image(number: u32) -> Image {
    let header = Header::new(SimTime::ZERO, &number.to_string());
    let data = (0..IMAGE_BYTES).map(|i| (i as u32).wrapping_mul(2_654_435_761).wrapping_add(number) as u8).collect();
    Image { header, height: 360, width: 640, encoding: "mono8".to_owned(), is_bigendian: 0, step: 640, data }
}

fn listen(dds: &Dds, topic: &str, qos: Qos) -> (Subscription, Receiver<Image>) {
    let (tx, rx) = channel();
    let on = move |image: Image| _ = tx.send(image);
    (subscribe(dds, topic, qos, on).unwrap(), rx)
}

/// Publishes images numbered from `first` until one arrives; returns that one.
fn publish_until_received(publisher: &Publisher<Image>, received: &Receiver<Image>, first: u32) -> Image {
    let start = Instant::now();
    for number in first.. {
        publisher.publish(&image(number), SimTime::ZERO).unwrap();
        if let Ok(image) = received.recv_timeout(BETWEEN_TRIES) {
            return image;
        }
        assert!(start.elapsed() < TIMEOUT, "nothing received");
    }
    unreachable!("the loop ends by returning or by losing patience")
}

fn exchange(topic: &str, qos: Qos) {
    let (Some(left), Some(right)) = (open("left"), open("right")) else { return };
    exchange_between(&left, &right, topic, qos);
}

fn exchange_between(left: &Dds, right: &Dds, topic: &str, qos: Qos) {
    for (from, to) in [(left, right), (right, left)] {
        let (_subscription, received) = listen(to, topic, qos);
        let publisher = Publisher::new(from, topic, qos).unwrap();
        let got = publish_until_received(&publisher, &received, FIRST);
        let number: u32 = got.header.frame_id.parse().unwrap();
        assert_eq!(got, image(number), "the bytes arrive unchanged");
    }
}

#[test]
fn two_nodes_exchange_images_both_ways_best_effort() {
    exchange("/test/exchange_best_effort", Qos::sensor_data());
}

#[test]
fn two_nodes_exchange_images_both_ways_reliably() {
    exchange("/test/exchange_reliable", Qos::reliable());
}

#[test]
fn nodes_that_keep_to_this_machine_find_each_other() {
    let alone = DiscoveryOptions { on_this_machine: true, ..DiscoveryOptions::default() };
    let discovery = Discovery::new(&alone).unwrap();
    let here = |name| DdsOptions { domain_id: DOMAIN_OF_TWO, discovery: discovery.clone(), ..options(name) };
    let (Some(left), Some(right)) = (open_with(here("left")), open_with(here("right"))) else { return };
    exchange_between(&left, &right, "/test/this_machine", Qos::reliable());
}

#[test]
fn peers_of_another_type_are_found_and_those_that_fit_are_counted() {
    let (Some(rover), Some(plain), Some(stamped)) = (open("rover"), open("plain"), open("stamped")) else { return };
    let topic = "/test/cmd_vel";
    let _subscription = subscribe(&rover, topic, Qos::reliable(), |_: TwistStamped| ()).unwrap();
    let _plain = Publisher::<Twist>::new(&plain, topic, Qos::reliable()).unwrap();
    let _stamped = Publisher::<TwistStamped>::new(&stamped, topic, Qos::reliable()).unwrap();
    let found = || (rover.watch.own().misfits(), rover.publishers_of(topic));
    let start = Instant::now();
    while found() != (1, Some(1)) {
        assert!(start.elapsed() < TIMEOUT, "{:?}", found());
        std::thread::sleep(BETWEEN_TRIES);
    }
}

/// USER_DATA of the endpoints that `dds` has discovered on a DDS topic.
fn user_data(dds: &Dds, topic: &str) -> Vec<String> {
    let (writers, readers) = (dds.participant.discovered_writers(), dds.participant.discovered_readers());
    let writers = writers.into_iter().filter(|found| found.publication_topic_data.topic_name == topic);
    let readers = readers.into_iter().filter(|found| found.subscription_topic_data.topic_name == topic);
    let data = writers.map(|found| found.user_data).chain(readers.map(|found| found.user_data));
    data.map(|data| String::from_utf8_lossy(&data).into_owned()).collect()
}

#[test]
fn peers_get_the_type_hash_of_each_endpoint() {
    let (Some(teller), Some(peer)) = (open("teller"), open("peer")) else { return };
    let topic = "/test/type_hash";
    let _publisher = Publisher::<Image>::new(&teller, topic, Qos::reliable()).unwrap();
    let _subscription = listen(&teller, topic, Qos::reliable());
    let _service = serve::<SetBool>(&teller, topic, |_, _| ()).unwrap();
    for (topic, endpoints, hash) in [
        ("rt/test/type_hash", 2, Image::TYPE_HASH),
        ("rq/test/type_hashRequest", 1, SetBoolRequest::TYPE_HASH),
        ("rr/test/type_hashReply", 1, SetBoolResponse::TYPE_HASH),
    ] {
        let start = Instant::now();
        while user_data(&peer, topic).len() < endpoints {
            assert!(start.elapsed() < TIMEOUT, "{topic} is not found");
            std::thread::sleep(BETWEEN_TRIES);
        }
        let reported = user_data(&peer, topic);
        assert!(reported.iter().all(|data| data.contains(&format!("typehash={hash};"))), "{topic}: {reported:?}");
    }
}

#[test]
fn a_late_subscriber_gets_a_latched_message() {
    let (Some(early), Some(late)) = (open("early"), open("late")) else { return };
    let topic = "/test/latched";
    let publisher = Publisher::new(&early, topic, Qos::latched()).unwrap();
    publisher.publish(&image(7), SimTime::ZERO).unwrap();
    let (_subscription, received) = listen(&late, topic, Qos::latched());
    assert_eq!(received.recv_timeout(TIMEOUT).unwrap(), image(7));
}

#[test]
fn samples_of_our_own_node_are_not_received_but_others_are() {
    let (Some(own), Some(other)) = (open("own"), open("other")) else { return };
    let topic = "/test/own_samples";
    let (_own_subscription, own_received) = listen(&own, topic, Qos::reliable());
    let (_other_subscription, other_received) = listen(&other, topic, Qos::reliable());
    let publisher = Publisher::new(&own, topic, Qos::reliable()).unwrap();
    publish_until_received(&publisher, &other_received, FIRST);
    let other_publisher = Publisher::new(&other, topic, Qos::reliable()).unwrap();
    let first = publish_until_received(&other_publisher, &own_received, FIRST_OF_OTHER);
    let number: u32 = first.header.frame_id.parse().unwrap();
    assert!(number >= FIRST_OF_OTHER, "our own messages came first");
}

#[test]
fn a_stuck_subscriber_never_blocks_the_publisher() {
    let (Some(writer), Some(reader)) = (open("writer"), open("frozen")) else { return };
    let topic = "/test/frozen";
    let (received, held) = channel();
    let (release, gate) = channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let on = move |_: Image| {
        received.send(()).unwrap();
        _ = gate.lock().unwrap().recv(); // the first image is never let go
    };
    let _subscription = subscribe(&reader, topic, Qos::reliable(), on).unwrap();
    let publisher = Publisher::new(&writer, topic, Qos::reliable()).unwrap();
    let small = Image::default();
    let start = Instant::now();
    while held.recv_timeout(BETWEEN_TRIES).is_err() {
        publisher.publish(&small, SimTime::ZERO).unwrap();
        assert!(start.elapsed() < TIMEOUT, "nothing received");
    }
    for _ in 0..2000 {
        match publisher.publish(&small, SimTime::ZERO) {
            Ok(()) | Err(TransportError::Send { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    drop(release);
}

#[test]
fn what_outlives_the_node_does_nothing_and_peers_see_it_leave() {
    let (Some(leaving), Some(staying)) = (open("leaving"), open("staying")) else { return };
    let topic = "/test/leaving";
    let (_subscription, received) = listen(&staying, topic, Qos::reliable());
    let (orphan, _) = listen(&leaving, topic, Qos::reliable());
    let publisher = Publisher::new(&leaving, topic, Qos::reliable()).unwrap();
    publish_until_received(&publisher, &received, FIRST);
    let writers = || {
        let found = staying.participant.discovered_writers();
        found.iter().filter(|writer| writer.publication_topic_data.topic_name == "rt/test/leaving").count()
    };
    assert_eq!(writers(), 1);
    drop(leaving);
    let start = Instant::now();
    while writers() > 0 {
        assert!(start.elapsed() < TIMEOUT, "the writer is still there");
        std::thread::sleep(BETWEEN_TRIES);
    }
    publisher.publish(&image(FIRST_OF_OTHER), SimTime::ZERO).unwrap();
    drop((publisher, orphan));
}

#[test]
fn an_impossible_domain_or_name_is_refused_with_the_way_out() {
    let too_high = DdsOptions { domain_id: DOMAIN_ID_MAX + 1, ..options("x") };
    let bad_name = options("not a name");
    let with = |discovery| DdsOptions { discovery, ..options("x") };
    let off = with(Discovery { range: Range::Off, ..Discovery::default() });
    for refused in [too_high, bad_name, off] {
        let message = Dds::open(refused).err().expect("must be refused").to_string();
        assert!(message.contains("--no-dds") && message.contains("domain"), "{message}");
    }
}

//! A Fast DDS participant with its default profile and the kernel's default socket buffers receives what Selene sends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use selene_base::SimTime;
use selene_ros::dds::{Dds, DdsOptions, Discovery, ServiceMapping};
use selene_ros::transport::{Publisher, subscribe};
use selene_ros::{Qos, sensor_msgs, std_msgs, tf2_msgs};
use selene_tests::{repository_file, skip_peer};

use crate::program::{alone, folder, succeeded, text};

const IMAGE: &str = "sensor_msgs::msg::dds_::Image_";
const TF: &str = "tf2_msgs::msg::dds_::TFMessage_";
const FLOAT: &str = "std_msgs::msg::dds_::Float64_";

/// The peer program, built once; `None`, with a message, if Fast DDS is not installed.
fn fast_dds() -> Option<Command> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = PROGRAM.get_or_init(|| {
        let program = folder("fast-dds").join("fast_dds");
        let source = text(&repository_file("tests/peers/fast_dds.cpp"));
        let args = ["-std=c++17", "-O1", "-o", &text(&program), &source, "-lfastrtps", "-lfastcdr"];
        let is_built =
            Command::new("g++").args(args).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        is_built.then_some(program)
    });
    if built.is_none() {
        skip_peer("no Fast DDS to build a peer with (g++ and Debian's libfastrtps-dev); tests/run.sh installs them");
    }
    built.as_ref().map(Command::new)
}

fn dds(domain_id: u16) -> Dds {
    let options = DdsOptions {
        domain_id,
        node_name: "fast_dds_test".to_owned(),
        namespace: "/".to_owned(),
        discovery: Discovery::default(),
        service_mapping: ServiceMapping::default(),
    };
    Dds::open(options).expect("DDS")
}

fn listen(mut peer: Command, domain: u16, seconds: u32, topics: &[(&str, &str, &str)]) -> Child {
    peer.args(["listen", &domain.to_string(), &seconds.to_string()]);
    for (topic, type_name, reliability) in topics {
        peer.args([topic, type_name, reliability]);
    }
    peer.stdout(Stdio::piped()).spawn().expect("the peer")
}

/// For each topic, the number of samples received, and of those sent between the first and the last of them.
fn counts(peer: Child) -> BTreeMap<String, (u64, u64)> {
    let printed = succeeded("fast_dds", &peer.wait_with_output().expect("the peer"));
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [topic, received, sent] = words[..] else { panic!("{line}") };
        (topic.to_owned(), (received.parse().expect("a count"), sent.parse().expect("a count")))
    };
    printed.lines().map(line).collect()
}

/// Publishes periodically until `work` returns.
fn while_publishing<T>(every: Duration, publish: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                publish();
                thread::sleep(every);
            }
        });
        let worked = work();
        is_done.store(true, Ordering::Relaxed);
        worked
    })
}

fn image(encoding: &str, bytes_per_pixel: u32) -> sensor_msgs::Image {
    sensor_msgs::Image {
        width: 640,
        height: 360,
        encoding: encoding.to_owned(),
        step: 640 * bytes_per_pixel,
        data: vec![7; (640 * 360 * bytes_per_pixel) as usize],
        ..Default::default()
    }
}

#[test]
fn every_image_arrives_without_any_tuning() {
    const DOMAIN: u16 = 89;
    let _turn = alone();
    let Some(peer) = fast_dds() else { return };
    let dds = dds(DOMAIN);
    let lossy = [("image", image("mono8", 1)), ("depth", image("32FC1", 4))]
        .map(|(name, image)| (Publisher::new(&dds, &format!("/{name}"), Qos::sensor_data()).expect("a topic"), image));
    let reliable = Publisher::new(&dds, "/kept", Qos::reliable()).expect("a topic");
    let publish = || {
        lossy.iter().for_each(|(publisher, image)| publisher.publish(image, SimTime::ZERO).expect("sent"));
        reliable.publish(&lossy[0].1, SimTime::ZERO).expect("sent");
    };
    let topics =
        [("rt/image", IMAGE, "best_effort"), ("rt/depth", IMAGE, "best_effort"), ("rt/kept", IMAGE, "reliable")];
    let counts = while_publishing(Duration::from_millis(100), publish, || counts(listen(peer, DOMAIN, 8, &topics)));
    let (received, sent) = counts["rt/kept"];
    assert!(sent > 30 && received == sent, "reliable: {received} of {sent}");
    for topic in ["rt/image", "rt/depth"] {
        let (received, sent) = counts[topic];
        // A datagram may be lost when the machine has no time for the peer; a burst too large for its buffer would lose
        // most images.
        assert!(sent > 30 && received * 20 >= sent * 19, "{topic}: {received} of {sent}");
    }
}

#[test]
fn a_new_reliable_subscriber_costs_the_others_nothing() {
    const DOMAIN: u16 = 90;
    let _turn = alone();
    let (Some(peer), Some(newcomer)) = (fast_dds(), fast_dds()) else { return };
    let dds = dds(DOMAIN);
    let publisher = Publisher::new(&dds, "/tf", Qos::reliable()).expect("a topic");
    let message = tf2_msgs::TFMessage { transforms: vec![Default::default(); 20] };
    let publish = || publisher.publish(&message, SimTime::ZERO).expect("taken");
    let topics = [("rt/tf", TF, "reliable")];
    let (first, second) = while_publishing(Duration::from_millis(10), publish, || {
        let first = listen(peer, DOMAIN, 9, &topics);
        thread::sleep(Duration::from_secs(4));
        let second = counts(listen(newcomer, DOMAIN, 2, &topics));
        (counts(first), second)
    });
    let (received, sent) = first["rt/tf"];
    assert!(sent > 400 && received == sent, "the first: {received} of {sent}");
    let (received, sent) = second["rt/tf"];
    assert!(sent > 50 && received == sent, "the newcomer: {received} of {sent}");
}

#[test]
fn a_command_that_is_published_once_arrives() {
    const DOMAIN: u16 = 91;
    const TIMES: u64 = 10;
    let _turn = alone();
    if fast_dds().is_none() {
        return;
    }
    let dds = dds(DOMAIN);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let take = |message: std_msgs::Float64| _ = COUNT.fetch_add(message.data as u64, Ordering::Relaxed);
    let _subscription = subscribe(&dds, "/mast_pan/command", Qos::reliable(), take).expect("a topic");
    for _ in 0..TIMES {
        let Some(mut peer) = fast_dds() else { return };
        let sent = peer.args(["once", &DOMAIN.to_string(), "rt/mast_pan/command", FLOAT, "1"]).status();
        assert!(sent.expect("the peer").success());
    }
    thread::sleep(Duration::from_secs(1));
    assert_eq!(COUNT.load(Ordering::Relaxed), TIMES);
}

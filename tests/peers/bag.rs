//! Bags: read back by two foreign readers, as one file and as several, and readable after the recorder is killed.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::BagRecorder;
use selene_ros::bag::{BagCompression, MetadataVersion, RecordOptions, TopicFilter};
use selene_ros::fanout::Fanout;
use selene_ros::message::{INTERFACES, Interface};
use selene_ros::transport::Transport;
use selene_simulation::RunStart;
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, model, options, scenario};

use crate::program::{Running, alone, folder, peer, selene, succeeded, text};

/// The test fails if a recording has not grown to this size within `GROWS_WITHIN`.
const SOME_BYTES: u64 = 1 << 20;
const GROWS_WITHIN: Duration = Duration::from_secs(60);

#[test]
fn foreign_readers_read_every_message_of_a_bag() {
    let _turn = alone();
    let Some(mut reader) = peer("check_interfaces.py") else { return };
    let out = folder("bag");
    let bag = out.join("bag");
    let run = ["run", "--for", "3", "--pace", "fast", "--no-dds", "--device", "cpu", "--out"];
    let done = selene().args(run).arg(&out).arg("--record").arg(&bag).output().expect("selene");
    let printed = succeeded("selene run", &done);
    let read = succeeded("check_interfaces.py", &reader.arg(&bag).output().expect("python"));
    println!("{read}");
    for (topic, least) in [("/imu/data", 590), ("/navcam_left/image_raw", 6), ("/lidar/points", 14), ("/clock", 590)] {
        let line =
            read.lines().find(|line| line.ends_with(&format!(" {topic}"))).unwrap_or_else(|| panic!("{topic}\n{read}"));
        let count: u64 = line.split_whitespace().next().expect("count").parse().expect("number");
        assert!(count >= least, "{topic}: {count} in the bag, at least {least} were due\n{printed}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn every_definition_has_its_type_hash_and_those_of_core_packages_are_of_ros_2_jazzy() {
    let Some(mut reader) = peer("check_interfaces.py") else { return };
    let out = folder("definitions");
    for Interface { type_name, definition, type_hash } in INTERFACES {
        let file = out.join(type_name.replace('/', "."));
        std::fs::write(file.with_added_extension("msg"), definition).expect("write");
        std::fs::write(file.with_added_extension("hash"), type_hash).expect("write");
    }
    let read = succeeded("check_interfaces.py", &reader.arg("--definitions").arg(&out).output().expect("python"));
    assert!(read.contains(&format!("ok: {} definitions", INTERFACES.len())), "{read}");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn a_kill_in_mid_recording_leaves_a_readable_bag() {
    let _turn = alone();
    let Some(mut reader) = peer("check_interfaces.py") else { return };
    let out = folder("kill");
    let bag = out.join("bag");
    let run = ["run", "--for", "600", "--pace", "fast", "--no-dds", "--device", "cpu", "--out"];
    let in_parts = ["--record-max-size", "400k", "--record"];
    let child = selene().args(run).arg(&out).args(in_parts).arg(&bag).spawn().expect("selene");
    let mut running = Running(child);
    wait_until_it_has(&bag, SOME_BYTES);
    running.0.kill().expect("SIGKILL");
    running.0.wait().expect("dead");
    println!("{}", succeeded("check_interfaces.py", &reader.args(["--killed", &text(&bag)]).output().expect("python")));
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn bags_hold_byte_for_byte_what_all_nodes_published() {
    let _turn = alone();
    if peer("check_interfaces.py").is_none() {
        return;
    }
    let out = folder("published");
    let published = out.join("published.txt");
    let everything = || RecordOptions {
        topics: TopicFilter { internal: true, ..TopicFilter::default() },
        ..RecordOptions::default()
    };
    let (compression, metadata) = (BagCompression::ZstdMax, MetadataVersion::Current);
    let bags = [
        ("whole", everything(), "in 1 files"),
        ("plain", RecordOptions { compression: BagCompression::None, ..everything() }, "in 1 files"),
        ("by_time", RecordOptions { max_span: Some(SimTime::from_secs_f64(0.2)), ..everything() }, "in 4 files"),
        ("by_size", RecordOptions { max_bytes: Some(400_000), compression, metadata, ..everything() }, "files"),
    ];
    let recording = RecordingTransport::default();
    let record = |(name, options, _): &(&str, RecordOptions, &str)| {
        BagRecorder::create(&out.join(name), options.clone()).expect("bag")
    };
    let recorders: Vec<_> = bags.iter().map(record).collect();
    let mut parts: Vec<Arc<dyn Transport>> = vec![Arc::new(recording.clone())];
    parts.extend(recorders.iter().map(|recorder| Arc::new(recorder.clone()) as Arc<dyn Transport>));
    run_all_nodes(Fanout::new(parts), SimTime::from_secs_f64(0.6));
    std::fs::write(&published, lines(&recording.take())).expect("write");
    for ((name, _, files), recorder) in bags.iter().zip(&recorders) {
        assert_eq!(recorder.finish().fault, None);
        let mut reader = peer("check_interfaces.py").expect("it was there before");
        let size: &[&str] = if *name == "plain" { &["--size"] } else { &[] };
        let read = reader.arg("--published").arg(&published).args(size).arg(out.join(name)).output().expect("python");
        let read = succeeded("check_interfaces.py", &read);
        assert!(read.contains("byte for byte as published") && read.contains(*files), "{name}: {read}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}

/// Topic, stamp and bytes of each message, one line per message.
fn lines(published: &Published) -> String {
    let mut lines = String::new();
    for (topic, messages) in published {
        for (stamp, bytes) in messages {
            write!(lines, "{topic} {} ", stamp.nanos()).expect("text");
            bytes.iter().for_each(|byte| write!(lines, "{byte:02x}").expect("text"));
            lines.push('\n');
        }
    }
    lines
}

fn run_all_nodes(transport: Fanout, duration: SimTime) {
    let context = context(Arc::new(transport), &model(scenario("polar", None)));
    let (context, stop) = (&context, &AtomicBool::new(false));
    let options = options(duration, &["camera", "lidar", "navigation"]);
    std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(context, Device::cpu(), stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(context, Device::cpu(), stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(context, stop).expect("navigation"));
        selene_simulation::run(context, RunStart::Start(None), &options, stop).expect("simulation");
    });
}

/// Waits until a bag has this size and does not grow: a file that is being written is incomplete.
fn wait_until_it_has(bag: &Path, bytes: u64) {
    let begun = Instant::now();
    let size = || -> u64 {
        let files = std::fs::read_dir(bag).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    };
    let (mut last, mut now) = (0, size());
    while now < bytes || now != last {
        assert!(begun.elapsed() < GROWS_WITHIN, "the recording does not grow");
        std::thread::sleep(Duration::from_millis(50));
        (last, now) = (now, size());
    }
}

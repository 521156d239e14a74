//! Bags are read back with the mcap crate; `tests/peers` reads them with the
//! Python packages `rosbags` and `mcap-ros2-support`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use selene_base::SimTime;
use serde::Deserialize;

use super::disk::Disk;
use super::{BagError, BagRecorder};
use crate::message::sample::sample;
use crate::message::{Message, for_every_message};
use crate::transport::{Publisher, Transport, TransportError};
use crate::{Qos, Topic, encode, sensor_msgs, std_msgs};

/// Where another program will look at the bag with every type; else a temporary place.
const BAG_OUT: &str = "SELENE_BAG_OUT";
/// Tells the child process where to record.
const CHILD_BAG: &str = "SELENE_TEST_CHILD_BAG";
/// What the child writes at most, should nobody end it.
const CHILD_MESSAGES_MAX: i64 = 200_000;
/// Looks at the child's file before giving up, 10 ms apart.
const CHILD_LOOKS_MAX: u32 = 3000;

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selene-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `rosbag2_bagfile_information`, as far as readers need it.
#[derive(Deserialize)]
struct MetadataFile {
    rosbag2_bagfile_information: Information,
}

#[derive(Deserialize)]
struct Information {
    version: u32,
    message_count: u64,
    topics_with_message_count: Vec<TopicInformation>,
    relative_file_paths: Vec<String>,
}

#[derive(Deserialize)]
struct TopicInformation {
    topic_metadata: TopicMetadata,
    message_count: u64,
}

#[derive(Deserialize)]
struct TopicMetadata {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    offered_qos_profiles: String,
}

fn metadata(directory: &Path) -> Information {
    let text = fs::read_to_string(directory.join("metadata.yaml")).unwrap();
    serde_yaml::from_str::<MetadataFile>(&text).unwrap().rosbag2_bagfile_information
}

fn mcap_bytes(directory: &Path) -> Vec<u8> {
    fs::read(directory.join(super::metadata::file_name(directory))).unwrap()
}

/// Stamps of the messages in a whole MCAP.
fn stamps(mcap: &[u8]) -> Vec<u64> {
    mcap::MessageStream::new(mcap).unwrap().map(|message| message.unwrap().log_time).collect()
}

fn at(millis: i64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

fn text(words: &str) -> std_msgs::String {
    std_msgs::String { data: words.to_owned() }
}

fn record_samples<M: Message>(bag: &BagRecorder) {
    let name = format!("/{}", M::TYPE_NAME.replace("/msg", "").to_lowercase());
    let qos = if M::TYPE_NAME.starts_with("sensor") { Qos::sensor_data() } else { Qos::latched() };
    let publisher = Publisher::<M>::new(bag, &name, qos).unwrap();
    for step in 0..4_u64 {
        publisher.publish(&sample::<M>(step), at(step as i64 * 400)).unwrap();
    }
}

#[test]
fn a_bag_holds_every_type_message_for_message() {
    let scratch = Scratch::new("all");
    let directory = std::env::var_os(BAG_OUT).map_or_else(|| scratch.0.clone(), PathBuf::from);
    let bag = BagRecorder::create(&directory).unwrap();
    for_every_message!(record_samples(&bag));
    let summary = bag.finish();
    assert_eq!((summary.lost, &summary.fault), (0, &None));
    let mcap = mcap_bytes(&directory);
    assert_eq!(summary.bytes, mcap.len() as u64);
    let (mut images, mut logged) = (0, 0);
    for message in mcap::MessageStream::new(&mcap).unwrap().map(Result::unwrap) {
        let schema = message.channel.schema.as_ref().unwrap();
        assert_eq!((message.channel.message_encoding.as_str(), schema.encoding.as_str()), ("cdr", "ros2msg"));
        assert_eq!(message.publish_time, u64::from(message.sequence) * 400_000_000);
        assert!(message.log_time >= message.publish_time && message.log_time >= logged, "out of order");
        logged = message.log_time;
        if schema.name == sensor_msgs::Image::TYPE_NAME {
            assert_eq!(schema.data, sensor_msgs::Image::DEFINITION.as_bytes());
            assert_eq!(message.channel.metadata["offered_qos_profiles"], Qos::sensor_data().rosbag2_yaml());
            let sent = encode(&sample::<sensor_msgs::Image>(u64::from(message.sequence))).unwrap();
            assert_eq!(message.data, sent.bytes());
            images += 1;
        }
    }
    assert_eq!(images, 4);
    let information = metadata(&directory);
    assert_eq!(information.version, 5);
    assert_eq!(information.message_count, summary.messages.values().sum::<u64>());
    assert_eq!(information.topics_with_message_count.len(), crate::message::INTERFACES.len());
    assert_eq!(information.relative_file_paths, [super::metadata::file_name(&directory)]);
}

#[test]
fn metadata_names_each_topic_with_its_type_qos_and_count() {
    let scratch = Scratch::new("metadata");
    let bag = BagRecorder::create(&scratch.0).unwrap();
    assert_eq!(metadata(&scratch.0).message_count, 0, "it is there from the start");
    let publisher = Publisher::new(&bag, "/viper/says", Qos::clock()).unwrap();
    publisher.publish(&text("a"), at(0)).unwrap();
    let summary = bag.finish();
    assert_eq!(summary.messages["/viper/says"], 1);
    let topic = &metadata(&scratch.0).topics_with_message_count[0];
    assert_eq!((topic.topic_metadata.name.as_str(), topic.message_count), ("/viper/says", 1));
    assert_eq!(topic.topic_metadata.type_name, "std_msgs/msg/String");
    assert_eq!(topic.topic_metadata.offered_qos_profiles, Qos::clock().rosbag2_yaml());
}

#[test]
fn an_existing_directory_is_refused_and_left_alone() {
    let scratch = Scratch::new("existing");
    fs::create_dir(&scratch.0).unwrap();
    fs::write(scratch.0.join("metadata.yaml"), "mine").unwrap();
    let error = BagRecorder::create(&scratch.0).err().unwrap();
    assert!(matches!(error, BagError::Exists { .. }), "{error}");
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(fs::read_to_string(scratch.0.join("metadata.yaml")).unwrap(), "mine");
}

#[test]
fn one_topic_has_one_type_and_its_publishers_share_it() {
    let scratch = Scratch::new("types");
    let bag = BagRecorder::create(&scratch.0).unwrap();
    let first = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    let second = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    let other = bag.advertise(&Topic::new::<std_msgs::Bool>("/a", Qos::reliable()).unwrap());
    assert!(matches!(other, Err(TransportError::TypeMismatch { .. })));
    first.publish(&text("1"), at(1)).unwrap();
    second.publish(&text("2"), at(2)).unwrap();
    assert_eq!(bag.finish().messages["/a"], 2);
}

#[test]
fn stamps_before_zero_and_messages_after_the_end_are_refused() {
    let scratch = Scratch::new("refused");
    let bag = BagRecorder::create(&scratch.0).unwrap();
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    assert!(publisher.publish(&text("early"), at(-1)).is_err());
    publisher.publish(&text("good"), at(1)).unwrap();
    assert_eq!(bag.finish().messages["/a"], 1);
    assert!(publisher.publish(&text("late"), at(2)).is_err());
    assert_eq!(bag.finish().messages["/a"], 1, "asked again, it tells the same");
    assert_eq!(stamps(&mcap_bytes(&scratch.0)), [1_000_000]);
}

#[test]
fn a_recorder_that_is_dropped_closes_its_bag() {
    let scratch = Scratch::new("dropped");
    let bag = BagRecorder::create(&scratch.0).unwrap();
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    publisher.publish(&text("only"), at(5)).unwrap();
    drop(bag);
    drop(publisher);
    let mcap = mcap_bytes(&scratch.0);
    assert!(mcap::Summary::read(&mcap).unwrap().is_some());
    assert_eq!(metadata(&scratch.0).message_count, 1);
}

/// A disk with room for `room` bytes, which takes what fits and then refuses.
struct SmallDisk {
    file: fs::File,
    room: u64,
}

impl Disk for SmallDisk {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room.saturating_sub(offset) as usize);
        self.file.write_at(offset, &bytes[..fits])?;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.cut(length)
    }
}

#[test]
fn a_full_disk_turns_the_recorder_off_and_leaves_a_whole_bag() {
    for room in [6_000, 20_000, 21_001] {
        let scratch = Scratch::new(&format!("full-{room}"));
        super::make_directory(&scratch.0).unwrap();
        let file = fs::File::create_new(scratch.0.join(super::metadata::file_name(&scratch.0))).unwrap();
        let bag = BagRecorder::on_disk(&scratch.0, Box::new(SmallDisk { file, room })).unwrap();
        let publisher = Publisher::new(&bag, "/noise", Qos::reliable()).unwrap();
        for step in 0..100 {
            let noise = format!("{:?}", (0..100).map(|i| (step * 7919 + i * 104_729) % 9973).collect::<Vec<_>>());
            publisher.publish(&text(&noise), at(step * 250)).expect("the run goes on");
        }
        let summary = bag.finish();
        let fault = bag.fault().expect("the fault is known");
        assert_eq!(summary.fault.as_ref(), Some(&fault));
        let written = summary.messages["/noise"];
        assert!(written < 100, "{written}");
        assert_eq!(written + summary.lost, 100);
        let mcap = mcap_bytes(&scratch.0);
        assert!(mcap.len() as u64 <= room && mcap.len() as u64 == summary.bytes);
        assert_eq!(stamps(&mcap), (0..written).map(|step| step * 250_000_000).collect::<Vec<_>>());
        assert_eq!(metadata(&scratch.0).message_count, written);
    }
}

#[test]
fn a_bag_cut_anywhere_gives_the_messages_before_the_cut() {
    let scratch = Scratch::new("cut");
    let bag = BagRecorder::create(&scratch.0).unwrap();
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    for step in 0..40 {
        publisher.publish(&text(&format!("message {step}")), at(step * 100)).unwrap();
    }
    assert_eq!(bag.finish().messages["/a"], 40);
    let mcap = mcap_bytes(&scratch.0);
    let whole = stamps(&mcap);
    let mut seen_lengths = Vec::new();
    for length in (8..mcap.len()).step_by(7) {
        let options = mcap::read::Options::IgnoreEndMagic.into();
        let stream = mcap::MessageStream::new_with_options(&mcap[..length], options).unwrap();
        let read: Vec<u64> = stream.map_while(Result::ok).map(|message| message.log_time).collect();
        assert_eq!(read, whole[..read.len()]);
        seen_lengths.push(read.len());
    }
    assert!(seen_lengths.is_sorted() && seen_lengths.last() == Some(&40));
    assert!(seen_lengths.iter().any(|&seen| (1..40).contains(&seen)), "chunks close in between");
}

/// Not a test by itself: the process that the next test kills.
#[test]
fn child_that_records_until_killed() {
    let Some(directory) = std::env::var_os(CHILD_BAG) else { return };
    let bag = BagRecorder::create(Path::new(&directory)).unwrap();
    let publisher = Publisher::new(&bag, "/image", Qos::sensor_data()).unwrap();
    let image = sensor_msgs::Image { data: vec![7; 640 * 360], ..Default::default() };
    for step in 0..CHILD_MESSAGES_MAX {
        publisher.publish(&image, at(step * 100)).unwrap();
    }
}

#[test]
fn a_bag_is_whole_after_kill_9_in_mid_recording() {
    let scratch = Scratch::new("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bag::tests::child_that_records_until_killed"])
        .env(CHILD_BAG, &scratch.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let enough = |directory: &Path| directory.join("metadata.yaml").exists() && metadata(directory).message_count >= 50;
    let looks = (0..CHILD_LOOKS_MAX).take_while(|_| !enough(&scratch.0));
    looks.for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    child.kill().unwrap();
    child.wait().unwrap();
    let told = metadata(&scratch.0);
    let options = mcap::read::Options::IgnoreEndMagic.into();
    let mcap = mcap_bytes(&scratch.0);
    let stream = mcap::MessageStream::new_with_options(&mcap, options).unwrap();
    let read: Vec<u64> = stream.map_while(Result::ok).map(|message| message.log_time).collect();
    assert!(read.len() as u64 >= told.message_count && told.message_count >= 50);
    assert_eq!(read, (0..read.len() as u64).map(|step| step * 100_000_000).collect::<Vec<_>>());
    assert_eq!(told.topics_with_message_count[0].topic_metadata.name, "/image");
}

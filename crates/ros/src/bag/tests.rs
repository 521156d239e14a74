//! Bags are read back with the mcap crate and with this crate's own reader; `tests/peers` reads them with the
//! Python packages `rosbags`, `mcap` and `mcap-ros2-support`.

mod killed;
mod reading;
mod splits;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use selene_base::SimTime;

use super::disk::{Disk, Disks};
use super::{
    BagCompression, BagError, BagMessage, BagReader, BagRecorder, MetadataVersion, RecordOptions, TopicFilter,
    TopicPattern,
};
use crate::message::sample::sample;
use crate::message::{Message, for_every_message};
use crate::transport::{Publisher, Transport, TransportError};
use crate::{Qos, Topic, encode, sensor_msgs, std_msgs};

/// Variable that names a folder in which another program will read the bag with all types; else it is temporary.
const BAG_OUT: &str = "SELENE_BAG_OUT";

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selene-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn recorder(&self) -> BagRecorder {
        self.recorder_with(RecordOptions::default())
    }

    fn recorder_with(&self, options: RecordOptions) -> BagRecorder {
        BagRecorder::create(&self.0, options).unwrap()
    }

    fn reader(&self) -> BagReader {
        BagReader::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Every message of an undamaged bag.
fn read_all(bag: &BagReader) -> Vec<BagMessage> {
    bag.messages().map(|message| message.unwrap_or_else(|damage| panic!("{damage}"))).collect()
}

fn metadata_text(directory: &Path) -> String {
    fs::read_to_string(directory.join("metadata.yaml")).unwrap()
}

fn mcap_bytes(directory: &Path) -> Vec<u8> {
    fs::read(directory.join(super::metadata::file_name(directory, 0))).unwrap()
}

/// Log times of the messages in a complete MCAP.
fn stamps(mcap: &[u8]) -> Vec<u64> {
    mcap::MessageStream::new(mcap).unwrap().map(|message| message.unwrap().log_time).collect()
}

fn at(millis: i64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

fn text(words: &str) -> std_msgs::String {
    std_msgs::String { data: words.to_owned() }
}

/// A text of nine kilobytes that compresses to less than half: pseudo-random numbers.
fn noise(seed: usize) -> std_msgs::String {
    let scrambled = |number: u32| {
        let mixed = (number ^ (number >> 15)).wrapping_mul(0x2c1b_3c6d);
        (mixed ^ (mixed >> 12)).wrapping_mul(0x297a_2d39) >> 15
    };
    text(&format!("{:?}", (0..1500).map(|i| scrambled(seed as u32 * 1500 + i) % 9973).collect::<Vec<_>>()))
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
    let bag = BagRecorder::create(&directory, RecordOptions::default()).unwrap();
    for_every_message!(record_samples(&bag));
    let summary = bag.finish();
    assert_eq!((summary.lost, &summary.fault, summary.files), (0, &None, 1));
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
            let sent = encode(&sample::<sensor_msgs::Image>(u64::from(message.sequence))).unwrap();
            assert_eq!(message.data, sent.bytes());
            images += 1;
        }
    }
    assert_eq!(images, 4);
    let reader = BagReader::open(&directory).unwrap();
    let reported = reader.metadata().unwrap();
    assert_eq!((reported.version, reported.file_names()), (5, vec![super::metadata::file_name(&directory, 0)]));
    assert_eq!(reported.message_count, summary.messages.values().sum::<u64>());
    assert_eq!(reported.messages().len(), crate::message::INTERFACES.len());
    for message in read_all(&reader) {
        let checked = crate::message::check(&message.topic.type_name, &message.encoded);
        assert!(matches!(checked, Some(Ok(()))), "{}: {checked:?}", message.topic.name);
    }
}

#[test]
fn metadata_name_each_topic_with_its_type_qos_and_count_in_both_versions() {
    for (metadata, number) in [(MetadataVersion::Humble, 5), (MetadataVersion::Current, 9)] {
        let scratch = Scratch::new(&format!("metadata-{number}"));
        let bag = scratch.recorder_with(RecordOptions { metadata, ..RecordOptions::default() });
        assert_eq!(scratch.reader().metadata().unwrap().message_count, 0, "they are there from the start");
        let publisher = Publisher::new(&bag, "/viper/says", Qos::clock()).unwrap();
        publisher.publish(&text("a"), at(0)).unwrap();
        assert_eq!(bag.finish().messages["/viper/says"], 1);
        let reader = scratch.reader();
        let reported = reader.metadata().unwrap();
        assert_eq!((reported.version, reported.messages()["/viper/says"]), (number, 1));
        let message = &read_all(&reader)[0];
        assert_eq!((message.topic.type_name.as_str(), message.topic.qos), ("std_msgs/msg/String", Some(Qos::clock())));
        let yaml = metadata_text(&scratch.0);
        assert_eq!(yaml.contains("          reliability: best_effort\n"), number == 9, "{yaml}");
        let hash = format!("type_description_hash: \"{}\"\n", std_msgs::String::TYPE_HASH);
        assert_eq!(yaml.contains(&hash), number == 9, "{yaml}");
        assert_eq!(yaml.contains("  custom_data: ~\n  ros_distro: \"unknown\"\n"), number == 9, "{yaml}");
    }
}

#[test]
fn an_existing_directory_is_refused_and_left_alone() {
    let scratch = Scratch::new("existing");
    fs::create_dir(&scratch.0).unwrap();
    fs::write(scratch.0.join("metadata.yaml"), "mine").unwrap();
    let error = BagRecorder::create(&scratch.0, RecordOptions::default()).err().unwrap();
    assert!(matches!(error, BagError::Exists { .. }), "{error}");
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(metadata_text(&scratch.0), "mine");
}

#[test]
fn one_topic_has_one_type_and_its_publishers_share_it() {
    let scratch = Scratch::new("types");
    let bag = scratch.recorder();
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
    let bag = scratch.recorder();
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    assert!(publisher.publish(&text("early"), at(-1)).is_err());
    publisher.publish(&text("good"), at(1)).unwrap();
    assert_eq!(bag.finish().messages["/a"], 1);
    assert!(publisher.publish(&text("late"), at(2)).is_err());
    assert_eq!(bag.finish().messages["/a"], 1, "a second call returns the same");
    assert_eq!(stamps(&mcap_bytes(&scratch.0)), [1_000_000]);
}

#[test]
fn a_recorder_that_is_dropped_closes_its_bag() {
    let scratch = Scratch::new("dropped");
    let bag = scratch.recorder();
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    publisher.publish(&text("only"), at(5)).unwrap();
    drop(bag);
    drop(publisher);
    let mcap = mcap_bytes(&scratch.0);
    assert!(mcap::Summary::read(&mcap).unwrap().is_some());
    assert_eq!(scratch.reader().metadata().unwrap().message_count, 1);
}

#[test]
fn topics_that_the_filter_passes_over_are_not_in_the_bag() {
    let scratch = Scratch::new("filtered");
    let pattern = |text: &str| text.parse::<TopicPattern>().unwrap();
    let (include, exclude) = (vec![pattern("^/rover/"), pattern("radar")], vec![pattern("b$")]);
    let topics = TopicFilter { include, exclude, internal: false };
    let bag = scratch.recorder_with(RecordOptions { topics, ..RecordOptions::default() });
    for name in ["/rover/a", "/rover/b", "/clock", "/selene/r1/world_state"] {
        Publisher::new(&bag, name, Qos::reliable()).unwrap().publish(&text(name), at(1)).unwrap();
    }
    let summary = bag.finish();
    assert_eq!(summary.unmatched, ["radar"]);
    assert_eq!(summary.messages.keys().collect::<Vec<_>>(), ["/rover/a"]);
    assert_eq!(read_all(&scratch.reader()).len(), 1);
}

#[test]
fn internal_topics_are_recorded_when_they_are_requested() {
    for internal in [false, true] {
        let scratch = Scratch::new(&format!("internal-{internal}"));
        let topics = TopicFilter { internal, ..TopicFilter::default() };
        let bag = scratch.recorder_with(RecordOptions { topics, ..RecordOptions::default() });
        let publisher = Publisher::new(&bag, "/selene/r1/world_state", Qos::state()).unwrap();
        publisher.publish(&text("a snapshot"), at(1)).unwrap();
        assert_eq!(bag.finish().messages.len(), usize::from(internal));
    }
}

/// Size of the same messages written by the plain MCAP writer with rosbag2's settings: chunks of 786432 bytes, no
/// compression.
fn bytes_by_rosbag2(messages: &[BagMessage]) -> usize {
    let mut bytes = Vec::new();
    let options = mcap::WriteOptions::new().profile("ros2").compression(None).chunk_size(Some(786_432));
    let mut writer = options.create(io::Cursor::new(&mut bytes)).unwrap();
    for message in messages {
        let schema =
            writer.add_schema(&message.topic.type_name, "ros2msg", message.topic.definition.as_bytes()).unwrap();
        let channel = writer.add_channel(schema, &message.topic.name, "cdr", &Default::default()).unwrap();
        let (sequence, log_time, publish_time) = (0, message.log_ns, message.publish_ns);
        let header = mcap::records::MessageHeader { channel_id: channel, sequence, log_time, publish_time };
        writer.write_to_known_channel(&header, message.encoded.bytes()).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    bytes.len()
}

#[test]
fn a_bag_is_as_large_as_one_of_rosbag2() {
    let scratch = Scratch::new("size");
    let bag = scratch.recorder_with(RecordOptions { compression: BagCompression::None, ..RecordOptions::default() });
    let image = Publisher::new(&bag, "/image", Qos::sensor_data()).unwrap();
    let fast: Vec<Publisher<std_msgs::Float64>> =
        (0..10).map(|i| Publisher::new(&bag, &format!("/fast/n{i}"), Qos::reliable()).unwrap()).collect();
    for step in 0..600 {
        fast.iter().for_each(|number| number.publish(&std_msgs::Float64 { data: 1.0 }, at(step * 20)).unwrap());
        if step % 25 == 0 {
            let picture = sensor_msgs::Image { data: vec![step as u8; 640 * 360], ..Default::default() };
            image.publish(&picture, at(step * 20)).unwrap();
        }
    }
    let ours = bag.finish().bytes as f64;
    let theirs = bytes_by_rosbag2(&read_all(&scratch.reader())) as f64;
    assert!((0.95..=1.05).contains(&(ours / theirs)), "{ours} bytes, rosbag2 {theirs}");
}

/// A disk with room for `room` bytes; a write beyond that is cut short and fails.
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

fn small_disks(room: u64) -> Disks {
    Box::new(move |path: &Path| -> io::Result<Box<dyn Disk>> {
        let file = fs::File::create_new(path)?;
        Ok(Box::new(SmallDisk { file, room }))
    })
}

#[test]
fn a_full_disk_turns_the_recorder_off_and_leaves_a_whole_bag() {
    for room in [6_000, 100_000, 101_001] {
        let scratch = Scratch::new(&format!("full-{room}"));
        super::make_directory(&scratch.0).unwrap();
        let bag = BagRecorder::on_disks(&scratch.0, RecordOptions::default(), small_disks(room)).unwrap();
        let publisher = Publisher::new(&bag, "/noise", Qos::reliable()).unwrap();
        for step in 0..100 {
            publisher.publish(&noise(step as usize), at(step * 250)).expect("the run goes on");
        }
        let summary = bag.finish();
        let fault = bag.fault().expect("the fault is known");
        assert_eq!(summary.fault.as_ref(), Some(&fault));
        let written = summary.messages["/noise"];
        assert!(written < 100 && (written > 0 || room == 6_000), "{written}");
        assert_eq!(written + summary.lost, 100);
        let mcap = mcap_bytes(&scratch.0);
        assert!(mcap.len() as u64 <= room && mcap.len() as u64 == summary.bytes);
        assert_eq!(stamps(&mcap), (0..written).map(|step| step * 250_000_000).collect::<Vec<_>>());
        assert_eq!(scratch.reader().metadata().unwrap().message_count, written);
    }
}

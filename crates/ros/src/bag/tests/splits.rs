//! Tests with bags of several files.

use std::fs;

use super::{Scratch, at, noise, read_all, text};
use crate::Qos;
use crate::bag::{BagCompression, BagReader, BagRecorder, RecordOptions};
use crate::transport::Publisher;

/// What identifies a message: topic, sequence number, publish time and bytes.
type Identity = (String, u32, u64, Vec<u8>);

/// Records a topic with one message, one with occasional messages, and two with a continuous flow.
fn record(bag: &BagRecorder) {
    let once = Publisher::new(bag, "/description", Qos::latched()).unwrap();
    let seldom = Publisher::new(bag, "/map", Qos::latched()).unwrap();
    let (odom, scan) = (
        Publisher::new(bag, "/odom", Qos::reliable()).unwrap(),
        Publisher::new(bag, "/scan", Qos::sensor_data()).unwrap(),
    );
    once.publish(&text("a rover"), at(0)).unwrap();
    for step in 0..200 {
        odom.publish(&text(&format!("pose {step}")), at(step * 50)).unwrap();
        // These stamps are older than those of earlier messages.
        scan.publish(&noise(step as usize), at((step * 50 - 70).max(0))).unwrap();
        if step % 45 == 7 {
            seldom.publish(&text(&format!("map {step}")), at(step * 50)).unwrap();
        }
    }
    assert_eq!(bag.finish().fault, None);
}

fn messages(bag: &BagReader) -> Vec<Identity> {
    let identity = |message: crate::bag::BagMessage| {
        let bytes = message.encoded.bytes().to_vec();
        (message.topic.name.clone(), message.sequence, message.publish_ns, bytes)
    };
    read_all(bag).into_iter().map(identity).collect()
}

fn recorded(name: &str, options: RecordOptions) -> Scratch {
    let scratch = Scratch::new(name);
    record(&scratch.recorder_with(options));
    scratch
}

/// Checks that every file agrees with the metadata, and begins with the latched messages.
fn each_file_stands_for_itself(bag: &BagReader) {
    let (reported, contents) = (bag.metadata().unwrap(), bag.contents());
    assert_eq!(reported.files().len(), contents.files.len());
    for (reported, file) in reported.files().iter().zip(&contents.files) {
        let held = (file.name(), file.span_ns.unwrap(), file.messages());
        assert_eq!((reported.name.clone(), reported.span_ns, reported.messages), held);
        let alone = BagReader::open(&file.path).unwrap();
        let first = &read_all(&alone)[0];
        assert_eq!((first.topic.name.as_str(), first.sequence, first.publish_ns), ("/description", 0, 0));
        assert!(file.topics["/description"].messages == 1 && file.topics.len() == 4, "{:?}", file.topics);
        assert_eq!(first.log_ns, file.span_ns.unwrap().0, "it is recorded when the file begins");
    }
    assert_eq!(reported.message_count, contents.messages());
    assert_eq!(reported.span_ns(), contents.span_ns().unwrap());
    for (topic, count) in contents.topics() {
        assert_eq!(reported.messages()[topic], count.messages, "{topic}");
    }
}

#[test]
fn files_of_a_largest_size_hold_together_what_one_file_holds() {
    let whole = recorded("whole-size", RecordOptions::default());
    for (compression, name) in [(BagCompression::None, "none"), (BagCompression::ZstdMax, "zstd-max")] {
        let most = 200_000;
        let options = RecordOptions { max_bytes: Some(most), compression, ..RecordOptions::default() };
        let split = recorded(&format!("split-size-{name}"), options);
        let bag = split.reader();
        assert!(bag.files().len() > 3, "{} files", bag.files().len());
        assert_eq!(messages(&bag), messages(&whole.reader()));
        each_file_stands_for_itself(&bag);
        let index = 10_000;
        for file in &bag.contents().files {
            assert!(file.bytes <= most + index, "{} has {} bytes", file.name(), file.bytes);
        }
    }
}

#[test]
fn files_of_a_longest_span_hold_together_what_one_file_holds() {
    let whole = recorded("whole-span", RecordOptions::default());
    let split = recorded("split-span", RecordOptions { max_span: Some(at(3000)), ..RecordOptions::default() });
    let bag = split.reader();
    assert_eq!(messages(&bag), messages(&whole.reader()));
    each_file_stands_for_itself(&bag);
    let begins: Vec<u64> = bag.contents().files.iter().map(|file| file.span_ns.unwrap().0 / 1_000_000).collect();
    assert_eq!(begins, [0, 3000, 6000, 9000]);
}

#[test]
fn a_message_that_is_larger_than_a_file_may_be_has_a_file_of_its_own() {
    let scratch = Scratch::new("large");
    let bag = scratch.recorder_with(RecordOptions { max_bytes: Some(2000), ..RecordOptions::default() });
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    (0..3).for_each(|step| publisher.publish(&noise(step as usize), at(step)).unwrap());
    assert_eq!((bag.finish().files, read_all(&scratch.reader()).len()), (3, 3));
}

#[test]
fn messages_of_a_publisher_that_is_gone_are_not_repeated() {
    let scratch = Scratch::new("gone");
    let bag = scratch.recorder_with(RecordOptions { max_span: Some(at(1000)), ..RecordOptions::default() });
    let stays = Publisher::new(&bag, "/frames", Qos::latched()).unwrap();
    let goes = Publisher::new(&bag, "/frames", Qos::latched()).unwrap();
    stays.publish(&text("old"), at(0)).unwrap();
    goes.publish(&text("gone"), at(0)).unwrap();
    stays.publish(&text("stays"), at(10)).unwrap();
    drop(goes);
    let flow = Publisher::new(&bag, "/flow", Qos::reliable()).unwrap();
    flow.publish(&text("x"), at(20)).unwrap();
    flow.publish(&text("y"), at(1500)).unwrap();
    assert_eq!(bag.finish().messages["/frames"], 3, "repeated messages count once");
    let second = BagReader::open(&scratch.reader().files()[1]).unwrap();
    let sequences: Vec<_> = read_all(&second).iter().map(|m| (m.topic.name.clone(), m.sequence)).collect();
    assert_eq!(sequences, [("/frames".to_owned(), 2), ("/flow".to_owned(), 1)]);
}

#[test]
fn metadata_list_a_file_from_its_beginning() {
    let scratch = Scratch::new("begins");
    let bag = scratch.recorder_with(RecordOptions { max_span: Some(at(1000)), ..RecordOptions::default() });
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    (0..3).for_each(|step| publisher.publish(&text("x"), at(step * 1000)).unwrap());
    drop(bag.finish());
    let names: Vec<_> = scratch.reader().metadata().unwrap().file_names();
    let stem = scratch.0.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(names, (0..3).map(|number| format!("{stem}_{number}.mcap")).collect::<Vec<_>>());
    fs::remove_file(scratch.0.join("metadata.yaml")).unwrap();
    assert_eq!(read_all(&scratch.reader()).len(), 3, "and the files are found without it");
}

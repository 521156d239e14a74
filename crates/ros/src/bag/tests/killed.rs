//! Tests with a recorder process that is killed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Scratch, at, sensor_msgs};
use crate::Qos;
use crate::bag::{BagReader, BagRecorder, RecordOptions};
use crate::transport::Publisher;

/// Variable with the folder in which the child process records.
const CHILD_BAG: &str = "SELENE_TEST_CHILD_BAG";
/// Maximum number of messages that the child writes if nobody kills it.
const CHILD_MESSAGES_MAX: i64 = 200_000;
/// Number of messages that the child must have written before it is killed.
const ENOUGH: u64 = 50;
/// Maximum number of checks of the child's file, 10 ms apart.
const CHILD_LOOKS_MAX: u32 = 3000;

/// Not a test by itself: the process that the next test kills.
#[test]
fn child_that_records_until_killed() {
    let Some(directory) = std::env::var_os(CHILD_BAG) else { return };
    let options = RecordOptions { max_span: Some(at(2500)), ..RecordOptions::default() };
    let bag = BagRecorder::create(Path::new(&directory), options).unwrap();
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
        .args(["--exact", "bag::tests::killed::child_that_records_until_killed"])
        .env(CHILD_BAG, &scratch.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let reported = || BagReader::open(&scratch.0).ok()?.metadata().map(|reported| reported.message_count);
    let looks = (0..CHILD_LOOKS_MAX).take_while(|_| reported().is_none_or(|messages| messages < ENOUGH));
    looks.for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    child.kill().unwrap();
    child.wait().unwrap();
    let bag = scratch.reader();
    let reported = bag.metadata().unwrap();
    // The last write may have left part of a chunk, which is reported as damage.
    let stamps: Vec<u64> = bag.messages().filter_map(Result::ok).map(|message| message.log_ns).collect();
    assert!(stamps.len() as u64 >= reported.message_count && reported.message_count >= ENOUGH);
    assert_eq!(stamps, (0..stamps.len() as u64).map(|step| step * 100_000_000).collect::<Vec<_>>());
    assert!(bag.files().len() > 1 && reported.messages()["/image"] == reported.message_count);
}

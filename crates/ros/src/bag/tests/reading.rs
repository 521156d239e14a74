//! Tests with damaged bags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use selene_base::InputError;

use super::{Scratch, at, noise, read_all, stamps, text};
use crate::Qos;
use crate::bag::{BagCompression, BagFile, BagMessage, BagReader, FileEnding, RecordOptions};
use crate::transport::Publisher;

/// Longest wait for a reader that a pipe may block.
const PATIENCE: Duration = Duration::from_secs(60);
/// MCAP's opcodes.
const MESSAGE_INDEX: u8 = 0x07;
const CHUNK: u8 = 0x06;

/// A bag of forty messages in four chunks, in one file.
fn recorded(name: &str, compression: BagCompression) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    let bag = scratch.recorder_with(RecordOptions { compression, ..RecordOptions::default() });
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    for step in 0..40 {
        publisher.publish(&noise(step as usize), at(step * 100)).unwrap();
    }
    assert_eq!(bag.finish().messages["/a"], 40);
    let file = scratch.reader().files()[0].clone();
    (scratch, file)
}

/// Messages and damages of a file, and its content.
fn read(file: &Path) -> (Vec<BagMessage>, Vec<String>, BagFile) {
    let bag = BagReader::open(file).unwrap();
    let (mut messages, mut damages, mut all) = (Vec::new(), Vec::new(), bag.messages());
    for read in &mut all {
        match read {
            Ok(message) => messages.push(message),
            Err(damage) => damages.push(damage.what),
        }
    }
    let contents = all.into_contents().files.remove(0);
    (messages, damages, contents)
}

fn log_times(messages: &[BagMessage]) -> Vec<u64> {
    messages.iter().map(|message| message.log_ns).collect()
}

/// Number of messages that `mcap recover` finds: it reads on until the first record that it cannot parse.
fn recovered(bytes: &[u8]) -> usize {
    let options = mcap::sans_io::LinearReaderOptions::default().with_skip_end_magic(true);
    mcap::io::MessageReader::new_with_options(bytes, options).map_while(Result::ok).count()
}

/// Opcode, offset and length of each record of a file.
fn records(bytes: &[u8]) -> Vec<(u8, usize, usize)> {
    let (mut records, mut place) = (Vec::new(), mcap::MAGIC.len());
    while place + 9 < bytes.len() {
        let length = 9 + u64::from_le_bytes(bytes[place + 1..place + 9].try_into().unwrap()) as usize;
        records.push((bytes[place], place, length));
        place += length;
    }
    records
}

#[test]
fn a_file_cut_anywhere_gives_the_messages_before_the_cut() {
    for compression in [BagCompression::None, BagCompression::ZstdFast] {
        let (scratch, file) = recorded(&format!("cut-{compression:?}"), compression);
        let bytes = fs::read(&file).unwrap();
        let whole = stamps(&bytes);
        let cut = scratch.0.join("cut.mcap");
        let mut seen_lengths = Vec::new();
        for length in (60..bytes.len()).step_by(bytes.len() / 400) {
            fs::write(&cut, &bytes[..length]).unwrap();
            let (messages, damages, contents) = read(&cut);
            assert_eq!(log_times(&messages), whole[..messages.len()]);
            assert_eq!((contents.ending, contents.messages()), (FileEnding::Cut, messages.len() as u64));
            assert!(damages.len() == 1 && damages[0].contains("breaks off"), "{length}: {damages:?}");
            seen_lengths.push(messages.len());
            assert!(recovered(&bytes[..length]) >= messages.len(), "{length}: fewer than ours");
            assert_eq!(contents.messages(), BagReader::open(&cut).unwrap().contents().messages());
        }
        assert!(seen_lengths.is_sorted() && seen_lengths.last() == Some(&40));
        assert!(seen_lengths.iter().any(|&seen| (1..40).contains(&seen)), "chunks close in between");
    }
}

#[test]
fn a_damaged_chunk_is_left_out_and_what_follows_is_read() {
    // The first chunk also contains schemas and channels.
    for (compression, number) in [(BagCompression::None, 0), (BagCompression::Zstd, 1)] {
        let (_scratch, file) = recorded(&format!("damaged-{number}"), compression);
        let mut bytes = fs::read(&file).unwrap();
        let chunks: Vec<_> = records(&bytes).into_iter().filter(|(opcode, ..)| *opcode == CHUNK).collect();
        let (_, place, length) = chunks[number];
        bytes[place + length / 2] ^= 0x40;
        let whole = read(&file).0;
        fs::write(&file, &bytes).unwrap();
        let (messages, damages, contents) = read(&file);
        assert!(damages.len() == 1 && damages[0].contains(&format!("chunk at byte {place}")), "{damages:?}");
        let lost = whole.len() - messages.len();
        assert!((1..40).contains(&lost) && log_times(&messages).last() == log_times(&whole).last(), "{lost}");
        assert!(contents.faults.iter().any(|fault| fault.contains("count 40 messages")), "{:?}", contents.faults);
    }
}

#[test]
fn an_index_that_does_not_fit_is_found_and_a_sound_one_is_not() {
    let (_scratch, file) = recorded("index", BagCompression::ZstdFast);
    let (messages, damages, contents) = read(&file);
    assert_eq!((messages.len(), damages.len(), contents.faults.len()), (40, 0, 0), "{:?}", contents.faults);
    let mut bytes = fs::read(&file).unwrap();
    let index = records(&bytes).into_iter().find(|(opcode, ..)| *opcode == MESSAGE_INDEX).unwrap();
    bytes[index.1 + index.2 - 1] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let (messages, _, contents) = read(&file);
    assert_eq!(messages.len(), 40, "messages are read without it");
    assert!(contents.faults.len() == 1 && contents.faults[0].contains("index of the chunk"), "{:?}", contents.faults);
}

#[test]
fn a_summary_reports_what_reading_finds() {
    let (_scratch, file) = recorded("summary", BagCompression::Zstd);
    let reported = BagReader::open(&file).unwrap().contents();
    assert_eq!(reported.files[0], read(&file).2);
    let (first, last) = reported.span_ns().unwrap();
    assert_eq!((first, last, reported.messages()), (0, 3_900_000_000, 40));
    assert_eq!(reported.files[0].compression.iter().collect::<Vec<_>>(), ["zstd"]);
}

#[test]
fn files_that_old_metadata_do_not_list_are_read_after_the_others() {
    let scratch = Scratch::new("old");
    let bag = scratch.recorder_with(RecordOptions { max_span: Some(at(100)), ..RecordOptions::default() });
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    let old = fs::read(scratch.0.join("metadata.yaml")).unwrap();
    (0..12).for_each(|step| publisher.publish(&text(&format!("{step}")), at(step * 100)).unwrap());
    assert_eq!(bag.finish().files, 12);
    assert!(scratch.reader().faults().is_empty());
    fs::write(scratch.0.join("metadata.yaml"), old).unwrap();
    let bag = scratch.reader();
    assert_eq!(bag.faults().len(), 11, "{:?}", bag.faults());
    assert_eq!(log_times(&read_all(&bag)), (0..12).map(|step| step * 100_000_000).collect::<Vec<u64>>());
    fs::write(scratch.0.join("metadata.yaml"), "rosbag2_bagfile_information: [").unwrap();
    let bag = scratch.reader();
    assert!(bag.metadata().is_none() && bag.faults()[0].contains("metadata.yaml cannot be read"), "{:?}", bag.faults());
    assert_eq!(read_all(&bag).len(), 12);
}

#[test]
fn reading_begins_with_the_file_that_holds_an_instant() {
    let scratch = Scratch::new("around");
    let bag = scratch.recorder_with(RecordOptions { max_span: Some(at(1000)), ..RecordOptions::default() });
    let publisher = Publisher::new(&bag, "/a", Qos::reliable()).unwrap();
    (0..40).for_each(|step| publisher.publish(&text("x"), at(step * 100)).unwrap());
    drop(bag.finish());
    let bag = scratch.reader();
    let first = |log_ns| bag.messages_around(log_ns).next().unwrap().unwrap().log_ns;
    assert_eq!(
        [0, 999_999_999, 1_000_000_000, 2_300_000_000, u64::MAX].map(first),
        [0, 0, 1, 2, 3].map(|s| s * 1_000_000_000)
    );
}

#[test]
fn what_is_no_bag_is_refused_with_the_reason() {
    let scratch = Scratch::new("none");
    let refusal = |path: &Path| BagReader::open(path).err().map(|error| error.to_string()).unwrap();
    assert!(matches!(BagReader::open(&scratch.0), Err(InputError::Read { .. })));
    fs::create_dir(&scratch.0).unwrap();
    assert!(refusal(&scratch.0).contains("no .mcap file"));
    let sqlite = "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n  duration: {nanoseconds: 0}\n  \
                  starting_time: {nanoseconds_since_epoch: 0}\n  message_count: 0\n";
    fs::write(scratch.0.join("metadata.yaml"), sqlite).unwrap();
    assert!(refusal(&scratch.0).contains("ros2 bag convert"), "{}", refusal(&scratch.0));
    let notes = scratch.0.join("notes.txt");
    fs::write(&notes, "x").unwrap();
    assert!(refusal(&notes).contains("neither"));
    let empty = scratch.0.join("empty_0.mcap");
    fs::write(&empty, "no bag").unwrap();
    let (messages, damages, contents) = read(&empty);
    assert!(messages.is_empty() && damages.len() == 1 && contents.ending == FileEnding::Cut, "{damages:?}");
}

#[test]
#[cfg(unix)]
fn a_pipe_in_place_of_a_file_is_refused_and_blocks_nothing() {
    let (scratch, file) = recorded("pipe", BagCompression::None);
    let bag = scratch.reader();
    fs::remove_file(&file).unwrap();
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    let (say, said) = channel();
    thread::spawn(move || {
        let reopened = BagReader::open(&file).err().map(|error| error.to_string());
        let first = bag.messages().next();
        say.send((reopened, first, bag.contents()))
    });
    let (reopened, first, contents) = said.recv_timeout(PATIENCE).expect("the pipe blocks the reader");
    assert!(reopened.as_ref().is_some_and(|told| told.contains("_0.mcap: is no regular file")), "{reopened:?}");
    let damage = first.and_then(Result::err).expect("a refusal").to_string();
    assert!(damage.contains("_0.mcap: is no regular file"), "{damage}");
    assert_eq!((contents.messages(), contents.files[0].ending), (0, FileEnding::Cut));
}

//! The thread that writes the bag. Chunks are closed when they hold enough or
//! when a second of simulated time has passed, whichever comes first: that much
//! a killed process may lose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use mcap::records::{MessageHeader, Metadata};
use mcap::write::NoSeek;
use mcap::{Compression, McapError, McapResult, WriteOptions};

use super::disk::WholeFile;
use super::metadata::{self, Contents};
use super::{BagError, BagSummary, locked};
use crate::cdr::Encoded;
use crate::qos::Topic;

/// A chunk is closed when it holds this much: two or three images.
const CHUNK_BYTES: usize = 768 << 10;
/// Simulated time after which a chunk is closed at the latest, and `metadata.yaml` told.
const SPAN_NS: u64 = 1_000_000_000;
/// The processors are the simulation's: the fastest level, and no threads of its own.
const ZSTD_LEVEL: u32 = 1;

/// Work for the thread.
pub(super) enum Job {
    /// A topic, numbered in order of arrival.
    Topic(Topic),
    /// A message of the topic with that number.
    Message { topic: usize, message: Encoded, stamp_ns: u64 },
    /// The end.
    Finish,
}

type Mcap = mcap::Writer<NoSeek<WholeFile>>;

/// Why, in the system's own words where it was the system: "No space left on device".
fn cause(error: &McapError) -> String {
    match error {
        McapError::Io(system) => system.to_string(),
        other => other.to_string(),
    }
}

/// The state of a recording.
pub(super) struct Writer {
    directory: PathBuf,
    file: Recording,
    /// MCAP channel of each topic.
    channels: Vec<u16>,
    contents: Contents,
    /// What of it is on the disk.
    on_disk: Contents,
    chunk_bytes: usize,
    /// Stamp of the message after the last chunk that closed for its time.
    span_start_ns: Option<u64>,
    /// Latest stamp so far: the log time, so that the file is in order of log time.
    now_ns: u64,
    lost: u64,
    fault: Arc<Mutex<Option<String>>>,
}

/// The MCAP file while it is written, and its size after.
enum Recording {
    Open(Box<Mcap>),
    Closed { bytes: u64 },
}

impl Writer {
    /// Writes the file's head and a first `metadata.yaml`.
    pub(super) fn begin(
        directory: &Path,
        file: WholeFile,
        fault: Arc<Mutex<Option<String>>>,
    ) -> Result<Self, BagError> {
        let contents = Contents::default();
        let open = begin_mcap(directory, file, &contents)
            .map_err(|source| BagError::Write { path: directory.join(metadata::file_name(directory)), source })?;
        metadata::write(directory, &contents)
            .map_err(|source| BagError::Create { path: directory.join("metadata.yaml"), source })?;
        Ok(Self {
            directory: directory.to_owned(),
            file: Recording::Open(Box::new(open)),
            channels: Vec::new(),
            contents,
            on_disk: Contents::default(),
            chunk_bytes: 0,
            span_start_ns: None,
            now_ns: 0,
            lost: 0,
            fault,
        })
    }

    /// Takes jobs until the end.
    pub(super) fn run(mut self, queue: &Receiver<Job>) -> BagSummary {
        while let Ok(job) = queue.recv() {
            let done = match job {
                Job::Topic(topic) => self.add_topic(topic),
                Job::Message { topic, message, stamp_ns } => self.add_message(topic, &message, stamp_ns),
                Job::Finish => break,
            };
            if let Err(error) = done {
                self.turn_off(&cause(&error));
            }
        }
        self.end()
    }

    fn add_topic(&mut self, topic: Topic) -> McapResult<()> {
        let channel = match &mut self.file {
            Recording::Open(mcap) => add_channel(mcap, &topic),
            Recording::Closed { .. } => Ok(0),
        };
        // Later topics keep their numbers even if this one failed.
        self.channels.push(*channel.as_ref().unwrap_or(&0));
        self.contents.topics.push((topic, 0));
        channel.map(drop)
    }

    fn add_message(&mut self, topic: usize, message: &Encoded, stamp_ns: u64) -> McapResult<()> {
        let Recording::Open(mcap) = &mut self.file else {
            self.lost += 1;
            return Ok(());
        };
        let written = &mut self.contents.topics[topic].1;
        let sequence = (*written & u64::from(u32::MAX)) as u32;
        let channel_id = self.channels[topic];
        // Recorded when it came: in simulated time that is no earlier than anything before.
        self.now_ns = self.now_ns.max(stamp_ns);
        let header = MessageHeader { channel_id, sequence, log_time: self.now_ns, publish_time: stamp_ns };
        mcap.write_to_known_channel(&header, message.bytes())?;
        *written += 1;
        let first_ns = self.contents.span_ns.map_or(self.now_ns, |(first_ns, _)| first_ns);
        self.contents.span_ns = Some((first_ns, self.now_ns));
        self.chunk_bytes += message.bytes().len();
        let span_start_ns = *self.span_start_ns.get_or_insert(stamp_ns);
        let second_passed = stamp_ns.saturating_sub(span_start_ns) >= SPAN_NS;
        if second_passed || self.chunk_bytes >= CHUNK_BYTES {
            mcap.flush()?;
            self.chunk_closed(second_passed)?;
        }
        Ok(())
    }

    fn chunk_closed(&mut self, second_passed: bool) -> McapResult<()> {
        self.chunk_bytes = 0;
        let new_topics = self.contents.topics.len() > self.on_disk.topics.len();
        self.on_disk = self.contents.clone();
        if second_passed || new_topics {
            self.span_start_ns = None;
            metadata::write(&self.directory, &self.on_disk)?;
        }
        Ok(())
    }

    /// Keeps what is whole in the file and drops all that comes later.
    fn turn_off(&mut self, why: &str) {
        if let Recording::Open(mcap) = std::mem::replace(&mut self.file, Recording::Closed { bytes: 0 }) {
            let bytes = mcap.into_inner().into_inner().restore();
            self.file = Recording::Closed { bytes };
            self.tell(why);
        }
    }

    /// Makes the fault known; messages that are not on the disk are lost.
    fn tell(&mut self, why: &str) {
        let path = self.directory.display();
        let fault = format!("{path}: recording has stopped: {why}; what was written before is readable");
        tracing::error!("{fault}");
        *locked(&self.fault) = Some(fault);
        self.lost += self.contents.message_count() - self.on_disk.message_count();
        for (topic, (_, written)) in self.contents.topics.iter_mut().enumerate() {
            *written = self.on_disk.topics.get(topic).map_or(0, |(_, on_disk)| *on_disk);
        }
        self.contents.span_ns = self.on_disk.span_ns;
    }

    fn end(mut self) -> BagSummary {
        let bytes = match std::mem::replace(&mut self.file, Recording::Closed { bytes: 0 }) {
            Recording::Open(mcap) => self.end_mcap(*mcap),
            Recording::Closed { bytes } => bytes,
        };
        if let Err(error) = metadata::write(&self.directory, &self.contents) {
            tracing::warn!("{}: metadata.yaml is not up to date: {error}", self.directory.display());
        }
        let messages = self.contents.topics.iter().map(|(topic, written)| (topic.name.clone(), *written));
        BagSummary {
            bytes,
            messages: messages.collect(),
            lost: self.lost,
            fault: locked(&self.fault).clone(),
            directory: self.directory,
        }
    }

    fn end_mcap(&mut self, mut mcap: Mcap) -> u64 {
        let ended = write_metadata(&mut mcap, &self.directory, &self.contents).and_then(|()| mcap.finish());
        let mut file = mcap.into_inner().into_inner();
        match ended.and_then(|_| Ok(file.close()?)) {
            Ok(bytes) => bytes,
            Err(error) => {
                let bytes = file.restore();
                self.tell(&error.to_string());
                bytes
            }
        }
    }
}

fn begin_mcap(directory: &Path, file: WholeFile, contents: &Contents) -> McapResult<Mcap> {
    let mut mcap = WriteOptions::new()
        .profile("ros2")
        .library("selene")
        .compression(Some(Compression::Zstd))
        .compression_level(ZSTD_LEVEL)
        .compression_threads(0)
        .chunk_size(None)
        .disable_seeking(true)
        .create(NoSeek::new(file))?;
    write_metadata(&mut mcap, directory, contents)?;
    mcap.flush()?;
    Ok(mcap)
}

fn add_channel(mcap: &mut Mcap, topic: &Topic) -> McapResult<u16> {
    let schema = mcap.add_schema(topic.type_name, "ros2msg", topic.definition.as_bytes())?;
    let profiles = BTreeMap::from([("offered_qos_profiles".to_owned(), topic.qos.rosbag2_yaml())]);
    mcap.add_channel(schema, &topic.name, "cdr", &profiles)
}

/// `ros2 bag` reads the version from here when it is given the MCAP alone, and
/// with it how the QoS texts of the channels are meant.
fn write_metadata(mcap: &mut Mcap, directory: &Path, contents: &Contents) -> McapResult<()> {
    let text = contents.yaml(&metadata::file_name(directory));
    let metadata = BTreeMap::from([("serialized_metadata".to_owned(), text)]);
    mcap.write_metadata(&Metadata { name: "rosbag2".to_owned(), metadata })
}

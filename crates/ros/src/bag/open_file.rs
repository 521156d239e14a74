//! The MCAP file of a bag that is being written. A chunk is closed when it holds enough, or when it is too old: after
//! one second of simulated time, or after ten if it holds so little that its index would be a considerable part of the
//! file. A killed process loses at most that much.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcap::records::{MessageHeader, Metadata};
use mcap::write::NoSeek;
use mcap::{McapResult, WriteOptions};

use super::disk::WholeFile;
use super::options::{BagCompression, MetadataVersion};
use super::qos_text;
use crate::qos::Topic;

/// Simulated time after which a chunk is closed.
pub(super) const SPAN_NS: u64 = 1_000_000_000;
/// The same for a chunk that holds less than `CHUNK_BYTES_MIN`.
const SPAN_NS_MAX: u64 = 10 * SPAN_NS;
/// A chunk's index takes 150 bytes plus 25 for each topic in it: a few per cent of this size.
const CHUNK_BYTES_MIN: u64 = 32 << 10;
/// Size of opcode, length and header of a message record.
const MESSAGE_HEAD_BYTES: u64 = 31;

/// A message to be written.
pub(super) struct Entry<'a> {
    /// Number of its topic.
    pub(super) topic: usize,
    pub(super) sequence: u32,
    pub(super) log_ns: u64,
    pub(super) stamp_ns: u64,
    pub(super) bytes: &'a [u8],
}

/// An MCAP file that is being written.
pub(super) struct OpenFile {
    mcap: mcap::Writer<NoSeek<WholeFile>>,
    written_bytes: Arc<AtomicU64>,
    /// MCAP channel of each topic.
    channels: Vec<u16>,
    /// Size of the messages in the open chunk.
    chunk_bytes: u64,
    chunk_bytes_max: u64,
    /// Log time of the open chunk's first message.
    chunk_begun_ns: Option<u64>,
}

impl OpenFile {
    /// Writes the file's header.
    pub(super) fn begin(file: WholeFile, compression: BagCompression, metadata: &str) -> McapResult<Self> {
        let written_bytes = file.written_bytes();
        let mut mcap = WriteOptions::new()
            .profile("ros2")
            .library("selene")
            .compression(compression.method())
            .compression_level(compression.level())
            .compression_threads(0)
            .chunk_size(None)
            .disable_seeking(true)
            .create(NoSeek::new(file))?;
        write_metadata(&mut mcap, metadata)?;
        mcap.flush()?;
        Ok(Self {
            mcap,
            written_bytes,
            channels: Vec::new(),
            chunk_bytes: 0,
            chunk_bytes_max: compression.chunk_bytes(),
            chunk_begun_ns: None,
        })
    }

    /// Adds the next topic.
    pub(super) fn add_topic(&mut self, topic: &Topic, version: MetadataVersion) -> McapResult<()> {
        let schema = self.mcap.add_schema(topic.type_name, "ros2msg", topic.definition.as_bytes())?;
        let mut reported = BTreeMap::from([("offered_qos_profiles".to_owned(), qos_text::written(topic.qos, version))]);
        if version == MetadataVersion::Current {
            reported.insert("topic_type_hash".to_owned(), topic.type_hash.to_owned());
        }
        self.channels.push(self.mcap.add_channel(schema, &topic.name, "cdr", &reported)?);
        Ok(())
    }

    /// Writes a message; returns whether this closed its chunk.
    pub(super) fn write(&mut self, entry: &Entry<'_>) -> McapResult<bool> {
        let header = MessageHeader {
            channel_id: self.channels[entry.topic],
            sequence: entry.sequence,
            log_time: entry.log_ns,
            publish_time: entry.stamp_ns,
        };
        self.mcap.write_to_known_channel(&header, entry.bytes)?;
        self.chunk_bytes += message_bytes(entry.bytes.len());
        let begun_ns = *self.chunk_begun_ns.get_or_insert(entry.log_ns);
        if !self.chunk_is_full(entry.log_ns - begun_ns) {
            return Ok(false);
        }
        self.mcap.flush()?;
        (self.chunk_bytes, self.chunk_begun_ns) = (0, None);
        Ok(true)
    }

    fn chunk_is_full(&self, age_ns: u64) -> bool {
        let is_old = age_ns >= if self.chunk_bytes < CHUNK_BYTES_MIN { SPAN_NS_MAX } else { SPAN_NS };
        self.chunk_bytes >= self.chunk_bytes_max || is_old
    }

    /// Size of the file with one more message, if its open chunk were not compressed.
    pub(super) fn bytes_with(&self, message_bytes_more: usize) -> u64 {
        self.written_bytes.load(Ordering::Relaxed) + self.chunk_bytes + message_bytes(message_bytes_more)
    }

    /// Writes the index and the ending; returns the file's size, and whether that succeeded. If not, everything written
    /// before is kept.
    pub(super) fn close(mut self, metadata: &str) -> (u64, McapResult<()>) {
        let ended = write_metadata(&mut self.mcap, metadata).and_then(|()| self.mcap.finish());
        let mut file = self.mcap.into_inner().into_inner();
        match ended.and_then(|_| Ok(file.close()?)) {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (file.restore(), Err(error)),
        }
    }

    /// Keeps the complete part of the file; returns its size.
    pub(super) fn restore(self) -> u64 {
        self.mcap.into_inner().into_inner().restore()
    }
}

fn message_bytes(data_bytes: usize) -> u64 {
    MESSAGE_HEAD_BYTES + data_bytes as u64
}

/// `ros2 bag` reads the version from here when it is given the MCAP alone, and the version determines how the QoS texts
/// of the channels are interpreted.
fn write_metadata(mcap: &mut mcap::Writer<NoSeek<WholeFile>>, text: &str) -> McapResult<()> {
    let metadata = BTreeMap::from([("serialized_metadata".to_owned(), text.to_owned())]);
    mcap.write_metadata(&Metadata { name: "rosbag2".to_owned(), metadata })
}

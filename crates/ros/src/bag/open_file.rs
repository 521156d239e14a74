//! One MCAP file of a bag while it is written. A chunk closes when it holds enough, or for its age: after a
//! second of simulated time, or after ten where it holds so little that its index would be a good part of the
//! file. That much a killed process may lose.

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
/// A chunk's index takes 150 bytes and 25 for each topic in it: some per cent of this.
const CHUNK_BYTES_MIN: u64 = 32 << 10;
/// Opcode, length and header of a message record.
const MESSAGE_HEAD_BYTES: u64 = 31;

/// A message as it is written.
pub(super) struct Entry<'a> {
    /// Number of its topic.
    pub(super) topic: usize,
    pub(super) sequence: u32,
    pub(super) log_ns: u64,
    pub(super) stamp_ns: u64,
    pub(super) bytes: &'a [u8],
}

/// The file.
pub(super) struct OpenFile {
    mcap: mcap::Writer<NoSeek<WholeFile>>,
    written_bytes: Arc<AtomicU64>,
    /// MCAP channel of each topic.
    channels: Vec<u16>,
    /// What the open chunk holds.
    chunk_bytes: u64,
    chunk_bytes_max: u64,
    /// Log time of the open chunk's first message.
    chunk_begun_ns: Option<u64>,
}

impl OpenFile {
    /// Writes the file's head.
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
        let mut told = BTreeMap::from([("offered_qos_profiles".to_owned(), qos_text::written(topic.qos, version))]);
        if version == MetadataVersion::Current {
            told.insert("topic_type_hash".to_owned(), topic.type_hash.to_owned());
        }
        self.channels.push(self.mcap.add_channel(schema, &topic.name, "cdr", &told)?);
        Ok(())
    }

    /// Writes a message; whether its chunk closed with it.
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

    /// How large the file would be with a message more, if its open chunk were not compressed.
    pub(super) fn bytes_with(&self, message_bytes_more: usize) -> u64 {
        self.written_bytes.load(Ordering::Relaxed) + self.chunk_bytes + message_bytes(message_bytes_more)
    }

    /// Writes the index and the end; the file's size, and whether it went well. If not, all is kept that was
    /// written before.
    pub(super) fn close(mut self, metadata: &str) -> (u64, McapResult<()>) {
        let ended = write_metadata(&mut self.mcap, metadata).and_then(|()| self.mcap.finish());
        let mut file = self.mcap.into_inner().into_inner();
        match ended.and_then(|_| Ok(file.close()?)) {
            Ok(bytes) => (bytes, Ok(())),
            Err(error) => (file.restore(), Err(error)),
        }
    }

    /// Keeps what is whole in the file; its size.
    pub(super) fn restore(self) -> u64 {
        self.mcap.into_inner().into_inner().restore()
    }
}

fn message_bytes(data_bytes: usize) -> u64 {
    MESSAGE_HEAD_BYTES + data_bytes as u64
}

/// `ros2 bag` reads the version from here when it is given the MCAP alone, and with it how the QoS texts of the
/// channels are meant.
fn write_metadata(mcap: &mut mcap::Writer<NoSeek<WholeFile>>, text: &str) -> McapResult<()> {
    let metadata = BTreeMap::from([("serialized_metadata".to_owned(), text.to_owned())]);
    mcap.write_metadata(&Metadata { name: "rosbag2".to_owned(), metadata })
}

//! What a recording takes in and how it is laid out on the disk.

use selene_base::SimTime;

use super::filter::TopicFilter;

/// A chunk is closed when it holds this much, as rosbag2 does it: two or three images.
const CHUNK_BYTES: u64 = 768 << 10;
/// Strong compression wants more to compare with: rosbag2's preset `zstd_small`.
const CHUNK_BYTES_ZSTD_MAX: u64 = 4 << 20;

/// How messages are recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// Which topics.
    pub topics: TopicFilter,
    /// A new file begins before the messages of one are more than so many bytes; never where none is given.
    pub max_bytes: Option<u64>,
    /// A new file begins when one covers so much simulated time; never where none is given.
    pub max_span: Option<SimTime>,
    /// How chunks are compressed.
    pub compression: BagCompression,
    /// Which `metadata.yaml` is written.
    pub metadata: MetadataVersion,
    /// Which ROS distribution metadata of today's version name; `unknown` where it is empty.
    pub ros_distro: String,
}

impl RecordOptions {
    /// Whether the bag may have several files.
    pub(super) fn splits(&self) -> bool {
        self.max_bytes.is_some() || self.max_span.is_some()
    }
}

/// How chunks are compressed. The writer has one thread: the processors are the simulation's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagCompression {
    /// Not at all, as rosbag2 without a preset.
    None,
    /// Zstandard at its own default level, 3.
    Zstd,
    /// Zstandard at level 1.
    #[default]
    ZstdFast,
    /// Zstandard at level 19 in chunks of 4 MiB, as rosbag2's preset `zstd_small`.
    ZstdMax,
}

impl BagCompression {
    /// As MCAP has it.
    pub(super) fn method(self) -> Option<mcap::Compression> {
        (self != Self::None).then_some(mcap::Compression::Zstd)
    }

    /// The level; of no meaning without compression.
    pub(super) fn level(self) -> u32 {
        match self {
            Self::None | Self::ZstdFast => 1,
            Self::Zstd => 3,
            Self::ZstdMax => 19,
        }
    }

    /// How much a chunk holds before it is compressed, bytes.
    pub(super) fn chunk_bytes(self) -> u64 {
        match self {
            Self::None | Self::Zstd | Self::ZstdFast => CHUNK_BYTES,
            Self::ZstdMax => CHUNK_BYTES_ZSTD_MAX,
        }
    }
}

/// Which `metadata.yaml` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataVersion {
    /// Version 5: the youngest that Humble reads, and that later distributions still do.
    #[default]
    Humble,
    /// Version 9: what Jazzy and all since write.
    Current,
}

impl MetadataVersion {
    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Humble => 5,
            Self::Current => 9,
        }
    }
}

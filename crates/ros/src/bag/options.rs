//! Options of a recording: which topics it contains and how its files are laid out.

use selene_base::SimTime;

use super::filter::TopicFilter;

/// Size at which a chunk is closed, as in rosbag2: two or three images.
const CHUNK_BYTES: u64 = 768 << 10;
/// The same for strong compression, which is better with larger chunks: rosbag2's preset `zstd_small`.
const CHUNK_BYTES_ZSTD_MAX: u64 = 4 << 20;

/// Options of a recording.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// Which topics are recorded.
    pub topics: TopicFilter,
    /// Maximum size of a file, bytes: a message that would exceed it begins a new file. `None` sets no limit.
    pub max_bytes: Option<u64>,
    /// Maximum span of a file in simulated time. `None` sets no limit.
    pub max_span: Option<SimTime>,
    /// How chunks are compressed.
    pub compression: BagCompression,
    /// Version of the written `metadata.yaml`.
    pub metadata: MetadataVersion,
    /// ROS distribution in metadata of the current version; `unknown` if empty.
    pub ros_distro: String,
}

impl RecordOptions {
    /// Whether the bag may have several files.
    pub(super) fn splits(&self) -> bool {
        self.max_bytes.is_some() || self.max_span.is_some()
    }
}

/// Compression of chunks. The writer uses one thread, since the simulation needs the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagCompression {
    /// No compression, as rosbag2 without a preset.
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
    /// The compression in MCAP's terms.
    pub(super) fn method(self) -> Option<mcap::Compression> {
        (self != Self::None).then_some(mcap::Compression::Zstd)
    }

    /// The compression level; meaningless without compression.
    pub(super) fn level(self) -> u32 {
        match self {
            Self::None | Self::ZstdFast => 1,
            Self::Zstd => 3,
            Self::ZstdMax => 19,
        }
    }

    /// Size at which a chunk is closed, before compression, bytes.
    pub(super) fn chunk_bytes(self) -> u64 {
        match self {
            Self::None | Self::Zstd | Self::ZstdFast => CHUNK_BYTES,
            Self::ZstdMax => CHUNK_BYTES_ZSTD_MAX,
        }
    }
}

/// Version of the written `metadata.yaml`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataVersion {
    /// Version 5: the latest that Humble reads, and that later distributions still read.
    #[default]
    Humble,
    /// Version 9: the one that Jazzy and later distributions write.
    Current,
}

impl MetadataVersion {
    /// The version number.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Humble => 5,
            Self::Current => 9,
        }
    }
}

//! Reads `metadata.yaml` of any version of rosbag2, except for the details of topics, for which the MCAP files are the
//! better source.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// Maximum size of the file, bytes: bags with hundreds of topics have some hundred kilobytes.
const BYTES_MAX: u64 = 16 << 20;

/// The content of `metadata.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BagMetadata {
    /// Version of the format.
    pub version: u32,
    /// Storage of the files: `mcap` or `sqlite3`.
    pub storage_identifier: String,
    /// Number of messages in all files.
    pub message_count: u64,
    duration: Span,
    starting_time: Instant,
    #[serde(default)]
    topics_with_message_count: Vec<TopicEntry>,
    #[serde(default)]
    relative_file_paths: Vec<String>,
    #[serde(default)]
    files: Vec<FileEntry>,
    /// Compression mode: `file`, `message`, or empty.
    #[serde(default)]
    pub compression_mode: String,
}

/// The entry of `metadata.yaml` for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// The file's name, without folders.
    pub name: String,
    /// First and last log time, ns.
    pub span_ns: (u64, u64),
    /// Number of messages.
    pub messages: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Span {
    nanoseconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Instant {
    nanoseconds_since_epoch: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct FileEntry {
    path: String,
    starting_time: Instant,
    duration: Span,
    message_count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct TopicEntry {
    topic_metadata: TopicName,
    message_count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct TopicName {
    name: String,
}

#[derive(Deserialize)]
struct MetadataFile {
    rosbag2_bagfile_information: BagMetadata,
}

impl BagMetadata {
    /// Number of messages of each topic.
    #[must_use]
    pub fn messages(&self) -> BTreeMap<&str, u64> {
        let topics = self.topics_with_message_count.iter();
        topics.map(|topic| (topic.topic_metadata.name.as_str(), topic.message_count)).collect()
    }

    /// First and last log time of the bag, ns.
    #[must_use]
    pub fn span_ns(&self) -> (u64, u64) {
        span_ns(self.starting_time, self.duration)
    }

    /// The entries of the files; older versions have none.
    #[must_use]
    pub fn files(&self) -> Vec<FileMetadata> {
        let reported = |file: &FileEntry| FileMetadata {
            name: super::name_of(Path::new(&file.path)),
            span_ns: span_ns(file.starting_time, file.duration),
            messages: file.message_count,
        };
        self.files.iter().map(reported).collect()
    }

    /// Names of the files without folders, since older versions have paths from elsewhere.
    #[must_use]
    pub fn file_names(&self) -> Vec<String> {
        self.relative_file_paths.iter().map(|path| super::name_of(Path::new(path))).collect()
    }
}

fn span_ns(from: Instant, span: Span) -> (u64, u64) {
    let first_ns = from.nanoseconds_since_epoch;
    (first_ns, first_ns.saturating_add(span.nanoseconds))
}

/// Reads the metadata in a bag's folder; `None` if there is no such file. The error says why it cannot be read.
pub(super) fn read(folder: &Path) -> Result<Option<BagMetadata>, String> {
    let path = folder.join("metadata.yaml");
    if !path.exists() {
        return Ok(None);
    }
    let bytes = selene_base::input::read_bytes(&path, BYTES_MAX).map_err(|error| error.to_string())?;
    let refused = |what: String| format!("metadata.yaml cannot be read: {what}");
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    let file: MetadataFile = serde_yaml::from_str(&text).map_err(|error| refused(error.to_string()))?;
    Ok(Some(file.rosbag2_bagfile_information))
}

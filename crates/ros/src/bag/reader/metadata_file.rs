//! `metadata.yaml` as any version of rosbag2 writes it, as far as it is of use: what it tells of topics is in the
//! MCAP files too, and better known there.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

/// The largest file taken: bags with hundreds of topics have some hundred kilobytes.
const BYTES_MAX: u64 = 16 << 20;

/// What `metadata.yaml` tells.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct BagMetadata {
    /// Version of the format.
    pub version: u32,
    /// `mcap` or `sqlite3`.
    pub storage_identifier: String,
    /// Messages in all files.
    pub message_count: u64,
    duration: Span,
    starting_time: Instant,
    #[serde(default)]
    topics_with_message_count: Vec<TopicEntry>,
    #[serde(default)]
    relative_file_paths: Vec<String>,
    #[serde(default)]
    files: Vec<FileEntry>,
    /// `file`, `message`, or nothing.
    #[serde(default)]
    pub compression_mode: String,
}

/// What `metadata.yaml` tells of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldFile {
    /// The file, without folders.
    pub name: String,
    /// First and last log time, ns.
    pub span_ns: (u64, u64),
    /// Its messages.
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
    /// Messages of each topic.
    #[must_use]
    pub fn messages(&self) -> BTreeMap<&str, u64> {
        let topics = self.topics_with_message_count.iter();
        topics.map(|topic| (topic.topic_metadata.name.as_str(), topic.message_count)).collect()
    }

    /// First and last log time of all, ns.
    #[must_use]
    pub fn span_ns(&self) -> (u64, u64) {
        span_ns(self.starting_time, self.duration)
    }

    /// What it tells of each file; older versions do not.
    #[must_use]
    pub fn files(&self) -> Vec<ToldFile> {
        let told = |file: &FileEntry| ToldFile {
            name: super::name_of(Path::new(&file.path)),
            span_ns: span_ns(file.starting_time, file.duration),
            messages: file.message_count,
        };
        self.files.iter().map(told).collect()
    }

    /// Names of the files without folders: older versions have paths from elsewhere.
    #[must_use]
    pub fn file_names(&self) -> Vec<String> {
        self.relative_file_paths.iter().map(|path| super::name_of(Path::new(path))).collect()
    }
}

fn span_ns(from: Instant, span: Span) -> (u64, u64) {
    let first_ns = from.nanoseconds_since_epoch;
    (first_ns, first_ns.saturating_add(span.nanoseconds))
}

/// Reads it from a bag's folder; none where there is none, or why it cannot be read.
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

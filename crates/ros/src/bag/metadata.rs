//! Writes rosbag2's `metadata.yaml` of a recording. Version 5 stores quality of service as text within the YAML;
//! version 9 has it as YAML, and also a hash of each type, custom data and the ROS distribution (rosbag2_storage,
//! `yaml.hpp` and `bag_metadata.hpp`). It is written to a temporary name and renamed, so that a reader never sees half
//! a file.

use std::fs;
use std::io;
use std::path::Path;

use super::options::{MetadataVersion, RecordOptions};
use super::qos_text;
use crate::qos::Topic;

/// The content of a recording, as the metadata describe it.
#[derive(Clone, Default)]
pub(super) struct Contents {
    pub(super) topics: Vec<TopicContents>,
    pub(super) files: Vec<FileContents>,
}

/// The content of a bag for one topic.
#[derive(Clone)]
pub(super) struct TopicContents {
    pub(super) topic: Topic,
    /// Number of messages in all files.
    pub(super) messages: u64,
    /// Number of these that are repeated from the previous file.
    pub(super) repeated: u64,
}

/// The content of one file.
#[derive(Clone)]
pub(super) struct FileContents {
    pub(super) name: String,
    /// First and last log time, ns.
    pub(super) span_ns: Option<(u64, u64)>,
    pub(super) messages: u64,
}

/// The name of an MCAP file, made from the directory's name as rosbag2 does it.
pub(super) fn file_name(directory: &Path, number: usize) -> String {
    let plain = |name: &&str| name.chars().all(|c| c.is_alphanumeric() || "._- ".contains(c));
    let name = directory.file_name().and_then(|name| name.to_str()).filter(plain).unwrap_or("bag");
    format!("{name}_{number}.mcap")
}

/// Writes `directory/metadata.yaml`.
pub(super) fn write(directory: &Path, contents: &Contents, options: &RecordOptions) -> io::Result<()> {
    let body = indented(&contents.yaml(options), 2);
    let fresh = directory.join(".metadata.yaml.new");
    fs::write(&fresh, format!("rosbag2_bagfile_information:\n{body}"))
        .and_then(|()| fs::rename(&fresh, directory.join("metadata.yaml")))
        .inspect_err(|_| drop(fs::remove_file(&fresh)))
}

impl TopicContents {
    pub(super) fn new(topic: Topic) -> Self {
        Self { topic, messages: 0, repeated: 0 }
    }

    /// Number of messages recorded, without repetitions.
    pub(super) fn recorded(&self) -> u64 {
        self.messages - self.repeated
    }

    fn yaml(&self, version: MetadataVersion) -> String {
        let Topic { name, type_name, type_hash, qos, .. } = &self.topic;
        let profiles = qos_text::written(*qos, version);
        let (profiles, hash) = match version {
            MetadataVersion::Humble => (format!(" \"{}\"", profiles.replace('\n', "\\n")), String::new()),
            MetadataVersion::Current => {
                let hash = format!("      type_description_hash: \"{type_hash}\"\n");
                (format!("\n{}", indented(&profiles, 8).trim_end()), hash)
            }
        };
        format!(
            "  - topic_metadata:\n      name: {name}\n      type: {type_name}\n      serialization_format: cdr\n      \
             offered_qos_profiles:{profiles}\n{hash}    message_count: {}\n",
            self.messages
        )
    }
}

impl FileContents {
    pub(super) fn new(name: String) -> Self {
        Self { name, span_ns: None, messages: 0 }
    }

    fn yaml(&self) -> String {
        let (first, last) = self.span_ns.unwrap_or_default();
        format!(
            "  - path: \"{}\"\n    starting_time:\n      nanoseconds_since_epoch: {first}\n    duration:\n      \
             nanoseconds: {}\n    message_count: {}\n",
            self.name,
            last - first,
            self.messages
        )
    }
}

impl Contents {
    /// Counts a message of a topic in the newest file.
    pub(super) fn count(&mut self, topic: usize, log_ns: u64, is_repeated: bool) {
        let counted = &mut self.topics[topic];
        counted.messages += 1;
        counted.repeated += u64::from(is_repeated);
        if let Some(file) = self.files.last_mut() {
            file.messages += 1;
            let first_ns = file.span_ns.map_or(log_ns, |(first_ns, _)| first_ns);
            file.span_ns = Some((first_ns, log_ns));
        }
    }

    /// The body of the file; rosbag2 also stores it inside each MCAP.
    pub(super) fn yaml(&self, options: &RecordOptions) -> String {
        let version = options.metadata;
        let (first, last) = self.span_ns().unwrap_or_default();
        let topics: String = self.topics.iter().map(|topic| topic.yaml(version)).collect();
        let paths: String = self.files.iter().map(|file| format!("  - \"{}\"\n", file.name)).collect();
        let files: String = self.files.iter().map(FileContents::yaml).collect();
        format!(
            "version: {}\nstorage_identifier: mcap\nduration:\n  nanoseconds: {}\n\
             starting_time:\n  nanoseconds_since_epoch: {first}\nmessage_count: {}\n\
             topics_with_message_count:{}\n{topics}compression_format: \"\"\ncompression_mode: \"\"\n\
             relative_file_paths:\n{paths}files:\n{files}{}",
            version.number(),
            last - first,
            self.message_count(),
            if topics.is_empty() { " []" } else { "" },
            of_today(options),
        )
    }

    /// Number of messages in all files.
    pub(super) fn message_count(&self) -> u64 {
        self.files.iter().map(|file| file.messages).sum()
    }

    /// Number of messages recorded, without repetitions.
    pub(super) fn recorded(&self) -> u64 {
        self.topics.iter().map(TopicContents::recorded).sum()
    }

    fn span_ns(&self) -> Option<(u64, u64)> {
        let mut spans = self.files.iter().filter_map(|file| file.span_ns);
        let (first_ns, last_ns) = spans.next()?;
        Some((first_ns, spans.next_back().map_or(last_ns, |(_, last_ns)| last_ns)))
    }
}

/// Keys that only the current metadata version has.
fn of_today(options: &RecordOptions) -> String {
    let distro = if options.ros_distro.is_empty() { "unknown" } else { &options.ros_distro };
    match options.metadata {
        MetadataVersion::Humble => String::new(),
        MetadataVersion::Current => format!("custom_data: ~\nros_distro: {distro:?}\n"),
    }
}

fn indented(text: &str, columns: usize) -> String {
    text.lines().map(|line| format!("{:columns$}{line}\n", "")).collect()
}

//! `metadata.yaml` of rosbag2, version 5: the youngest version that Humble reads
//! and that later ones still do (they convert the QoS text). Written to a
//! temporary name and renamed, so that a reader never meets half a file.

use std::fs;
use std::io;
use std::path::Path;

use crate::qos::Topic;

/// What `metadata.yaml` tells of the recording.
#[derive(Clone, Default)]
pub(super) struct Contents {
    pub(super) topics: Vec<(Topic, u64)>,
    /// First and last stamp, ns.
    pub(super) span_ns: Option<(u64, u64)>,
}

/// The MCAP file's name, after the directory as rosbag2 does it.
pub(super) fn file_name(directory: &Path) -> String {
    let plain = |name: &&str| name.chars().all(|c| c.is_alphanumeric() || "._- ".contains(c));
    let name = directory.file_name().and_then(|name| name.to_str()).filter(plain).unwrap_or("bag");
    format!("{name}_0.mcap")
}

/// Writes `directory/metadata.yaml`.
pub(super) fn write(directory: &Path, contents: &Contents) -> io::Result<()> {
    let body = contents.yaml(&file_name(directory));
    let indented: String = body.lines().map(|line| format!("  {line}\n")).collect();
    let fresh = directory.join(".metadata.yaml.new");
    fs::write(&fresh, format!("rosbag2_bagfile_information:\n{indented}"))
        .and_then(|()| fs::rename(&fresh, directory.join("metadata.yaml")))
        .inspect_err(|_| drop(fs::remove_file(&fresh)))
}

impl Contents {
    /// The body of the file; rosbag2 keeps the same inside the MCAP.
    pub(super) fn yaml(&self, file: &str) -> String {
        let (first, last) = self.span_ns.unwrap_or((0, 0));
        let (duration, count) = (last - first, self.message_count());
        let topics: String = self.topics.iter().map(topic_yaml).collect();
        let none = if topics.is_empty() { " []" } else { "" };
        format!(
            "version: 5\nstorage_identifier: mcap\nduration:\n  nanoseconds: {duration}\n\
             starting_time:\n  nanoseconds_since_epoch: {first}\nmessage_count: {count}\n\
             topics_with_message_count:{none}\n{topics}compression_format: \"\"\ncompression_mode: \"\"\n\
             relative_file_paths:\n  - \"{file}\"\nfiles:\n  - path: \"{file}\"\n    starting_time:\n      \
             nanoseconds_since_epoch: {first}\n    duration:\n      nanoseconds: {duration}\n    \
             message_count: {count}\n"
        )
    }

    pub(super) fn message_count(&self) -> u64 {
        self.topics.iter().map(|(_, messages)| messages).sum()
    }
}

fn topic_yaml((topic, messages): &(Topic, u64)) -> String {
    let Topic { name, type_name, qos, .. } = topic;
    let profiles = qos.rosbag2_yaml().replace('\n', "\\n");
    format!(
        "  - topic_metadata:\n      name: {name}\n      type: {type_name}\n      serialization_format: cdr\n      \
         offered_qos_profiles: \"{profiles}\"\n    message_count: {messages}\n"
    )
}

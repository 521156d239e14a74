//! Compares `metadata.yaml` with the contents of the files.

use std::collections::BTreeSet;

use selene_ros::bag::{BagContents, BagFile, BagMetadata, FileMetadata};

/// The differences between the metadata and the contents, in words.
pub(super) fn differences(reported: &BagMetadata, contents: &BagContents) -> Vec<String> {
    let mut faults = Vec::new();
    let (count, held) = (reported.message_count, contents.messages());
    if count != held {
        faults.push(format!("metadata.yaml counts {count} messages, {held} can be read"));
    }
    if contents.span_ns().is_some_and(|span_ns| span_ns != reported.span_ns()) {
        faults.push("metadata.yaml gives another beginning or duration than the messages have".to_owned());
    }
    faults.extend(topics(reported, contents));
    for file in &contents.files {
        let of_file = reported.files().into_iter().find(|reported| reported.name == file.name());
        faults.extend(of_file.and_then(|reported| file_difference(&reported, file)));
    }
    faults
}

fn topics(reported: &BagMetadata, contents: &BagContents) -> Vec<String> {
    let (reported, held) = (reported.messages(), contents.topics());
    let names: BTreeSet<&str> = reported.keys().chain(held.keys()).copied().collect();
    let fault = |name: &str| {
        let (reported, held) = (reported.get(name).copied(), held.get(name).map(|count| count.messages));
        let number = |count: Option<u64>| count.map_or("nothing".to_owned(), |count| format!("{count} messages"));
        // A topic without messages may be listed or not.
        let differs = reported.unwrap_or_default() != held.unwrap_or_default();
        differs.then(|| format!("metadata.yaml counts {} on {name}, there are {}", number(reported), number(held)))
    };
    names.into_iter().filter_map(fault).collect()
}

fn file_difference(reported: &FileMetadata, file: &BagFile) -> Option<String> {
    let (name, held) = (&reported.name, file.messages());
    if reported.messages != held {
        return Some(format!("metadata.yaml counts {} messages in {name}, {held} can be read", reported.messages));
    }
    let differs = file.span_ns.is_some_and(|span_ns| span_ns != reported.span_ns);
    differs.then(|| format!("metadata.yaml gives another beginning or duration of {name} than its messages have"))
}

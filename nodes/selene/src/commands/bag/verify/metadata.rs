//! `metadata.yaml` against what the files hold.

use std::collections::BTreeSet;

use selene_ros::bag::{BagContents, BagFile, BagMetadata, ToldFile};

/// All that it tells otherwise.
pub(super) fn differences(told: &BagMetadata, contents: &BagContents) -> Vec<String> {
    let mut faults = Vec::new();
    let (count, held) = (told.message_count, contents.messages());
    if count != held {
        faults.push(format!("metadata.yaml tells of {count} messages, {held} can be read"));
    }
    if contents.span_ns().is_some_and(|span_ns| span_ns != told.span_ns()) {
        faults.push("metadata.yaml tells another beginning or duration than the messages have".to_owned());
    }
    faults.extend(topics(told, contents));
    for file in &contents.files {
        let of_file = told.files().into_iter().find(|told| told.name == file.name());
        faults.extend(of_file.and_then(|told| file_difference(&told, file)));
    }
    faults
}

fn topics(told: &BagMetadata, contents: &BagContents) -> Vec<String> {
    let (told, held) = (told.messages(), contents.topics());
    let names: BTreeSet<&str> = told.keys().chain(held.keys()).copied().collect();
    let fault = |name: &str| {
        let (told, held) = (told.get(name).copied(), held.get(name).map(|count| count.messages));
        let number = |count: Option<u64>| count.map_or("nothing".to_owned(), |count| format!("{count} messages"));
        // A topic without messages may be told of or not.
        let differs = told.unwrap_or_default() != held.unwrap_or_default();
        differs.then(|| format!("metadata.yaml tells of {} on {name}, there are {}", number(told), number(held)))
    };
    names.into_iter().filter_map(fault).collect()
}

fn file_difference(told: &ToldFile, file: &BagFile) -> Option<String> {
    let (name, held) = (&told.name, file.messages());
    if told.messages != held {
        return Some(format!("metadata.yaml tells of {} messages in {name}, {held} can be read", told.messages));
    }
    let differs = file.span_ns.is_some_and(|span_ns| span_ns != told.span_ns);
    differs.then(|| format!("metadata.yaml tells another beginning or duration of {name} than its messages have"))
}

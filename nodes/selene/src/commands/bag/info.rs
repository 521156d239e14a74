//! `selene bag info`: prints the contents of a bag, from the summaries in its files.

use std::fmt::{self, Display, Formatter};

use selene_ros::Qos;
use selene_ros::bag::{BagContents, BagFile, BagReader, FileEnding, TopicCount};
use selene_ros::qos::{Durability, Reliability};
use serde_json::{Value, json};

use super::{open, seconds};
use crate::args::BagInfoArgs;
use crate::fault::Fault;
use crate::output::print_line;
use crate::summary::size;

/// Prints the contents of a bag.
pub(super) fn info(args: &BagInfoArgs) -> Result<(), Fault> {
    let bag = open(&args.bag)?;
    let contents = bag.contents();
    let info = Info { bag: &bag, contents: &contents };
    if args.json {
        print_line(serde_json::to_string_pretty(&info.json()).map_err(Fault::run)?);
    } else {
        print_line(&info);
    }
    Ok(())
}

struct Info<'a> {
    bag: &'a BagReader,
    contents: &'a BagContents,
}

impl Info<'_> {
    /// First log time and duration, ns.
    fn span_ns(&self) -> (u64, u64) {
        let (first_ns, last_ns) = self.contents.span_ns().unwrap_or_default();
        (first_ns, last_ns - first_ns)
    }

    /// Mean rate of a topic, Hz; `None` for latched topics and those with a single message.
    fn rate_hz(&self, count: &TopicCount) -> Option<f64> {
        let (_, span_ns) = self.span_ns();
        let is_latched = count.topic.qos.is_some_and(|qos| qos.durability == Durability::TransientLocal);
        let flows = !is_latched && count.messages > 1 && span_ns > 0;
        flows.then(|| count.messages as f64 / seconds(span_ns))
    }

    /// The faults found while reading the summaries.
    fn faults(&self) -> Vec<String> {
        let of_file = |file: &BagFile| {
            let ending = ending_fault(file.ending).map(str::to_owned);
            let faults = ending.into_iter().chain(file.faults.iter().cloned());
            faults.map(|fault| format!("{}: {fault}", file.name())).collect::<Vec<_>>()
        };
        let of_files = self.contents.files.iter().flat_map(of_file);
        self.bag.faults().iter().cloned().chain(of_files).collect()
    }

    fn json(&self) -> Value {
        let (start_ns, duration_ns) = self.span_ns();
        json!({
            "path": self.bag.path().display().to_string(),
            "start_ns": start_ns,
            "duration_ns": duration_ns,
            "messages": self.contents.messages(),
            "bytes": self.contents.bytes(),
            "metadata_version": self.bag.metadata().map(|reported| reported.version),
            "files": self.contents.files.iter().map(file_json).collect::<Vec<_>>(),
            "topics": self.contents.topics().values().map(|count| self.topic_json(count)).collect::<Vec<_>>(),
            "faults": self.faults(),
        })
    }

    fn topic_json(&self, count: &TopicCount) -> Value {
        json!({
            "name": count.topic.name,
            "type": count.topic.type_name,
            "messages": count.messages,
            "rate_hz": self.rate_hz(count),
            "qos": count.topic.qos.map(|qos| {
                let (reliability, durability) = words(qos);
                json!({"reliability": reliability, "durability": durability, "depth": qos.depth})
            }),
        })
    }
}

impl Display for Info<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (start_ns, duration_ns) = self.span_ns();
        let files = self.contents.files.len();
        let version = self.bag.metadata().map_or("none".to_owned(), |reported| format!("version {}", reported.version));
        for (label, value) in [
            ("bag", self.bag.path().display().to_string()),
            ("files", format!("{files}, {}, {}", size(self.contents.bytes()), compression(self.contents))),
            ("metadata", version),
            ("start", format!("{:.3} s", seconds(start_ns))),
            ("duration", format!("{:.3} s", seconds(duration_ns))),
            ("messages", self.contents.messages().to_string()),
        ] {
            writeln!(f, "  {label:<17} {value}")?;
        }
        for fault in self.faults() {
            writeln!(f, "  {:<17} {fault}", "fault")?;
        }
        let topics = self.contents.topics();
        let width = topics.keys().map(|name| name.len()).max().unwrap_or(0).max(5);
        writeln!(f, "\n  {:<width$} {:>9} {:>9}  {:<34} quality of service", "topic", "messages", "Hz", "type")?;
        for (name, count) in &topics {
            let hertz = self.rate_hz(count).map_or("-".to_owned(), |hertz| format!("{hertz:.1}"));
            let (messages, kind) = (count.messages, &count.topic.type_name);
            writeln!(f, "  {name:<width$} {messages:>9} {hertz:>9}  {kind:<34} {}", quality(count.topic.qos))?;
        }
        Ok(())
    }
}

/// The fault of a file by how it ends; `None` if it was closed properly.
pub(super) fn ending_fault(ending: FileEnding) -> Option<&'static str> {
    match ending {
        FileEnding::Closed => None,
        FileEnding::NoIndex => Some("has no index: its recorder was killed; `mcap recover` writes one"),
        FileEnding::Cut => Some("is cut off: its whole chunks are read; `mcap recover` writes a whole file"),
    }
}

fn file_json(file: &BagFile) -> Value {
    let (first_ns, last_ns) = file.span_ns.unwrap_or_default();
    json!({
        "name": file.name(),
        "bytes": file.bytes,
        "messages": file.messages(),
        "start_ns": first_ns,
        "duration_ns": last_ns - first_ns,
        "compression": file.compression,
        "ending": match file.ending {
            FileEnding::Closed => "closed",
            FileEnding::NoIndex => "no_index",
            FileEnding::Cut => "cut",
        },
    })
}

fn compression(contents: &BagContents) -> String {
    let methods: std::collections::BTreeSet<_> = contents.files.iter().flat_map(|file| &file.compression).collect();
    if methods.is_empty() {
        return "not compressed".to_owned();
    }
    methods.into_iter().cloned().collect::<Vec<_>>().join(", ")
}

fn words(qos: Qos) -> (&'static str, &'static str) {
    let reliability = match qos.reliability {
        Reliability::Reliable => "reliable",
        Reliability::BestEffort => "best effort",
    };
    let durability = match qos.durability {
        Durability::Volatile => "volatile",
        Durability::TransientLocal => "transient local",
    };
    (reliability, durability)
}

fn quality(qos: Option<Qos>) -> String {
    let Some(qos) = qos else { return "not given".to_owned() };
    let (reliability, durability) = words(qos);
    format!("{reliability}, {durability}, last {}", qos.depth)
}

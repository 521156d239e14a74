//! The content of a bag, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::FileReader;
use super::message::BagTopic;
use super::{name_of, summary};

/// The content of a bag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BagContents {
    /// The files in order.
    pub files: Vec<BagFile>,
}

/// The content of one MCAP file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagFile {
    /// The file's path.
    pub path: PathBuf,
    /// The file's size, bytes.
    pub bytes: u64,
    /// Its topics by name, including those without messages.
    pub topics: BTreeMap<String, TopicCount>,
    /// First and last log time, ns; `None` without messages.
    pub span_ns: Option<(u64, u64)>,
    /// Names of the compressions of its chunks.
    pub compression: BTreeSet<String>,
    /// How the file ends.
    pub ending: FileEnding,
    /// Differences between its index and its content, if that was checked, and parts that cannot be read.
    pub faults: Vec<String>,
}

/// A topic and the number of its messages, including those repeated from the previous file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicCount {
    /// The topic.
    pub topic: Arc<BagTopic>,
    /// Number of messages.
    pub messages: u64,
}

/// How an MCAP file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEnding {
    /// With an index: it was closed properly.
    Closed,
    /// After a whole record, without an index: its recorder was killed.
    NoIndex,
    /// In the middle of a record.
    Cut,
}

impl BagContents {
    /// The topics of all files by name.
    #[must_use]
    pub fn topics(&self) -> BTreeMap<&str, TopicCount> {
        let mut topics: BTreeMap<&str, TopicCount> = BTreeMap::new();
        for (name, count) in self.files.iter().flat_map(|file| &file.topics) {
            match topics.get_mut(name.as_str()) {
                Some(known) => known.messages += count.messages,
                None => drop(topics.insert(name, count.clone())),
            }
        }
        topics
    }

    /// Number of messages in all files.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.files.iter().map(BagFile::messages).sum()
    }

    /// Total size of all files, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// First and last log time, ns; `None` without messages.
    #[must_use]
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let spans = self.files.iter().filter_map(|file| file.span_ns);
        spans.reduce(|(first, last), (begins, ends)| (first.min(begins), last.max(ends)))
    }
}

impl BagFile {
    /// A file whose content is not read yet.
    pub(super) fn new(path: &Path, bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            bytes,
            topics: BTreeMap::new(),
            span_ns: None,
            compression: BTreeSet::new(),
            ending: FileEnding::Cut,
            faults: Vec::new(),
        }
    }

    /// The file's name, without folders.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// Number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.topics.values().map(|count| count.messages).sum()
    }

    /// Adds a topic, or a number of messages of it.
    pub(super) fn add(&mut self, topic: &Arc<BagTopic>, messages: u64) {
        let new = || TopicCount { topic: Arc::clone(topic), messages: 0 };
        self.topics.entry(topic.name.clone()).or_insert_with(new).messages += messages;
    }

    /// Extends the span to a message's log time.
    pub(super) fn extend_to(&mut self, log_ns: u64) {
        let (first, last) = self.span_ns.unwrap_or((log_ns, log_ns));
        self.span_ns = Some((first.min(log_ns), last.max(log_ns)));
    }
}

/// The content of a file: from its summary if it has one, else by reading it.
pub(super) fn of_file(path: &Path) -> BagFile {
    if let Some(contents) = summary::contents(path) {
        return contents;
    }
    let mut file = FileReader::open(path);
    let mut damages = Vec::new();
    while let Some(message) = file.next_message() {
        damages.extend(message.err().map(|damage| damage.what));
    }
    let mut contents = file.into_contents();
    contents.faults.extend(damages);
    contents
}

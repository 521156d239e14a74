//! What a bag holds, file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::FileReader;
use super::message::BagTopic;
use super::{name_of, summary};

/// What a bag holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BagContents {
    /// Each file in order.
    pub files: Vec<BagFile>,
}

/// What one MCAP file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BagFile {
    /// The file.
    pub path: PathBuf,
    /// Its size, bytes.
    pub bytes: u64,
    /// Its topics by name, those without messages too.
    pub topics: BTreeMap<String, TopicCount>,
    /// First and last log time, ns; none without a message.
    pub span_ns: Option<(u64, u64)>,
    /// What its chunks are compressed with.
    pub compression: BTreeSet<String>,
    /// How it ends.
    pub ending: FileEnding,
    /// Where its index differs from what it holds, as far as that was looked at, and why it cannot be read.
    pub faults: Vec<String>,
}

/// A topic and its messages, also those that are repeated from the file before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicCount {
    /// The topic.
    pub topic: Arc<BagTopic>,
    /// How many messages there are.
    pub messages: u64,
}

/// How an MCAP file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEnding {
    /// With an index.
    Closed,
    /// After a whole record, without an index: its recorder was killed.
    NoIndex,
    /// In the middle of a record.
    Cut,
}

impl BagContents {
    /// The topics by name.
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

    /// Messages in all files.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.files.iter().map(BagFile::messages).sum()
    }

    /// Size of all files, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// First and last log time, ns; none without a message.
    #[must_use]
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let spans = self.files.iter().filter_map(|file| file.span_ns);
        spans.reduce(|(first, last), (begins, ends)| (first.min(begins), last.max(ends)))
    }
}

impl BagFile {
    /// One of which nothing is known yet.
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

    /// Its name, without folders.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// Its messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.topics.values().map(|count| count.messages).sum()
    }

    /// Knows a topic, and so many messages of it.
    pub(super) fn add(&mut self, topic: &Arc<BagTopic>, messages: u64) {
        let new = || TopicCount { topic: Arc::clone(topic), messages: 0 };
        self.topics.entry(topic.name.clone()).or_insert_with(new).messages += messages;
    }

    /// Knows that there is a message of this log time.
    pub(super) fn extend_to(&mut self, log_ns: u64) {
        let (first, last) = self.span_ns.unwrap_or((log_ns, log_ns));
        self.span_ns = Some((first.min(log_ns), last.max(log_ns)));
    }
}

/// What a file holds: by its summary if it has one, else it is read.
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

//! Iterates over the messages of several files. A file begins with the last latched messages of the previous one; if
//! both are read, these repetitions are skipped.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use super::contents::{BagContents, BagFile};
use super::file::FileReader;
use super::message::{BagDamage, BagMessage};
use crate::qos::Durability;

/// Number of latched messages of a topic that are remembered: more than publishers keep.
const REMEMBERED_MAX: usize = 1000;

/// Iterator over the messages of a bag, with a [`BagDamage`] in place of each part that cannot be read.
pub struct Messages<'a> {
    files: std::slice::Iter<'a, PathBuf>,
    open: Option<FileReader>,
    read: Vec<BagFile>,
    repeats: Repeats,
}

impl<'a> Messages<'a> {
    pub(super) fn new(files: &'a [PathBuf]) -> Self {
        Self { files: files.iter(), open: None, read: Vec::new(), repeats: Repeats::default() }
    }

    /// The content of the files that were read to their ends, with all faults of their indexes.
    #[must_use]
    pub fn into_contents(self) -> BagContents {
        BagContents { files: self.read }
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<BagMessage, BagDamage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(file) = &mut self.open else {
                self.open = Some(FileReader::open(self.files.next()?));
                self.repeats.begin_file();
                continue;
            };
            match file.next_message() {
                Some(Ok(message)) if self.repeats.has(&message) => {}
                Some(message) => return Some(message),
                None => self.read.extend(self.open.take().map(FileReader::into_contents)),
            }
        }
    }
}

/// Latched messages that were read, by which repetitions are recognized.
#[derive(Default)]
struct Repeats {
    /// Sequence number and publish time of the messages, by topic.
    read: BTreeMap<String, VecDeque<(u32, u64)>>,
    files: usize,
    /// Whether the current file is not the first and has contained only repetitions so far.
    is_at_head: bool,
}

impl Repeats {
    fn begin_file(&mut self) {
        self.is_at_head = self.files > 0;
        self.files += 1;
    }

    /// Whether a message repeats one of an earlier file; remembers it if not.
    fn has(&mut self, message: &BagMessage) -> bool {
        let is_latched = message.topic.qos.is_some_and(|qos| qos.durability == Durability::TransientLocal);
        if !is_latched {
            self.is_at_head = false;
            return false;
        }
        let id = (message.sequence, message.publish_ns);
        let read = self.read.entry(message.topic.name.clone()).or_default();
        if self.is_at_head && read.contains(&id) {
            return true;
        }
        self.is_at_head = false;
        read.push_back(id);
        if read.len() > REMEMBERED_MAX {
            read.pop_front();
        }
        false
    }
}

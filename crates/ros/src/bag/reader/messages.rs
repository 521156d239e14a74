//! The messages of several files in a row. A file repeats the last latched messages of the one before at its
//! beginning; when both are read they are passed over.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use super::contents::{BagContents, BagFile};
use super::file::FileReader;
use super::message::{BagDamage, BagMessage};
use crate::qos::Durability;

/// How many latched messages of a topic are remembered: more than publishers keep.
const REMEMBERED_MAX: usize = 1000;

/// The messages of a bag, and in their place what of it cannot be read.
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

    /// What the files hold that were read to their ends, with all that is wrong with their indexes.
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

/// Latched messages that were read, to know them again.
#[derive(Default)]
struct Repeats {
    /// Sequence number and publish time by topic.
    read: BTreeMap<String, VecDeque<(u32, u64)>>,
    files: usize,
    /// Whether a later file has given nothing yet but what was read before.
    is_at_head: bool,
}

impl Repeats {
    fn begin_file(&mut self) {
        self.is_at_head = self.files > 0;
        self.files += 1;
    }

    /// Whether a message was in a file before.
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

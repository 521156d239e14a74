//! The thread that writes the bag: file after file, each of them complete after every chunk, and `metadata.yaml` at the
//! start, with each new file and about once each simulated second.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use mcap::{McapError, McapResult};

use super::disk::{Disks, WholeFile};
use super::latched::{LatchedMessage, LatchedMessages, LatchedPublisher};
use super::metadata::{self, Contents, FileContents, TopicContents};
use super::open_file::{Entry, OpenFile, SPAN_NS};
use super::options::RecordOptions;
use super::{BagError, BagSummary, locked};
use crate::cdr::Encoded;
use crate::qos::Topic;

/// A job for the writer's thread.
pub(super) enum Job {
    /// A new topic; topics are numbered in order of arrival.
    Topic(Topic),
    /// A message.
    Message(QueuedMessage),
    /// A publisher of a latched topic was closed.
    Gone(u64),
    /// Finish the recording.
    Finish,
}

/// A message to be recorded.
pub(super) struct QueuedMessage {
    /// Number of its topic.
    pub(super) topic: usize,
    pub(super) message: Encoded,
    pub(super) stamp_ns: u64,
    /// The latch of its publisher, if its topic is latched.
    pub(super) latch: Option<LatchedPublisher>,
}

/// The cause of an error; of a system error, the system's own text, such as "No space left on device".
fn cause(error: &McapError) -> String {
    match error {
        McapError::Io(system) => system.to_string(),
        other => other.to_string(),
    }
}

/// The state of a recording.
pub(super) struct Writer {
    directory: PathBuf,
    options: RecordOptions,
    disks: Disks,
    /// `None` after a fault.
    file: Option<OpenFile>,
    contents: Contents,
    /// The part of the contents that is on the disk.
    on_disk: Contents,
    latched: LatchedMessages,
    /// Whether the open file holds more than the messages repeated at its beginning.
    has_news: bool,
    /// Total size of the closed files, bytes.
    closed_bytes: u64,
    /// Log time up to which `metadata.yaml` is written, ns.
    reported_ns: u64,
    /// Latest stamp so far, ns. It is the log time, so that files are in order of log time.
    now_ns: u64,
    lost: u64,
    fault: Arc<Mutex<Option<String>>>,
}

impl Writer {
    /// Writes the header of the first file, and `metadata.yaml`.
    pub(super) fn begin(
        directory: &Path,
        options: RecordOptions,
        disks: Disks,
        fault: Arc<Mutex<Option<String>>>,
    ) -> Result<Self, BagError> {
        let mut writer = Self {
            directory: directory.to_owned(),
            options,
            disks,
            file: None,
            contents: Contents::default(),
            on_disk: Contents::default(),
            latched: LatchedMessages::default(),
            has_news: false,
            closed_bytes: 0,
            reported_ns: 0,
            now_ns: 0,
            lost: 0,
            fault,
        };
        let path = directory.join(metadata::file_name(directory, 0));
        writer.open_next().map_err(|error| match error {
            McapError::Io(source) => BagError::Create { path, source },
            source => BagError::Write { path, source },
        })?;
        Ok(writer)
    }

    /// Carries out jobs until the end.
    pub(super) fn run(mut self, queue: &Receiver<Job>) -> BagSummary {
        while let Ok(job) = queue.recv() {
            let done = match job {
                Job::Topic(topic) => self.add_topic(topic),
                Job::Message(arrived) => self.add_message(&arrived),
                Job::Gone(publisher) => {
                    self.latched.forget(publisher);
                    Ok(())
                }
                Job::Finish => break,
            };
            if let Err(error) = done {
                self.turn_off(&cause(&error));
            }
        }
        self.end()
    }

    fn add_topic(&mut self, topic: Topic) -> McapResult<()> {
        let added = match &mut self.file {
            Some(file) => file.add_topic(&topic, self.options.metadata),
            None => Ok(()),
        };
        // Later topics keep their numbers even if this one failed.
        self.contents.topics.push(TopicContents::new(topic));
        added
    }

    fn add_message(&mut self, arrived: &QueuedMessage) -> McapResult<()> {
        if self.file.is_none() {
            self.lost += 1;
            return Ok(());
        }
        // The log time is the time of arrival, which in simulated time is never before an earlier one.
        self.now_ns = self.now_ns.max(arrived.stamp_ns);
        if self.is_full(arrived.message.bytes().len()) {
            self.next_file().inspect_err(|_| self.lost += 1)?;
        }
        self.has_news = true;
        let sequence = (self.contents.topics[arrived.topic].recorded() & u64::from(u32::MAX)) as u32;
        let QueuedMessage { topic, stamp_ns, .. } = *arrived;
        let entry = LatchedMessage { topic, sequence, stamp_ns, message: arrived.message.clone() };
        self.write(&entry, false)?;
        if let Some(latch) = arrived.latch {
            self.latched.keep(latch, entry);
        }
        Ok(())
    }

    /// Whether a message of this size goes to the next file.
    fn is_full(&self, message_bytes: usize) -> bool {
        let begun_ns = self.contents.files.last().and_then(|file| file.span_ns).map(|(first_ns, _)| first_ns);
        let (Some(file), Some(begun_ns)) = (self.file.as_ref().filter(|_| self.has_news), begun_ns) else {
            return false;
        };
        let span_ns = i64::try_from(self.now_ns - begun_ns).unwrap_or(i64::MAX);
        self.options.max_bytes.is_some_and(|most| file.bytes_with(message_bytes) > most)
            || self.options.max_span.is_some_and(|longest| span_ns >= longest.nanos())
    }

    fn next_file(&mut self) -> McapResult<()> {
        self.close()?;
        self.open_next()
    }

    /// Closes the open file, if there is one.
    fn close(&mut self) -> McapResult<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let (bytes, closed) = file.close(&self.contents.yaml(&self.options));
        self.closed_bytes += bytes;
        closed?;
        self.on_disk = self.contents.clone();
        Ok(())
    }

    /// Opens the next file with all topics, and repeats the latched messages. A file that cannot be begun is removed.
    fn open_next(&mut self) -> McapResult<()> {
        let name = metadata::file_name(&self.directory, self.contents.files.len());
        let path = self.directory.join(&name);
        let disk = (self.disks)(&path)?;
        self.contents.files.push(FileContents::new(name));
        let begun = self.begin_file(WholeFile::new(disk));
        // The fault is reported; an empty file would only be in the way.
        let file = begun.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        (self.file, self.has_news) = (Some(file), false);
        self.on_disk = self.contents.clone();
        self.write_metadata()?;
        self.latched.all().iter().try_for_each(|kept| self.write(kept, true))
    }

    fn begin_file(&self, file: WholeFile) -> McapResult<OpenFile> {
        let mut file = OpenFile::begin(file, self.options.compression, &self.contents.yaml(&self.options))?;
        for TopicContents { topic, .. } in &self.contents.topics {
            file.add_topic(topic, self.options.metadata)?;
        }
        Ok(file)
    }

    fn write(&mut self, kept: &LatchedMessage, is_repeated: bool) -> McapResult<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let LatchedMessage { topic, sequence, stamp_ns, ref message } = *kept;
        self.contents.count(topic, self.now_ns, is_repeated);
        let entry = Entry { topic, sequence, log_ns: self.now_ns, stamp_ns, bytes: message.bytes() };
        if file.write(&entry)? { self.chunk_closed() } else { Ok(()) }
    }

    fn chunk_closed(&mut self) -> McapResult<()> {
        let has_new_topics = self.contents.topics.len() > self.on_disk.topics.len();
        self.on_disk = self.contents.clone();
        let is_due = self.now_ns - self.reported_ns >= SPAN_NS;
        if is_due || has_new_topics { self.write_metadata() } else { Ok(()) }
    }

    fn write_metadata(&mut self) -> McapResult<()> {
        self.reported_ns = self.now_ns;
        Ok(metadata::write(&self.directory, &self.on_disk, &self.options)?)
    }

    /// Keeps the complete parts of the files and drops all later messages.
    fn turn_off(&mut self, why: &str) {
        if let Some(file) = self.file.take() {
            self.closed_bytes += file.restore();
        }
        self.report(why);
    }

    /// Reports the fault and counts the messages that are not on the disk as lost.
    fn report(&mut self, why: &str) {
        let path = self.directory.display();
        let fault = format!("{path}: recording has stopped: {why}; what was written before is readable");
        tracing::error!("{fault}");
        *locked(&self.fault) = Some(fault);
        self.lost += self.contents.recorded() - self.on_disk.recorded();
        let topics = std::mem::take(&mut self.contents.topics);
        self.contents = self.on_disk.clone();
        let later = topics.into_iter().skip(self.contents.topics.len());
        self.contents.topics.extend(later.map(|known| TopicContents::new(known.topic)));
    }

    fn end(mut self) -> BagSummary {
        if let Err(error) = self.close() {
            self.report(&cause(&error));
        }
        if let Err(error) = metadata::write(&self.directory, &self.contents, &self.options) {
            tracing::warn!("{}: metadata.yaml is not up to date: {error}", self.directory.display());
        }
        let messages = self.contents.topics.iter().map(|of| (of.topic.name.clone(), of.recorded()));
        BagSummary {
            bytes: self.closed_bytes,
            files: self.contents.files.len(),
            messages: messages.collect(),
            unmatched: Vec::new(),
            lost: self.lost,
            fault: locked(&self.fault).clone(),
            directory: self.directory,
        }
    }
}

//! Recording to a rosbag2 directory: `DIR/metadata.yaml` (version 5, which
//! Humble and everything later read) beside `DIR/NAME_0.mcap` (MCAP profile
//! `ros2`, CDR messages, `ros2msg` schemas, zstd chunks).
//!
//! The recorder is one more [`Transport`]: what is sent to its outlets is
//! written with the simulated stamp as publish time and the latest stamp so far
//! as log time (nodes do not run in step, so stamps alone are not in order); its
//! subscriptions never deliver. Writing has its own thread behind a bounded
//! queue; a full queue makes the sender wait, so nothing is lost in silence.
//! The file is a whole MCAP after every chunk, whatever ends the process. When
//! the disk fails, the recorder turns itself off and says so in
//! [`BagRecorder::fault`]; the run goes on and what was written stays readable.

mod disk;
mod metadata;
mod writer;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use selene_base::SimTime;

use crate::cdr::Encoded;
use crate::qos::Topic;
use crate::transport::{Outlet, Sink, Subscription, Transport, TransportError};
use disk::{Disk, WholeFile};
use writer::{Job, Writer};

/// Messages that may wait for the disk: an image each, at worst some 60 MB.
const QUEUE_LENGTH: usize = 128;

/// A recording that cannot begin or end.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// Something has that name already.
    #[error("{}: exists already and is left as it is; name a directory that does not exist", path.display())]
    Exists {
        /// The directory asked for.
        path: PathBuf,
    },
    /// The directory or a file in it cannot be made.
    #[error("{}: cannot be written: {source}", path.display())]
    Create {
        /// The directory or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file's head cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: mcap::McapError,
    },
}

/// What a recording holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BagSummary {
    /// The bag's directory.
    pub directory: PathBuf,
    /// Size of the MCAP file, bytes.
    pub bytes: u64,
    /// Messages written, by topic name; topics without messages are listed too.
    pub messages: BTreeMap<String, u64>,
    /// Messages that came after the recorder had turned itself off.
    pub lost: u64,
    /// Why it turned itself off, if it did.
    pub fault: Option<String>,
}

/// Records all that is sent through it. Clones share the recording; it ends
/// with [`BagRecorder::finish`] or when the last clone and outlet are dropped.
#[derive(Clone)]
pub struct BagRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: SyncSender<Job>,
    topics: Mutex<BTreeMap<String, (usize, &'static str)>>,
    fault: Arc<Mutex<Option<String>>>,
    thread: Mutex<Option<JoinHandle<BagSummary>>>,
    summary: Mutex<BagSummary>,
}

impl BagRecorder {
    /// Makes the directory and begins the recording.
    ///
    /// # Errors
    /// When `directory` exists, or it or its files cannot be written.
    pub fn create(directory: &Path) -> Result<Self, BagError> {
        make_directory(directory)?;
        let path = directory.join(metadata::file_name(directory));
        let file = fs::File::create_new(&path).map_err(|source| BagError::Create { path, source })?;
        Self::on_disk(directory, Box::new(file))
    }

    fn on_disk(directory: &Path, disk: Box<dyn Disk>) -> Result<Self, BagError> {
        let fault = Arc::new(Mutex::new(None));
        let writer = Writer::begin(directory, WholeFile::new(disk), Arc::clone(&fault))?;
        let (jobs, queue) = sync_channel(QUEUE_LENGTH);
        let thread = std::thread::Builder::new()
            .name("bag".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(|source| BagError::Create { path: directory.to_owned(), source })?;
        let summary = BagSummary { directory: directory.to_owned(), ..BagSummary::default() };
        let shared = Shared {
            jobs,
            topics: Mutex::default(),
            fault,
            thread: Mutex::new(Some(thread)),
            summary: Mutex::new(summary),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Why the recorder turned itself off, if it did.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        locked(&self.shared.fault).clone()
    }

    /// Ends the recording and tells what it holds; later calls tell the same,
    /// later messages are refused.
    #[must_use]
    pub fn finish(&self) -> BagSummary {
        self.shared.finish()
    }
}

impl Shared {
    fn finish(&self) -> BagSummary {
        if let Some(thread) = locked(&self.thread).take() {
            // The queue is closed only when the writer has ended, which join() tells.
            let _ = self.jobs.send(Job::Finish);
            match thread.join() {
                Ok(summary) => *locked(&self.summary) = summary,
                Err(_) => locked(&self.summary).fault = Some("the writing thread has failed".to_owned()),
            }
        }
        locked(&self.summary).clone()
    }

    fn send(&self, topic: &str, job: Job) -> Result<(), TransportError> {
        let closed = |_| TransportError::Send { topic: topic.to_owned(), what: "the bag is closed".to_owned() };
        self.jobs.send(job).map_err(closed)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Transport for BagRecorder {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let mut topics = locked(&self.shared.topics);
        let index = match topics.get(&topic.name) {
            Some((index, carried)) if *carried == topic.type_name => *index,
            Some((_, carried)) => {
                let (topic, asked) = (topic.name.clone(), topic.type_name.to_owned());
                return Err(TransportError::TypeMismatch { topic, carried: (*carried).to_owned(), asked });
            }
            None => {
                let index = topics.len();
                self.shared.send(&topic.name, Job::Topic(topic.clone()))?;
                topics.insert(topic.name.clone(), (index, topic.type_name));
                index
            }
        };
        Ok(Box::new(BagOutlet { shared: Arc::clone(&self.shared), topic: topic.name.clone(), index }))
    }

    fn subscribe(&self, _topic: &Topic, _sink: Sink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }
}

struct BagOutlet {
    shared: Arc<Shared>,
    topic: String,
    index: usize,
}

impl Outlet for BagOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let Ok(stamp_ns) = u64::try_from(stamp.nanos()) else {
            let what = format!("the bag takes no stamp before zero, but this one is {stamp}");
            return Err(TransportError::Send { topic: self.topic.clone(), what });
        };
        self.shared.send(&self.topic, Job::Message { topic: self.index, message: message.clone(), stamp_ns })
    }
}

fn make_directory(path: &Path) -> Result<(), BagError> {
    let refuse = |source| BagError::Create { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(refuse)?;
    }
    fs::create_dir(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => BagError::Exists { path: path.to_owned() },
        _ => refuse(source),
    })
}

/// The lock's content; a thread that panicked elsewhere leaves it usable.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

//! Recording and reading of rosbag2 bags: a directory with `metadata.yaml` and the files `NAME_0.mcap`, `NAME_1.mcap` …
//! (MCAP profile `ros2`, CDR messages, `ros2msg` schemas).
//!
//! The recorder is another [`Transport`]. Messages sent to its outlets are written with the simulated stamp as publish
//! time and the latest stamp so far as log time (nodes do not run in step, so stamps alone are not in order). Its
//! subscriptions never deliver, and services are not recorded. A thread of its own writes behind a bounded queue; a
//! full queue blocks the sender, so that nothing is lost silently. A file is a complete MCAP after every chunk, however
//! the process ends. When the disk fails, the recorder turns itself off and reports it in [`BagRecorder::fault`]; the
//! run goes on, and what was written stays readable. If a bag has several files, each begins with the last messages of
//! latched topics, with their original sequence numbers and publish times.
//!
//! [`BagReader`] reads bags of this recorder and of others.

mod disk;
mod filter;
mod latched;
mod metadata;
mod open_file;
mod options;
mod qos_text;
mod reader;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use selene_base::SimTime;

use crate::cdr::Encoded;
use crate::qos::{Durability, Topic};
use crate::service::ServiceName;
use crate::transport::{Caller, Outlet, RequestSink, ResponseSink, Sink, Subscription, Transport, TransportError};
use disk::Disks;
use latched::LatchedPublisher;
use writer::{Job, QueuedMessage, Writer};

pub use filter::{INTERNAL_TOPICS, PatternError, TopicFilter, TopicPattern, is_internal};
pub use options::{BagCompression, MetadataVersion, RecordOptions};
pub use reader::{
    BagContents, BagDamage, BagFile, BagMessage, BagMetadata, BagReader, BagTopic, FileEnding, FileMetadata, Messages,
    TopicCount,
};

/// Maximum number of messages that wait for the disk: if all are images, some 60 MB.
const QUEUE_LENGTH: usize = 128;

/// A recording that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// The path exists already.
    #[error("{}: exists already and is left as it is; name a directory that does not exist", path.display())]
    Exists {
        /// The requested directory.
        path: PathBuf,
    },
    /// The directory or a file in it cannot be created.
    #[error("{}: cannot be written: {source}", path.display())]
    Create {
        /// The directory or file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The header of a file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the MCAP writer.
        source: mcap::McapError,
    },
}

/// Content of a finished recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BagSummary {
    /// The bag's directory.
    pub directory: PathBuf,
    /// Size of the MCAP files, bytes.
    pub bytes: u64,
    /// Number of MCAP files.
    pub files: usize,
    /// Number of messages written, by topic name, including topics without messages. Latched messages that were
    /// repeated in a later file count once.
    pub messages: BTreeMap<String, u64>,
    /// Filter patterns that match none of the advertised topics.
    pub unmatched: Vec<String>,
    /// Number of messages that arrived after the recorder had turned itself off.
    pub lost: u64,
    /// Why the recorder turned itself off, if it did.
    pub fault: Option<String>,
}

/// Records the messages sent through it. Clones share the recording; it ends with [`BagRecorder::finish`] or when the
/// last clone and outlet are dropped.
#[derive(Clone)]
pub struct BagRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: SyncSender<Job>,
    filter: TopicFilter,
    /// Whether messages of latched topics are kept for the next file.
    keeps_latched: bool,
    advertised: Mutex<Advertised>,
    fault: Arc<Mutex<Option<String>>>,
    thread: Mutex<Option<JoinHandle<BagSummary>>>,
    summary: Mutex<BagSummary>,
}

/// The topics that have been advertised.
#[derive(Default)]
struct Advertised {
    /// Number and type name of the recorded topics.
    recorded: BTreeMap<String, (usize, &'static str)>,
    passed_over: BTreeSet<String>,
    publishers: u64,
}

impl BagRecorder {
    /// Creates the directory and begins the recording.
    ///
    /// # Errors
    /// When `directory` exists, or it or its files cannot be written.
    pub fn create(directory: &Path, options: RecordOptions) -> Result<Self, BagError> {
        make_directory(directory)?;
        Self::on_disks(directory, options, disk::files())
    }

    fn on_disks(directory: &Path, options: RecordOptions, disks: Disks) -> Result<Self, BagError> {
        let fault = Arc::new(Mutex::new(None));
        let (filter, keeps_latched) = (options.topics.clone(), options.splits());
        let writer = Writer::begin(directory, options, disks, Arc::clone(&fault))?;
        let (jobs, queue) = sync_channel(QUEUE_LENGTH);
        let thread = std::thread::Builder::new()
            .name("bag".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(|source| BagError::Create { path: directory.to_owned(), source })?;
        let summary = BagSummary { directory: directory.to_owned(), ..BagSummary::default() };
        let shared = Shared {
            jobs,
            filter,
            keeps_latched,
            advertised: Mutex::default(),
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

    /// Ends the recording and returns its content. Later calls return the same; later messages are refused.
    #[must_use]
    pub fn finish(&self) -> BagSummary {
        self.shared.finish()
    }
}

impl Shared {
    fn finish(&self) -> BagSummary {
        if let Some(thread) = locked(&self.thread).take() {
            // Sending fails only when the writer has ended; then join() returns its result.
            let _ = self.jobs.send(Job::Finish);
            let unmatched = self.unmatched();
            let mut summary = locked(&self.summary);
            match thread.join() {
                Ok(written) => *summary = BagSummary { unmatched, ..written },
                Err(_) => summary.fault = Some("the writing thread has failed".to_owned()),
            }
        }
        locked(&self.summary).clone()
    }

    fn unmatched(&self) -> Vec<String> {
        let advertised = locked(&self.advertised);
        let all = advertised.recorded.keys().chain(&advertised.passed_over);
        self.filter.unmatched(&all.map(String::as_str).collect::<Vec<_>>())
    }

    fn send(&self, topic: &str, job: Job) -> Result<(), TransportError> {
        let closed = |_| TransportError::Send { topic: topic.to_owned(), what: "the bag is closed".to_owned() };
        self.jobs.send(job).map_err(closed)
    }

    /// The number of a recorded topic, which is assigned at its first use.
    fn number(&self, advertised: &mut Advertised, topic: &Topic) -> Result<usize, TransportError> {
        match advertised.recorded.get(&topic.name) {
            Some((index, carried)) if *carried == topic.type_name => Ok(*index),
            Some((_, carried)) => {
                let (topic, requested) = (topic.name.clone(), topic.type_name.to_owned());
                Err(TransportError::TypeMismatch { topic, carried: (*carried).to_owned(), requested })
            }
            None => {
                let index = advertised.recorded.len();
                self.send(&topic.name, Job::Topic(topic.clone()))?;
                advertised.recorded.insert(topic.name.clone(), (index, topic.type_name));
                Ok(index)
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Transport for BagRecorder {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let shared = &self.shared;
        let mut advertised = locked(&shared.advertised);
        if !shared.filter.admits(&topic.name) {
            advertised.passed_over.insert(topic.name.clone());
            return Ok(Box::new(UnrecordedOutlet));
        }
        let index = shared.number(&mut advertised, topic)?;
        advertised.publishers += 1;
        let is_kept = shared.keeps_latched && topic.qos.durability == Durability::TransientLocal;
        let latch =
            is_kept.then(|| LatchedPublisher { publisher: advertised.publishers, depth: topic.qos.depth.max(1) });
        Ok(Box::new(BagOutlet { shared: Arc::clone(shared), topic: topic.name.clone(), index, latch }))
    }

    fn subscribe(&self, _topic: &Topic, _sink: Sink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }

    fn serve(&self, _service: &ServiceName, _sink: RequestSink) -> Result<Subscription, TransportError> {
        Ok(Subscription::inert())
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        Ok(Box::new(BagCaller { service: service.name.clone() }))
    }
}

/// A client on a bag, where no service is served.
struct BagCaller {
    service: String,
}

impl Caller for BagCaller {
    fn is_served(&self) -> bool {
        false
    }

    fn call(&self, _request: &Encoded, _on: ResponseSink) -> Result<(), TransportError> {
        Err(TransportError::NotServed { service: self.service.clone() })
    }
}

/// An outlet of a topic that is not recorded.
struct UnrecordedOutlet;

impl Outlet for UnrecordedOutlet {
    fn send(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        Ok(())
    }
}

struct BagOutlet {
    shared: Arc<Shared>,
    topic: String,
    index: usize,
    latch: Option<LatchedPublisher>,
}

impl Outlet for BagOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let Ok(stamp_ns) = u64::try_from(stamp.nanos()) else {
            let what = format!("the bag takes no stamp before zero, but this one is {stamp}");
            return Err(TransportError::Send { topic: self.topic.clone(), what });
        };
        let arrived = QueuedMessage { topic: self.index, message: message.clone(), stamp_ns, latch: self.latch };
        self.shared.send(&self.topic, Job::Message(arrived))
    }
}

impl Drop for BagOutlet {
    fn drop(&mut self) {
        if let Some(latch) = self.latch {
            // Sending fails when the bag is closed: then there is no next file.
            let _ = self.shared.jobs.send(Job::Gone(latch.publisher));
        }
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

/// Locks a mutex; its content is usable even if a thread panicked while holding it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

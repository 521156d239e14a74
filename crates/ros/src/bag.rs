//! Bags as rosbag2 has them: a directory with `metadata.yaml` beside `NAME_0.mcap`, `NAME_1.mcap` … (MCAP profile
//! `ros2`, CDR messages, `ros2msg` schemas).
//!
//! The recorder is one more [`Transport`]: what is sent to its outlets is
//! written with the simulated stamp as publish time and the latest stamp so far
//! as log time (nodes do not run in step, so stamps alone are not in order); its
//! subscriptions never deliver, and services are not recorded. Writing has its own thread behind a bounded
//! queue; a full queue makes the sender wait, so nothing is lost in silence.
//! A file is a whole MCAP after every chunk, whatever ends the process. When
//! the disk fails, the recorder turns itself off and says so in
//! [`BagRecorder::fault`]; the run goes on and what was written stays readable.
//! Where a bag has several files, each begins with the last messages of latched
//! topics, with the sequence numbers and publish times that they had.
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
use latched::Latch;
use writer::{Arrived, Job, Writer};

pub use filter::{INTERNAL_TOPICS, PatternError, TopicFilter, TopicPattern, is_internal};
pub use options::{BagCompression, MetadataVersion, RecordOptions};
pub use reader::{
    BagContents, BagDamage, BagFile, BagMessage, BagMetadata, BagReader, BagTopic, FileEnding, Messages, ReadError,
    ToldFile, TopicCount,
};

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
    /// Size of the MCAP files, bytes.
    pub bytes: u64,
    /// How many MCAP files there are.
    pub files: usize,
    /// Messages written, by topic name; topics without messages are listed too. Latched messages that were
    /// repeated in a later file count once.
    pub messages: BTreeMap<String, u64>,
    /// Patterns of the filter that match none of the topics that were advertised.
    pub unmatched: Vec<String>,
    /// Messages that came after the recorder had turned itself off.
    pub lost: u64,
    /// Why it turned itself off, if it did.
    pub fault: Option<String>,
}

/// Records what is sent through it. Clones share the recording; it ends
/// with [`BagRecorder::finish`] or when the last clone and outlet are dropped.
#[derive(Clone)]
pub struct BagRecorder {
    shared: Arc<Shared>,
}

struct Shared {
    jobs: SyncSender<Job>,
    filter: TopicFilter,
    /// Whether messages of latched topics are to be kept for the next file.
    keeps_latched: bool,
    advertised: Mutex<Advertised>,
    fault: Arc<Mutex<Option<String>>>,
    thread: Mutex<Option<JoinHandle<BagSummary>>>,
    summary: Mutex<BagSummary>,
}

/// The topics that somebody publishes.
#[derive(Default)]
struct Advertised {
    /// Number and type of those that are recorded.
    recorded: BTreeMap<String, (usize, &'static str)>,
    passed_over: BTreeSet<String>,
    publishers: u64,
}

impl BagRecorder {
    /// Makes the directory and begins the recording.
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

    /// The number of a topic that is recorded.
    fn number(&self, advertised: &mut Advertised, topic: &Topic) -> Result<usize, TransportError> {
        match advertised.recorded.get(&topic.name) {
            Some((index, carried)) if *carried == topic.type_name => Ok(*index),
            Some((_, carried)) => {
                let (topic, asked) = (topic.name.clone(), topic.type_name.to_owned());
                Err(TransportError::TypeMismatch { topic, carried: (*carried).to_owned(), asked })
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
            return Ok(Box::new(PassedOver));
        }
        let index = shared.number(&mut advertised, topic)?;
        advertised.publishers += 1;
        let is_kept = shared.keeps_latched && topic.qos.durability == Durability::TransientLocal;
        let latch = is_kept.then(|| Latch { publisher: advertised.publishers, depth: topic.qos.depth.max(1) });
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

/// A client on a bag, which answers nothing.
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
struct PassedOver;

impl Outlet for PassedOver {
    fn send(&self, _message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        Ok(())
    }
}

struct BagOutlet {
    shared: Arc<Shared>,
    topic: String,
    index: usize,
    latch: Option<Latch>,
}

impl Outlet for BagOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let Ok(stamp_ns) = u64::try_from(stamp.nanos()) else {
            let what = format!("the bag takes no stamp before zero, but this one is {stamp}");
            return Err(TransportError::Send { topic: self.topic.clone(), what });
        };
        let arrived = Arrived { topic: self.index, message: message.clone(), stamp_ns, latch: self.latch };
        self.shared.send(&self.topic, Job::Message(arrived))
    }
}

impl Drop for BagOutlet {
    fn drop(&mut self) {
        if let Some(latch) = self.latch {
            // A bag that is closed has no next file to repeat anything in.
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

/// The lock's content; a thread that panicked elsewhere leaves it usable.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

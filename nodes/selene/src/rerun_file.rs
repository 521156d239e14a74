//! Writes a run to a file for the Rerun viewer (`.rrd`, with Rerun's own SDK), on timeline `sim_time`, simulated time:
//! images, points, boxes, TF frames, the ground around the rovers with their ruts, and plots of wheels and rovers. An
//! entity has the name of the topic that it comes from.
//!
//! The file gets the same messages as the bag recorder, as one more transport beside it. A thread of its own decodes
//! and writes behind a bounded queue; a full queue makes the publisher wait, so that nothing is lost.

mod ground;
mod image;
mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rerun::{RecordingStream, RecordingStreamBuilder};
use selene_base::SimTime;
use selene_ros::tap::{IgnoredOutlet, Tap, TapSink};
use selene_ros::transport::{Outlet, Transport, TransportError};
use selene_ros::{Encoded, Topic};
use selene_sim::Model;
use selene_terrain::Ruts;

use crate::fault::Fault;
use crate::places;
use crate::summary::size;
use ground::Ground;
use show::Kind;

/// Greatest number of messages that wait to be written, as for a bag.
const QUEUE_LENGTH: usize = 128;
/// Application id in Rerun.
const APPLICATION: &str = "selene";
/// The only timeline of the file.
const TIMELINE: &str = "sim_time";

/// A file that the run is written to.
pub(crate) struct RerunFile {
    path: PathBuf,
    intake: Arc<RerunQueue>,
    thread: JoinHandle<Result<RerunContents, String>>,
}

/// The contents of a file.
#[derive(Default)]
struct RerunContents {
    /// Number of messages in it.
    messages: u64,
    /// Why messages of a topic are missing, by topic.
    passed_over: BTreeMap<String, String>,
}

/// Receives published messages and queues them.
struct RerunQueue {
    jobs: Mutex<Option<SyncSender<QueuedMessage>>>,
}

/// A message in the queue, still encoded.
struct QueuedMessage {
    kind: Kind,
    topic: Arc<str>,
    stamp: SimTime,
    message: Encoded,
}

impl RerunFile {
    /// Refuses a file of another extension, or one that exists.
    pub(crate) fn check(path: &Path) -> Result<(), Fault> {
        if path.extension().is_none_or(|extension| extension != "rrd") {
            return Err(refused(path, "must end in .rrd, by which Rerun knows its files"));
        }
        if path.exists() {
            return Err(refused(path, "exists already and is left as it is; name a file that does not exist"));
        }
        Ok(())
    }

    /// Creates a new file; `ruts` are those on which the run begins.
    pub(crate) fn begin(path: &Path, model: &Arc<Model>, ruts: Ruts) -> Result<Self, Fault> {
        Self::check(path)?;
        let name = model.scenario().name.as_str();
        // The command line overrides the environment variable RERUN, which could disable the file.
        let builder = RecordingStreamBuilder::new(APPLICATION).enabled(true).recording_name(name);
        let stream = builder.save(path).map_err(|error| refused(path, error))?;
        stream.set_log_time_enabled(false);
        stream.set_log_tick_enabled(false);
        show::begin(&stream).map_err(|error| refused(path, error))?;
        let (jobs, queue) = sync_channel(QUEUE_LENGTH);
        let writer = Writer { stream, ground: Ground::new(model, ruts), shown: RerunContents::default() };
        let thread = std::thread::Builder::new().name("rerun".to_owned()).spawn(move || writer.run(&queue));
        let thread = thread.map_err(|error| refused(path, error))?;
        Ok(Self { path: path.to_owned(), intake: Arc::new(RerunQueue { jobs: Mutex::new(Some(jobs)) }), thread })
    }

    /// The transport to publish into: its messages go to the file.
    pub(crate) fn tap(&self) -> Arc<dyn Transport> {
        Arc::new(Tap(Arc::clone(&self.intake)))
    }

    /// Ends the file. Returns its contents as rows of the summary.
    ///
    /// # Errors
    /// When the file is incomplete.
    pub(crate) fn end(self) -> Result<Vec<(&'static str, String)>, Fault> {
        self.intake.close();
        let written = self.thread.join().unwrap_or_else(|_| Err("the writing thread has failed".to_owned()));
        let shown = written.map_err(|why| Fault::run(format!("--rerun {}: {why}", self.path.display())))?;
        let bytes = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        let holds = format!("{}: {} messages, {}", places::whole(&self.path).display(), shown.messages, size(bytes));
        let passed_over =
            shown.passed_over.into_iter().map(|(topic, why)| ("not for rerun", format!("{topic}: {why}")));
        Ok([("rerun", holds)].into_iter().chain(passed_over).collect())
    }
}

fn refused(path: &Path, what: impl std::fmt::Display) -> Fault {
    Fault::input(format!("--rerun {}: {what}", path.display()))
}

impl RerunQueue {
    fn close(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The queue of messages; `None` when the file has ended.
    fn jobs(&self) -> Option<SyncSender<QueuedMessage>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TapSink for RerunQueue {
    fn advertise(self: Arc<Self>, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let Some(kind) = Kind::of(topic) else { return Ok(Box::new(IgnoredOutlet)) };
        Ok(Box::new(RerunOutlet { intake: self, kind, topic: Arc::from(topic.name.as_str()) }))
    }
}

struct RerunOutlet {
    intake: Arc<RerunQueue>,
    kind: Kind,
    topic: Arc<str>,
}

impl Outlet for RerunOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let Some(jobs) = self.intake.jobs() else { return Err(self.closed()) };
        let arrived =
            QueuedMessage { kind: self.kind, topic: Arc::clone(&self.topic), stamp, message: message.clone() };
        jobs.send(arrived).map_err(|_| self.closed())
    }
}

impl RerunOutlet {
    fn closed(&self) -> TransportError {
        TransportError::Send { topic: self.topic.as_ref().to_owned(), what: "the Rerun file is closed".to_owned() }
    }
}

/// The state of the thread that decodes and writes.
struct Writer {
    stream: RecordingStream,
    ground: Ground,
    shown: RerunContents,
}

impl Writer {
    fn run(mut self, queue: &Receiver<QueuedMessage>) -> Result<RerunContents, String> {
        while let Ok(arrived) = queue.recv() {
            self.stream.set_time(TIMELINE, rerun::TimeCell::from_duration_nanos(arrived.stamp.nanos()));
            match show::show(&self.stream, &mut self.ground, &arrived) {
                Ok(()) => self.shown.messages += 1,
                Err(why) => _ = self.shown.passed_over.entry(arrived.topic.as_ref().to_owned()).or_insert(why),
            }
        }
        self.stream.flush_blocking().map_err(|error| error.to_string())?;
        Ok(self.shown)
    }
}

#[cfg(test)]
mod tests;

//! Writes checkpoints of a run at regular times in a thread of their own. A heartbeat only copies the state, which
//! shares its ground with the run until it is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_observe::{Recorder, recall_span};
use selene_sim::{Checkpoint, CheckpointError, Fingerprint, Snapshot, World};

/// When checkpoints are written, and where.
#[derive(Clone, Debug)]
pub struct CheckpointOptions {
    /// Simulated time between two checkpoints.
    pub every: SimTime,
    /// Folder in which they are written.
    pub folder: PathBuf,
}

pub(crate) struct Checkpoints {
    options: CheckpointOptions,
    of: Fingerprint,
    recorder: Recorder,
    next: SimTime,
    /// Simulated time of the latest checkpoint since the run began or the world was reset.
    latest: Option<SimTime>,
    writing: Option<JoinHandle<Result<(), CheckpointError>>>,
    /// The first write that failed.
    failed: Option<CheckpointError>,
}

impl Checkpoints {
    /// Begins at the world's time; `recorder` holds the snapshots that precede it.
    pub(crate) fn new(options: &CheckpointOptions, world: &World, recorder: Recorder) -> Self {
        let every = options.every.max(world.scenario().heartbeat);
        let options = CheckpointOptions { every, ..options.clone() };
        // A run that is resumed from a checkpoint in this folder does not write it again.
        let latest = Some(world.time()).filter(|time| file_at(&options.folder, *time).exists());
        Self {
            of: Fingerprint::of(world.scenario(), world.model().terrain()),
            recorder,
            next: next_after(world.time(), every),
            latest,
            writing: None,
            failed: None,
            options,
        }
    }

    /// Begins anew after a reset of the world. Checkpoints of the same times are overwritten.
    pub(crate) fn begin_anew(&mut self, world: &World, recorder: Recorder) {
        self.recorder = recorder;
        self.next = next_after(world.time(), self.options.every);
        self.latest = None;
    }

    /// Records a snapshot of the world and starts writing a checkpoint when one is due.
    pub(crate) fn take(&mut self, world: &World, snapshot: &Arc<Snapshot>) -> Result<(), NodeError> {
        self.recorder.push(Arc::clone(snapshot), recall_span(world.model()));
        if snapshot.time >= self.next {
            self.next += self.options.every;
            self.write(world)?;
        }
        Ok(())
    }

    /// Writes the final checkpoint and waits for it.
    pub(crate) fn end(&mut self, world: &World) -> Result<(), NodeError> {
        if self.latest != Some(world.time()) {
            self.write(world)?;
        }
        self.wait();
        self.failed.take().map_or(Ok(()), |error| Err(error.into()))
    }

    fn write(&mut self, world: &World) -> Result<(), NodeError> {
        self.wait();
        self.latest = Some(world.time());
        let checkpoint = Checkpoint { state: world.copy_state()?, recent: self.recorder.recent() };
        let (file, of) = (self.file(world.time()), self.of.clone());
        let thread = Builder::new().name("checkpoint".into()).spawn(move || checkpoint.save(&file, &of));
        self.writing = Some(thread.map_err(|error| NodeError::Thread { what: "checkpoint", error })?);
        Ok(())
    }

    /// Waits for the checkpoint that is being written. A failure is logged at once; the run goes on.
    fn wait(&mut self) {
        let Some(writing) = self.writing.take() else { return };
        if let Ok(Err(error)) = writing.join() {
            tracing::warn!("a checkpoint was not written: {error}");
            self.failed.get_or_insert(error);
        }
    }

    fn file(&self, time: SimTime) -> PathBuf {
        file_at(&self.options.folder, time)
    }
}

/// When the next checkpoint is due, in simulated time.
fn next_after(time: SimTime, every: SimTime) -> SimTime {
    every * (time / every + 1)
}

/// The checkpoint file for a simulated time in a folder.
#[must_use]
pub fn file_at(folder: &Path, time: SimTime) -> PathBuf {
    folder.join(format!("{:010.3}s.state", time.secs_f64()))
}

//! An image in a thread of its own, from negative to message.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_sensors::{CameraSpec, Pipeline, Rectifier};

use crate::darkroom::fault;
use crate::negative::{Developed, Negative};

/// An image that is developed.
pub(crate) struct Developing {
    stamp: SimTime,
    work: JoinHandle<Result<Developed, NodeError>>,
}

impl Developing {
    /// Begins.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(crate) fn start(
        negative: Negative,
        pipeline: Arc<Pipeline>,
        rectifier: Option<Arc<Rectifier>>,
    ) -> Result<Self, NodeError> {
        let (stamp, spec) = (negative.sample.instant, pipeline.spec().clone());
        let work = move || negative.develop(&pipeline, rectifier.as_deref());
        let work = Builder::new().name("developing".into()).spawn(work).map_err(|error| fault(&spec, &error))?;
        Ok(Self { stamp, work })
    }

    /// The image's instant.
    pub(crate) fn stamp(&self) -> SimTime {
        self.stamp
    }

    /// Waits for the image.
    ///
    /// # Errors
    /// When it cannot be developed.
    pub(crate) fn finish(self, spec: &CameraSpec) -> Result<Developed, NodeError> {
        self.work.join().unwrap_or_else(|_| Err(fault(spec, &"developing broke off")))
    }
}

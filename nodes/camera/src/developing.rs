//! An image in a thread of its own, from negative to message.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use selene_base::SimTime;
use selene_coherence::NodeError;
use selene_sensors::{CameraSpec, Pipeline, Rectifier};

use crate::darkroom::{Exposure, fault};
use crate::negative::Negative;

/// An image that is developed.
pub(crate) struct Developing {
    stamp: SimTime,
    work: JoinHandle<Result<(Negative, Exposure, f64), NodeError>>,
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
        let work = move || {
            let (exposure, exposure_s) = negative.develop(&pipeline, rectifier.as_deref())?;
            Ok((negative, exposure, exposure_s))
        };
        let work = Builder::new().name("developing".into()).spawn(work).map_err(|error| fault(&spec, &error))?;
        Ok(Self { stamp, work })
    }

    /// The image's instant.
    pub(crate) fn stamp(&self) -> SimTime {
        self.stamp
    }

    /// Waits for the image; for how long it was exposed, s.
    ///
    /// # Errors
    /// When it cannot be developed.
    pub(crate) fn finish(self, spec: &CameraSpec) -> Result<(Negative, Exposure, f64), NodeError> {
        self.work.join().unwrap_or_else(|_| Err(fault(spec, &"developing broke off")))
    }
}

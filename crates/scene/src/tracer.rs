//! The port between sensors and what traces for them: a camera image or a list of
//! beams of one scene. `CpuTracer` and the GPU engine are its two adapters and run
//! the same kernels.

use crate::scene::Scene;
use crate::view::{Beam, BeamReturn, CameraFrame, CameraView, TruthFrame};

/// Why nothing could be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The view has no pixels or numbers that are no camera.
    #[error("camera view: {0}")]
    View(String),
    /// The scene does not fit the device.
    #[error("{device}: {what}")]
    TooLarge {
        /// Which device.
        device: String,
        /// What is too large and the device's limit.
        what: String,
    },
    /// The device is there but cannot be used.
    #[error("{device}: {what}")]
    Open {
        /// Which device.
        device: String,
        /// What the driver said.
        what: String,
    },
    /// The device stopped answering.
    #[error("{device}: {what}")]
    Lost {
        /// Which device.
        device: String,
        /// What the driver said.
        what: String,
    },
    /// The device had no room for what the scene or the image takes.
    #[error("{device}: out of memory: {what}")]
    OutOfMemory {
        /// Which device.
        device: String,
        /// What the driver said.
        what: String,
    },
    /// The device would not do what it was asked: a fault of the driver or of ours.
    #[error("{device}: refused: {what}")]
    Refused {
        /// Which device.
        device: String,
        /// What was wrong.
        what: String,
    },
}

impl TraceError {
    /// Whether it is the device that failed, so that another one can do the same.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        match self {
            Self::View(_) => false,
            Self::TooLarge { .. }
            | Self::Open { .. }
            | Self::Lost { .. }
            | Self::OutOfMemory { .. }
            | Self::Refused { .. } => true,
        }
    }
}

/// Something that traces scenes.
pub trait Tracer: Send {
    /// What it runs on, for people to read.
    fn device(&self) -> String;

    /// Bytes that this process has allocated on it; none where nobody knows, as of the CPU.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }

    /// Traces a camera image; `frame` is resized to the view. What it holds after an error is
    /// no image.
    ///
    /// # Errors
    /// When the view is no camera, the scene does not fit or the device is lost.
    fn camera(&mut self, scene: &Scene, view: &CameraView, frame: &mut CameraFrame) -> Result<(), TraceError>;

    /// Traces what is true of what a camera image shows, by the rays through the pixels'
    /// centres; the scene must be as it was for the image.
    ///
    /// # Errors
    /// As `camera`.
    fn truth(&mut self, scene: &Scene, view: &CameraView, frame: &mut TruthFrame) -> Result<(), TraceError>;

    /// Traces lidar beams; `out` is replaced by one return for each beam, in order.
    ///
    /// # Errors
    /// When the scene does not fit or the device is lost.
    fn beams(&mut self, scene: &Scene, beams: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError>;
}

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
    #[error("{device}: {what}; use --device cpu")]
    TooLarge {
        /// Which device.
        device: String,
        /// What is too large and the device's limit.
        what: String,
    },
    /// The device is there but cannot be used.
    #[error("{device}: {what}; use --device cpu")]
    Open {
        /// Which device.
        device: String,
        /// What the driver said.
        what: String,
    },
    /// The device stopped answering.
    #[error("{device}: {what}; use --device cpu or restart")]
    Lost {
        /// Which device.
        device: String,
        /// What the driver said.
        what: String,
    },
}

/// Something that traces scenes.
pub trait Tracer: Send {
    /// What it runs on, for people to read.
    fn device(&self) -> String;

    /// Traces a camera image; `frame` is resized to the view.
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

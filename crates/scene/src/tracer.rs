//! The port between sensors and the engines that trace for them: a camera image or a list of beams of one scene.
//! `CpuTracer` and the GPU engine are its two adapters and run the same kernels.

use crate::echo::{Echoes, Receiver, WideBeam};
use crate::scene::Scene;
use crate::view::{Beam, BeamReturn, CameraFrame, CameraView, TruthFrame};

/// Why tracing failed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The view has no pixels, or its numbers do not describe a camera.
    #[error("camera view: {0}")]
    View(String),
    /// A lidar's receiver is not valid: its number of rays, or what it ignores.
    #[error("lidar: {0}")]
    Receiver(String),
    /// The scene does not fit the device.
    #[error("{device}: {what}")]
    TooLarge {
        /// Name of the device.
        device: String,
        /// What is too large and the device's limit.
        what: String,
    },
    /// The device exists but cannot be used.
    #[error("{device}: {what}")]
    Open {
        /// Name of the device.
        device: String,
        /// Message of the driver.
        what: String,
    },
    /// The device stopped responding.
    #[error("{device}: {what}")]
    Lost {
        /// Name of the device.
        device: String,
        /// Message of the driver.
        what: String,
    },
    /// The device has too little memory for the scene or the image.
    #[error("{device}: out of memory: {what}")]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Message of the driver.
        what: String,
    },
    /// The device rejected a request: a fault of the driver or of this program.
    #[error("{device}: refused: {what}")]
    Refused {
        /// Name of the device.
        device: String,
        /// What the device rejected.
        what: String,
    },
}

impl TraceError {
    /// Whether the device failed, so that another device can do the same work.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        match self {
            Self::View(_) | Self::Receiver(_) => false,
            Self::TooLarge { .. }
            | Self::Open { .. }
            | Self::Lost { .. }
            | Self::OutOfMemory { .. }
            | Self::Refused { .. } => true,
        }
    }
}

/// An engine that traces scenes.
pub trait Tracer: Send {
    /// Name of the device it runs on, for display.
    fn device(&self) -> String;

    /// Bytes that this process has allocated on the device; none where unknown, as on the CPU.
    fn memory_bytes(&self) -> Option<u64> {
        None
    }

    /// Traces a camera image; `frame` is resized to the view. After an error its content is undefined.
    ///
    /// # Errors
    /// When the view does not describe a camera, the scene does not fit or the device is lost.
    fn camera(&mut self, scene: &Scene, view: &CameraView, frame: &mut CameraFrame) -> Result<(), TraceError>;

    /// Traces the ground truth of a camera image with the rays through the pixels' centres; the scene must be unchanged
    /// since the image.
    ///
    /// # Errors
    /// As `camera`.
    fn truth(&mut self, scene: &Scene, view: &CameraView, frame: &mut TruthFrame) -> Result<(), TraceError>;

    /// Traces rays of ranging sensors; `out` is replaced by one return for each, in order.
    ///
    /// # Errors
    /// When the scene does not fit or the device is lost.
    fn beams(&mut self, scene: &Scene, beams: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError>;

    /// Traces a lidar's beams, each as the rays that its receiver has; `out` is replaced by what the receiver reports of
    /// each beam, in order, with the echoes of dust.
    ///
    /// # Errors
    /// When the receiver is not valid, the scene does not fit or the device is lost.
    fn echoes(
        &mut self,
        scene: &Scene,
        beams: &[WideBeam],
        receiver: &Receiver,
        out: &mut Vec<Echoes>,
    ) -> Result<(), TraceError>;
}

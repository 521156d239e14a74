//! Observers of cameras. Each camera takes its images at its own instants. An image is traced as soon as the world is
//! known up to the end of its exposure, developed in a thread of its own while the next one is traced, and published
//! when it is due.
//!
//! A camera remembers nothing from image to image except the positions of things, for flow: the exposure time is
//! metered in the image itself.

mod develop;
mod rover;
mod trace;

use std::sync::Arc;

use selene_base::SimTime;
use selene_sensors::OwnStages;

use crate::ObserveError;
use crate::device::Devices;
use crate::interval::Interval;
use crate::per_rover::PerRover;
use crate::values::CameraSample;

pub use rover::RoverCameras;

/// The cameras of all rovers.
#[derive(Debug)]
pub struct Cameras {
    devices: Devices,
    own: Arc<OwnStages>,
    /// `None` for a rover without cameras.
    rovers: PerRover<Option<RoverCameras>>,
}

impl Cameras {
    /// Cameras that trace on these devices; `own` are the user's stages that their files may name.
    #[must_use]
    pub fn new(devices: impl Into<Devices>, own: OwnStages) -> Self {
        Self { devices: devices.into(), own: Arc::new(own), rovers: PerRover::on_ground() }
    }

    /// The default device of cameras, as text for people.
    #[must_use]
    pub fn device(&self) -> String {
        self.devices.usual().name()
    }

    /// Processes the world's next interval and returns the images that are due in it, in the order of rovers and of
    /// each rover's cameras.
    ///
    /// # Errors
    /// When a scene cannot be built, or an image cannot be traced or developed.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<CameraSample>, ObserveError> {
        let Interval { model, previous, .. } = interval;
        self.rovers.follow(interval, |id, ruts| {
            let has_some = model.rovers().get(&id).is_some_and(|kind| kind.setup().cameras().next().is_some());
            has_some.then(|| RoverCameras::new(model, id, previous, ruts, &self.devices, &self.own)).transpose()
        })?;
        let mut due = Vec::new();
        for cameras in self.rovers.values_mut().flatten() {
            due.append(&mut cameras.take(interval)?);
        }
        Ok(due)
    }
}

/// Time from the stamp to the end of the longest exposure.
fn longest_after(spec: &selene_sensors::CameraSpec) -> SimTime {
    spec.shutter(spec.exposure_s).closes_after()
}

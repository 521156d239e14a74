//! Cameras: each takes its images at its own instants. An image is traced as soon as the world is known up
//! to the end of its exposure, developed in a thread of its own while the next one is traced, and
//! handed over when it is due.
//!
//! A camera remembers nothing from image to image but where things were, for flow: how long an image is
//! exposed is metered in that image itself.

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
    /// None for a rover without cameras.
    rovers: PerRover<Option<RoverCameras>>,
}

impl Cameras {
    /// Cameras that trace on their devices; `own` are the stages that their files may name.
    #[must_use]
    pub fn new(devices: impl Into<Devices>, own: OwnStages) -> Self {
        Self { devices: devices.into(), own: Arc::new(own), rovers: PerRover::on_ground() }
    }

    /// What cameras trace on that name no device, for people to read.
    #[must_use]
    pub fn device(&self) -> String {
        self.devices.usual().name()
    }

    /// Takes in the world's next interval; the images that are due in it, in the order of rovers and of
    /// each one's cameras.
    ///
    /// # Errors
    /// When a scene cannot be built, or an image not be traced or developed.
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

/// From the stamp to the end of the longest exposure.
fn longest_after(spec: &selene_sensors::CameraSpec) -> SimTime {
    spec.shutter(spec.exposure_s).closes_after()
}

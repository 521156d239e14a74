//! What followers with a camera see: the newest image, one heartbeat old.

use std::sync::Arc;

use image::RgbImage;
use selene_base::SimTime;
use selene_observe::{Device, Feed, Interval, RoverCameras};
use selene_sensors::{OwnStages, Sample};
use selene_sim::{EntityId, World};

use super::policy::IMAGE_PX;
use crate::Failure;

/// How old an image is that is looked at: its exposure is over then.
const AGE: SimTime = SimTime::from_nanos(10_000_000);
/// What the camera is called.
const CAMERA: &str = "convoy_camera";

/// The cameras of some followers; none where they have none.
#[derive(Debug, Default)]
pub(super) struct Eyes {
    cameras: Vec<RoverCameras>,
    /// Numbers of the images taken.
    taken: Vec<u64>,
}

impl Eyes {
    /// Opens a camera of each of these trucks, traced on the processor.
    pub(super) fn open(world: &World, feed: &Feed, trucks: &[EntityId]) -> Result<Self, Failure> {
        let (ruts, devices) = (&world.state().ruts, Device::cpu().into());
        let open = |id: &EntityId| {
            let model = Arc::clone(world.model());
            RoverCameras::new(&model, *id, feed.last(), ruts, &devices, &OwnStages::new())
        };
        let cameras = trucks.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let taken = vec![0; cameras.len()];
        Ok(Self { cameras, taken })
    }

    pub(super) fn follow(&mut self, interval: &Interval) -> Result<(), Failure> {
        self.cameras.iter_mut().try_for_each(|cameras| Ok(cameras.see(interval)?))
    }

    /// The image of a follower by its place in the row.
    pub(super) fn see(&mut self, follower: usize, now: SimTime) -> Result<RgbImage, Failure> {
        let index = self.taken[follower];
        self.taken[follower] += 1;
        let sample = Sample { index, instant: now - AGE };
        let image = self.cameras[follower].expose(CAMERA, sample)?.image;
        let told = format!(
            "{CAMERA}: gives {} × {} of {}, must be {IMAGE_PX:?} of rgb8",
            image.width, image.height, image.encoding
        );
        let fits = [image.width, image.height] == IMAGE_PX && image.encoding == "rgb8";
        fits.then(|| RgbImage::from_raw(image.width, image.height, image.data)).flatten().ok_or_else(|| told.into())
    }
}

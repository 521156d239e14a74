//! Camera images of the followers: the newest one, one heartbeat old.

use std::sync::Arc;

use image::RgbImage;
use selene_base::SimTime;
use selene_observe::{Device, Feed, Interval, RoverCameras};
use selene_sensors::{OwnStages, Sample};
use selene_sim::{EntityId, World};

use super::policy::IMAGE_PX;
use crate::Failure;

/// Age of an image when it is used: its exposure is complete then.
const AGE: SimTime = SimTime::from_nanos(10_000_000);
/// Name of the camera.
const CAMERA: &str = "convoy_camera";

/// The cameras of the followers; empty if they have none.
#[derive(Debug, Default)]
pub(super) struct FollowerCameras {
    cameras: Vec<RoverCameras>,
    /// Number of images taken by each camera.
    taken: Vec<u64>,
}

impl FollowerCameras {
    /// Opens the camera of each of these trucks, traced on the CPU.
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

    /// Takes the image of a follower, by its index.
    pub(super) fn see(&mut self, follower: usize, now: SimTime) -> Result<RgbImage, Failure> {
        let index = self.taken[follower];
        self.taken[follower] += 1;
        let sample = Sample { index, instant: now - AGE };
        let image = self.cameras[follower].expose(CAMERA, sample)?.image;
        let reported = format!(
            "{CAMERA}: gives {} × {} of {}, must be {IMAGE_PX:?} of rgb8",
            image.width, image.height, image.encoding
        );
        let fits = [image.width, image.height] == IMAGE_PX && image.encoding == "rgb8";
        fits.then(|| RgbImage::from_raw(image.width, image.height, image.data)).flatten().ok_or_else(|| reported.into())
    }
}

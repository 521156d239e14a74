//! True optical flow: for each pixel, where the surface point that it shows was in the previous image of the same
//! camera. It is computed from depth, the camera's motion and the bodies' own motion. Flow points back in time: a pixel
//! plus its flow is its place in the previous image. It is NaN where nothing is seen or the point was outside the
//! previous view; whether something hid the point then is not checked.

use std::collections::BTreeMap;

use nalgebra::Point3;
use rayon::prelude::*;
use selene_base::Pose;
use selene_base::frames::interpolate;

use crate::scene::Scene;
use crate::view::{CameraFrame, CameraView};

/// Iterations to find the row, and so the instant, at which the previous image showed a point.
const ROW_ROUNDS: u32 = 4;

/// The camera and body poses of an image, which flow to or from it needs.
#[derive(Clone, Debug)]
pub struct FlowReference {
    view: CameraView,
    /// Pose of each movable at the start and at the end of the image's exposure, map frame, by instance number.
    movables: BTreeMap<u32, [Pose; 2]>,
}

impl FlowReference {
    /// Records the camera and the movables' poses for an image of a scene.
    #[must_use]
    pub fn new(scene: &Scene, view: &CameraView) -> Self {
        Self { view: *view, movables: scene.numbered_movables().collect() }
    }

    /// Pose of a movable in the middle of a row's exposure.
    fn movable_at(&self, number: u32, row: f64) -> Option<Pose> {
        let [start, end] = self.movables.get(&number)?;
        let share = self.view.sweep.map_or(0.0, |sweep| sweep.row_middle(row));
        Some(interpolate(start, end, share))
    }

    /// Pixel coordinates at which this image showed a world point; `world_then` gives the point at the instant of a
    /// row.
    fn place_of(&self, first_row: f64, world_then: impl Fn(f64) -> Option<Point3<f64>>) -> Option<[f64; 2]> {
        let mut place = [0.0, first_row];
        for _ in 0..if self.view.sweep.is_some() { ROW_ROUNDS } else { 1 } {
            let optical = self.view.world_from_optical_at(place[1]).inverse() * world_then(place[1])?;
            place = self.view.project(optical.coords)?;
        }
        Some(place)
    }
}

/// Flow of each pixel of `frame`: (columns, rows) in pixels from its place in the image of `now` to its place in the
/// image of `before`.
#[must_use]
pub fn flow(frame: &CameraFrame, now: &FlowReference, before: &FlowReference) -> Vec<[f32; 2]> {
    let columns = frame.width.max(1) as usize;
    let pixel = |(i, depth_m): (usize, &f32)| {
        let at = [i % columns, i / columns].map(|c| c as f64);
        let back = way_back(at, f64::from(*depth_m), frame.instance[i], now, before);
        back.map_or([f32::NAN; 2], |way| way.map(|px| px as f32))
    };
    frame.depth_m.par_iter().enumerate().with_min_len(columns).map(pixel).collect()
}

fn way_back(
    [column, row]: [f64; 2],
    depth_m: f64,
    instance: u32,
    now: &FlowReference,
    before: &FlowReference,
) -> Option<[f64; 2]> {
    if !depth_m.is_finite() {
        return None;
    }
    let optical = Point3::from(now.view.unproject([column, row])? * depth_m);
    let world = now.view.world_from_optical_at(row) * optical;
    let [u, v] = match now.movable_at(instance, row) {
        Some(world_from_object) => {
            let in_object = world_from_object.inverse() * world;
            before.place_of(row, |row| Some(before.movable_at(instance, row)? * in_object))?
        }
        None => before.place_of(row, |_| Some(world))?,
    };
    Some([u - column, v - row])
}

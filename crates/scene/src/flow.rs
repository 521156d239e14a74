//! Optical flow as truth: for each pixel where the very point that it shows was in the
//! previous image of the same camera, from depth, the camera's motion and the bodies' own.
//! It goes against time: a pixel plus its flow is the place then. Not a number where nothing
//! is seen or where the camera could not see the point then; what hid it then is not asked.

use std::collections::BTreeMap;

use nalgebra::Point3;
use rayon::prelude::*;
use selene_base::Pose;
use selene_base::frames::interpolate;

use crate::scene::Scene;
use crate::view::{CameraFrame, CameraView};

/// Rounds to find the row, and so the instant, at which a point was seen then.
const ROW_ROUNDS: u32 = 4;

/// What of an image the flow to or from it depends on.
#[derive(Clone, Debug)]
pub struct Sighting {
    view: CameraView,
    /// Where each movable is when the image begins and when it ends, map frame, by its number in images.
    movables: BTreeMap<u32, [Pose; 2]>,
}

impl Sighting {
    /// Of an image of a scene.
    #[must_use]
    pub fn new(scene: &Scene, view: &CameraView) -> Self {
        Self { view: *view, movables: scene.numbered_movables().collect() }
    }

    /// Where a movable was in the middle of a row's exposure.
    fn movable_at(&self, number: u32, row: f64) -> Option<Pose> {
        let [start, end] = self.movables.get(&number)?;
        let share = self.view.sweep.map_or(0.0, |sweep| sweep.row_middle(row));
        Some(interpolate(start, end, share))
    }

    /// Where a point of the world then was in this image; `world_then` tells it for a row.
    fn place_of(&self, first_row: f64, world_then: impl Fn(f64) -> Option<Point3<f64>>) -> Option<[f64; 2]> {
        let mut place = [0.0, first_row];
        for _ in 0..if self.view.sweep.is_some() { ROW_ROUNDS } else { 1 } {
            let optical = self.view.world_from_optical_at(place[1]).inverse() * world_then(place[1])?;
            place = self.view.project(optical.coords)?;
        }
        Some(place)
    }
}

/// For each pixel of `frame`, the image that `now` tells of, the way to its place in the image
/// that `before` tells of, (columns, rows) in pixels.
#[must_use]
pub fn flow(frame: &CameraFrame, now: &Sighting, before: &Sighting) -> Vec<[f32; 2]> {
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
    now: &Sighting,
    before: &Sighting,
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

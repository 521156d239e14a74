//! Neighbouring pixels on the CPU: their rays go nearly one way, and so do those from what they
//! see to the Sun, so which instances either may meet is found once for a tile of the image. The
//! kernels are then given these alone; no ray misses one, so the picture is, bit for bit, that of
//! `camera_pixel`. On a GPU every pixel is by itself.

use std::ops::Range;

use nalgebra::Vector3;

use crate::kernel::bvh::{Bundle, leaves_met, trace_instances};
use crate::kernel::heights::trace_heights;
use crate::kernel::surface::SENSOR_MIP;
use crate::kernel::trace::{Sight, at_share, camera_ray, pixel_of, row_middle};
use crate::kernel::{FAR, GROUND, Hit, Ray};
use crate::record::{CameraRecord, NodeRecord, PixelRecord, Records};

/// Pixels on a side of a tile.
pub(crate) const TILE: usize = 8;

/// Beyond so many instances a ray is better off with the tree of all.
const MOST_LEAVES: usize = 12;

/// What directions are taken wider by, of their length: above the rounding of boxes that are met.
const ROUNDING: f32 = 1e-5;

/// The ray through a pixel's centre and what it has met.
#[derive(Clone, Copy, Debug)]
struct Look {
    place: [u32; 2],
    ray: Ray,
    hit: Hit,
}

/// What is needed while a tile is traced, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct TileTracer {
    looks: Vec<Look>,
    sights: Vec<Option<Sight>>,
    leaves: Vec<NodeRecord>,
}

impl TileTracer {
    /// Traces the pixels in `columns` and `rows`; `put` is given each with its column and row.
    pub(crate) fn trace(
        &mut self,
        records: &Records<'_>,
        camera: &CameraRecord,
        [columns, rows]: [Range<u32>; 2],
        mut put: impl FnMut([u32; 2], &PixelRecord),
    ) {
        self.look(records, camera, [columns, rows]);
        self.meet_instances(records, camera);
        let whole = camera.samples > 1 || !self.find_before_sun(records);
        for (look, sight) in self.looks.iter().zip(&self.sights) {
            let records = &at_share(records, camera, row_middle(camera, look.place[1]));
            let before_sun = if whole { *records } else { Records { instance_nodes: &self.leaves, ..*records } };
            let pixel = if look.ray.direction == Vector3::zeros() {
                PixelRecord::NOTHING
            } else {
                pixel_of(records, &before_sun, camera, look.place, sight.as_ref())
            };
            put(look.place, &pixel);
        }
    }

    /// Rays through the pixels' centres against the ground.
    fn look(&mut self, records: &Records<'_>, camera: &CameraRecord, [columns, rows]: [Range<u32>; 2]) {
        self.looks.clear();
        for row in rows {
            let middle = row_middle(camera, row);
            for column in columns.clone() {
                let ray = camera_ray(camera, middle, column as f32, row as f32);
                let (t, part) = if ray.direction == Vector3::zeros() {
                    (0.0, 0)
                } else {
                    trace_heights(records, &ray, FAR, SENSOR_MIP)
                };
                self.looks.push(Look { place: [column, row], ray, hit: Hit { t, instance: GROUND, part } });
            }
        }
    }

    /// And against the instances.
    fn meet_instances(&mut self, records: &Records<'_>, camera: &CameraRecord) {
        let farthest = self.looks.iter().fold(0.0_f32, |t, look| t.max(look.hit.t));
        let rays = self.looks.iter().map(|look| look.ray).filter(|ray| ray.direction != Vector3::zeros());
        let from = span(rays.clone().map(|ray| ray.origin), 0.0);
        let toward = span(rays.map(|ray| ray.direction), ROUNDING);
        let few = leaves_met(records, &Bundle::new(from, toward, farthest), MOST_LEAVES, &mut self.leaves);
        let near = if few { Records { instance_nodes: &self.leaves, ..*records } } else { *records };
        self.sights.clear();
        for look in &mut self.looks {
            let near = &at_share(&near, camera, row_middle(camera, look.place[1]));
            look.hit = trace_instances(near, &look.ray, look.hit);
            self.sights.push(Sight::of(near, camera, &look.ray, &look.hit));
        }
    }

    /// Finds what may stand between what is seen and the Sun; false where it is too much.
    fn find_before_sun(&mut self, records: &Records<'_>) -> bool {
        let sun = Vector3::from(records.globals.sun_direction);
        let from = span(self.sights.iter().flatten().map(|sight| sight.surface.ray(sun).origin), 0.0);
        let toward = span([sun], records.globals.sun_radius + ROUNDING);
        leaves_met(records, &Bundle::new(from, toward, FAR), MOST_LEAVES, &mut self.leaves)
    }
}

/// The least and the greatest along each axis, wider by `margin` to both sides.
fn span(vectors: impl IntoIterator<Item = Vector3<f32>>, margin: f32) -> [Vector3<f32>; 2] {
    let none = [Vector3::repeat(f32::INFINITY), Vector3::repeat(f32::NEG_INFINITY)];
    let [low, high] = vectors.into_iter().fold(none, |[low, high], v| [low.inf(&v), high.sup(&v)]);
    [low.add_scalar(-margin), high.add_scalar(margin)]
}

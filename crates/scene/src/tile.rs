//! Neighbouring pixels on the CPU: their rays go nearly one way, and so do those from what they
//! see to the Sun. So it is found once for a tile of the image which instances either may meet,
//! where the first begin to come near the ground and from where on the others are above it. The
//! kernels are then given no more than that; no ray misses anything, so the picture is, bit for
//! bit, that of `camera_pixel`. On a GPU every pixel is by itself.

use std::ops::Range;

use nalgebra::Vector3;

use crate::clear::{approach, clear_after};
use crate::kernel::bvh::{Bundle, leaves_met, trace_instances};
use crate::kernel::heights::trace_heights_within;
use crate::kernel::surface::SENSOR_MIP;
use crate::kernel::trace::{Sight, at_share, camera_ray, pixel_of, row_middle};
use crate::kernel::{FAR, GROUND, Hit, Ray, most};
use crate::record::{CameraRecord, NodeRecord, PixelRecord, Records};

/// Pixels on a side of a tile.
pub(crate) const TILE: usize = 8;

/// With more instances than this a ray is better off with the tree of all.
const MOST_LEAVES: usize = 12;

/// Cells that a ray is followed through before where it may meet the ground: a cell is left
/// within one, and a half for rounding.
const CELLS_BEFORE: f32 = 1.5;

/// What directions are taken wider by, of their length: above the rounding of boxes that are met.
const ROUNDING: f32 = 1e-5;

/// The ray through a pixel's centre and what it has met.
#[derive(Clone, Copy, Debug)]
struct Look {
    place: [u32; 2],
    ray: Ray,
    hit: Hit,
    sight: Option<Sight>,
}

/// What is needed while a tile is traced, kept from one to the next.
#[derive(Debug, Default)]
pub(crate) struct TileTracer {
    /// Row by row.
    looks: Vec<Look>,
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
        self.look(camera, [columns, rows]);
        let bundle = self.bundle();
        self.meet_ground(records, &bundle);
        self.meet_instances(records, camera, &bundle);
        let before_sun = if camera.samples > 1 { *records } else { before_sun(records, &self.looks, &mut self.leaves) };
        for looks in self.looks.chunk_by(same_row) {
            let share = row_middle(camera, looks[0].place[1]);
            let [records, before_sun] = [records, &before_sun].map(|records| at_share(records, camera, share));
            for look in looks {
                let pixel = if look.sees() {
                    pixel_of(&records, &before_sun, camera, look.place, look.sight.as_ref())
                } else {
                    PixelRecord::NOTHING
                };
                put(look.place, &pixel);
            }
        }
    }

    /// The rays through the pixels' centres.
    fn look(&mut self, camera: &CameraRecord, [columns, rows]: [Range<u32>; 2]) {
        self.looks.clear();
        for row in rows {
            let middle = row_middle(camera, row);
            self.looks.extend(columns.clone().map(|column| {
                let ray = camera_ray(camera, middle, column as f32, row as f32);
                let hit = Hit { t: FAR, instance: GROUND, part: 0 };
                Look { place: [column, row], ray, hit, sight: None }
            }));
        }
    }

    /// All their rays.
    fn bundle(&self) -> Bundle {
        let rays = self.looks.iter().filter(|look| look.sees()).map(|look| look.ray);
        let from = span(rays.clone().map(|ray| ray.origin), 0.0);
        Bundle::new(from, span(rays.map(|ray| ray.direction), ROUNDING))
    }

    fn meet_ground(&mut self, records: &Records<'_>, bundle: &Bundle) {
        let near = approach(records, bundle);
        if near.t >= FAR {
            return;
        }
        for look in self.looks.iter_mut().filter(|look| look.sees()) {
            // From the cell before, so that where a cell is entered is what it is without this.
            let d = look.ray.direction;
            let from = near.t - CELLS_BEFORE * near.spacing / most(d.x.abs(), d.y.abs());
            let start = if from > 0.0 { [from, FAR] } else { [0.0, FAR] };
            let mip = if from > 0.0 { near.mip } else { SENSOR_MIP };
            (look.hit.t, look.hit.part) = trace_heights_within(records, &look.ray, start, mip);
        }
    }

    fn meet_instances(&mut self, records: &Records<'_>, camera: &CameraRecord, bundle: &Bundle) {
        let farthest = self.looks.iter().map(|look| look.hit.t).fold(0.0, most);
        let few = leaves_met(records, bundle, farthest, MOST_LEAVES, &mut self.leaves);
        let near = if few { Records { instance_nodes: &self.leaves, ..*records } } else { *records };
        for looks in self.looks.chunk_by_mut(same_row) {
            let near = at_share(&near, camera, row_middle(camera, looks[0].place[1]));
            for look in looks.iter_mut().filter(|look| look.sees()) {
                look.hit = trace_instances(&near, &look.ray, look.hit);
                look.sight = Sight::of(&near, camera, &look.ray, &look.hit);
            }
        }
    }
}

impl Look {
    /// Whether the lens sees anything there.
    fn sees(&self) -> bool {
        self.ray.direction != Vector3::zeros()
    }
}

fn same_row(a: &Look, b: &Look) -> bool {
    a.place[1] == b.place[1]
}

/// The records with what may stand between what is seen and the Sun, where that is not too much.
fn before_sun<'a>(records: &Records<'a>, looks: &[Look], leaves: &'a mut Vec<NodeRecord>) -> Records<'a> {
    if looks.iter().all(|look| look.sight.is_none()) {
        return *records;
    }
    let sun = Vector3::from(records.globals.sun_direction);
    let from = span(looks.iter().flat_map(|look| look.sight).map(|sight| sight.surface.ray(sun).origin), 0.0);
    let bundle = Bundle::new(from, span([sun], records.globals.sun_radius + ROUNDING));
    let ground_reach = clear_after(records, &bundle);
    let few = leaves_met(records, &bundle, FAR, MOST_LEAVES, leaves);
    Records { instance_nodes: if few { leaves } else { records.instance_nodes }, ground_reach, ..*records }
}

/// The least and the greatest along each axis, wider by `margin` to both sides.
fn span(vectors: impl IntoIterator<Item = Vector3<f32>>, margin: f32) -> [Vector3<f32>; 2] {
    let none = [Vector3::repeat(f32::INFINITY), Vector3::repeat(f32::NEG_INFINITY)];
    let [low, high] = vectors.into_iter().fold(none, |[low, high], v| [low.inf(&v), high.sup(&v)]);
    [low.add_scalar(-margin), high.add_scalar(margin)]
}

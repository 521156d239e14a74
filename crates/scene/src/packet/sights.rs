//! What the camera rays of a packet have met: one surface per lane with its detail, as `trace::CameraHit`. Each number
//! is stored for all lanes together, so that lighting loads it as it is.

use fearless_simd::prelude::*;

use super::detail::{Grounds, detailed};
use super::ground::ground_normals;
use super::instances::Hits;
use super::lanes::{LANES, Mask, Rays, Stored, all, bits_of, floats, lanes_of, loaded, stored, vector_of};
use crate::kernel::surface::{GROUND_CODE, Surface, ground_clearance, surface_at};
use crate::kernel::trace::CameraHit;
use crate::kernel::{FAR, GROUND, Hit, Ray};
use crate::real::{along, unit};
use crate::record::{CameraRecord, LevelRecord, Records};

/// The surface that each ray of a packet has met.
#[derive(Clone, Debug)]
pub(crate) struct Sights {
    /// Bits of the lanes that have a surface, lane 0 in the lowest. The other fields are meaningless in other lanes.
    pub(crate) there: u32,
    /// Ray parameter, in units of the direction's length.
    pub(crate) t: [f32; LANES],
    /// Unit vectors back along the rays.
    pub(crate) viewer: Stored,
    point: Stored,
    pub(crate) normal: Stored,
    /// Normals without detail finer than the grid.
    even: Stored,
    clearance: [f32; LANES],
    /// Start points of the rays that leave the surfaces.
    pub(crate) origin: Stored,
    /// Indices of the materials.
    pub(crate) material: [u32; LANES],
    pub(crate) code: [u32; LANES],
    /// Albedo relative to the material's.
    pub(crate) shade: [f32; LANES],
    /// Fraction of sunlight that passes relief too fine for rays, 0…1.
    pub(crate) open: [f32; LANES],
}

impl Sights {
    /// No lane has a surface.
    pub(crate) const NONE: Self = Self {
        there: 0,
        t: [FAR; LANES],
        viewer: [[0.0; LANES]; 3],
        point: [[0.0; LANES]; 3],
        normal: [[0.0; LANES]; 3],
        even: [[0.0; LANES]; 3],
        clearance: [0.0; LANES],
        origin: [[0.0; LANES]; 3],
        material: [0; LANES],
        code: [GROUND_CODE; LANES],
        shade: [1.0; LANES],
        open: [1.0; LANES],
    };

    /// What the ray of one lane has met, if anything.
    pub(crate) fn hit(&self, lane: usize) -> Option<CameraHit> {
        (self.there >> lane & 1 != 0).then(|| CameraHit {
            t: self.t[lane],
            viewer: vector_of(&self.viewer, lane),
            surface: Surface {
                point: vector_of(&self.point, lane),
                normal: vector_of(&self.normal, lane),
                even: vector_of(&self.even, lane),
                clearance: self.clearance[lane],
                material: self.material[lane],
                code: self.code[lane],
                shade: self.shade[lane],
                least_alpha: 0.0,
                open: self.open[lane],
            },
        })
    }

    fn put(&mut self, lane: usize, surface: &Surface) {
        let origin = surface.point + surface.normal * surface.clearance;
        for axis in 0..3 {
            self.point[axis][lane] = surface.point[axis];
            self.normal[axis][lane] = surface.normal[axis];
            self.even[axis][lane] = surface.even[axis];
            self.origin[axis][lane] = origin[axis];
        }
        self.clearance[lane] = surface.clearance;
        (self.material[lane], self.code[lane]) = (surface.material, surface.code);
        (self.shade[lane], self.open[lane]) = (surface.shade, surface.open);
    }
}

/// The surfaces that the rays of the lanes in `seeing` have met.
#[inline(always)]
pub(crate) fn sights<S: Simd>(
    simd: S,
    records: &Records<'_>,
    camera: &CameraRecord,
    (rays, hits): (&Rays<S>, &Hits<S>),
    seeing: Mask<S>,
) -> Sights {
    let there = seeing & hits.t.simd_lt(FAR);
    if there.all_false() {
        return Sights::NONE;
    }
    let mut sights = points(simd, (rays, hits), there);
    let ground = there & hits.instance.simd_eq(GROUND as i32);
    if ground.any_true() {
        put_ground(simd, records, camera, (rays, hits), ground, &mut sights);
    }
    let on_instances = bits_of(there & !ground);
    if on_instances != 0 {
        put_instances(records, (rays, hits), on_instances, &mut sights);
    }
    sights
}

/// Positions of the lanes in `there`, without what is known of their surfaces.
#[inline(always)]
fn points<S: Simd>(simd: S, (rays, hits): (&Rays<S>, &Hits<S>), there: Mask<S>) -> Sights {
    let zero = all(simd, 0.0);
    let [x, y, z] = along(rays.origin, rays.direction, hits.t);
    let point = [there.select(x, zero), there.select(y, zero), there.select(z, zero)];
    let [x, y, z] = unit(rays.direction);
    Sights {
        there: bits_of(there),
        t: hits.t.to_array(),
        viewer: stored(&[-x, -y, -z]),
        point: stored(&point),
        ..Sights::NONE
    }
}

/// Sets the surfaces of the lanes in `ground`, with the ground's detail; those of other lanes become meaningless.
#[inline(always)]
fn put_ground<S: Simd>(
    simd: S,
    records: &Records<'_>,
    camera: &CameraRecord,
    (rays, hits): (&Rays<S>, &Hits<S>),
    ground: Mask<S>,
    sights: &mut Sights,
) {
    let (bits, part) = (bits_of(ground), hits.part.to_array());
    let is_ground = |lane: usize| bits >> lane & 1 != 0;
    let levels: [&LevelRecord; LANES] =
        std::array::from_fn(|lane| &records.levels[if is_ground(lane) { part[lane] as usize } else { 0 }]);
    let point = loaded(simd, &sights.point);
    let spacing = floats(simd, |lane| levels[lane].spacing);
    let grounds = Grounds {
        direction: rays.direction,
        t: hits.t,
        place: [point[0], point[1]],
        spacing,
        on_finest: std::array::from_fn(|lane| is_ground(lane) && part[lane] == 0),
        normal: ground_normals(simd, records, levels, [&point[0], &point[1]]),
    };
    let details = detailed(simd, records, camera, &grounds);
    let clearance = ground_clearance(point, spacing);
    (sights.normal, sights.even) = (stored(&details.normal), stored(&grounds.normal));
    sights.clearance = clearance.to_array();
    sights.origin = stored(&along(point, details.normal, clearance));
    (sights.shade, sights.open) = (details.shade.to_array(), details.open.to_array());
}

/// Sets the surfaces of lanes that have met instances.
fn put_instances<S: Simd>(records: &Records<'_>, (rays, hits): (&Rays<S>, &Hits<S>), lanes: u32, sights: &mut Sights) {
    let [origin, direction] = [stored(&rays.origin), stored(&rays.direction)];
    let (t, instance, part) = (hits.t.to_array(), hits.instance.to_array(), hits.part.to_array());
    for lane in lanes_of(lanes) {
        let ray = Ray { origin: vector_of(&origin, lane), direction: vector_of(&direction, lane) };
        let hit = Hit { t: t[lane], instance: instance[lane] as u32, part: part[lane] as u32 };
        sights.put(lane, &surface_at(records, &ray, &hit));
    }
}

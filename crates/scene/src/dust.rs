//! Dust in the air as light sees it: Gaussian clouds of grains. The optical depth of a ray through one cloud has a
//! closed form: with the cross-section S, the deviation σ and the distance d of the ray from the cloud's centre,
//! τ = S/(2πσ²) e^(−d²/2σ²) ½ [erf((t₁ − t)/√2σ) − erf((t₀ − t)/√2σ)]; a ray transmits e^(−Στ) through all clouds.
//!
//! A camera sees each cloud on a ray as a slab at the cloud's centre, nearest first. The slab scatters sunlight once,
//! with the phase function and single-scattering albedo of the ground's grains but without a surface's opposition
//! surge. The Sun lights either all of a cloud or none, depending on whether its centre sees the Sun, attenuated by the
//! dust in between. Surfaces lose the fraction of all their light that dust between them and the Sun takes from
//! sunlight; other lights and multiple scattering are left out. All samples of a pixel use the dust along the ray
//! through its centre.
//!
//! A lidar ray is attenuated by e^(−2Στ) on its way to a surface and back. Each cloud in front of the surface sends
//! light straight back like a perpendicular surface of reflectance π/2 · w p(0)/4π · (1 − e^(−2τ)), seen through the
//! clouds before it.
//!
//! All of this works on traced images or returns, so it is the same for all devices: a GPU does not handle dust.

use std::f32::consts::{PI, SQRT_2};

use nalgebra::Vector3;
use rayon::prelude::*;

use crate::kernel::bvh::{any_instance, inverse_direction, meets_box};
use crate::kernel::hapke::phase;
use crate::kernel::heights::trace_heights;
use crate::kernel::surface::SURFACE_MIP;
use crate::kernel::trace::{camera_ray, row_middle};
use crate::kernel::{Bands, FAR, HAPKE, Ray, SUN_BAND};
use crate::material::{HapkeParams, Material};
use crate::record::{BeamRecord, CameraRecord, MaterialRecord, NodeRecord, Records};
use crate::scene::Scene;
use crate::tree::{self, Bounds};
use crate::view::{Beam, BeamReturn, CameraFrame, CameraView};

/// Radius at which a cloud ends for passing rays, in standard deviations: its optical depth there is 3e-4 of that
/// through its centre.
const REACH: f32 = 4.0;
/// Clouds in a leaf of their bounding volume hierarchy.
const LEAF_PUFFS: usize = 4;
/// Dust returns fainter than a perpendicular surface of this reflectance are dropped.
const FAINT: f32 = 1e-7;

/// A Gaussian cloud of grains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Puff {
    /// Centre of the cloud, map frame, m.
    pub centre_m: Vector3<f64>,
    /// Standard deviation of the grains' positions along each axis, m; above zero.
    pub deviation_m: f64,
    /// Total extinction cross-section of the grains, m².
    pub cross_section_m2: f64,
}

/// All dust clouds of a scene and the bounding volume hierarchy over them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dust {
    puffs: Vec<Puff>,
    /// The clouds in the order of the tree's leaves, in the scene's frame.
    records: Vec<PuffRecord>,
    nodes: Vec<NodeRecord>,
}

#[derive(Clone, Copy, Debug)]
struct PuffRecord {
    centre: Vector3<f32>,
    deviation: f32,
    /// Optical depth of the whole line through the centre.
    depth: f32,
}

/// A cloud on a ray.
#[derive(Clone, Copy, Debug)]
struct CloudOnRay {
    puff: usize,
    /// Distance along the ray to the point nearest to the cloud's centre, m.
    t: f32,
    depth: f32,
}

impl PuffRecord {
    fn new(puff: &Puff, middle_m: Vector3<f64>) -> Self {
        let area_m2 = std::f64::consts::TAU * puff.deviation_m * puff.deviation_m;
        Self {
            centre: (puff.centre_m - middle_m).cast(),
            deviation: puff.deviation_m as f32,
            depth: (puff.cross_section_m2 / area_m2) as f32,
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds::of_points([self.centre.into()]).widened(REACH * self.deviation)
    }

    /// Distance to the point nearest to the centre and the optical depth, for a ray of unit direction that ends at
    /// `until`.
    fn cross(&self, ray: &Ray, until: f32) -> (f32, f32) {
        let to_centre = self.centre - ray.origin;
        let t = to_centre.dot(&ray.direction);
        let beside2 = (to_centre - ray.direction * t).norm_squared() / (self.deviation * self.deviation);
        let share = |end: f32| erf((end - t) / (SQRT_2 * self.deviation));
        let within = 0.5 * (share(until) - share(0.0));
        (t.clamp(0.0, until), self.depth * (-0.5 * beside2).exp() * within)
    }
}

impl Dust {
    /// Clouds of a scene whose frame has its origin at `middle_m` in the map frame.
    pub(crate) fn new(puffs: Vec<Puff>, middle_m: Vector3<f64>) -> Self {
        let records: Vec<_> = puffs.iter().map(|puff| PuffRecord::new(puff, middle_m)).collect();
        let bounds: Vec<_> = records.iter().map(PuffRecord::bounds).collect();
        let (nodes, order) = tree::build(&bounds, LEAF_PUFFS, 0, 0);
        Self { puffs, records: order.iter().map(|&i| records[i as usize]).collect(), nodes }
    }

    /// The same clouds after the scene's frame has moved.
    pub(crate) fn placed(&self, middle_m: Vector3<f64>) -> Self {
        Self::new(self.puffs.clone(), middle_m)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Calls `meet` with each cloud that a ray of unit direction crosses before `until`.
    fn along(&self, ray: &Ray, until: f32, mut meet: impl FnMut(CloudOnRay)) {
        let inverse = inverse_direction(ray);
        let mut node = 0;
        while let Some(n) = self.nodes.get(node) {
            if !meets_box(n, ray, &inverse, until) {
                node = n.escape as usize;
                continue;
            }
            let first = (n.leaf >> 3) as usize;
            for puff in first..first + (n.leaf & 7) as usize {
                let (t, depth) = self.records[puff].cross(ray, until);
                if depth > 0.0 {
                    meet(CloudOnRay { puff, t, depth });
                }
            }
            node += 1;
        }
    }

    /// Optical depth along a ray of unit direction before `until`, summed over the clouds that `counts` selects.
    fn depth(&self, ray: &Ray, until: f32, counts: impl Fn(usize) -> bool) -> f32 {
        let mut sum = 0.0;
        self.along(ray, until, |crossing| sum += if counts(crossing.puff) { crossing.depth } else { 0.0 });
        sum
    }

    /// Fills `crossings` with the clouds on a ray, nearest first.
    fn cross(&self, ray: &Ray, until: f32, crossings: &mut Vec<CloudOnRay>) {
        crossings.clear();
        self.along(ray, until, |crossing| crossings.push(crossing));
        crossings.sort_unstable_by(|a, b| a.t.total_cmp(&b.t).then(a.puff.cmp(&b.puff)));
    }
}

/// Dust and the sunlight that reaches it.
struct Sunlit<'a> {
    dust: &'a Dust,
    /// Unit vector toward the Sun.
    sun: Vector3<f32>,
    /// For each cloud, whether no ground or instance blocks the Sun at its centre.
    open: Vec<bool>,
    /// For each cloud, the fraction of sunlight that reaches it.
    share: Vec<f32>,
    grain: MaterialRecord,
    /// The Sun's irradiance in each band, times the grains' colour.
    irradiance: Bands,
}

impl<'a> Sunlit<'a> {
    fn new(scene: &'a Scene, records: &Records<'_>) -> Self {
        let dust = scene.dust();
        let sun = Vector3::from(records.globals.sun_direction);
        let to_sun = |puff: &PuffRecord| Ray { origin: puff.centre, direction: sun };
        let is_open = |puff: &PuffRecord| {
            let ray = to_sun(puff);
            trace_heights(records, &ray, FAR, SURFACE_MIP).0 >= FAR && !any_instance(records, &ray, FAR)
        };
        let open: Vec<bool> = dust.records.par_iter().map(is_open).collect();
        let share = |(puff, is_open): (&PuffRecord, &bool)| {
            if *is_open { (-dust.depth(&to_sun(puff), FAR, |other| open[other])).exp() } else { 0.0 }
        };
        let share = dust.records.par_iter().zip(&open).map(share).collect();
        let grain = grain(records);
        let irradiance = Bands::from(grain.tint) * (SUN_BAND * records.globals.sun_irradiance);
        Self { dust, sun, open, share, grain, irradiance }
    }

    /// Fraction that a ray of unit direction transmits of the light from `until`, and the radiance that dust adds in
    /// front of it.
    fn through(&self, ray: &Ray, until: f32, crossings: &mut Vec<CloudOnRay>) -> (f32, Bands) {
        self.dust.cross(ray, until, crossings);
        let (mut kept, mut gained) = (1.0, 0.0);
        for crossing in crossings.iter() {
            let passed = (-crossing.depth).exp();
            gained += kept * (1.0 - passed) * self.share[crossing.puff];
            kept *= passed;
        }
        (kept, self.irradiance * (gained * back(&self.grain, -self.sun.dot(&ray.direction))))
    }

    /// Fraction of sunlight that dust transmits to a point.
    fn shade(&self, origin: Vector3<f32>) -> f32 {
        (-self.dust.depth(&Ray { origin, direction: self.sun }, FAR, |puff| self.open[puff])).exp()
    }
}

impl CameraFrame {
    /// Adds the scene's dust to the traced image; without dust the image stays unchanged.
    pub fn see_dust(&mut self, scene: &Scene, view: &CameraView) {
        if scene.dust().is_empty() {
            return;
        }
        let records = scene.records();
        let camera = CameraRecord::new(view, records.middle_m);
        let sunlit = Sunlit::new(scene, &records);
        let width = (self.width as usize).max(1);
        let light = self.radiance.par_chunks_mut(width).zip(self.scattered.par_chunks_mut(width));
        let rows = light.zip(self.depth_m.par_chunks(width)).enumerate();
        rows.for_each_init(Vec::new, |crossings, (row, ((radiance, scattered), depth_m))| {
            for (column, depth_m) in depth_m.iter().enumerate() {
                let ray = camera_ray(&camera, row_middle(&camera, row as u32), column as f32, row as f32);
                let length = ray.direction.norm();
                if length == 0.0 {
                    continue;
                }
                let toward = Ray { direction: ray.direction / length, ..ray };
                let is_sky = !depth_m.is_finite();
                let until = if is_sky { FAR } else { depth_m * length };
                let (kept, gained) = sunlit.through(&toward, until, crossings);
                let shade = if is_sky { 1.0 } else { sunlit.shade(toward.origin + toward.direction * until) };
                scattered[column] = scattered[column].map(|light| light * kept * shade);
                radiance[column] = std::array::from_fn(|i| radiance[column][i] * kept * shade + gained[i]);
            }
        });
    }
}

impl Scene {
    /// Optical depth of the scene's dust from `origin_m`, map frame, along a unit direction up to `range_m`.
    #[must_use]
    pub fn optical_depth(&self, origin_m: [f64; 3], direction: [f32; 3], range_m: f32) -> f32 {
        let ray = beam_ray(&Beam::new(origin_m, direction), self.records().middle_m);
        self.dust().depth(&ray, range_m.min(FAR), |_| true)
    }

    /// Attenuates what rays of ranging sensors met by the dust on the way there and back.
    pub fn see_dust(&self, beams: &[Beam], met: &mut [BeamReturn]) {
        let Some(dust) = self.ranging_dust() else { return };
        let middle_m = self.records().middle_m;
        beams.par_iter().zip(met).for_each(|(beam, met)| {
            let kept = dust.cross(&beam_ray(beam, middle_m), met.range_m.min(FAR), |_, _| ());
            met.reflectance *= kept;
            met.near_infrared = met.near_infrared.map(|reflectance| reflectance * kept);
        });
    }

    /// The scene's dust as ranging sensors see it; none where there is none.
    pub(crate) fn ranging_dust(&self) -> Option<RangingDust<'_>> {
        if self.dust().is_empty() {
            return None;
        }
        let records = self.records();
        let ground = &records.materials[0];
        let over_visible = |infrared: f32| if ground.albedo > 0.0 { infrared / ground.albedo } else { 1.0 };
        Some(RangingDust {
            dust: self.dust(),
            // A perpendicular surface of reflectance ρ sends back ρ/π, dust w p(0)/4π · (1 − e^(−2τ))/2.
            reflectance: 0.5 * PI * back(&grain(&records), 1.0),
            near_infrared_over_visible: ground.near_infrared.map(over_visible),
        })
    }
}

/// Dust as ranging sensors see it.
pub(crate) struct RangingDust<'a> {
    dust: &'a Dust,
    /// Reflectance in visible light of a perpendicular surface that sends back as much as dense dust.
    reflectance: f32,
    /// The ground's reflectance at each of `NEAR_INFRARED_NM`, relative to visible light.
    pub(crate) near_infrared_over_visible: [f32; 2],
}

impl RangingDust<'_> {
    /// Follows a ray of unit direction up to `until`. Calls `sent` with the range and the reflectance in visible light of
    /// a perpendicular surface that sends back as much as each cloud, nearest first; returns the part of the light that
    /// passes there and back.
    pub(crate) fn cross(&self, ray: &Ray, until: f32, mut sent: impl FnMut(f32, f32)) -> f32 {
        let mut crossings = Vec::new();
        self.dust.cross(ray, until, &mut crossings);
        let mut kept = 1.0;
        for crossing in crossings {
            let passed = (-2.0 * crossing.depth).exp();
            let reflectance = self.reflectance * kept * (1.0 - passed);
            kept *= passed;
            if reflectance > FAINT && crossing.t > 0.0 {
                sent(crossing.t, reflectance);
            }
        }
        kept
    }
}

/// A beam as a ray of unit direction in the scene's frame.
fn beam_ray(beam: &Beam, middle_m: Vector3<f64>) -> Ray {
    let record = BeamRecord::new(beam, middle_m);
    Ray { origin: record.origin.into(), direction: record.direction.into() }
}

/// The ground's grains; mean regolith where the ground's material is not Hapke's.
fn grain(records: &Records<'_>) -> MaterialRecord {
    let ground = records.materials[0];
    if ground.kind == HAPKE { ground } else { Material::Hapke(HapkeParams::REGOLITH).record() }
}

/// Light that grains scatter per light that they extinguish, 1/sr, as a function of the cosine of the phase angle.
fn back(grain: &MaterialRecord, cos_g: f32) -> f32 {
    grain.w / (4.0 * PI) * phase(grain, cos_g)
}

/// The error function (Abramowitz and Stegun 7.1.26): within 1.5e-7 plus rounding.
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    (1.0 - series * (-x * x).exp()).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::{Dust, Puff, Ray, erf};
    use crate::kernel::FAR;
    use nalgebra::Vector3;

    /// Tolerance for rounding of `f32` sums and for the error function.
    const EXACT: f32 = 1e-5;

    fn puff(centre_m: [f64; 3], deviation_m: f64, cross_section_m2: f64) -> Puff {
        Puff { centre_m: centre_m.into(), deviation_m, cross_section_m2 }
    }

    fn ray(origin: [f32; 3], direction: [f32; 3]) -> Ray {
        Ray { origin: origin.into(), direction: Vector3::from(direction).normalize() }
    }

    #[test]
    fn the_error_function_is_that_of_tables() {
        for (x, expected) in [(0.0, 0.0), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3), (9.0, 1.0)] {
            assert!((erf(x) - expected).abs() < 5e-7 && (erf(-x) + expected).abs() < 5e-7, "{x}: {}", erf(x));
        }
        assert_eq!(erf(f32::INFINITY), 1.0);
    }

    #[test]
    fn a_ray_loses_what_a_fine_sum_over_the_density_says() {
        let (centre, deviation, area) = ([3.0_f64, 0.2, -0.1], 0.4_f64, 0.7_f64);
        let dust = Dust::new(vec![puff([13.0, 0.2, -0.1], deviation, area)], Vector3::new(10.0, 0.0, 0.0));
        for (direction, until) in [([1.0, 0.0, 0.0], 100.0_f32), ([1.0, 0.15, 0.05], 3.1), ([1.0, -0.1, 0.1], 2.5)] {
            let ray = ray([0.0; 3], direction);
            let steps = 20_000;
            let step_m = f64::from(until.min(8.0)) / f64::from(steps);
            let density = |i: i32| {
                let at = ray.direction.cast::<f64>() * ((f64::from(i) + 0.5) * step_m) - Vector3::from(centre);
                let volume = (std::f64::consts::TAU * deviation * deviation).powf(1.5);
                area / volume * (-0.5 * at.norm_squared() / (deviation * deviation)).exp()
            };
            let expected = (0..steps).map(density).sum::<f64>() * step_m;
            let depth = dust.depth(&ray, until, |_| true);
            assert!((f64::from(depth) - expected).abs() < 2e-5, "{direction:?} to {until}: {depth}, not {expected}");
        }
    }

    #[test]
    fn the_tree_finds_all_clouds_on_a_ray_and_orders_them() {
        let puffs: Vec<_> =
            (0..100).map(|i| puff([f64::from(99 - i), 0.3 * f64::from(i % 3), 0.0], 0.1, 1e-3)).collect();
        let dust = Dust::new(puffs, Vector3::zeros());
        let mut crossings = Vec::new();
        dust.cross(&ray([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), FAR, &mut crossings);
        assert!(crossings.len() >= 66 && crossings.is_sorted_by(|a, b| a.t <= b.t), "{}", crossings.len());
        let through = dust.records[0].depth;
        let beside = (-0.5_f32 * 9.0).exp();
        let sum: f32 = crossings.iter().map(|crossing| crossing.depth).sum();
        assert!((sum / (through * (34.0 + 33.0 * beside)) - 1.0).abs() < EXACT, "{sum}");
        assert_eq!(dust.depth(&ray([-1.0, 0.0, 5.0], [1.0, 0.0, 0.0]), FAR, |_| true), 0.0);
    }
}

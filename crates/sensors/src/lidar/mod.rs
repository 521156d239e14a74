//! Models of lidars (SENSOR §3.1): spinning, raster, solid-state and flash. Each beam leaves at its own instant from
//! the sensor's pose at that instant; `firing` computes its direction and time, `divergence` its rays, `trace` traces
//! scans in slices, and `selene_scene::kernel::echo` is the model of its echoes. Surfaces are diffuse; gloss and the
//! opposition surge are left out. Noise is applied to range, the two angles and intensity, never to x, y, z.
//!
//! A spinning scan is one turn that begins behind the sensor, so that its seam is not ahead. A device whose firing
//! cycle does not divide a turn continues firing across the seam: the cycle in which the seam falls is split between
//! two scans.
//!
//! Points are as real drivers publish them: in the sensor's frame at the point's own instant (not deskewed), stamped
//! with the scan's start. The cloud is unorganised: beams without a return are left out (REP-117's infinities are for
//! images).
//!
//! A scan is traced in slices of at most `SLICE`. Within a slice, bodies move uniformly from their pose at its
//! beginning to that at its end; a beam meets them at its own instant. A body with acceleration a is therefore off by
//! at most a `SLICE`²/8: 0.1 mm at 10 m/s².

mod dead_sector;
mod divergence;
mod firing;
mod pattern;
mod scanner;
mod spec;
mod trace;

use std::borrow::Cow;
use std::ops::Range;

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_base::random::{Stream, stream_at};
use selene_base::{Pose, SimTime};
pub use selene_scene::ReturnKind;
use selene_scene::kernel::echo::REFERENCE_REFLECTANCE;
use selene_scene::{Echo, Echoes, Receiver, WideBeam};

pub use dead_sector::DeadSector;
pub use divergence::{BeamProfile, DivergenceSpec};
pub use firing::Firing;
pub use pattern::PatternSpec;
pub use scanner::{Channels, FlashSpec, RasterScanSpec, RosetteSpec, ScannerSpec, Spin, SpinningSpec, UniformChannels};
pub use spec::{CloudLayout, IntensityScale, LidarSpec, ReturnMode, SelfHits};
pub use trace::SceneOverTime;

use crate::Schedule;
use crate::noise::gaussian;
pub(crate) use firing::directions;
use firing::firings;
pub(crate) use scanner::RAYS_MAX;

/// Number of firings that are processed together: slices begin with such a block, and each block has its own place in
/// the scan's noise stream, so that threads and slices do not change the result.
const BLOCK: usize = 64;
/// Distance in the noise stream from one block to the next, in words: a block uses about 800.
const NOISE_WORDS: u128 = 1 << 12;
/// Longest duration of a slice of a scan, apart from its last block.
const SLICE: SimTime = SimTime::from_nanos(10_000_000);
/// Reflectivity of a perfectly white surface that faces the beam, on the manufacturers' scale.
const REFLECTIVITY_FULL: f64 = 100.0;
/// The largest reflectivity, that of retroreflectors.
const REFLECTIVITY_MAX: f64 = 255.0;
/// A beam before it is set.
const UNSET: WideBeam = WideBeam { origin_m: [0.0; 3], axis: [0.0; 3], along_azimuth: [0.0; 3], share: 0.0 };

/// A point of a cloud.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LidarPoint {
    /// Position in the sensor's frame at its own instant, m.
    pub position_m: [f32; 3],
    /// Measured distance, m.
    pub range_m: f32,
    /// Intensity on the lidar's `IntensityScale`.
    pub intensity: f32,
    /// Reflectivity corrected for range, whole numbers 0 to 255, whatever `intensity` is.
    pub reflectivity: f32,
    /// Channel, counted from the lowest up.
    pub ring: u16,
    /// Column, as in `Firing`.
    pub column: u32,
    /// Which of the beam's returns it is.
    pub kind: ReturnKind,
    /// Time from the scan's start to its firing.
    pub after_start: SimTime,
    /// Ground truth of the point.
    pub truth: PointTruth,
}

/// Ground truth of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointTruth {
    /// Distance without noise, m.
    pub range_m: f32,
    /// `Class` code of the surface; of the one with the strongest signal, if the beam met several.
    pub class: u16,
    /// Instance number of that surface, see `Label`.
    pub instance: u32,
}

/// A lidar with its firing table and its receiver.
#[derive(Clone, Debug)]
pub struct Lidar {
    spec: LidarSpec,
    receiver: Receiver,
    firings: Vec<Firing>,
}

/// One scan of a lidar.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    lidar: &'a Lidar,
    start: SimTime,
    firings: Cow<'a, [Firing]>,
}

/// A part of a scan that is traced in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Indices of its firings in the scan.
    pub firings: Range<usize>,
    /// The instants of its first and its last firing.
    pub span: [SimTime; 2],
}

impl Lidar {
    /// The lidar of a spec; computes the time and direction of each beam of a scan.
    #[must_use]
    pub fn new(spec: LidarSpec) -> Self {
        let receiver = Receiver {
            rays: spec.divergence.rays(),
            wavelength_nm: spec.wavelength_nm,
            range_at_10_percent_m: spec.range_at_10_percent_m,
            resolution_m: spec.range_resolution_m,
            ranges_m: [spec.min_range_m, spec.max_range_m],
            reports: spec.returns.into(),
            ignores: None,
        };
        Self { receiver, firings: firings(&spec, SimTime::ZERO), spec }
    }

    /// The spec that it was made from.
    #[must_use]
    pub fn spec(&self) -> &LidarSpec {
        &self.spec
    }

    /// Its receiver, which ignores nothing.
    #[must_use]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// The largest numbers of rows and columns of a scan, if it has them: rows from the highest ring down, columns in
    /// firing order.
    #[must_use]
    pub fn grid(&self) -> Option<[usize; 2]> {
        self.spec.scanner.grid(self.spec.rate_hz)
    }

    /// Time from the start of a scan to its last firing, or to its end if the device fires continuously from scan to
    /// scan.
    #[must_use]
    pub fn scan_duration(&self) -> SimTime {
        let last = self.firings.last().map_or(SimTime::ZERO, |firing| firing.after_start);
        if self.fires_by_clock() { SimTime::period(self.spec.rate_hz) } else { last }
    }

    /// Whether it spins and is fired by a clock rather than by an encoder.
    fn fires_by_clock(&self) -> bool {
        self.spec.scanner.spinning.as_ref().is_some_and(|spinning| spinning.cycle_s.is_some())
    }

    /// The schedule of scan starts; a scan is published after it is complete and its lag has passed.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        let until_due = self.scan_duration() + SimTime::from_secs_f64(self.spec.lag_s + self.spec.stages.lag_s());
        Schedule::new(self.spec.rate_hz, SimTime::ZERO, until_due)
    }

    /// The scan that starts at `start`.
    #[must_use]
    pub fn scan(&self, start: SimTime) -> Scan<'_> {
        let continues = self.spec.scanner.rosette.is_some() || self.fires_by_clock();
        let firings = if continues { Cow::Owned(firings(&self.spec, start)) } else { Cow::Borrowed(&self.firings[..]) };
        Scan { lidar: self, start, firings }
    }

    /// All beams of the scan that starts at `start`; `world_from_lidar_at` gives the sensor's pose at an instant. `None` if
    /// it returns `None` for one of them.
    #[must_use]
    pub fn beams(
        &self,
        start: SimTime,
        world_from_lidar_at: impl Fn(SimTime) -> Option<Pose> + Sync,
    ) -> Option<Vec<WideBeam>> {
        let scan = self.scan(start);
        scan.beams(&scan.whole(), world_from_lidar_at)
    }

    /// The point of an echo, with noise; `number` is 0 for the first return and 1 for the second.
    fn point(&self, firing: &Firing, echo: &Echo, noise: &Noise, number: usize) -> LidarPoint {
        let true_range_m = f64::from(echo.range_m);
        let range_m = true_range_m + self.spec.range_sigma_m * noise.range[number];
        let [toward, ..] = directions(
            firing.azimuth_rad + self.spec.azimuth_sigma_deg.to_radians() * noise.azimuth,
            firing.elevation_rad + self.spec.elevation_sigma_deg.to_radians() * noise.elevation,
        );
        let signal = self.measured_signal(f64::from(echo.signal), noise.intensity[number]);
        let reflectivity = self.reflectivity(signal, true_range_m) as f32;
        LidarPoint {
            position_m: (toward * range_m).map(|c| c as f32).into(),
            range_m: range_m as f32,
            intensity: match self.spec.intensity {
                IntensityScale::Calibrated => reflectivity,
                IntensityScale::Raw => signal as f32,
            },
            reflectivity,
            ring: firing.ring,
            column: firing.column,
            kind: echo.kind,
            after_start: firing.after_start,
            truth: PointTruth { range_m: echo.range_m, class: echo.class, instance: echo.instance },
        }
    }

    /// The signal that the detector measures, in multiples of the detection threshold: saturated, with noise.
    fn measured_signal(&self, signal: f64, noise: f64) -> f64 {
        let saturated = self.spec.saturation.map_or(signal, |most| signal.min(most));
        (saturated * (1.0 + self.spec.intensity_sigma * noise)).max(0.0)
    }

    /// The reflectivity, 0 to 255, of a signal at a range.
    fn reflectivity(&self, signal: f64, range_m: f64) -> f64 {
        let reflectance =
            signal * f64::from(REFERENCE_REFLECTANCE) * (range_m / self.spec.range_at_10_percent_m).powi(2);
        (REFLECTIVITY_FULL * reflectance).round().min(REFLECTIVITY_MAX)
    }
}

impl Scan<'_> {
    /// Its firings in chronological order.
    #[must_use]
    pub fn firings(&self) -> &[Firing] {
        &self.firings
    }

    /// The whole scan as one slice.
    #[must_use]
    pub fn whole(&self) -> Slice {
        self.slice(0..self.firings.len())
    }

    /// Its slices, in order.
    #[must_use]
    pub fn slices(&self) -> Vec<Slice> {
        let count = self.firings.len();
        let mut slices = Vec::new();
        let mut first = 0;
        for block in (BLOCK..count).step_by(BLOCK) {
            if self.firings[block].after_start - self.firings[first].after_start >= SLICE {
                slices.push(self.slice(first..block));
                first = block;
            }
        }
        if first < count {
            slices.push(self.slice(first..count));
        }
        slices
    }

    fn slice(&self, firings: Range<usize>) -> Slice {
        let at = |firing: Option<&Firing>| self.start + firing.map_or(SimTime::ZERO, |firing| firing.after_start);
        let of = &self.firings[firings.clone()];
        Slice { span: [at(of.first()), at(of.last())], firings }
    }

    /// The beams of a slice, each with its instant as a fraction of the slice's span; `world_from_lidar_at` gives the
    /// sensor's pose at an instant. `None` if it returns `None` for one of them.
    #[must_use]
    pub fn beams(
        &self,
        slice: &Slice,
        world_from_lidar_at: impl Fn(SimTime) -> Option<Pose> + Sync,
    ) -> Option<Vec<WideBeam>> {
        let firings = &self.firings[slice.firings.clone()];
        let fill_block = |(block, beams): (&[Firing], &mut [WideBeam])| {
            let mut known: Option<(SimTime, Pose)> = None;
            for (firing, beam) in block.iter().zip(beams) {
                let pose = match known {
                    Some((time, pose)) if time == firing.after_start => pose,
                    _ => world_from_lidar_at(self.start + firing.after_start)?,
                };
                known = Some((firing.after_start, pose));
                *beam = beam_of(firing, &pose, share(slice.span, self.start + firing.after_start));
            }
            Some(())
        };
        let mut beams: Vec<WideBeam> = rayon::iter::repeat_n(UNSET, firings.len()).collect();
        let blocks = firings.par_chunks(BLOCK).zip(beams.par_chunks_mut(BLOCK));
        blocks.map(fill_block).collect::<Option<()>>()?;
        Some(beams)
    }

    /// The points of a slice from the echoes of its beams; `seed` is the scenario's, `index` the scan's number.
    #[must_use]
    pub fn points(&self, slice: &Slice, echoes: &[Echoes], seed: u64, index: u64) -> Vec<LidarPoint> {
        let blocks = self.firings[slice.firings.clone()].par_chunks(BLOCK).zip(echoes.par_chunks(BLOCK));
        let first = slice.firings.start / BLOCK;
        let of_block = |(block, (firings, echoes)): (usize, (&[Firing], &[Echoes]))| {
            let mut noise = stream_at(seed, &self.lidar.spec.name, index);
            noise.set_word_pos((first + block) as u128 * NOISE_WORDS);
            self.points_of_block(firings, echoes, &mut noise)
        };
        let points: Vec<Vec<LidarPoint>> = blocks.enumerate().map(of_block).collect();
        points.concat()
    }

    fn points_of_block(&self, firings: &[Firing], echoes: &[Echoes], rng: &mut Stream) -> Vec<LidarPoint> {
        let mut points = Vec::with_capacity(firings.len());
        for (firing, echoes) in firings.iter().zip(echoes) {
            // Also drawn for beams without an echo, so that one more rock does not change the noise of other beams.
            let noise = Noise::draw(rng);
            if !firing.is_dead {
                let point = |(number, echo): (usize, &Echo)| self.lidar.point(firing, echo, &noise, number);
                points.extend(echoes.iter().flatten().enumerate().map(point));
            }
        }
        points
    }
}

/// The beam of a firing from a pose.
fn beam_of(firing: &Firing, world_from_lidar: &Pose, share: f32) -> WideBeam {
    let [axis, along_azimuth, _] = directions(firing.azimuth_rad, firing.elevation_rad);
    let turned = |direction: Vector3<f64>| (world_from_lidar.rotation * direction).map(|c| c as f32).into();
    let origin_m = world_from_lidar.translation.vector.into();
    WideBeam { origin_m, axis: turned(axis), along_azimuth: turned(along_azimuth), share }
}

/// Draws from N(0, 1) for one beam.
struct Noise {
    azimuth: f64,
    elevation: f64,
    /// For the first and the second return.
    range: [f64; 2],
    intensity: [f64; 2],
}

impl Noise {
    fn draw(rng: &mut Stream) -> Self {
        let mut next = || gaussian(rng);
        let range = [next(), next()];
        let (azimuth, elevation) = (next(), next());
        Self { azimuth, elevation, range, intensity: [next(), next()] }
    }
}

/// The elapsed fraction of a span at an instant.
fn share([from, to]: [SimTime; 2], at: SimTime) -> f32 {
    let span_ns = (to - from).nanos();
    if span_ns > 0 { ((at - from).nanos() as f64 / span_ns as f64) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests;

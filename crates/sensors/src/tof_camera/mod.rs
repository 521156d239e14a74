//! Models of time-of-flight cameras: they emit modulated light, whose phase gives the distance of each pixel (`phase`).
//!
//! A source of radiant intensity I (W/sr) gives a diffuse surface of reflectance ρ at distance r and incidence angle
//! i the radiance ρ/π · I cos i/r². It illuminates a pyramid uniformly and nothing outside of it. A pixel of side a
//! collects L · a² · π/4N² of a radiance L through a lens of f-number N. Of the N_s electrons of its own light and
//! the N_a of sunlight that a pixel collects in the time of a phase, each of its two taps takes half:
//! B = (N_s + N_a)/2 and A = m N_s/2 with the modulation contrast m. Each sample has shot noise (Gaussian, with the
//! variance of its mean) and read noise. Sunlight is traced at the pixel's centre, as for cameras; the part that passes
//! the filter counts, with the reflectance at the light's wavelength.
//!
//! A pixel's rays are summed as phasors, so that a pixel that sees two surfaces reports a distance between or beyond
//! them: a flying pixel. A pixel with a sample over the full well, or with too small an amplitude, reports no
//! distance.
//!
//! The whole image is measured at one instant: motion between the phases causes no errors. Stray light between pixels
//! and in the lens, multiple bounces, harmonics of the modulation, temperature and vignetting are left out.

mod phase;
mod spec;

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_base::Pose;
use selene_base::random::{Stream, stream_at};
use selene_scene::{Beam, BeamReturn};

pub use spec::TofCameraSpec;

use crate::Sample;
use crate::noise::gaussian;
use phase::{Demodulated, Phasor, demodulated, distance_m, unwrapped_m};

/// Distance in a row's noise stream from one pixel to the next, in words: a pixel uses about 16.
const PIXEL_WORDS: u128 = 32;

/// The images of a time-of-flight camera, row by row from the top left.
#[derive(Clone, Debug, PartialEq)]
pub struct TofImage {
    /// Distance along the optical axis, m; NaN where there is no measurement.
    pub depth_m: Vec<f32>,
    /// Amplitude A of its own light, whole electrons; the mean of all frequencies.
    pub amplitude_e: Vec<u16>,
    /// Mean B of all light, whole electrons; the mean of all frequencies.
    pub intensity_e: Vec<u16>,
}

/// A time-of-flight camera with its precomputed geometry.
#[derive(Clone, Debug)]
pub struct TofCamera {
    spec: TofCameraSpec,
    /// Unit directions of the rays of all pixels in the optical frame, pixel by pixel.
    directions: Vec<Vector3<f64>>,
    /// Whether its own light illuminates each of these rays.
    is_lit: Vec<bool>,
    /// Ratio of distance along the optical axis to distance along the ray, for each pixel's centre.
    along_axis: Vec<f64>,
    electrons_of_radiance: f64,
    intensity_w_sr: f64,
    sun_share: f64,
}

/// A pixel of the images: depth, amplitude and intensity.
type Pixel = (f32, u16, u16);

impl TofCamera {
    /// The camera of a spec; computes its rays.
    #[must_use]
    pub fn new(spec: TofCameraSpec) -> Self {
        let (width, height) = (spec.width, spec.height);
        let pixels = move || (0..height).flat_map(move |row| (0..width).map(move |column| (column, row)));
        let offsets = offsets(spec.samples_across);
        let around = |(column, row): (u32, u32)| {
            let at = |[right, down]: &[f64; 2]| spec.direction(f64::from(column) + right, f64::from(row) + down);
            offsets.iter().map(move |offset| at(offset).normalize()).collect::<Vec<_>>()
        };
        let along_axis = |(column, row)| 1.0 / spec.direction(f64::from(column), f64::from(row)).norm();
        let directions: Vec<Vector3<f64>> = pixels().flat_map(around).collect();
        Self {
            is_lit: directions.iter().map(|direction| spec.lights(direction)).collect(),
            directions,
            along_axis: pixels().map(along_axis).collect(),
            electrons_of_radiance: spec.electrons_of_radiance(),
            intensity_w_sr: spec.intensity_w_sr(),
            sun_share: spec.sun_share(),
            spec,
        }
    }

    /// The spec that it was made from.
    #[must_use]
    pub fn spec(&self) -> &TofCameraSpec {
        &self.spec
    }

    /// Number of rays of each pixel.
    #[must_use]
    pub fn rays_of_pixel(&self) -> usize {
        (self.spec.samples_across * self.spec.samples_across) as usize
    }

    /// All rays from this pose of the optical frame, pixel by pixel.
    #[must_use]
    pub fn beams(&self, world_from_optical: &Pose) -> Vec<Beam> {
        let origin_m = world_from_optical.translation.vector.into();
        let turned = |direction: &Vector3<f64>| (world_from_optical.rotation * direction).map(|c| c as f32).into();
        self.directions.par_iter().map(|direction| Beam::new(origin_m, turned(direction))).collect()
    }

    /// The images at `sample`, from the returns of its rays, in the order of `beams`, and the radiance of sunlight at
    /// each pixel's centre, W/(m² sr); `seed` is the rover's.
    #[must_use]
    pub fn image(&self, met: &[BeamReturn], sunlit: &[f32], seed: u64, sample: Sample) -> TofImage {
        self.rows(met, sunlit, |row| Some(stream_at(seed, &self.spec.name, sample.index * self.rows_max() + row)))
    }

    /// The images of a perfect camera: light without noise, and the given depth of each pixel's centre, m, infinite
    /// for the sky.
    #[must_use]
    pub fn exact(&self, met: &[BeamReturn], sunlit: &[f32], depth_m: &[f32]) -> TofImage {
        let mut image = self.rows(met, sunlit, |_| None);
        image.depth_m = depth_m.to_vec();
        image
    }

    /// Number of random streams of one image: one for each row.
    fn rows_max(&self) -> u64 {
        u64::from(self.spec.height)
    }

    fn rows(
        &self,
        met: &[BeamReturn],
        sunlit: &[f32],
        noise_of_row: impl Fn(u64) -> Option<Stream> + Sync,
    ) -> TofImage {
        let (columns, rays) = (self.spec.width as usize, self.rays_of_pixel());
        let rows = met.par_chunks(columns * rays).zip(sunlit.par_chunks(columns)).enumerate();
        let of_row = |(row, (met, sunlit)): (usize, (&[BeamReturn], &[f32]))| {
            let mut noise = noise_of_row(row as u64);
            let mut pixels = Vec::with_capacity(columns);
            for (column, (met, sunlit)) in met.chunks_exact(rays).zip(sunlit).enumerate() {
                if let Some(rng) = &mut noise {
                    rng.set_word_pos(column as u128 * PIXEL_WORDS);
                }
                let pixel = row * columns + column;
                let is_lit = &self.is_lit[pixel * rays..(pixel + 1) * rays];
                pixels.push(self.pixel(met, is_lit, f64::from(*sunlit), self.along_axis[pixel], noise.as_mut()));
            }
            pixels
        };
        let pixels: Vec<Vec<Pixel>> = rows.map(of_row).collect();
        let all = || pixels.iter().flatten();
        TofImage {
            depth_m: all().map(|(depth, ..)| *depth).collect(),
            amplitude_e: all().map(|(_, amplitude, _)| *amplitude).collect(),
            intensity_e: all().map(|(.., intensity)| *intensity).collect(),
        }
    }

    fn pixel(
        &self,
        met: &[BeamReturn],
        is_lit: &[bool],
        sunlit: f64,
        along_axis: f64,
        mut noise: Option<&mut Stream>,
    ) -> Pixel {
        let mut is_full = false;
        let demodulate = |frequency_mhz: &u32| {
            let mut samples = self.phasor(*frequency_mhz, met, is_lit, sunlit).samples();
            if let Some(rng) = noise.as_deref_mut() {
                samples.iter_mut().for_each(|sample| *sample += self.sigma_e(*sample) * gaussian(rng));
            }
            is_full |= samples.iter().any(|sample| *sample > self.spec.full_well_e);
            demodulated(samples.map(|sample| sample.min(self.spec.full_well_e)))
        };
        let reported: Vec<Demodulated> = self.spec.frequencies_mhz.iter().map(demodulate).collect();
        let mean = |of: fn(&Demodulated) -> f64| reported.iter().map(of).sum::<f64>() / reported.len() as f64;
        // A full well fits in 16 bits; a mean can be negative only because of read noise.
        let electrons = |mean_e: f64| mean_e.round().max(0.0) as u16;
        let is_dark = reported.iter().any(|reported| reported.amplitude_e < self.spec.amplitude_min_e);
        let is_seen = !is_full && !is_dark && met.iter().any(|met| met.range_m.is_finite());
        let depth_m = if is_seen { (self.distance_m(&reported) * along_axis) as f32 } else { f32::NAN };
        (depth_m, electrons(mean(|reported| reported.amplitude_e)), electrons(mean(|reported| reported.mean_e)))
    }

    /// The sum of the light of a pixel's rays at one modulation frequency.
    fn phasor(&self, frequency_mhz: u32, met: &[BeamReturn], is_lit: &[bool], sunlit: f64) -> Phasor {
        let mut phasor = Phasor::default();
        let each = 1.0 / met.len() as f64;
        let mut redder = 0.0;
        let surfaces = met.iter().zip(is_lit).filter(|(met, _)| met.range_m > 0.0 && met.range_m.is_finite());
        for (met, is_lit) in surfaces {
            let (range_m, reflectance) = (f64::from(met.range_m), met.reflectance_at(self.spec.wavelength_nm));
            let intensity_w_sr = if *is_lit { self.intensity_w_sr } else { 0.0 };
            let lit = intensity_w_sr * f64::from(met.cos_incidence) / (range_m * range_m);
            let own_e = each * self.electrons_of_radiance * reflectance * lit / std::f64::consts::PI;
            phasor.add(frequency_mhz, range_m, 0.5 * self.spec.modulation_contrast * own_e, 0.5 * own_e);
            let visible = f64::from(met.reflectance);
            redder += each * if visible > 0.0 { reflectance / visible } else { 1.0 };
        }
        // The sky reflects nothing, so light from there (the Sun itself) needs no correction.
        let ratio = if redder > 0.0 { redder } else { 1.0 };
        phasor.mean += 0.5 * self.electrons_of_radiance * self.sun_share * sunlit * ratio;
        phasor
    }

    /// Standard deviation, electrons, of a sample with this mean.
    fn sigma_e(&self, mean_e: f64) -> f64 {
        (mean_e.max(0.0) + self.spec.read_noise_e.powi(2)).sqrt()
    }

    fn distance_m(&self, reported: &[Demodulated]) -> f64 {
        match (self.spec.frequencies_mhz.as_slice(), reported) {
            ([one, other], [first, second]) => {
                unwrapped_m([*one, *other], [*first, *second], self.spec.read_noise_e.powi(2))
            }
            ([frequency_mhz, ..], [only, ..]) => distance_m(only.phase_rad, *frequency_mhz),
            _ => f64::NAN,
        }
    }
}

/// Offsets of a pixel's rays from its centre (right, down), pixels.
fn offsets(across: u32) -> Vec<[f64; 2]> {
    let place = |i: u32| (f64::from(i) + 0.5) / f64::from(across) - 0.5;
    (0..across).flat_map(|down| (0..across).map(move |right| [place(right), place(down)])).collect()
}

#[cfg(test)]
mod tests;

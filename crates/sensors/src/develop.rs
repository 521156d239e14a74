//! From traced radiance to pixel values, without colour: the bands' sum. The chain: irradiance on the detector
//! E = π L/(4 N²) (thin lens on its axis, no losses), energy of a pixel E A t, electrons
//! by the quantum efficiency at 550 nm, digital numbers linear up to the full well.
//! Noise is SENSOR eq. 3–4: σ² = σ1² I + σ2², here shot noise (variance in electrons
//! equal to the signal, Gaussian) and read-out. Vignetting, defocus, dark current and
//! response curves of LUNAR §3 are not modelled yet.
//!
//! Auto-exposure sets the 90th percentile of the lit ground to 60 % of the full scale.
//! Lit means above 5 % of the ground's 99th percentile, so that a frame which is mostly
//! shadow, as they are under a polar Sun, still shows its lit relief.

use rayon::prelude::*;
use selene_base::random::stream_at;
use selene_scene::{CameraFrame, Class, panchromatic};

use crate::camera::{CameraSpec, Encoding};
use crate::noise::gaussian;
use crate::spec::PIXELS_MAX;

/// Energy of a photon of 550 nm, J.
const PHOTON_J: f64 = 3.611_7e-19;
/// Auto-exposure looks at about this many pixels, evenly spread.
const METERED_PIXELS: usize = 8192;
const LIT_SHARE: f32 = 0.05;
const METER_TARGET: f64 = 0.6;

/// A developed image, row by row from the top left.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Pixel format of `data`.
    pub encoding: Encoding,
    /// Pixels without padding.
    pub data: Vec<u8>,
    /// The exposure time that was used, s.
    pub exposure_s: f64,
}

/// Develops frame number `index` of a camera; the same bytes for any number of threads.
#[must_use]
pub fn develop(spec: &CameraSpec, frame: &CameraFrame, seed: u64, index: u64) -> Image {
    let exposure_s = if spec.auto_exposure { metered_exposure_s(spec, frame) } else { spec.exposure_s };
    let detector = Detector::new(spec, exposure_s);
    let row_bytes = frame.width as usize * spec.encoding.bytes_per_pixel();
    let mut data = vec![0; row_bytes * frame.height as usize];
    let rows = frame.radiance.par_chunks(frame.width.max(1) as usize);
    data.par_chunks_mut(row_bytes.max(1)).zip(rows).enumerate().for_each(|(row, (bytes, radiance))| {
        // One stream a row: no row's noise depends on which thread takes it.
        let mut rng = stream_at(seed, &spec.name, index * PIXELS_MAX as u64 + row as u64);
        let signal = radiance.iter().map(|&l| f64::from(panchromatic(l)) * detector.electrons_per_radiance);
        if spec.noise.enabled {
            let noisy = signal.map(|e| e + (e.max(0.0) + detector.read_variance_e2).sqrt() * gaussian(&mut rng));
            detector.digitise(spec.encoding, noisy, bytes);
        } else {
            detector.digitise(spec.encoding, signal, bytes);
        }
    });
    Image { width: frame.width, height: frame.height, encoding: spec.encoding, data, exposure_s }
}

/// A spec turned into the few numbers a pixel needs.
struct Detector {
    electrons_per_radiance: f64,
    dn_per_electron: f64,
    read_variance_e2: f64,
}

impl Detector {
    fn new(spec: &CameraSpec, exposure_s: f64) -> Self {
        Self {
            electrons_per_radiance: electrons_per_radiance_second(spec) * exposure_s,
            dn_per_electron: 1.0 / spec.gain_e_per_dn(),
            read_variance_e2: spec.noise.read_sigma_e.powi(2),
        }
    }

    /// Rounds to whole numbers; the detector saturates at both ends.
    fn digitise(&self, encoding: Encoding, electrons: impl Iterator<Item = f64>, bytes: &mut [u8]) {
        // A float turned into an integer saturates: below 0, above the full scale.
        let dn = electrons.map(|e| e * self.dn_per_electron + 0.5);
        match encoding {
            Encoding::Mono8 => bytes.iter_mut().zip(dn).for_each(|(byte, dn)| *byte = dn as u8),
            Encoding::Mono16 => bytes
                .chunks_exact_mut(2)
                .zip(dn)
                .for_each(|(pair, dn)| pair.copy_from_slice(&(dn as u16).to_le_bytes())),
        }
    }
}

/// Electrons a pixel collects per second under one W/(m² sr).
fn electrons_per_radiance_second(spec: &CameraSpec) -> f64 {
    let irradiance = std::f64::consts::PI / (4.0 * spec.f_number.powi(2));
    irradiance * spec.pixel_pitch_m.powi(2) * spec.quantum_efficiency / PHOTON_J
}

/// The exposure that shows the lit ground well, `exposure_s` at the longest.
fn metered_exposure_s(spec: &CameraSpec, frame: &CameraFrame) -> f64 {
    let key = lit_ground_radiance(frame);
    let wanted_e = METER_TARGET * spec.full_well_e;
    let rate_e_per_s = key * electrons_per_radiance_second(spec);
    if rate_e_per_s * spec.exposure_s <= wanted_e { spec.exposure_s } else { wanted_e / rate_e_per_s }
}

/// The 90th percentile of the lit ground's radiance; 0 when there is none.
fn lit_ground_radiance(frame: &CameraFrame) -> f64 {
    // An odd stride, so that it does not keep to one set of columns.
    let stride = (frame.radiance.len() / METERED_PIXELS) | 1;
    let pixels = frame.radiance.iter().map(|&l| panchromatic(l)).zip(&frame.class).step_by(stride);
    let mut ground: Vec<f32> =
        pixels.filter(|(l, class)| **class != Class::Sky as u16 && l.is_finite()).map(|(l, _)| l).collect();
    ground.sort_unstable_by(f32::total_cmp);
    let lit_above = LIT_SHARE * percentile(&ground, 0.99);
    let lit = &ground[ground.partition_point(|l| *l <= lit_above)..];
    f64::from(percentile(lit, 0.9))
}

/// Of sorted values; 0 when there is none.
fn percentile(sorted: &[f32], fraction: f64) -> f32 {
    let at = (sorted.len() as f64 * fraction) as usize;
    sorted.get(at).or(sorted.last()).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{METER_TARGET, develop, electrons_per_radiance_second};
    use crate::camera::tests::camera;
    use crate::camera::{CameraSpec, Encoding};
    use selene_scene::{CameraFrame, Class};

    /// A 16-bit camera with a fixed exposure that turns radiance 1 into `electrons`.
    fn bench_camera(electrons: f64) -> CameraSpec {
        let mut spec = camera("navcam_left.yaml");
        spec.encoding = Encoding::Mono16;
        spec.auto_exposure = false;
        spec.exposure_s = electrons / electrons_per_radiance_second(&spec);
        spec
    }

    fn flat(width: u32, height: u32, radiance: f32) -> CameraFrame {
        let mut frame = CameraFrame::sized(width, height);
        frame.radiance.fill([radiance / 3.0; 3]);
        frame.class.fill(Class::Ground as u16);
        frame
    }

    fn dn(bytes: &[u8]) -> Vec<f64> {
        bytes.chunks_exact(2).map(|pair| f64::from(u16::from_le_bytes([pair[0], pair[1]]))).collect()
    }

    fn mean_and_variance(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
    }

    #[test]
    fn without_noise_a_pixel_is_linear_in_radiance_up_to_the_full_well() {
        let mut spec = bench_camera(1000.0);
        spec.noise.enabled = false;
        let value = |l: f32| dn(&develop(&spec, &flat(1, 1, l), 0, 0).data)[0];
        let expected = |l: f64| (l * 1000.0 / spec.gain_e_per_dn()).round();
        assert_eq!((value(0.0), value(2.0), value(7.0)), (0.0, expected(2.0), expected(7.0)));
        assert_eq!((value(1e9), value(-1.0), value(f32::NAN)), (65_535.0, 0.0, 0.0));
    }

    #[test]
    fn the_photon_transfer_line_gives_gain_and_read_noise_back() {
        // Variance [DN²] = mean/gain + (read σ/gain)²: least squares over eight levels.
        const GAIN_TOLERANCE: f64 = 0.03; // 8 × 65 536 samples: one sigma is 0.3 %
        let spec = bench_camera(600.0);
        let levels: Vec<(f64, f64)> = (1..=8)
            .map(|k| mean_and_variance(&dn(&develop(&spec, &flat(256, 256, k as f32 * 2.0), 7, k).data)))
            .collect();
        let n = levels.len() as f64;
        let (mx, my) = (levels.iter().map(|l| l.0).sum::<f64>() / n, levels.iter().map(|l| l.1).sum::<f64>() / n);
        let slope = levels.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
            / levels.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>();
        assert!((slope * spec.gain_e_per_dn() - 1.0).abs() < GAIN_TOLERANCE, "gain {}", 1.0 / slope);
        let (mean, variance) = levels[0];
        let read_e = ((variance - mean / spec.gain_e_per_dn()).max(0.0)).sqrt() * spec.gain_e_per_dn();
        // The difference of two variances: 30 % of the read noise is what 65 536 samples tell.
        assert!((read_e / spec.noise.read_sigma_e - 1.0).abs() < 0.3, "read noise {read_e}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes_and_every_frame_its_own() {
        let spec = camera("navcam_left.yaml");
        let frame = flat(640, 360, 20.0);
        let with = |threads, index| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("pool");
            pool.install(|| develop(&spec, &frame, 3, index))
        };
        let one = with(1, 5);
        assert_eq!(one, with(3, 5));
        assert_ne!(one, with(1, 6));
        assert_eq!(one.data.len(), 640 * 360);
    }

    #[test]
    fn auto_exposure_shows_a_lit_strip_in_a_shadowed_frame_under_a_blinding_sun() {
        let mut spec = camera("navcam_left.yaml");
        spec.noise.enabled = false;
        for lit_radiance in [0.5, 5.0, 100.0] {
            let mut frame = flat(640, 360, 0.001);
            frame.radiance[..640 * 40].fill([lit_radiance / 3.0; 3]);
            frame.radiance[640 * 300..640 * 301].fill([2e7; 3]);
            frame.class[640 * 300..640 * 301].fill(Class::Sky as u16);
            let image = develop(&spec, &frame, 0, 0);
            let lit = f64::from(image.data[100]) / 255.0;
            assert!((lit - METER_TARGET).abs() < 0.01, "{lit} at {lit_radiance}");
            assert_eq!(image.data[640 * 300], 255);
        }
    }

    #[test]
    fn in_the_dark_auto_exposure_is_the_longest_one() {
        let spec = camera("navcam_left.yaml");
        assert_eq!(develop(&spec, &flat(64, 64, 0.0), 0, 0).exposure_s, spec.exposure_s);
        assert_eq!(develop(&spec, &CameraFrame::sized(64, 64), 0, 0).exposure_s, spec.exposure_s);
    }
}

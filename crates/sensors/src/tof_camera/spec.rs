//! A time-of-flight camera's YAML spec.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::{non_negative, within};
use selene_scene::CameraView;
use serde::Deserialize;

use crate::augment::{Augments, DataType, fits};
use crate::lidar::RAYS_MAX;
use crate::spec::{lag, pixels, rate, ros_name};
use crate::{Intrinsics, MountSpec, SensorQos};

/// The largest number of rays along a side of a pixel.
const SAMPLES_MAX: u32 = 8;
/// The highest modulation frequency allowed, MHz.
const FREQUENCY_MAX_MHZ: u32 = 1000;
/// The largest full well allowed, electrons: intensities are published in 16 bits.
const FULL_WELL_MAX_E: f64 = 65_535.0;
/// Speed of light, m/s.
pub(super) const LIGHT_M_S: f64 = 299_792_458.0;
/// Planck's constant, J s.
const PLANCK_J_S: f64 = 6.626_070_15e-34;
/// Boltzmann's constant, J/K.
const BOLTZMANN_J_K: f64 = 1.380_649e-23;
/// The Sun's effective temperature, K (IAU 2015 resolution B3).
const SUN_K: f64 = 5772.0;

/// A time-of-flight camera.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct TofCameraSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The optical frame: z forward, x right, y down; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link, for a camera without a link of its own.
    #[garde(dive)]
    #[serde(default)]
    pub mount: Option<Box<MountSpec>>,
    /// Frame rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from the stamp to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topics.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the images pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::DepthImages, self.rate_hz)))]
    pub stages: Augments,
    /// Columns of the image.
    #[garde(custom(pixels))]
    pub width: u32,
    /// Rows of the image.
    #[garde(custom(pixels))]
    pub height: u32,
    /// Horizontal field of view from edge to edge, degrees, 1 to 150. The lens is a pinhole.
    #[garde(custom(within(1.0, 150.0)))]
    pub horizontal_fov_deg: f64,
    /// Rays of a pixel along each side, 1 to 8, evenly spaced: more than one give flying pixels at edges.
    #[garde(custom(samples_fit([self.width, self.height])))]
    pub samples_across: u32,
    /// One modulation frequency, or two that together extend the unambiguous range, MHz, 1 to 1000.
    #[garde(custom(one_or_two))]
    pub frequencies_mhz: Vec<u32>,
    /// Demodulation contrast: demodulated over mean signal, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub modulation_contrast: f64,
    /// Mean emitted optical power during integration, W.
    #[garde(custom(within(1e-6, 1e4)))]
    pub emitted_w: f64,
    /// Full angles of the pyramid that its light illuminates uniformly, horizontal and vertical, degrees, 1 to 170.
    #[garde(custom(lit_angles))]
    pub illumination_deg: [f64; 2],
    /// Wavelength of its light, nm, 550 to 1550.
    #[garde(custom(within(550.0, 1550.0)))]
    pub wavelength_nm: f64,
    /// Width of the filter's pass band about it, nm, 1 to 400.
    #[garde(custom(within(1.0, 400.0)))]
    pub filter_width_nm: f64,
    /// F-number: focal length divided by aperture, 0.5 to 64.
    #[garde(custom(within(0.5, 64.0)))]
    pub f_number: f64,
    /// Pixel pitch: edge of a pixel, m.
    #[garde(custom(within(1e-7, 1e-3)))]
    pub pixel_pitch_m: f64,
    /// Transmission of lens and filter, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub transmission: f64,
    /// Electrons per photon, including the pixel's fill factor, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub quantum_efficiency: f64,
    /// Integration time at each frequency, all four phases together, s.
    #[garde(custom(within(1e-6, 0.1)))]
    pub integration_s: f64,
    /// Full well, electrons, 100 to 65535; pixels with more report no distance.
    #[garde(custom(within(100.0, FULL_WELL_MAX_E)))]
    pub full_well_e: f64,
    /// Standard deviation of a sample apart from shot noise, electrons.
    #[garde(custom(within(0.0, 1000.0)))]
    pub read_noise_e: f64,
    /// Least amplitude, electrons; pixels with less report no distance.
    #[garde(custom(non_negative))]
    pub amplitude_min_e: f64,
    /// Whether light that returns via other surfaces counts; must be false.
    #[garde(custom(refused))]
    #[serde(default)]
    pub multipath: bool,
    /// Whether the distances are also published as a point cloud.
    #[garde(skip)]
    #[serde(default)]
    pub cloud: bool,
    /// Whether the images of a perfect camera are published beside them, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

impl TofCameraSpec {
    /// Focal lengths and principal point, pixels.
    #[must_use]
    pub fn intrinsics(&self) -> Intrinsics {
        let CameraView { fx_px, fy_px, cx_px, cy_px, .. } = self.view(Pose::identity());
        Intrinsics { fx_px, fy_px, cx_px, cy_px }
    }

    /// The view to trace from this pose of the optical frame, for the sunlight in the image.
    #[must_use]
    pub fn view(&self, world_from_optical: Pose) -> CameraView {
        CameraView::pinhole(world_from_optical, [self.width, self.height], self.horizontal_fov_deg.to_radians())
    }

    /// Direction of an image point in the optical frame, with z = 1.
    pub(super) fn direction(&self, column: f64, row: f64) -> Vector3<f64> {
        let Intrinsics { fx_px, fy_px, cx_px, cy_px } = self.intrinsics();
        Vector3::new((column - cx_px) / fx_px, (row - cy_px) / fy_px, 1.0)
    }

    /// The unambiguous range of one frequency, c/2f, m.
    #[must_use]
    pub fn wrap_m(frequency_mhz: u32) -> f64 {
        LIGHT_M_S / (2e6 * f64::from(frequency_mhz))
    }

    /// The unambiguous range of all frequencies together, m: c/2f of their greatest common divisor.
    #[must_use]
    pub fn unambiguous_m(&self) -> f64 {
        Self::wrap_m(self.frequencies_mhz.iter().copied().fold(0, greatest_common_divisor).max(1))
    }

    /// Electrons in a pixel from a radiance of 1 W/(m² sr) during one phase: its area, the cone of the aperture π/4N²,
    /// the transmission, and λ/hc electrons per joule.
    pub(super) fn electrons_of_radiance(&self) -> f64 {
        let etendue = self.pixel_pitch_m.powi(2) * std::f64::consts::PI / (4.0 * self.f_number.powi(2));
        let per_joule = self.quantum_efficiency * self.wavelength_nm * 1e-9 / (PLANCK_J_S * LIGHT_M_S);
        etendue * self.transmission * per_joule * self.integration_s / 4.0
    }

    /// Radiant intensity of its own light, W/sr: a pyramid of full angles a and b has the solid angle
    /// 4 asin(sin a/2 · sin b/2).
    pub(super) fn intensity_w_sr(&self) -> f64 {
        let [a, b] = self.illumination_deg.map(|full_deg| (0.5 * full_deg).to_radians().sin());
        self.emitted_w / (4.0 * (a * b).asin())
    }

    /// Whether its own light illuminates a direction of the optical frame.
    pub(super) fn lights(&self, direction: &Vector3<f64>) -> bool {
        let [wide, high] = self.illumination_deg.map(|full_deg| (0.5 * full_deg).to_radians().tan() * direction.z);
        direction.x.abs() <= wide && direction.y.abs() <= high
    }

    /// The fraction of sunlight that the filter passes, for a black body at the Sun's effective temperature:
    /// (15/π⁴) x⁴/(eˣ − 1) · Δλ/λ with x = hc/λkT.
    #[must_use]
    pub fn sun_share(&self) -> f64 {
        let wavelength_m = self.wavelength_nm * 1e-9;
        let x = PLANCK_J_S * LIGHT_M_S / (wavelength_m * BOLTZMANN_J_K * SUN_K);
        let share = 15.0 / std::f64::consts::PI.powi(4) * x.powi(4) / x.exp_m1();
        share * self.filter_width_nm / self.wavelength_nm
    }
}

pub(super) fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A garde check: one frequency, or two different ones.
fn one_or_two(frequencies_mhz: &[u32], (): &()) -> garde::Result {
    let in_range = frequencies_mhz.iter().all(|mhz| (1..=FREQUENCY_MAX_MHZ).contains(mhz));
    let differ = matches!(frequencies_mhz, [_]) || matches!(frequencies_mhz, [a, b] if a != b);
    if in_range && differ {
        return Ok(());
    }
    let allowed = format!("must be one frequency or two that differ, 1 to {FREQUENCY_MAX_MHZ} MHz");
    Err(garde::Error::new(format!("value {frequencies_mhz:?} is not allowed: {allowed}")))
}

/// A garde check: angles of illumination, 1° to 170°.
fn lit_angles(angles_deg: &[f64; 2], (): &()) -> garde::Result {
    angles_deg.iter().try_for_each(|deg| within(1.0, 170.0)(deg, &()))
}

/// A garde check: at most `RAYS_MAX` rays in total.
fn samples_fit([width, height]: [u32; 2]) -> impl FnOnce(&u32, &()) -> garde::Result {
    move |across, ()| {
        if !(1..=SAMPLES_MAX).contains(across) {
            return Err(garde::Error::new(format!("value {across} is not allowed: must be 1 to {SAMPLES_MAX}")));
        }
        let rays = u64::from(width) * u64::from(height) * u64::from(across * across);
        if rays <= RAYS_MAX as u64 {
            return Ok(());
        }
        let what = format!("{width} × {height} pixels of {across} × {across} rays are {rays}; at most {RAYS_MAX}");
        Err(garde::Error::new(format!("value {across} is not allowed: {what}")))
    }
}

/// A garde check: multipath is not implemented.
fn refused(multipath: &bool, (): &()) -> garde::Result {
    if !*multipath {
        return Ok(());
    }
    let why = "the tracers follow a sensor's own light to the first surface only; must be false";
    Err(garde::Error::new(format!("value true is not allowed: {why}")))
}

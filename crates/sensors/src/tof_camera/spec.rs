//! A time-of-flight camera's file.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::{non_negative, within};
use selene_scene::CameraView;
use serde::Deserialize;

use crate::augment::{Augments, Datum, fits};
use crate::lidar::RAYS_MAX;
use crate::spec::{lag, pixels, rate, ros_name};
use crate::{Intrinsics, MountSpec, SensorQos};

/// The most rays along a side of a pixel.
const SAMPLES_MAX: u32 = 8;
/// The highest modulation frequency taken, MHz.
const FREQUENCY_MAX_MHZ: u32 = 1000;
/// The fullest pixel taken: intensities leave in 16 bits.
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
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The optical frame: z forward, x right, y down; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where on that link it sits, if it has no link of its own.
    #[garde(dive)]
    #[serde(default)]
    pub mount: Option<Box<MountSpec>>,
    /// Images a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From the stamp to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topics are offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The stages that its images pass before they leave.
    #[serde(default)]
    #[garde(dive, custom(fits(Datum::DepthImages, self.rate_hz)))]
    pub stages: Augments,
    /// Columns.
    #[garde(custom(pixels))]
    pub width: u32,
    /// Rows.
    #[garde(custom(pixels))]
    pub height: u32,
    /// From the left edge of the image to the right one, degrees, 1 to 150. The lens is a pinhole.
    #[garde(custom(within(1.0, 150.0)))]
    pub horizontal_fov_deg: f64,
    /// Rays of a pixel along each side, 1 to 8, evenly spread: more than one give flying pixels at edges.
    #[garde(custom(samples_fit([self.width, self.height])))]
    pub samples_across: u32,
    /// One modulation frequency, or two that together tell farther distances apart, MHz, 1 to 1000.
    #[garde(custom(one_or_two))]
    pub frequencies_mhz: Vec<u32>,
    /// Demodulated over mean signal, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub modulation_contrast: f64,
    /// Mean power of its own light while it integrates, W.
    #[garde(custom(within(1e-6, 1e4)))]
    pub emitted_w: f64,
    /// Full angles over which that light is spread evenly, horizontal and vertical, degrees, 1 to 170; there is none
    /// outside.
    #[garde(custom(lit_angles))]
    pub illumination_deg: [f64; 2],
    /// The light's wavelength, nm, 550 to 1550.
    #[garde(custom(within(550.0, 1550.0)))]
    pub wavelength_nm: f64,
    /// Width of the band that the filter lets pass about it, nm, 1 to 400.
    #[garde(custom(within(1.0, 400.0)))]
    pub filter_width_nm: f64,
    /// Focal length over aperture, 0.5 to 64.
    #[garde(custom(within(0.5, 64.0)))]
    pub f_number: f64,
    /// Edge of a pixel, m.
    #[garde(custom(within(1e-7, 1e-3)))]
    pub pixel_pitch_m: f64,
    /// Part of the light that lens and filter let pass, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub transmission: f64,
    /// Electrons of a photon, with the pixel's fill factor, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub quantum_efficiency: f64,
    /// For how long light is collected at each frequency, all four phases together, s.
    #[garde(custom(within(1e-6, 0.1)))]
    pub integration_s: f64,
    /// Electrons that a pixel holds, 100 to 65535; fuller ones tell no distance.
    #[garde(custom(within(100.0, FULL_WELL_MAX_E)))]
    pub full_well_e: f64,
    /// Standard deviation of a sample beside shot noise, electrons.
    #[garde(custom(within(0.0, 1000.0)))]
    pub read_noise_e: f64,
    /// Pixels of a smaller amplitude tell no distance, electrons.
    #[garde(custom(non_negative))]
    pub amplitude_min_e: f64,
    /// Whether light that comes back by way of other surfaces counts.
    #[garde(custom(refused))]
    #[serde(default)]
    pub multipath: bool,
    /// Whether the distances leave as a cloud of points too.
    #[garde(skip)]
    #[serde(default)]
    pub cloud: bool,
    /// Whether what a perfect one would tell goes beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

impl TofCameraSpec {
    /// Focal lengths and principal point.
    #[must_use]
    pub fn intrinsics(&self) -> Intrinsics {
        let CameraView { fx_px, fy_px, cx_px, cy_px, .. } = self.view(Pose::identity());
        Intrinsics { fx_px, fy_px, cx_px, cy_px }
    }

    /// The image that a tracer is asked for from this pose of the optical frame: what it shows in sunlight.
    #[must_use]
    pub fn view(&self, world_from_optical: Pose) -> CameraView {
        CameraView::pinhole(world_from_optical, [self.width, self.height], self.horizontal_fov_deg.to_radians())
    }

    /// Direction of a place in the image in the optical frame, with z = 1.
    pub(super) fn direction(&self, column: f64, row: f64) -> Vector3<f64> {
        let Intrinsics { fx_px, fy_px, cx_px, cy_px } = self.intrinsics();
        Vector3::new((column - cx_px) / fx_px, (row - cy_px) / fy_px, 1.0)
    }

    /// The distance at which a frequency begins anew, c/2f, m.
    #[must_use]
    pub fn wrap_m(frequency_mhz: u32) -> f64 {
        LIGHT_M_S / (2e6 * f64::from(frequency_mhz))
    }

    /// The distance at which all frequencies begin anew, m: c/2f of their greatest common divisor.
    #[must_use]
    pub fn unambiguous_m(&self) -> f64 {
        Self::wrap_m(self.frequencies_mhz.iter().copied().fold(0, greatest_common_divisor).max(1))
    }

    /// Electrons of one phase's time that a radiance of 1 W/(m² sr) gives in a pixel: its area, the cone of the
    /// aperture π/4N², what passes the lens, and λ/hc electrons a joule.
    pub(super) fn electrons_of_radiance(&self) -> f64 {
        let etendue = self.pixel_pitch_m.powi(2) * std::f64::consts::PI / (4.0 * self.f_number.powi(2));
        let per_joule = self.quantum_efficiency * self.wavelength_nm * 1e-9 / (PLANCK_J_S * LIGHT_M_S);
        etendue * self.transmission * per_joule * self.integration_s / 4.0
    }

    /// Radiant intensity of its own light, W/sr: a pyramid of these full angles has 4 asin(sin a/2 · sin b/2).
    pub(super) fn intensity_w_sr(&self) -> f64 {
        let [a, b] = self.illumination_deg.map(|full_deg| (0.5 * full_deg).to_radians().sin());
        self.emitted_w / (4.0 * (a * b).asin())
    }

    /// Whether its own light goes in a direction of the optical frame.
    pub(super) fn lights(&self, direction: &Vector3<f64>) -> bool {
        let [wide, high] = self.illumination_deg.map(|full_deg| (0.5 * full_deg).to_radians().tan() * direction.z);
        direction.x.abs() <= wide && direction.y.abs() <= high
    }

    /// The part of sunlight that the filter lets pass: of a black body at the Sun's effective temperature,
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

/// A garde check: one frequency, or two that differ.
fn one_or_two(frequencies_mhz: &[u32], (): &()) -> garde::Result {
    let in_range = frequencies_mhz.iter().all(|mhz| (1..=FREQUENCY_MAX_MHZ).contains(mhz));
    let differ = matches!(frequencies_mhz, [_]) || matches!(frequencies_mhz, [a, b] if a != b);
    if in_range && differ {
        return Ok(());
    }
    let allowed = format!("must be one frequency or two that differ, 1 to {FREQUENCY_MAX_MHZ} MHz");
    Err(garde::Error::new(format!("value {frequencies_mhz:?} is not allowed: {allowed}")))
}

/// A garde check: angles of a light that shines ahead.
fn lit_angles(angles_deg: &[f64; 2], (): &()) -> garde::Result {
    angles_deg.iter().try_for_each(|deg| within(1.0, 170.0)(deg, &()))
}

/// A garde check: as many rays as a tracer takes at once.
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

/// A garde check: what is not there is not asked for.
fn refused(multipath: &bool, (): &()) -> garde::Result {
    if !*multipath {
        return Ok(());
    }
    let why = "the tracers follow a sensor's own light to the first surface only; must be false";
    Err(garde::Error::new(format!("value true is not allowed: {why}")))
}

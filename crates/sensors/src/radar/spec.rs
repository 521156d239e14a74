//! A radar's YAML spec.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, within};
use serde::Deserialize;

use super::surface::SurfacesSpec;
use crate::augment::{Augments, DataType, fits};
use crate::lidar::{RAYS_MAX, SelfHits};
use crate::range_finder::more_than;
use crate::spec::{lag, rate, ros_name};
use crate::{PlacementSpec, SensorQos};

/// Boltzmann's constant, J/K.
const BOLTZMANN_J_K: f64 = 1.380_649e-23;
/// The temperature that noise figures refer to, K.
const REFERENCE_K: f64 = 290.0;
/// Speed of light, m/s.
const LIGHT_M_S: f64 = 299_792_458.0;
/// The finest and the coarsest cell in range, m, and speed, m/s; the finest in angle, degrees. They keep the indices of
/// cells finite.
const RESOLUTION_MIN: f64 = 1e-3;
const RESOLUTION_MAX: f64 = 1e4;
/// The greatest range allowed, m.
const RANGE_MAX_M: f64 = 1e6;
/// The greatest range rate allowed, m/s.
const SPEED_MAX_M_S: f64 = 1e5;
/// The largest number of returns of a scan.
const RETURNS_MAX: u32 = 65_536;
/// The largest mean number of false alarms of a scan.
const FALSE_ALARMS_MAX: f64 = 1e4;

/// A radar.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RadarSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in: x forward, z up; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Scan rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from measurement to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topics.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the scans pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::RadarScan, self.rate_hz)))]
    pub stages: Augments,
    /// Where it sits on that link, looking along its own x axis; left out, its frame is the link's.
    #[garde(dive)]
    #[serde(default)]
    pub mount: Option<PlacementSpec>,
    /// Frequency, GHz, 1 to 300.
    #[garde(custom(within(1.0, 300.0)))]
    pub frequency_ghz: f64,
    /// Effective isotropic radiated power: transmitted power times antenna gain, dBm, −50 to 120.
    #[garde(custom(within(-50.0, 120.0)))]
    pub eirp_dbm: f64,
    /// Gain of the receiving antenna, dBi, −10 to 60.
    #[garde(custom(within(-10.0, 60.0)))]
    pub receive_gain_dbi: f64,
    /// Half-power beam widths of each antenna, azimuth and elevation, degrees, 0.1 to 360.
    #[garde(custom(beam_widths))]
    pub half_power_deg: [f64; 2],
    /// Noise figure of the receiver, relative to 290 K, dB, 0 to 40.
    #[garde(custom(within(0.0, 40.0)))]
    pub noise_figure_db: f64,
    /// Losses in propagation and processing, dB, 0 to 60.
    #[garde(custom(within(0.0, 60.0)))]
    pub losses_db: f64,
    /// Coherent integration time, up to the stamp, s, 1e-5 to 0.5; speeds are means over it.
    #[garde(custom(within(1e-5, 0.5)))]
    pub coherent_s: f64,
    /// Detection threshold: signal-to-noise ratio of a cell, dB, 0 to 60.
    #[garde(custom(within(0.0, 60.0)))]
    pub threshold_db: f64,
    /// How the power of a cell varies from scan to scan.
    #[garde(skip)]
    pub fluctuation: Fluctuation,
    /// Horizontal field of view, degrees, 0.1 to 180.
    #[garde(custom(within(0.1, 180.0)))]
    pub horizontal_fov_deg: f64,
    /// Vertical field of view, degrees, 0.1 to 170.
    #[garde(custom(within(0.1, 170.0)))]
    pub vertical_fov_deg: f64,
    /// Numbers of rays over the field of view, across and down.
    #[garde(custom(rays_fit))]
    pub rays: [u32; 2],
    /// Least range, m; nearer echoes are left out.
    #[garde(custom(non_negative))]
    pub min_range_m: f64,
    /// Greatest range, m, above `min_range_m`, at most 1e6; farther echoes are left out.
    #[garde(custom(more_than(self.min_range_m)), custom(within(0.0, RANGE_MAX_M)))]
    pub max_range_m: f64,
    /// Size of a resolution cell in range, m, 0.001 to 10 000.
    #[garde(custom(within(RESOLUTION_MIN, RESOLUTION_MAX)))]
    pub range_resolution_m: f64,
    /// Size of a resolution cell in azimuth, degrees, 0.001 to 360.
    #[garde(custom(within(RESOLUTION_MIN, 360.0)))]
    pub azimuth_resolution_deg: f64,
    /// Size of a resolution cell in elevation, degrees, 0.001 to 360; left out, the radar does not measure elevation.
    #[garde(inner(custom(within(RESOLUTION_MIN, 360.0))))]
    #[serde(default)]
    pub elevation_resolution_deg: Option<f64>,
    /// Size of a resolution cell in speed, m/s, 0.001 to 10 000.
    #[garde(custom(within(RESOLUTION_MIN, RESOLUTION_MAX)))]
    pub speed_resolution_m_s: f64,
    /// Unambiguous interval of range rates, m/s, negative for approaching targets, from −1e5 to 1e5: other rates are
    /// folded into it.
    #[garde(custom(low_and_high))]
    pub speed_limits_m_s: [f64; 2],
    /// Standard deviation of the range, m, 0 to 1e6.
    #[garde(custom(within(0.0, RANGE_MAX_M)))]
    pub range_sigma_m: f64,
    /// Standard deviation of the azimuth, degrees.
    #[garde(custom(within(0.0, 45.0)))]
    pub azimuth_sigma_deg: f64,
    /// Standard deviation of the elevation, degrees; used only if the radar measures it.
    #[garde(custom(within(0.0, 45.0)))]
    #[serde(default)]
    pub elevation_sigma_deg: f64,
    /// Standard deviation of the range rate, m/s, 0 to 1e5.
    #[garde(custom(within(0.0, SPEED_MAX_M_S)))]
    pub speed_sigma_m_s: f64,
    /// Mean number of false alarms per scan, 0 to 10 000.
    #[garde(custom(within(0.0, FALSE_ALARMS_MAX)))]
    pub false_alarms: f64,
    /// Largest number of returns per scan, 1 to 65 536: the strongest are reported.
    #[garde(custom(return_count))]
    pub returns_max: u32,
    /// Scattering by the surfaces of each class.
    #[garde(dive)]
    pub surfaces: SurfacesSpec,
    /// Whether echoes from the rover that carries it count.
    #[garde(skip)]
    #[serde(default)]
    pub self_hits: SelfHits,
    /// Whether the returns are also published as a point cloud.
    #[garde(skip)]
    #[serde(default)]
    pub cloud: bool,
    /// Whether the reading of a perfect radar is published beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// How the power of a cell varies from scan to scan (Swerling, Probability of detection for fluctuating targets, 1954).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fluctuation {
    /// One steady scatterer: the power varies only by receiver noise.
    Steady,
    /// Many scatterers of random phases: the power is exponentially distributed.
    Swerling1,
    /// No variation and no receiver noise: a radar that is set to have no noise. Not allowed in files.
    #[serde(skip)]
    Noiseless,
}

impl RadarSpec {
    /// Signal-to-noise ratio of a target of 1 m² at 1 m on the axis: P G_t G_r λ² T / ((4π)³ k T₀ F L).
    pub(super) fn snr_at_1_m(&self) -> f64 {
        let eirp_w = from_db(self.eirp_dbm - 30.0);
        let wavelength_m = LIGHT_M_S / (self.frequency_ghz * 1e9);
        let collected = eirp_w * from_db(self.receive_gain_dbi) * wavelength_m * wavelength_m * self.coherent_s;
        let noise = BOLTZMANN_J_K * REFERENCE_K * from_db(self.noise_figure_db + self.losses_db);
        collected / ((4.0 * std::f64::consts::PI).powi(3) * noise)
    }

    /// Signal-to-noise ratio of a target of this cross-section, m², on the axis at this range, m (the radar equation).
    #[must_use]
    pub fn snr(&self, cross_section_m2: f64, range_m: f64) -> f64 {
        self.snr_at_1_m() * cross_section_m2 / range_m.powi(4)
    }

    /// The detection threshold as a ratio of powers.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        from_db(self.threshold_db)
    }

    /// Range at which a target of this cross-section, m², on the axis just reaches the threshold, m.
    #[must_use]
    pub fn detection_range_m(&self, cross_section_m2: f64) -> f64 {
        (self.snr_at_1_m() * cross_section_m2 / self.threshold()).powf(0.25)
    }

    /// A range rate folded into the unambiguous interval, whose width is c/2f times the pulse repetition rate.
    #[must_use]
    pub fn folded_m_s(&self, rate_m_s: f64) -> f64 {
        let [low, high] = self.speed_limits_m_s;
        // Rates inside the interval stay exactly the same.
        if (low..high).contains(&rate_m_s) { rate_m_s } else { low + (rate_m_s - low).rem_euclid(high - low) }
    }
}

pub(super) fn from_db(db: f64) -> f64 {
    10.0_f64.powf(0.1 * db)
}

pub(super) fn to_db(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// A garde check: beam widths, 0.1° to 360°.
fn beam_widths(widths_deg: &[f64; 2], (): &()) -> garde::Result {
    widths_deg.iter().try_for_each(|deg| within(0.1, 360.0)(deg, &()))
}

/// A garde check: at least one ray and no more than `RAYS_MAX` in total.
fn rays_fit(rays: &[u32; 2], (): &()) -> garde::Result {
    let all = u64::from(rays[0]) * u64::from(rays[1]);
    if (1..=RAYS_MAX as u64).contains(&all) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {rays:?} is not allowed: together they must be 1 to {RAYS_MAX}")))
}

/// A garde check: two speeds in ascending order.
fn low_and_high(limits_m_s: &[f64; 2], (): &()) -> garde::Result {
    let [low, high] = *limits_m_s;
    if -SPEED_MAX_M_S <= low && low < high && high <= SPEED_MAX_M_S {
        return Ok(());
    }
    let allowed = format!("must be -{SPEED_MAX_M_S} to {SPEED_MAX_M_S}, the lower one first");
    Err(garde::Error::new(format!("value {limits_m_s:?} is not allowed: {allowed}")))
}

/// A garde check: the largest number of returns of a scan.
fn return_count(count: &u32, (): &()) -> garde::Result {
    crate::spec::count_within(1, RETURNS_MAX as usize, *count as usize)
}

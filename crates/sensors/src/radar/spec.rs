//! A radar's file.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, within};
use serde::Deserialize;

use super::surface::SurfacesSpec;
use crate::augment::{Augments, Datum, fits};
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
/// The finest and the coarsest cell in range, m, and speed, m/s; the finest in angles, degrees. So cells have numbers.
const RESOLUTION_MIN: f64 = 1e-3;
const RESOLUTION_MAX: f64 = 1e4;
/// The farthest range, m.
const RANGE_MAX_M: f64 = 1e6;
/// The fastest rate of range, m/s.
const SPEED_MAX_M_S: f64 = 1e5;
/// The most returns of a scan.
const RETURNS_MAX: u32 = 65_536;
/// The most false alarms of a scan, in the mean.
const FALSE_ALARMS_MAX: f64 = 1e4;

/// A radar.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RadarSpec {
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in: x forward, z up; with `mount`, the link that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Scans a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From measurement to hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How its topics are offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The stages that its scans pass before they leave.
    #[serde(default)]
    #[garde(dive, custom(fits(Datum::RadarScan, self.rate_hz)))]
    pub stages: Augments,
    /// Where it sits on that link, looking along its own x axis; none: in the link's frame.
    #[garde(dive)]
    #[serde(default)]
    pub mount: Option<PlacementSpec>,
    /// Frequency, GHz, 1 to 300.
    #[garde(custom(within(1.0, 300.0)))]
    pub frequency_ghz: f64,
    /// Power sent times gain of the sending antenna, dBm, −50 to 120.
    #[garde(custom(within(-50.0, 120.0)))]
    pub eirp_dbm: f64,
    /// Gain of the receiving antenna, dBi, −10 to 60.
    #[garde(custom(within(-10.0, 60.0)))]
    pub receive_gain_dbi: f64,
    /// Widths of the beam of each antenna between its points of half the power, azimuth and elevation, degrees, 0.1 to
    /// 360.
    #[garde(custom(beam_widths))]
    pub half_power_deg: [f64; 2],
    /// Noise of the receiver over that of a resistor at 290 K, dB, 0 to 40.
    #[garde(custom(within(0.0, 40.0)))]
    pub noise_figure_db: f64,
    /// What is lost on the way and in processing, dB, 0 to 60.
    #[garde(custom(within(0.0, 60.0)))]
    pub losses_db: f64,
    /// For how long echoes are summed in phase, up to the stamp, s, 1e-5 to 0.5; speeds are means over it.
    #[garde(custom(within(1e-5, 0.5)))]
    pub coherent_s: f64,
    /// Cells with this power over the noise are detected, dB, 0 to 60.
    #[garde(custom(within(0.0, 60.0)))]
    pub threshold_db: f64,
    /// How the power of a cell varies from scan to scan.
    #[garde(skip)]
    pub fluctuation: Fluctuation,
    /// What it sees from left to right, degrees, 0.1 to 180.
    #[garde(custom(within(0.1, 180.0)))]
    pub horizontal_fov_deg: f64,
    /// What it sees from top to bottom, degrees, 0.1 to 170.
    #[garde(custom(within(0.1, 170.0)))]
    pub vertical_fov_deg: f64,
    /// Rays over that, across and down.
    #[garde(custom(rays_fit))]
    pub rays: [u32; 2],
    /// Nearer echoes are left out, m.
    #[garde(custom(non_negative))]
    pub min_range_m: f64,
    /// Farther ones too, m; above `min_range_m`, 1e6 at most.
    #[garde(custom(more_than(self.min_range_m)), custom(within(0.0, RANGE_MAX_M)))]
    pub max_range_m: f64,
    /// Length of a resolution cell, m, 0.001 to 10 000.
    #[garde(custom(within(RESOLUTION_MIN, RESOLUTION_MAX)))]
    pub range_resolution_m: f64,
    /// Its width in azimuth, degrees, 0.001 to 360.
    #[garde(custom(within(RESOLUTION_MIN, 360.0)))]
    pub azimuth_resolution_deg: f64,
    /// The same in elevation, degrees, 0.001 to 360; none: the radar tells no elevation.
    #[garde(inner(custom(within(RESOLUTION_MIN, 360.0))))]
    #[serde(default)]
    pub elevation_resolution_deg: Option<f64>,
    /// The same in speed, m/s, 0.001 to 10 000.
    #[garde(custom(within(RESOLUTION_MIN, RESOLUTION_MAX)))]
    pub speed_resolution_m_s: f64,
    /// The lowest and the highest rate of range that it tells, m/s, below 0 of what comes nearer: others are told as
    /// one within. From −1e5 to 1e5.
    #[garde(custom(low_and_high))]
    pub speed_limits_m_s: [f64; 2],
    /// Standard deviation of the range, m, 0 to 1e6.
    #[garde(custom(within(0.0, RANGE_MAX_M)))]
    pub range_sigma_m: f64,
    /// Standard deviation of the azimuth, degrees.
    #[garde(custom(within(0.0, 45.0)))]
    pub azimuth_sigma_deg: f64,
    /// Standard deviation of the elevation, degrees; of effect where it is told.
    #[garde(custom(within(0.0, 45.0)))]
    #[serde(default)]
    pub elevation_sigma_deg: f64,
    /// Standard deviation of the rate of range, m/s, 0 to 1e5.
    #[garde(custom(within(0.0, SPEED_MAX_M_S)))]
    pub speed_sigma_m_s: f64,
    /// False alarms of a scan in the mean, 0 to 10 000.
    #[garde(custom(within(0.0, FALSE_ALARMS_MAX)))]
    pub false_alarms: f64,
    /// Returns of a scan at most, 1 to 65 536: the strongest are told.
    #[garde(custom(return_count))]
    pub returns_max: u32,
    /// How surfaces send waves back.
    #[garde(dive)]
    pub surfaces: SurfacesSpec,
    /// Whether echoes of the rover that carries it count.
    #[garde(skip)]
    #[serde(default)]
    pub self_hits: SelfHits,
    /// Whether the returns leave as a cloud of points too.
    #[garde(skip)]
    #[serde(default)]
    pub cloud: bool,
    /// Whether what a perfect one would tell goes beside it, under `ground_truth/`.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// How the power of a cell varies from scan to scan (Swerling, Probability of detection for fluctuating targets, 1954).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fluctuation {
    /// Not, but for the noise: one scatterer.
    Steady,
    /// As the sum of many scatterers of random phases: its power is exponentially distributed.
    Swerling1,
    /// Not, and without the receiver's noise: a radar that is set to have no noise. No file says so.
    #[serde(skip)]
    Noiseless,
}

impl RadarSpec {
    /// Power over the noise of a target of 1 m² at 1 m in the middle of the beam: P G_t G_r λ² T / ((4π)³ k T₀ F L).
    pub(super) fn snr_at_1_m(&self) -> f64 {
        let eirp_w = from_db(self.eirp_dbm - 30.0);
        let wavelength_m = LIGHT_M_S / (self.frequency_ghz * 1e9);
        let collected = eirp_w * from_db(self.receive_gain_dbi) * wavelength_m * wavelength_m * self.coherent_s;
        let noise = BOLTZMANN_J_K * REFERENCE_K * from_db(self.noise_figure_db + self.losses_db);
        collected / ((4.0 * std::f64::consts::PI).powi(3) * noise)
    }

    /// Power over the noise of a target of a cross-section in the middle of the beam (the radar equation).
    #[must_use]
    pub fn snr(&self, cross_section_m2: f64, range_m: f64) -> f64 {
        self.snr_at_1_m() * cross_section_m2 / range_m.powi(4)
    }

    /// The threshold as a ratio.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        from_db(self.threshold_db)
    }

    /// Where a target of a cross-section in the middle of the beam just has the threshold's power, m.
    #[must_use]
    pub fn detection_range_m(&self, cross_section_m2: f64) -> f64 {
        (self.snr_at_1_m() * cross_section_m2 / self.threshold()).powf(0.25)
    }

    /// A rate of range as one within the limits, which differ by c/2f times the rate of its pulses.
    #[must_use]
    pub fn folded_m_s(&self, rate_m_s: f64) -> f64 {
        let [low, high] = self.speed_limits_m_s;
        // What is within stays to the last bit.
        if (low..high).contains(&rate_m_s) { rate_m_s } else { low + (rate_m_s - low).rem_euclid(high - low) }
    }
}

pub(super) fn from_db(db: f64) -> f64 {
    10.0_f64.powf(0.1 * db)
}

pub(super) fn to_db(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// A garde check: widths of a beam.
fn beam_widths(widths_deg: &[f64; 2], (): &()) -> garde::Result {
    widths_deg.iter().try_for_each(|deg| within(0.1, 360.0)(deg, &()))
}

/// A garde check: some rays each way, no more than a tracer takes at once.
fn rays_fit(rays: &[u32; 2], (): &()) -> garde::Result {
    let all = u64::from(rays[0]) * u64::from(rays[1]);
    if (1..=RAYS_MAX as u64).contains(&all) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {rays:?} is not allowed: together they must be 1 to {RAYS_MAX}")))
}

/// A garde check: two speeds in order.
fn low_and_high(limits_m_s: &[f64; 2], (): &()) -> garde::Result {
    let [low, high] = *limits_m_s;
    if -SPEED_MAX_M_S <= low && low < high && high <= SPEED_MAX_M_S {
        return Ok(());
    }
    let allowed = format!("must be -{SPEED_MAX_M_S} to {SPEED_MAX_M_S}, the lower one first");
    Err(garde::Error::new(format!("value {limits_m_s:?} is not allowed: {allowed}")))
}

/// A garde check: returns of a scan.
fn return_count(count: &u32, (): &()) -> garde::Result {
    crate::spec::count_within(1, RETURNS_MAX as usize, *count as usize)
}

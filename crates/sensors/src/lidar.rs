//! A spinning lidar (SENSOR §3.1). Each beam leaves at its own instant from where the
//! sensor then is; beams fire channel by channel, column by column, and the azimuth
//! turns on between them. A scan is one turn that begins behind the sensor, so that its
//! seam is not ahead. A diffuse surface sends back ρ cos i / r²; a beam is lost where that
//! is less than what a facing 10 % target returns at `range_at_10_percent_m`. Noise is on
//! range and the two angles, never on x, y, z. Beam divergence and further returns are
//! not modelled yet.
//!
//! Points are as Velodyne's driver has them: in the sensor's frame at the point's own
//! instant (not deskewed), stamped with the scan's start, `time` seconds after it, rings
//! counted from the lowest channel up. The cloud is unorganised: beams without a return
//! are left out (REP-117's infinities are for organised scans).

use nalgebra::Vector3;
use selene_base::random::stream_at;
use selene_base::{Pose, SimTime, one_of};
use selene_scene::{Beam, BeamReturn};
use serde::Deserialize;

use garde::Validate;
use selene_base::input::{non_negative, positive, within};

use crate::noise::gaussian;
use crate::spec::{count_within, lag, pixels, rate, ros_name};
use crate::{Schedule, SensorQos};

/// The most channels taken.
const CHANNELS_MAX: usize = 1024;
/// The reflectance that `range_at_10_percent_m` speaks of.
const REFERENCE_REFLECTANCE: f64 = 0.1;
/// Intensity of a perfectly white surface that faces the beam, as Velodyne scales it.
const INTENSITY_FULL: f64 = 255.0;

/// A spinning lidar of a rover.
#[derive(Clone, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct LidarSpec {
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in: x forward, z along the spin axis.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Turns a second.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// From the end of a scan to its hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How the topic is offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The channels' elevations.
    #[garde(dive, custom(one_way))]
    pub channels: Channels,
    /// Columns of one turn.
    #[garde(custom(pixels))]
    pub columns: u32,
    /// Sense of rotation, seen from above.
    #[garde(skip)]
    pub spin: Spin,
    /// From one channel's firing to the next one's, s.
    #[garde(custom(non_negative), custom(fits_in_a_column(self.column_s(), self.channels.in_firing_order_deg().len())))]
    pub firing_interval_s: f64,
    /// Nearer returns are left out, m.
    #[garde(custom(non_negative))]
    pub min_range_m: f64,
    /// Farther returns are left out, m; above `min_range_m`.
    #[garde(custom(farther_than(self.min_range_m)))]
    pub max_range_m: f64,
    /// Where a facing target of 10 % reflectance is just seen, m.
    #[garde(custom(positive))]
    pub range_at_10_percent_m: f64,
    /// Standard deviation of the range, m.
    #[garde(custom(non_negative))]
    pub range_sigma_m: f64,
    /// Standard deviation of azimuth and of elevation, degrees.
    #[garde(custom(within(0.0, 10.0)))]
    pub angle_sigma_deg: f64,
}

/// The channels of a lidar: either a table or an even spread.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Elevations in firing order, degrees.
    #[garde(custom(elevations))]
    pub elevations_deg: Option<Vec<f64>>,
    /// Evenly spaced.
    #[garde(dive)]
    pub uniform: Option<UniformChannels>,
}

/// Channels evenly spaced from the lowest to the highest, fired in that order.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields)]
pub struct UniformChannels {
    /// How many.
    #[garde(custom(|count: &u32, _: &()| count_within(2, CHANNELS_MAX, *count as usize)))]
    pub count: u32,
    /// Elevation of the first, degrees.
    #[garde(custom(within(-90.0, 90.0)))]
    pub lowest_deg: f64,
    /// Elevation of the last, degrees.
    #[garde(custom(within(-90.0, 90.0)))]
    pub highest_deg: f64,
}

/// Sense of rotation, seen from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// Azimuth falls with time, as on a Velodyne.
    Clockwise,
    /// Azimuth grows with time.
    CounterClockwise,
}

impl Channels {
    /// Elevations in firing order; empty when neither or both are given, which
    /// validation refuses.
    fn in_firing_order_deg(&self) -> Vec<f64> {
        match (&self.elevations_deg, &self.uniform) {
            (Some(table), None) => table.clone(),
            (None, Some(uniform)) => uniform.elevations_deg(),
            _ => Vec::new(),
        }
    }
}

impl UniformChannels {
    fn elevations_deg(&self) -> Vec<f64> {
        let step = (self.highest_deg - self.lowest_deg) / f64::from(self.count.saturating_sub(1).max(1));
        (0..self.count).map(|i| self.lowest_deg + step * f64::from(i)).collect()
    }
}

/// A garde check: one of the two ways to give channels, and not both.
fn one_way(channels: &Channels, (): &()) -> garde::Result {
    let (table, uniform) = (channels.elevations_deg.as_ref().map(drop), channels.uniform.map(drop));
    one_of([("elevations_deg", table), ("uniform", uniform)]).map_err(garde::Error::new)
}

/// A garde check: a table of elevations.
fn elevations(table: &Option<Vec<f64>>, (): &()) -> garde::Result {
    let Some(table) = table else { return Ok(()) };
    count_within(1, CHANNELS_MAX, table.len())?;
    table.iter().try_for_each(|elevation_deg| within(-90.0, 90.0)(elevation_deg, &()))
}

impl LidarSpec {
    fn column_s(&self) -> f64 {
        1.0 / (self.rate_hz * f64::from(self.columns))
    }
}

/// A garde check: finite and beyond the nearest return, or there would be none at all.
fn farther_than(min_range_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |max_range_m, ()| {
        if max_range_m.is_finite() && *max_range_m > min_range_m {
            return Ok(());
        }
        let allowed = format!("must be more than min_range_m ({min_range_m}) and finite");
        Err(garde::Error::new(format!("value {max_range_m} is not allowed: {allowed}")))
    }
}

/// A garde check: one column's firings end before the next column begins.
fn fits_in_a_column(column_s: f64, channels: usize) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |interval_s, ()| {
        let longest_s = column_s / channels.max(1) as f64;
        if *interval_s <= longest_s {
            return Ok(());
        }
        let why = format!("{channels} channels fire in each column and a column lasts {column_s:.4e} s");
        Err(garde::Error::new(format!("value {interval_s} is not allowed: must be {longest_s:.4e} or less, as {why}")))
    }
}

/// A point of a cloud, in the sensor's frame at the point's own instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LidarPoint {
    /// Forward, m.
    pub x: f32,
    /// Left, m.
    pub y: f32,
    /// Up, m.
    pub z: f32,
    /// 255 × reflectance × cosine of incidence: corrected for range.
    pub intensity: f32,
    /// Channel, from the lowest up.
    pub ring: u16,
    /// After the scan's start, s.
    pub time: f32,
}

/// One firing of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Firing {
    after_start: SimTime,
    azimuth_rad: f64,
    elevation_rad: f64,
    ring: u16,
}

/// A lidar with its firing table worked out.
#[derive(Clone, Debug)]
pub struct Lidar {
    spec: LidarSpec,
    firings: Vec<Firing>,
}

impl Lidar {
    /// Works out when and whither each beam of a scan goes.
    #[must_use]
    pub fn new(spec: LidarSpec) -> Self {
        let elevations_deg = spec.channels.in_firing_order_deg();
        let rings = rings(&elevations_deg);
        let (columns, column_s) = (spec.columns, spec.column_s());
        let firing = |column: u32, channel: usize| {
            let after_s = f64::from(column) * column_s + channel as f64 * spec.firing_interval_s;
            Firing {
                after_start: SimTime::from_secs_f64(after_s),
                azimuth_rad: azimuth_rad(spec.spin, after_s * spec.rate_hz),
                elevation_rad: elevations_deg[channel].to_radians(),
                ring: rings[channel],
            }
        };
        let channels = elevations_deg.len();
        let firings = (0..columns).flat_map(|column| (0..channels).map(move |c| (column, c)));
        Self { firings: firings.map(|(column, channel)| firing(column, channel)).collect(), spec }
    }

    /// What it was made from.
    #[must_use]
    pub fn spec(&self) -> &LidarSpec {
        &self.spec
    }

    /// From the first firing of a scan to the last one.
    #[must_use]
    pub fn scan_duration(&self) -> SimTime {
        self.firings.last().map_or(SimTime::ZERO, |firing| firing.after_start)
    }

    /// When scans start; one is handed over when it is complete and its lag is over.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        let until_due = self.scan_duration() + SimTime::from_secs_f64(self.spec.lag_s);
        Schedule::new(self.spec.rate_hz, SimTime::ZERO, until_due)
    }

    /// The beams of the scan that starts at `scan_start`, by firing; `world_from_lidar_at`
    /// gives the sensor's pose at an instant. None where it does not know one of them.
    #[must_use]
    pub fn beams(
        &self,
        scan_start: SimTime,
        world_from_lidar_at: impl Fn(SimTime) -> Option<Pose>,
    ) -> Option<Vec<Beam>> {
        let beam = |firing: &Firing| {
            let world_from_lidar = world_from_lidar_at(scan_start + firing.after_start)?;
            let direction = world_from_lidar.rotation * direction(firing.azimuth_rad, firing.elevation_rad);
            let origin_m = world_from_lidar.translation.vector.into();
            Some(Beam { origin_m, direction: direction.map(|c| c as f32).into() })
        };
        self.firings.iter().map(beam).collect()
    }

    /// The cloud of scan number `index` from what its beams met, in the order of
    /// `beams`; `seed` is the scenario's.
    #[must_use]
    pub fn points(&self, returns: &[BeamReturn], seed: u64, index: u64) -> Vec<LidarPoint> {
        let mut rng = stream_at(seed, &self.spec.name, index);
        let measure = |(firing, met): (&Firing, &BeamReturn)| {
            // Drawn for lost beams too: one more rock must not shift the others' noise.
            let noise = [gaussian(&mut rng), gaussian(&mut rng), gaussian(&mut rng)];
            self.sees(met).then(|| self.point(firing, met, noise))
        };
        self.firings.iter().zip(returns).filter_map(measure).collect()
    }

    /// Whether a return is in range and strong enough.
    fn sees(&self, met: &BeamReturn) -> bool {
        let range_m = f64::from(met.range_m);
        let faintest = REFERENCE_REFLECTANCE / self.spec.range_at_10_percent_m.powi(2);
        (self.spec.min_range_m..=self.spec.max_range_m).contains(&range_m)
            && facing_reflectance(met) >= faintest * range_m.powi(2)
    }

    fn point(&self, firing: &Firing, met: &BeamReturn, [n_range, n_azimuth, n_elevation]: [f64; 3]) -> LidarPoint {
        let angle_sigma = self.spec.angle_sigma_deg.to_radians();
        let range_m = f64::from(met.range_m) + self.spec.range_sigma_m * n_range;
        let toward =
            direction(firing.azimuth_rad + angle_sigma * n_azimuth, firing.elevation_rad + angle_sigma * n_elevation);
        let p = (toward * range_m).map(|c| c as f32);
        LidarPoint {
            x: p.x,
            y: p.y,
            z: p.z,
            intensity: (INTENSITY_FULL * facing_reflectance(met)) as f32,
            ring: firing.ring,
            time: firing.after_start.secs_f64() as f32,
        }
    }
}

/// Reflectance times cosine of incidence.
fn facing_reflectance(met: &BeamReturn) -> f64 {
    f64::from(met.reflectance) * f64::from(met.cos_incidence)
}

/// Azimuth from x toward y after `turns` of a scan, which begins behind.
fn azimuth_rad(spin: Spin, turns: f64) -> f64 {
    let half_turns_from_ahead = 1.0 - 2.0 * turns;
    match spin {
        Spin::Clockwise => half_turns_from_ahead * std::f64::consts::PI,
        Spin::CounterClockwise => -half_turns_from_ahead * std::f64::consts::PI,
    }
}

fn direction(azimuth_rad: f64, elevation_rad: f64) -> Vector3<f64> {
    let (sin_az, cos_az) = azimuth_rad.sin_cos();
    let (sin_el, cos_el) = elevation_rad.sin_cos();
    Vector3::new(cos_el * cos_az, cos_el * sin_az, sin_el)
}

/// The rank of each channel by elevation, lowest first.
fn rings(elevations_deg: &[f64]) -> Vec<u16> {
    let mut order: Vec<usize> = (0..elevations_deg.len()).collect();
    order.sort_by(|a, b| elevations_deg[*a].total_cmp(&elevations_deg[*b]));
    let mut rings = vec![0; order.len()];
    for (ring, channel) in (0u16..).zip(order) {
        rings[channel] = ring;
    }
    rings
}

#[cfg(test)]
#[path = "lidar_tests.rs"]
mod tests;

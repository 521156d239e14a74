//! The scan pattern in a lidar's file: exactly one of `spinning`, `raster`, `pattern`, `rosette` and `flash`.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::one_of;
use serde::Deserialize;

use super::pattern::PatternSpec;
use crate::spec::{PIXELS_MAX, RATE_MAX_HZ, count_within, pixels, rate};

/// The largest number of channels.
const CHANNELS_MAX: usize = 1024;
/// The largest number of firings of a scan.
pub(super) const FIRINGS_MAX: usize = 1 << 20;
/// The largest number of rays of a scan: firings times rays of a beam.
pub(crate) const RAYS_MAX: usize = 1 << 22;
/// Relative tolerance of sums of times.
const ROUNDING: f64 = 1e-9;

/// The scan pattern of a lidar: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScannerSpec {
    /// Channels on a rotating head.
    #[garde(dive)]
    pub spinning: Option<SpinningSpec>,
    /// Row by row over a field of view.
    #[garde(dive)]
    pub raster: Option<RasterScanSpec>,
    /// Beams from a file.
    #[garde(dive)]
    pub pattern: Option<PatternSpec>,
    /// A rosette drawn by two rotating prisms.
    #[garde(dive)]
    pub rosette: Option<RosetteSpec>,
    /// The whole field of view at one instant.
    #[garde(dive)]
    pub flash: Option<FlashSpec>,
}

/// Channels on a head that rotates uniformly; a scan is one turn and begins behind.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SpinningSpec {
    /// The channels.
    #[garde(dive, custom(one_way))]
    pub channels: Channels,
    /// Sense of rotation, seen from above.
    #[garde(skip)]
    pub spin: Spin,
    /// Period of the firing cycle of all channels, s, for a device that is fired by its clock: cycles are counted
    /// from time zero and continue across the seam of a turn. Give either this or `columns`.
    #[garde(inner(custom(positive)), custom(or_columns(self.columns.is_some())))]
    #[serde(default)]
    pub cycle_s: Option<f64>,
    /// Columns per turn, for a device that is fired by its encoder. Give either this or `cycle_s`.
    #[garde(inner(custom(pixels)))]
    #[serde(default)]
    pub columns: Option<u32>,
    /// Time from one firing of a column to the next, s.
    #[garde(custom(non_negative))]
    pub firing_interval_s: f64,
    /// Channels that fire simultaneously, 1 to 1024.
    #[garde(custom(|count: &u32, _: &()| count_within(1, CHANNELS_MAX, *count as usize)))]
    #[serde(default = "one")]
    pub group: u32,
    /// The scan rates that the device supports, Hz; empty for any.
    #[garde(inner(custom(within(1e-3, RATE_MAX_HZ))))]
    #[serde(default)]
    pub rates_hz: Vec<f64>,
}

/// The channels of a lidar: either a table or evenly spaced.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Elevations in firing order, degrees.
    #[garde(custom(elevations))]
    #[serde(default)]
    pub elevations_deg: Option<Vec<f64>>,
    /// Evenly spaced elevations.
    #[garde(dive)]
    #[serde(default)]
    pub uniform: Option<UniformChannels>,
    /// Azimuth offset of each channel from its column, in firing order, degrees counter-clockwise, −30 to 30. A list
    /// whose length divides the number of channels is repeated. Left out, there is no offset.
    #[garde(custom(repeats(self.count())))]
    #[serde(default)]
    pub azimuths_deg: Option<Vec<f64>>,
}

/// Channels evenly spaced from the lowest to the highest, fired in that order.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct UniformChannels {
    /// Number of channels.
    #[garde(custom(|count: &u32, _: &()| count_within(2, CHANNELS_MAX, *count as usize)))]
    pub count: u32,
    /// Elevation of the first channel, degrees.
    #[garde(custom(within(-90.0, 90.0)))]
    pub lowest_deg: f64,
    /// Elevation of the last channel, degrees.
    #[garde(custom(within(-90.0, 90.0)))]
    pub highest_deg: f64,
}

/// Sense of rotation, seen from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// Azimuth decreases with time, as on a Velodyne or an Ouster.
    Clockwise,
    /// Azimuth increases with time.
    CounterClockwise,
}

/// A raster row by row, from the upper left, over a field of view centred on x; each point is in the middle of its
/// cell.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RasterScanSpec {
    /// Points per row.
    #[garde(custom(pixels))]
    pub columns: u32,
    /// Number of rows.
    #[garde(custom(pixels))]
    pub rows: u32,
    /// Field of view along the azimuth, degrees.
    #[garde(custom(within(0.1, 360.0)))]
    pub horizontal_fov_deg: f64,
    /// Field of view along the elevation, degrees.
    #[garde(custom(within(0.1, 180.0)))]
    pub vertical_fov_deg: f64,
    /// Time from the first point of a scan to the end of the last, s; at most a scan period.
    #[garde(custom(positive))]
    pub scan_s: f64,
}

/// Two thin prisms that rotate about x, each deflecting the beam by half of the largest angle. Small angles add as
/// vectors. The pattern continues from scan to scan and fills the field of view.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RosetteSpec {
    /// Points per second.
    #[garde(custom(within(1.0, 1e8)))]
    pub points_per_s: f64,
    /// Rotation rate of each prism, Hz; positive is counter-clockwise, seen from the front (looking along −x).
    #[garde(custom(both_turn))]
    pub prisms_hz: [f64; 2],
    /// Angle from the axis to the edge of the field of view, degrees.
    #[garde(custom(within(0.1, 80.0)))]
    pub half_angle_deg: f64,
}

/// The whole field of view centred on x at one instant; each point is in the middle of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Points per row.
    #[garde(custom(pixels))]
    pub columns: u32,
    /// Number of rows.
    #[garde(custom(pixels))]
    pub rows: u32,
    /// Field of view along the azimuth, degrees.
    #[garde(custom(within(0.1, 360.0)))]
    pub horizontal_fov_deg: f64,
    /// Field of view along the elevation, degrees.
    #[garde(custom(within(0.1, 180.0)))]
    pub vertical_fov_deg: f64,
}

impl ScannerSpec {
    /// Whether its points have rows and columns.
    pub(super) fn is_grid(&self) -> bool {
        self.spinning.is_some() || self.raster.is_some() || self.flash.is_some()
    }

    /// Rows and columns of a scan, if it has them.
    pub(super) fn grid(&self, rate_hz: f64) -> Option<[usize; 2]> {
        let of_spinning = |spec: &SpinningSpec| [spec.channels.count(), spec.columns_at_most(rate_hz)];
        let of_raster = |spec: &RasterScanSpec| [spec.rows as usize, spec.columns as usize];
        let of_flash = |spec: &FlashSpec| [spec.rows as usize, spec.columns as usize];
        let spinning = self.spinning.as_ref().map(of_spinning);
        spinning.or(self.raster.as_ref().map(of_raster)).or(self.flash.as_ref().map(of_flash))
    }

    /// Number of firings of a scan; 0 for a pattern, whose file has the number.
    fn firings(&self, rate_hz: f64) -> usize {
        let grid = self.grid(rate_hz).map(|[rows, columns]| rows.saturating_mul(columns));
        grid.or(self.rosette.map(|rosette| rosette.firings(rate_hz))).unwrap_or(0)
    }
}

impl SpinningSpec {
    /// Time from a column's first firing to its last, s.
    fn last_firing_s(&self) -> f64 {
        let groups = self.channels.count().div_ceil(self.group.max(1) as usize);
        groups.saturating_sub(1) as f64 * self.firing_interval_s
    }

    /// Columns per turn: the given number or, for a device fired by its clock, the largest number of cycles that have a
    /// firing in a turn.
    pub(super) fn columns_at_most(&self, rate_hz: f64) -> usize {
        let by_clock = |cycle_s: f64| ((1.0 / rate_hz + self.last_firing_s()) / cycle_s).ceil() as usize;
        self.columns.map_or(self.cycle_s.map_or(0, by_clock), |columns| columns as usize)
    }

    /// Whether a turn is long enough for a whole column.
    fn has_a_column(&self, rate_hz: f64) -> bool {
        self.cycle_s.is_none() || self.last_firing_s() <= 1.0 / rate_hz
    }

    /// Time from one column to the next, s.
    pub(super) fn column_s(&self, rate_hz: f64) -> f64 {
        self.cycle_s.unwrap_or(1.0 / (rate_hz * f64::from(self.columns.unwrap_or(1))))
    }

    /// Whether columns and cycle are valid, so that other checks can compute with them.
    fn is_sound(&self) -> bool {
        let columns = self.columns.is_none_or(|columns| (1..=PIXELS_MAX).contains(&(columns as usize)));
        columns && self.cycle_s.is_none_or(|cycle_s| cycle_s > 0.0) && self.cycle_s.is_some() != self.columns.is_some()
    }

    /// Refuses firings that do not end before the next column begins.
    fn fits(&self, rate_hz: f64) -> garde::Result {
        let channels = self.channels.count();
        let groups = channels.div_ceil(self.group.max(1) as usize).max(1);
        let longest_s = self.column_s(rate_hz) / groups as f64;
        if self.firing_interval_s > longest_s * (1.0 + ROUNDING) {
            let (interval_s, column_s) = (self.firing_interval_s, self.column_s(rate_hz));
            return Err(garde::Error::new(format!(
                "firing_interval_s: value {interval_s} is not allowed: must be {longest_s:.4e} or less, as {channels} \
                 channels fire {} at a time in each column and a column lasts {column_s:.4e} s",
                self.group
            )));
        }
        if !self.has_a_column(rate_hz) {
            let what = format!("cycle_s: no column is over in a turn of {:.4e} s", 1.0 / rate_hz);
            return Err(garde::Error::new(what));
        }
        Ok(())
    }
}

impl Channels {
    /// Number of channels; 0 when neither or both ways are given, which validation refuses.
    pub(super) fn count(&self) -> usize {
        match (&self.elevations_deg, &self.uniform) {
            (Some(table), None) => table.len(),
            (None, Some(uniform)) => uniform.count as usize,
            _ => 0,
        }
    }

    /// Elevations in firing order, degrees.
    pub(super) fn in_firing_order_deg(&self) -> Vec<f64> {
        match (&self.elevations_deg, &self.uniform) {
            (Some(table), None) => table.clone(),
            (None, Some(uniform)) => uniform.elevations_deg(),
            _ => Vec::new(),
        }
    }

    /// Azimuth offset of a channel from its column, degrees.
    pub(super) fn azimuth_deg(&self, channel: usize) -> f64 {
        let given = self.azimuths_deg.as_ref().filter(|given| !given.is_empty());
        given.map_or(0.0, |given| given[channel % given.len()])
    }
}

impl UniformChannels {
    pub(super) fn elevations_deg(&self) -> Vec<f64> {
        let step = (self.highest_deg - self.lowest_deg) / f64::from(self.count.saturating_sub(1).max(1));
        (0..self.count).map(|i| self.lowest_deg + step * f64::from(i)).collect()
    }
}

impl RosetteSpec {
    /// Number of points per scan.
    pub(super) fn firings(&self, rate_hz: f64) -> usize {
        (self.points_per_s / rate_hz * (1.0 + ROUNDING)) as usize
    }
}

/// Whether it is a valid sampling rate.
fn is_rate(rate_hz: f64) -> bool {
    rate(&rate_hz, &()).is_ok()
}

fn one() -> u32 {
    1
}

/// A garde check: exactly one scanner.
pub(super) fn one_scanner(scanner: &ScannerSpec, (): &()) -> garde::Result {
    one_of([
        ("spinning", scanner.spinning.as_ref().map(drop)),
        ("raster", scanner.raster.as_ref().map(drop)),
        ("pattern", scanner.pattern.as_ref().map(drop)),
        ("rosette", scanner.rosette.as_ref().map(drop)),
        ("flash", scanner.flash.as_ref().map(drop)),
    ])
    .map_err(garde::Error::new)
}

/// A garde check: a scan ends within its period and is not too large.
pub(super) fn fits(rate_hz: f64, samples: u32) -> impl FnOnce(&ScannerSpec, &()) -> garde::Result {
    move |scanner, ()| {
        // Other checks already report an invalid rate or scanner.
        let is_sound = scanner.spinning.as_ref().is_none_or(SpinningSpec::is_sound);
        if !is_rate(rate_hz) || !is_sound {
            return Ok(());
        }
        if let Some(spinning) = &scanner.spinning {
            spinning.fits(rate_hz)?;
        }
        if let Some(RasterScanSpec { scan_s, .. }) = scanner.raster
            && scan_s * rate_hz > 1.0 + ROUNDING
        {
            let period_s = 1.0 / rate_hz;
            let what =
                format!("scan_s: value {scan_s} is not allowed: must be {period_s:.4e} or less, a scan's period");
            return Err(garde::Error::new(what));
        }
        if let Some(rosette) = scanner.rosette
            && rosette.firings(rate_hz) == 0
        {
            return Err(garde::Error::new(format!("points_per_s: must be {rate_hz} or more, or scans have no point")));
        }
        few_enough(scanner.firings(rate_hz), samples).map_err(garde::Error::new)
    }
}

/// Refuses scans of too many firings or rays.
pub(super) fn few_enough(firings: usize, samples: u32) -> Result<(), String> {
    let rays = firings.saturating_mul(samples.max(1) as usize);
    if firings > FIRINGS_MAX {
        return Err(format!("a scan would have {firings} beams; at most {FIRINGS_MAX} are taken"));
    }
    if rays > RAYS_MAX {
        return Err(format!("a scan would have {firings} beams of {samples} rays; at most {RAYS_MAX} rays are taken"));
    }
    Ok(())
}

/// A garde check: one of the scan rates that the device supports.
pub(super) fn served(scanner: &ScannerSpec) -> impl FnOnce(&f64, &()) -> garde::Result {
    let rates_hz = scanner.spinning.as_ref().map_or::<&[f64], _>(&[], |spinning| spinning.rates_hz.as_slice());
    move |rate_hz, ()| {
        if rates_hz.is_empty() || rates_hz.contains(rate_hz) || !is_rate(*rate_hz) {
            return Ok(());
        }
        let known: Vec<String> = rates_hz.iter().map(f64::to_string).collect();
        let allowed = format!("the device turns at {} Hz", known.join(", "));
        Err(garde::Error::new(format!("value {rate_hz} is not allowed: {allowed}")))
    }
}

/// A garde check: exactly one of the two ways to give channels.
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

/// A garde check: azimuths of all channels, or a number of them that divides it.
fn repeats(channels: usize) -> impl FnOnce(&Option<Vec<f64>>, &()) -> garde::Result {
    move |table, ()| {
        let Some(table) = table else { return Ok(()) };
        if table.is_empty() || !channels.is_multiple_of(table.len()) {
            let what = format!("{} numbers are not allowed: must be {channels} or a whole part of them", table.len());
            return Err(garde::Error::new(what));
        }
        table.iter().try_for_each(|azimuth_deg| within(-30.0, 30.0)(azimuth_deg, &()))
    }
}

/// A garde check: exactly one of `cycle_s` and `columns`.
fn or_columns(columns: bool) -> impl FnOnce(&Option<f64>, &()) -> garde::Result {
    move |cycle_s, ()| {
        one_of([("cycle_s", cycle_s.map(drop)), ("columns", columns.then_some(()))]).map_err(garde::Error::new)
    }
}

/// A garde check: both prisms rotate, at 0.001 to 10 000 Hz either way.
fn both_turn(prisms_hz: &[f64; 2], (): &()) -> garde::Result {
    if prisms_hz.iter().all(|hz| (1e-3..=1e4).contains(&hz.abs())) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {prisms_hz:?} is not allowed: each must turn, 0.001 to 10000 Hz either way")))
}

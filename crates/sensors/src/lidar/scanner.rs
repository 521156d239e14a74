//! How a lidar scans, as its file says it: exactly one of `spinning`, `raster`, `pattern`, `rosette` and `flash`.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::one_of;
use serde::Deserialize;

use super::pattern::PatternSpec;
use crate::spec::{PIXELS_MAX, RATE_MAX_HZ, count_within, pixels, rate};

/// The most channels taken.
const CHANNELS_MAX: usize = 1024;
/// The most firings of a scan.
pub(super) const FIRINGS_MAX: usize = 1 << 20;
/// The most rays of a scan: firings times rays of a beam.
pub(crate) const RAYS_MAX: usize = 1 << 22;
/// What a sum of times may be off by, relative.
const ROUNDING: f64 = 1e-9;

/// How a lidar scans: just one of these.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ScannerSpec {
    /// Channels on a head that turns.
    #[garde(dive)]
    pub spinning: Option<SpinningSpec>,
    /// Row by row over a field of view.
    #[garde(dive)]
    pub raster: Option<RasterSpec>,
    /// As a file tells.
    #[garde(dive)]
    pub pattern: Option<PatternSpec>,
    /// By two prisms that turn.
    #[garde(dive)]
    pub rosette: Option<RosetteSpec>,
    /// All of a field of view at one instant.
    #[garde(dive)]
    pub flash: Option<FlashSpec>,
}

/// Channels on a head that turns evenly; a scan is one turn and begins behind.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SpinningSpec {
    /// The channels.
    #[garde(dive, custom(one_way))]
    pub channels: Channels,
    /// Sense of rotation, seen from above.
    #[garde(skip)]
    pub spin: Spin,
    /// From one firing of all channels to the next one, s, where the device's clock says when it fires: cycles are
    /// counted from time zero and go on over the seam of a turn. Else `columns` is given.
    #[garde(inner(custom(positive)), custom(or_columns(self.columns.is_some())))]
    #[serde(default)]
    pub cycle_s: Option<f64>,
    /// Columns of a turn, where the device's encoder says when it fires. Else `cycle_s` is given.
    #[garde(inner(custom(pixels)))]
    #[serde(default)]
    pub columns: Option<u32>,
    /// From one firing of a column to the next one, s.
    #[garde(custom(non_negative))]
    pub firing_interval_s: f64,
    /// Channels that fire at one instant, 1 to 1024.
    #[garde(custom(|count: &u32, _: &()| count_within(1, CHANNELS_MAX, *count as usize)))]
    #[serde(default = "one")]
    pub group: u32,
    /// The rates that the device can be set to, Hz; empty: any.
    #[garde(inner(custom(within(1e-3, RATE_MAX_HZ))))]
    #[serde(default)]
    pub rates_hz: Vec<f64>,
}

/// The channels of a lidar: either a table or an even spread.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Elevations in firing order, degrees.
    #[garde(custom(elevations))]
    #[serde(default)]
    pub elevations_deg: Option<Vec<f64>>,
    /// Evenly spaced.
    #[garde(dive)]
    #[serde(default)]
    pub uniform: Option<UniformChannels>,
    /// How far each channel looks beside the column's azimuth, in firing order, degrees counter-clockwise, −30 to 30;
    /// a list that is shorter by a whole factor is repeated. None: not at all.
    #[garde(custom(repeats(self.count())))]
    #[serde(default)]
    pub azimuths_deg: Option<Vec<f64>>,
}

/// Channels evenly spaced from the lowest to the highest, fired in that order.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// Azimuth falls with time, as on a Velodyne or an Ouster.
    Clockwise,
    /// Azimuth grows with time.
    CounterClockwise,
}

/// Row by row, from the upper left, over a field of view about x; each point is in the middle of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RasterSpec {
    /// Points of a row.
    #[garde(custom(pixels))]
    pub columns: u32,
    /// Rows.
    #[garde(custom(pixels))]
    pub rows: u32,
    /// Field of view along the azimuth, degrees.
    #[garde(custom(within(0.1, 360.0)))]
    pub horizontal_fov_deg: f64,
    /// Field of view along the elevation, degrees.
    #[garde(custom(within(0.1, 180.0)))]
    pub vertical_fov_deg: f64,
    /// From the first point of a scan to the end of the last, s: at most a period.
    #[garde(custom(positive))]
    pub scan_s: f64,
}

/// Two thin prisms that turn about x, each bending the beam by half of what they bend it together. Small angles add as
/// vectors. The pattern goes on from scan to scan and fills the field of view.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RosetteSpec {
    /// Points a second.
    #[garde(custom(within(1.0, 1e8)))]
    pub points_per_s: f64,
    /// Turns of each prism a second; counter-clockwise, looking along x backward, where above 0.
    #[garde(custom(both_turn))]
    pub prisms_hz: [f64; 2],
    /// From the axis to the edge of the field of view, degrees.
    #[garde(custom(within(0.1, 80.0)))]
    pub half_angle_deg: f64,
}

/// All of a field of view about x at one instant; each point is in the middle of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Points of a row.
    #[garde(custom(pixels))]
    pub columns: u32,
    /// Rows.
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

    /// Rows and columns of a scan, where it has them.
    pub(super) fn grid(&self, rate_hz: f64) -> Option<[usize; 2]> {
        let of_spinning = |spec: &SpinningSpec| [spec.channels.count(), spec.columns_at_most(rate_hz)];
        let of_raster = |spec: &RasterSpec| [spec.rows as usize, spec.columns as usize];
        let of_flash = |spec: &FlashSpec| [spec.rows as usize, spec.columns as usize];
        let spinning = self.spinning.as_ref().map(of_spinning);
        spinning.or(self.raster.as_ref().map(of_raster)).or(self.flash.as_ref().map(of_flash))
    }

    /// How many firings a scan has; 0 for a pattern, which its file tells.
    fn firings(&self, rate_hz: f64) -> usize {
        let grid = self.grid(rate_hz).map(|[rows, columns]| rows.saturating_mul(columns));
        grid.or(self.rosette.map(|rosette| rosette.firings(rate_hz))).unwrap_or(0)
    }
}

impl SpinningSpec {
    /// From a column's first firing to its last one, s.
    fn last_firing_s(&self) -> f64 {
        let groups = self.channels.count().div_ceil(self.group.max(1) as usize);
        groups.saturating_sub(1) as f64 * self.firing_interval_s
    }

    /// Columns of a turn: those given, or as many as a turn can have a firing of, where the clock goes on over the seam.
    pub(super) fn columns_at_most(&self, rate_hz: f64) -> usize {
        let by_clock = |cycle_s: f64| ((1.0 / rate_hz + self.last_firing_s()) / cycle_s).ceil() as usize;
        self.columns.map_or(self.cycle_s.map_or(0, by_clock), |columns| columns as usize)
    }

    /// Whether a turn is long enough for a whole column.
    fn has_a_column(&self, rate_hz: f64) -> bool {
        self.cycle_s.is_none() || self.last_firing_s() <= 1.0 / rate_hz
    }

    /// From one column to the next one, s.
    pub(super) fn column_s(&self, rate_hz: f64) -> f64 {
        self.cycle_s.unwrap_or(1.0 / (rate_hz * f64::from(self.columns.unwrap_or(1))))
    }

    /// Whether its channels and its columns are told in a way that can be reckoned with.
    fn is_sound(&self) -> bool {
        let columns = self.columns.is_none_or(|columns| (1..=PIXELS_MAX).contains(&(columns as usize)));
        columns && self.cycle_s.is_none_or(|cycle_s| cycle_s > 0.0) && self.cycle_s.is_some() != self.columns.is_some()
    }

    /// Refuses firings that are not over when the next column begins.
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
    /// How many; 0 when neither or both ways are given, which validation refuses.
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

    /// How far a channel looks beside the column, degrees.
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
    /// Points of a scan.
    pub(super) fn firings(&self, rate_hz: f64) -> usize {
        (self.points_per_s / rate_hz * (1.0 + ROUNDING)) as usize
    }
}

/// Whether it is a rate that sensors can have at all.
fn is_rate(rate_hz: f64) -> bool {
    rate(&rate_hz, &()).is_ok()
}

fn one() -> u32 {
    1
}

/// A garde check: just one scanner.
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

/// A garde check: a scan is over within its period and is not too large.
pub(super) fn fits(rate_hz: f64, samples: u32) -> impl FnOnce(&ScannerSpec, &()) -> garde::Result {
    move |scanner, ()| {
        // What is wrong by itself is told by its own check, once.
        let is_sound = scanner.spinning.as_ref().is_none_or(SpinningSpec::is_sound);
        if !is_rate(rate_hz) || !is_sound {
            return Ok(());
        }
        if let Some(spinning) = &scanner.spinning {
            spinning.fits(rate_hz)?;
        }
        if let Some(RasterSpec { scan_s, .. }) = scanner.raster
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

/// A garde check: one of the rates that the device can be set to.
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

/// A garde check: azimuths of so many channels, or of a whole part of them.
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

/// A garde check: `cycle_s` or `columns`, and not both.
fn or_columns(columns: bool) -> impl FnOnce(&Option<f64>, &()) -> garde::Result {
    move |cycle_s, ()| match (cycle_s.is_some(), columns) {
        (true, true) => Err(garde::Error::new("cycle_s and columns are both given: give one")),
        (false, false) => Err(garde::Error::new("neither cycle_s nor columns is given: give one")),
        _ => Ok(()),
    }
}

/// A garde check: rates of prisms.
fn both_turn(prisms_hz: &[f64; 2], (): &()) -> garde::Result {
    if prisms_hz.iter().all(|hz| (1e-3..=1e4).contains(&hz.abs())) {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {prisms_hz:?} is not allowed: each must turn, 0.001 to 10000 Hz either way")))
}

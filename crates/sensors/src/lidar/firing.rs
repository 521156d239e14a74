//! Time and direction of each beam of a scan. Angles are those of the sensor's frame: azimuth from x toward y,
//! elevation up.

use std::f64::consts::{PI, TAU};
use std::ops::Range;

use nalgebra::Vector3;
use selene_base::SimTime;

use super::scanner::{RasterScanSpec, RosetteSpec, Spin, SpinningSpec};
use super::spec::LidarSpec;
use crate::Schedule;

/// One firing of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Firing {
    /// Time from the scan's start to the firing.
    pub after_start: SimTime,
    /// Azimuth from x toward y, rad.
    pub azimuth_rad: f64,
    /// Elevation, up, rad.
    pub elevation_rad: f64,
    /// Rank of the channel by elevation, from the lowest up; for rasters and flashes the row, for patterns the channel.
    pub ring: u16,
    /// Column, for scans that have columns; otherwise the firing's number.
    pub column: u32,
    /// Whether it points into a dead sector.
    pub is_dead: bool,
}

impl Firing {
    fn new(after_s: f64, [azimuth_rad, elevation_rad]: [f64; 2], ring: u16, column: u32) -> Self {
        let after_start = SimTime::from_secs_f64(after_s);
        Self { after_start, azimuth_rad, elevation_rad, ring, column, is_dead: false }
    }
}

/// The firings of the scan that starts at `scan_start`, in chronological order.
pub(super) fn firings(spec: &LidarSpec, scan_start: SimTime) -> Vec<Firing> {
    let scanner = &spec.scanner;
    let mut firings = if let Some(spinning) = &scanner.spinning {
        spinning_firings(spinning, spec.rate_hz, scan_start)
    } else if let Some(raster) = &scanner.raster {
        raster_firings(raster)
    } else if let Some(flash) = scanner.flash {
        let super::scanner::FlashSpec { columns, rows, horizontal_fov_deg, vertical_fov_deg } = flash;
        raster_firings(&RasterScanSpec { columns, rows, horizontal_fov_deg, vertical_fov_deg, scan_s: 0.0 })
    } else if let Some(rosette) = &scanner.rosette {
        rosette_firings(rosette, spec.rate_hz, scan_start)
    } else if let Some(pattern) = &scanner.pattern {
        let beams = pattern.beams.iter().zip(0..);
        let angles = |azimuth_deg: f64, elevation_deg: f64| [azimuth_deg.to_radians(), elevation_deg.to_radians()];
        beams.map(|(b, i)| Firing::new(b.time_s, angles(b.azimuth_deg, b.elevation_deg), b.channel, i)).collect()
    } else {
        Vec::new()
    };
    for firing in &mut firings {
        let is_dead = |sector: &super::DeadSector| sector.holds(firing.azimuth_rad, firing.elevation_rad);
        firing.is_dead = spec.dead_sectors.iter().any(is_dead);
    }
    firings
}

/// The firings of a spinning lidar, column by column, group by group of channels; the head also turns between the
/// firings of a column. A device fired by its clock continues across the seam: its cycles are counted from time zero,
/// and a scan has the firings of its own period.
fn spinning_firings(spec: &SpinningSpec, rate_hz: f64, scan_start: SimTime) -> Vec<Firing> {
    match spec.cycle_s {
        None => firings_of(spec, rate_hz, scan_start, scan_start, 0..spec.columns_at_most(rate_hz) as u64),
        Some(cycle_s) => {
            let first = (scan_start.secs_f64() / cycle_s) as u64;
            // At most one cycle begins before the scan and one ends after it.
            let cycles = first.saturating_sub(1)..first + spec.columns_at_most(rate_hz) as u64 + 1;
            let end = scan_end(rate_hz, scan_start);
            let mut firings = firings_of(spec, rate_hz, scan_start, SimTime::ZERO, cycles);
            firings.retain(|firing| firing.after_start >= SimTime::ZERO && scan_start + firing.after_start < end);
            let skipped = firings.first().map_or(0, |firing| firing.column);
            firings.iter_mut().for_each(|firing| firing.column -= skipped);
            firings
        }
    }
}

/// The firings of columns that are counted from the instant `origin`; `Firing::column` counts from the first of them.
fn firings_of(
    spec: &SpinningSpec,
    rate_hz: f64,
    scan_start: SimTime,
    origin: SimTime,
    columns: Range<u64>,
) -> Vec<Firing> {
    let elevations_deg = spec.channels.in_firing_order_deg();
    let rings = rings(&elevations_deg);
    let column_s = spec.column_s(rate_hz);
    let group = spec.group.max(1) as usize;
    let start_s = (scan_start - origin).secs_f64();
    let first = columns.start;
    let firing = |column: u64, channel: usize| {
        let at_s = column as f64 * column_s + (channel / group) as f64 * spec.firing_interval_s;
        let beside_rad = spec.channels.azimuth_deg(channel).to_radians();
        Firing {
            // Rounded relative to the origin, so that each firing is in exactly one scan.
            after_start: origin + SimTime::from_secs_f64(at_s) - scan_start,
            azimuth_rad: azimuth_rad(spec.spin, (at_s - start_s) * rate_hz) + beside_rad,
            elevation_rad: elevations_deg[channel].to_radians(),
            ring: rings[channel],
            column: (column - first) as u32,
            is_dead: false,
        }
    };
    let channels = 0..elevations_deg.len();
    let places = columns.flat_map(|column| channels.clone().map(move |channel| (column, channel)));
    places.map(|(column, channel)| firing(column, channel)).collect()
}

/// Start of the scan that follows the one that starts at `scan_start`.
fn scan_end(rate_hz: f64, scan_start: SimTime) -> SimTime {
    let period = SimTime::period(rate_hz);
    let schedule = Schedule::new(rate_hz, SimTime::ZERO, SimTime::ZERO);
    let mut later = schedule.measured_in(scan_start, scan_start + period + period);
    later.next().map_or(scan_start + period, |next| next.instant)
}

/// Azimuth from x toward y, rad, after `turns` turns of a scan, which begins behind so that its seam is not ahead.
fn azimuth_rad(spin: Spin, turns: f64) -> f64 {
    let half_turns_from_ahead = 1.0 - 2.0 * turns;
    match spin {
        Spin::Clockwise => half_turns_from_ahead * PI,
        Spin::CounterClockwise => -half_turns_from_ahead * PI,
    }
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

/// The firings of a raster: row by row from the upper left, evenly spaced in time.
fn raster_firings(spec: &RasterScanSpec) -> Vec<Firing> {
    let RasterScanSpec { columns, rows, scan_s, .. } = *spec;
    let [wide_rad, high_rad] = [spec.horizontal_fov_deg, spec.vertical_fov_deg].map(f64::to_radians);
    let each_s = scan_s / (f64::from(rows) * f64::from(columns));
    let middle = |cell: u32, cells: u32| 0.5 - (f64::from(cell) + 0.5) / f64::from(cells);
    let firing = |row: u32, column: u32| {
        let after_s = (f64::from(row) * f64::from(columns) + f64::from(column)) * each_s;
        let angles_rad = [wide_rad * middle(column, columns), high_rad * middle(row, rows)];
        Firing::new(after_s, angles_rad, (rows - 1 - row) as u16, column)
    };
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    places.map(|(row, column)| firing(row, column)).collect()
}

/// The firings of a rosette, whose pattern continues through all scans.
fn rosette_firings(spec: &RosetteSpec, rate_hz: f64, scan_start: SimTime) -> Vec<Firing> {
    let each_rad = 0.5 * spec.half_angle_deg.to_radians();
    let firing = |number: usize| {
        let after_s = number as f64 / spec.points_per_s;
        let [a, b] = spec.prisms_hz.map(|hz| TAU * (hz * (scan_start.secs_f64() + after_s)).fract());
        let bent = [each_rad * (a.cos() + b.cos()), each_rad * (a.sin() + b.sin())];
        Firing::new(after_s, off_axis(bent), 0, number as u32)
    };
    (0..spec.firings(rate_hz)).map(firing).collect()
}

/// Azimuth and elevation, rad, of a direction that is deflected from x by this angle vector, rad, toward y and z.
fn off_axis([toward_y, toward_z]: [f64; 2]) -> [f64; 2] {
    let angle = toward_y.hypot(toward_z);
    let sine_over_angle = if angle > 0.0 { angle.sin() / angle } else { 1.0 };
    let (x, y, z) = (angle.cos(), toward_y * sine_over_angle, toward_z * sine_over_angle);
    [y.atan2(x), z.clamp(-1.0, 1.0).asin()]
}

/// The unit vector of this azimuth and elevation, and the unit vectors along increasing azimuth and increasing
/// elevation.
pub(crate) fn directions(azimuth_rad: f64, elevation_rad: f64) -> [Vector3<f64>; 3] {
    let (sin_az, cos_az) = azimuth_rad.sin_cos();
    let (sin_el, cos_el) = elevation_rad.sin_cos();
    [
        Vector3::new(cos_el * cos_az, cos_el * sin_az, sin_el),
        Vector3::new(-sin_az, cos_az, 0.0),
        Vector3::new(-sin_el * cos_az, -sin_el * sin_az, cos_el),
    ]
}

//! Views of a scan: images of range and intensity, and a planar scan of one ring. A beam with two returns shows the
//! first one reported.

use selene_base::SimTime;
use selene_sensors::{Lidar, LidarPoint};

use crate::values::{Image, PlanarScan};

const FLOAT_BYTES: usize = 4;

/// Images of range and intensity, if the lidar's file asks for them.
pub(super) fn images(lidar: &Lidar, points: &[LidarPoint]) -> Option<[Image; 2]> {
    let [rows, columns] = lidar.grid().filter(|_| lidar.spec().images)?;
    let mut ranges = vec![f32::INFINITY; rows * columns];
    let mut intensities = vec![0.0; rows * columns];
    for point in points.iter().rev() {
        // In reverse order, so that the first return of a beam overwrites the second.
        let (row, column) = (rows.checked_sub(1 + usize::from(point.ring))?, point.column as usize);
        let at = row * columns + column;
        (ranges[at], intensities[at]) = (point.range_m, point.intensity);
    }
    let image = |values: Vec<f32>| Image {
        width: columns as u32,
        height: rows as u32,
        encoding: "32FC1",
        pixel_bytes: FLOAT_BYTES,
        data: values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    };
    Some([image(ranges), image(intensities)])
}

/// One ring of the scan that starts at `start`, if the lidar's file asks for it.
pub(super) fn planar(lidar: &Lidar, start: SimTime, points: &[LidarPoint]) -> Option<PlanarScan> {
    let spec = lidar.spec();
    let ring = spec.scan_ring?;
    let [_, columns] = lidar.grid()?;
    let scan = lidar.scan(start);
    let mut of_ring = scan.firings().iter().filter(|firing| firing.ring == ring);
    let (first, second) = (of_ring.next()?, of_ring.next()?);
    let azimuth_step_rad = second.azimuth_rad - first.azimuth_rad;
    // The ring may have fired before the seam in the scan's first column.
    let azimuth_rad = |column: f64| first.azimuth_rad + azimuth_step_rad * (column - f64::from(first.column));
    let mut planar = PlanarScan {
        azimuths_rad: [azimuth_rad(0.0), azimuth_rad((columns - 1) as f64)],
        azimuth_step_rad,
        time_step_s: (second.after_start - first.after_start).secs_f64(),
        period_s: 1.0 / spec.rate_hz,
        ranges_m: [spec.min_range_m, spec.max_range_m],
        range_m: vec![f32::INFINITY; columns],
        intensity: vec![0.0; columns],
    };
    for point in points.iter().rev().filter(|point| point.ring == ring) {
        let at = point.column as usize;
        (planar.range_m[at], planar.intensity[at]) = (point.range_m, point.intensity);
    }
    Some(planar)
}

//! A georeferenced grid of heights. Between posts heights are bilinear in the file's own map. Within the outer half
//! pixel the border posts' heights continue, since a pixel is an area. A grid that goes once around the Moon is
//! continuous across its seam.

use rayon::prelude::*;

use crate::crs::{Crs, GeoPoint};
use crate::map_frame::MapFrame;
use crate::transform::GeoTransform;

/// A grid goes once around the Moon if it closes within this fraction of a pixel.
const SEAM_TOLERANCE_PX: f64 = 0.01;
/// Tolerance for the height of the surface over a map point, m: `f32` heights of ten kilometres are no better.
const SURFACE_TOLERANCE_M: f64 = 1e-4;
/// The most iterations to find it; each leaves about a hundredth of the previous error.
const SURFACE_STEPS: usize = 12;

/// A grid of heights above the sphere of 1 737 400 m. Posts are stored as `f32`, accurate to half a millimetre at ten
/// kilometres.
#[derive(Clone, Debug, PartialEq)]
pub struct Dem {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) transform: GeoTransform,
    pub(super) crs: Crs,
    /// Heights row by row, m; NaN where there is no data.
    pub(super) heights_m: Vec<f32>,
    /// Whether each post was filled; empty when none was.
    pub(super) filled: Vec<bool>,
}

impl Dem {
    /// Creates a grid from its posts, row by row, m, NaN where there is no data. `None` when their number does not
    /// match the grid, or the grid is empty.
    #[must_use]
    pub fn new([columns, rows]: [usize; 2], transform: GeoTransform, crs: Crs, heights_m: Vec<f32>) -> Option<Self> {
        let is_full = columns > 0 && columns.checked_mul(rows) == Some(heights_m.len()) && rows > 0;
        is_full.then(|| Self { columns, rows, transform, crs, heights_m, filled: Vec::new() })
    }

    /// Number of posts from west to east.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of posts from north to south.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Transform from pixels to map coordinates.
    #[must_use]
    pub fn transform(&self) -> &GeoTransform {
        &self.transform
    }

    /// Coordinate system of the map.
    #[must_use]
    pub fn crs(&self) -> &Crs {
        &self.crs
    }

    /// Heights row by row from the first row, m; NaN where there is no data.
    #[must_use]
    pub fn heights_m(&self) -> &[f32] {
        &self.heights_m
    }

    /// Height of a post, m; `None` without data or outside of the grid.
    #[must_use]
    pub fn post_m(&self, column: usize, row: usize) -> Option<f64> {
        let inside = column < self.columns && row < self.rows;
        inside.then(|| f64::from(self.heights_m[row * self.columns + column])).filter(|height| !height.is_nan())
    }

    /// Whether a post had no data in the file and was filled.
    #[must_use]
    pub fn is_filled(&self, column: usize, row: usize) -> bool {
        column < self.columns && self.filled.get(row * self.columns + column).copied().unwrap_or(false)
    }

    /// Number of posts without data.
    #[must_use]
    pub fn no_data_count(&self) -> usize {
        self.heights_m.iter().filter(|height| height.is_nan()).count()
    }

    /// Number of posts that were filled.
    #[must_use]
    pub fn filled_count(&self) -> usize {
        self.filled.iter().filter(|filled| **filled).count()
    }

    /// Lowest and highest height of the posts, m; `None` when no post has data.
    #[must_use]
    pub fn height_range_m(&self) -> Option<[f64; 2]> {
        let known = self.heights_m.iter().filter(|height| !height.is_nan());
        let (low, high) = known.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), h| (low.min(*h), high.max(*h)));
        (low <= high).then(|| [f64::from(low), f64::from(high)])
    }

    /// Column and row of the post whose pixel contains a position.
    #[must_use]
    pub fn post_at(&self, place: &GeoPoint) -> Option<[usize; 2]> {
        self.pixel_of(&place.direction(), || *place).map(|at| self.post_of(at))
    }

    /// Height at map coordinates, m, bilinear between posts; `None` without data or outside of the grid.
    #[must_use]
    pub fn height_at_xy_m(&self, xy: [f64; 2]) -> Option<f64> {
        self.bilinear_m(self.inside(xy)?)
    }

    /// Height at a position, m, bilinear between posts; `None` without data or outside of the grid.
    #[must_use]
    pub fn height_m(&self, place: &GeoPoint) -> Option<f64> {
        self.bilinear_m(self.pixel_of(&place.direction(), || *place)?)
    }

    /// Mean height, m, of a square of `by` × `by` posts, at its column and row among such squares; NaN if no post has
    /// data.
    pub(super) fn mean_m(&self, [column, row]: [usize; 2], by: usize) -> f32 {
        let rows = (row * by..(row + 1) * by).map(|row| row * self.columns + column * by);
        let posts = rows.flat_map(|first| &self.heights_m[first..first + by]).filter(|height_m| !height_m.is_nan());
        let (sum, count) = posts.fold((0.0, 0_u32), |(sum, count), &height_m| (sum + f64::from(height_m), count + 1));
        (sum / f64::from(count)) as f32
    }

    /// z of the surface over or under the map point (x, y) of `frame`, m: fixed-point iteration until the surface's
    /// height below the point equals the point's own. `None` outside of the data. A local grid is taken to lie flat in
    /// the map, with heights relative to the frame's.
    #[must_use]
    pub fn map_height_m(&self, frame: &MapFrame, x: f64, y: f64) -> Option<f64> {
        if self.crs == Crs::Local {
            return Some(self.height_at_xy_m([x, y])? - frame.height_m());
        }
        let mut z = frame.sphere_z_m(x, y);
        let mut last_step = f64::INFINITY;
        for _ in 0..SURFACE_STEPS {
            let from_middle = frame.seen_from_middle_m([x, y, z]);
            let pixel = self.pixel_of(&from_middle.normalize(), || GeoPoint::from_direction(&from_middle))?;
            let step = self.bilinear_m(pixel)? - (from_middle.norm() - crate::crs::MOON_RADIUS_M);
            if step.abs() < SURFACE_TOLERANCE_M {
                return Some(z + step);
            }
            // Steps shrink by a nearly constant ratio: Aitken's extrapolation adds all that would follow at once.
            let share = step / last_step;
            z += if share.abs() < 0.5 { step / (1.0 - share) } else { step };
            last_step = step;
        }
        None
    }

    /// Heights of a grid of map points, each as `map_height_m` gives it, on all cores: row by row from `origin_m`,
    /// columns along x and rows along y; NaN outside of the data.
    #[must_use]
    pub fn map_heights_m(
        &self,
        frame: &MapFrame,
        origin_m: [f64; 2],
        spacing_m: f64,
        [columns, rows]: [usize; 2],
    ) -> Vec<f32> {
        let mut heights = vec![f32::NAN; columns * rows];
        heights.par_chunks_mut(columns.max(1)).enumerate().for_each(|(row, out)| {
            let y = origin_m[1] + row as f64 * spacing_m;
            for (column, out) in out.iter_mut().enumerate() {
                let x = origin_m[0] + column as f64 * spacing_m;
                *out = self.map_height_m(frame, x, y).map_or(f32::NAN, |z| z as f32);
            }
        });
        heights
    }

    /// Pixel coordinates of a direction; `None` outside of the grid. Files that go around the Moon cut their map at
    /// different meridians, so longitudes are also tried a whole turn away.
    fn pixel_of(&self, unit: &nalgebra::Vector3<f64>, place: impl Fn() -> GeoPoint) -> Option<[f64; 2]> {
        let [x, y] = self.crs.forward_direction(unit, place)?;
        let here = self.inside([x, y]);
        if here.is_some() {
            return here;
        }
        let turn = self.crs.circumference()?;
        self.inside([x + turn, y]).or_else(|| self.inside([x - turn, y]))
    }

    /// Pixel coordinates of map coordinates; `None` outside of the grid.
    fn inside(&self, xy: [f64; 2]) -> Option<[f64; 2]> {
        let [column, row] = self.transform.column_row(xy);
        let is_inside = (0.0..=self.columns as f64).contains(&column) && (0.0..=self.rows as f64).contains(&row);
        is_inside.then_some([column, row])
    }

    fn post_of(&self, [column, row]: [f64; 2]) -> [usize; 2] {
        [(column as usize).min(self.columns - 1), (row as usize).min(self.rows - 1)]
    }

    fn joins_at_seam(&self) -> bool {
        let turn_px = self.crs.circumference().map(|turn| turn / self.transform.column_step[0].abs());
        turn_px.is_some_and(|turn_px| (turn_px - self.columns as f64).abs() < SEAM_TOLERANCE_PX)
    }

    fn bilinear_m(&self, [column, row]: [f64; 2]) -> Option<f64> {
        let [column, row] = [column - 0.5, row - 0.5];
        let [floor_c, floor_r] = [column.floor(), row.floor()];
        let [u, v] = [column - floor_c, row - floor_r];
        let is_border = floor_c < 0.0 || floor_c >= (self.columns - 1) as f64;
        let [west, east] = match is_border {
            true if self.joins_at_seam() => [self.columns - 1, 0],
            _ => [floor_c.max(0.0) as usize, ((floor_c + 1.0) as usize).min(self.columns - 1)],
        };
        let [north, south] = [floor_r.max(0.0) as usize, ((floor_r + 1.0) as usize).min(self.rows - 1)];
        let post = |column: usize, row: usize| f64::from(self.heights_m[row * self.columns + column]);
        let upper = post(west, north) * (1.0 - u) + post(east, north) * u;
        let lower = post(west, south) * (1.0 - u) + post(east, south) * u;
        let height = upper * (1.0 - v) + lower * v;
        (!height.is_nan()).then_some(height)
    }
}

#[cfg(test)]
mod tests {
    use super::{Dem, GeoPoint};
    use crate::{Crs, GeoTransform};

    /// Posts one degree apart once around the equator, from 3° to −3°, with height = column + 1000 row.
    fn belt() -> Dem {
        let heights = (0..6 * 360).map(|i| (i % 360 + 1000 * (i / 360)) as f32).collect();
        Dem::new([360, 6], GeoTransform::north_up(0.0, 3.0, 1.0, 1.0), Crs::Geographic, heights).unwrap()
    }

    #[test]
    fn a_belt_is_found_from_any_longitude_and_joins_at_its_seam() {
        const TOLERANCE_M: f64 = 1e-9;
        let belt = belt();
        for longitude_deg in [200.25, -159.75] {
            let height = belt.height_m(&GeoPoint::from_degrees(2.5, longitude_deg)).unwrap();
            assert!((height - 199.75).abs() < TOLERANCE_M, "{height}");
        }
        // Half way between the last post (359) and the first (0).
        let seam = belt.height_m(&GeoPoint::from_degrees(2.5, 0.0)).unwrap();
        assert!((seam - 179.5).abs() < TOLERANCE_M, "{seam}");
        assert_eq!(belt.post_at(&GeoPoint::from_degrees(-2.9, -0.1)), Some([359, 5]));
    }

    #[test]
    fn outside_and_without_data_there_is_no_height() {
        let mut belt = belt();
        assert_eq!(belt.height_m(&GeoPoint::from_degrees(3.1, 20.0)), None);
        belt.heights_m[20] = f32::NAN;
        assert_eq!((belt.post_m(20, 0), belt.no_data_count()), (None, 1));
        assert_eq!(belt.height_m(&GeoPoint::from_degrees(2.4, 21.0)), None);
        assert_eq!(belt.height_range_m(), Some([0.0, 5359.0]));
        assert_eq!(Dem::new([2, 2], belt.transform, Crs::Local, vec![0.0; 3]), None);
    }

    #[test]
    fn the_outer_half_pixel_goes_on_as_the_border() {
        let heights = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let dem = Dem::new([3, 2], GeoTransform::north_up(0.0, 20.0, 10.0, 10.0), Crs::Local, heights).unwrap();
        assert_eq!(dem.height_at_xy_m([0.0, 20.0]), Some(1.0));
        assert_eq!(dem.height_at_xy_m([30.0, 0.0]), Some(6.0));
        assert_eq!(dem.height_at_xy_m([10.0, 10.0]), Some(3.0));
        assert_eq!(dem.height_at_xy_m([-0.1, 10.0]), None);
    }
}

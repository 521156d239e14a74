//! Statistics and bounds of a whole file, however large: from a pass band by band, or from a sample of its blocks.

use std::f64::consts::{PI, TAU};

use crate::crs::GeoPoint;
use crate::dem::Dem;
use crate::error::ElevationError;
use crate::file::ElevationFile;
use crate::transform::GeoTransform;
use crate::window::Window;

/// Posts of a band: 32 MiB of heights.
const BAND_POSTS: usize = 8 << 20;
/// Bands begin at multiples of this row, so that few tiles are decoded twice.
const BAND_ROWS: usize = 512;
/// Points on each side of a file from which its bounds are computed.
const SIDE_POINTS: usize = 64;

/// Statistics of the posts that were read from a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeightStatistics {
    /// Number of posts that were read.
    pub posts: usize,
    /// Lowest and highest height, m; `None` when no post has data.
    pub height_range_m: Option<[f64; 2]>,
    /// Number of posts without data.
    pub no_data_count: usize,
}

/// The smallest box of latitudes and longitudes that contains a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeographicBounds {
    /// Lowest latitude, rad.
    pub south_rad: f64,
    /// Highest latitude, rad.
    pub north_rad: f64,
    /// Longitude of its western edge, rad.
    pub west_rad: f64,
    /// Longitude of its eastern edge, rad: above `west_rad`, and possibly above π.
    pub east_rad: f64,
}

impl ElevationFile {
    /// Windows that cover the file, each small enough to be read at once.
    #[must_use]
    pub fn bands(&self) -> Vec<Window> {
        let [columns, rows] = self.shape();
        let fit = (BAND_POSTS / columns).max(1);
        let band_rows = if fit > BAND_ROWS { fit / BAND_ROWS * BAND_ROWS } else { fit };
        let width = columns.min(BAND_POSTS);
        let window = |row: usize, column: usize| Window {
            column,
            row,
            columns: width.min(columns - column),
            rows: band_rows.min(rows - row),
        };
        let starts = (0..rows).step_by(band_rows);
        starts.flat_map(|row| (0..columns).step_by(width).map(move |column| window(row, column))).collect()
    }

    /// Windows with about `posts_max` posts at most. They cover a file that is smaller than that; otherwise they are
    /// whole blocks as the file stores them, evenly spread from first to last, at least one.
    #[must_use]
    pub fn sample(&self, posts_max: usize) -> Vec<Window> {
        let shape = self.shape();
        if shape[0].saturating_mul(shape[1]) <= posts_max {
            return self.bands();
        }
        let block = self.block();
        let blocks = [0, 1].map(|i| shape[i].div_ceil(block[i]));
        let wanted = (posts_max / (block[0] * block[1])).max(1);
        // Chosen evenly in both directions, as far as there are blocks.
        let across = (wanted as f64 * blocks[0] as f64 / blocks[1] as f64).sqrt().round() as usize;
        let across = across.clamp(1, blocks[0]).min(wanted);
        let taken = [across, (wanted / across).clamp(1, blocks[1])];
        let starts = [0, 1].map(|i| spread(taken[i], blocks[i]).map(move |at| at * block[i]));
        let window = |row: usize, column: usize| Window {
            column,
            row,
            columns: block[0].min(shape[0] - column),
            rows: block[1].min(shape[1] - row),
        };
        let [columns, rows] = starts;
        rows.flat_map(|row| columns.clone().map(move |column| window(row, column))).collect()
    }

    /// Reads all heights, band by band.
    ///
    /// # Errors
    /// Same as `read_window`.
    pub fn survey(&mut self) -> Result<HeightStatistics, ElevationError> {
        let bands = self.bands();
        self.survey_of(&bands, |_| {})
    }

    /// Reads the heights of windows, and calls `windows_read` after each with the number read so far.
    ///
    /// # Errors
    /// Same as `read_window`.
    pub fn survey_of(
        &mut self,
        windows: &[Window],
        mut windows_read: impl FnMut(usize),
    ) -> Result<HeightStatistics, ElevationError> {
        let mut survey = HeightStatistics { posts: 0, height_range_m: None, no_data_count: 0 };
        for (number, window) in windows.iter().enumerate() {
            let dem = self.read_window(window)?;
            windows_read(number + 1);
            survey.posts += window.columns * window.rows;
            survey.no_data_count += dem.no_data_count();
            if let Some([low, high]) = dem.height_range_m() {
                let [lowest, highest] = survey.height_range_m.unwrap_or([low, high]);
                survey.height_range_m = Some([lowest.min(low), highest.max(high)]);
            }
        }
        Ok(survey)
    }

    /// Every n-th post of every n-th row, with n such that neither side has more than `side_max` posts.
    ///
    /// # Errors
    /// Same as `read_window`.
    pub fn thinned(&mut self, side_max: usize) -> Result<Dem, ElevationError> {
        let [columns, rows] = self.shape();
        let n = columns.max(rows).div_ceil(side_max.max(1)).max(1);
        let first = (n / 2).min(columns.min(rows) - 1);
        let count = |all: usize| (all - first).div_ceil(n);
        let shape = [count(columns), count(rows)];
        let mut heights_m = vec![f32::NAN; shape[0] * shape[1]];
        for band in self.bands() {
            let dem = self.read_window(&band)?;
            for row in (first..rows).step_by(n).filter(|row| (band.row..band.row + band.rows).contains(row)) {
                let inside = |column: &usize| (band.column..band.column + band.columns).contains(column);
                for column in (first..columns).step_by(n).filter(inside) {
                    let height = dem.heights_m()[(row - band.row) * band.columns + column - band.column];
                    heights_m[row / n * shape[0] + column / n] = height;
                }
            }
        }
        let (t, n) = (*self.transform(), n as f64);
        // The first coarse pixel is centred on the first post taken.
        let corner = t.xy([first as f64 + 0.5 - n / 2.0; 2]);
        let [column_step, row_step] = [t.column_step, t.row_step].map(|step| step.map(|value| value * n));
        let transform = GeoTransform { corner, column_step, row_step };
        let crs = *self.crs();
        Ok(Dem { columns: shape[0], rows: shape[1], transform, crs, heights_m, filled: Vec::new() })
    }

    /// The box of latitudes and longitudes that contains the file; `None` for a local grid. It is found by following
    /// the border; a border that goes around the Moon's axis has a pole inside.
    #[must_use]
    pub fn bounds(&self) -> Option<GeographicBounds> {
        let [columns, rows] = self.shape().map(|count| count as f64);
        let corners = [[0.0, 0.0], [columns, 0.0], [columns, rows], [0.0, rows], [0.0, 0.0]];
        let steps = corners.windows(2).flat_map(|side| {
            (0..SIDE_POINTS)
                .map(|i| i as f64 / SIDE_POINTS as f64)
                .map(|t| [0, 1].map(|k| side[0][k] + t * (side[1][k] - side[0][k])))
        });
        let places = steps.chain([[0.0, 0.0]]).map(|pixel| self.place_on_border(pixel));
        let places: Vec<_> = places.collect::<Option<_>>()?;
        let [mut south_rad, mut north_rad] = [PI, -PI];
        let mut longitude_rad = places.first()?.longitude_rad;
        let [mut west_rad, mut east_rad] = [longitude_rad; 2];
        for place in &places {
            let step = place.longitude_rad - longitude_rad;
            longitude_rad += step - TAU * (step / TAU).round();
            [west_rad, east_rad] = [west_rad.min(longitude_rad), east_rad.max(longitude_rad)];
            [south_rad, north_rad] = [south_rad.min(place.latitude_rad), north_rad.max(place.latitude_rad)];
        }
        if (longitude_rad - places[0].longitude_rad).abs() > PI {
            [west_rad, east_rad] = [-PI, PI];
            let pole = (PI / 2.0).copysign(south_rad + north_rad);
            [south_rad, north_rad] = [south_rad.min(pole), north_rad.max(pole)];
        }
        Some(GeographicBounds { south_rad, north_rad, west_rad, east_rad })
    }

    /// The position of a point on the border. Rounding in labels may put it a fraction of a pixel beyond the pole; the
    /// pole is then used.
    fn place_on_border(&self, pixel: [f64; 2]) -> Option<GeoPoint> {
        let place = |pixel: [f64; 2]| self.crs().inverse(self.transform().xy(pixel));
        let on_border = place(pixel);
        if on_border.is_some() || self.crs().circumference().is_none() {
            return on_border;
        }
        let within = place([pixel[0], pixel[1].clamp(1.0, self.shape()[1] as f64 - 1.0)])?;
        Some(GeoPoint { latitude_rad: (PI / 2.0).copysign(within.latitude_rad), ..within })
    }
}

/// Picks `count` indices below `of`, evenly from first to last; the middle one if `count` is 1.
fn spread(count: usize, of: usize) -> impl Iterator<Item = usize> + Clone {
    (0..count).map(move |i| if count == 1 { of / 2 } else { i * (of - 1) / (count - 1) })
}

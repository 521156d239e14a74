//! Elevation files: opening a file detects its format from its content, reads its header and refuses what cannot be
//! placed on the Moon. Heights are then read by windows.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::crs::{Crs, GeoPoint};
use crate::dem::Dem;
use crate::error::{ElevationError, Refusal};
use crate::format::{Format, format_of, label_of};
use crate::georeference::{check_extent, stated_transform};
use crate::header::Header;
use crate::transform::GeoTransform;
use crate::values::{HEIGHT_MAX_M, Values};
use crate::window::Window;
use crate::{ascii, geotiff, isis, npy, pds3, pds4, png};

/// The most posts read at once: 256 MiB of heights.
pub const POSTS_AT_ONCE_MAX: usize = 64 << 20;
/// Rows and columns of posts that are probed to distinguish heights from radii.
const PROBES: usize = 5;

/// Values that a file does not give itself. Giving one that the file also gives is refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Distance between posts, m (in a geographic grid: along the meridian).
    pub spacing_m: Option<f64>,
    /// Metres per count.
    pub scale: Option<f64>,
    /// Height of a count of zero above the sphere, m.
    pub offset_m: Option<f64>,
    /// The coordinate system.
    pub crs: Option<Crs>,
    /// Map coordinates of the outer corner of the first pixel. Without it, a local grid is centred on the origin.
    pub origin: Option<[f64; 2]>,
    /// The stored value that marks posts without data.
    pub no_data: Option<f64>,
}

/// An opened elevation file.
#[derive(Debug)]
pub struct ElevationFile {
    path: PathBuf,
    format: Format,
    shape: [usize; 2],
    transform: GeoTransform,
    crs: Crs,
    values: Values,
    source: crate::header::Source,
}

impl ElevationFile {
    /// Opens a file. For a format with a separate label, the path may be that of the label or of the image.
    ///
    /// # Errors
    /// When the file cannot be read, has no known format, no usable georeference or scale, is not of the Moon, or its
    /// header disagrees with its content.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, ElevationError> {
        let path = label_of(path);
        let header = match format_of(&path)? {
            Format::GeoTiff => geotiff::open(&path)?,
            Format::Pds3 => pds3::open(&path)?,
            Format::Pds4 => pds4::open(&path)?,
            Format::Isis => isis::open(&path)?,
            Format::AsciiGrid => ascii::open(&path)?,
            Format::Png => png::open(&path, options)?,
            Format::Npy => npy::open(&path, options)?,
        };
        let mut file = Self::placed(&path, header, options).map_err(|refusal| refusal.at(&path))?;
        file.convert_radii_to_heights()?;
        Ok(file)
    }

    /// Completes a header with the options.
    fn placed(path: &Path, header: Header, options: &ReadOptions) -> Result<Self, Refusal> {
        let Header { format, shape, transform, crs, mut values, has_own_scale, source } = header;
        let twice = |name: &str| {
            Refusal::new(name, format!("is given, and the {} says it itself; leave it out", format.name()))
        };
        let crs = match (crs, options.crs) {
            (Some(_), Some(_)) => return Err(twice("crs")),
            (Some(crs), None) | (None, Some(crs)) => crs,
            (None, None) if matches!(format, Format::Png | Format::Npy) => Crs::Local,
            (None, None) => {
                let what = "is missing: no keys, label or .prj file say which map of the Moon this is; state it (--crs), local if it is none";
                return Err(Refusal::new("coordinate system", what));
            }
        };
        let transform = match (transform, options.spacing_m, options.origin) {
            (Some(transform), None, None) => transform,
            (Some(_), Some(_), _) => return Err(twice("spacing")),
            (Some(_), None, Some(_)) => return Err(twice("origin")),
            (None, spacing_m, origin) => stated_transform(shape, &crs, spacing_m, origin)?,
        };
        let stated = [("scale", options.scale), ("offset", options.offset_m)];
        if let Some((name, _)) = stated.iter().find(|(_, value)| has_own_scale && value.is_some()) {
            return Err(twice(name));
        }
        if let Some(sample) = options.no_data {
            values.without(sample, true);
            values.without(sample, false);
        }
        check_extent(&crs, &transform, shape)?;
        Ok(Self { path: path.to_owned(), format, shape, transform, crs, values, source })
    }

    /// Path of the opened file: the label, if there is one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Number of columns and rows.
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        self.shape
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

    /// Columns and rows of a part that can be read without decoding anything twice, as far as it fits in memory.
    pub(crate) fn block(&self) -> [usize; 2] {
        let [columns, rows] = self.source.block(self.shape);
        let columns = columns.min(POSTS_AT_ONCE_MAX);
        [columns, rows.min(POSTS_AT_ONCE_MAX / columns).max(1)]
    }

    /// The window of the whole file.
    #[must_use]
    pub fn whole(&self) -> Window {
        Window { column: 0, row: 0, columns: self.shape[0], rows: self.shape[1] }
    }

    /// Reads all heights.
    ///
    /// # Errors
    /// Same as `read_window`.
    pub fn read(&mut self) -> Result<Dem, ElevationError> {
        self.read_window(&self.whole())
    }

    /// Reads the heights of a window.
    ///
    /// # Errors
    /// When the window is empty, not inside of the file or above `POSTS_AT_ONCE_MAX`, when the file is damaged, or when
    /// a value is not a possible height on the Moon.
    pub fn read_window(&mut self, window: &Window) -> Result<Dem, ElevationError> {
        let refuse = |what: String| Refusal::new("window", what).at(&self.path);
        if window.columns == 0 || window.rows == 0 || window.overlap(&self.whole()) != Some(*window) {
            return Err(refuse(format!(
                "{window:?} is not inside the file's {} × {} posts",
                self.shape[0], self.shape[1]
            )));
        }
        let Some(posts) = window.columns.checked_mul(window.rows).filter(|posts| *posts <= POSTS_AT_ONCE_MAX) else {
            let what = format!(
                "of {} × {} posts is more than is read at once ({POSTS_AT_ONCE_MAX}); take a smaller one",
                window.columns, window.rows
            );
            return Err(refuse(what));
        };
        let mut heights_m = vec![f32::NAN; posts];
        self.source.read(&self.path, self.shape[0], window, &self.values, &mut heights_m)?;
        self.check_heights(window, &heights_m)?;
        let transform = self.transform.of_window(window.column, window.row);
        Ok(Dem { columns: window.columns, rows: window.rows, transform, crs: self.crs, heights_m, filled: Vec::new() })
    }

    /// Reads a window of any size at a lower resolution: each height is the mean of the posts with data in a square of
    /// `by` × `by`. Posts at its right and lower edges that fill no square are left out.
    ///
    /// # Errors
    /// Same as `read_window`, and when no square fits or the result is above `POSTS_AT_ONCE_MAX`.
    pub fn read_reduced(&mut self, window: &Window, by: usize) -> Result<Dem, ElevationError> {
        let [columns, rows] = [window.columns, window.rows].map(|count| count / by.max(1));
        let is_whole = by > 1 && columns > 0 && rows > 0 && columns.saturating_mul(rows) <= POSTS_AT_ONCE_MAX;
        if !is_whole {
            return self.read_window(window);
        }
        let rows_at_once = (POSTS_AT_ONCE_MAX / 4 / window.columns / by).clamp(1, rows);
        let mut heights_m = Vec::with_capacity(columns * rows);
        for first in (0..rows).step_by(rows_at_once) {
            let count = rows_at_once.min(rows - first);
            let band = Window { row: window.row + first * by, columns: columns * by, rows: count * by, ..*window };
            let fine = self.read_window(&band)?;
            let mean_m = |i: usize| fine.mean_m([i % columns, i / columns], by);
            heights_m.par_extend((0..count * columns).into_par_iter().map(mean_m));
        }
        let transform = self.transform.of_window(window.column, window.row).reduced(by);
        Ok(Dem { columns, rows, transform, crs: self.crs, heights_m, filled: Vec::new() })
    }

    /// The window of posts within half of `side_m` of a position along the map's axes, cut at the file's edges; `None`
    /// when the position is not on the map.
    #[must_use]
    pub fn window_around(&self, place: &GeoPoint, side_m: f64) -> Option<Window> {
        let [column, row] = self.pixel_of(place)?;
        // Away from the latitude of true scale, map metres differ from metres on the ground.
        let true_m = self.true_spacing_m(place)?;
        let [half_columns, half_rows] = true_m.map(|spacing_m| (side_m / 2.0 / spacing_m).max(0.5));
        let side = |at: f64, half: f64, count: usize| {
            let from = (at - half).round().clamp(0.0, count as f64 - 1.0) as usize;
            let to = (at + half).round().clamp(from as f64 + 1.0, count as f64) as usize;
            (from, to - from)
        };
        let (column, columns) = side(column, half_columns, self.shape[0]);
        let (row, rows) = side(row, half_rows, self.shape[1]);
        Some(Window { column, row, columns, rows })
    }

    /// Column and row of the post whose pixel contains a position.
    #[must_use]
    pub fn post_at(&self, place: &GeoPoint) -> Option<[usize; 2]> {
        self.pixel_of(place).map(|pixel| self.post_of(pixel))
    }

    /// Column and row of the post whose pixel contains map coordinates.
    #[must_use]
    pub fn post_at_xy(&self, xy: [f64; 2]) -> Option<[usize; 2]> {
        self.pixel_at(xy).map(|pixel| self.post_of(pixel))
    }

    /// Map coordinates of a position, within this file's range of longitudes; `None` outside of the file.
    #[must_use]
    pub fn xy_of(&self, place: &GeoPoint) -> Option<[f64; 2]> {
        self.pixel_of(place).map(|pixel| self.transform.xy(pixel))
    }

    /// Distances on the ground between columns and between rows at a position, m.
    #[must_use]
    pub fn true_spacing_m(&self, place: &GeoPoint) -> Option<[f64; 2]> {
        let [column, row] = self.pixel_of(place)?;
        let at = |pixel: [f64; 2]| {
            self.crs.inverse(self.transform.xy(pixel)).map(|place| place.direction() * crate::MOON_RADIUS_M)
        };
        let apart = |ahead: [f64; 2], back: [f64; 2]| Some((at(ahead)? - at(back)?).norm());
        let spacing_m = |[right, down]: [f64; 2]| {
            let step = |from: f64| [column + from * right, row + from * down];
            // Centred on the position; at the edge of the map, to one side only.
            let mut steps = [-0.5, 0.0, -1.0].into_iter();
            steps.find_map(|from| apart(step(from + 1.0), step(from))).map(|m| m.max(1e-9))
        };
        Some([spacing_m([1.0, 0.0])?, spacing_m([0.0, 1.0])?])
    }

    /// Pixel coordinates of a position: column and row.
    fn pixel_of(&self, place: &GeoPoint) -> Option<[f64; 2]> {
        let [x, y] = self.crs.forward(place)?;
        let turn = self.crs.circumference().unwrap_or(0.0);
        [0.0, turn, -turn].into_iter().find_map(|turn| self.pixel_at([x + turn, y]))
    }

    /// Pixel coordinates of map coordinates: column and row.
    fn pixel_at(&self, xy: [f64; 2]) -> Option<[f64; 2]> {
        let [column, row] = self.transform.column_row(xy);
        let [columns, rows] = self.shape.map(|count| count as f64);
        ((0.0..=columns).contains(&column) && (0.0..=rows).contains(&row)).then_some([column, row])
    }

    /// The post at pixel coordinates of the file.
    fn post_of(&self, [column, row]: [f64; 2]) -> [usize; 2] {
        [(column as usize).min(self.shape[0] - 1), (row as usize).min(self.shape[1] - 1)]
    }

    /// Reads single posts until one has data; if it is a radius, heights are counted from the sphere.
    fn convert_radii_to_heights(&mut self) -> Result<(), ElevationError> {
        let at = |count: usize, i: usize| (count - 1) * (2 * i + 1) / (2 * PROBES);
        // Any post with data will do, so the order does not matter.
        for (i, j) in (0..PROBES).flat_map(|i| (0..PROBES).map(move |j| (i, j))) {
            let window = Window { column: at(self.shape[0], i), row: at(self.shape[1], j), columns: 1, rows: 1 };
            let mut height_m = [f32::NAN];
            self.source.read(&self.path, self.shape[0], &window, &self.values, &mut height_m)?;
            if !height_m[0].is_nan() {
                self.values.settle(f64::from(height_m[0]));
                return Ok(());
            }
        }
        Ok(())
    }

    fn check_heights(&self, window: &Window, heights_m: &[f32]) -> Result<(), ElevationError> {
        let [low_m, high_m] = self.values.allowed_m();
        let is_wrong = |height: &f32| {
            let height_m = f64::from(*height);
            height_m.abs() > HEIGHT_MAX_M || height_m < low_m || height_m > high_m
        };
        let Some(at) = heights_m.iter().position(is_wrong) else { return Ok(()) };
        let [column, row] = [window.column + at % window.columns, window.row + at / window.columns];
        let height_m = heights_m[at];
        let what = if f64::from(height_m.abs()) > HEIGHT_MAX_M {
            format!(
                "is {height_m} m above the sphere; the Moon has none beyond ±{HEIGHT_MAX_M} m: the label disagrees with \
                 the image, or this is an undeclared no-data value (--no-data)"
            )
        } else {
            format!(
                "is {height_m} m; the label's MINIMUM and MAXIMUM allow {low_m} to {high_m} m: it disagrees with the image"
            )
        };
        Err(Refusal::new(format!("post at column {column}, row {row}"), what).at(&self.path))
    }
}

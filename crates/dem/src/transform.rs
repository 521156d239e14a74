//! The transform from pixels to map coordinates: an affine map, as in GDAL. Pixel coordinates count from the outer
//! corner of the first pixel, so the post of column c and row r, at the middle of its pixel, is at (c + 0.5, r + 0.5),
//! whether a file calls its values areas or points. Map coordinates are those of the file's `Crs`: metres, or degrees
//! of longitude and latitude when it is geographic.

use crate::error::Refusal;

/// An affine map from pixel coordinates to map coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeoTransform {
    /// Map coordinates of the outer corner of the first pixel.
    pub corner: [f64; 2],
    /// Step in map coordinates from one column to the next.
    pub column_step: [f64; 2],
    /// Step in map coordinates from one row to the next.
    pub row_step: [f64; 2],
}

impl GeoTransform {
    /// A transform with rows from north to south and columns from west to east.
    #[must_use]
    pub fn north_up(west: f64, north: f64, column_step: f64, row_step: f64) -> Self {
        Self { corner: [west, north], column_step: [column_step, 0.0], row_step: [0.0, -row_step] }
    }

    /// Refuses a transform that cannot be inverted; `field` names the part of the file it comes from.
    pub(super) fn checked(self, field: &str) -> Result<Self, Refusal> {
        let Self { corner, column_step, row_step } = self;
        let is_finite = [corner, column_step, row_step].iter().flatten().all(|value| value.is_finite());
        if is_finite && self.determinant() != 0.0 {
            return Ok(self);
        }
        let what = format!(
            "corner {corner:?} with steps {column_step:?} and {row_step:?} is no map; steps must be finite and not 0"
        );
        Err(Refusal::new(field, what))
    }

    fn determinant(&self) -> f64 {
        self.column_step[0] * self.row_step[1] - self.row_step[0] * self.column_step[1]
    }

    /// Map coordinates of pixel coordinates.
    #[must_use]
    pub fn xy(&self, [column, row]: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|i| self.corner[i] + column * self.column_step[i] + row * self.row_step[i])
    }

    /// Map coordinates of a post.
    #[must_use]
    pub fn post_xy(&self, column: usize, row: usize) -> [f64; 2] {
        self.xy([column as f64 + 0.5, row as f64 + 0.5])
    }

    /// Pixel coordinates of map coordinates.
    #[must_use]
    pub fn column_row(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [dx, dy] = [x - self.corner[0], y - self.corner[1]];
        let d = self.determinant();
        [(dx * self.row_step[1] - dy * self.row_step[0]) / d, (dy * self.column_step[0] - dx * self.column_step[1]) / d]
    }

    /// The transform of a window that begins at `column` and `row`.
    #[must_use]
    pub fn of_window(&self, column: usize, row: usize) -> Self {
        Self { corner: self.xy([column as f64, row as f64]), ..*self }
    }

    /// The transform of pixels that each cover `by` × `by` of these.
    #[must_use]
    pub fn reduced(&self, by: usize) -> Self {
        let longer = |step: [f64; 2]| step.map(|along| along * by as f64);
        Self { column_step: longer(self.column_step), row_step: longer(self.row_step), ..*self }
    }

    /// Distance between columns and between rows, in map units.
    #[must_use]
    pub fn spacing(&self) -> [f64; 2] {
        [self.column_step, self.row_step].map(|[x, y]| x.hypot(y))
    }
}

#[cfg(test)]
mod tests {
    use super::GeoTransform;

    #[test]
    fn pixel_coordinates_come_back_also_from_a_turned_grid() {
        // Coordinates of 1e6 in f64 have an error of 1e-10; it is divided by the pixel size of 5.
        const TOLERANCE_PX: f64 = 1e-9;
        let turned = GeoTransform { corner: [1e6, -2e5], column_step: [4.0, 3.0], row_step: [3.0, -4.0] };
        for at in [[0.0, 0.0], [0.5, 7.25], [1234.5, 999.0]] {
            let back = turned.column_row(turned.xy(at));
            assert!((back[0] - at[0]).abs() < TOLERANCE_PX && (back[1] - at[1]).abs() < TOLERANCE_PX, "{back:?}");
        }
        assert_eq!(turned.spacing(), [5.0, 5.0]);
    }

    #[test]
    fn the_first_post_is_half_a_pixel_inside_the_corner() {
        assert_eq!(GeoTransform::north_up(-100.0, 50.0, 5.0, 2.0).post_xy(0, 0), [-97.5, 49.0]);
        assert!(GeoTransform::north_up(0.0, 0.0, 0.0, 2.0).checked("33550").is_err());
    }
}

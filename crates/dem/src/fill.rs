//! Filling of posts without data. Each gap takes the shape of a soap film held by its rim: a pyramid of means of the
//! known posts gives a first guess, from coarse to fine, and relaxation of Laplace's equation within the gaps smooths
//! it. Known posts are kept exactly; filled posts are marked as filled.

use crate::dem::Dem;
use crate::error::ElevationError;

/// Relaxation passes at each level of the pyramid.
const PASSES: usize = 24;

impl Dem {
    /// Fills the posts without data and returns their number.
    ///
    /// # Errors
    /// When no post has data.
    pub fn fill(&mut self) -> Result<usize, ElevationError> {
        let missing: Vec<bool> = self.heights_m.iter().map(|height| height.is_nan()).collect();
        let count = missing.iter().filter(|missing| **missing).count();
        if count == missing.len() {
            let what = format!("none of {} × {} posts has data; at least one is needed", self.columns, self.rows);
            return Err(ElevationError::Heights { field: "heights".to_owned(), what });
        }
        if count > 0 {
            fill_gaps(&mut self.heights_m, self.columns);
            let already = std::mem::take(&mut self.filled);
            self.filled =
                missing.iter().zip(already.iter().chain(std::iter::repeat(&false))).map(|(a, b)| *a || *b).collect();
        }
        Ok(count)
    }
}

/// Fills the NaN values of a field that has at least one known value.
fn fill_gaps(field: &mut [f32], columns: usize) {
    let gaps: Vec<usize> = (0..field.len()).filter(|&i| field[i].is_nan()).collect();
    if gaps.is_empty() {
        return;
    }
    let (mut coarse, coarse_columns) = halved(field, columns);
    fill_gaps(&mut coarse, coarse_columns);
    for &i in &gaps {
        field[i] = coarse[i / columns / 2 * coarse_columns + i % columns / 2];
    }
    for _ in 0..PASSES {
        for &i in &gaps {
            field[i] = mean_beside(field, columns, i);
        }
    }
}

/// Mean of the neighbours of post `i`.
fn mean_beside(field: &[f32], columns: usize, i: usize) -> f32 {
    let column = i % columns;
    let beside = [
        (column > 0).then(|| field[i - 1]),
        (column + 1 < columns).then(|| field[i + 1]),
        (i >= columns).then(|| field[i - columns]),
        field.get(i + columns).copied(),
    ];
    let (sum, count) = beside.iter().flatten().fold((0.0, 0.0), |(sum, count), height| (sum + height, count + 1.0));
    if count > 0.0 { sum / count } else { field[i] }
}

/// Means of the known values in squares of 2 × 2 posts, and the number of columns of the result.
fn halved(field: &[f32], columns: usize) -> (Vec<f32>, usize) {
    let [half_columns, rows] = [columns.div_ceil(2), field.len() / columns];
    let mean = |row: usize, column: usize| {
        let four = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(r, c)| (2 * row + r, 2 * column + c));
        let known = four.iter().filter(|(r, c)| *r < rows && *c < columns).map(|(r, c)| field[r * columns + c]);
        let (sum, count) = known.filter(|h| !h.is_nan()).fold((0.0, 0.0), |(sum, count), h| (sum + h, count + 1.0));
        sum / count
    };
    let half = (0..rows.div_ceil(2)).flat_map(|row| (0..half_columns).map(move |column| mean(row, column))).collect();
    (half, half_columns)
}

#[cfg(test)]
mod tests {
    use crate::{Crs, Dem, GeoTransform};

    fn slope(columns: usize, rows: usize, holes: impl Fn(usize, usize) -> bool) -> Dem {
        let height =
            |column: usize, row: usize| if holes(column, row) { f32::NAN } else { (2 * column + 5 * row) as f32 };
        let heights = (0..columns * rows).map(|i| height(i % columns, i / columns)).collect();
        Dem::new([columns, rows], GeoTransform::north_up(0.0, 0.0, 1.0, 1.0), Crs::Local, heights).unwrap()
    }

    #[test]
    fn a_hole_in_a_slope_becomes_that_slope() {
        // A plane solves Laplace's equation; the relaxation's error is a fraction of the hole's 5 m per post.
        const TOLERANCE_M: f64 = 0.5;
        let is_hole = |column, row| (20..32).contains(&column) && (11..20).contains(&row);
        let mut dem = slope(61, 37, is_hole);
        assert_eq!(dem.fill().unwrap(), 12 * 9);
        assert_eq!((dem.no_data_count(), dem.filled_count()), (0, 12 * 9));
        for (column, row) in (0..61).flat_map(|column| (0..37).map(move |row| (column, row))) {
            let error_m = (dem.post_m(column, row).unwrap() - (2 * column + 5 * row) as f64).abs();
            let allowed_m = if is_hole(column, row) { TOLERANCE_M } else { 0.0 };
            assert!(error_m <= allowed_m, "{error_m} m at {column}, {row}");
            assert_eq!(dem.is_filled(column, row), is_hole(column, row));
        }
    }

    #[test]
    fn a_sea_of_nothing_cannot_be_filled() {
        let error = slope(7, 5, |_, _| true).fill().unwrap_err().to_string();
        assert!(error.contains("none of 7 × 5 posts"), "{error}");
        assert_eq!(slope(7, 5, |_, _| false).fill().unwrap(), 0);
        assert_eq!(slope(9, 1, |column, _| column > 0).fill().unwrap(), 8);
    }
}

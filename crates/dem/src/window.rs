//! Rectangular windows of a grid.

/// A rectangle of posts of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub column: usize,
    /// First row.
    pub row: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of rows.
    pub rows: usize,
}

impl Window {
    /// The overlap with another window; `None` if they do not overlap.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> Option<Self> {
        let [column, row] = [self.column.max(other.column), self.row.max(other.row)];
        let right = (self.column + self.columns).min(other.column + other.columns);
        let bottom = (self.row + self.rows).min(other.row + other.rows);
        (right > column && bottom > row).then(|| Self { column, row, columns: right - column, rows: bottom - row })
    }
}

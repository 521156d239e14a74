//! Tables of measurements: CSV with one line of column names. A table with gaps (a missing
//! field, a field that is no finite number, a row of another length) is refused with file,
//! line and column; nothing is filled in.

use std::path::{Path, PathBuf};

use crate::InputError;
use crate::input::read_bytes;

/// Size limit of a table, bytes: room for a million rows of measurements.
const BYTES_MAX: u64 = 256 << 20;

/// A table of text fields, in which every row has one field for each column.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    path: PathBuf,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// When the file cannot be read, has no column names, or a row has another number of fields.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let bytes = read_bytes(path, BYTES_MAX)?;
        let text = String::from_utf8(bytes).map_err(|e| InputError::content(path, format!("is not UTF-8: {e}")))?;
        Self::parse(&text, path)
    }

    /// Reads a table from `text`; `path` is named in errors.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, InputError> {
        let refuse = |what: String| Err(InputError::content(path, what));
        let mut lines = text.lines().map(fields);
        let columns = lines.next().unwrap_or_default();
        if columns.iter().any(|name| name.is_empty() || name.parse::<f64>().is_ok()) || columns.is_empty() {
            return refuse("line 1: must be the columns' names, separated by commas".to_owned());
        }
        if let Some(name) = columns.iter().enumerate().find(|(i, name)| columns[..*i].contains(name)) {
            return refuse(format!("line 1: column {} comes twice", name.1));
        }
        let rows: Vec<_> = lines.collect();
        if let Some(i) = rows.iter().position(|row| row.len() != columns.len()) {
            let (has, requested) = (rows[i].len(), columns.len());
            return refuse(format!("line {}: has {has} fields; must have {requested}, one for each column", i + 2));
        }
        Ok(Self { path: path.to_owned(), columns, rows })
    }

    /// The file that the table was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of rows, without the line of column names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there is a column of this name.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// A column as numbers, all finite and accepted by `fits`; `allowed` describes the accepted numbers in errors.
    ///
    /// # Errors
    /// When there is no such column, or at the first field that is not such a number.
    pub fn numbers(&self, column: &str, fits: fn(f64) -> bool, allowed: &str) -> Result<Vec<f64>, InputError> {
        let Some(at) = self.columns.iter().position(|name| name == column) else {
            let known = self.columns.join(", ");
            return Err(InputError::content(&self.path, format!("line 1: no column {column}; there are {known}")));
        };
        let number = |(row, fields): (usize, &Vec<String>)| {
            let parsed = fields[at].parse().ok().filter(|value: &f64| value.is_finite() && fits(*value));
            parsed.ok_or_else(|| self.refusal(row, format!("{column} is {:?}: must be {allowed}", fields[at])))
        };
        self.rows.iter().enumerate().map(number).collect()
    }

    /// An error about one row, counted from 0, that names the row's line in the file.
    #[must_use]
    pub fn refusal(&self, row: usize, what: impl std::fmt::Display) -> InputError {
        InputError::content(&self.path, format!("line {}: {what}", row + 2))
    }
}

fn fields(line: &str) -> Vec<String> {
    line.split(',').map(|field| field.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::Table;
    use std::path::Path;

    fn parse(text: &str) -> Result<Table, String> {
        Table::parse(text, Path::new("runs/x.csv")).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_are_found_by_name() {
        let table = parse("soil,slip, load_n\nsand,0.1, 5\nsand,-0.2,6\n").expect("a table");
        assert_eq!(table.numbers("load_n", |_| true, "a number").expect("numbers"), [5.0, 6.0]);
        assert!(table.has("soil") && !table.has("load") && table.len() == 2);
        assert!(table.numbers("load", |_| true, "a number").is_err_and(|e| e.to_string().contains("slip, load_n")));
    }

    #[test]
    fn gaps_are_refused_with_file_line_and_reason() {
        for (text, parts) in [
            ("", ["line 1", "names"]),
            ("0.1,2\n0.2,3\n", ["line 1", "names"]),
            ("a,a\n1,2\n", ["line 1", "twice"]),
            ("a,b\n1,2\n3\n", ["line 3", "has 1 fields; must have 2"]),
            ("a,b\n1,2\n\n3,4\n", ["line 3", "has 1 fields"]),
            ("a,b\n1,2\n3,4,5\n", ["line 3", "has 3 fields"]),
        ] {
            let refusal = parse(text).expect_err(text);
            assert!(parts.iter().all(|part| refusal.contains(part)) && refusal.contains("runs/x.csv"), "{refusal}");
        }
        for (field, shown) in [("", "\"\""), ("soft", "soft"), ("NaN", "NaN"), ("inf", "inf"), ("-1", "-1")] {
            let table = parse(&format!("a,b\n1,2\n{field},4\n")).expect("a table");
            let refusal = table.numbers("a", |value| value >= 0.0, "0 or more").expect_err(field).to_string();
            for part in ["runs/x.csv", "line 3", "a is", shown, "0 or more"] {
                assert!(refusal.contains(part), "{part}: {refusal}");
            }
        }
    }
}

//! The table of a campaign, with a line for each row, whether done, failed or not run. Its columns are the row's
//! definition (`row`, `scenario`, `seed`, `set.KEY` for each key), its outcome (`status`, `reason`), then its figures
//! by name. A numeric column has only numbers; missing values are empty in CSV and null in Parquet.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::folder::{Record, Status};
use crate::plan::{Plan, Row};

/// Values of a column; `None` where a value is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

/// Results of a campaign, by column.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    pub(crate) columns: Vec<(String, Values)>,
}

/// A planned row and its result.
type Line<'a> = (&'a Row, Option<&'a Record>);

impl ResultTable {
    /// Creates the table of a plan from the result of each row.
    #[must_use]
    pub fn of(plan: &Plan, records: &[Option<Record>]) -> Self {
        let lines: Vec<Line<'_>> = plan.rows().iter().zip(records.iter().map(Option::as_ref)).collect();
        let whole = |of: &dyn Fn(&Row) -> Option<i64>| Values::Whole(lines.iter().map(|(row, _)| of(row)).collect());
        let text = |of: &dyn Fn(&Line<'_>) -> Option<String>| Values::Text(lines.iter().map(of).collect());
        let mut columns = vec![
            ("row".to_owned(), whole(&|row| i64::try_from(row.row).ok())),
            ("scenario".to_owned(), text(&|(row, _)| Some(row.scenario.clone()))),
            ("seed".to_owned(), whole(&|row| row.seed.and_then(|seed| i64::try_from(seed).ok()))),
        ];
        for key in plan.spec().set.keys() {
            let values: Vec<_> = lines.iter().map(|(row, _)| row.set.get(key)).collect();
            columns.push((format!("set.{key}"), Values::of(&values)));
        }
        columns.push(("status".to_owned(), text(&|(_, record)| Some(status(*record).to_owned()))));
        columns.push(("reason".to_owned(), text(&|(_, record)| record.and_then(|record| record.reason.clone()))));
        let figures = lines.iter().filter_map(|(_, record)| *record).flat_map(|record| record.figures.keys());
        for name in figures.collect::<BTreeSet<_>>() {
            let values: Vec<_> = lines.iter().map(|(_, record)| record.and_then(|of| of.figures.get(name))).collect();
            columns.push((name.clone(), Values::of(&values)));
        }
        Self { columns }
    }

    /// The table as CSV (RFC 4180, but with a newline alone at the end of lines).
    #[must_use]
    pub fn csv(&self) -> String {
        let header: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let count = self.columns.first().map_or(0, |(_, values)| values.len());
        let line = |line: usize| self.columns.iter().map(|(_, values)| values.csv(line)).collect::<Vec<_>>().join(",");
        let lines = std::iter::once(header.join(",")).chain((0..count).map(line));
        lines.map(|line| line + "\n").collect()
    }

    /// The values of a numeric column; `None` if there is no such column.
    pub(crate) fn numbers(&self, name: &str) -> Option<Vec<Option<f64>>> {
        match &self.columns.iter().find(|(known, _)| known == name)?.1 {
            Values::Whole(values) => Some(values.iter().map(|value| value.map(|value| value as f64)).collect()),
            Values::Number(values) => Some(values.clone()),
            Values::Text(_) => None,
        }
    }

    /// The values of a text column; `None` if there is no such column.
    pub(crate) fn texts(&self, name: &str) -> Option<&[Option<String>]> {
        match &self.columns.iter().find(|(known, _)| known == name)?.1 {
            Values::Text(values) => Some(values),
            Values::Whole(_) | Values::Number(_) => None,
        }
    }
}

fn status(record: Option<&Record>) -> &'static str {
    match record.map(|record| record.status) {
        Some(Status::Done) => "done",
        Some(Status::Failed) => "failed",
        None => "not_run",
    }
}

impl Values {
    /// Numbers if all values are numbers, else text.
    fn of(values: &[Option<&Value>]) -> Self {
        let number = |value: &Option<&Value>| value.is_none_or(Value::is_number);
        if values.iter().all(number) {
            return Self::Number(values.iter().map(|value| value.and_then(Value::as_f64)).collect());
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self::Text(values.iter().map(|value| value.map(text)).collect())
    }

    fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    fn csv(&self, line: usize) -> String {
        match self {
            Self::Whole(values) => values[line].map_or_else(String::new, |value| value.to_string()),
            Self::Number(values) => values[line].map_or_else(String::new, |value| value.to_string()),
            Self::Text(values) => values[line].as_deref().map_or_else(String::new, quoted),
        }
    }
}

/// Quotes a text for CSV if needed.
fn quoted(text: &str) -> String {
    let is_plain = !text.contains(['"', ',', '\n', '\r']);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::ResultTable;
    use crate::folder::Record;
    use crate::plan::Plan;
    use serde_json::json;

    /// A table of three rows: one done, one failed, one not run.
    pub(crate) fn table() -> ResultTable {
        let file = std::env::temp_dir().join(format!(
            "selene-table-{}-{:?}.yaml",
            std::process::id(),
            std::thread::current().id()
        ));
        let text = "name: x\nscenarios: [polar]\nseeds: [4]\nset: {soil: [lunar, soft, 'a, \"b\"'], g: 1.5}\n";
        std::fs::write(&file, text).expect("written");
        let plan = Plan::load(&file).expect("a plan");
        std::fs::remove_file(&file).expect("removed");
        let figures = [("distance_m".to_owned(), json!(0.25)), ("ended".to_owned(), json!("duration"))].into();
        let done = Record::of(&plan.rows()[0], Ok(figures));
        let failed = Record::of(&plan.rows()[1], Err("killed".to_owned()));
        ResultTable::of(&plan, &[Some(done), Some(failed), None])
    }

    #[test]
    fn a_table_has_a_line_for_each_row_and_quotes_what_needs_it() {
        let expected = "row,scenario,seed,set.g,set.soil,status,reason,distance_m,ended\n\
                        0,polar,4,1.5,lunar,done,,0.25,duration\n\
                        1,polar,4,1.5,soft,failed,killed,,\n\
                        2,polar,4,1.5,\"a, \"\"b\"\"\",not_run,,,\n";
        assert_eq!(table().csv(), expected);
    }
}

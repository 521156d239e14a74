//! A campaign's folder: `rows/000012.json` is the result of row 12, `logs/000012.txt` the output of its process, and
//! `figures/000012.json` the figures that it measured, until the row's result is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selene_base::output::{self, FileKind};
use selene_base::{InputError, input};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CampaignError;
use crate::plan::{Plan, Row};

/// File kind of a row's result.
const JSON: FileKind = FileKind { name: "JSON file", is: |head| head.starts_with(b"{") };
/// The largest result file, bytes.
const BYTES_MAX: u64 = 16 << 20;

/// Outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The run ended, and has figures.
    Done,
    /// The run has no figures, for a reason.
    Failed,
}

/// Result of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Number of the row.
    pub row: usize,
    /// Name or file of its scenario.
    pub scenario: String,
    /// Its seed, if it has one of its own.
    pub seed: Option<u64>,
    /// Values set in the scenario, by key.
    pub set: BTreeMap<String, Value>,
    /// Its outcome.
    pub status: Status,
    /// The reason why it failed.
    pub reason: Option<String>,
    /// Its figures by name; the names include units.
    pub figures: BTreeMap<String, Value>,
}

impl Record {
    /// The result of a row, from its figures or the reason why it failed.
    #[must_use]
    pub fn of(row: &Row, came: Result<BTreeMap<String, Value>, String>) -> Self {
        let Row { row, scenario, seed, set } = row.clone();
        let (status, reason, figures) = match came {
            Ok(figures) => (Status::Done, None, figures),
            Err(reason) => (Status::Failed, Some(reason), BTreeMap::new()),
        };
        Self { row, scenario, seed, set, status, reason, figures }
    }

    /// How the result differs from the planned row; `None` if it belongs to it.
    fn difference(&self, planned: &Row) -> Option<String> {
        let Self { row, scenario, seed, set, .. } = self.clone();
        let own = Row { row, scenario, seed, set };
        let text = |row: &Row| serde_json::to_string(row).unwrap_or_default();
        (text(&own) != text(planned)).then(|| format!("it is {}, and planned is {}", text(&own), text(planned)))
    }
}

/// The folder that holds a campaign's results.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens the folder, and creates it if it does not exist.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(path: &Path) -> Result<Self, CampaignError> {
        for name in ["rows", "logs", "figures"] {
            let part = path.join(name);
            std::fs::create_dir_all(&part).map_err(|source| CampaignError::Folder { path: part.clone(), source })?;
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// File to which the process of a row writes its figures.
    #[must_use]
    pub fn figures(&self, row: usize) -> PathBuf {
        self.path.join(format!("figures/{row:06}.json"))
    }

    /// File for the output of a row's process.
    #[must_use]
    pub fn log(&self, row: usize) -> PathBuf {
        self.path.join(format!("logs/{row:06}.txt"))
    }

    fn record_file(&self, row: usize) -> PathBuf {
        self.path.join(format!("rows/{row:06}.json"))
    }

    /// Result of a row; `None` if it was not run.
    ///
    /// # Errors
    /// When its file cannot be read, or belongs to another campaign.
    pub fn record(&self, planned: &Row) -> Result<Option<Record>, CampaignError> {
        let path = self.record_file(planned.row);
        if !path.exists() {
            return Ok(None);
        }
        let record: Record = read(&path)?;
        match record.difference(planned) {
            None => Ok(Some(record)),
            Some(what) => Err(CampaignError::OtherCampaign { path, what }),
        }
    }

    /// Results of all rows, `None` for those that were not run.
    ///
    /// # Errors
    /// Same as `record`.
    pub fn records(&self, plan: &Plan) -> Result<Vec<Option<Record>>, CampaignError> {
        plan.rows().iter().map(|row| self.record(row)).collect()
    }

    /// Writes the result of a row.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn keep(&self, record: &Record) -> Result<(), CampaignError> {
        // Serialising plain data cannot fail.
        let text = serde_json::to_string_pretty(record).unwrap_or_default();
        Ok(output::write_bytes(&self.record_file(record.row), &JSON, text.as_bytes())?)
    }

    /// Reads and removes the figures that a row's process wrote; an error says why there are none.
    pub(crate) fn take_figures(&self, row: usize) -> Result<BTreeMap<String, Value>, String> {
        let path = self.figures(row);
        let figures = read(&path).map_err(|error| error.to_string());
        // A missing file need not be removed, and a remaining one is overwritten.
        let _ = std::fs::remove_file(&path);
        figures
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, InputError> {
    let bytes = input::read_bytes(path, BYTES_MAX)?;
    serde_json::from_slice(&bytes).map_err(|error| InputError::content(path, format!("is no file of a row: {error}")))
}

#[cfg(test)]
mod tests {
    use super::{Folder, Record, Status};
    use crate::CampaignError;
    use crate::plan::Row;
    use serde_json::json;

    #[test]
    fn a_kept_row_is_read_back_and_one_of_another_campaign_is_refused() {
        let path = std::env::temp_dir().join(format!("selene-rows-{}", std::process::id()));
        let folder = Folder::open(&path).expect("made");
        let drawn: f64 = 0.1 + 0.2;
        let set = [("gravity_m_s2".to_owned(), json!(drawn))].into();
        let row = Row { row: 3, scenario: "polar".to_owned(), seed: Some(7), set };
        assert_eq!(folder.record(&row).expect("readable"), None);
        let record = Record::of(&row, Ok([("distance_m".to_owned(), json!(1.0 / 3.0))].into()));
        folder.keep(&record).expect("kept");
        assert_eq!(folder.record(&row).expect("readable"), Some(record));
        let failed = Record::of(&row, Err("killed".to_owned()));
        assert_eq!((failed.status, failed.reason.as_deref()), (Status::Failed, Some("killed")));
        let other = Row { seed: Some(8), ..row };
        let reported = folder.record(&other).expect_err("another");
        assert!(
            matches!(&reported, CampaignError::OtherCampaign { .. }) && reported.to_string().contains("\"seed\":8"),
            "{reported}"
        );
        std::fs::remove_dir_all(&path).expect("removed");
    }
}

//! The rows of a campaign. A grid has every combination: scenarios change slowest, then the keys in alphabetical order,
//! and seeds fastest. A sample draws scenario, seed and each key of a row from the row's own random stream.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selene_base::random::{RngExt, Stream, stream_at};
use selene_base::{InputError, input};
use serde::Serialize;
use serde_json::Value;

use crate::spec::CampaignSpec;

/// The most rows of a campaign.
const ROWS_MAX: usize = 1_000_000;

/// One run of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Number of the row, from 0.
    pub row: usize,
    /// The scenario's name or file, as in the campaign's file.
    pub scenario: String,
    /// Its seed; `None` for the scenario's own.
    pub seed: Option<u64>,
    /// Values set in the scenario, by key.
    pub set: BTreeMap<String, Value>,
}

/// A campaign's file with all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    spec: CampaignSpec,
    folder: PathBuf,
    rows: Vec<Row>,
}

impl Plan {
    /// Reads a campaign's file.
    ///
    /// # Errors
    /// When the file is not valid: the error gives file, line, value and what is allowed.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let spec: CampaignSpec = input::load_yaml(path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let count = spec.samples.or_else(|| grid_len(&spec)).filter(|count| *count <= ROWS_MAX);
        let count = count.ok_or_else(|| {
            InputError::content(
                path,
                format!("has more than {ROWS_MAX} combinations: leave some out, or give `samples`"),
            )
        })?;
        let rows = (0..count).map(|row| spec.row(row)).collect();
        Ok(Self { spec, folder, rows })
    }

    /// Content of the campaign's file.
    #[must_use]
    pub fn spec(&self) -> &CampaignSpec {
        &self.spec
    }

    /// The rows in the order of their numbers.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Arguments of `selene run` for a row: scenario, seed, set values and duration.
    #[must_use]
    pub fn arguments(&self, row: &Row) -> Vec<String> {
        let mut reported = vec![self.scenario(&row.scenario)];
        reported.extend(row.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
        reported.extend(self.spec.for_s.iter().flat_map(|for_s| ["--for".to_owned(), for_s.to_string()]));
        reported.extend(row.set.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]));
        reported
    }

    /// The scenario argument: a name stays as it is, a file is relative to the campaign's.
    fn scenario(&self, named: &str) -> String {
        let file = self.folder.join(named);
        let is_name = Path::new(named).extension().is_none() && !file.is_file();
        if is_name { named.to_owned() } else { file.display().to_string() }
    }
}

/// Number of combinations; `None` on overflow.
fn grid_len(spec: &CampaignSpec) -> Option<usize> {
    let axes = spec.set.values().map(|axis| axis.grid_len());
    let seeds = spec.seeds.0.len().max(1);
    axes.chain([seeds]).try_fold(spec.scenarios.len(), usize::checked_mul)
}

impl CampaignSpec {
    fn row(&self, row: usize) -> Row {
        if self.samples.is_some() { self.sampled(row) } else { self.of_grid(row) }
    }

    fn stream(&self, key: &str, row: usize) -> Stream {
        stream_at(self.seed, &format!("campaign/{key}"), row as u64)
    }

    fn of_grid(&self, row: usize) -> Row {
        let mut rest = row;
        let mut place = |len: usize| {
            let place = rest % len;
            rest /= len;
            place
        };
        let seeds = &self.seeds.0;
        let seed = place(seeds.len().max(1));
        // The last key changes fastest, after the seeds.
        let places: Vec<usize> = self.set.values().rev().map(|axis| place(axis.grid_len())).collect();
        let axes = self.set.iter().zip(places.into_iter().rev());
        let set = axes.map(|((key, axis), place)| (key.clone(), axis.at(place, &mut self.stream(key, row)))).collect();
        Row { row, scenario: self.scenarios[rest].clone(), seed: seeds.get(seed).copied(), set }
    }

    fn sampled(&self, row: usize) -> Row {
        let scenario = self.stream("scenario", row).random_range(0..self.scenarios.len());
        let seeds = &self.seeds.0;
        let seed = (!seeds.is_empty()).then(|| seeds[self.stream("seed", row).random_range(0..seeds.len())]);
        let sampled = self.set.iter().map(|(key, axis)| (key.clone(), axis.sampled(&mut self.stream(key, row))));
        Row { row, scenario: self.scenarios[scenario].clone(), seed, set: sampled.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use std::path::PathBuf;

    fn plan(name: &str, text: &str) -> Plan {
        let file = std::env::temp_dir().join(format!("selene-plan-{}-{name}.yaml", std::process::id()));
        std::fs::write(&file, format!("name: x\n{text}\n")).expect("written");
        let plan = Plan::load(&file);
        std::fs::remove_file(&file).expect("removed");
        plan.expect("a plan")
    }

    #[test]
    fn a_grid_has_every_combination_once_and_seeds_change_fastest() {
        let text = "scenarios: [a, b]\nseeds: [5, 6]\nset: {x: [1, 2, 3], y.z: [u, v]}";
        let plan = plan("grid", text);
        let reported: Vec<_> = plan.rows().iter().map(|row| plan.arguments(row).join(" ")).collect();
        assert_eq!(reported.len(), 2 * 2 * 3 * 2);
        assert_eq!(reported[0], "a --seed 5 --set x=1 --set y.z=\"u\"");
        assert_eq!(reported[1], "a --seed 6 --set x=1 --set y.z=\"u\"");
        assert_eq!(reported[2], "a --seed 5 --set x=1 --set y.z=\"v\"");
        assert_eq!(reported[23], "b --seed 6 --set x=3 --set y.z=\"v\"");
        let distinct: std::collections::BTreeSet<_> = reported.iter().collect();
        assert_eq!(distinct.len(), reported.len());
    }

    #[test]
    fn what_is_drawn_depends_on_seed_key_and_row_alone() {
        let drawn = |name: &str, more: &str| {
            let text = format!("scenarios: [a]\nsamples: 40\nset: {{g: {{uniform: {{low: 1, high: 2}}}}{more}}}");
            let plan = plan(name, &text);
            plan.rows().iter().map(|row| row.set["g"].as_f64().expect("a number")).collect::<Vec<_>>()
        };
        let alone = drawn("alone", "");
        assert_eq!(alone, drawn("with", ", h: [1, 2]"));
        assert!(alone.iter().all(|g| (1.0..=2.0).contains(g)));
        assert!(alone.windows(2).all(|pair| pair[0] != pair[1]));
        let mean = alone.iter().sum::<f64>() / 40.0;
        // Four standard errors of the mean of a uniform number.
        assert!((mean - 1.5).abs() < 4.0 / (12.0_f64 * 40.0).sqrt(), "{mean}");
    }

    #[test]
    fn a_scenario_that_is_a_file_is_beside_the_campaign() {
        let plan = plan("files", "scenarios: [polar, mine/x.yaml]\nfor_s: 2.5");
        let first = |row: usize| plan.arguments(&plan.rows()[row]);
        assert_eq!(first(0), ["polar", "--for", "2.5"]);
        assert_eq!(PathBuf::from(&first(1)[0]), std::env::temp_dir().join("mine/x.yaml"));
    }

    #[test]
    fn every_campaign_that_is_shipped_loads() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/campaign");
        let files: Vec<_> =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("entry").path()).collect();
        assert!(!files.is_empty());
        for file in files {
            let plan = Plan::load(&file).unwrap_or_else(|error| panic!("{error}"));
            assert!(plan.rows().len() > 1, "{}", file.display());
        }
    }

    #[test]
    fn more_rows_than_can_be_are_refused() {
        let file = std::env::temp_dir().join(format!("selene-plan-{}-large.yaml", std::process::id()));
        let axes: Vec<_> = (0..4).map(|axis| format!("k{axis}: [{}]", ["1"; 60].join(","))).collect();
        std::fs::write(&file, format!("name: x\nscenarios: [a]\nset: {{{}}}\n", axes.join(", "))).expect("written");
        let reported = Plan::load(&file).expect_err("too many").to_string();
        std::fs::remove_file(&file).expect("removed");
        assert!(reported.contains("1000000") && reported.contains("samples"), "{reported}");
    }
}

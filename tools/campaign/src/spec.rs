//! The file that describes a campaign.

use std::collections::BTreeMap;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;
use serde_json::Value;

use crate::axis::Axis;

/// The most scenarios, and the most seeds, of a campaign.
const LISTED_MAX: usize = 100_000;

/// Content of a campaign's file.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CampaignSpec {
    /// Name of the campaign.
    #[garde(length(min = 1, max = 100))]
    pub name: String,
    /// Scenarios, by name or file; files are relative to this one.
    #[garde(length(min = 1, max = 1000))]
    pub scenarios: Vec<String>,
    /// Seeds of the runs; without any, each scenario uses its own.
    #[garde(skip)]
    #[serde(default)]
    pub seeds: SeedsSpec,
    /// Values set in the scenarios, by keys as in `--set`: a list, a single value or a distribution.
    #[garde(custom(known_keys))]
    #[serde(default)]
    pub set: BTreeMap<String, Axis>,
    /// Number of rows to draw; without it, each combination is a row.
    #[garde(inner(range(min = 1, max = 1_000_000)))]
    #[serde(default)]
    pub samples: Option<usize>,
    /// Seed of the drawn values.
    #[garde(range(max = i64::MAX as u64))]
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated time of a run, s; without it, a run lasts until the end of the routes.
    #[garde(inner(custom(within(0.001, 31_557_600.0))))]
    #[serde(default)]
    pub for_s: Option<f64>,
    /// Wall time after which a run fails, s.
    #[garde(custom(within(1.0, 31_557_600.0)))]
    #[serde(default = "an_hour_s")]
    pub wall_limit_s: f64,
}

/// Seeds: a list, or a first seed and a count.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(with = "SeedsForms")]
pub struct SeedsSpec(pub Vec<u64>);

/// The forms of seeds in a file, for their schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum SeedsForms {
    Counted(CountedSeeds),
    Listed(#[schemars(length(min = 1, max = LISTED_MAX))] Vec<u64>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountedSeeds {
    from: u64,
    count: usize,
}

impl TryFrom<Value> for SeedsSpec {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let refused =
            |why: serde_json::Error| format!("must be a list of whole numbers, or {{from: 1, count: 20}}: {why}");
        let too_many = |count: usize| format!("{count} seeds are not allowed: must be 1 to {LISTED_MAX}");
        let seeds: Vec<u64> = if value.is_object() {
            let CountedSeeds { from, count } = serde_json::from_value(value).map_err(refused)?;
            if count > LISTED_MAX {
                return Err(too_many(count));
            }
            (0..count as u64).map(|i| from.saturating_add(i)).collect()
        } else {
            serde_json::from_value(value).map_err(refused)?
        };
        let too_large = seeds.iter().copied().find(|seed| *seed > i64::MAX as u64);
        match (seeds.len(), too_large) {
            (0, _) => Err(format!("no seed is not allowed: must be 1 to {LISTED_MAX}, or the key left out")),
            (count, _) if count > LISTED_MAX => Err(too_many(count)),
            (_, Some(seed)) => Err(format!("seed {seed} is not allowed: must be 0 to {}", i64::MAX)),
            (_, None) => Ok(Self(seeds)),
        }
    }
}

/// Keys become names of columns, so they may have only names and dots.
fn known_keys(set: &BTreeMap<String, Axis>, (): &()) -> garde::Result {
    let fits = |key: &str| {
        let parts = key.split('.').all(|part| !part.is_empty());
        parts && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let refused = |what: &str| Err(garde::Error::new(what));
    match set.keys().find(|key| !fits(key)) {
        Some(key) => refused(&format!("'{key}' is no key: names with dots between, such as route.speed_m_s")),
        None if set.contains_key("seed") => refused("'seed' is not set: name seeds under `seeds`"),
        None => Ok(()),
    }
}

fn one() -> u64 {
    1
}

fn an_hour_s() -> f64 {
    3600.0
}

#[cfg(test)]
mod tests {
    use super::CampaignSpec;
    use selene_base::input::parse_yaml;
    use std::path::Path;

    fn read(text: &str) -> Result<CampaignSpec, String> {
        parse_yaml(&format!("name: x\n{text}\n"), Path::new("x.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn seeds_are_a_list_or_counted() {
        let seeds = |text: &str| read(&format!("scenarios: [polar]\n{text}")).expect(text).seeds.0;
        assert_eq!(seeds("seeds: [3, 1]"), [3, 1]);
        assert_eq!(seeds("seeds: {from: 4, count: 3}"), [4, 5, 6]);
        assert!(seeds("").is_empty());
    }

    #[test]
    fn what_is_no_campaign_is_refused_with_its_line() {
        for (text, part) in [
            ("scenarios: []", "scenarios"),
            ("scenarios: [polar]\nseeds: []", "1 to 100000"),
            ("scenarios: [polar]\nseeds: {from: 1, count: 2, step: 3}", "step"),
            ("scenarios: [polar]\nseeds: [-1]", "whole numbers"),
            ("scenarios: [polar]\nset: {a..b: 1}", "a..b"),
            ("scenarios: [polar]\nset: {seed: [1]}", "seeds"),
            ("scenarios: [polar]\nset: {gravity_m_s2: []}", "1 to 10000"),
            ("scenarios: [polar]\nset: {gravity_m_s2: {uniform: {low: 2, high: 1}}}", "in order"),
            ("scenarios: [polar]\nset: {gravity_m_s2: {even: {low: 2, high: 1}}}", "even"),
            ("scenarios: [polar]\nfor_s: 0", "for_s"),
            ("scenarios: [polar]\nsamples: 0", "samples"),
            ("scenarios: [polar]\nworkers: 3", "workers"),
        ] {
            let reported = read(text).expect_err(text);
            assert!(
                reported.contains(part) && reported.contains("x.yaml") && reported.contains("line"),
                "{text}: {reported}"
            );
        }
    }
}

//! Crumbs along ruts: pieces broken off walls of compacted soil, as cameras and lidars see them from close by. They
//! are only drawn: wheels do not touch them, and no soil is taken from the ground for them.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

/// Maximum number of crumbs around a rover, if all of its ground were the wall of a rut.
const CRUMBS_MAX: f64 = 4e6;

/// Crumbs on and below the walls of ruts.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CrumbsSpec {
    /// Crumbs per square metre of ground at the angle of repose of loose soil; fewer where it is flatter.
    #[garde(custom(within(1.0, 1e6)), custom(few_crumbs(self.within_m)))]
    pub per_m2: f64,
    /// Median diameter of crumbs, m.
    #[garde(custom(within(0.0005, 0.05)))]
    pub diameter_m: f64,
    /// About two thirds of the diameters lie within this factor of the median, all within its third power; 1 if all are
    /// equal.
    #[garde(custom(within(1.0, 2.0)))]
    pub spread: f64,
    /// Distance from the observing rover beyond which there are none, m; from half of it on they become fewer.
    #[garde(custom(within(0.1, 20.0)))]
    pub within_m: f64,
}

fn few_crumbs(within_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |per_m2, ()| {
        let crumbs = std::f64::consts::PI * within_m.powi(2) * per_m2;
        // A distance that is NaN is refused by its own check.
        if crumbs.is_nan() || crumbs <= CRUMBS_MAX {
            return Ok(());
        }
        let what = format!("value {per_m2} is not allowed: makes up to {crumbs:.0} crumbs, {CRUMBS_MAX} are allowed");
        Err(garde::Error::new(what))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;

    use super::CrumbsSpec;

    const CRUMBS: &str = "per_m2: 40000
diameter_m: 0.004
spread: 1.5
within_m: 3
";

    fn parsed(text: &str) -> Result<CrumbsSpec, String> {
        parse_yaml(text, Path::new("scenario/x.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn crumbs_are_refused_with_line_value_and_what_is_allowed() {
        assert_eq!(parsed(CRUMBS).expect("good").spread, 1.5);
        for (from, to, parts) in [
            ("per_m2: 40000", "per_m2: 0", ["line 1", "0", "1 to 1000000"]),
            ("per_m2: 40000", "per_m2: 900000", ["line 1", "900000", "4000000 are allowed"]),
            ("diameter_m: 0.004", "diameter_m: 1", ["line 2", "1", "0.0005 to 0.05"]),
            ("spread: 1.5", "spread: 3", ["line 3", "3", "1 to 2"]),
            ("within_m: 3", "within_m: .nan", ["line 4", "NaN", "0.1 to 20"]),
        ] {
            let message = parsed(&CRUMBS.replace(from, to)).expect_err("must be refused");
            for part in parts.iter().chain(&["scenario/x.yaml"]) {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}

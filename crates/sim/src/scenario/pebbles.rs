//! Clods and pebbles too small to be rocks of the site, as cameras and lidars see them from close by. They are only
//! drawn: wheels do not touch them, and no soil is taken from the ground for them.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

/// Maximum number of pebbles around a rover.
const PEBBLES_MAX: f64 = 4e6;

/// Clods and pebbles on undisturbed ground.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PebblesSpec {
    /// Pebbles per square metre.
    #[garde(custom(within(1.0, 1e6)), custom(few_pebbles(self.within_m)))]
    pub per_m2: f64,
    /// Smallest and largest diameter of pebbles, m.
    #[garde(custom(diameters))]
    pub diameter_m: [f64; 2],
    /// Exponent of the power law by which the number of pebbles larger than a diameter falls; 2 to 3 on the Moon.
    #[garde(custom(within(0.5, 6.0)))]
    pub exponent: f64,
    /// Distance from the observing rover beyond which there are none, m; from half of it on they become fewer.
    #[garde(custom(within(0.1, 20.0)))]
    pub within_m: f64,
}

fn few_pebbles(within_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |per_m2, ()| {
        let pebbles = std::f64::consts::PI * within_m.powi(2) * per_m2;
        // A distance that is NaN is refused by its own check.
        if pebbles.is_nan() || pebbles <= PEBBLES_MAX {
            return Ok(());
        }
        let what = format!("value {per_m2} is not allowed: makes {pebbles:.0} pebbles, {PEBBLES_MAX} are allowed");
        Err(garde::Error::new(what))
    }
}

fn diameters([least_m, greatest_m]: &[f64; 2], (): &()) -> garde::Result {
    for diameter_m in [least_m, greatest_m] {
        within(0.0005, 0.2)(diameter_m, &())?;
    }
    if least_m < greatest_m {
        return Ok(());
    }
    let what = format!("value [{least_m}, {greatest_m}] is not allowed: the second must be more than the first");
    Err(garde::Error::new(what))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;

    use super::PebblesSpec;

    const PEBBLES: &str = "per_m2: 20000
diameter_m: [0.002, 0.03]
exponent: 2.5
within_m: 3
";

    fn parsed(text: &str) -> Result<PebblesSpec, String> {
        parse_yaml(text, Path::new("scenario/x.yaml")).map_err(|error| error.to_string())
    }

    #[test]
    fn pebbles_are_refused_with_line_value_and_what_is_allowed() {
        assert_eq!(parsed(PEBBLES).expect("good").exponent, 2.5);
        for (from, to, parts) in [
            ("per_m2: 20000", "per_m2: 0", ["line 1", "0", "1 to 1000000"]),
            ("per_m2: 20000", "per_m2: 900000", ["line 1", "900000", "4000000 are allowed"]),
            ("[0.002, 0.03]", "[0.002, 1]", ["line 2", "1", "0.0005 to 0.2"]),
            ("[0.002, 0.03]", "[0.03, 0.002]", ["line 2", "[0.03, 0.002]", "more than the first"]),
            ("exponent: 2.5", "exponent: 9", ["line 3", "9", "0.5 to 6"]),
            ("within_m: 3", "within_m: .nan", ["line 4", "NaN", "0.1 to 20"]),
        ] {
            let message = parsed(&PEBBLES.replace(from, to)).expect_err("must be refused");
            for part in parts.iter().chain(&["scenario/x.yaml"]) {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}

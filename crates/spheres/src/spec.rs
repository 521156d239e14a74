//! Parameters of grains: spheres of one elastic material. Bodies and walls are rigid.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::{Deserialize, Serialize};

/// Parameters of grains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SpheresSpec {
    /// Density ρ of a grain, kg/m³: 100 to 20000.
    #[garde(custom(within(100.0, 20_000.0)))]
    pub density_kg_m3: f64,
    /// Young's modulus E of a grain, Pa: 10 kPa to 1 TPa. Softer grains than real ones move in the same way while their
    /// overlaps stay below a few hundredths of a radius, and allow longer substeps, by 1/√E.
    #[garde(custom(within(1e4, 1e12)))]
    pub young_pa: f64,
    /// Poisson's ratio ν of a grain, 0 to 0.5.
    #[garde(custom(within(0.0, 0.5)))]
    pub poisson: f64,
    /// Coefficient of restitution e of a collision along the line of centres, 0.01 to 1.
    #[garde(custom(within(0.01, 1.0)))]
    pub restitution: f64,
    /// Coulomb's coefficient between grains, 0 to 10.
    #[garde(custom(within(0.0, 10.0)))]
    pub friction: f64,
    /// Coefficient of rolling resistance, 0 to 2: the largest moment divided by normal force and reduced radius. At a
    /// contact it is limited to the coefficient of friction there. Zero is a perfect sphere.
    #[garde(custom(within(0.0, 2.0)))]
    pub rolling_friction: f64,
}

impl SpheresSpec {
    /// Shear modulus `G = E/(2(1 + ν))`, Pa.
    #[must_use]
    pub fn shear_pa(&self) -> f64 {
        self.young_pa / (2.0 * (1.0 + self.poisson))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use selene_base::input::parse_yaml;

    use super::SpheresSpec;

    const GRAINS: &str = "density_kg_m3: 2600
young_pa: 1e7
poisson: 0.3
restitution: 0.5
friction: 0.5
rolling_friction: 0.1
";

    #[test]
    fn values_that_no_grain_has_are_refused_with_line_value_and_what_is_allowed() {
        assert!(parse_yaml::<SpheresSpec>(GRAINS, Path::new("x.yaml")).is_ok());
        for (from, to, parts) in [
            ("2600", "-1", ["line 1", "-1", "100 to 20000"]),
            ("1e7", ".nan", ["line 2", "NaN", "10000 to"]),
            ("poisson: 0.3", "poisson: 0.6", ["line 3", "0.6", "0 to 0.5"]),
            ("restitution: 0.5", "restitution: 0", ["line 4", "0", "0.01 to 1"]),
            ("rolling_friction: 0.1", "rolling_friction: 3", ["line 6", "3", "0 to 2"]),
        ] {
            let refused = parse_yaml::<SpheresSpec>(&GRAINS.replace(from, to), Path::new("x.yaml"));
            let message = refused.expect_err("must be refused").to_string();
            for part in parts {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}

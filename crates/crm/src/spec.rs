//! Parameters of granular soil: an elastic solid that yields by friction μ(I) and cohesion.
//! `μ` is the tangent of the steepest stable slope. From the friction angle φ of a triaxial test it follows as
//! `μ = 2√3 sin φ/(3 − sin φ)`, and in plane strain as `μ = sin φ`.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::{Deserialize, Serialize};

/// Parameters of granular soil: the key `crm` of a soil's file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CrmSpec {
    /// Bulk density ρ of soil at rest, kg/m³: 100 to 10000.
    #[garde(custom(within(100.0, 10_000.0)))]
    pub density_kg_m3: f64,
    /// Young's modulus E, Pa: 1 kPa to 1 GPa. Some hundred times the working pressure is stiff enough; stiffer soil
    /// needs shorter steps, by 1/√E.
    #[garde(custom(within(1e3, 1e9)))]
    pub young_pa: f64,
    /// Poisson's ratio ν, 0 to 0.45.
    #[garde(custom(within(0.0, 0.45)))]
    pub poisson: f64,
    /// Coefficient of friction μs in slow shear, 0.01 to 5.
    #[garde(custom(within(0.01, 5.0)))]
    pub friction_static: f64,
    /// Coefficient of friction μ2 in fast shear, from `friction_static` to 5. If both are equal, the soil follows
    /// Drucker and Prager, and the three keys below have no effect.
    #[garde(custom(within(self.friction_static, 5.0)))]
    pub friction_dynamic: f64,
    /// Inertial number I₀ at which friction is midway between the two, 1e-4 to 10.
    #[garde(custom(within(1e-4, 10.0)))]
    pub inertial_number: f64,
    /// Diameter d of a grain, m: 1 µm to 10 cm.
    #[garde(custom(within(1e-6, 0.1)))]
    pub grain_m: f64,
    /// Density of a grain, kg/m³, from `density_kg_m3` to 10000.
    #[garde(custom(within(self.density_kg_m3, 10_000.0)))]
    pub grain_density_kg_m3: f64,
    /// Cohesion c: shear strength at zero pressure, Pa: 0 to 1 MPa. It gives no tensile strength.
    #[garde(custom(within(0.0, 1e6)))]
    pub cohesion_pa: f64,
}

/// Published parameter sets of Chrono's demos (projectchrono, uwsbel/sbel-reproducibility). All have μs = μ2; a grain
/// size of 5 mm is our choice where the demo's is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// VIPER on soil; points are 30 mm apart.
    Viper,
    /// A wheel of VIPER on a slope; points are 10 mm apart.
    Slope,
    /// RASSOR's drum; points are 5 mm apart.
    Drum,
    /// A sinking plate; points are 12.5 mm apart.
    Plate,
    /// A heap at its angle of repose; points are 10 mm apart.
    Repose,
    /// A patch of soil that moves with a vehicle; points are 40 mm apart.
    MovingPatch,
}

impl Preset {
    /// The preset's parameters.
    #[must_use]
    pub fn soil(self) -> CrmSpec {
        let drucker_prager = |density_kg_m3, young_pa, friction, inertial_number, cohesion_pa| CrmSpec {
            density_kg_m3,
            young_pa,
            poisson: 0.3,
            friction_static: friction,
            friction_dynamic: friction,
            inertial_number,
            grain_m: 0.005,
            grain_density_kg_m3: density_kg_m3,
            cohesion_pa,
        };
        match self {
            Self::Viper => drucker_prager(1700.0, 1e6, 0.7, 0.04, 5e3),
            Self::Slope => drucker_prager(1760.0, 1e6, 0.793, 0.04, 0.0),
            Self::Drum => CrmSpec { grain_m: 0.0025, ..drucker_prager(1700.0, 1e6, 0.7, 0.03, 0.0) },
            Self::Plate => {
                CrmSpec { poisson: 0.25, ..drucker_prager(1600.0, 28e6, 40_f64.to_radians().tan(), 0.03, 1e3) }
            }
            Self::Repose => drucker_prager(1500.0, 2e6, 0.3819, 0.03, 0.0),
            Self::MovingPatch => drucker_prager(1700.0, 1e6, 0.8, 0.04, 5e3),
        }
    }
}

impl CrmSpec {
    /// Bulk modulus `K = E/(3(1 − 2ν))`, Pa.
    #[must_use]
    pub fn bulk_pa(&self) -> f64 {
        self.young_pa / (3.0 * (1.0 - 2.0 * self.poisson))
    }

    /// Shear modulus `G = E/(2(1 + ν))`, Pa.
    #[must_use]
    pub fn shear_pa(&self) -> f64 {
        self.young_pa / (2.0 * (1.0 + self.poisson))
    }

    /// Speed of pressure waves `√((K + 4G/3)/ρ)`, m/s.
    #[must_use]
    pub fn wave_speed_m_s(&self) -> f64 {
        ((self.bulk_pa() + 4.0 / 3.0 * self.shear_pa()) / self.density_kg_m3).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use garde::Validate;
    use selene_base::input::parse_yaml;

    use super::{CrmSpec, Preset};

    const SOIL: &str = "density_kg_m3: 1600
young_pa: 3e5
poisson: 0.3
friction_static: 0.7
friction_dynamic: 0.9
inertial_number: 0.3
grain_m: 0.001
grain_density_kg_m3: 3100
cohesion_pa: 170
";

    #[test]
    fn every_preset_is_allowed() {
        use Preset::{Drum, MovingPatch, Plate, Repose, Slope, Viper};
        for preset in [Viper, Slope, Drum, Plate, Repose, MovingPatch] {
            assert!(preset.soil().validate().is_ok(), "{preset:?}");
        }
    }

    #[test]
    fn values_that_no_soil_has_are_refused_with_line_value_and_what_is_allowed() {
        assert!(parse_yaml::<CrmSpec>(SOIL, Path::new("x.yaml")).is_ok());
        for (from, to, parts) in [
            ("1600", "-1", ["line 1", "-1", "100 to 10000"]),
            ("3e5", ".nan", ["line 2", "NaN", "1000 to"]),
            ("poisson: 0.3", "poisson: 0.5", ["line 3", "0.5", "0 to 0.45"]),
            ("dynamic: 0.9", "dynamic: 0.6", ["line 5", "0.6", "0.7 to 5"]),
            ("3100", "1500", ["line 8", "1500", "1600 to"]),
        ] {
            let refused = parse_yaml::<CrmSpec>(&SOIL.replace(from, to), Path::new("x.yaml"));
            let message = refused.expect_err("must be refused").to_string();
            for part in parts {
                assert!(message.contains(part), "{part} is missing in: {message}");
            }
        }
    }
}

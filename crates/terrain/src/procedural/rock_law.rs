//! Size distribution of rocks: published cumulative power laws (synthterrain, NASA Ames). One law holds everywhere;
//! others add rocks that craters have excavated. Those are densest at the rim, thin out outwards, are few inside and
//! disappear with the crater's age.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;

use crate::procedural::crater::Crater;
use crate::procedural::crater_age::AGE_MAX_YR;

/// Distance from a crater's centre, in radii, over which the density of its rocks falls by a factor of e.
const THINNING_RADII: f64 = 0.7;
/// Distance from a crater's centre up to which its rocks lie, in radii.
pub(crate) const ROCKS_REACH_RADII: f64 = 2.0;
/// Density of rocks inside the rim, relative to the law.
const INSIDE: f64 = 0.05;
/// Exponent of the remaining age: blocks crumble and are buried.
const AGE_DECAY: i32 = 3;
/// Ratio of a crater's diameter to that of its largest rocks.
pub(crate) const CRATER_PER_ROCK: f64 = 10.0;

/// The rocks of a site.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RockLaw {
    /// Size distribution of the rocks that are everywhere.
    #[garde(dive)]
    pub law: RockSizes,
    /// Rocks that craters have excavated; none by default.
    #[garde(dive)]
    pub around_craters: Option<CraterRocksSpec>,
    /// Smallest diameter on the finest level, m: 2 cm to 100 m, and no smaller than what `count_max` shows there.
    #[garde(custom(within(0.02, 100.0)))]
    pub diameter_min_m: f64,
    /// Largest diameter, m: above the smallest, to 100 m.
    #[garde(custom(within(0.02, 100.0)))]
    pub diameter_max_m: f64,
    /// Distance from the map origin without rocks, m: to 1000 km.
    #[garde(custom(within(0.0, 1e6)))]
    pub clear_radius_m: f64,
    /// Maximum number of rocks on the windows of all levels together. Coarse windows leave out the smallest rocks above
    /// this number; a site whose finest window would have to is refused. 0 for no rocks.
    #[garde(range(max = 100_000))]
    pub count_max: usize,
}

/// Rocks that craters have excavated.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CraterRocksSpec {
    /// Size distribution where they are densest.
    #[garde(dive)]
    pub law: RockSizes,
    /// Diameter of the smallest crater with excavated rocks, m: smaller impacts only stir the soil.
    #[garde(custom(within(0.5, 10_000.0)))]
    pub crater_diameter_min_m: f64,
}

/// A cumulative size–frequency law of rocks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "RockSizesKeys")]
pub enum RockSizes {
    /// Ground between craters: 1e-4 d^−1.75457 per m².
    BetweenCraters,
    /// The VIPER environment: 3e-4 d^−2.482 per m².
    Viper,
    /// Haworth: 2e-3 d^−2.6607 per m².
    Haworth,
    /// A custom power law.
    Power(RockPowerSpec),
}

/// The keys of a law in a site's file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RockSizesKeys {
    preset: Option<RockPreset>,
    power: Option<RockPowerSpec>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RockPreset {
    BetweenCraters,
    Viper,
    Haworth,
}

impl From<RockPreset> for RockSizes {
    fn from(preset: RockPreset) -> Self {
        match preset {
            RockPreset::BetweenCraters => Self::BetweenCraters,
            RockPreset::Viper => Self::Viper,
            RockPreset::Haworth => Self::Haworth,
        }
    }
}

impl TryFrom<RockSizesKeys> for RockSizes {
    type Error = NotOneOf;

    fn try_from(keys: RockSizesKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("preset (between_craters, viper or haworth)", keys.preset.map(Self::from)),
            ("power", keys.power.map(Self::Power)),
        ])
    }
}

/// Error paths follow the file's keys, so that an error message finds the line.
impl Validate for RockSizes {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        if let Self::Power(spec) = self {
            spec.validate_into(&(), &mut garde::util::nested_path!(parent, "power"), report);
        }
    }
}

/// `N(>d) = density_1m_m2 · d^−slope` per m².
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RockPowerSpec {
    /// Rocks per m² with a diameter above one metre.
    #[garde(custom(within(0.0, 1.0)))]
    pub density_1m_m2: f64,
    /// Exponent.
    #[garde(custom(within(0.5, 6.0)))]
    pub slope: f64,
}

impl RockSizes {
    fn power(&self) -> RockPowerSpec {
        let [density_1m_m2, slope] = match *self {
            Self::BetweenCraters => [1e-4, 1.75457],
            Self::Viper => [3e-4, 2.482],
            Self::Haworth => [2e-3, 2.6607],
            Self::Power(power) => return power,
        };
        RockPowerSpec { density_1m_m2, slope }
    }

    /// Rocks per m² larger than `diameter_m`.
    pub(crate) fn density_m2(&self, diameter_m: f64) -> f64 {
        let RockPowerSpec { density_1m_m2, slope } = self.power();
        density_1m_m2 * diameter_m.powf(-slope)
    }

    /// Inverse of the law: the diameter that `density_m2` rocks per m² exceed, m.
    pub(crate) fn diameter_m(&self, density_m2: f64) -> f64 {
        let RockPowerSpec { density_1m_m2, slope } = self.power();
        (density_m2 / density_1m_m2).powf(-1.0 / slope)
    }
}

/// Density of rocks around craters at a position, relative to the law, 0 … 1.
pub(crate) fn share_at<'a>([x, y]: [f64; 2], craters: impl IntoIterator<Item = &'a Crater>) -> f64 {
    let share = |crater: &Crater| {
        let radii = (x - crater.at_m[0]).hypot(y - crater.at_m[1]) / crater.radius_m();
        let thickness = match radii {
            r if r < 1.0 => INSIDE,
            r if r < ROCKS_REACH_RADII => (-r / THINNING_RADII).exp(),
            _ => 0.0,
        };
        thickness * (1.0 - crater.age_yr / AGE_MAX_YR).max(0.0).powi(AGE_DECAY)
    };
    craters.into_iter().map(share).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{RockSizes, share_at};
    use crate::procedural::crater::Crater;

    #[test]
    fn laws_have_their_published_densities_and_an_inverse() {
        let cases = [
            (RockSizes::BetweenCraters, 1e-4, 1.75457),
            (RockSizes::Viper, 3e-4, 2.482),
            (RockSizes::Haworth, 2e-3, 2.6607),
        ];
        for (law, at_1m, slope) in cases {
            assert!((law.density_m2(1.0) - at_1m).abs() < 1e-12);
            assert!((law.density_m2(0.1) / at_1m - 10.0_f64.powf(slope)).abs() < 1e-6);
            assert!((law.diameter_m(law.density_m2(0.3)) - 0.3).abs() < 1e-12);
        }
    }

    #[test]
    fn rocks_are_thickest_at_the_rim_and_go_with_age() {
        let crater = |age_yr| Crater { at_m: [10.0, 0.0], diameter_m: 20.0, age_yr, wear: 0.0 };
        let share = |radii: f64, age_yr| share_at([10.0 + 10.0 * radii, 0.0], &[crater(age_yr)]);
        assert!((share(1.4, 0.0) - (-2.0_f64).exp()).abs() < 1e-12);
        assert!((share(0.5, 0.0) - 0.05).abs() < 1e-12 && share(2.1, 0.0) == 0.0);
        assert!((share(1.4, 2e9) / share(1.4, 0.0) - 0.125).abs() < 1e-12);
        assert!(share(1.4, 4e9) == 0.0);
    }
}

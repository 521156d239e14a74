//! Size distribution of craters: published cumulative laws, and the production function. `preset: viper` is the VIPER
//! environment (NASA Ames, VIPER-MSE-SPEC-001, through synthterrain), `preset: trask` the equilibrium of Trask (1966),
//! `neukum` the production of Neukum et al. (2001) over an age, and `power` a custom power law with a knee.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;

/// Coefficients a₀ … a₁₁ of log₁₀ N = Σ aⱼ (log₁₀ D)ʲ, D in km, N per km² and 10⁹ years
/// (Neukum et al. 2001).
const NEUKUM: [f64; 12] = [
    -3.0876, -3.557_528, 0.781_027, 1.021_521, -0.156_012, -0.444_058, 0.019_977, 0.086_850, -0.005_874, -0.006_809,
    8.25e-4, 5.54e-5,
];
/// Diameters in m and craters per km² and year of the flux of Grün et al. (1985), scaled to craters as in synthterrain;
/// only its slopes are used, below the polynomial's range.
const GRUN: [[f64; 2]; 7] = [
    [0.069_060_751, 5.97e2],
    [0.148_786_877, 3.07e1],
    [0.320_551_61, 1.49],
    [0.690_607_508, 7.02e-2],
    [1.487_868_771, 3.26e-3],
    [3.205_516_094, 1.50e-4],
    [6.906_075_072, 1.46e-5],
];
/// Smallest diameter of the polynomial's range, m.
const NEUKUM_MIN_M: f64 = 10.0;
/// Knee of the VIPER law, m. The published law drops by a third at the first diameter; here the drop is spread up to
/// the second diameter, beyond which the published law holds again.
const VIPER_KNEE_M: [f64; 2] = [80.0, 100.0];
const PER_KM2: f64 = 1e-6;
/// Bisections that determine a diameter: they narrow its interval 10¹² times.
const HALVINGS: usize = 40;

/// The craters of a site.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CraterLaw {
    /// Size distribution: number of craters of each size.
    #[garde(dive)]
    pub law: CraterSizes,
    /// Smallest diameter, m: 5 cm to 1 km.
    #[garde(custom(within(0.05, 1000.0)))]
    pub diameter_min_m: f64,
    /// Largest diameter, m: above the smallest, to 100 km.
    #[garde(custom(within(0.05, 100_000.0)))]
    pub diameter_max_m: f64,
}

/// A cumulative size–frequency law of craters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "CraterSizesKeys")]
pub enum CraterSizes {
    /// The VIPER environment: 29174 d^−1.92 per km², 156228 d^−2.389 above 80 m.
    Viper,
    /// Trask's equilibrium: 10^−1.1 d^−2 per m².
    Trask,
    /// Neukum's production over an age.
    Neukum(NeukumSpec),
    /// A power law with a knee.
    Power(CraterPowerSpec),
}

/// The keys of a law in a site's file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CraterSizesKeys {
    preset: Option<CraterPreset>,
    neukum: Option<NeukumSpec>,
    power: Option<CraterPowerSpec>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CraterPreset {
    Viper,
    Trask,
}

impl From<CraterPreset> for CraterSizes {
    fn from(preset: CraterPreset) -> Self {
        match preset {
            CraterPreset::Viper => Self::Viper,
            CraterPreset::Trask => Self::Trask,
        }
    }
}

impl TryFrom<CraterSizesKeys> for CraterSizes {
    type Error = NotOneOf;

    fn try_from(keys: CraterSizesKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("preset (viper or trask)", keys.preset.map(Self::from)),
            ("neukum", keys.neukum.map(Self::Neukum)),
            ("power", keys.power.map(Self::Power)),
        ])
    }
}

/// Error paths follow the file's keys, so that an error message finds the line.
impl Validate for CraterSizes {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        match self {
            Self::Viper | Self::Trask => {}
            Self::Neukum(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "neukum"), report),
            Self::Power(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "power"), report),
        }
    }
}

/// All craters that impacts make during an age, without degradation.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct NeukumSpec {
    /// Age at today's impact rate, 10⁹ years.
    #[garde(custom(within(0.000_001, 4.0)))]
    pub age_gyr: f64,
}

/// Power law `N(>d) = density_1m_km2 · d^−slope` per km² up to `knee_m`, continued without a jump by a steeper one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CraterPowerSpec {
    /// Craters per km² larger than one metre.
    #[garde(custom(within(0.0, 1e6)))]
    pub density_1m_km2: f64,
    /// Exponent up to the knee.
    #[garde(custom(within(0.5, 4.0)))]
    pub slope: f64,
    /// Diameter where the law steepens, m: 1 cm to 1000 km.
    #[garde(custom(within(0.01, 1e6)))]
    pub knee_m: f64,
    /// Exponent above the knee.
    #[garde(custom(within(0.5, 6.0)))]
    pub slope_above_knee: f64,
}

impl CraterSizes {
    /// Craters per m² larger than `diameter_m`.
    #[must_use]
    pub fn density_m2(&self, diameter_m: f64) -> f64 {
        match *self {
            Self::Viper => viper_m2(diameter_m),
            Self::Trask => 10.0_f64.powf(-1.1) * diameter_m.powi(-2),
            Self::Neukum(NeukumSpec { age_gyr }) => age_gyr * production_m2_gyr(diameter_m),
            Self::Power(CraterPowerSpec { density_1m_km2, slope, knee_m, slope_above_knee }) => {
                let below_knee = PER_KM2 * density_1m_km2 * diameter_m.min(knee_m).powf(-slope);
                below_knee * (diameter_m / knee_m).max(1.0).powf(-slope_above_knee)
            }
        }
    }
}

impl CraterLaw {
    /// Inverse of the law: the diameter between `low_m` and `high_m` that `density_m2` craters per m² exceed, m.
    pub(crate) fn diameter_m(&self, density_m2: f64, [low_m, high_m]: [f64; 2]) -> f64 {
        let (mut low, mut high) = (low_m, high_m);
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if self.law.density_m2(middle) > density_m2 {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low * high).sqrt()
    }
}

fn viper_m2(diameter_m: f64) -> f64 {
    let [small, large] = [|d: f64| 29_174.0 * d.powf(-1.92), |d: f64| 156_228.0 * d.powf(-2.389)];
    let [knee, end] = VIPER_KNEE_M;
    PER_KM2
        * match diameter_m {
            d if d <= knee => small(d),
            d if d >= end => large(d),
            d => between([[knee, small(knee)], [end, large(end)]], d),
        }
}

/// The power law through two points, evaluated at `x`.
fn between([[x0, y0], [x1, y1]]: [[f64; 2]; 2], x: f64) -> f64 {
    y0 * (x / x0).powf((y1 / y0).ln() / (x1 / x0).ln())
}

/// Production function: craters larger than `diameter_m` that impacts make per m² in 10⁹ years. Neukum's polynomial
/// from 10 m on, continued below with the slopes of Grün's flux.
pub(crate) fn production_m2_gyr(diameter_m: f64) -> f64 {
    PER_KM2 * if diameter_m >= NEUKUM_MIN_M { neukum(diameter_m) } else { below_neukum(diameter_m) }
}

fn neukum(diameter_m: f64) -> f64 {
    let x = (diameter_m / 1000.0).log10();
    10.0_f64.powf(NEUKUM.iter().rev().fold(0.0, |sum, a| sum * x + a))
}

fn below_neukum(diameter_m: f64) -> f64 {
    let [d, n] = GRUN[GRUN.len() - 1];
    // The last slope continues from Grün's last diameter to the start of the polynomial.
    let last = GRUN.windows(2).next_back().map_or([[1.0; 2]; 2], |pair| [pair[0], pair[1]]);
    let scale = neukum(NEUKUM_MIN_M) / between(last, NEUKUM_MIN_M);
    let segment = GRUN.windows(2).find(|pair| diameter_m < pair[1][0]);
    scale
        * segment.map_or_else(|| between([last[0], [d, n]], diameter_m), |pair| between([pair[0], pair[1]], diameter_m))
}

#[cfg(test)]
mod tests {
    use super::{CraterLaw, CraterPowerSpec, CraterSizes, NeukumSpec, neukum, production_m2_gyr};

    /// Published figures, evaluated by hand or by another program, have five digits.
    const FIGURE_TOLERANCE: f64 = 1e-4;

    fn law(law: CraterSizes) -> CraterLaw {
        CraterLaw { law, diameter_min_m: 0.3, diameter_max_m: 1000.0 }
    }

    fn laws() -> [CraterLaw; 4] {
        let power = CraterPowerSpec { density_1m_km2: 1000.0, slope: 1.5, knee_m: 20.0, slope_above_knee: 3.0 };
        let neukum = NeukumSpec { age_gyr: 0.5 };
        [CraterSizes::Viper, CraterSizes::Trask, CraterSizes::Neukum(neukum), CraterSizes::Power(power)].map(law)
    }

    #[test]
    fn laws_have_their_published_densities() {
        let [viper, trask, neukum, _] = laws();
        let cases = [
            (viper, 1.0, 29_174e-6),
            (viper, 50.0, 29_174e-6 * 50.0_f64.powf(-1.92)),
            (viper, 200.0, 156_228e-6 * 200.0_f64.powf(-2.389)),
            (trask, 10.0, 10.0_f64.powf(-3.1)),
            // For 1 km the polynomial is a₀ alone, for 100 m its terms alternate in sign.
            (neukum, 1000.0, 0.5e-6 * 10.0_f64.powf(-3.0876)),
            (neukum, 100.0, 0.5e-6 * 2.833_424),
        ];
        for (law, diameter_m, density_m2) in cases {
            let found = law.law.density_m2(diameter_m);
            assert!((found / density_m2 - 1.0).abs() < FIGURE_TOLERANCE, "{law:?} {diameter_m} m: {found}");
        }
    }

    #[test]
    fn every_law_falls_and_has_an_inverse() {
        for law in laws() {
            for step in 0..110 {
                let diameter_m = 0.3 * 1.075_f64.powi(step);
                let density_m2 = law.law.density_m2(diameter_m);
                assert!(law.law.density_m2(diameter_m * 1.01) < density_m2);
                let found = law.diameter_m(density_m2, [0.2, 2000.0]);
                assert!((found / diameter_m - 1.0).abs() < 1e-9, "{law:?} {diameter_m} m: {found}");
            }
        }
    }

    #[test]
    fn production_goes_on_below_the_polynomial_without_a_step() {
        let [above, below] = [10.0, 10.0 - 1e-9].map(production_m2_gyr);
        assert!((above / below - 1.0).abs() < 1e-6 && (above * 1e6 - neukum(10.0)).abs() < 1e-6);
        let [one, ten] = [1.0, 10.0].map(production_m2_gyr);
        let slope = (one / ten).log10();
        assert!((3.3..4.1).contains(&slope), "{slope}");
    }
}

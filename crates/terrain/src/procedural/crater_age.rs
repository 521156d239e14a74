//! Age of craters and the wear that follows from it. A site's law gives the number of craters of a size, and the
//! production function the number of impacts in a time. A crater's age is uniform up to its survival time, the time in
//! which impacts make as many craters as there are (as in synthterrain, NASA Ames). Soil creeps downhill: the profile
//! diffuses with a diffusivity that grows with the crater (Fassett and Thomson 2014, and Fassett's later fit, through
//! synthterrain).

use crate::procedural::crater_law::{CraterLaw, production_m2_gyr};

/// Largest age of a crater, years.
pub(crate) const AGE_MAX_YR: f64 = 4e9;
/// Width of the size bin in which numbers are compared: a tenth of a decade.
const BIN: f64 = 1.258_925_411_794_167_3;

/// Survival time of a site's craters of a size, years.
pub(crate) fn survival_yr(law: &CraterLaw, diameter_m: f64) -> f64 {
    let there_are = law.law.density_m2(diameter_m) - law.law.density_m2(BIN * diameter_m);
    let made_in_gyr = production_m2_gyr(diameter_m) - production_m2_gyr(BIN * diameter_m);
    (1e9 * there_are / made_in_gyr).min(AGE_MAX_YR)
}

/// Topographic diffusivity for a crater, m² per 10⁶ years.
fn diffusivity_m2_myr(diameter_m: f64) -> f64 {
    match diameter_m {
        d if d <= 11.2 => 0.0155,
        d if d < 45.0 => 1.55e-3 * d.powf(0.974),
        d if d < 125.0 => 1.23e-3 * d.powf(0.8386),
        d => 5.2e-3 * d.powf(1.3),
    }
}

/// Wear by diffusion, κ t / r², dimensionless.
pub(crate) fn wear(diameter_m: f64, age_yr: f64) -> f64 {
    diffusivity_m2_myr(diameter_m) * age_yr * 1e-6 / (diameter_m / 2.0).powi(2)
}

/// Age at which a crater has a given wear, years.
pub(crate) fn age_yr(diameter_m: f64, wear: f64) -> f64 {
    wear * (diameter_m / 2.0).powi(2) / (diffusivity_m2_myr(diameter_m) * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::{AGE_MAX_YR, age_yr, survival_yr, wear};
    use crate::procedural::crater_law::{CraterLaw, CraterSizes, NeukumSpec};

    fn law(law: CraterSizes) -> CraterLaw {
        CraterLaw { law, diameter_min_m: 0.3, diameter_max_m: 1000.0 }
    }

    #[test]
    fn craters_of_a_surface_of_one_age_are_as_old_as_it() {
        let law = law(CraterSizes::Neukum(NeukumSpec { age_gyr: 0.25 }));
        for diameter_m in [0.5, 5.0, 50.0, 500.0] {
            assert!((survival_yr(&law, diameter_m) / 2.5e8 - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn in_equilibrium_larger_craters_last_longer() {
        let law = law(CraterSizes::Trask);
        let ages: Vec<_> = [0.5, 2.0, 8.0, 30.0, 100.0].iter().map(|&d| survival_yr(&law, d)).collect();
        assert!(ages.windows(2).all(|pair| pair[0] < pair[1]) && ages[4] <= AGE_MAX_YR, "{ages:?}");
    }

    #[test]
    fn wear_is_diffusivity_times_age_over_radius_squared() {
        // 0.0155 m² per 10⁶ years for 100 · 10⁶ years on a radius of 5 m.
        assert!((wear(10.0, 1e8) - 0.0155 * 100.0 / 25.0).abs() < 1e-12);
        // 1.55e-3 · 20^0.974 = 0.028677 m² per 10⁶ years.
        assert!((wear(20.0, 1e9) - 0.286_77).abs() < 1e-4);
        assert!((age_yr(20.0, wear(20.0, 3e8)) - 3e8).abs() < 1.0);
    }
}

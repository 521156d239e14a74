//! What a site's ground and rocks do with light, as its YAML states it: Hapke's parameters
//! where they are not those of mean regolith and of our choice for rock, and how much
//! detail below the finest grid is shown. What the numbers mean is the scene's matter.

use garde::Validate;
use selene_base::input::within;
use serde::Deserialize;

/// Reflectance and detail of a site; what is left out is that of a mean lunar site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct SurfaceSpec {
    /// Of the ground.
    #[garde(dive)]
    pub regolith: HapkeSpec,
    /// Of the rocks.
    #[garde(dive)]
    pub rock: HapkeSpec,
    /// Of the ground below the finest grid.
    #[garde(dive)]
    pub detail: DetailSpec,
}

/// Hapke's parameters (Hapke 2012) that differ from the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct HapkeSpec {
    /// Single-scattering albedo, 0 to 0.99.
    #[garde(inner(custom(within(0.0, 0.99))))]
    pub w: Option<f64>,
    /// Width of the phase function's lobes, 0 to 0.95.
    #[garde(inner(custom(within(0.0, 0.95))))]
    pub b: Option<f64>,
    /// Balance of its lobes, −1 to 1; above 0 more comes back than goes on.
    #[garde(inner(custom(within(-1.0, 1.0))))]
    pub c: Option<f64>,
    /// Height of the opposition surge, 0 to 5.
    #[garde(inner(custom(within(0.0, 5.0))))]
    pub bs0: Option<f64>,
    /// Its width, 0.001 to 1.
    #[garde(inner(custom(within(0.001, 1.0))))]
    pub hs: Option<f64>,
    /// Filling factor, 0.01 to 0.7.
    #[garde(inner(custom(within(0.01, 0.7))))]
    pub filling: Option<f64>,
    /// Mean slope of the unresolved roughness, degrees, 0 to 45.
    #[garde(inner(custom(within(0.0, 45.0))))]
    pub theta_deg: Option<f64>,
    /// Red, green and blue reflectance over their mean: each 0 to 3, together 3.
    #[garde(inner(custom(mean_is_one)))]
    pub tint: Option<[f64; 3]>,
    /// Reflectance at 905 and at 1550 nm, where lidars look, over that in visible light: each 0 to 10.
    #[garde(inner(custom(of_visible)))]
    pub near_infrared: Option<[f64; 2]>,
}

/// Detail below the finest grid.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct DetailSpec {
    /// Part of the slopes that the relief's law has there, 0 (none) to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub strength: f64,
    /// Standard deviation of each octave's albedo, relative, 0 to 0.3.
    #[garde(custom(within(0.0, 0.3)))]
    pub mottle: f64,
}

impl Default for DetailSpec {
    /// A choice: enough to be seen at a few metres, little enough to leave most of the
    /// unresolved roughness to Hapke's own.
    fn default() -> Self {
        Self { strength: 0.4, mottle: 0.04 }
    }
}

/// How far the sum of a tint may be off 3.
const TINT_SLACK: f64 = 1e-3;

/// A garde check: reflectances over that in visible light.
fn of_visible(parts: &[f64; 2], (): &()) -> garde::Result {
    parts.iter().try_for_each(|part| within(0.0, 10.0)(part, &()))
}

fn mean_is_one(tint: &[f64; 3], (): &()) -> garde::Result {
    let allowed = tint.iter().all(|band| (0.0..=3.0).contains(band));
    if allowed && (tint.iter().sum::<f64>() - 3.0).abs() < TINT_SLACK {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {tint:?} is not allowed: must be three numbers 0 to 3 with the sum 3")))
}

#[cfg(test)]
mod tests {
    use super::SurfaceSpec;
    use selene_base::input::parse_yaml;
    use std::path::Path;

    fn read(yaml: &str) -> Result<SurfaceSpec, String> {
        parse_yaml(yaml, Path::new("site.yaml")).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_left_out_is_left_to_the_mean_site() {
        assert_eq!(read("{}"), Ok(SurfaceSpec::default()));
        let dark = read("regolith: {w: 0.2, tint: [1.3, 1.0, 0.7]}").expect("good");
        assert_eq!((dark.regolith.w, dark.regolith.b, dark.rock.w), (Some(0.2), None, None));
    }

    #[test]
    fn what_no_surface_can_be_is_refused_with_line_and_range() {
        for (yaml, parts) in [
            ("\nregolith: {w: 1.5}", ["line 2", "1.5", "0 to 0.99"]),
            ("\nregolith: {tint: [1, 1, 2]}", ["line 2", "[1.0, 1.0, 2.0]", "sum 3"]),
            ("\ndetail: {strength: -1}", ["line 2", "-1", "0 to 1"]),
            ("\nregolith: {albedo: 0.1}", ["line 2", "albedo", "w"]),
        ] {
            let told = read(yaml).expect_err(yaml);
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        }
    }
}

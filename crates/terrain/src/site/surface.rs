//! Reflectance of a site's ground and rocks as its YAML states it: Hapke's parameters where they differ from mean
//! regolith and from our choice for rock, or another reflectance; and how much detail below the finest grid is shown.
//! The scene defines the parameters' meaning.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

use crate::site::reflectance::ReflectanceSpec;

/// Reflectance and detail of a site; the defaults are those of a mean lunar site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct SurfaceSpec {
    /// Reflectance of the ground.
    #[garde(dive)]
    pub regolith: ReflectanceSpec,
    /// Reflectance of the rocks.
    #[garde(dive)]
    pub rock: ReflectanceSpec,
    /// Detail of the ground finer than the finest grid.
    #[garde(dive)]
    pub detail: DetailSpec,
}

/// Detail of the ground finer than the finest grid.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct DetailSpec {
    /// Fraction of the slopes that the relief's law has at these scales, 0 (none) to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub strength: f64,
    /// Relative standard deviation of the albedo in each octave, 0 to 0.3.
    #[garde(custom(within(0.0, 0.3)))]
    pub mottle: f64,
    /// Number of craterlets of up to some posts of the finest grid and down to a millimetre, relative to Trask's
    /// equilibrium (10^−1.1 D^−2 larger than D per m²), 0 (none) to 1.9. They are only seen, and not where wheels pressed
    /// the soil.
    #[garde(custom(within(0.0, 1.9)))]
    pub craterlets: f64,
}

impl Default for DetailSpec {
    /// Slopes and albedo are our choice: enough to be visible at a few metres, and little enough to leave most of the
    /// unresolved roughness to Hapke's own.
    fn default() -> Self {
        Self { strength: 0.4, mottle: 0.04, craterlets: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{ReflectanceSpec, SurfaceSpec};
    use crate::site::reflectance::{HapkeSpec, LambertSpec, PrincipledSpec};
    use selene_base::input::parse_yaml;
    use std::path::Path;

    fn read(yaml: &str) -> Result<SurfaceSpec, String> {
        parse_yaml(yaml, Path::new("site.yaml")).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_left_out_is_left_to_the_mean_site() {
        assert_eq!(read("{}"), Ok(SurfaceSpec::default()));
        let dark = read("regolith: {w: 0.2, tint: [1.3, 1.0, 0.7]}").expect("good");
        let hapke = HapkeSpec { w: Some(0.2), tint: Some([1.3, 1.0, 0.7]), ..HapkeSpec::default() };
        assert_eq!((dark.regolith, dark.rock), (ReflectanceSpec::Hapke(hapke), ReflectanceSpec::default()));
    }

    #[test]
    fn ground_and_rocks_have_any_of_the_reflectances() {
        let yaml = "regolith: {lambert: {albedo: 0.12}}\nrock: {principled: {base: [0.2, 0.1, 0], roughness: 0.9}}";
        let paint = PrincipledSpec {
            base: [0.2, 0.1, 0.0],
            metallic: 0.0,
            roughness: 0.9,
            specular: 0.5,
            near_infrared: None,
            radar: None,
        };
        let expected = SurfaceSpec {
            regolith: ReflectanceSpec::Lambert(LambertSpec { albedo: 0.12 }),
            rock: ReflectanceSpec::Principled(paint),
            ..SurfaceSpec::default()
        };
        assert_eq!(read(yaml), Ok(expected));
    }

    #[test]
    fn what_no_surface_can_be_is_refused_with_line_and_range() {
        for (yaml, parts) in [
            ("\nregolith: {w: 1.5}", ["line 2", "1.5", "0 to 0.99"]),
            ("\nregolith: {tint: [1, 1, 2]}", ["line 2", "[1.0, 1.0, 2.0]", "sum 3"]),
            ("\ndetail: {strength: -1}", ["line 2", "-1", "0 to 1"]),
            ("\ndetail: {craterlets: 2}", ["line 2", "2", "0 to 1.9"]),
            ("\nregolith: {albedo: 0.1}", ["line 2", "albedo", "w"]),
            ("\nrock: {lambert: {albedo: 1.5}}", ["line 2", "1.5", "0 to 1"]),
            ("\nrock:\n  principled: {base: [0, 0, 2], roughness: 0.5}", ["line 3", "2", "0 to 1"]),
            ("\nrock: {principled: {base: [0, 0, 0], roughness: 0}}", ["line 2", "0", "0.1 to 1"]),
            ("\nrock: {w: 0.3, lambert: {albedo: 0.5}}", ["line 2", "exactly one of", "lambert"]),
            ("\nrock: {phong: {}}", ["line 2", "phong", "principled"]),
            ("\nrock: {radar: [0.1, 3]}", ["line 2", "value 3", "0 to 2.6"]),
            ("\nrock: {principled: {base: [0, 0, 0], roughness: 0.5, radar: [2, 0]}}", ["line 2", "value 2", "0 to 1"]),
        ] {
            let reported = read(yaml).expect_err(yaml);
            assert!(parts.iter().all(|part| reported.contains(part)), "{reported}");
        }
    }
}

//! The reflectance of a surface as YAML states it: one of the scene's closed set of reflectances, for a site's ground
//! and rocks and for objects of a scenario. Hapke's parameters are given directly, because regolith follows them by
//! default; any other reflectance is given under its name. The scene defines the parameters' meaning.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;

/// Tolerance of a tint's sum about 3.
const TINT_SLACK: f64 = 1e-3;
/// Hapke's keys, as error messages list them.
const HAPKE_KEYS: &str = "Hapke's keys (w, b, c, bs0, hs, filling, theta_deg, tint, near_infrared, radar)";

/// The reflectance of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "ReflectanceKeys")]
pub enum ReflectanceSpec {
    /// Hapke's reflectance of rough particulate surfaces: soil and rock.
    Hapke(HapkeSpec),
    /// The principled reflectance: paint, plastic, metal.
    Principled(PrincipledSpec),
    /// Lambert's reflectance: matt and grey.
    Lambert(LambertSpec),
}

impl Default for ReflectanceSpec {
    fn default() -> Self {
        Self::Hapke(HapkeSpec::default())
    }
}

/// The keys of a reflectance in a file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReflectanceKeys {
    w: Option<f64>,
    b: Option<f64>,
    c: Option<f64>,
    bs0: Option<f64>,
    hs: Option<f64>,
    filling: Option<f64>,
    theta_deg: Option<f64>,
    tint: Option<[f64; 3]>,
    near_infrared: Option<[f64; 2]>,
    radar: Option<[f64; 2]>,
    principled: Option<PrincipledSpec>,
    lambert: Option<LambertSpec>,
}

impl TryFrom<ReflectanceKeys> for ReflectanceSpec {
    type Error = NotOneOf;

    fn try_from(keys: ReflectanceKeys) -> Result<Self, NotOneOf> {
        let ReflectanceKeys { w, b, c, bs0, hs, filling, theta_deg, tint, near_infrared, radar, principled, lambert } =
            keys;
        let hapke = HapkeSpec { w, b, c, bs0, hs, filling, theta_deg, tint, near_infrared, radar };
        let alone = principled.is_none() && lambert.is_none();
        one_of([
            (HAPKE_KEYS, (alone || hapke != HapkeSpec::default()).then_some(Self::Hapke(hapke))),
            ("principled", principled.map(Self::Principled)),
            ("lambert", lambert.map(Self::Lambert)),
        ])
    }
}

/// Error paths follow the file's keys, so that an error message finds the line.
impl Validate for ReflectanceSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        match self {
            Self::Hapke(spec) => spec.validate_into(&(), parent, report),
            Self::Principled(spec) => {
                spec.validate_into(&(), &mut garde::util::nested_path!(parent, "principled"), report);
            }
            Self::Lambert(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "lambert"), report),
        }
    }
}

/// Hapke's parameters (Hapke 2012); those left out keep their default values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Validate, JsonSchema)]
pub struct HapkeSpec {
    /// Single-scattering albedo, 0 to 0.99.
    #[garde(inner(custom(within(0.0, 0.99))))]
    pub w: Option<f64>,
    /// Width of the phase function's lobes, 0 to 0.95.
    #[garde(inner(custom(within(0.0, 0.95))))]
    pub b: Option<f64>,
    /// Balance of the two lobes, −1 to 1; above 0 more light is scattered back than forward.
    #[garde(inner(custom(within(-1.0, 1.0))))]
    pub c: Option<f64>,
    /// Height of the opposition surge, 0 to 5.
    #[garde(inner(custom(within(0.0, 5.0))))]
    pub bs0: Option<f64>,
    /// Width of the opposition surge, 0.001 to 1.
    #[garde(inner(custom(within(0.001, 1.0))))]
    pub hs: Option<f64>,
    /// Filling factor, 0.01 to 0.7.
    #[garde(inner(custom(within(0.01, 0.7))))]
    pub filling: Option<f64>,
    /// Mean slope of the unresolved roughness, degrees, 0 to 45.
    #[garde(inner(custom(within(0.0, 45.0))))]
    pub theta_deg: Option<f64>,
    /// Red, green and blue reflectance relative to their mean: each 0 to 3, with a sum of 3.
    #[garde(inner(custom(mean_is_one)))]
    pub tint: Option<[f64; 3]>,
    /// Reflectance at 905 and at 1550 nm, lidars' wavelengths, relative to visible light: each 0 to 10.
    #[garde(inner(custom(of_visible)))]
    pub near_infrared: Option<[f64; 2]>,
    /// Radar reflectance: of facets (quasi-specular), 0 to 1, and diffuse, 0 to 8/3; by default the radar file's values
    /// for the surface's class.
    #[garde(inner(custom(radar_shares)))]
    pub radar: Option<[f64; 2]>,
}

/// Parameters of the principled reflectance (Burley 2012).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PrincipledSpec {
    /// Red, green and blue reflectance of the diffuse part, or of the metal at normal incidence; each 0 to 1.
    #[garde(inner(custom(within(0.0, 1.0))))]
    pub base: [f64; 3],
    /// Metallic fraction, 0 (the default) to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub metallic: f64,
    /// Roughness of the facets, 0.1 to 1.
    #[garde(custom(within(0.1, 1.0)))]
    pub roughness: f64,
    /// Strength of the gloss of the non-metallic part, 0 to 1; 0.5 by default.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default = "glossy")]
    pub specular: f64,
    /// Diffuse reflectance at 905 and at 1550 nm, lidars' wavelengths, each 0 to 1; by default as in visible light.
    #[garde(inner(custom(reflectances)))]
    #[serde(default)]
    pub near_infrared: Option<[f64; 2]>,
    /// Radar reflectance: of facets (quasi-specular), 0 to 1, and diffuse, 0 to 8/3; by default the radar file's values
    /// for the surface's class.
    #[garde(inner(custom(radar_shares)))]
    #[serde(default)]
    pub radar: Option<[f64; 2]>,
}

/// Lambert's reflectance: the same radiance in all directions.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LambertSpec {
    /// Fraction of light that is reflected, in every band; 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    pub albedo: f64,
}

fn glossy() -> f64 {
    0.5
}

/// A garde check: reflectances relative to visible light.
fn of_visible(parts: &[f64; 2], (): &()) -> garde::Result {
    parts.iter().try_for_each(|part| within(0.0, 10.0)(part, &()))
}

/// A garde check: `quasi_specular` and `diffuse` of a radar's surface.
///
/// # Errors
/// When the first is not 0 to 1, or the second not 0 to 8/3.
pub fn radar_shares([quasi_specular, diffuse]: &[f64; 2], (): &()) -> garde::Result {
    within(0.0, 1.0)(quasi_specular, &())?;
    within(0.0, 8.0 / 3.0)(diffuse, &())
}

fn reflectances(parts: &[f64; 2], (): &()) -> garde::Result {
    parts.iter().try_for_each(|part| within(0.0, 1.0)(part, &()))
}

fn mean_is_one(tint: &[f64; 3], (): &()) -> garde::Result {
    let allowed = tint.iter().all(|band| (0.0..=3.0).contains(band));
    if allowed && (tint.iter().sum::<f64>() - 3.0).abs() < TINT_SLACK {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {tint:?} is not allowed: must be three numbers 0 to 3 with the sum 3")))
}

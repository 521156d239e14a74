//! The lamps of a rover and the finishes of its URDF's materials. The scene crate defines the effect
//! of these values.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{non_negative, positive, within};
use selene_base::one_of;
use selene_terrain::radar_shares;
use serde::Deserialize;

/// Largest edge of a lamp, m.
const SIZE_M: f64 = 2.0;

/// A lamp on a link, its light along the link's x axis.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LampSpec {
    /// Name, for its topic `lamps/<name>/command`.
    #[garde(custom(topic_name))]
    pub name: String,
    /// The link that carries it.
    #[garde(skip)]
    pub link: String,
    /// Radiant flux from 400 to 700 nm at full level, W; either this or `flux_lm`.
    #[garde(inner(custom(positive)), custom(or_lumens(self.flux_lm.is_some())))]
    #[serde(default)]
    pub flux_w: Option<f64>,
    /// Luminous flux at full level, lm.
    #[garde(inner(custom(positive)))]
    #[serde(default)]
    pub flux_lm: Option<f64>,
    /// Colour temperature, K, 1000 to 20 000; without it and `rgb` as the Sun's light.
    #[garde(inner(custom(within(1000.0, 20_000.0))))]
    #[serde(default)]
    pub temperature_k: Option<f64>,
    /// Radiant flux in red, green and blue, in any unit.
    #[garde(inner(custom(some_light)), custom(not_both(self.temperature_k.is_some())))]
    #[serde(default)]
    pub rgb: Option<[f64; 3]>,
    /// Angle from the axis up to which the intensity is full, degrees; 0 to `outer_deg`.
    #[garde(custom(within(0.0, self.outer_deg)))]
    pub inner_deg: f64,
    /// Angle from the axis beyond which there is no light, degrees; 1 to 180.
    #[garde(custom(within(1.0, 180.0)))]
    pub outer_deg: f64,
    /// Power of the fall between, in the cosine; 0.1 to 20, 1 by default.
    #[garde(custom(within(0.1, 20.0)))]
    #[serde(default = "straight")]
    pub falloff: f64,
    /// Width and height of its face, m, to 2: they determine how soft its shadows are.
    #[garde(inner(custom(within(0.0, SIZE_M))))]
    #[serde(default)]
    pub size_m: [f64; 2],
    /// Level at the start, 0 (off, the default) to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub level: f64,
}

/// The finish of a material of the URDF.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct FinishSpec {
    /// Name of the material in the URDF.
    #[garde(skip)]
    pub material: String,
    /// How much of it is metal, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub metallic: f64,
    /// Roughness, 0.1 to 1.
    #[garde(custom(within(0.1, 1.0)))]
    pub roughness: f64,
    /// Strength of the gloss of the non-metallic part, 0 to 1; 0.5 by default.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default = "glossy")]
    pub specular: f64,
    /// Diffuse reflectance at 905 and at 1550 nm, where lidars look, each 0 to 1; by default that in visible light.
    #[garde(inner(custom(reflectances)))]
    #[serde(default)]
    pub near_infrared: Option<[f64; 2]>,
    /// Share of a radar's waves that it returns by facets, 0 to 1, and diffusely, 0 to 8/3; by default the values for
    /// rovers in the radar's file.
    #[garde(inner(custom(radar_shares)))]
    #[serde(default)]
    pub radar: Option<[f64; 2]>,
}

impl FinishSpec {
    /// The finish of a material that the rover's file does not name: paint without much gloss.
    #[must_use]
    pub fn paint() -> Self {
        Self {
            material: String::new(),
            metallic: 0.0,
            roughness: 0.6,
            specular: glossy(),
            near_infrared: None,
            radar: None,
        }
    }
}

fn reflectances(parts: &[f64; 2], (): &()) -> garde::Result {
    parts.iter().try_for_each(|part| within(0.0, 1.0)(part, &()))
}

fn straight() -> f64 {
    1.0
}

fn glossy() -> f64 {
    0.5
}

fn topic_name(name: &str, (): &()) -> garde::Result {
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if starts_well && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
        return Ok(());
    }
    let allowed = "must be small letters, digits and _, a letter first: it names a topic";
    Err(garde::Error::new(format!("value '{name}' is not allowed: {allowed}")))
}

/// A garde check: exactly one of `flux_w` and `flux_lm`.
fn or_lumens(flux_lm: bool) -> impl FnOnce(&Option<f64>, &()) -> garde::Result {
    move |flux_w, ()| {
        one_of([("flux_w", flux_w.map(drop)), ("flux_lm", flux_lm.then_some(()))]).map_err(garde::Error::new)
    }
}

fn not_both(other: bool) -> impl FnOnce(&Option<[f64; 3]>, &()) -> garde::Result {
    move |value, ()| match value {
        Some(_) if other => Err(garde::Error::new("temperature_k and rgb are both given: give one or none")),
        _ => Ok(()),
    }
}

fn some_light(rgb: &[f64; 3], (): &()) -> garde::Result {
    rgb.iter().try_for_each(|band| non_negative(band, &()))?;
    if rgb.iter().sum::<f64>() > 0.0 {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {rgb:?} is not allowed: one of them must be more than 0")))
}

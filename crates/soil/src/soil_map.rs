//! The soils of a scenario file: one soil file, or a default soil with areas over it. An area
//! is a soil file and one shape: circle, rectangle, polygon, half-plane, a grey picture, or
//! patches of smooth noise. Later areas lie over earlier ones. Paths are relative to the
//! scenario.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use garde::Validate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use selene_base::input::{finite, finite_array, positive, within};
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

/// Most areas of one site.
const AREAS_MAX: usize = 256;

/// A scenario's soils.
#[derive(Clone, Debug, PartialEq, Validate)]
pub struct SoilsSpec {
    /// The soil where no area lies.
    #[garde(skip)]
    pub default: PathBuf,
    /// Areas with other soils.
    #[garde(length(max = AREAS_MAX), dive)]
    pub areas: Vec<AreaSpec>,
}

impl SoilsSpec {
    /// One soil everywhere.
    #[must_use]
    pub fn uniform(file: PathBuf) -> Self {
        Self { default: file, areas: Vec::new() }
    }
}

/// Accepts a path or a mapping. By hand, since serde's untagged enums lose line numbers.
impl<'de> Deserialize<'de> for SoilsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PathOrAreas)
    }
}

/// Describes the same two forms.
impl JsonSchema for SoilsSpec {
    fn schema_name() -> Cow<'static, str> {
        "SoilsSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = generator.subschema_for::<SoilsKeys>();
        json_schema!({ "anyOf": [{ "type": "string" }, keys] })
    }
}

struct PathOrAreas;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SoilsKeys {
    default: PathBuf,
    #[serde(default)]
    areas: Vec<AreaSpec>,
}

impl<'de> Visitor<'de> for PathOrAreas {
    type Value = SoilsSpec;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a soil file, or default and areas")
    }

    fn visit_str<E: Error>(self, file: &str) -> Result<SoilsSpec, E> {
        Ok(SoilsSpec::uniform(PathBuf::from(file)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SoilsSpec, A::Error> {
        let SoilsKeys { default, areas } = SoilsKeys::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SoilsSpec { default, areas })
    }
}

/// A soil and where it lies.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "AreaKeys")]
pub struct AreaSpec {
    /// The soil's file.
    pub soil: PathBuf,
    /// Where it lies.
    pub shape: ShapeSpec,
}

/// Where a soil lies.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
pub enum ShapeSpec {
    /// Within a circle.
    Circle(CircleSpec),
    /// Within a rectangle along the map's axes.
    Rectangle(RectangleSpec),
    /// Within a polygon.
    Polygon(PolygonSpec),
    /// On one side of a line.
    HalfPlane(HalfPlaneSpec),
    /// Where a picture has certain greys.
    Image(ImageSpec),
    /// In patches of smooth noise.
    BekkerPatches(PatchesSpec),
}

/// A circle.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CircleSpec {
    /// Its centre, map x and y, m.
    #[garde(custom(finite_array))]
    pub centre_m: [f64; 2],
    /// Its radius, m.
    #[garde(custom(positive))]
    pub radius_m: f64,
}

/// A rectangle along the map's axes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RectangleSpec {
    /// Its south-west corner, map x and y, m.
    #[garde(custom(finite_array))]
    pub from_m: [f64; 2],
    /// Its north-east corner, m.
    #[garde(custom(finite_array), custom(beyond(self.from_m)))]
    pub to_m: [f64; 2],
}

/// A polygon. Where its sides cross, points are inside by the even–odd rule.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PolygonSpec {
    /// Its corners in order, map x and y, m.
    #[garde(length(min = 3, max = 4096), inner(custom(finite_array)))]
    pub corners_m: Vec<[f64; 2]>,
}

/// A half-plane: one side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct HalfPlaneSpec {
    /// A point of the line, map x and y, m.
    #[garde(custom(finite_array))]
    pub through_m: [f64; 2],
    /// Direction from the line into the soil, degrees from map x, counter-clockwise.
    #[garde(custom(within(-360.0, 360.0)))]
    pub toward_deg: f64,
}

/// A grey picture laid over the map, its first row in the north.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ImageSpec {
    /// A grey PNG of 8 or 16 bits.
    #[garde(skip)]
    pub file: PathBuf,
    /// South-west corner of the picture, map x and y, m.
    #[garde(custom(finite_array))]
    pub from_m: [f64; 2],
    /// North-east corner of the picture, m.
    #[garde(custom(finite_array), custom(beyond(self.from_m)))]
    pub to_m: [f64; 2],
    /// Least and greatest grey of the soil, 0 (black) to 1 (white).
    #[garde(custom(shares))]
    pub grey: [f64; 2],
}

/// Patches of smooth noise over the whole site, drawn by the scenario's seed.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PatchesSpec {
    /// Approximate distance between patches, m.
    #[garde(custom(within(0.05, 1e5)))]
    pub wavelength_m: f64,
    /// Share of the ground that they cover.
    #[garde(custom(within(0.0, 1.0)))]
    pub coverage: f64,
    /// Number that makes areas with patches in one scenario differ.
    #[garde(skip)]
    #[serde(default)]
    pub variant: u64,
}

/// The keys of an area in the file, of which exactly one shape is given.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AreaKeys {
    soil: PathBuf,
    circle: Option<CircleSpec>,
    rectangle: Option<RectangleSpec>,
    polygon: Option<PolygonSpec>,
    half_plane: Option<HalfPlaneSpec>,
    image: Option<ImageSpec>,
    patches: Option<PatchesSpec>,
}

impl TryFrom<AreaKeys> for AreaSpec {
    type Error = NotOneOf;

    fn try_from(keys: AreaKeys) -> Result<Self, NotOneOf> {
        let shape = one_of([
            ("circle", keys.circle.map(ShapeSpec::Circle)),
            ("rectangle", keys.rectangle.map(ShapeSpec::Rectangle)),
            ("polygon", keys.polygon.map(ShapeSpec::Polygon)),
            ("half_plane", keys.half_plane.map(ShapeSpec::HalfPlane)),
            ("image", keys.image.map(ShapeSpec::Image)),
            ("patches", keys.patches.map(ShapeSpec::BekkerPatches)),
        ])?;
        Ok(Self { soil: keys.soil, shape })
    }
}

/// By hand, to report paths as in the file, so that a refusal finds its line.
impl Validate for AreaSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        let mut at = |key: &'static str, shape: &dyn Fn(&mut dyn FnMut() -> garde::Path, &mut garde::Report)| {
            shape(&mut garde::util::nested_path!(parent, key), report);
        };
        match &self.shape {
            ShapeSpec::Circle(shape) => at("circle", &|path, report| shape.validate_into(&(), path, report)),
            ShapeSpec::Rectangle(shape) => at("rectangle", &|path, report| shape.validate_into(&(), path, report)),
            ShapeSpec::Polygon(shape) => at("polygon", &|path, report| shape.validate_into(&(), path, report)),
            ShapeSpec::HalfPlane(shape) => at("half_plane", &|path, report| shape.validate_into(&(), path, report)),
            ShapeSpec::Image(shape) => at("image", &|path, report| shape.validate_into(&(), path, report)),
            ShapeSpec::BekkerPatches(shape) => at("patches", &|path, report| shape.validate_into(&(), path, report)),
        }
    }
}

fn beyond(from_m: [f64; 2]) -> impl FnOnce(&[f64; 2], &()) -> garde::Result {
    move |to_m, ()| {
        if to_m.iter().zip(from_m).all(|(to, from)| *to > from) {
            return Ok(());
        }
        Err(garde::Error::new(format!("{to_m:?} is not allowed: must be north-east of from_m {from_m:?}")))
    }
}

fn shares(grey: &[f64; 2], (): &()) -> garde::Result {
    grey.iter().try_for_each(|value| finite(value, &()).and_then(|()| within(0.0, 1.0)(value, &())))?;
    if grey[0] <= grey[1] {
        return Ok(());
    }
    Err(garde::Error::new(format!("{grey:?} is not allowed: the least grey must come first")))
}

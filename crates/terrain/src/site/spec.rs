//! A site as its YAML file states it: its location, the source of its heights, its nested levels, and the laws of its
//! relief, craters and rocks.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::{NotOneOf, one_of};
use serde::Deserialize;

use crate::procedural::crater_law::CraterLaw;
use crate::procedural::rock_law::RockLaw;
use crate::site::check::{agrees_with, crater_count, hex_digest, length, nested, place, rock_count};
use crate::site::surface::SurfaceSpec;

/// Maximum number of posts along a side of a level.
pub const POSTS_MAX: usize = 8193;

/// One site (config/site/*.yaml).
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct SiteSpec {
    /// The site's name.
    #[garde(length(min = 1, max = 80))]
    pub name: String,
    /// Latitude of the map origin, degrees, north positive.
    #[garde(custom(within(-90.0, 90.0)))]
    pub latitude_deg: f64,
    /// Longitude of the map origin, degrees, east positive.
    #[garde(custom(within(-180.0, 360.0)))]
    pub longitude_deg: f64,
    /// Height of the map origin (z = 0) above the sphere of 1 737 400 m, m.
    #[garde(custom(within(-10_000.0, 12_000.0)))]
    pub datum_m: f64,
    /// Levels of the terrain's grid, finest first.
    #[garde(length(min = 1, max = 6), dive, custom(nested))]
    pub levels: Vec<LevelSpec>,
    /// Source of the heights.
    #[garde(dive, custom(agrees_with(&self.levels)))]
    pub elevation: ElevationSpec,
    /// Fractal relief, added where data give no heights, which includes the ground between their posts.
    #[garde(dive)]
    pub relief: ReliefSpec,
    /// Impact craters.
    #[garde(dive, custom(crater_count(&self.levels)))]
    pub craters: CraterLaw,
    /// Loose rocks.
    #[garde(dive, custom(rock_count(&self.levels)))]
    pub rocks: RockLaw,
    /// Reflectance of ground and rocks.
    #[garde(dive)]
    #[serde(default)]
    pub surface: SurfaceSpec,
}

impl SiteSpec {
    /// Number of the coarsest levels that are measured and stay in place.
    #[must_use]
    pub fn measured_levels(&self) -> usize {
        match &self.elevation {
            ElevationSpec::Procedural(_) => 0,
            ElevationSpec::Raster(_) => 1,
            ElevationSpec::File(file) => file.levels,
        }
    }

    /// Side of the site's square around the map's origin, m: that of the coarsest level, or of the finest measured one
    /// on a measured site.
    #[must_use]
    pub fn side_m(&self) -> f64 {
        let beyond = self.measured_levels().max(1);
        self.levels.iter().rev().nth(beyond - 1).map_or(0.0, |level| level.side_m)
    }
}

/// One level: a square grid centred on the map origin.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LevelSpec {
    /// Distance between posts, m.
    #[garde(custom(within(0.001, 1000.0)))]
    pub spacing_m: f64,
    /// Length of a side, m.
    #[garde(custom(within(1.0, 1e6)))]
    pub side_m: f64,
}

impl LevelSpec {
    /// Posts along a side.
    #[must_use]
    pub fn posts(&self) -> usize {
        (self.side_m / self.spacing_m).round() as usize + 1
    }
}

/// The source of a site's heights.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "ElevationKeys")]
pub enum ElevationSpec {
    /// Made up from the site's laws and named landforms.
    Procedural(ProceduralSpec),
    /// Read from an image in the data directory.
    Raster(RasterSpec),
    /// Read from an elevation file with a georeference in the data directory.
    File(FileSpec),
}

/// The keys of `elevation` in a site's file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ElevationKeys {
    procedural: Option<ProceduralSpec>,
    raster: Option<RasterSpec>,
    file: Option<FileSpec>,
}

impl TryFrom<ElevationKeys> for ElevationSpec {
    type Error = NotOneOf;

    fn try_from(keys: ElevationKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("procedural", keys.procedural.map(Self::Procedural)),
            ("raster", keys.raster.map(Self::Raster)),
            ("file", keys.file.map(Self::File)),
        ])
    }
}

/// Error paths follow the file's keys, so that an error message finds the line.
impl Validate for ElevationSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        match self {
            Self::Procedural(spec) => {
                spec.validate_into(&(), &mut garde::util::nested_path!(parent, "procedural"), report);
            }
            Self::Raster(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "raster"), report),
            Self::File(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "file"), report),
        }
    }
}

/// Landforms of a procedural site, the same for every seed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ProceduralSpec {
    /// The landforms.
    #[garde(length(max = 64), dive)]
    pub landforms: Vec<LandformSpec>,
}

/// One named landform.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "LandformKeys")]
pub enum LandformSpec {
    /// A round hill, or a basin with a negative height.
    Rise(RiseSpec),
    /// A ridge along a straight line.
    Ridge(RidgeSpec),
    /// A crater at a given position.
    Crater(CraterSpec),
}

/// The keys of a landform in a site's file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LandformKeys {
    rise: Option<RiseSpec>,
    ridge: Option<RidgeSpec>,
    crater: Option<CraterSpec>,
}

impl TryFrom<LandformKeys> for LandformSpec {
    type Error = NotOneOf;

    fn try_from(keys: LandformKeys) -> Result<Self, NotOneOf> {
        one_of([
            ("rise", keys.rise.map(Self::Rise)),
            ("ridge", keys.ridge.map(Self::Ridge)),
            ("crater", keys.crater.map(Self::Crater)),
        ])
    }
}

/// Error paths follow the file's keys, so that an error message finds the line.
impl Validate for LandformSpec {
    type Context = ();

    fn validate_into(&self, (): &(), mut parent: &mut dyn FnMut() -> garde::Path, report: &mut garde::Report) {
        match self {
            Self::Rise(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "rise"), report),
            Self::Ridge(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "ridge"), report),
            Self::Crater(spec) => spec.validate_into(&(), &mut garde::util::nested_path!(parent, "crater"), report),
        }
    }
}

/// A round hill, or a basin with a negative height: `height_m · exp(−(r/radius_m)²)`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RiseSpec {
    /// Its centre, map x and y, m: within 1000 km of the map origin.
    #[garde(custom(place))]
    pub at_m: [f64; 2],
    /// Its height, m.
    #[garde(custom(within(-5000.0, 5000.0)))]
    pub height_m: f64,
    /// Distance from the centre at which the height has fallen by a factor of e, m: 0.1 m to 1000 km.
    #[garde(custom(length))]
    pub radius_m: f64,
}

/// A ridge along a straight line: `height_m · exp(−(distance/width_m)²)`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RidgeSpec {
    /// One end of the crest, map x and y, m: within 1000 km of the map origin.
    #[garde(custom(place))]
    pub from_m: [f64; 2],
    /// The other end of the crest, map x and y, m: within 1000 km of the map origin.
    #[garde(custom(place))]
    pub to_m: [f64; 2],
    /// Its height, m.
    #[garde(custom(within(-5000.0, 5000.0)))]
    pub height_m: f64,
    /// Distance from the crest at which the height has fallen by a factor of e, m: 0.1 m to 1000 km.
    #[garde(custom(length))]
    pub width_m: f64,
}

/// A crater at a given position.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct CraterSpec {
    /// Its centre, map x and y, m: within 1000 km of the map origin.
    #[garde(custom(place))]
    pub at_m: [f64; 2],
    /// Its diameter from rim to rim, m.
    #[garde(custom(within(0.1, 100_000.0)))]
    pub diameter_m: f64,
    /// Degradation, from 0 for a fresh crater to 1 for a nearly worn one.
    #[garde(custom(within(0.0, 1.0)))]
    pub degradation: f64,
}

/// An image of heights in the data directory: an 8- or 16-bit grey PNG with row 0 in the north and its middle post at
/// the map origin.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RasterSpec {
    /// The file, relative to the data directory.
    #[garde(length(min = 1, max = 400))]
    pub file: String,
    /// Source and licence of the file, for the message when it is missing.
    #[garde(length(min = 1, max = 400))]
    pub source: String,
    /// The file's SHA-256, 64 hexadecimal digits.
    #[garde(custom(hex_digest))]
    pub sha256: String,
    /// Distance between its posts, m: the spacing of the coarsest level.
    #[garde(custom(within(0.001, 1000.0)))]
    pub spacing_m: f64,
    /// Height difference between its darkest and its brightest possible value, m.
    #[garde(custom(within(0.001, 20_000.0)))]
    pub relief_m: f64,
}

/// An elevation file of the Moon in the data directory, in any format that `selene_dem` reads. The site's latitude and
/// longitude are its centre within the file.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// The file, relative to the data directory.
    #[garde(length(min = 1, max = 400))]
    pub file: String,
    /// Source and licence of the file, for the message when it is missing.
    #[garde(length(min = 1, max = 400))]
    pub source: String,
    /// The file's SHA-256, 64 hexadecimal digits; by default any content is accepted.
    #[garde(inner(custom(hex_digest)))]
    pub sha256: Option<String>,
    /// Number of the coarsest levels that show the file's own heights: one, or more for the horizon if the file extends
    /// far beyond the site. The finest of them is the site's square.
    #[garde(skip)]
    #[serde(default = "one")]
    pub levels: usize,
}

fn one() -> usize {
    1
}

/// The fractal relief (`noise`).
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct ReliefSpec {
    /// The longest wavelength, m.
    #[garde(custom(within(1.0, 1e6)))]
    pub wavelength_max_m: f64,
    /// Standard deviation of the octave of one metre, m.
    #[garde(custom(within(0.0, 1.0)))]
    pub deviation_at_1m_m: f64,
    /// Hurst exponent above one metre.
    #[garde(custom(within(0.0, 1.0)))]
    pub hurst_above_1m: f64,
    /// Hurst exponent below one metre.
    #[garde(custom(within(0.0, 1.0)))]
    pub hurst_below_1m: f64,
}

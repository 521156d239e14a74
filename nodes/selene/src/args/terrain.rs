//! Arguments of `selene terrain`: inspection of elevation files, and export of ground.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use selene_dem::Crs;

use super::values::{degrees_east, latitude, map_point, number_of, positive};

const INFO_EXAMPLES: &str = "Examples:
  selene terrain info LDEM_80S_20MPP_ADJ.TIF
  selene terrain info heights.npy --spacing-m 2 --crs IAU_2015:30135 --origin -5000,5000 --json

All heights are read, band by band; a file may be larger than memory. Heights are metres above the sphere of 1737400 m.";

const SAMPLE_EXAMPLES: &str = "Examples:
  selene terrain sample LDEM_4.LBL --lat 26.132 --lon 3.634
  selene terrain sample Site01_final_adj_5mpp_surf.tif --x 1000 --y -2500 --json

height_m is the file's own value there (of the post whose pixel holds the place, as GDAL and rasterio sample), \
interpolated_m is bilinear between the four posts around it, as the ground is.";

const CROP_EXAMPLES: &str = "Example:
  selene terrain crop LDEM_80S_20MPP_ADJ.TIF --lat -89.67 --lon 129.78 --side 20000 --out shackleton.tif

Writes the file's own posts as a GeoTIFF (32-bit floats, deflate) in the file's own map. What lies beyond the file is left out.";

const PREVIEW_EXAMPLES: &str = "Example:
  selene terrain preview LDEM_4.LBL --out out/moon.png

Shaded relief, lit from the upper left; posts without data are dark red. Of large files every n-th post is drawn.";

const EXPORT_EXAMPLES: &str = "Examples:
  selene terrain export config/site/polar.yaml --x 0 --y 0 --side 60 --out start.tif
  selene terrain export config/scenario/polar.yaml --ruts out/day1.ruts --x 4 --y 2 --side 20 --out ruts.tif
  selene terrain export config/site/haworth.yaml --x 0 --y 0 --side 20000 --spacing 5 --height sphere --out haworth.tif

Writes a GeoTIFF (32-bit floats, deflate) whose x and y are the map frame's: an orthographic map about the site's \
latitude and longitude, on the sphere through the map's origin. A point h metres above or below that sphere, d metres \
away, is off by d·h/1740 km: 0.14 m for 100 m at 2.5 km. Posts stand at whole multiples of the spacing. Heights \
are those of the level whose posts are as near to one another; where that is the finest, ruts are in them, on coarser \
ones ruts lower a post by their mean depth over its cell. What lies beyond measured ground is no data.";

/// Default number of posts that `info` reads of a file: some seconds of decoding.
const SURVEYED_POSTS: usize = 1 << 28;

/// Subcommands of `selene terrain`.
#[derive(Debug, Subcommand)]
pub(crate) enum TerrainCommand {
    /// Print format, size, map, bounds, heights and gaps of a file
    #[command(after_long_help = INFO_EXAMPLES)]
    Info(InfoArgs),
    /// Print the height at a place
    #[command(after_long_help = SAMPLE_EXAMPLES)]
    Sample(SampleArgs),
    /// Write a square around a place as GeoTIFF
    #[command(after_long_help = CROP_EXAMPLES)]
    Crop(CropArgs),
    /// Draw shaded relief as PNG
    #[command(after_long_help = PREVIEW_EXAMPLES)]
    Preview(PreviewArgs),
    /// Write a square of a site's ground as GeoTIFF, procedural or measured, ruts included
    #[command(after_long_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
}

/// An elevation file, and the values that it lacks itself.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// The elevation file; of PDS images the label or the image
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Distance between posts, m, where the file has no georeference (PNG, NumPy)
    #[arg(long, value_name = "M", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) spacing_m: Option<f64>,
    /// Metres of one count (PNG, NumPy)
    #[arg(long, value_name = "M", value_parser = number_of, allow_negative_numbers = true)]
    pub(crate) scale: Option<f64>,
    /// Height of a zero count above the sphere, m (PNG, NumPy)
    #[arg(long, value_name = "M", value_parser = number_of, allow_negative_numbers = true)]
    pub(crate) offset: Option<f64>,
    /// Map of a file that names none: `local`, a code such as IAU_2015:30135, or well-known text
    #[arg(long, value_name = "CRS", value_parser = Crs::parse)]
    pub(crate) crs: Option<Crs>,
    /// Map coordinates of the outer corner of the first pixel [default of a local grid: its middle is 0,0]
    #[arg(long, value_name = "X,Y", value_parser = map_point, allow_hyphen_values = true)]
    pub(crate) origin: Option<[f64; 2]>,
    /// Stored value that means no data, in addition to the one that the file declares
    #[arg(long, value_name = "VALUE", value_parser = number_of, allow_negative_numbers = true)]
    pub(crate) no_data: Option<f64>,
}

/// Arguments of `selene terrain info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Greatest number of posts to read; of a larger file, whole blocks spread over it are read. 0 reads all
    #[arg(long, value_name = "N", default_value_t = SURVEYED_POSTS)]
    pub(crate) posts: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `selene terrain sample`.
#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Latitude, degrees
    #[arg(long, value_name = "D", value_parser = latitude, allow_negative_numbers = true, requires = "lon", required_unless_present = "x")]
    pub(crate) lat: Option<f64>,
    /// East longitude, degrees from -180 to 360
    #[arg(long, value_name = "D", value_parser = degrees_east, allow_negative_numbers = true, requires = "lat")]
    pub(crate) lon: Option<f64>,
    /// Map x of the file
    #[arg(long, value_name = "X", value_parser = number_of, allow_negative_numbers = true, requires = "y", conflicts_with = "lat")]
    pub(crate) x: Option<f64>,
    /// Map y of the file
    #[arg(long, value_name = "Y", value_parser = number_of, allow_negative_numbers = true, requires = "x", conflicts_with = "lon")]
    pub(crate) y: Option<f64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `selene terrain crop`.
#[derive(Debug, Args)]
pub(crate) struct CropArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Latitude of the middle, degrees
    #[arg(long, value_name = "D", value_parser = latitude, allow_negative_numbers = true)]
    pub(crate) lat: f64,
    /// East longitude of the middle, degrees from -180 to 360
    #[arg(long, value_name = "D", value_parser = degrees_east, allow_negative_numbers = true)]
    pub(crate) lon: f64,
    /// Side of the square, m
    #[arg(long, value_name = "M", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) side: f64,
    /// The GeoTIFF to write
    #[arg(long, value_name = "OUT.tif")]
    pub(crate) out: PathBuf,
}

/// Arguments of `selene terrain preview`.
#[derive(Debug, Args)]
pub(crate) struct PreviewArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The PNG file to write
    #[arg(long, value_name = "OUT.png")]
    pub(crate) out: PathBuf,
}

/// Arguments of `selene terrain export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The site's file, or a scenario's
    #[arg(value_name = "SITE|SCENARIO")]
    pub(crate) file: PathBuf,
    /// Driven ground that `selene run --save-ruts` left
    #[arg(long, value_name = "FILE")]
    pub(crate) ruts: Option<PathBuf>,
    /// Seed of the ground [default: the scenario's; of a site that of the ruts, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Map x of the middle, m
    #[arg(long, value_name = "M", value_parser = number_of, allow_negative_numbers = true)]
    pub(crate) x: f64,
    /// Map y of the middle, m
    #[arg(long, value_name = "M", value_parser = number_of, allow_negative_numbers = true)]
    pub(crate) y: f64,
    /// Side of the square, m
    #[arg(long, value_name = "M", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) side: f64,
    /// Distance between posts, m [default: the finest level's]
    #[arg(long, value_name = "M", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) spacing: Option<f64>,
    /// The quantity to write
    #[arg(long, value_enum, default_value_t = LayerArg::Elevation)]
    pub(crate) layer: LayerArg,
    /// The reference of heights
    #[arg(long, value_enum, default_value_t = HeightArg::Map)]
    pub(crate) height: HeightArg,
    /// The GeoTIFF to write
    #[arg(long, value_name = "OUT.tif")]
    pub(crate) out: PathBuf,
    /// Folder with third-party data that some sites need [default: the environment's SELENE_DATA]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Choices of `--layer`: the values of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayerArg {
    /// Height of the soil, m
    Elevation,
    /// Angle of the soil to the horizontal, rad
    Slope,
    /// Height of the top of a rock above the soil, m; 0 where there is none
    Rocks,
}

/// Choices of `--height`: the reference of heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HeightArg {
    /// z of the map frame: the plane that touches the site at its origin
    Map,
    /// The sphere of 1 737 400 m
    Sphere,
}

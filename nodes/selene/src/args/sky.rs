//! Arguments of `selene sky`.

use std::path::PathBuf;

use clap::Args;
use selene_base::SimTime;
use selene_sky::Utc;

use super::values::span;

pub(super) const EXAMPLES: &str = "Examples:
  selene sky --lat -89.5 --lon 40 --at 2026-11-21T12:00:00Z --json
  selene sky --lat 26.13 --lon 3.63 --at 2026-11-21T12:00:00Z --kernels de421.bsp moon_pa_de421_1900-2050.bpc moon_080317.tf
  selene sky --site config/site/polar.yaml --at 2026-11-21T12:00:00Z --for 30d --step 1h --plot out/sky.png

Azimuths are clockwise from north; elevations are of the discs' centres above the horizontal plane. Without kernels a \
built-in ephemeris serves, good to 0.011 degrees. Over time the Sun's visible share is given over a flat horizon, with \
--site over the site's own, from the map origin.";

/// Arguments of `selene sky`.
#[derive(Debug, Args)]
pub(crate) struct SkyArgs {
    /// Latitude, degrees north (mean Earth/polar axis)
    #[arg(long, value_name = "DEG", allow_negative_numbers = true, required_unless_present = "site")]
    pub(crate) lat: Option<f64>,
    /// Longitude, degrees east
    #[arg(long, value_name = "DEG", allow_negative_numbers = true, required_unless_present = "site")]
    pub(crate) lon: Option<f64>,
    /// Height above the sphere of 1 737 400 m, m [default: 0, or the site's]
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub(crate) height: Option<f64>,
    /// The instant, such as 2026-11-21T12:00:00Z
    #[arg(long, value_name = "UTC")]
    pub(crate) at: Utc,
    /// SPICE kernels: an SPK, a binary PCK of the Moon and its frame kernel
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) kernels: Vec<PathBuf>,
    /// Also tabulate this span from then on: a number with d, h, m or s
    #[arg(long = "for", value_name = "SPAN", value_parser = span)]
    pub(crate) duration: Option<SimTime>,
    /// Interval between the rows of the table
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "1h")]
    pub(crate) step: SimTime,
    /// The plot to write: elevations and the Sun's visible share over time
    #[arg(long, value_name = "FILE.png", requires = "duration")]
    pub(crate) plot: Option<PathBuf>,
    /// A site's file: its place, and its own horizon instead of a flat one
    #[arg(long, value_name = "SITE.yaml", conflicts_with_all = ["lat", "lon"])]
    pub(crate) site: Option<PathBuf>,
    /// Height of the eye above the site's ground, m
    #[arg(long, value_name = "M", default_value_t = 1.5, conflicts_with_all = ["lat", "lon"])]
    pub(crate) eye: f64,
    /// Seed of the site's procedural ground
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["lat", "lon"])]
    pub(crate) seed: u64,
    /// Folder with third-party data that some sites need [default: the environment's SELENE_DATA]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["lat", "lon"])]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

//! Arguments of `selene calibrate`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use selene_sensors::calibrate::CurveName;

/// Subcommands of `selene calibrate`.
#[derive(Debug, Subcommand)]
pub(crate) enum CalibrateCommand {
    /// Fit a camera's gain, noise and response to its flat-field and dark images
    #[command(after_long_help = CAMERA_EXAMPLES)]
    Camera(CalibrateCameraArgs),
}

const CAMERA_EXAMPLES: &str = "Example:
  selene calibrate camera --flat flats --dark darks --json

Images are grey PNG files of 8 or 16 bits, two or more of each exposure, at four or more exposures of flats. A file's \
name ends in its exposure (flat_12.5ms_a.png, dark-0.02s.png, b_800us.png: the last part with such a unit counts), or the \
folder has exposures.csv with the columns file,exposure_s. What is printed fits into a sensor's list of stages; \
uncertainties are standard ones.";

/// Arguments of `selene calibrate camera`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateCameraArgs {
    /// Folder of images of an evenly lit surface
    #[arg(long, value_name = "DIR")]
    pub(crate) flat: PathBuf,
    /// Folder of images without light
    #[arg(long, value_name = "DIR")]
    pub(crate) dark: PathBuf,
    /// The response to fit [default: the simplest that fits]
    #[arg(long, value_enum)]
    pub(crate) response: Option<ResponseArg>,
    /// Bits of a pixel, the low ones of 16-bit words [default: the files']
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=16))]
    pub(crate) bits: Option<u32>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Choices of `--response`: response curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResponseArg {
    /// A straight line
    Linear,
    /// A power of the logarithm
    Gamma,
    /// A logistic of the logarithm
    Sigmoid,
}

impl From<ResponseArg> for CurveName {
    fn from(curve: ResponseArg) -> Self {
        match curve {
            ResponseArg::Linear => Self::Linear,
            ResponseArg::Gamma => Self::Gamma,
            ResponseArg::Sigmoid => Self::Sigmoid,
        }
    }
}

//! Development of traced radiance into pixel values: the stages of a camera, in the order of its YAML (`stages`),
//! each with its equation in a file of its own. The input of the first stage is the irradiance behind a lens of
//! f-number 1, x = π L/4 (thin lens on its axis), in red, green and blue or in all bands together; `aggregator`
//! applies the f-number. Consecutive stages that work row by row are processed together, a row at a time; the bytes
//! are the same for any number of threads.

mod aggregator;
mod bayer;
mod compressed;
mod defocus;
mod dust;
mod exposure;
mod fixed_pattern;
mod flare;
mod image;
mod intensity_noise;
mod jpeg;
mod noise;
mod own;
mod pipeline;
mod plate;
mod quantise;
mod response;
mod shot;
mod stage;
mod stages;
#[cfg(test)]
mod tests;
mod vignetting;
mod wells;

use std::f32::consts::FRAC_PI_4;

use selene_scene::CameraFrame;

pub use self::aggregator::AggregatorSpec;
pub use self::bayer::Pattern;
pub use self::compressed::{CompressedFormat, CompressedSpec};
pub use self::defocus::DefocusSpec;
pub use self::dust::LensDustSpec;
pub use self::exposure::MeteringSpec;
pub use self::flare::{FlareSpec, GhostSpec, ScatterSpec};
pub use self::image::{DevelopedImage, Encoding};
pub use self::intensity_noise::IntensityNoiseSpec;
pub use self::jpeg::JpegSpec;
pub use self::noise::NoiseSpec;
pub use self::own::{OwnSpec, OwnStages};
pub use self::pipeline::Pipeline;
pub use self::plate::{Plate, Quantity};
pub use self::quantise::{BitAlignment, QuantiseSpec};
pub use self::response::{Curve, GammaSpec, LinearSpec, ResponseSpec, SigmoidSpec};
pub use self::shot::{Shot, SunSight};
pub use self::stage::StageSpec;
pub use self::stages::{StageOrderError, Stages};
pub use self::vignetting::VignettingSpec;
pub use self::wells::WellsSpec;

/// Why an image cannot be developed.
#[derive(Debug, thiserror::Error)]
pub enum DevelopError {
    /// The list of stages is invalid.
    #[error("camera {camera}: stages: stage {number}: {what}")]
    Stages {
        /// Name of the camera.
        camera: String,
        /// Place in the list, from 1.
        number: usize,
        /// What is wrong and what is allowed.
        what: String,
    },
    /// The frame does not have the camera's size.
    #[error("camera {camera}: is given {got:?} pixels and has {has:?}")]
    Size {
        /// Name of the camera.
        camera: String,
        /// Columns and rows of the frame.
        got: [u32; 2],
        /// Columns and rows of the camera.
        has: [u32; 2],
    },
    /// A user's stage changed the number or size of the planes.
    #[error("own: a stage must leave as many planes of the same size as it is given")]
    Own,
    /// The image could not be compressed as JPEG or read back.
    #[error("jpeg: {0}")]
    Jpeg(::image::ImageError),
    /// The image could not be compressed as PNG.
    #[error("png: {0}")]
    Png(::image::ImageError),
}

/// The input of the first stage: irradiance in one plane or three.
fn first_plate(frame: &CameraFrame, channels: usize) -> Plate {
    let pixels = frame.class.len();
    let planes = if channels == 3 {
        (0..3).map(|channel| (0..pixels).map(|i| bands(frame, i)[channel]).collect()).collect()
    } else {
        vec![(0..pixels).map(|i| bands(frame, i).iter().sum()).collect()]
    };
    Plate { width: frame.width as usize, height: frame.height as usize, quantity: Quantity::Irradiance, planes }
}

/// Irradiance of a pixel behind a lens of f-number 1, in red, green and blue, W/m².
fn bands(frame: &CameraFrame, pixel: usize) -> [f32; 3] {
    frame.radiance[pixel].map(|radiance| FRAC_PI_4 * radiance)
}

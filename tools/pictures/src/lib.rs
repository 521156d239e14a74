//! The pictures that a run writes at its end, and the charts of rigs and comparisons. All share one dark style; the
//! font is built in, so no system font is needed.

pub mod body;
pub mod canvas;
pub mod chart;
pub mod colour;
pub mod contact_sheet;
pub mod hillshade;
pub mod map;
pub mod path;
#[cfg(test)]
mod samples;
pub mod tile;
pub mod wheels;

use std::path::{Path, PathBuf};

use selene_base::output::{self, OutputError, PNG};

/// Why a picture cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file cannot be written at its path.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The image cannot be encoded.
    #[error("{}: the picture cannot be written: {source}", path.display())]
    Encode {
        /// Path of the file.
        path: PathBuf,
        /// The encoder's error.
        source: image::ImageError,
    },
}

/// Writes an image as PNG, atomically, and never over a file of another kind.
///
/// # Errors
/// When the file cannot be written.
pub fn save_png<P, C>(image: &image::ImageBuffer<P, C>, path: &Path) -> Result<(), PictureError>
where
    P: image::PixelWithColorType,
    [P::Subpixel]: image::EncodableLayout,
    C: std::ops::Deref<Target = [P::Subpixel]>,
{
    let failed = |source| PictureError::Encode { path: path.to_owned(), source };
    output::write_whole(path, &PNG, |beside| image.save_with_format(beside, image::ImageFormat::Png).map_err(failed))
}

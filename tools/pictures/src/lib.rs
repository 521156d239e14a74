//! The pictures that a run leaves, drawn at its end, and the
//! charts of rigs and comparisons. All share one dark look; the font is built in, so
//! that no system font is needed.

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

/// A picture that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// It cannot be put there.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// It cannot be packed.
    #[error("{}: the picture cannot be written: {source}", path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        source: image::ImageError,
    },
}

/// Writes an image as PNG, whole or not at all, and never in the place of a file of another kind.
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

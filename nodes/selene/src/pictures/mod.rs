//! The pictures that a run leaves, drawn at its end from what the album kept, and the
//! charts of rigs and comparisons. All share one dark look; the font is built in, so
//! that no system font is needed.

pub(crate) mod canvas;
pub(crate) mod chart;
pub(crate) mod colour;
pub(crate) mod contact_sheet;
pub(crate) mod hillshade;
pub(crate) mod map;
pub(crate) mod path;
#[cfg(test)]
mod samples;
pub(crate) mod tile;
pub(crate) mod wheels;

use std::path::PathBuf;

/// A picture that cannot be drawn or written.
#[derive(Debug)]
pub(crate) struct PictureError {
    /// The file.
    pub(crate) path: PathBuf,
    /// Why.
    pub(crate) what: String,
}

impl std::fmt::Display for PictureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: the picture cannot be written: {}", self.path.display(), self.what)
    }
}

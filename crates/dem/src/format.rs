//! Formats of elevation files, detected from the first bytes of a file.

use std::io::Read;
use std::path::{Path, PathBuf};

use selene_base::input::open_regular;

use crate::error::{ElevationError, Refusal, read_error};

/// Formats of elevation files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GeoTIFF, BigTIFF, cloud-optimised GeoTIFF.
    GeoTiff,
    /// PDS3 image with an attached or detached label.
    Pds3,
    /// PDS4 image with an XML label.
    Pds4,
    /// ISIS cube.
    Isis,
    /// Esri ASCII grid.
    AsciiGrid,
    /// Grey PNG of 8 or 16 bits.
    Png,
    /// NumPy array.
    Npy,
}

impl Format {
    /// The format's usual name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GeoTiff => "GeoTIFF",
            Self::Pds3 => "PDS3",
            Self::Pds4 => "PDS4",
            Self::Isis => "ISIS cube",
            Self::AsciiGrid => "ESRI ASCII grid",
            Self::Png => "PNG",
            Self::Npy => "NumPy array",
        }
    }
}

/// The label beside an image that has one, otherwise the path itself.
pub(super) fn label_of(path: &Path) -> PathBuf {
    let is_image = path
        .extension()
        .is_some_and(|extension| ["img", "dat"].iter().any(|image| extension.eq_ignore_ascii_case(image)));
    if !is_image {
        return path.to_owned();
    }
    let labels = ["LBL", "lbl", "xml", "XML"].map(|extension| path.with_extension(extension));
    labels.into_iter().find(|label| label.is_file()).unwrap_or_else(|| path.to_owned())
}

/// Detects the format of a file.
pub(super) fn format_of(path: &Path) -> Result<Format, ElevationError> {
    let mut start = Vec::new();
    let file = open_regular(path)?;
    file.take(4096).read_to_end(&mut start).map_err(read_error(path))?;
    let text = String::from_utf8_lossy(&start).to_ascii_lowercase();
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let is_tiff = [&b"II*\0"[..], b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|magic| start.starts_with(magic));
    match () {
        () if is_tiff => Ok(Format::GeoTiff),
        () if start.starts_with(b"\x89PNG") => Ok(Format::Png),
        () if start.starts_with(b"\x93NUMPY") => Ok(Format::Npy),
        () if text.contains("isiscube") && text.contains("object") => Ok(Format::Isis),
        () if text.contains("pds_version_id") => Ok(Format::Pds3),
        () if text.starts_with('<') && text.contains("product_observational") => Ok(Format::Pds4),
        () if text.starts_with("ncols") || text.starts_with("nrows") => Ok(Format::AsciiGrid),
        () => {
            let what = "is none that is known; must be GeoTIFF, PDS3 (label or attached), PDS4 (.xml), ISIS cube, ESRI ASCII grid, PNG or .npy";
            Err(Refusal::new("format", what).at(path))
        }
    }
}

//! Errors of a site: each says what is wrong, where, and what to do.

use std::path::PathBuf;

use selene_base::input::InputError;

use selene_dem::ElevationError;

/// Why the ground of a site cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TerrainError {
    /// A file that cannot be read or whose content is refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// An elevation file that cannot be used.
    #[error(transparent)]
    Elevation(#[from] ElevationError),
    /// The site names an elevation file but no data directory is known.
    #[error(
        "{}: needs the elevation file {file}, and no data directory is given: pass --data DIR or set SELENE_DATA \
         to the directory that holds it. Where to get it: {source_text}",
        site.display()
    )]
    NoDataDirectory {
        /// The site's YAML file.
        site: PathBuf,
        /// The elevation file, relative to the data directory.
        file: String,
        /// Where the file comes from.
        source_text: String,
    },
    /// The elevation file is not in the data directory.
    #[error(
        "{}: the elevation file {} does not exist: pass --data DIR or set SELENE_DATA to the directory that \
         holds {file}. Where to get it: {source_text}",
        site.display(), path.display()
    )]
    Missing {
        /// The site's YAML file.
        site: PathBuf,
        /// Path at which the file was expected.
        path: PathBuf,
        /// The elevation file, relative to the data directory.
        file: String,
        /// Where the file comes from.
        source_text: String,
    },
    /// The elevation file is not the one the site was made for.
    #[error(
        "{}: has SHA-256 {found}, but {} requires {wanted}: it is truncated or another version; get it again from \
         {source_text}",
        path.display(), site.display()
    )]
    Checksum {
        /// The site's YAML file.
        site: PathBuf,
        /// The elevation file.
        path: PathBuf,
        /// Digest of the file.
        found: String,
        /// Digest that the site requires.
        wanted: String,
        /// Where the file comes from.
        source_text: String,
    },
    /// The elevation file cannot be decoded.
    #[error("{}: is not a usable PNG of heights: {what}", path.display())]
    Decode {
        /// The elevation file.
        path: PathBuf,
        /// Why the file cannot be decoded, and what is allowed.
        what: String,
    },
}

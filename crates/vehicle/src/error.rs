//! Errors of a rover's description, with file, line, value and what is allowed.

use std::path::{Path, PathBuf};

use selene_base::InputError;

/// A rover that cannot be built, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum VehicleError {
    /// A file cannot be read, or its YAML is refused.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A URDF is refused.
    #[error("{}:{line}: {what}", path.display())]
    Urdf {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u32,
        /// The refused value and what is allowed.
        what: String,
    },
    /// A pose, gravity or step that no rover can start from.
    #[error("rover start: {0}")]
    Start(String),
}

impl VehicleError {
    pub(crate) fn urdf(path: &Path, line: u32, what: impl Into<String>) -> Self {
        Self::Urdf { path: path.to_owned(), line, what: what.into() }
    }
}

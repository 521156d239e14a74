//! What can be wrong with an elevation file: each error names the file, the field
//! of its header or label, the value and what is allowed.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_base::output::OutputError;

/// An elevation file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ElevationError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be opened, or is a device or a pipe.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The file cannot be put there.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file cannot be written.
    #[error("{}: cannot be written: {what}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// The file is read but its content is refused.
    #[error("{}: {field}: {what}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Where in it: a tag, a keyword, a post.
        field: String,
        /// The value and what is allowed.
        what: String,
    },
    /// Heights that cannot be used, of no file.
    #[error("{field}: {what}")]
    Heights {
        /// Which.
        field: String,
        /// The value and what is allowed.
        what: String,
    },
}

/// What is refused of a text, or of a file that is not named yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct Refusal {
    /// Where in it: a tag, a keyword, a post.
    pub field: String,
    /// The value and what is allowed.
    pub what: String,
}

impl Refusal {
    pub(super) fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self { field: field.into(), what: what.into() }
    }

    pub(super) fn at(self, path: &Path) -> ElevationError {
        ElevationError::Refused { path: path.to_owned(), field: self.field, what: self.what }
    }
}

/// Gives reading errors their file.
pub(super) fn read_error(path: &Path) -> impl Fn(std::io::Error) -> ElevationError {
    let path = path.to_owned();
    move |source| ElevationError::Read { path: path.clone(), source }
}

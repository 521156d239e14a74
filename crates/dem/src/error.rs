//! Errors of elevation files: each names the file, the field of its header or label, the value and what is allowed.

use std::path::{Path, PathBuf};

use selene_base::InputError;
use selene_base::output::OutputError;

/// Why an elevation file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ElevationError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file cannot be opened, or is a device or a pipe.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The output file cannot be created there.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The file cannot be written.
    #[error("{}: cannot be written: {what}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// The file can be read, but its content is refused.
    #[error("{}: {field}: {what}", path.display())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// The faulty part: a tag, a keyword, a post.
        field: String,
        /// The value and what is allowed.
        what: String,
    },
    /// Heights that cannot be used, and that come from no file.
    #[error("{field}: {what}")]
    Heights {
        /// The faulty part.
        field: String,
        /// The value and what is allowed.
        what: String,
    },
}

/// A refusal of a text, or of a file whose path is added later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct Refusal {
    /// The faulty part: a tag, a keyword, a post.
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

/// Adds the path of the file to a reading error.
pub(super) fn read_error(path: &Path) -> impl Fn(std::io::Error) -> ElevationError {
    let path = path.to_owned();
    move |source| ElevationError::Read { path: path.clone(), source }
}

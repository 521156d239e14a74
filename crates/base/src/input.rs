//! Reading YAML input. A file that is missing, malformed, has an unknown key or a
//! value out of range gives one error that says the file, the line, the value and
//! what is allowed; nothing is clamped or guessed.
//!
//! Each crate derives `Deserialize` (unknown fields denied) and `garde::Validate`
//! on its own `…Spec`; range checks use the functions below.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garde::Validate;
use serde::de::DeserializeOwned;

use crate::compiled;

mod place;

/// Size limit of a YAML file, bytes; Selene's own files have a few kilobytes.
const YAML_BYTES_MAX: u64 = 4 << 20;

/// An input that cannot be used, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The file can be read, but its content is refused; `what` gives line and value.
    #[error("{}: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Line, value and what is allowed.
        what: String,
    },
}

impl InputError {
    /// Content of `path` that is refused, with line, value and what is allowed.
    #[must_use]
    pub fn content(path: &Path, what: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), what: what.into() }
    }

    /// [`YamlFile::refusal`] of a file whose text is no longer at hand: reads it again. Without the line if it cannot be read.
    #[must_use]
    pub fn at(path: &Path, place: &str, what: impl fmt::Display) -> Self {
        match YamlFile::read(path) {
            Ok(file) => file.refusal(place, what),
            Err(_) => Self::content(path, format!("{place}: {what}")),
        }
    }
}

/// A YAML file and its text.
#[derive(Clone, Debug)]
pub struct YamlFile {
    path: PathBuf,
    text: Arc<str>,
}

impl YamlFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is too large or not UTF-8.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let bytes = read_bytes(path, YAML_BYTES_MAX)?;
        let text = String::from_utf8(bytes).map_err(|e| InputError::content(path, format!("is not UTF-8: {e}")))?;
        Ok(Self::of_text(path, text))
    }

    /// A text as if it were the file `path`.
    #[must_use]
    pub fn of_text(path: &Path, text: impl Into<Arc<str>>) -> Self {
        Self { path: path.to_owned(), text: text.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Parses and validates it.
    ///
    /// # Errors
    /// When it cannot be parsed or validated.
    pub fn parse<T>(&self) -> Result<T, InputError>
    where
        T: DeserializeOwned + Validate<Context = ()>,
    {
        parse_yaml(&self.text, &self.path)
    }

    /// An error about a value that is valid by itself but does not fit something else, in this file or in another; `what`
    /// says the value and what is allowed. The message names `place` (as in `rovers[1].route`) and its line.
    #[must_use]
    pub fn refusal(&self, place: &str, what: impl fmt::Display) -> InputError {
        let line = place::line_of(&self.text, place);
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        InputError::content(&self.path, format!("{line}{place}: {what}"))
    }
}

/// Opens a file for reading. Refuses devices and pipes, which have no end or block.
///
/// # Errors
/// When the file cannot be opened or is no regular file.
pub fn open_regular(path: &Path) -> Result<File, InputError> {
    let read_error = |source| InputError::Read { path: path.to_owned(), source };
    // Check the type before opening: opening a pipe blocks until it has a writer.
    if !std::fs::metadata(path).map_err(read_error)?.is_file() {
        return Err(InputError::content(path, "is no regular file; only those are taken"));
    }
    File::open(path).map_err(read_error)
}

/// Whether `path` is a regular file on the disk or a compiled-in file.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    compiled::bytes(path).is_some() || path.is_file()
}

/// Reads a whole regular file, or a compiled-in one, of at most `bytes_max` bytes.
///
/// # Errors
/// When the file cannot be read, is larger than that or is no regular file.
pub fn read_bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, InputError> {
    let read_error = |source| InputError::Read { path: path.to_owned(), source };
    let too_large = |size| InputError::content(path, format!("is {size} bytes; at most {bytes_max} are taken"));
    if let Some(bytes) = compiled::bytes(path) {
        let size = bytes.len() as u64;
        return if size > bytes_max { Err(too_large(size)) } else { Ok(bytes.to_vec()) };
    }
    let file = open_regular(path)?;
    let size = file.metadata().map_err(read_error)?.len();
    if size > bytes_max {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    // A file may grow while it is read.
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > bytes_max { Err(too_large(bytes.len() as u64)) } else { Ok(bytes) }
}

/// Reads and validates a YAML file.
///
/// # Errors
/// When it cannot be read, parsed or validated.
pub fn load_yaml<T>(path: &Path) -> Result<T, InputError>
where
    T: DeserializeOwned + Validate<Context = ()>,
{
    YamlFile::read(path)?.parse()
}

/// Parses and validates YAML `text`; `path` is named in errors.
///
/// # Errors
/// When it cannot be parsed or validated.
pub fn parse_yaml<T>(text: &str, path: &Path) -> Result<T, InputError>
where
    T: DeserializeOwned + Validate<Context = ()>,
{
    serde_yaml::from_str_valid(text).map_err(|e| InputError::content(path, e.to_string()))
}

/// A garde check: finite and between `min` and `max`, both allowed.
pub fn within(min: f64, max: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| refuse_unless((min..=max).contains(value), *value, &format!("{min} to {max}"))
}

/// A garde check: finite and above zero.
///
/// # Errors
/// When it is not.
pub fn positive(value: &f64, (): &()) -> garde::Result {
    refuse_unless(value.is_finite() && *value > 0.0, *value, "more than 0")
}

/// A garde check: above zero and at most `max`.
pub fn positive_to(max: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| refuse_unless(*value > 0.0 && *value <= max, *value, &format!("more than 0, {max:e} at most"))
}

/// A garde check: finite and not below zero.
///
/// # Errors
/// When it is not.
pub fn non_negative(value: &f64, (): &()) -> garde::Result {
    refuse_unless(value.is_finite() && *value >= 0.0, *value, "0 or more")
}

/// A garde check: neither NaN nor infinite.
///
/// # Errors
/// When it is not.
pub fn finite(value: &f64, (): &()) -> garde::Result {
    refuse_unless(value.is_finite(), *value, "a finite number")
}

/// A garde check: every element finite.
///
/// # Errors
/// When one is not.
pub fn finite_array<const N: usize>(values: &[f64; N], (): &()) -> garde::Result {
    values.iter().try_for_each(|value| finite(value, &()))
}

fn refuse_unless(ok: bool, value: f64, allowed: &str) -> garde::Result {
    if ok {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {value} is not allowed: must be {allowed}")))
}

#[cfg(test)]
mod tests {
    use super::{finite_array, parse_yaml, positive, within};
    use garde::Validate;
    use serde::Deserialize;
    use std::path::Path;

    #[derive(Debug, Deserialize, Validate)]
    #[serde(deny_unknown_fields)]
    struct SoilSpec {
        #[garde(custom(positive))]
        cohesion_pa: f64,
        #[garde(custom(within(0.0, 89.0)))]
        friction_deg: f64,
        #[garde(custom(finite_array))]
        origin_m: [f64; 2],
    }

    fn refusal(text: &str) -> String {
        parse_yaml::<SoilSpec>(text, Path::new("soil/x.yaml")).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_good_file_is_read() {
        let soil: SoilSpec =
            parse_yaml("cohesion_pa: 170\nfriction_deg: 35\norigin_m: [0, 1]\n", Path::new("x")).expect("good");
        assert_eq!((soil.cohesion_pa, soil.friction_deg, soil.origin_m), (170.0, 35.0, [0.0, 1.0]));
    }

    #[test]
    fn a_value_out_of_range_is_reported_with_file_line_value_and_what_is_allowed() {
        let message = refusal("cohesion_pa: 170\nfriction_deg: 95\norigin_m: [0, 1]\n");
        for part in ["soil/x.yaml", "line 2", "95", "0 to 89", "friction_deg"] {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }

    #[test]
    fn not_a_number_is_out_of_every_range() {
        assert!(refusal("cohesion_pa: .nan\nfriction_deg: 5\norigin_m: [0, 1]\n").contains("NaN"));
        assert!(refusal("cohesion_pa: 1\nfriction_deg: .nan\norigin_m: [0, 1]\n").contains("NaN"));
        assert!(refusal("cohesion_pa: 1\nfriction_deg: 1\norigin_m: [0, .inf]\n").contains("inf"));
    }

    #[test]
    fn unknown_and_missing_keys_are_reported_with_their_line() {
        let unknown = refusal("cohesion_pa: 170\ncohesion: 3\nfriction_deg: 35\norigin_m: [0, 1]\n");
        assert!(unknown.contains("line 2") && unknown.contains("cohesion"), "{unknown}");
        let missing = refusal("cohesion_pa: 170\norigin_m: [0, 1]\n");
        assert!(missing.contains("friction_deg"), "{missing}");
    }
}

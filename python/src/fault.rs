//! Errors as Python exceptions: `selene.Error` with `file` and `line`, or `ValueError` for an argument. The messages of
//! all crates begin with the file and name the line (`FILE: … line N …`, or `FILE:N: …`): both are parsed from the
//! message, so that every kind of error has them.

use std::fmt::Display;
use std::path::Path;

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use selene_learn::LearnError;

create_exception!(
    selene,
    Error,
    PyException,
    "Selene cannot do what is requested. `file` and `line` say where in an input file the reason is; None where it is in none."
);

/// A `selene.Error` with the file and the line that the message names.
pub(crate) fn error(what: &dyn Display) -> PyErr {
    let text = what.to_string();
    let (file, line) = place(&text);
    Python::attach(|py| {
        let error = Error::new_err(text);
        let value = error.value(py);
        let reported = value.setattr("file", file).and_then(|()| value.setattr("line", line));
        reported.map_or_else(|other| other, |()| error)
    })
}

/// A `ValueError` for a bad argument.
pub(crate) fn value(what: impl Display) -> PyErr {
    PyValueError::new_err(what.to_string())
}

/// A number of Python as a count, seed or index; refuses one that is none.
pub(crate) fn whole<T: TryFrom<i128>>(name: &str, number: i128) -> PyResult<T> {
    T::try_from(number).map_err(|_| {
        value(format!("{name}: {number} is not allowed: must not be negative, nor more than {}", u64::MAX))
    })
}

/// The exception for an error of environments.
pub(crate) fn of_learning(what: &LearnError) -> PyErr {
    match what {
        LearnError::Action { .. } | LearnError::Count { .. } | LearnError::OutOfRange { .. } => value(what),
        LearnError::Input(_)
        | LearnError::Scenario(_)
        | LearnError::World { .. }
        | LearnError::Soil(_)
        | LearnError::Observe(_)
        | LearnError::Ended { .. }
        | LearnError::Threads(_) => error(what),
    }
}

/// The file that an error message begins with, and the line that it names.
fn place(text: &str) -> (Option<String>, Option<u32>) {
    let named = text.split(": ").next().unwrap_or_default();
    let (file, after_colon) = match named.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => (file, line.parse().ok()),
        _ => (named, None),
    };
    let suffix = Path::new(file).extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    if suffix.is_empty() || !suffix.chars().all(|c| c.is_ascii_alphanumeric()) {
        return (None, None);
    }
    (Some(file.to_owned()), after_colon.or_else(|| line_in(&text[named.len()..])))
}

/// The first number that follows the word `line`.
fn line_in(text: &str) -> Option<u32> {
    let after = text.split("line ").skip(1);
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
    after.filter_map(number).next()
}

//! Prints results to standard output. A closed pipe, as in `selene rig … | head`, is not a failure: its reader has all
//! that it wants. Any other write error, such as a full disk, makes the command fail at its end.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use crate::fault::Fault;

/// The first write error.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Prints `text` and a newline.
pub(crate) fn print_line(text: impl Display) {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(FAILED.set(error)),
        _ => {}
    }
}

/// Fails if a part of the output could not be written.
pub(crate) fn whole() -> Result<(), Fault> {
    FAILED.get().map_or(Ok(()), |error| Err(fault(error)))
}

/// Flushes standard output.
pub(crate) fn flush() -> io::Result<()> {
    io::stdout().flush()
}

/// The fault of an error on standard output.
pub(crate) fn fault(error: &io::Error) -> Fault {
    Fault::run(format!("standard output cannot be written: {error}"))
}

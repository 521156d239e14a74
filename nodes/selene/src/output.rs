//! Standard output, for results. A reader that has gone away (`selene rig … | head`) has what it wanted: that is no
//! failure. Any other line that cannot be written, as on a full disk, makes the command fail at its end.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use crate::fault::Fault;

/// The first line that could not be written.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Prints `text` and a line's end.
pub(crate) fn print_line(text: impl Display) {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => drop(FAILED.set(error)),
        _ => {}
    }
}

/// Refuses output of which a part is lost.
pub(crate) fn whole() -> Result<(), Fault> {
    FAILED.get().map_or(Ok(()), |error| Err(fault(error)))
}

/// Writes what is held back.
pub(crate) fn flush() -> io::Result<()> {
    io::stdout().flush()
}

/// That standard output cannot be written.
pub(crate) fn fault(error: &io::Error) -> Fault {
    Fault::run(format!("standard output cannot be written: {error}"))
}

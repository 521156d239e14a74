//! Standard output, for results. A reader that has gone away (`selene rig … | head`)
//! has what it wanted: that is no failure.

use std::fmt::Display;
use std::io::Write;

/// Prints `text` and a line's end.
pub(crate) fn print_line(text: impl Display) {
    let mut out = std::io::stdout().lock();
    // See above: nobody reads any more, so nobody is told.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

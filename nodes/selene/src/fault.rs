//! How a command ends when it does not end well: one message, printed once, and
//! an exit status. 2 means that the arguments or an input file were refused, 1
//! that a run which began went wrong.

use std::fmt::{self, Display};
use std::io::Write;
use std::process::ExitCode;

/// A command's failure, ready to be printed.
#[derive(Debug)]
pub(crate) struct Fault {
    status: u8,
    report: miette::Report,
}

impl Fault {
    /// Arguments or input files that cannot be used.
    pub(crate) fn input(what: impl Display) -> Self {
        Self { status: 2, report: miette::miette!("{what}") }
    }

    /// A run that began and failed.
    pub(crate) fn run(what: impl Display) -> Self {
        Self { status: 1, report: miette::miette!("{what}") }
    }

    /// Prints the message to standard error and gives the exit status.
    pub(crate) fn print(self) -> ExitCode {
        // Where nobody reads it, the exit status still tells.
        let _ = writeln!(std::io::stderr(), "{:?}", self.report);
        ExitCode::from(self.status)
    }
}

/// The message alone.
impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)
    }
}

/// Makes messages keep their lines: paths and values stay whole, so that they can
/// be copied and searched for.
pub(crate) fn set_style() {
    let keep_lines = |_: &_| -> Box<dyn miette::ReportHandler> {
        Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).break_words(false).build())
    };
    // Set once per process; a second call finds the same style in place.
    let _ = miette::set_hook(Box::new(keep_lines));
}

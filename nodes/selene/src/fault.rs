//! The failure of a command: one message, printed once, and an exit status. 2 means that arguments or an input file
//! were refused, 1 that a run failed after it began.

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
    /// The fault of arguments or input files that cannot be used.
    pub(crate) fn input(what: impl Display) -> Self {
        Self { status: 2, report: miette::miette!("{what}") }
    }

    /// The fault of a run that began and failed.
    pub(crate) fn run(what: impl Display) -> Self {
        Self { status: 1, report: miette::miette!("{what}") }
    }

    /// Prints the message to standard error and returns the exit status.
    pub(crate) fn print(self) -> ExitCode {
        // If standard error is closed, the exit status still reports the failure.
        let _ = writeln!(std::io::stderr(), "{:?}", self.report);
        ExitCode::from(self.status)
    }
}

/// Only the message.
impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.report)
    }
}

/// Keeps messages from being wrapped: paths and values stay whole, so that they can be copied and searched for.
pub(crate) fn set_style() {
    let keep_lines = |_: &_| -> Box<dyn miette::ReportHandler> {
        Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).break_words(false).build())
    };
    // The hook is set once per process; a second call changes nothing.
    let _ = miette::set_hook(Box::new(keep_lines));
}

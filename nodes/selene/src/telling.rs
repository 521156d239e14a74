//! How much a command tells while it works. Results go to standard output whatever is asked for, warnings and errors to
//! standard error.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use crate::args::TellingArgs;
use crate::places;

/// What `--verbose` and `--quiet` ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Telling {
    /// Results, warnings and errors alone.
    Quiet,
    /// Also what is done, and how far it is.
    #[default]
    Usual,
    /// Also rates of topics, and what the log has.
    Verbose,
}

impl From<&TellingArgs> for Telling {
    fn from(args: &TellingArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Usual,
        }
    }
}

impl Telling {
    /// Tells a line of what is done, unless nothing is to be told.
    pub(crate) fn note(self, text: impl Display) {
        if self != Self::Quiet {
            // A launcher that has ended reads no more; that must not end the work.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Tells where a file or a folder was written, from the root on.
    pub(crate) fn wrote(self, path: &Path) {
        self.note(places::whole(path).display());
    }

    /// What is logged where RUST_LOG says nothing. RustDDS reports peers' oddities as warnings, which are none for
    /// people who drive a rover.
    pub(crate) fn log_filter(self) -> &'static str {
        match self {
            Self::Quiet | Self::Usual => "warn,rustdds=error,ros2_client=error",
            Self::Verbose => "warn,selene=info,rustdds=error,ros2_client=error",
        }
    }
}

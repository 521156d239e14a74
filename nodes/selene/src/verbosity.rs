//! Verbosity of a command while it works. Results always go to standard output, warnings and errors to standard error.

use std::fmt::Display;
use std::path::Path;

use crate::args::VerbosityArgs;
use crate::{bar, places};

/// The verbosity that `--verbose` and `--quiet` set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Only results, warnings and errors.
    Quiet,
    /// Also notes on what the command does, and its progress.
    #[default]
    Usual,
    /// Also rates of topics, and informative lines of the log.
    Verbose,
}

impl From<&VerbosityArgs> for Verbosity {
    fn from(args: &VerbosityArgs) -> Self {
        match (args.quiet, args.verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Usual,
        }
    }
}

impl Verbosity {
    /// Prints a line to standard error, unless quiet.
    pub(crate) fn note(self, text: impl Display) {
        if self != Self::Quiet {
            // Formatted before the bar is locked, which it may not touch.
            let text = text.to_string();
            // A launcher that has ended closes the pipe; that must not end the work.
            let _ = bar::print_above(|stderr| writeln!(stderr, "{text}"));
        }
    }

    /// Prints the absolute path of a file or folder that was written.
    pub(crate) fn wrote(self, path: &Path) {
        self.note(places::whole(path).display());
    }

    /// The log filter if RUST_LOG is not set. RustDDS logs oddities of its peers as warnings; for people who drive a
    /// rover they are none. r2r logs an error whenever a subscriber is woken for nothing, as it is over Cyclone DDS when
    /// a publisher leaves.
    pub(crate) fn log_filter(self) -> &'static str {
        match self {
            Self::Quiet | Self::Usual => "warn,rustdds=error,ros2_client=error,r2r::subscribers=off",
            Self::Verbose => "warn,selene=info,rustdds=error,ros2_client=error,r2r::subscribers=off",
        }
    }
}

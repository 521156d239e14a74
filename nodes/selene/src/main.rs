//! `selene`: see the library for everything.

use std::process::ExitCode;

fn main() -> ExitCode {
    selene::command_line()
}

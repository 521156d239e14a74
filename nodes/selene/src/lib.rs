//! The command line of Selene and the all-in-one process: the nodes of rovers on
//! the Moon over one in-process transport, DDS and a bag.
//!
//! [`command_line`] is all that the program calls. `args` says what can be typed,
//! `commands` has one file for each command; `run` is the all-in-one process.

mod address_space;
mod args;
mod bench_lines;
mod commands;
mod device;
mod fault;
mod flag;
mod interrupt;
mod meter;
mod middleware;
mod output;
mod places;
mod progress;
mod recording;
mod run_report;
mod series;
mod summary;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

/// Reads the command line and does what it says. The exit status is 0 when all
/// went well, 1 when a run failed, 2 when arguments or input files were refused.
#[must_use]
pub fn command_line() -> ExitCode {
    fault::set_style();
    let typed = args::CommandLine::parse();
    log_to_stderr();
    match commands::execute(typed.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => fault.print(),
    }
}

/// Warnings, or what RUST_LOG asks for. RustDDS reports peers' oddities as
/// warnings, which are none for people who drive a rover.
fn log_to_stderr() {
    let default = || EnvFilter::new("warn,rustdds=error,ros2_client=error");
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| default());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
}

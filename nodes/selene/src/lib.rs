//! The command line of Selene and its all-in-one process, in which all nodes share one in-process transport, DDS and a
//! bag.
//!
//! The program calls only [`command_line`]. `args` declares commands and options; `commands` has one file for each
//! command, of which `run` is the all-in-one process.

mod address_space;
mod announcement;
mod args;
mod bar;
mod bench_lines;
mod commands;
mod device;
mod digging;
mod fault;
mod figures;
mod flag;
mod interrupt;
mod key_faults;
mod meter;
mod middleware;
mod output;
mod overrides;
mod own_services;
mod parameters;
mod places;
mod progress;
mod recording;
mod remap;
#[cfg_attr(not(feature = "rerun"), path = "no_rerun.rs")]
mod rerun_file;
mod ros_args;
mod rosout;
mod run_report;
mod series;
mod shipped;
mod summary;
mod timing;
mod traffic;
mod verbosity;
mod wire;

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

use crate::verbosity::Verbosity;

/// Parses the command line and executes the command. The exit status is 0 on success, 1 when a run failed, 2 when
/// arguments or input files were refused.
#[must_use]
pub fn command_line() -> ExitCode {
    fault::set_style();
    let (words, ros) = match ros_args::split(std::env::args_os()) {
        Ok(split) => split,
        Err(fault) => return fault.print(),
    };
    shipped::provide();
    let typed = match args::CommandLine::try_parse_from(words) {
        Ok(typed) => typed,
        Err(answer) => return print_answer(&answer),
    };
    let verbosity = Verbosity::from(&typed.verbosity);
    let backlog = log(verbosity);
    let done = commands::execute(typed.command, verbosity, &ros, backlog);
    match done.and(output::whole()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => fault.print(),
    }
}

/// Prints help, the version, or why the arguments were refused. Returns the exit status.
fn print_answer(answer: &clap::Error) -> ExitCode {
    match answer.print().and_then(|()| output::flush()) {
        Err(error) if !answer.use_stderr() && error.kind() != ErrorKind::BrokenPipe => output::fault(&error).print(),
        _ => ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(u8::MAX)),
    }
}

/// Whether the log has colours: on a terminal, unless `NO_COLOR` is set (no-color.org). `ros2 launch` and files get
/// plain text.
fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Sets up logging to standard error: warnings, or what `--verbose` or RUST_LOG selects. Returns the queue of lines for
/// `/rosout`, which wait there until a command publishes them.
fn log(verbosity: Verbosity) -> rosout::Backlog {
    let default = || EnvFilter::new(verbosity.log_filter());
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| default());
    let stderr = tracing_subscriber::fmt::layer().with_writer(|| bar::AboveBar).with_ansi(is_coloured()).without_time();
    let stderr = stderr.with_filter(filter);
    let (rosout, backlog) = rosout::queue();
    tracing_subscriber::registry().with(stderr).with(rosout.with_filter(rosout::filter())).init();
    backlog
}

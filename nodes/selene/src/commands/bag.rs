//! `selene bag`: shows the contents of a bag, verifies it, plays it, and runs other sensors over its drive.

mod info;
mod play;
mod rerender;
mod verify;

use std::path::Path;

use selene_ros::bag::BagReader;

use crate::args::BagCommand;
use crate::fault::Fault;
use crate::verbosity::Verbosity;

/// Executes a subcommand.
pub(crate) fn bag(command: &BagCommand, verbosity: Verbosity) -> Result<(), Fault> {
    match command {
        BagCommand::Info(args) => info::info(args),
        BagCommand::Verify(args) => verify::verify(args),
        BagCommand::Play(args) => play::play(args, verbosity),
        BagCommand::Rerender(args) => rerender::rerender(args, verbosity),
    }
}

fn open(path: &Path) -> Result<BagReader, Fault> {
    BagReader::open(path).map_err(Fault::input)
}

/// Converts a log time or span from nanoseconds to seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

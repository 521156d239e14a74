//! `selene bag`: what a bag holds, whether it is sound, playing it, and seeing its drive with other sensors.

mod info;
mod play;
mod rerender;
mod verify;

use std::path::Path;

use selene_ros::bag::BagReader;

use crate::args::BagCommand;
use crate::fault::Fault;
use crate::telling::Telling;

/// Does what was asked of a bag.
pub(crate) fn bag(command: &BagCommand, telling: Telling) -> Result<(), Fault> {
    match command {
        BagCommand::Info(args) => info::info(args),
        BagCommand::Verify(args) => verify::verify(args),
        BagCommand::Play(args) => play::play(args, telling),
        BagCommand::Rerender(args) => rerender::rerender(args, telling),
    }
}

fn open(path: &Path) -> Result<BagReader, Fault> {
    BagReader::open(path).map_err(Fault::input)
}

/// A log time as seconds since the epoch of the recording's clock.
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

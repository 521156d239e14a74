//! One file for each command.

mod bench;
mod calibrate;
mod check;
mod fit;
mod hash;
mod node;
mod render;
mod rig;
mod run;
mod sky;
mod terrain;
mod validate;

use clap::Parser;

use crate::args::{Command, CommandLine};
use crate::fault::Fault;

/// Does what was typed.
pub(crate) fn execute(command: Option<Command>) -> Result<(), Fault> {
    match command {
        None => execute(CommandLine::parse_from(["selene", "run"]).command),
        Some(Command::Run(args)) => run::run(&args),
        Some(Command::Simulation(args)) => node::simulation(&args),
        Some(Command::Camera(args)) => node::camera(&args),
        Some(Command::Lidar(args)) => node::lidar(&args),
        Some(Command::Navigation(args)) => node::navigation(&args),
        Some(Command::Check(args)) => check::check(&args),
        Some(Command::Render(args)) => render::render(&args),
        Some(Command::Rig(command)) => rig::rig(&command),
        Some(Command::Sky(args)) => sky::sky(&args),
        Some(Command::Terrain(command)) => terrain::terrain(&command),
        Some(Command::Fit(args)) => fit::fit(&args),
        Some(Command::Calibrate(command)) => calibrate::calibrate(&command),
        Some(Command::Validate(args)) => validate::validate(&args),
        Some(Command::Hash(args)) => hash::hash(&args),
        Some(Command::Bench(args)) => bench::bench(&args),
    }
}

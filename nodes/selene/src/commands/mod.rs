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

use crate::address_space;
use crate::args::{Command, CommandLine};
use crate::fault::Fault;

/// Does what was typed.
pub(crate) fn execute(command: Option<Command>) -> Result<(), Fault> {
    let Some(command) = command else { return execute(CommandLine::parse_from(["selene", "run"]).command) };
    if steps_or_traces(&command) {
        address_space::check()?;
    }
    match command {
        Command::Run(args) => run::run(&args),
        Command::Simulation(args) => node::simulation(&args),
        Command::Camera(args) => node::camera(&args),
        Command::Lidar(args) => node::lidar(&args),
        Command::Navigation(args) => node::navigation(&args),
        Command::Check(args) => check::check(&args),
        Command::Render(args) => render::render(&args),
        Command::Rig(command) => rig::rig(&command),
        Command::Sky(args) => sky::sky(&args),
        Command::Terrain(command) => terrain::terrain(&command),
        Command::Fit(args) => fit::fit(&args),
        Command::Calibrate(command) => calibrate::calibrate(&command),
        Command::Validate(args) => validate::validate(&args),
        Command::Hash(args) => hash::hash(&args),
        Command::Bench(args) => bench::bench(&args),
    }
}

/// Whether a command takes the memory of a whole world.
fn steps_or_traces(command: &Command) -> bool {
    match command {
        Command::Run(_)
        | Command::Simulation(_)
        | Command::Camera(_)
        | Command::Lidar(_)
        | Command::Navigation(_)
        | Command::Render(_)
        | Command::Hash(_)
        | Command::Bench(_) => true,
        Command::Check(_)
        | Command::Sky(_)
        | Command::Rig(_)
        | Command::Terrain(_)
        | Command::Fit(_)
        | Command::Calibrate(_)
        | Command::Validate(_) => false,
    }
}

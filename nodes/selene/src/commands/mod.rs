//! Executes the commands; each has a file of its own.

mod bag;
mod bench;
mod calibrate;
mod campaign;
mod check;
mod conformance;
mod console;
mod fit;
mod hash;
mod import;
mod list;
mod new;
mod node;
mod render;
mod rig;
mod run;
pub(crate) mod schema;
mod shell;
mod sky;
mod study;
mod terrain;
mod validate;
mod viewers;

use clap::Parser;

use crate::address_space;
use crate::args::{BagCommand, Command, CommandLine};
use crate::fault::Fault;
use crate::ros_args::RosArgs;
use crate::rosout::Backlog;
use crate::verbosity::Verbosity;

/// Executes a command. Commands that join a ROS domain publish the log too.
pub(crate) fn execute(
    command: Option<Command>,
    verbosity: Verbosity,
    ros: &RosArgs,
    log: Backlog,
) -> Result<(), Fault> {
    let Some(command) = command else {
        return execute(CommandLine::parse_from(["selene", "run"]).command, verbosity, ros, log);
    };
    if !ros.is_empty() && !is_node(&command) {
        let nodes = "selene run, simulation, camera, lidar and navigation";
        return Err(Fault::input(format!("--ros-args: this command is no ROS 2 node; {nodes} are")));
    }
    if steps_or_traces(&command) {
        address_space::check()?;
    }
    match command {
        Command::Run(args) => run::run(&args, verbosity, ros, log),
        Command::Simulation(args) => node::simulation(&args, verbosity, ros, log),
        Command::Camera(args) => node::camera(&args, verbosity, ros, log),
        Command::Lidar(args) => node::lidar(&args, verbosity, ros, log),
        Command::Navigation(args) => node::navigation(&args, verbosity, ros, log),
        Command::Console(args) => console::console(&args),
        Command::List(args) => list::list(&args),
        Command::New(command) => new::new(&command),
        Command::Schema(args) => schema::schema(&args, verbosity),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args, verbosity),
        Command::Check(args) => check::check(&args),
        Command::Import(args) => import::import(&args),
        Command::Render(args) => render::render(&args, verbosity),
        Command::Rig(command) => rig::rig(&command, verbosity),
        Command::Sky(args) => sky::sky(&args),
        Command::Terrain(command) => terrain::terrain(&command, verbosity),
        Command::Bag(command) => bag::bag(&command, verbosity),
        Command::Fit(args) => fit::fit(&args, verbosity),
        Command::Calibrate(command) => calibrate::calibrate(&command),
        Command::Validate(args) => validate::validate(&args, verbosity),
        Command::Study(command) => study::study(&command, verbosity),
        Command::Campaign(args) => campaign::campaign(&args, verbosity),
        Command::Hash(args) => hash::hash(&args, verbosity),
        Command::Conformance(args) => conformance::conformance(&args, verbosity),
        Command::Bench(args) => bench::bench(&args, verbosity),
    }
}

/// Whether a command runs a ROS 2 node that takes ROS arguments.
fn is_node(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_) | Command::Simulation(_) | Command::Camera(_) | Command::Lidar(_) | Command::Navigation(_)
    )
}

/// Whether a command needs the memory of a whole world.
fn steps_or_traces(command: &Command) -> bool {
    match command {
        Command::Run(_)
        | Command::Simulation(_)
        | Command::Camera(_)
        | Command::Lidar(_)
        | Command::Navigation(_)
        | Command::Render(_)
        | Command::Hash(_)
        | Command::Study(_)
        | Command::Rig(_)
        | Command::Terrain(_)
        | Command::Validate(_)
        | Command::Campaign(_)
        | Command::Bag(BagCommand::Rerender(_))
        | Command::Bench(_) => true,
        Command::List(_)
        | Command::New(_)
        | Command::Schema(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Console(_)
        | Command::Check(_)
        | Command::Import(_)
        | Command::Sky(_)
        | Command::Bag(_)
        | Command::Fit(_)
        | Command::Calibrate(_)
        | Command::Conformance(_) => false,
    }
}

//! `selene study`: reproduces published studies.

mod convoy;
mod scaling;

use std::path::{Path, PathBuf};

use selene_base::output::{self, CSV, PNG};
use selene_pictures::save_png;
use selene_sim::StartOptions;
use selene_studies::Failure;
use selene_studies::heading::{self, DATASETS, Dataset, Labelled, Loop, Network, Study, Training};

use crate::args::{Method, StudyCommand, StudyHeadingArgs};
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::verbosity::Verbosity;
use crate::{device, places};

/// The scenario that is driven by default.
const LOOP: &str = "scenario/sorato_loop.yaml";
/// The weights of the network that is used by default.
const WEIGHTS: &str = "network/sun_direction.safetensors";

/// Executes a subcommand.
pub(crate) fn study(command: &StudyCommand, verbosity: Verbosity) -> Result<(), Fault> {
    match command {
        StudyCommand::Heading(args) => match &args.training_images {
            Some(folder) => make_training_images(args, folder, verbosity),
            None => study_heading(args, verbosity),
        },
        StudyCommand::Convoy(args) => convoy::study(args, verbosity),
        StudyCommand::Scaling(args) => scaling::study(args, verbosity),
    }
}

/// Drives the loops, prints the figures beside the paper's, and writes table and chart.
fn study_heading(args: &StudyHeadingArgs, verbosity: Verbosity) -> Result<(), Fault> {
    if !args.world.set.is_empty() {
        return Err(Fault::input("--set: a study drives its scenario as it is; change the file"));
    }
    places::check_folder("--out", &args.out)?;
    let [table, network_table, chart] = ["heading.csv", "network.csv", "heading.png"].map(|name| args.out.join(name));
    places::check_writable("--out", &table, &CSV)?;
    places::check_writable("--out", &chart, &PNG)?;
    let network = network(args)?;
    let looks_too = network.is_some();
    if looks_too {
        places::check_writable("--out", &network_table, &CSV)?;
    }
    let study = Study {
        scenario: scenario(args)?,
        options: places::load_options(&args.world, &[])?,
        images: (!args.full).then_some(args.images as usize),
        network,
        device: device::open(args.device.device)?.usual().clone(),
    };
    let datasets = datasets(args)?;
    let work = Work::begin(verbosity, "loops", datasets.len() as u64);
    let drive = |dataset| drive(&study, dataset, &work).inspect(|_| work.step());
    let loops = datasets.into_iter().map(drive).collect::<Result<Vec<_>, _>>()?;
    drop(work);
    print_line(heading::table(&loops));
    output::write_bytes(&table, &CSV, heading::csv(&loops).as_bytes()).map_err(Fault::run)?;
    if looks_too {
        print_line(heading::network_table(&loops));
        let rows = heading::network_csv(&loops);
        output::write_bytes(&network_table, &CSV, rows.as_bytes()).map_err(Fault::run)?;
        verbosity.wrote(&network_table);
    }
    heading::chart(&loops).save(&chart).map_err(Fault::run)?;
    [table, chart].iter().for_each(|file| verbosity.wrote(file));
    Ok(())
}

/// The network, if `--method network` requests it.
fn network(args: &StudyHeadingArgs) -> Result<Option<Network>, Fault> {
    match (args.method, &args.weights) {
        (Method::Detector, None) => Ok(None),
        (Method::Detector, Some(file)) => {
            Err(Fault::input(format!("--weights {}: is for --method network", file.display())))
        }
        (Method::Network, file) => {
            let file = file.clone().map_or_else(|| places::config_file(WEIGHTS), Ok)?;
            Network::load(&file).map(Some).map_err(Fault::input)
        }
    }
}

/// Writes images to train the network on, and their labels.
fn make_training_images(args: &StudyHeadingArgs, folder: &Path, verbosity: Verbosity) -> Result<(), Fault> {
    places::check_folder("--training-images", folder)?;
    let table = folder.join("labels.csv");
    places::check_writable("--training-images", &table, &CSV)?;
    let options = places::load_options(&args.world, &[])?;
    if options.start != StartOptions::default() {
        return Err(Fault::input("--training-images: starts are drawn, so --x, --y, --z and --yaw are not taken"));
    }
    let training = Training {
        scenario: scenario(args)?,
        options,
        count: args.count as usize,
        seed: args.world.seed.unwrap_or_default(),
        device: device::open(args.device.device)?.usual().clone(),
    };
    let mut all: Vec<Labelled> = Vec::new();
    let keep = |number: usize, of: &Labelled| -> Result<(), Failure> {
        save_png(&of.image, &folder.join(format!("{number:06}.png")))?;
        if all.last().is_none_or(|last| last.world != of.world) {
            verbosity.note(format_args!("world {}, image {number} of {}", of.world, training.count));
        }
        all.push(of.clone());
        Ok(())
    };
    training.make(keep).map_err(Fault::run)?;
    output::write_bytes(&table, &CSV, heading::labels(&all).as_bytes()).map_err(Fault::run)?;
    verbosity.note(format_args!("{}: {} images", places::whole(&table).display(), all.len()));
    Ok(())
}

/// The file of the scenario to drive.
fn scenario(args: &StudyHeadingArgs) -> Result<PathBuf, Fault> {
    args.scenario.clone().map_or_else(|| places::config_file(LOOP), Ok)
}

/// The paper's datasets, or one for each elevation of the Sun in `--sun`.
fn datasets(args: &StudyHeadingArgs) -> Result<Vec<Dataset>, Fault> {
    if args.sun.is_empty() {
        return Ok(DATASETS.to_vec());
    }
    let dataset = |sun_elevation_deg: &f64| {
        if !(0.0..90.0).contains(sun_elevation_deg) {
            return Err(Fault::input(format!("--sun {sun_elevation_deg}: must be 0 to less than 90 degrees")));
        }
        Ok(Dataset { sun_elevation_deg: *sun_elevation_deg, images: args.images as usize })
    };
    args.sun.iter().map(dataset).collect()
}

fn drive(study: &Study, dataset: Dataset, work: &Work) -> Result<Loop, Fault> {
    work.note(format_args!("Sun at {}° …", dataset.sun_elevation_deg));
    let driven = study.drive(dataset).map_err(Fault::run)?;
    work.note(format_args!("  from {}: {} images", driven.utc, driven.images));
    Ok(driven)
}

//! `selene study`: published studies made again.

use selene_base::output::{self, CSV, PNG};
use selene_studies::heading::{self, DATASETS, Dataset, Loop, Study};

use crate::args::{StudyCommand, StudyHeadingArgs};
use crate::fault::Fault;
use crate::output::print_line;
use crate::{device, places};

/// The loop that is driven when none is named.
const LOOP: &str = "scenario/sorato_loop.yaml";

/// Makes a study.
pub(crate) fn study(command: &StudyCommand) -> Result<(), Fault> {
    match command {
        StudyCommand::Heading(args) => study_heading(args),
    }
}

/// Drives the loops; tells the figures beside the paper's and leaves table and chart.
fn study_heading(args: &StudyHeadingArgs) -> Result<(), Fault> {
    places::check_folder("--out", &args.out)?;
    let [table, chart] = ["heading.csv", "heading.png"].map(|name| args.out.join(name));
    places::check_writable("--out", &table, &CSV)?;
    places::check_writable("--out", &chart, &PNG)?;
    let study = Study {
        scenario: args.scenario.clone().map_or_else(|| places::config_file(LOOP), Ok)?,
        options: places::load_options(&args.world, &[])?,
        images: (!args.full).then_some(args.images as usize),
        device: device::open(args.device.device)?.usual().clone(),
    };
    let loops = datasets(args)?.into_iter().map(|dataset| drive(&study, dataset)).collect::<Result<Vec<_>, _>>()?;
    print_line(heading::table(&loops));
    output::write_bytes(&table, &CSV, heading::csv(&loops).as_bytes()).map_err(Fault::run)?;
    heading::chart(&loops).save(&chart).map_err(Fault::run)?;
    eprintln!("{} and {}", table.display(), chart.display());
    Ok(())
}

/// The paper's, or one for each elevation that is asked for.
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

fn drive(study: &Study, dataset: Dataset) -> Result<Loop, Fault> {
    eprintln!("Sun at {}° …", dataset.sun_elevation_deg);
    let driven = study.drive(dataset).map_err(Fault::run)?;
    eprintln!("  from {}: {} images", driven.utc, driven.images);
    Ok(driven)
}

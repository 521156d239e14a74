//! `selene validate`: compares wheels and soil with measurements and with other simulators.

use std::path::PathBuf;

use selene_validation::{ComparedFigure, Comparison, PAGE, Section, Sources, report};
use serde::Serialize;

use crate::args::ValidateArgs;
use crate::bar::Work;
use crate::fault::Fault;
use crate::output::print_line;
use crate::places;
use crate::verbosity::Verbosity;

/// A comparison, as `--json` prints it.
#[derive(Serialize)]
struct Printed {
    comparison: &'static str,
    figures: Vec<PrintedFigure>,
}

#[derive(Serialize)]
struct PrintedFigure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    met: bool,
}

/// Makes all comparisons, prints the figures, and writes the page if a folder is given. Fails if a figure is not met.
pub(crate) fn validate(args: &ValidateArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let sources = sources(args)?;
    if let Some(folder) = &args.out {
        places::check_folder("--out", folder)?;
        places::check_writable("--out", &folder.join("validation.md"), &PAGE)?;
    }
    let work = Work::begin(verbosity, "comparisons", Comparison::ALL.len() as u64);
    let mut made = Vec::new();
    for comparison in Comparison::ALL {
        let section = comparison.make(&sources);
        made.push((comparison, section.map_err(|e| Fault::run(format!("{}: {e}", comparison.title())))?));
        work.step();
    }
    drop(work);
    if args.json {
        let printed: Vec<_> = made.iter().map(printed).collect();
        print_line(serde_json::to_string_pretty(&printed).map_err(Fault::run)?);
    } else {
        made.iter().for_each(print);
    }
    if let Some(folder) = &args.out {
        report(folder, &made).map_err(Fault::run)?;
        verbosity.note(places::whole(&folder.join("validation.md")).display());
    }
    all_met(&made)
}

/// Fails if a figure is not met.
fn all_met(made: &[(Comparison, Section)]) -> Result<(), Fault> {
    let figures = made.iter().flat_map(|(comparison, section)| section.figures.iter().map(move |of| (comparison, of)));
    let unmet = figures.filter(|(_, figure)| !figure.is_met());
    let reported: Vec<_> =
        unmet.map(|(comparison, figure)| format!("{}: {}", comparison.title(), figure.name)).collect();
    if reported.is_empty() { Ok(()) } else { Err(Fault::run(format!("not met: {}", reported.join("; ")))) }
}

fn sources(args: &ValidateArgs) -> Result<Sources, Fault> {
    let data = places::data_dir(args.data.as_deref())?;
    places::check_is_folder("--reference", args.reference.as_deref())?;
    let from_environment = || std::env::var_os("SELENE_REFERENCE").filter(|value| !value.is_empty()).map(PathBuf::from);
    let reference = args.reference.clone().or_else(from_environment);
    Ok(Sources { config: places::config_dir()?, data, reference })
}

fn printed((comparison, section): &(Comparison, Section)) -> Printed {
    let figure = |figure: &ComparedFigure| PrintedFigure {
        name: figure.name,
        value: figure.value,
        unit: figure.unit,
        what: figure.what,
        at_most: figure.at_most,
        met: figure.is_met(),
    };
    Printed { comparison: comparison.title(), figures: section.figures.iter().map(figure).collect() }
}

fn print((comparison, section): &(Comparison, Section)) {
    print_line(comparison.title());
    for figure @ ComparedFigure { name, value, unit, at_most, .. } in &section.figures {
        let requested = at_most.map_or(String::new(), |limit| {
            format!("required ≤ {limit:.4} {}", if figure.is_met() { "met" } else { "NOT MET" })
        });
        print_line(format_args!("  {name:<26} {value:>10.4} {unit:<4} {requested}"));
    }
}

#[cfg(test)]
mod tests {
    use super::all_met;
    use selene_validation::{ComparedFigure, Comparison, Sources};
    use std::path::Path;

    #[test]
    fn one_figure_that_is_not_met_fails_the_command() {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
        let sources = Sources { config, data: None, reference: None };
        let mut section = Comparison::DataLaw.make(&sources).expect("a comparison");
        let figure =
            ComparedFigure { name: "good", value: 1.0, unit: "", what: "as much as it may", at_most: Some(1.0) };
        section.figures = vec![figure.clone()];
        let mut made = [(Comparison::DataLaw, section)];
        assert!(all_met(&made).is_ok());
        made[0].1.figures.push(ComparedFigure { name: "bad", value: 1.1, ..figure.clone() });
        made[0].1.figures.push(ComparedFigure { name: "worse", value: f64::NAN, ..figure });
        let reported = all_met(&made).expect_err("two figures are not met").to_string();
        assert!(reported.contains("bad") && reported.contains("worse") && !reported.contains("good"), "{reported}");
    }
}

//! Wheels and soil beside measurements and peers' numbers: one file a comparison. Each
//! gives the figures, what is asked of them, plots, and a text that says where and why
//! the two differ. `selene validate` writes them to docs/validation.md; the tests of
//! tests/validation hold the same figures to their tolerances.

mod bevameter;
mod crm;
mod data_law;
mod granular;
mod measured;
mod microrover;
mod peer_plate;
mod peer_wheel;
mod report;

use std::path::{Path, PathBuf};

use selene_base::Table;
use selene_soil::{Law, SoilSpec};

use selene_pictures::chart::{Chart, Line, Mark};

pub use report::report;

/// Why a comparison could not be made.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Selene's own configuration.
    pub config: PathBuf,
    /// Third-party data; measured wheels are read from its folder `wheel` where there is one, else their means
    /// from Selene's own table.
    pub data: Option<PathBuf>,
    /// Peers' reference curves; Selene's own copies where there is none.
    pub reference: Option<PathBuf>,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A plate against a peer's.
    PeerPlate,
    /// A wheel against a peer's.
    PeerWheel,
    /// Smooth and grousered wheels against single-wheel tests.
    MeasuredWheel,
    /// The data-driven law against its paper's figures.
    DataLaw,
    /// Slip over slope of a skid-steered microrover.
    Microrover,
    /// Drawbar pull beside that of a continuum model.
    Continuum,
    /// Granular soil against published laws.
    Granular,
    /// Discs and a ring on a peer's continuum soil.
    Bevameter,
}

impl Comparison {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 8] = [
        Self::PeerPlate,
        Self::PeerWheel,
        Self::MeasuredWheel,
        Self::DataLaw,
        Self::Microrover,
        Self::Continuum,
        Self::Granular,
        Self::Bevameter,
    ];

    /// What it is called.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::PeerPlate => "Pressed plate against Project Chrono",
            Self::PeerWheel => "Single wheel against Project Chrono",
            Self::MeasuredWheel => "Single wheel against measurement",
            Self::DataLaw => "Data-driven law against its paper",
            Self::Microrover => "A microrover on slopes",
            Self::Continuum => "Drawbar pull beside a continuum model",
            Self::Granular => "Granular soil against published laws",
            Self::Bevameter => "A bevameter on Project Chrono's continuum soil",
        }
    }

    /// Makes the comparison.
    ///
    /// # Errors
    /// When a named folder lacks a table, a table cannot be used, or a rig does not run.
    pub fn make(self, sources: &Sources) -> Result<Section, Failure> {
        match self {
            Self::PeerPlate => peer_plate::compare(sources),
            Self::PeerWheel => peer_wheel::compare(sources),
            Self::MeasuredWheel => measured::compare(sources),
            Self::DataLaw => data_law::compare(sources),
            Self::Microrover => microrover::compare(sources),
            Self::Continuum => crm::compare(sources),
            Self::Granular => granular::compare(sources),
            Self::Bevameter => bevameter::compare(sources),
        }
    }
}

/// What came out of a comparison.
pub struct Section {
    /// The figures.
    pub figures: Vec<ComparedFigure>,
    /// What was done and where and why the two differ; Markdown.
    pub text: String,
    /// Plots by the name of their file.
    pub(crate) charts: Vec<(&'static str, Chart)>,
}

/// A figure and what is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFigure {
    /// Its name.
    pub name: &'static str,
    /// What came out.
    pub value: f64,
    /// Its unit; empty for a share.
    pub unit: &'static str,
    /// What it is, in words.
    pub what: &'static str,
    /// The most that is asked for, if anything is.
    pub at_most: Option<f64>,
}

impl Section {
    /// The value of the figure called `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

impl Sources {
    fn law(&self, soil: &str) -> Result<Law, Failure> {
        Ok(Law::try_from(&self.soil(soil)?)?)
    }

    fn soil(&self, soil: &str) -> Result<SoilSpec, Failure> {
        Ok(SoilSpec::load(&self.config.join(format!("soil/{soil}.yaml")))?)
    }
}

/// The table `name` in `folder`; where no folder is named, `own`, a table of tests/validation/data.
fn table(folder: Option<&Path>, name: &str, own: &str) -> Result<Table, Failure> {
    Ok(match folder {
        Some(folder) => Table::load(&folder.join(name))?,
        None => Table::parse(own, Path::new(name))?,
    })
}

/// A column of plain numbers.
fn column(table: &Table, name: &str) -> Result<Vec<f64>, Failure> {
    Ok(table.numbers(name, |_| true, "a number")?)
}

fn line(name: &str, colour: usize, mark: Mark, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), colour, mark, points }
}

/// Root of the mean square.
fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value * value, count + 1));
    (sum / f64::from(count.max(1))).sqrt()
}

/// The largest magnitude.
fn worst(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |worst: f64, value| worst.max(value.abs()))
}

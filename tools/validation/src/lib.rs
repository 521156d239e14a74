//! Validation of wheels and soil against measurements and peers' numbers, with one file per comparison. Each returns
//! figures with their limits, plots, and a text that explains where and why the two sides differ. `selene validate`
//! writes them to docs/validation.md; the tests in tests/validation hold the same figures to their tolerances.

mod bevameter;
mod crm;
mod data_law;
mod granular;
mod granular_wheel;
mod measured;
mod microrover;
mod peer_plate;
mod peer_wheel;
mod report;

use std::path::{Path, PathBuf};

use selene_base::Table;
use selene_soil::{Law, SoilSpec};

use selene_pictures::chart::{Chart, Line, Mark};

pub use report::{PAGE, report};

/// Why a comparison failed.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Locations of the data for comparisons.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Folder of Selene's own configuration.
    pub config: PathBuf,
    /// Folder of third-party data. Measured wheels are read from its folder `wheel` if that exists, else their means
    /// from Selene's own table.
    pub data: Option<PathBuf>,
    /// Folder of peers' reference curves; `None` for Selene's own copies.
    pub reference: Option<PathBuf>,
}

/// A comparison of the validation report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A plate against Project Chrono's SCM.
    PeerPlate,
    /// A wheel against Project Chrono's SCM.
    PeerWheel,
    /// Smooth and grousered wheels against single-wheel tests.
    MeasuredWheel,
    /// The data-driven law against its paper's figures.
    DataLaw,
    /// Slip over slope of a skid-steered microrover.
    Microrover,
    /// Drawbar pull against that of a continuum model.
    Continuum,
    /// Granular soil against published laws.
    Granular,
    /// A wheel in granular soil, towed and on slopes, against measurement.
    GranularWheel,
    /// Discs and a ring against a peer's continuum soil.
    Bevameter,
}

impl Comparison {
    /// All comparisons, in the order of the report.
    pub const ALL: [Self; 9] = [
        Self::PeerPlate,
        Self::PeerWheel,
        Self::MeasuredWheel,
        Self::DataLaw,
        Self::Microrover,
        Self::Continuum,
        Self::Granular,
        Self::GranularWheel,
        Self::Bevameter,
    ];

    /// Title of its section.
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
            Self::GranularWheel => "A wheel in granular soil against measurement",
            Self::Bevameter => "A bevameter on Project Chrono's continuum soil",
        }
    }

    /// Makes the comparison.
    ///
    /// # Errors
    /// When a given folder lacks a table, a table is not usable, or a rig does not run.
    pub fn make(self, sources: &Sources) -> Result<Section, Failure> {
        match self {
            Self::PeerPlate => peer_plate::compare(sources),
            Self::PeerWheel => peer_wheel::compare(sources),
            Self::MeasuredWheel => measured::compare(sources),
            Self::DataLaw => data_law::compare(sources),
            Self::Microrover => microrover::compare(sources),
            Self::Continuum => crm::compare(sources),
            Self::Granular => granular::compare(sources),
            Self::GranularWheel => granular_wheel::compare(),
            Self::Bevameter => bevameter::compare(sources),
        }
    }
}

/// Result of a comparison.
pub struct Section {
    /// The figures.
    pub figures: Vec<ComparedFigure>,
    /// Description of the comparison, and of where and why the two sides differ; Markdown.
    pub text: String,
    /// Plots with the names of their files.
    pub(crate) charts: Vec<(&'static str, Chart)>,
}

/// A figure and its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFigure {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit; empty for a fraction.
    pub unit: &'static str,
    /// Its description.
    pub what: &'static str,
    /// Its upper limit, if it has one.
    pub at_most: Option<f64>,
}

impl Section {
    /// Value of the figure with this name.
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

/// Loads the table `name` from `folder`; without a folder, `own`, the text of a table in tests/validation/data.
fn table(folder: Option<&Path>, name: &str, own: &str) -> Result<Table, Failure> {
    Ok(match folder {
        Some(folder) => Table::load(&folder.join(name))?,
        None => Table::parse(own, Path::new(name))?,
    })
}

/// Reads a column of plain numbers.
fn column(table: &Table, name: &str) -> Result<Vec<f64>, Failure> {
    Ok(table.numbers(name, |_| true, "a number")?)
}

fn line(name: &str, colour: usize, mark: Mark, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), colour, mark, points }
}

/// Root mean square.
fn rms(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value * value, count + 1));
    (sum / f64::from(count.max(1))).sqrt()
}

/// Largest magnitude.
fn worst(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |worst: f64, value| worst.max(value.abs()))
}

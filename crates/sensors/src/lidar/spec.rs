//! A lidar's file: how it scans, what a beam is, which returns it tells, what is wrong with them and how they leave.

use std::path::Path;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::InputError;
use selene_base::input::{non_negative, positive, within};
use serde::Deserialize;

use super::dead_sector::DeadSector;
use super::divergence::DivergenceSpec;
use super::scanner::{ScannerSpec, fits, one_scanner, served};
use crate::augment::{Augments, Datum, fits as row_fits};
use crate::spec::{lag, rate, ros_name};
use crate::{PlacementSpec, SensorQos};

/// A lidar of a rover.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LidarSpec {
    /// Topic prefix and stream name.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in: x forward, z up, along the axis of those that spin; with `mount`, the link that
    /// carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link; none: in the link's frame.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
    /// Scans a second.
    #[garde(custom(rate), custom(served(&self.scanner)))]
    pub rate_hz: f64,
    /// From the end of a scan to its hand-over, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// How its topics are offered.
    #[garde(skip)]
    pub qos: SensorQos,
    /// What it is traced on: `cpu`, `gpu` (the best), `gpu:1` (by number) or a part of an adapter's name; left out,
    /// what the program is told to trace on.
    #[serde(default)]
    #[garde(inner(length(min = 1)))]
    pub device: Option<String>,
    /// The stages that its clouds pass before they leave.
    #[serde(default)]
    #[garde(dive, custom(row_fits(Datum::PointCloud, self.rate_hz)))]
    pub stages: Augments,
    /// Where its beams go and when.
    #[garde(dive, custom(one_scanner), custom(fits(self.rate_hz, self.divergence.samples)))]
    pub scanner: ScannerSpec,
    /// Nearer returns are left out, m.
    #[garde(custom(non_negative))]
    pub min_range_m: f64,
    /// Farther returns are left out, m; above `min_range_m`.
    #[garde(custom(farther_than(self.min_range_m)))]
    pub max_range_m: f64,
    /// Where a facing target of 10 % reflectance that fills the beam is just seen, m.
    #[garde(custom(positive))]
    pub range_at_10_percent_m: f64,
    /// The laser's wavelength, nm, 550 to 1550: which reflectance of materials counts.
    #[garde(custom(within(550.0, 1550.0)))]
    #[serde(default = "usual_wavelength_nm")]
    pub wavelength_nm: f64,
    /// How wide a beam is.
    #[garde(dive)]
    #[serde(default)]
    pub divergence: DivergenceSpec,
    /// Which of a beam's returns are told.
    #[garde(skip)]
    #[serde(default)]
    pub returns: ReturnMode,
    /// Surfaces along a beam that are nearer to one another than this give one return, m.
    #[garde(custom(positive))]
    #[serde(default = "usual_resolution_m")]
    pub range_resolution_m: f64,
    /// What `intensity` means.
    #[garde(skip)]
    #[serde(default)]
    pub intensity: IntensityScale,
    /// Signals of more than so many times the detection threshold are told as that; none: the detector never
    /// saturates.
    #[garde(inner(custom(above_threshold)))]
    #[serde(default)]
    pub saturation: Option<f64>,
    /// Standard deviation of the range, m.
    #[garde(custom(non_negative))]
    pub range_sigma_m: f64,
    /// Standard deviation of the azimuth, degrees.
    #[garde(custom(within(0.0, 10.0)))]
    pub azimuth_sigma_deg: f64,
    /// Standard deviation of the elevation, degrees.
    #[garde(custom(within(0.0, 10.0)))]
    pub elevation_sigma_deg: f64,
    /// Standard deviation of the intensity over itself.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub intensity_sigma: f64,
    /// Windows in which nothing is measured.
    #[garde(dive)]
    #[serde(default)]
    pub dead_sectors: Vec<DeadSector>,
    /// Whether returns from the rover that carries it are told.
    #[garde(skip)]
    #[serde(default)]
    pub self_hits: SelfHits,
    /// How points lie in a cloud.
    #[garde(custom(holds(self.intensity)))]
    #[serde(default)]
    pub layout: CloudLayout,
    /// Whether each point also has the class, the instance and the range that are true of it.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
    /// Whether range and intensity leave as images too; for scanners that have rows and columns.
    #[garde(custom(has_columns(&self.scanner)))]
    #[serde(default)]
    pub images: bool,
    /// The ring, counted from the lowest up, that leaves as a planar scan too; for spinning lidars.
    #[garde(custom(is_ring(&self.scanner)))]
    #[serde(default)]
    pub scan_ring: Option<u16>,
}

/// Which of a beam's returns are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReturnMode {
    /// That with the most signal.
    #[default]
    Strongest,
    /// The nearest.
    First,
    /// The farthest.
    Last,
    /// The strongest and the last; where they are one, the strongest and the second strongest.
    Dual,
    /// One at the mean range of all, weighted by their signals.
    Mean,
}

/// What `intensity` means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntensityScale {
    /// Reflectivity in whole numbers 0 to 255, corrected for range: 100 is a facing white surface that fills the beam,
    /// as Velodyne and Ouster have it.
    #[default]
    Calibrated,
    /// The signal over the detection threshold.
    Raw,
}

/// Whether returns from the rover that carries a lidar are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelfHits {
    /// As all others.
    #[default]
    Keep,
    /// No: they are lost, and nothing behind them is seen.
    Drop,
}

/// How points lie in a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloudLayout {
    /// That of the Velodyne driver: x y z intensity ring time.
    #[default]
    Velodyne,
    /// That of the Ouster driver: x y z intensity t reflectivity ring ambient range.
    Ouster,
    /// Autoware's `PointXYZIRCAEDT`.
    Autoware,
}

impl LidarSpec {
    /// Reads the pattern that the file at `path` names, if it names one.
    ///
    /// # Errors
    /// When the pattern is refused, is not over within a scan's period or has too many beams.
    pub(crate) fn read_pattern(&mut self, path: &Path) -> Result<(), InputError> {
        let Some(pattern) = &mut self.scanner.pattern else { return Ok(()) };
        let folder = path.parent().unwrap_or(Path::new(""));
        pattern.read(folder, self.rate_hz, self.divergence.samples)
    }
}

fn usual_wavelength_nm() -> f64 {
    905.0
}

/// The length of a pulse of 3 ns, halved: light goes there and back.
fn usual_resolution_m() -> f64 {
    0.45
}

/// A garde check: finite and beyond the nearest return, or there would be none at all.
fn farther_than(min_range_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |max_range_m, ()| {
        if max_range_m.is_finite() && *max_range_m > min_range_m {
            return Ok(());
        }
        let allowed = format!("must be more than min_range_m ({min_range_m}) and finite");
        Err(garde::Error::new(format!("value {max_range_m} is not allowed: {allowed}")))
    }
}

/// A garde check: what is detected is not saturated at once.
fn above_threshold(saturation: &f64, (): &()) -> garde::Result {
    if saturation.is_finite() && *saturation > 1.0 {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {saturation} is not allowed: must be more than 1 and finite")))
}

/// A garde check: Autoware's points have one byte for the intensity, which a raw one would leave.
fn holds(intensity: IntensityScale) -> impl FnOnce(&CloudLayout, &()) -> garde::Result {
    move |layout, ()| match (layout, intensity) {
        (CloudLayout::Autoware, IntensityScale::Raw) => Err(garde::Error::new(
            "value autoware is not allowed: its intensity is one byte; with raw use another layout",
        )),
        _ => Ok(()),
    }
}

/// A garde check: images need rows and columns.
fn has_columns(scanner: &ScannerSpec) -> impl FnOnce(&bool, &()) -> garde::Result {
    let is_grid = scanner.is_grid();
    move |images, ()| {
        if *images && !is_grid {
            return Err(garde::Error::new("value true is not allowed: only spinning, raster and flash have columns"));
        }
        Ok(())
    }
}

/// A garde check: one of a spinning lidar's rings.
fn is_ring(scanner: &ScannerSpec) -> impl FnOnce(&Option<u16>, &()) -> garde::Result {
    let rings = scanner.spinning.as_ref().map_or(0, |spinning| spinning.channels.count());
    move |ring, ()| match (ring, rings) {
        (None, _) => Ok(()),
        (Some(ring), 0) => {
            Err(garde::Error::new(format!("value {ring} is not allowed: only spinning lidars have planar scans")))
        }
        (Some(ring), rings) if usize::from(*ring) < rings => Ok(()),
        (Some(ring), rings) => {
            Err(garde::Error::new(format!("value {ring} is not allowed: must be 0 to {}", rings - 1)))
        }
    }
}

//! A lidar's YAML spec: scan pattern, beam, choice of returns, errors and layout of the published cloud.

use std::path::Path;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::InputError;
use selene_base::input::{non_negative, positive, within};
use selene_scene::Reports;
use serde::Deserialize;

use super::dead_sector::DeadSector;
use super::divergence::DivergenceSpec;
use super::scanner::{ScannerSpec, fits, one_scanner, served};
use crate::augment::{Augments, DataType, fits as row_fits};
use crate::spec::{lag, rate, ros_name};
use crate::{PlacementSpec, SensorQos};

/// A lidar of a rover.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct LidarSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The frame it measures in: x forward, z up and, for spinning lidars, along their axis; with `mount`, the link
    /// that carries it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Where it sits on that link; left out, its frame is the link's.
    #[serde(default)]
    #[garde(dive)]
    pub mount: Option<PlacementSpec>,
    /// Scan rate, Hz.
    #[garde(custom(rate), custom(served(&self.scanner)))]
    pub rate_hz: f64,
    /// Delay from the end of a scan to its publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topics.
    #[garde(skip)]
    pub qos: SensorQos,
    /// The device that traces its scans: `cpu`, `gpu` (the best), `gpu:1` (by number) or a part of an adapter's name;
    /// left out, the device of the program's options.
    #[serde(default)]
    #[garde(inner(length(min = 1)))]
    pub device: Option<String>,
    /// Stages that the clouds pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(row_fits(DataType::PointCloud, self.rate_hz)))]
    pub stages: Augments,
    /// Directions and times of its beams.
    #[garde(dive, custom(one_scanner), custom(fits(self.rate_hz, self.divergence.samples)))]
    pub scanner: ScannerSpec,
    /// Least range, m; nearer returns are left out.
    #[garde(custom(non_negative))]
    pub min_range_m: f64,
    /// Greatest range, m, above `min_range_m`; farther returns are left out.
    #[garde(custom(farther_than(self.min_range_m)))]
    pub max_range_m: f64,
    /// Range at which a facing target of 10 % reflectance that fills the beam is just detected, m, 0.001 to 1e6.
    #[garde(custom(within(1e-3, 1e6)))]
    pub range_at_10_percent_m: f64,
    /// Wavelength of the laser, nm, 550 to 1550: selects the reflectance of materials.
    #[garde(custom(within(550.0, 1550.0)))]
    #[serde(default = "usual_wavelength_nm")]
    pub wavelength_nm: f64,
    /// Width of a beam.
    #[garde(dive)]
    #[serde(default)]
    pub divergence: DivergenceSpec,
    /// Which of a beam's returns are published.
    #[garde(skip)]
    #[serde(default)]
    pub returns: ReturnMode,
    /// Surfaces along a beam that are closer together than this give one return, m.
    #[garde(custom(positive))]
    #[serde(default = "usual_resolution_m")]
    pub range_resolution_m: f64,
    /// Meaning of the field `intensity`.
    #[garde(skip)]
    #[serde(default)]
    pub intensity: IntensityScale,
    /// Saturation signal, in multiples of the detection threshold: stronger signals are clipped to it; left out, the
    /// detector never saturates.
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
    /// Relative standard deviation of the intensity, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub intensity_sigma: f64,
    /// Windows of directions in which nothing is measured.
    #[garde(dive)]
    #[serde(default)]
    pub dead_sectors: Vec<DeadSector>,
    /// Whether returns from the rover that carries it are published.
    #[garde(skip)]
    #[serde(default)]
    pub self_hits: SelfHits,
    /// Fields of a point in the published cloud.
    #[garde(custom(holds(self.intensity)))]
    #[serde(default)]
    pub layout: CloudLayout,
    /// Whether each point also has its true class, instance and range.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
    /// Whether range and intensity are also published as images; only for scanners with rows and columns.
    #[garde(custom(has_columns(&self.scanner)))]
    #[serde(default)]
    pub images: bool,
    /// The ring, counted from the lowest up, that is also published as a planar scan; only for spinning lidars.
    #[garde(custom(is_ring(&self.scanner)))]
    #[serde(default)]
    pub scan_ring: Option<u16>,
}

impl From<ReturnMode> for Reports {
    fn from(mode: ReturnMode) -> Self {
        match mode {
            ReturnMode::Strongest => Self::Strongest,
            ReturnMode::First => Self::First,
            ReturnMode::Last => Self::Last,
            ReturnMode::Dual => Self::Dual,
            ReturnMode::Mean => Self::Mean,
        }
    }
}

/// Which of a beam's returns are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReturnMode {
    /// The return with the strongest signal.
    #[default]
    Strongest,
    /// The nearest return.
    First,
    /// The farthest return.
    Last,
    /// The strongest and the last; if they are the same, the strongest and the second strongest.
    Dual,
    /// One return at the mean range of all, weighted by their signals.
    Mean,
}

/// Meaning of the field `intensity`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntensityScale {
    /// Reflectivity in whole numbers 0 to 255, corrected for range: 100 is a facing white surface that fills the
    /// beam, as on Velodyne and Ouster lidars.
    #[default]
    Calibrated,
    /// The signal divided by the detection threshold.
    Raw,
}

/// Whether returns from the rover that carries a lidar are published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelfHits {
    /// Published as all other returns.
    #[default]
    Keep,
    /// Left out; surfaces behind the rover's parts remain hidden.
    Drop,
}

/// Fields of a point in the published cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloudLayout {
    /// The Velodyne driver's: x y z intensity ring time.
    #[default]
    Velodyne,
    /// The Ouster driver's: x y z intensity t reflectivity ring ambient range.
    Ouster,
    /// Autoware's `PointXYZIRCAEDT`.
    Autoware,
}

impl LidarSpec {
    /// Reads the pattern file named in the sensor file at `path`, if there is one.
    ///
    /// # Errors
    /// When the pattern is invalid, does not end within a scan's period or has too many beams.
    pub(crate) fn read_pattern(&mut self, path: &Path) -> Result<(), InputError> {
        let Some(pattern) = &mut self.scanner.pattern else { return Ok(()) };
        let folder = path.parent().unwrap_or(Path::new(""));
        pattern.read(folder, self.rate_hz, self.divergence.samples)
    }
}

fn usual_wavelength_nm() -> f64 {
    905.0
}

/// Half the length of a pulse of 3 ns, because light travels there and back.
fn usual_resolution_m() -> f64 {
    0.45
}

/// A garde check: finite and above the least range.
fn farther_than(min_range_m: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |max_range_m, ()| {
        if max_range_m.is_finite() && *max_range_m > min_range_m {
            return Ok(());
        }
        let allowed = format!("must be more than min_range_m ({min_range_m}) and finite");
        Err(garde::Error::new(format!("value {max_range_m} is not allowed: {allowed}")))
    }
}

/// A garde check: saturation above the detection threshold.
fn above_threshold(saturation: &f64, (): &()) -> garde::Result {
    if saturation.is_finite() && *saturation > 1.0 {
        return Ok(());
    }
    Err(garde::Error::new(format!("value {saturation} is not allowed: must be more than 1 and finite")))
}

/// A garde check: Autoware's points have one byte for the intensity, which a raw intensity would exceed.
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

/// A garde check: an existing ring of a spinning lidar.
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

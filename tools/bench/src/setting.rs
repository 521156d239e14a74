//! Inputs of the benchmarks: the configuration, the program, the transport.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_crm::SoilDevice;
use selene_ros::transport::Transport;
use selene_scene::Tracer;
use selene_sim::{LoadOptions, Scenario};
use selene_soil::{Soils, SoilsSpec};
use selene_spheres::SpheresDevice;

use crate::BenchError;

const NO_GPU: &str = "no GPU and no software Vulkan device found";

/// Opens a transport for a participant with this name.
pub type OpenWire = dyn Fn(&str) -> Result<Arc<dyn Transport>, BenchError>;

/// Opens a machine's best GPU, or a software device; `None` if it has neither.
pub type OpenGpu = dyn Fn() -> Result<Option<Box<dyn Tracer>>, BenchError>;

/// Opens a machine's best GPU, or a software device, for granular soil; `None` if it has neither.
pub type OpenSoilDevice = dyn Fn() -> Result<Option<SoilDevice>, BenchError>;

/// The same for single grains.
pub type OpenSpheresDevice = dyn Fn() -> Result<Option<SpheresDevice>, BenchError>;

/// Inputs of the benchmarks.
pub struct Setting {
    /// Folder of the configuration.
    pub config: PathBuf,
    /// Folder of third-party data, if there is one.
    pub data: Option<PathBuf>,
    /// Path of the program to measure.
    pub program: PathBuf,
    /// Opens the transport to other processes.
    pub open_wire: Box<OpenWire>,
    /// Opens the GPU.
    pub open_gpu: Box<OpenGpu>,
    /// Opens the GPU for granular soil.
    pub open_soil_device: Box<OpenSoilDevice>,
    /// Opens the GPU for single grains.
    pub open_spheres_device: Box<OpenSpheresDevice>,
    /// Whether there is a GPU in hardware. Without one, its figures are measured only if they are named.
    pub has_gpu: Box<dyn Fn() -> bool>,
}

impl Setting {
    /// Loads a scenario of the configuration.
    pub(crate) fn scenario(&self, name: &str) -> Result<Scenario, BenchError> {
        let file = self.config.join(format!("scenario/{name}.yaml"));
        let options = LoadOptions { data_dir: self.data.clone(), ..LoadOptions::default() };
        Scenario::load(&file, &options).map_err(BenchError::new)
    }

    /// The GPU.
    pub(crate) fn gpu(&self) -> Result<Box<dyn Tracer>, BenchError> {
        (self.open_gpu)()?.ok_or_else(|| BenchError::new(NO_GPU))
    }

    /// The GPU, for granular soil.
    pub(crate) fn soil_device(&self) -> Result<SoilDevice, BenchError> {
        (self.open_soil_device)()?.ok_or_else(|| BenchError::new(NO_GPU))
    }

    /// The GPU, for single grains.
    pub(crate) fn spheres_device(&self) -> Result<SpheresDevice, BenchError> {
        (self.open_spheres_device)()?.ok_or_else(|| BenchError::new(NO_GPU))
    }

    /// Loads a soil of the configuration, used everywhere.
    pub(crate) fn soils(&self, name: &str) -> Result<Soils, BenchError> {
        let file = self.config.join(format!("soil/{name}.yaml"));
        Soils::load(&SoilsSpec::uniform(file), Path::new(""), 1).map_err(BenchError::new)
    }
}

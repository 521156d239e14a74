//! Selects devices: for granular soil the CPU unless asked otherwise; for rays a hardware GPU if there is one, else the
//! CPU, and those that sensors name. If a device fails while it traces, `selene_observe::Device` replaces it by the CPU.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use selene_gpu::GpuTracer;
use selene_observe::{Device, DeviceError, Devices};
use selene_sim::Model;
use selene_soil::GranularDevice;

use crate::args;
use crate::fault::Fault;

/// The open GPUs of this process: each is opened once.
static GPUS: Gpus = Gpus(Mutex::new(BTreeMap::new()));

/// Open GPUs by their index in `GpuTracer::adapters`. All scenes, and granular soil, share them.
struct Gpus(Mutex<BTreeMap<usize, OpenGpu>>);

/// An open GPU, for rays and for granular soil.
#[derive(Clone)]
struct OpenGpu {
    tracer: Arc<GpuTracer>,
    device: Device,
}

impl Gpus {
    /// The GPU of this index, opened if necessary.
    fn open(&self, number: usize) -> Result<OpenGpu, String> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = opened.get(&number) {
            return Ok(gpu.clone());
        }
        let tracer = GpuTracer::open_at(number).map_err(|error| error.to_string())?;
        let tracer = Arc::new(tracer.ok_or_else(|| format!("gpu:{number} is no longer there"))?);
        let for_scenes = Arc::clone(&tracer);
        let gpu = OpenGpu { tracer, device: Device::new(move || Box::new(for_scenes.for_another_scene())) };
        opened.insert(number, gpu.clone());
        Ok(gpu)
    }

    /// The device that a sensor names.
    fn named(&self, name: &str) -> Result<Device, DeviceError> {
        if name == "cpu" {
            return Ok(Device::cpu());
        }
        let adapters: Vec<String> = GpuTracer::adapters().into_iter().map(|(name, _)| name).collect();
        let number = number_of(name, &adapters).ok_or_else(|| refusal(name, &adapters))?;
        let opened = self.open(number).map_err(|why| DeviceError::Unusable { name: name.to_owned(), why })?;
        Ok(opened.device)
    }
}

/// The index of the adapter that a name selects: `gpu` is the first, `gpu:1` the second; any other text must be part of
/// the adapter's name, ignoring case.
fn number_of(name: &str, adapters: &[String]) -> Option<usize> {
    let number = match name.strip_prefix("gpu:") {
        Some(number) => number.parse().ok()?,
        None if name == "gpu" => 0,
        None => adapters.iter().position(|adapter| adapter.to_lowercase().contains(&name.to_lowercase()))?,
    };
    (number < adapters.len()).then_some(number)
}

fn refusal(name: &str, adapters: &[String]) -> DeviceError {
    let numbered = adapters.iter().enumerate().map(|(number, adapter)| format!("gpu:{number} ({adapter})"));
    DeviceError::Unknown { name: name.to_owned(), known: std::iter::once("cpu".to_owned()).chain(numbered).collect() }
}

/// Opens the device of `--device`; those that sensors name are opened on first use. `auto` falls back to the CPU, with
/// a warning if there is a GPU that cannot be used.
pub(crate) fn open(device: args::Device) -> Result<Devices, Fault> {
    let usual = match device {
        args::Device::Cpu => Device::cpu(),
        args::Device::Gpu => first_gpu().map_err(|what| refused("--device", &what))?.device,
        args::Device::Auto => real_gpu().unwrap_or_else(Device::cpu),
    };
    Ok(Devices::new(usual, |name| GPUS.named(name)))
}

/// Opens the device of `--soil-device`; `None` for the CPU.
pub(crate) fn open_for_soil(device: args::SoilDevice) -> Result<Option<GranularDevice>, Fault> {
    if device == args::SoilDevice::Cpu {
        return Ok(None);
    }
    granular_device().map(Some).map_err(|what| refused("--soil-device", &what))
}

fn granular_device() -> Result<GranularDevice, String> {
    let tracer = first_gpu()?.tracer;
    let points = tracer.soil_device().map_err(|error| error.to_string())?;
    let grains = tracer.spheres_device().map_err(|error| error.to_string())?;
    Ok(GranularDevice { points, grains })
}

/// The best GPU, or a software device.
fn first_gpu() -> Result<OpenGpu, String> {
    if GpuTracer::adapters().is_empty() {
        return Err("no GPU and no software Vulkan device found".to_owned());
    }
    GPUS.open(0)
}

fn refused(option: &str, what: &str) -> Fault {
    Fault::input(format!("{option} gpu: {what}; use {option} cpu"))
}

/// Refuses a world whose sensors name unknown devices.
pub(crate) fn check(devices: &Devices, model: &Model) -> Result<(), Fault> {
    check_cameras(devices, model).and_then(|()| check_lidars(devices, model))
}

/// Refuses a world whose cameras name unknown devices.
pub(crate) fn check_cameras(devices: &Devices, model: &Model) -> Result<(), Fault> {
    let cameras = model.rovers().values().flat_map(|kind| kind.setup().cameras());
    check_each(devices, cameras.map(|of| (of.spec.name.as_str(), of.spec.device.as_deref())))
}

/// Refuses a world whose lidars name unknown devices.
pub(crate) fn check_lidars(devices: &Devices, model: &Model) -> Result<(), Fault> {
    let lidars = model.rovers().values().flat_map(|kind| kind.setup().lidars());
    check_each(devices, lidars.map(|of| (of.spec.name.as_str(), of.spec.device.as_deref())))
}

/// Refuses the first sensor whose device is unknown.
fn check_each<'a>(
    devices: &Devices,
    mut sensors: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<(), Fault> {
    sensors.try_for_each(|(sensor, device)| match devices.named(device) {
        Ok(_) => Ok(()),
        Err(what) => Err(Fault::input(format!("sensor {sensor}: {what}"))),
    })
}

/// Whether this machine has a GPU in hardware.
pub(crate) fn has_gpu() -> bool {
    may_have_gpu() && GpuTracer::adapters().first().is_some_and(|(_, is_software)| !is_software)
}

fn real_gpu() -> Option<Device> {
    if !has_gpu() {
        return None;
    }
    match GPUS.open(0) {
        Ok(opened) => Some(opened.device),
        Err(error) => {
            tracing::warn!("a GPU is there but is not used: {error}");
            None
        }
    }
}

/// Whether the system lists any graphics device. This check is quick; asking a Vulkan loader takes longer, and drivers
/// then print to standard error.
#[cfg(target_os = "linux")]
fn may_have_gpu() -> bool {
    let render_node = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("renderD");
    let listed = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten().any(render_node);
    listed || ["/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg"].iter().any(|path| std::path::Path::new(path).exists())
}

#[cfg(not(target_os = "linux"))]
fn may_have_gpu() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::{number_of, refusal};

    #[test]
    fn devices_are_named_by_number_or_by_a_part_of_their_names() {
        let adapters = ["NVIDIA H100 (nvidia, Vulkan)", "llvmpipe (llvmpipe, Vulkan)"].map(str::to_owned);
        let number = |name: &str| number_of(name, &adapters);
        assert_eq!(["gpu", "gpu:1", "h100", "LLVM"].map(number), [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(["gpu:2", "gpu:x", "gpu:", "radeon"].map(number), [None; 4]);
        let reported = refusal("radeon", &adapters).to_string();
        assert!(
            ["'radeon'", "cpu, gpu:0 (NVIDIA", "gpu:1 (llvmpipe"].iter().all(|part| reported.contains(part)),
            "{reported}"
        );
    }
}

//! Which device traces rays: a real GPU where there is one, else the CPU. A device that fails
//! later is replaced by the CPU where it traces (`selene_observe::Device`).

use selene_gpu::GpuTracer;
use selene_observe::Device;

use crate::args;
use crate::fault::Fault;

/// Opens the device asked for. The choice `auto` falls back to the CPU, with a
/// warning when a GPU is there but cannot be used.
pub(crate) fn open(device: args::Device) -> Result<Device, Fault> {
    match device {
        args::Device::Cpu => Ok(Device::cpu()),
        args::Device::Gpu => match GpuTracer::open(true) {
            Ok(Some(tracer)) => Ok(shared(tracer)),
            Ok(None) => Err(Fault::input("--device gpu: no GPU and no software Vulkan device found; use --device cpu")),
            Err(error) => Err(Fault::input(format!("--device gpu: {error}; use --device cpu"))),
        },
        args::Device::Auto => Ok(real_gpu().unwrap_or_else(Device::cpu)),
    }
}

/// All scenes of the process are traced on one GPU.
fn shared(tracer: GpuTracer) -> Device {
    Device::new(move || Box::new(tracer.for_another_scene()))
}

fn real_gpu() -> Option<Device> {
    if !may_have_gpu() {
        return None;
    }
    match GpuTracer::open(false) {
        Ok(tracer) => tracer.map(shared),
        Err(error) => {
            tracing::warn!("a GPU is there but is not used: {error}");
            None
        }
    }
}

/// Whether the system lists a graphics device at all. Looking is quick; starting a
/// Vulkan loader to be told the same takes a while, and drivers then talk on
/// standard error.
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

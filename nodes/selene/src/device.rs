//! Which device traces rays: a real GPU where there is one, else the CPU. A device that fails
//! later is replaced by the CPU where it traces (`selene_coherence::EngineRoom`).

use selene_gpu::GpuTracer;
use selene_scene::{CpuTracer, Tracer};

use crate::args::Device;
use crate::fault::Fault;

/// Opens the device asked for. The choice `auto` falls back to the CPU, with a
/// warning when a GPU is there but cannot be used.
pub(crate) fn open(device: Device) -> Result<Box<dyn Tracer>, Fault> {
    match device {
        Device::Cpu => Ok(Box::new(CpuTracer)),
        Device::Gpu => match GpuTracer::open(true) {
            Ok(Some(tracer)) => Ok(Box::new(tracer)),
            Ok(None) => Err(Fault::input("--device gpu: no GPU and no software Vulkan device found; use --device cpu")),
            Err(error) => Err(Fault::input(format!("--device gpu: {error}; use --device cpu"))),
        },
        Device::Auto => Ok(real_gpu().unwrap_or_else(|| Box::new(CpuTracer))),
    }
}

fn real_gpu() -> Option<Box<dyn Tracer>> {
    if !may_have_gpu() {
        return None;
    }
    match GpuTracer::open(false) {
        Ok(tracer) => tracer.map(|tracer| Box::new(tracer) as Box<dyn Tracer>),
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

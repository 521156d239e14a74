//! `selene bench`: measures performance figures and prints each with its required value.

use selene_bench::{BenchError, Figure, OpenGpu, OpenSoilDevice, OpenSpheresDevice, OpenWire, Setting, measure};
use selene_crm::SoilDevice;
use selene_gpu::GpuTracer;
use selene_scene::Tracer;
use selene_spheres::SpheresDevice;

use crate::args::{BenchArgs, NetworkArgs};
use crate::device;
use crate::fault::Fault;
use crate::middleware::Network;
use crate::output::print_line;
use crate::places;
use crate::remap::Names;
use crate::verbosity::Verbosity;

/// Measures the figures and prints them.
pub(crate) fn bench(args: &BenchArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let network = Network::requested(&NetworkArgs::default())?;
    let open_wire: Box<OpenWire> = Box::new(move |name| {
        network.join(&Names::plain(name)).map_err(|_| BenchError::new("the network cannot be opened"))
    });
    let program = std::env::current_exe().map_err(|e| Fault::run(format!("this program is not found: {e}")))?;
    let open_gpu: Box<OpenGpu> = Box::new(move || open_gpu(verbosity));
    let open_soil_device: Box<OpenSoilDevice> = Box::new(open_soil_device);
    let open_spheres_device: Box<OpenSpheresDevice> = Box::new(open_spheres_device);
    let (config, data, has_gpu) = (places::config_dir()?, places::data_dir(None)?, Box::new(device::has_gpu));
    let setting =
        Setting { config, data, program, open_wire, open_gpu, open_soil_device, open_spheres_device, has_gpu };
    let report = |figure: &Figure| {
        if !args.json {
            print_line(figure.line());
        }
    };
    let figures =
        measure(&args.names, &setting, |name| verbosity.note(format_args!("{name} …")), report).map_err(fault)?;
    if args.json {
        print_line(serde_json::to_string_pretty(&figures).map_err(Fault::run)?);
    }
    Ok(())
}

/// Opens the best GPU, or software device, and says which.
fn open_gpu(verbosity: Verbosity) -> Result<Option<Box<dyn Tracer>>, BenchError> {
    let opened = GpuTracer::open(true).map_err(BenchError::new)?;
    Ok(opened.map(|gpu| -> Box<dyn Tracer> {
        verbosity.note(format_args!("on {}", gpu.device()));
        Box::new(gpu)
    }))
}

/// The same for granular soil.
fn open_soil_device() -> Result<Option<SoilDevice>, BenchError> {
    let opened = GpuTracer::open(true).map_err(BenchError::new)?;
    opened.map(|gpu| gpu.soil_device()).transpose().map_err(BenchError::new)
}

/// The same for single grains.
fn open_spheres_device() -> Result<Option<SpheresDevice>, BenchError> {
    let opened = GpuTracer::open(true).map_err(BenchError::new)?;
    opened.map(|gpu| gpu.spheres_device()).transpose().map_err(BenchError::new)
}

fn fault(error: BenchError) -> Fault {
    match error {
        BenchError::Unknown { .. } => Fault::input(error),
        BenchError::Failed(_) => Fault::run(error),
    }
}

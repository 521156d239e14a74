//! Tells how fast each device traces a site:
//! `cargo run --release -p selene-gpu --example speed -- config/site/polar.yaml`.

#[path = "../../scene/tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use selene_base::input::load_yaml;
use selene_gpu::GpuTracer;
use selene_scene::{CameraFrame, CpuTracer, Scene, Tracer};
use selene_terrain::{Ground, SiteSpec};

/// Frames that the speed is averaged over.
const FRAMES: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let site = std::env::args().nth(1).ok_or("usage: speed SITE")?;
    let spec: SiteSpec = load_yaml(Path::new(&site))?;
    let data_dir = std::env::var_os("SELENE_DATA");
    let ground = Ground::generate(&spec, Path::new(&site), data_dir.as_ref().map(Path::new), 1)?;
    let scene = Scene::new(&ground, common::sun(0.09, 0.9));
    let eye = ground.height_m(0.0, 0.0).unwrap_or(0.0) + 1.6;
    let view = common::look([0.0, 0.0, eye], [10.0, 0.5, eye - 2.0], 640, 360);
    measure(&mut CpuTracer, &scene, &view)?;
    match GpuTracer::open(true)? {
        Some(mut gpu) => measure(&mut gpu, &scene, &view),
        None => Err("no Vulkan, Metal or DX12 device".into()),
    }
}

fn measure(tracer: &mut dyn Tracer, scene: &Scene, view: &selene_scene::CameraView) -> Result<(), Box<dyn Error>> {
    let mut frame = CameraFrame::default();
    let start = Instant::now();
    tracer.camera(scene, view, &mut frame)?;
    let first = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for _ in 0..FRAMES {
        tracer.camera(scene, view, &mut frame)?;
    }
    let seconds = start.elapsed().as_secs_f64() / f64::from(FRAMES);
    println!("{}: first {:.0} ms, then {:.1} ms a frame", tracer.device(), first * 1e3, seconds * 1e3);
    Ok(())
}

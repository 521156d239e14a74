//! Renders a site with the CPU tracer and tells how fast:
//! `cargo run --release -p selene-scene --example snapshot -- config/site/polar.yaml out.png [SUN_DEG [SUN_SAMPLES [BOUNCE_RAYS [LAMPS_W]]]]`.
//! With the Sun below the horizon and some watts the picture is lit by two headlights.

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::input::load_yaml;
use selene_scene::{
    CameraFrame, CameraView, Class, Colour, CpuTracer, Earth, Flux, Lamp, LightSampling, Material, PrincipledParams,
    Profile, Scene, Tracer, panchromatic, primitives,
};
use selene_terrain::{Ground, SiteSpec};

/// Frames that the speed is averaged over.
const FRAMES: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [site, out, rest @ ..] = arguments.as_slice() else {
        return Err("usage: snapshot SITE OUT [SUN_DEG [SUN_SAMPLES [BOUNCE_RAYS [LAMPS_W]]]]".into());
    };
    let elevation_deg: f64 = rest.first().map_or(Ok(5.0), |text| text.parse())?;
    let mut light = LightSampling::default();
    light.sun_samples = rest.get(1).map_or(Ok(light.sun_samples), |text| text.parse())?;
    light.bounce_rays = rest.get(2).map_or(Ok(light.bounce_rays), |text| text.parse())?;
    let lamps_w: f64 = rest.get(3).map_or(Ok(0.0), |text| text.parse())?;
    let data_dir = std::env::var_os("SELENE_DATA");
    let spec: SiteSpec = load_yaml(Path::new(site))?;
    let ground = Ground::generate(&spec, Path::new(site), data_dir.as_ref().map(Path::new), 1)?;
    let start = Instant::now();
    let mut scene = Scene::new(&ground, common::sun(elevation_deg.to_radians(), 0.9));
    scene.set_earth(Some(earth()));
    scene.set_surface(&spec);
    println!("scene built in {:.3} s, {} rocks", start.elapsed().as_secs_f64(), ground.rocks().len());
    add_rover(&mut scene, ground.height_m(4.0, 1.0).unwrap_or(0.0))?;
    let eye = ground.height_m(0.0, 0.0).unwrap_or(0.0) + 1.6;
    scene.set_lamps([-0.33, 0.33].map(|side| headlight(side, eye, lamps_w)).to_vec())?;
    let view = CameraView { light, ..common::look([0.0, 0.0, eye], [10.0, 0.5, eye - 2.0], 640, 360) };
    let mut frame = CameraFrame::default();
    let mut tracer = CpuTracer;
    tracer.camera(&scene, &view, &mut frame)?;
    let start = Instant::now();
    for _ in 0..FRAMES {
        tracer.camera(&scene, &view, &mut frame)?;
    }
    let seconds = start.elapsed().as_secs_f64() / f64::from(FRAMES);
    println!("{}: {:.1} ms a frame, {light:?}", tracer.device(), seconds * 1e3);
    save(&frame, out)
}

/// A half Earth low in the picture; its light shows with the Sun below the horizon.
fn earth() -> Earth {
    let direction = common::sun(0.12, 0.2).direction_to_sun;
    Earth {
        direction_to_earth: direction,
        irradiance_w_m2: 0.05,
        angular_radius_rad: 0.0166,
        sun_from_earth: direction.cross(&Vector3::z()).normalize(),
    }
}

/// A white headlight beside the camera, aimed as it is.
fn headlight(side_m: f64, eye_m: f64, flux_w: f64) -> Lamp {
    let turn = nalgebra::UnitQuaternion::from_euler_angles(0.0, 0.2, 0.05);
    Lamp {
        world_from_lamp: Pose::from_parts(Vector3::new(0.0, side_m, eye_m).into(), turn),
        flux_w: Flux::Radiant(flux_w).bands_w(Colour::Temperature(5000.0)),
        profile: Profile { inner_rad: 0.1, outer_rad: 0.6, falloff: 2.5 },
        size_m: [0.06, 0.06],
    }
}

/// A box on four wheels.
fn add_rover(scene: &mut Scene, ground_m: f64) -> Result<(), Box<dyn Error>> {
    let foil = PrincipledParams { base: [0.8, 0.58, 0.22], metallic: 0.9, roughness: 0.35, specular: 0.5 };
    let material = Material::Principled(foil);
    let body = scene.add_mesh(&primitives::cuboid([1.2, 0.9, 0.5]))?;
    let wheel = scene.add_mesh(&primitives::cylinder(0.25, 0.2))?;
    let at = |x: f64, y: f64, z: f64| Pose::translation(4.0 + x, 1.0 + y, ground_m + z);
    scene.add_instance(body, &at(0.0, 0.0, 0.75), Class::Rover, &material)?;
    for (x, y) in [(0.6, 0.6), (0.6, -0.6), (-0.6, 0.6), (-0.6, -0.6)] {
        let upright = nalgebra::UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
        scene.add_instance(wheel, &(at(x, y, 0.25) * upright), Class::Rover, &material)?;
    }
    Ok(())
}

/// Writes the colours with a gamma of 2.2, the brightest percent white.
fn save(frame: &CameraFrame, path: &str) -> Result<(), Box<dyn Error>> {
    let mut sorted: Vec<f32> = frame.radiance.iter().map(|&bands| panchromatic(bands) / 3.0).collect();
    sorted.sort_by(f32::total_cmp);
    let white = sorted[sorted.len() * 99 / 100].max(1e-6);
    let byte = |&r: &f32| ((r / white).min(1.0).powf(1.0 / 2.2) * 255.0) as u8;
    let pixels = frame.radiance.iter().flatten().map(byte).collect();
    let image = image::RgbImage::from_raw(frame.width, frame.height, pixels).ok_or("image size")?;
    image.save(path)?;
    Ok(())
}

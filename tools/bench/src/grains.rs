//! Rendering of grains: a heap of a million, or on a GPU ten million, on level ground with slopes of 30°, under a low Sun
//! that is a disc. The small heap is lit as by default in a camera's file, with light off the ground; the large one by the
//! Sun alone. The camera's distance is in proportion to the heap, two and a half metres for the small one.

use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::random::{RngExt, stream};
use selene_scene::{CameraView, CpuTracer, Grain, HapkeParams, Heap, LightSampling, Material, Scene, Sun, Tracer};
use selene_terrain::Clipmap;

use crate::BenchError;
use crate::rays;
use crate::setting::Setting;

/// Size of the small heap.
const GRAINS: usize = 1_000_000;
/// How many times as large the heap on a GPU is.
const LARGER: usize = 10;
/// Distance between grains of loose soil, relative to their diameter.
const SPACING_OVER_DIAMETER: f64 = 1.05;
const RADIUS_M: f64 = 0.005;
const SLOPE: f64 = 0.577;

/// Images of the small heap per second on the CPU, of 640 × 360 pixels.
pub(crate) fn frames_per_s() -> Result<f64, BenchError> {
    measure(&mut CpuTracer, GRAINS, [640, 360], LightSampling::default())
}

/// Images of the large heap per second on the GPU, of 1280 × 720 pixels.
pub(crate) fn gpu_frames_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let shadows = LightSampling { bounce_rays: 0, ..LightSampling::default() };
    measure(setting.gpu()?.as_mut(), LARGER * GRAINS, [1280, 720], shadows)
}

fn measure(tracer: &mut dyn Tracer, grains: usize, size: [u32; 2], light: LightSampling) -> Result<f64, BenchError> {
    let scene = scene(grains)?;
    let view = CameraView { light, ..view(grains, size) };
    rays::images_per_s(tracer, &scene, &[view])
}

fn scene(grains: usize) -> Result<Scene, BenchError> {
    let direction_to_sun = Vector3::new(-0.3, -0.9, 0.35).normalize();
    let sun = Sun { direction_to_sun, irradiance_w_m2: 1361.0, angular_radius_rad: 0.00465 };
    let mut scene = Scene::new(&Clipmap::flat(0.02, 20.0), sun);
    let material = Material::Hapke(HapkeParams::REGOLITH);
    let heap = Heap { world_from_heap: Pose::identity(), grains: heap(grains).into(), material };
    scene.set_heaps(vec![heap]).map_err(BenchError::new)?;
    Ok(scene)
}

/// A cone of grains near the points of a lattice, from the bottom up.
fn heap(count: usize) -> Vec<Grain> {
    let spacing_m = 2.0 * RADIUS_M * SPACING_OVER_DIAMETER;
    // A cone of the slope has a volume of π/3 · slope · radius³.
    let side = count as f64 * spacing_m.powi(3) * 3.0 / (std::f64::consts::PI * SLOPE);
    let radius_m = side.cbrt();
    let steps = (radius_m / spacing_m).ceil() as i32;
    let mut chance = stream(1, "heap");
    let mut aside = move || 0.4 * spacing_m * (chance.random::<f64>() - 0.5);
    let mut grains = Vec::with_capacity(count + count / 10);
    for (k, j, i) in lattice(steps) {
        let [x, y, z] = [i, j, k].map(|step| f64::from(step) * spacing_m);
        if x.hypot(y) + z / SLOPE <= radius_m {
            let centre_m = [x + aside(), y + aside(), RADIUS_M + z + aside()].map(|m| m as f32);
            grains.push(Grain { centre_m, radius_m: RADIUS_M as f32, faces: 0 });
        }
    }
    grains
}

fn lattice(steps: i32) -> impl Iterator<Item = (i32, i32, i32)> {
    let plane = move |k| (-steps..=steps).flat_map(move |j| (-steps..=steps).map(move |i| (k, j, i)));
    (0..=steps).flat_map(plane)
}

fn view(grains: usize, size: [u32; 2]) -> CameraView {
    let scale = (grains as f64 / GRAINS as f64).cbrt();
    let eye = scale * Vector3::new(-2.2, -0.6, 1.1);
    let forward = (scale * Vector3::new(0.0, 0.0, 0.25) - eye).normalize();
    let right = forward.cross(&Vector3::z()).normalize();
    let rotation = Rotation3::from_basis_unchecked(&[right, forward.cross(&right), forward]);
    let pose = Pose::from_parts(eye.into(), UnitQuaternion::from_rotation_matrix(&rotation));
    CameraView::pinhole(pose, size, 70f64.to_radians())
}

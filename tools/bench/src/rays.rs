//! Rays per second: the default scenario's first camera at positions along the route over the default site,
//! with a point-like Sun and no scattering, so each pixel is a camera ray, plus a shadow ray where it hits something.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_observe::{Feed, History, TracedScene};
use selene_scene::{CameraFrame, CameraView, Class, CpuTracer, LightSampling, Scene, Tracer};
use selene_sensors::CameraSpec;
use selene_sim::{Model, RoverSetup, RoverSnapshot, Scenario, World};
use selene_terrain::{Clipmap, Ruts, Terrain};

use crate::BenchError;
use crate::physics::ROVER;
use crate::setting::Setting;

/// Number of positions along the route.
const VIEWS: usize = 12;
/// Least duration of the measurement.
const MEASURED: Duration = Duration::from_secs(4);

/// Views of a camera along a route.
pub(crate) struct RouteViews {
    pub(crate) scene: TracedScene,
    pub(crate) spec: CameraSpec,
    pub(crate) views: Vec<CameraView>,
}

/// Camera and shadow rays per second on level ground with a single grid, from the same positions, on the CPU.
pub(crate) fn flat_rays_per_s(setting: &Setting) -> Result<f64, BenchError> {
    measure(setting, &mut CpuTracer, Some(Terrain::flat(0.02, 61.44)), 1)
}

/// Camera and shadow rays per second on the CPU.
pub(crate) fn rays_per_s(setting: &Setting) -> Result<f64, BenchError> {
    measure(setting, &mut CpuTracer, None, 1)
}

/// The same on the GPU, with images of twice the width and height.
pub(crate) fn gpu_rays_per_s(setting: &Setting) -> Result<f64, BenchError> {
    measure(setting, setting.gpu()?.as_mut(), None, 2)
}

/// Measures on `terrain`, or on the ground of the default scenario, with images of `finer` times the width and height.
fn measure(
    setting: &Setting,
    tracer: &mut dyn Tracer,
    terrain: Option<Terrain>,
    finer: u32,
) -> Result<f64, BenchError> {
    let RouteViews { scene, views, .. } = set_up(setting, terrain)?;
    let point = |view: CameraView| CameraView {
        light: LightSampling::POINT,
        ..view.resized([view.width * finer, view.height * finer])
    };
    let views: Vec<_> = views.into_iter().map(point).collect();
    trace(tracer, scene.scene(), &views)
}

/// The scene, the default scenario's first camera and its views along the route, with light sampled as in the camera's
/// file.
pub(crate) fn set_up(setting: &Setting, terrain: Option<Terrain>) -> Result<RouteViews, BenchError> {
    let scenario = setting.scenario("polar")?;
    let terrain = terrain.map_or_else(|| scenario.terrain(), Ok).map_err(BenchError::new)?;
    let model = Arc::new(Model::on(Arc::new(scenario), terrain).map_err(BenchError::new)?);
    let mut world = World::begin(Arc::clone(&model), None).map_err(BenchError::new)?;
    let feed = Feed::begin(&mut world).map_err(BenchError::new)?;
    let mut scene = TracedScene::new(&model, ROVER, feed.last(), &Ruts::default()).map_err(BenchError::new)?;
    let mut history = History::new(SimTime::ZERO);
    history.push(Arc::clone(feed.last()));
    scene.move_to(&history, SimTime::ZERO).map_err(BenchError::new)?;
    let rover = feed.last().rover(ROVER).ok_or_else(|| BenchError::new("the default scenario has no rover"))?;
    let camera = model.scenario().rovers[0].cameras().next();
    let camera = camera.ok_or_else(|| BenchError::new("the default scenario has no camera"))?;
    let views = views(model.scenario(), scene.clipmap(), rover, camera.spec, camera.link);
    Ok(RouteViews { spec: camera.spec.clone(), views, scene })
}

fn trace(tracer: &mut dyn Tracer, scene: &Scene, views: &[CameraView]) -> Result<f64, BenchError> {
    let mut frame = CameraFrame::default();
    let mut rays = 0;
    for view in views {
        tracer.camera(scene, view, &mut frame).map_err(BenchError::new)?;
        let met = frame.class.iter().filter(|code| **code != Class::Sky as u16).count();
        rays += frame.class.len() + met;
    }
    Ok(rays as f64 / views.len() as f64 * images_per_s(tracer, scene, views)?)
}

/// Traced images per second, of each view in turn; not developed.
pub(crate) fn images_per_s(tracer: &mut dyn Tracer, scene: &Scene, views: &[CameraView]) -> Result<f64, BenchError> {
    let mut frame = CameraFrame::default();
    let mut all = || views.iter().try_for_each(|view| tracer.camera(scene, view, &mut frame)).map_err(BenchError::new);
    // The first image is preceded by the copy of the scene to the device and the compilation of its kernel.
    all()?;
    let (mut rounds, begun) = (0, Instant::now());
    while begun.elapsed() < MEASURED {
        all()?;
        rounds += 1;
    }
    Ok((rounds * views.len()) as f64 / begun.elapsed().as_secs_f64())
}

/// The camera's views from positions along the route, at the same height above the ground as at the rover's start.
fn views(
    scenario: &Scenario,
    clipmap: &Clipmap,
    rover: &RoverSnapshot,
    spec: &CameraSpec,
    link: usize,
) -> Vec<CameraView> {
    let world_from_base = rover.world_from_base();
    let base_from_camera = world_from_base.inverse() * rover.world_from_links[link];
    let soil_m = |x: f64, y: f64| clipmap.height_m(x, y).unwrap_or(0.0);
    let setup = &scenario.rovers[0];
    let base_m = world_from_base.translation.z - soil_m(setup.start.x_m, setup.start.y_m);
    let view = |(x, y, yaw_rad): (f64, f64, f64)| {
        let heading = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        let world_from_base = Pose::from_parts(Vector3::new(x, y, soil_m(x, y) + base_m).into(), heading);
        spec.view(world_from_base * base_from_camera)
    };
    poses(setup).into_iter().map(view).collect()
}

/// Positions and headings evenly along the route's legs: x, y [m], yaw [rad].
fn poses(setup: &RoverSetup) -> Vec<(f64, f64, f64)> {
    let start = setup.start;
    let waypoints = setup.route.iter().flat_map(|route| route.waypoints_m.iter().copied());
    let points: Vec<[f64; 2]> = std::iter::once([start.x_m, start.y_m]).chain(waypoints).collect();
    let legs: Vec<_> = points.windows(2).collect();
    if legs.is_empty() {
        return vec![(start.x_m, start.y_m, start.yaw_rad)];
    }
    let on_route = |i: usize| {
        let place = i as f64 * legs.len() as f64 / VIEWS as f64;
        let [a, b] = [legs[place as usize][0], legs[place as usize][1]];
        let f = place.fract();
        (a[0] + f * (b[0] - a[0]), a[1] + f * (b[1] - a[1]), (b[1] - a[1]).atan2(b[0] - a[0]))
    };
    (0..VIEWS).map(on_route).collect()
}

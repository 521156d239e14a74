//! Rays a second on the CPU: the default scenario's first camera, carried along the
//! route over the default site, with the Sun a point and nothing scattered: each pixel
//! is a camera ray, and a shadow ray where it meets something.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_coherence::Stage;
use selene_scene::{CameraFrame, CameraView, Class, CpuTracer, LightSampling, Scene, Tracer};
use selene_sensors::{CameraSpec, SensorSpec};
use selene_sim::{Scenario, World, WorldState};
use selene_terrain::Ground;

use crate::args::WorldArgs;
use crate::fault::Fault;
use crate::places;

/// Places along the route.
const VIEWS: usize = 12;
/// How long to measure at least.
const MEASURED: Duration = Duration::from_secs(4);

/// Camera and shadow rays a second on level ground of one grid, from the same places.
pub(super) fn flat_rays_per_s() -> Result<f64, Fault> {
    measure(Some(Ground::flat(0.02, 61.44)))
}

/// Camera and shadow rays a second.
pub(super) fn rays_per_s() -> Result<f64, Fault> {
    measure(None)
}

/// On a ground, or that of the default scenario.
fn measure(ground: Option<Ground>) -> Result<f64, Fault> {
    let (stage, _, views) = set_up(ground)?;
    let views: Vec<_> = views.into_iter().map(|view| CameraView { light: LightSampling::POINT, ..view }).collect();
    trace(stage.scene(), &views)
}

/// The scene, the default scenario's first camera and its views along the route, with
/// light sampled as the camera's file says.
pub(super) fn set_up(ground: Option<Ground>) -> Result<(Stage, CameraSpec, Vec<CameraView>), Fault> {
    let scenario = places::load_scenario(None, &WorldArgs::default())?;
    let ground = match ground {
        Some(ground) => ground,
        None => scenario.generate_ground().map_err(Fault::input)?,
    };
    let mut stage = Stage::new(&scenario, &ground).map_err(Fault::run)?;
    let mut world = World::new(Arc::clone(&scenario), ground.clone()).map_err(Fault::run)?;
    let state = world.first_snapshot();
    stage.move_to(&state, &state, SimTime::ZERO).map_err(Fault::run)?;
    let views = views(&scenario, &ground, &state)?;
    Ok((stage, camera(&scenario)?.0.clone(), views))
}

fn trace(scene: &Scene, views: &[CameraView]) -> Result<f64, Fault> {
    let mut frame = CameraFrame::default();
    let mut rays = 0_u64;
    let begun = Instant::now();
    while begun.elapsed() < MEASURED {
        for view in views {
            CpuTracer.camera(scene, view, &mut frame).map_err(Fault::run)?;
            let met = frame.class.iter().filter(|code| **code != Class::Sky as u16).count();
            rays += (frame.class.len() + met) as u64;
        }
    }
    Ok(rays as f64 / begun.elapsed().as_secs_f64())
}

/// The first camera's views from places along the route, as high above the ground
/// as where the rover stands in `state`.
fn views(scenario: &Scenario, ground: &Ground, state: &WorldState) -> Result<Vec<CameraView>, Fault> {
    let (spec, link) = camera(scenario)?;
    let world_from_base = state.world_from_base();
    let base_from_camera = world_from_base.inverse() * state.world_from_links[link];
    let soil_m = |x: f64, y: f64| ground.height_m(x, y).unwrap_or(0.0);
    let base_m = world_from_base.translation.z - soil_m(scenario.start[0], scenario.start[1]);
    let view = |(x, y, yaw_rad): (f64, f64, f64)| {
        let heading = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        let world_from_base = Pose::from_parts(Vector3::new(x, y, soil_m(x, y) + base_m).into(), heading);
        spec.view(world_from_base * base_from_camera)
    };
    Ok(poses(scenario).into_iter().map(view).collect())
}

fn camera(scenario: &Scenario) -> Result<(&CameraSpec, usize), Fault> {
    let spec = scenario.sensors.iter().find_map(|sensor| match sensor {
        SensorSpec::Camera(spec) => Some(spec),
        SensorSpec::Lidar(_) | SensorSpec::Imu(_) | SensorSpec::Position(_) => None,
    });
    let spec = spec.ok_or_else(|| Fault::input("the default scenario has no camera"))?;
    Ok((spec, scenario.link_index(&spec.link)))
}

/// Places and headings evenly along the route's legs: x, y [m], yaw [rad].
fn poses(scenario: &Scenario) -> Vec<(f64, f64, f64)> {
    let [x, y, _, yaw] = scenario.start;
    let waypoints = scenario.route.iter().flat_map(|route| route.waypoints_m.iter().copied());
    let points: Vec<[f64; 2]> = std::iter::once([x, y]).chain(waypoints).collect();
    let legs: Vec<_> = points.windows(2).collect();
    if legs.is_empty() {
        return vec![(x, y, yaw)];
    }
    let on_route = |i: usize| {
        let place = i as f64 * legs.len() as f64 / VIEWS as f64;
        let [a, b] = [legs[place as usize][0], legs[place as usize][1]];
        let f = place.fract();
        (a[0] + f * (b[0] - a[0]), a[1] + f * (b[1] - a[1]), (b[1] - a[1]).atan2(b[0] - a[0]))
    };
    (0..VIEWS).map(on_route).collect()
}

//! Cost of lidar scans relative to their period: beams, tracing and points, from positions along the route
//! of the default scenario, with the presets. Nothing moves in the scene; encoding the cloud is not included.

use std::time::{Duration, Instant};

use nalgebra::UnitQuaternion;
use selene_base::{Pose, SimTime};
use selene_scene::{CameraView, CpuTracer, Scene, Tracer};
use selene_sensors::lidar::{DivergenceSpec, SceneOverTime};
use selene_sensors::{Lidar, LidarSpec, SensorSpec};

use crate::BenchError;
use crate::rays;
use crate::setting::Setting;

/// Least duration of the measurement.
const MEASURED: Duration = Duration::from_secs(3);
/// Seed; it does not affect the time.
const SEED: u64 = 1;

/// Wall time of a VLP-16 scan at 10 Hz, relative to its period.
pub(crate) fn vlp16_wall_over_simulated(setting: &Setting) -> Result<f64, BenchError> {
    wall_over_simulated(setting, "vlp16")
}

/// The same for an HDL-32E.
pub(crate) fn hdl32e_wall_over_simulated(setting: &Setting) -> Result<f64, BenchError> {
    wall_over_simulated(setting, "hdl32e")
}

/// Wall time of one scan each of eight OS1-128 with 2048 columns and nine rays per beam at 20 Hz, one after the other on
/// the GPU, relative to their period.
pub(crate) fn eight_os1_on_gpu(setting: &Setting) -> Result<f64, BenchError> {
    const LIDARS: f64 = 8.0;
    let one = preset(setting, "os1_128")?;
    let nine = with_rays(LidarSpec { rate_hz: 20.0, ..one }, 9);
    Ok(LIDARS * nine.rate_hz * scan_s(setting, setting.gpu()?.as_mut(), nine)?)
}

/// Time of an OS1-128 scan of 2048 columns with five rays per beam, relative to that with one.
pub(crate) fn five_rays_over_one(setting: &Setting) -> Result<f64, BenchError> {
    let one = preset(setting, "os1_128")?;
    let five = with_rays(one.clone(), 5);
    Ok(scan_s(setting, &mut CpuTracer, five)? / scan_s(setting, &mut CpuTracer, one)?)
}

/// An OS1 with the width of its beams in the data sheet, as `samples` rays.
fn with_rays(os1: LidarSpec, samples: u32) -> LidarSpec {
    let divergence = DivergenceSpec { horizontal_mrad: 3.1, vertical_mrad: 3.1, samples, ..os1.divergence };
    LidarSpec { divergence, ..os1 }
}

fn wall_over_simulated(setting: &Setting, name: &str) -> Result<f64, BenchError> {
    let spec = preset(setting, name)?;
    let rate_hz = spec.rate_hz;
    Ok(scan_s(setting, &mut CpuTracer, spec)? * rate_hz)
}

fn preset(setting: &Setting, name: &str) -> Result<LidarSpec, BenchError> {
    let file = setting.config.join(format!("sensor/lidar/{name}.yaml"));
    match SensorSpec::load(&file).map_err(BenchError::new)? {
        SensorSpec::Lidar(spec) => Ok(spec),
        _ => Err(BenchError::new(format!("{}: is no lidar", file.display()))),
    }
}

/// Wall time of a scan, s.
fn scan_s(setting: &Setting, tracer: &mut dyn Tracer, spec: LidarSpec) -> Result<f64, BenchError> {
    let rays::RouteViews { scene, views, .. } = rays::set_up(setting, None)?;
    let lidar = Lidar::new(spec);
    let place = |view: &CameraView| Pose::from_parts(view.world_from_optical.translation, UnitQuaternion::identity());
    let mut scene = Still(scene.scene());
    let mut scan = |view: &CameraView, index: u64| {
        let world_from_lidar = place(view);
        let scan = lidar.scan(SimTime::ZERO);
        let points = scan.trace(tracer, &mut scene, lidar.receiver(), |_| Some(world_from_lidar), [SEED, index]);
        points.map(std::hint::black_box).map_err(BenchError::new)
    };
    // The first scan is preceded by the copy of the scene to the device.
    scan(&views[0], 0)?;
    let mut scans = 0;
    let begun = Instant::now();
    while begun.elapsed() < MEASURED {
        for view in &views {
            scan(view, scans)?;
            scans += 1;
        }
    }
    Ok(begun.elapsed().as_secs_f64() / scans as f64)
}

/// A scene in which nothing moves.
struct Still<'a>(&'a Scene);

impl SceneOverTime for Still<'_> {
    fn during(&mut self, _: [SimTime; 2]) -> &Scene {
        self.0
    }
}

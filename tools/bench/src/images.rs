//! Images of the default scenario's first camera: whole images per second on the CPU, traced and developed as in its
//! file, the cost of developing with every stage relative to tracing, and traced images per second on the GPU. The views
//! are those of the figure for rays.

use std::path::Path;
use std::time::{Duration, Instant};

use selene_base::input::parse_yaml;
use selene_scene::{CameraFrame, CpuTracer, Tracer};
use selene_sensors::develop::Stages;
use selene_sensors::{CameraSpec, Pipeline, SunSight};

use crate::BenchError;
use crate::rays;
use crate::setting::Setting;

/// Least duration of the measurement.
const MEASURED: Duration = Duration::from_secs(4);
/// Seed; it does not affect the time.
const SEED: u64 = 1;

/// All stages but the mosaic (which would leave less to do), with defocus by ten pixels in the sky and every kind of
/// noise.
const EVERY_STAGE: &str = "
- defocus: {focus_m: 1, gain: 80}
- vignetting: {}
- flare: {}
- dust: {}
- aggregator: {quantum_efficiency: 0.5}
- noise: {read_sigma_e: 12, dark_current_e_per_s: 10, hot_pixels: 1.0e-3, hot_current_e_per_s: 1000, dead_pixels: 1.0e-3, gain_sigma: 0.01, offset_sigma_e: 2, row_fixed_sigma_e: 1, column_fixed_sigma_e: 1, row_sigma_e: 1, column_sigma_e: 1}
- response: {gamma: {a: 4.59e-4, gamma: 3, b: 0}}
- intensity_noise: {sigma1: 0.01, sigma2: 0.01}
- quantise: {bits: 8}
- jpeg: {quality: 90}
";

/// Total time of tracing and of developing, and the number of images.
#[derive(Clone, Copy)]
struct Times {
    tracing: Duration,
    developing: Duration,
    frames: u32,
}

/// Images per second, with the stages of the camera's file.
pub(crate) fn frames_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let times = measure(setting, |spec| Ok(spec.stages.clone()))?;
    Ok(f64::from(times.frames) / (times.tracing + times.developing).as_secs_f64())
}

/// Traced images of 1280 × 720 pixels per second on the GPU, with light sampled as in the camera's file; not developed.
pub(crate) fn gpu_frames_per_s(setting: &Setting) -> Result<f64, BenchError> {
    let rays::RouteViews { scene, views, .. } = rays::set_up(setting, None)?;
    let views: Vec<_> = views.iter().map(|view| view.resized([1280, 720])).collect();
    rays::images_per_s(setting.gpu()?.as_mut(), scene.scene(), &views)
}

/// Time of all stages after tracing, relative to tracing.
pub(crate) fn pipeline_over_tracing(setting: &Setting) -> Result<f64, BenchError> {
    let times =
        measure(setting, |_| parse_yaml(EVERY_STAGE, Path::new("stages of the bench")).map_err(BenchError::new))?;
    Ok(times.developing.as_secs_f64() / times.tracing.as_secs_f64())
}

fn measure(setting: &Setting, stages: impl Fn(&CameraSpec) -> Result<Stages, BenchError>) -> Result<Times, BenchError> {
    let rays::RouteViews { scene, spec, views } = rays::set_up(setting, None)?;
    let spec = CameraSpec { stages: stages(&spec)?, ..spec };
    let pipeline = Pipeline::new(&spec, SEED).map_err(BenchError::new)?;
    let sun = SunSight { at_px: [200.0, 60.0], irradiance_w_m2: 1361.0, cos_axis: 0.9 };
    let mut frame = CameraFrame::default();
    let mut times = Times { tracing: Duration::ZERO, developing: Duration::ZERO, frames: 0 };
    while times.tracing + times.developing < MEASURED {
        for view in &views {
            let begun = Instant::now();
            CpuTracer.camera(scene.scene(), view, &mut frame).map_err(BenchError::new)?;
            times.tracing += begun.elapsed();
            let begun = Instant::now();
            let image = pipeline.develop(&frame, Some(&sun), u64::from(times.frames)).map_err(BenchError::new)?;
            std::hint::black_box(image);
            times.developing += begun.elapsed();
            times.frames += 1;
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::EVERY_STAGE;
    use selene_base::input::parse_yaml;
    use selene_sensors::develop::Stages;
    use std::path::Path;

    #[test]
    fn every_stage_of_the_bench_is_there() {
        let stages: Stages = parse_yaml(EVERY_STAGE, Path::new("stages")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(stages.0.len(), 10);
    }
}

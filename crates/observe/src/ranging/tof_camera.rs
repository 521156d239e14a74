//! Observers of time-of-flight cameras: rays for their own light, a camera image for sunlight.

use selene_scene::{BeamReturn, CameraFrame, panchromatic};
use selene_sensors::{Sample, TofCamera, TofCameraSpec, TofImage};

use super::{RangedWithTruth, RangingContext, clouds};
use crate::ObserveError;
use crate::values::{CameraCalibration, DepthSample, Image, Ranged};

/// The observer of a time-of-flight camera on a link.
#[derive(Debug)]
pub(super) struct TofCameraObserver {
    camera: TofCamera,
    link: usize,
    seed: u64,
    met: Vec<BeamReturn>,
    frame: CameraFrame,
}

impl TofCameraObserver {
    pub(super) fn new(spec: &TofCameraSpec, link: usize, seed: u64) -> Self {
        let camera = TofCamera::new(spec.clone());
        Self { camera, link, seed, met: Vec::new(), frame: CameraFrame::default() }
    }

    pub(super) fn measure(
        &mut self,
        view: &mut RangingContext,
        sample: Sample,
        what: &str,
    ) -> Result<RangedWithTruth, ObserveError> {
        let Self { camera, link, seed, met, frame } = self;
        let world_from_optical = view.link_at(&camera.spec().name, *link, sample.instant)?;
        let beams = camera.beams(&world_from_optical);
        let sight = camera.spec().view(world_from_optical);
        let RangingContext { scene, tracer, .. } = view;
        let traced = tracer.trace(&what, |tracer| {
            tracer.beams(scene.scene(), &beams, met)?;
            tracer.camera(scene.scene(), &sight, frame)
        });
        traced.map_err(|error| ObserveError::of(&camera.spec().name, &error))?;
        // Dust only attenuates: light that it returns is left out.
        scene.scene().see_dust(&beams, met);
        let sunlit: Vec<f32> = frame.radiance.iter().map(|bands| panchromatic(*bands)).collect();
        let reported = |image: TofImage| Ranged::Depth(Box::new(depth_sample(camera, &image)));
        let truth = camera.exact(met, &sunlit, &frame.depth_m);
        Ok(RangedWithTruth { measured: reported(camera.image(met, &sunlit, *seed, sample)), truth: reported(truth) })
    }
}

fn depth_sample(camera: &TofCamera, image: &TofImage) -> DepthSample {
    let spec = camera.spec();
    let picture = |encoding: &'static str, pixel_bytes: usize, data: Vec<u8>| Image {
        width: spec.width,
        height: spec.height,
        encoding,
        pixel_bytes,
        data,
    };
    let electrons = |of: &[u16]| picture("mono16", 2, of.iter().flat_map(|value| value.to_le_bytes()).collect());
    DepthSample {
        depth: picture("32FC1", 4, image.depth_m.iter().flat_map(|value| value.to_le_bytes()).collect()),
        amplitude: electrons(&image.amplitude_e),
        intensity: electrons(&image.intensity_e),
        calibration: calibration(spec),
        cloud: spec.cloud.then(|| clouds::of_depth(camera, &image.depth_m, &image.amplitude_e)),
    }
}

/// The calibration of a pinhole.
fn calibration(spec: &TofCameraSpec) -> CameraCalibration {
    let intrinsics = spec.intrinsics();
    CameraCalibration {
        width: spec.width,
        height: spec.height,
        distortion_model: "plumb_bob",
        d: vec![0.0; 5],
        k: intrinsics.k(),
        r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p: intrinsics.p(0.0),
    }
}

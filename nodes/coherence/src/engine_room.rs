//! What traces for a node: the device it was given, and from the moment when that device
//! fails the CPU. What was asked for is then traced again from its start, so that no image is
//! missed, none is half, and an image and what stands beside it come from one device. The two
//! agree within the tolerance of `tests/parity` and not to the last bit: the one warning says
//! from what on.

use std::fmt::Display;

use selene_scene::{CpuTracer, TraceError, Tracer};

/// A tracer that does not fail for its device.
pub struct EngineRoom {
    tracer: Box<dyn Tracer>,
}

impl EngineRoom {
    /// Begins with a tracer.
    #[must_use]
    pub fn new(tracer: Box<dyn Tracer>) -> Self {
        Self { tracer }
    }

    /// What it traces on now, for people to read.
    #[must_use]
    pub fn device(&self) -> String {
        self.tracer.device()
    }

    /// Traces `what` by `work`; a second time, on the CPU, when the device fails in it.
    ///
    /// # Errors
    /// What the CPU, too, cannot trace.
    pub fn trace<T>(
        &mut self,
        what: &dyn Display,
        mut work: impl FnMut(&mut dyn Tracer) -> Result<T, TraceError>,
    ) -> Result<T, TraceError> {
        match work(self.tracer.as_mut()) {
            Err(error) if error.is_of_device() => {
                self.tracer = Box::new(CpuTracer);
                tracing::warn!("{error}; from {what} on traced on: {}", self.device());
                work(self.tracer.as_mut())
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EngineRoom;
    use nalgebra::Vector3;
    use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, Scene, Sun, TraceError, Tracer, TruthFrame};
    use selene_terrain::Ground;

    /// Fails as often as it is asked, in one way.
    struct Broken(fn() -> TraceError);

    impl Tracer for Broken {
        fn device(&self) -> String {
            "broken".to_owned()
        }

        fn camera(&mut self, _: &Scene, _: &CameraView, _: &mut CameraFrame) -> Result<(), TraceError> {
            Err((self.0)())
        }

        fn truth(&mut self, _: &Scene, _: &CameraView, _: &mut TruthFrame) -> Result<(), TraceError> {
            Err((self.0)())
        }

        fn beams(&mut self, _: &Scene, _: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError> {
            out.push(BeamReturn::NONE);
            Err((self.0)())
        }
    }

    fn scene() -> Scene {
        let sun = Sun { direction_to_sun: Vector3::z(), irradiance_w_m2: 1361.0, angular_radius_rad: 0.00465 };
        Scene::new(&Ground::flat(0.5, 40.0), sun)
    }

    const DOWN: Beam = Beam { origin_m: [0.0, 0.0, 2.0], direction: [0.0, 0.0, -1.0] };

    #[test]
    fn whatever_a_device_fails_in_is_traced_again_on_the_cpu() {
        for error in [
            || TraceError::Lost { device: String::new(), what: String::new() },
            || TraceError::OutOfMemory { device: String::new(), what: String::new() },
            || TraceError::Refused { device: String::new(), what: String::new() },
            || TraceError::TooLarge { device: String::new(), what: String::new() },
        ] {
            let mut room = EngineRoom::new(Box::new(Broken(error)));
            assert_eq!(room.device(), "broken");
            let (scene, mut returns, mut times) = (scene(), Vec::new(), 0);
            room.trace(&"a scan", |tracer| {
                times += 1;
                tracer.beams(&scene, &[DOWN], &mut returns)
            })
            .expect("traced");
            assert_eq!((times, returns.len(), returns[0].range_m), (2, 1, 2.0));
            assert!(room.device().starts_with("CPU"));
        }
    }

    #[test]
    fn a_view_that_is_no_camera_is_not_the_devices_fault() {
        let mut room = EngineRoom::new(Box::new(Broken(|| TraceError::View("no pixels".to_owned()))));
        let error = room.trace(&"an image", |tracer| tracer.beams(&scene(), &[DOWN], &mut Vec::new()));
        assert!(matches!(error, Err(TraceError::View(_))));
        assert_eq!(room.device(), "broken");
    }
}

//! What traces: the device that was given, and from the moment when that device
//! fails the CPU. What was asked for is then traced again from its start, so that no image is
//! missed, none is half, and an image and what stands beside it come from one device. The two
//! agree within the tolerance of `tests/parity` and not to the last bit: the one warning says
//! from what on.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use selene_scene::{CpuTracer, TraceError, Tracer};

/// Opens a tracer on the one device that a process has.
type Open = dyn Fn() -> Box<dyn Tracer> + Send + Sync;

/// The device of a process. Copies are of the same one: each scene that is traced has a tracer of its own on
/// it, and once it has failed in one of them all go on on the CPU.
#[derive(Clone)]
pub struct Device {
    open: Arc<Open>,
    has_failed: Arc<AtomicBool>,
}

impl Device {
    /// The CPU.
    #[must_use]
    pub fn cpu() -> Self {
        Self::new(|| Box::new(CpuTracer))
    }

    /// A device on which `open` opens a tracer for one scene.
    #[must_use]
    pub fn new(open: impl Fn() -> Box<dyn Tracer> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), has_failed: Arc::new(AtomicBool::new(false)) }
    }

    /// What it is, for people to read.
    #[must_use]
    pub fn name(&self) -> String {
        self.tracer().tracer.device()
    }

    /// Bytes that this process has allocated there; none where nobody knows.
    #[must_use]
    pub fn memory_bytes(&self) -> Option<u64> {
        self.tracer().tracer.memory_bytes()
    }

    /// A tracer for one scene.
    pub(crate) fn tracer(&self) -> SteadyTracer {
        let failed = self.has_failed.load(Ordering::Relaxed);
        let tracer = if failed { Box::new(CpuTracer) } else { (self.open)() };
        SteadyTracer { tracer, has_failed: Arc::clone(&self.has_failed) }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}

/// A tracer that does not fail for its device.
pub(crate) struct SteadyTracer {
    tracer: Box<dyn Tracer>,
    has_failed: Arc<AtomicBool>,
}

impl SteadyTracer {
    /// What it traces on now, for people to read.
    pub(crate) fn device(&self) -> String {
        self.tracer.device()
    }

    /// Traces `what` by `work`; a second time, on the CPU, when the device fails in it.
    ///
    /// # Errors
    /// What the CPU, too, cannot trace.
    pub(crate) fn trace<T>(
        &mut self,
        what: &dyn Display,
        mut work: impl FnMut(&mut dyn Tracer) -> Result<T, TraceError>,
    ) -> Result<T, TraceError> {
        match work(self.tracer.as_mut()) {
            Err(error) if error.is_of_device() => {
                self.tracer = Box::new(CpuTracer);
                // Several scenes' tracers find it lost, one after the other.
                if !self.has_failed.swap(true, Ordering::Relaxed) {
                    tracing::warn!("{error}; from {what} on traced on: {}", self.device());
                }
                work(self.tracer.as_mut())
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Device;
    use nalgebra::Vector3;
    use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, Scene, Sun, TraceError, Tracer, TruthFrame};
    use selene_terrain::Clipmap;

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
        Scene::new(&Clipmap::flat(0.5, 40.0), sun)
    }

    const DOWN: Beam = Beam::new([0.0, 0.0, 2.0], [0.0, 0.0, -1.0]);

    #[test]
    fn whatever_a_device_fails_in_is_traced_again_on_the_cpu() {
        for error in [
            || TraceError::Lost { device: String::new(), what: String::new() },
            || TraceError::OutOfMemory { device: String::new(), what: String::new() },
            || TraceError::Refused { device: String::new(), what: String::new() },
            || TraceError::TooLarge { device: String::new(), what: String::new() },
        ] {
            let device = Device::new(move || Box::new(Broken(error)));
            let mut tracer = device.tracer();
            assert_eq!(tracer.device(), "broken");
            let (scene, mut returns, mut times) = (scene(), Vec::new(), 0);
            tracer
                .trace(&"a scan", |tracer| {
                    times += 1;
                    tracer.beams(&scene, &[DOWN], &mut returns)
                })
                .expect("traced");
            assert_eq!((times, returns.len(), returns[0].range_m), (2, 1, 2.0));
            assert!(tracer.device().starts_with("CPU"));
            assert!(device.tracer().device().starts_with("CPU"), "nor does anybody else ask the device again");
        }
    }

    #[test]
    fn a_view_that_is_no_camera_is_not_the_devices_fault() {
        let mut tracer = Device::new(|| Box::new(Broken(|| TraceError::View("no pixels".to_owned())))).tracer();
        let error = tracer.trace(&"an image", |tracer| tracer.beams(&scene(), &[DOWN], &mut Vec::new()));
        assert!(matches!(error, Err(TraceError::View(_))));
        assert_eq!(tracer.device(), "broken");
    }
}

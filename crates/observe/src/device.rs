//! What traces: the device that was given, and from the moment when that device
//! fails the CPU. What was asked for is then traced again from its start, so that no image is
//! missed, none is half, and an image and what stands beside it come from one device. The two
//! agree within the tolerance of `tests/parity` and not to the last bit: the one warning says
//! from what on.
//!
//! Sensors may name devices of their own. All devices trace the same scene of the same instants, so what their
//! sensors give is of one world and time.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use selene_scene::{CpuTracer, TraceError, Tracer};

use crate::ObserveError;

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

/// Opens the device of a name; else says which there are.
type OpenNamed = dyn Fn(&str) -> Result<Device, DeviceError> + Send + Sync;

/// Why the device that a sensor names cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is none of this name.
    #[error("device: value '{name}' is not allowed: there are {}", .known.join(", "))]
    Unknown {
        /// As the sensor's file has it.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// It is there and cannot be opened.
    #[error("device: '{name}' cannot be used: {why}")]
    Unusable {
        /// As the sensor's file has it.
        name: String,
        /// What the device's driver says.
        why: String,
    },
}

/// The devices of a process: the one on which all trace whose files name none, and those that files name. A device
/// is opened once, when it is first asked for. Copies are of the same ones.
#[derive(Clone)]
pub struct Devices {
    usual: Device,
    open: Arc<OpenNamed>,
    opened: Arc<Mutex<BTreeMap<String, Device>>>,
}

impl Devices {
    /// The usual device, and what opens one by its name.
    #[must_use]
    pub fn new(usual: Device, open: impl Fn(&str) -> Result<Device, DeviceError> + Send + Sync + 'static) -> Self {
        Self { usual, open: Arc::new(open), opened: Arc::default() }
    }

    /// The one on which all trace that name none.
    #[must_use]
    pub fn usual(&self) -> &Device {
        &self.usual
    }

    /// The one of a name; the usual one of none.
    ///
    /// # Errors
    /// When there is no such device: which there are.
    pub fn named(&self, name: Option<&str>) -> Result<Device, DeviceError> {
        let Some(name) = name else { return Ok(self.usual.clone()) };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = opened.get(name) {
            return Ok(device.clone());
        }
        let device = (self.open)(name)?;
        opened.insert(name.to_owned(), device.clone());
        Ok(device)
    }
}

/// One device, beside the CPU under its name.
impl From<Device> for Devices {
    fn from(usual: Device) -> Self {
        Self::new(usual, |name| match name {
            "cpu" => Ok(Device::cpu()),
            _ => Err(DeviceError::Unknown { name: name.to_owned(), known: vec!["cpu".to_owned()] }),
        })
    }
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Devices").field(&self.usual).finish()
    }
}

/// The tracers of one scene: one on each device that its sensors name.
#[derive(Default)]
pub(crate) struct Tracers {
    on: Vec<(Option<String>, SteadyTracer)>,
}

impl Tracers {
    /// One more for the sensor of this name, where none is on its device yet; its number.
    ///
    /// # Errors
    /// When there is no such device.
    pub(crate) fn add(&mut self, devices: &Devices, sensor: &str, name: Option<&str>) -> Result<usize, ObserveError> {
        if let Some(known) = self.on.iter().position(|(of, _)| of.as_deref() == name) {
            return Ok(known);
        }
        let device = devices.named(name).map_err(|what| ObserveError::of(sensor, &what))?;
        self.on.push((name.map(str::to_owned), device.tracer()));
        Ok(self.on.len() - 1)
    }

    /// That of a number which `add` gave.
    pub(crate) fn of(&mut self, number: usize) -> &mut SteadyTracer {
        &mut self.on[number].1
    }

    /// What they trace on now, for people to read.
    pub(crate) fn device(&self) -> String {
        self.on.iter().map(|(_, tracer)| tracer.device()).collect::<Vec<_>>().join(", ")
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
    use super::{Device, DeviceError, Devices, Tracers};
    use nalgebra::Vector3;
    use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, Scene, Sun, TraceError, Tracer, TruthFrame};
    use selene_terrain::Clipmap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

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
    fn each_device_is_opened_once_and_an_unknown_one_is_refused_with_those_there_are() {
        let opened = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&opened);
        let devices = Devices::new(Device::cpu(), move |name| match name {
            "gpu" => {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(Device::new(|| Box::new(Broken(|| TraceError::View(String::new())))))
            }
            _ => Err(DeviceError::Unknown { name: name.to_owned(), known: ["cpu", "gpu"].map(str::to_owned).into() }),
        });
        let mut tracers = Tracers::default();
        let add = |tracers: &mut Tracers, name| tracers.add(&devices, "camera", name);
        let numbers = [None, Some("gpu"), Some("gpu"), None].map(|name| add(&mut tracers, name).expect("there"));
        assert_eq!(numbers, [0, 1, 1, 0]);
        assert_eq!(add(&mut Tracers::default(), Some("gpu")).expect("there"), 0);
        assert_eq!(opened.load(Ordering::Relaxed), 1);
        assert_eq!(tracers.of(1).device(), "broken");
        let told = add(&mut tracers, Some("tpu")).expect_err("unknown").to_string();
        assert!(["camera", "'tpu'", "cpu, gpu"].iter().all(|part| told.contains(part)), "{told}");
    }

    #[test]
    fn a_view_that_is_no_camera_is_not_the_devices_fault() {
        let mut tracer = Device::new(|| Box::new(Broken(|| TraceError::View("no pixels".to_owned())))).tracer();
        let error = tracer.trace(&"an image", |tracer| tracer.beams(&scene(), &[DOWN], &mut Vec::new()));
        assert!(matches!(error, Err(TraceError::View(_))));
        assert_eq!(tracer.device(), "broken");
    }
}

//! Devices that trace scenes: a GPU or the CPU, with a fallback to the CPU from the moment when the device fails. The
//! interrupted work is then traced again from its start, so that no image is missing or incomplete, and an image and
//! the data published beside it come from one device. The two devices agree within the tolerance of `tests/parity`,
//! but not to the last bit: a single warning says from which image on the CPU traces.
//!
//! Sensors may name devices of their own. All devices trace the same scene at the same instants, so their data belong
//! to the same world and time.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use selene_scene::{CpuTracer, TraceError, Tracer};

use crate::ObserveError;

/// Opens a tracer on a device.
type Open = dyn Fn() -> Box<dyn Tracer> + Send + Sync;

/// A device of a process. Copies refer to the same device: each scene has a tracer of its own on it, and once it has
/// failed in one of them, all continue on the CPU.
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

    /// Description of the device, as text for people.
    #[must_use]
    pub fn name(&self) -> String {
        self.tracer().tracer.device()
    }

    /// Bytes that this process has allocated on the device; `None` if unknown.
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

/// Opens the device of a name, or returns an error with the existing names.
type OpenNamed = dyn Fn(&str) -> Result<Device, DeviceError> + Send + Sync;

/// Why the device that a sensor names is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is no device of this name.
    #[error("device: value '{name}' is not allowed: there are {}", .known.join(", "))]
    Unknown {
        /// The name in the sensor's file.
        name: String,
        /// The existing devices.
        known: Vec<String>,
    },
    /// The device exists but cannot be opened.
    #[error("device: '{name}' cannot be used: {why}")]
    Unusable {
        /// The name in the sensor's file.
        name: String,
        /// The message of the device's driver.
        why: String,
    },
}

/// The devices of a process: the default device, for sensors whose files name none, and those that files name. A
/// device is opened once, on first use. Copies refer to the same devices.
#[derive(Clone)]
pub struct Devices {
    usual: Device,
    open: Arc<OpenNamed>,
    opened: Arc<Mutex<BTreeMap<String, Device>>>,
}

impl Devices {
    /// Devices with a default device, and a function that opens a device by name.
    #[must_use]
    pub fn new(usual: Device, open: impl Fn(&str) -> Result<Device, DeviceError> + Send + Sync + 'static) -> Self {
        Self { usual, open: Arc::new(open), opened: Arc::default() }
    }

    /// The default device, for sensors whose files name none.
    #[must_use]
    pub fn usual(&self) -> &Device {
        &self.usual
    }

    /// The device of a name; the default device without a name.
    ///
    /// # Errors
    /// When there is no such device; the error lists the existing ones.
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

/// Devices with this default device, and the CPU under the name `cpu`.
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

/// The tracers of one scene, one for each device that its sensors name.
#[derive(Default)]
pub(crate) struct Tracers {
    on: Vec<(Option<String>, SteadyTracer)>,
}

impl Tracers {
    /// Adds a tracer on the device of name `name` for the sensor `sensor`, unless there is one; returns its number.
    pub(crate) fn add(&mut self, devices: &Devices, sensor: &str, name: Option<&str>) -> Result<usize, ObserveError> {
        if let Some(known) = self.on.iter().position(|(of, _)| of.as_deref() == name) {
            return Ok(known);
        }
        let device = devices.named(name).map_err(|what| ObserveError::of(sensor, &what))?;
        self.on.push((name.map(str::to_owned), device.tracer()));
        Ok(self.on.len() - 1)
    }

    /// The tracer of a number that `add` returned.
    pub(crate) fn of(&mut self, number: usize) -> &mut SteadyTracer {
        &mut self.on[number].1
    }

    /// The devices in use, as text for people.
    pub(crate) fn device(&self) -> String {
        self.on.iter().map(|(_, tracer)| tracer.device()).collect::<Vec<_>>().join(", ")
    }
}

/// A tracer that falls back to the CPU if its device fails.
pub(crate) struct SteadyTracer {
    tracer: Box<dyn Tracer>,
    has_failed: Arc<AtomicBool>,
}

impl SteadyTracer {
    /// The device in use, as text for people.
    pub(crate) fn device(&self) -> String {
        self.tracer.device()
    }

    /// Traces with `work`; if the device fails, repeats `work` on the CPU. `what` describes the work in the warning.
    ///
    /// # Errors
    /// When the CPU cannot trace it either.
    pub(crate) fn trace<T>(
        &mut self,
        what: &dyn Display,
        mut work: impl FnMut(&mut dyn Tracer) -> Result<T, TraceError>,
    ) -> Result<T, TraceError> {
        match work(self.tracer.as_mut()) {
            Err(error) if error.is_of_device() => {
                self.tracer = Box::new(CpuTracer);
                // The tracers of several scenes detect the failure one after the other; only the first one warns.
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
    use selene_scene::{
        Beam, BeamReturn, CameraFrame, CameraView, Echoes, Receiver, Scene, Sun, TraceError, Tracer, TruthFrame,
        WideBeam,
    };
    use selene_terrain::Clipmap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A tracer that always fails with the same error.
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

        fn echoes(&mut self, _: &Scene, _: &[WideBeam], _: &Receiver, _: &mut Vec<Echoes>) -> Result<(), TraceError> {
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
            assert!(device.tracer().device().starts_with("CPU"), "no other scene uses the device again");
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
        let reported = add(&mut tracers, Some("tpu")).expect_err("unknown").to_string();
        assert!(["camera", "'tpu'", "cpu, gpu"].iter().all(|part| reported.contains(part)), "{reported}");
    }

    #[test]
    fn a_view_that_is_no_camera_is_not_the_devices_fault() {
        let mut tracer = Device::new(|| Box::new(Broken(|| TraceError::View("no pixels".to_owned())))).tracer();
        let error = tracer.trace(&"an image", |tracer| tracer.beams(&scene(), &[DOWN], &mut Vec::new()));
        assert!(matches!(error, Err(TraceError::View(_))));
        assert_eq!(tracer.device(), "broken");
    }
}

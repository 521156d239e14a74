//! A GPU device, its queue and its faults. Faults that wgpu reports asynchronously are kept by their kind
//! and returned by the next call; none of them ends the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use selene_scene::TraceError;

/// Longest time from the end of a submission to the report that its results are mapped.
const REPORT: Duration = Duration::from_secs(10);

/// A fault of the device, by its kind.
#[derive(Clone, Debug)]
enum Fault {
    /// The driver lost the device, or it was turned off.
    Lost(String),
    /// The device had no memory for a buffer.
    OutOfMemory(String),
    /// The device refused a call: a validation error or an internal error of wgpu.
    Refused(String),
}

impl From<wgpu::Error> for Fault {
    fn from(error: wgpu::Error) -> Self {
        match error {
            wgpu::Error::OutOfMemory { source } => Self::OutOfMemory(source.to_string()),
            wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
                Self::Refused(description)
            }
        }
    }
}

/// The first fault that wgpu's callbacks reported.
#[derive(Clone, Debug, Default)]
struct Faults(Arc<Mutex<Option<Fault>>>);

impl Faults {
    /// Keeps the first fault. Only a loss replaces a refusal, which it may have caused: wgpu reports the loss later.
    fn keep(&self, fault: Fault) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let explained = matches!((&*kept, &fault), (Some(Fault::Refused(_)), Fault::Lost(_)));
        if kept.is_none() || explained {
            *kept = Some(fault);
        }
    }

    fn first(&self) -> Option<Fault> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The adapters of this machine, best first. Software adapters come last, and only if allowed.
fn adapters(allow_software: bool) -> Vec<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let ranked = |adapter: wgpu::Adapter| Some((rank(adapter.get_info().device_type, allow_software)?, adapter));
    let mut usable: Vec<_> = found.into_iter().filter_map(ranked).collect();
    usable.sort_by_key(|(rank, _)| *rank);
    usable.into_iter().map(|(_, adapter)| adapter).collect()
}

/// The names of all adapters, best first, and whether each is software.
pub(crate) fn adapter_names() -> Vec<(String, bool)> {
    let named = |info: wgpu::AdapterInfo| (reported(&info), info.device_type == wgpu::DeviceType::Cpu);
    adapters(true).iter().map(|adapter| named(adapter.get_info())).collect()
}

fn reported(info: &wgpu::AdapterInfo) -> String {
    format!("{} ({}, {:?})", info.name, info.driver, info.backend)
}

/// An opened device.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) name: String,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    faults: Faults,
}

impl Engine {
    /// Opens the best device; a software device only if allowed.
    pub(crate) fn open(allow_software: bool) -> Result<Option<Self>, TraceError> {
        adapters(allow_software).first().map(Self::start).transpose()
    }

    /// Opens the device with this index in the order of `adapters`, software devices included.
    pub(crate) fn open_at(number: usize) -> Result<Option<Self>, TraceError> {
        adapters(true).get(number).map(Self::start).transpose()
    }

    fn start(adapter: &wgpu::Adapter) -> Result<Self, TraceError> {
        let info = adapter.get_info();
        let name = reported(&info);
        let offered = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("selene"),
            // The other limits are those that WebGPU guarantees on every device.
            required_limits: wgpu::Limits {
                max_buffer_size: offered.max_buffer_size,
                max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
                ..wgpu::Limits::default()
            },
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| TraceError::Open { device: name.clone(), what: e.to_string() })?;
        let faults = Faults::default();
        let uncaptured = faults.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured.keep(error.into())));
        let lost = faults.clone();
        device.set_device_lost_callback(move |reason, message| {
            lost.keep(Fault::Lost(format!("lost ({reason:?}) {message}").trim_end().to_owned()));
        });
        Ok(Self { name, device, queue, faults })
    }

    /// Returns the first fault as an error, if there was one.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        let device = self.name.clone();
        Err(match self.faults.first() {
            None => return Ok(()),
            Some(Fault::Lost(what)) => TraceError::Lost { device, what },
            Some(Fault::OutOfMemory(what)) => TraceError::OutOfMemory { device, what },
            Some(Fault::Refused(what)) => TraceError::Refused { device, what },
        })
    }

    /// Largest size of one storage buffer, bytes.
    pub(crate) fn buffer_bytes_max(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
    }

    /// Refuses a buffer that is too large for this device; `what` names its content.
    pub(crate) fn check_size(&self, what: &str, bytes: u64) -> Result<(), TraceError> {
        let most = self.buffer_bytes_max();
        if bytes <= most {
            return Ok(());
        }
        let what = format!("{what} take {bytes} bytes, the device holds at most {most} in one buffer");
        Err(TraceError::TooLarge { device: self.name.clone(), what })
    }

    /// Submits commands that write their results to the first `bytes` of `buffer`, and requests to map these.
    pub(crate) fn submit(&self, commands: wgpu::CommandBuffer, buffer: &wgpu::Buffer, bytes: u64) -> Submission {
        let index = self.queue.submit([commands]);
        let (sender, mapped) = std::sync::mpsc::channel();
        // The send fails if the submission was dropped; nobody waits for it then.
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |result| drop(sender.send(result)));
        Submission { index, mapped, bytes }
    }

    /// Waits for `submission`, but not for later ones, and passes the mapped bytes to `read`.
    pub(crate) fn read<T>(
        &self,
        submission: Submission,
        buffer: &wgpu::Buffer,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, TraceError> {
        let until = wgpu::PollType::Wait { submission_index: Some(submission.index), timeout: None };
        let waited = without_panic(|| self.device.poll(until));
        if !matches!(waited, Some(Ok(_))) {
            // wgpu reports a lost device only during a wait for all submissions.
            without_panic(|| self.device.poll(wgpu::PollType::wait_indefinitely()));
        }
        // The reason that wgpu gave, if any, says more than that the wait failed.
        self.check()?;
        waited.ok_or_else(|| self.lost("lost while it was waited for"))?.map_err(|e| self.lost(e))?;
        // Another thread's wait may have found this result, and be about to report it.
        submission.mapped.recv_timeout(REPORT).map_err(|e| self.lost(e))?.map_err(|e| self.lost(e))?;
        let value = read(&buffer.get_mapped_range(..submission.bytes).map_err(|e| self.lost(e))?);
        buffer.unmap();
        Ok(value)
    }

    fn lost(&self, what: impl ToString) -> TraceError {
        TraceError::Lost { device: self.name.clone(), what: what.to_string() }
    }
}

/// Submitted work, and the channel that reports when its results are mapped.
#[derive(Debug)]
pub(crate) struct Submission {
    index: wgpu::SubmissionIndex,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
    bytes: u64,
}

/// The result of `call`, or `None` if it panics. `Device::poll` of wgpu 30 panics when the driver
/// reports the device lost during the wait.
fn without_panic<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// Rank of a kind of device, lower is better; `None` if it must not be used.
fn rank(kind: wgpu::DeviceType, allow_software: bool) -> Option<u32> {
    match kind {
        wgpu::DeviceType::DiscreteGpu => Some(0),
        wgpu::DeviceType::IntegratedGpu => Some(1),
        wgpu::DeviceType::VirtualGpu => Some(2),
        wgpu::DeviceType::Other => Some(3),
        wgpu::DeviceType::Cpu => allow_software.then_some(4),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Faults, rank, without_panic};
    use wgpu::DeviceType;

    #[test]
    fn a_software_device_is_taken_last_and_only_when_requested() {
        assert_eq!(rank(DeviceType::Cpu, false), None);
        assert!(rank(DeviceType::Cpu, true) > rank(DeviceType::VirtualGpu, true));
        assert!(rank(DeviceType::DiscreteGpu, false) < rank(DeviceType::IntegratedGpu, false));
    }

    #[test]
    fn a_wait_that_panics_is_a_wait_that_gives_nothing() {
        assert_eq!(without_panic(|| 3), Some(3));
        assert_eq!(without_panic(|| -> u32 { panic!("as Device::poll does") }), None);
    }

    #[test]
    fn faults_keep_their_kind_and_the_first_is_reported_or_the_loss_that_it_came_of() {
        let error = || wgpu::Error::OutOfMemory { source: "no room".into() };
        let faults = Faults::default();
        assert!(faults.first().is_none());
        faults.keep(error().into());
        faults.keep(Fault::Lost("later".to_owned()));
        assert!(matches!(faults.first(), Some(Fault::OutOfMemory(what)) if what == "no room"));
        let refused = wgpu::Error::Validation { source: "".into(), description: "a bad buffer".to_owned() };
        let faults = Faults::default();
        faults.keep(refused.into());
        assert!(matches!(faults.first(), Some(Fault::Refused(what)) if what == "a bad buffer"));
        faults.keep(Fault::Lost("why".to_owned()));
        assert!(matches!(faults.first(), Some(Fault::Lost(what)) if what == "why"));
    }
}

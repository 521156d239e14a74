//! A device, its queue and what went wrong on it. Faults that wgpu reports out of
//! band are kept and told by the next call; none of them ends the process.

use std::sync::{Arc, Mutex, PoisonError};

use selene_scene::TraceError;

/// Storage buffers that a kernel takes: the scene's and its own input and output. Every
/// desktop device has them, though WebGPU promises only eight.
const STORAGE_BUFFERS: u32 = 16;

/// The first fault since the device was opened.
#[derive(Clone, Debug, Default)]
struct Faults(Arc<Mutex<Option<String>>>);

impl Faults {
    fn keep(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }

    fn first(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
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
    /// Opens the best device there is; software ones only when allowed.
    pub(crate) fn open(allow_software: bool) -> Result<Option<Self>, TraceError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let usable = adapters.into_iter().filter_map(|adapter| {
            let rank = rank(adapter.get_info().device_type, allow_software)?;
            Some((rank, adapter))
        });
        usable.min_by_key(|(rank, _)| *rank).map(|(_, adapter)| Self::start(&adapter)).transpose()
    }

    fn start(adapter: &wgpu::Adapter) -> Result<Self, TraceError> {
        let info = adapter.get_info();
        let name = format!("{} ({}, {:?})", info.name, info.driver, info.backend);
        let offered = adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("selene"),
            required_limits: wgpu::Limits {
                max_buffer_size: offered.max_buffer_size,
                max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
                max_storage_buffers_per_shader_stage: offered.max_storage_buffers_per_shader_stage.min(STORAGE_BUFFERS),
                ..wgpu::Limits::default()
            },
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| TraceError::Open { device: name.clone(), what: e.to_string() })?;
        let faults = Faults::default();
        let uncaptured = faults.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured.keep(error.to_string())));
        let lost = faults.clone();
        device.set_device_lost_callback(move |reason, message| lost.keep(format!("lost ({reason:?}): {message}")));
        Ok(Self { name, device, queue, faults })
    }

    /// Tells a fault that has happened.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        self.faults.first().map_or(Ok(()), |what| Err(self.lost(what)))
    }

    pub(crate) fn lost(&self, what: impl Into<String>) -> TraceError {
        TraceError::Lost { device: self.name.clone(), what: what.into() }
    }

    /// Refuses what no buffer of this device can hold.
    pub(crate) fn check_size(&self, what: &str, bytes: u64) -> Result<(), TraceError> {
        let limits = self.device.limits();
        let most = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        if bytes <= most {
            return Ok(());
        }
        let what = format!("{what} take {bytes} bytes, the device holds at most {most} in one buffer");
        Err(TraceError::TooLarge { device: self.name.clone(), what })
    }

    /// Waits for `buffer`, which can be mapped, and gives its first `bytes` to `read`.
    pub(crate) fn read<T>(
        &self,
        buffer: &wgpu::Buffer,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, TraceError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        // The receiver outlives the poll below; a send after an early return is of no use to anyone.
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |result| drop(sender.send(result)));
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| self.lost(e.to_string()))?;
        self.check()?;
        let mapped = receiver.try_recv().map_err(|e| self.lost(e.to_string()))?;
        mapped.map_err(|e| self.lost(e.to_string()))?;
        let value = read(&buffer.get_mapped_range(..bytes).map_err(|e| self.lost(e.to_string()))?);
        buffer.unmap();
        Ok(value)
    }
}

/// Lower is better; none is not to be used.
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
    use super::rank;
    use wgpu::DeviceType;

    #[test]
    fn a_software_device_is_taken_last_and_only_when_asked_for() {
        assert_eq!(rank(DeviceType::Cpu, false), None);
        assert!(rank(DeviceType::Cpu, true) > rank(DeviceType::VirtualGpu, true));
        assert!(rank(DeviceType::DiscreteGpu, false) < rank(DeviceType::IntegratedGpu, false));
    }
}

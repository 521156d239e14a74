//! The GPU tracer: runs the scene's WGSL kernels through wgpu on any Vulkan, Metal or DX12 device, behind
//! the trait `Tracer`. It uses no vendor's ray tracing extension. No other crate of Selene depends on wgpu.

mod copy;
mod engine;
mod kernel;
mod tracer;

pub use tracer::{GpuTracer, OffSwitch};

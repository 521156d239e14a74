//! The wgpu engine: the scene's WGSL kernels on any Vulkan, Metal or DX12 device,
//! behind the `Tracer` port. No vendor's ray tracing extension is used. Nothing
//! else in Selene names wgpu.

mod copy;
mod engine;
mod kernel;
mod tracer;

pub use tracer::{GpuTracer, OffSwitch};

//! The GPU: runs the WGSL kernels of the scene (behind the trait `Tracer`), of granular soil and of single grains
//! through wgpu on any Vulkan, Metal or DX12 device. It uses no vendor's ray tracing extension. No other crate of Selene depends on wgpu.

mod copy;
mod engine;
mod kernel;
mod pipeline;
mod soil;
mod spheres;
mod tracer;

pub use tracer::{GpuTracer, OffSwitch};

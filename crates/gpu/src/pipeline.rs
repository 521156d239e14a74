//! Pipelines of kernels that have a layout of their own, the bindings of their buffers, and these buffers.

use crate::engine::Engine;

/// A kernel of `module`, compiled with these constants.
pub(crate) fn compile(
    engine: &Engine,
    module: &wgpu::ShaderModule,
    entry: &str,
    constants: &[(&str, f64)],
) -> wgpu::ComputePipeline {
    engine.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(entry),
        layout: None,
        module,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants,
            ..wgpu::PipelineCompilationOptions::default()
        },
        cache: None,
    })
}

/// A kernel's own selection of buffers, each with the number of its binding.
pub(crate) fn bind<'a>(
    engine: &Engine,
    label: &str,
    pipeline: &wgpu::ComputePipeline,
    buffers: impl Iterator<Item = (u32, &'a wgpu::Buffer)>,
) -> wgpu::BindGroup {
    let entry = |(binding, buffer): (u32, &'a wgpu::Buffer)| wgpu::BindGroupEntry {
        binding,
        resource: buffer.as_entire_binding(),
    };
    engine.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(label),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &buffers.map(entry).collect::<Vec<_>>(),
    })
}

/// A buffer that is written and copied both ways.
pub(crate) fn buffer(engine: &Engine, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    engine.device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
}

/// A buffer that the CPU reads.
pub(crate) fn read_back(engine: &Engine, size: u64) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    engine.device.create_buffer(&wgpu::BufferDescriptor { label: Some("back"), size, usage, mapped_at_creation: false })
}

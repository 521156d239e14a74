//! A compute kernel with its input, output and read-back buffers, which are kept between calls: one set
//! for each dispatch in flight, so that results are read while the next are traced. A kernel of images
//! reads a uniform and writes a storage buffer; the kernel of beams replaces each beam by its return, so
//! that with the scene's seven it uses eight storage buffers, as many as WebGPU guarantees.

use selene_scene::TraceError;

use crate::copy::{SceneCopy, bind, layout_entry};
use crate::engine::{Engine, Submission};

/// How a kernel takes its input and gives its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferUse {
    /// The input is a uniform, the output an array.
    Image,
    /// The input is an array whose entries the output replaces.
    InPlace,
}

/// A kernel: its pipeline, the layout of its own bindings and their buffers.
#[derive(Debug)]
pub(crate) struct Kernel {
    form: BufferUse,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    /// Buffer sets that are not in flight.
    spare: Vec<Exchange>,
}

/// A dispatch in flight, whose results have not been read.
#[derive(Debug)]
pub(crate) struct Dispatch {
    exchange: Exchange,
    submission: Submission,
}

/// The buffers of a kernel's input, output and read-back.
#[derive(Debug)]
struct Exchange {
    /// `None` for [`BufferUse::InPlace`], where the output buffer holds the input.
    input: Option<wgpu::Buffer>,
    output: wgpu::Buffer,
    back: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
}

impl Kernel {
    pub(crate) fn new(
        engine: &Engine,
        module: &wgpu::ShaderModule,
        scene_layout: &wgpu::BindGroupLayout,
        entry: &str,
        form: BufferUse,
    ) -> Self {
        let entries = match form {
            BufferUse::Image => vec![layout_entry(0, true, true), layout_entry(1, false, false)],
            BufferUse::InPlace => vec![layout_entry(0, false, false)],
        };
        let descriptor = wgpu::BindGroupLayoutDescriptor { label: Some(entry), entries: &entries };
        let layout = engine.device.create_bind_group_layout(&descriptor);
        let pipeline_layout = engine.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(entry),
            bind_group_layouts: &[Some(scene_layout), Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = engine.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(&pipeline_layout),
            module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Self { form, pipeline, layout, spare: Vec::new() }
    }

    /// The same kernel without buffers, for another tracer.
    pub(crate) fn without_buffers(&self) -> Self {
        let Self { form, pipeline, layout, .. } = self;
        Self { form: *form, pipeline: pipeline.clone(), layout: layout.clone(), spare: Vec::new() }
    }

    /// Starts the kernel on a scene: uploads `input`, dispatches `groups` workgroups in x and y, and copies `bytes` of
    /// output to a mappable buffer.
    pub(crate) fn dispatch(
        &mut self,
        engine: &Engine,
        scene: &SceneCopy,
        input: &[u8],
        groups: [u32; 2],
        bytes: u64,
    ) -> Dispatch {
        let exchange = self.exchange(engine, input.len() as u64, bytes);
        engine.queue.write_buffer(exchange.input.as_ref().unwrap_or(&exchange.output), 0, input);
        let mut encoder = engine.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, scene.bind_group(), &[]);
        pass.set_bind_group(1, &exchange.bind_group, &[]);
        pass.dispatch_workgroups(groups[0], groups[1], 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&exchange.output, 0, &exchange.back, 0, bytes);
        let submission = engine.submit(encoder.finish(), &exchange.back, bytes);
        Dispatch { exchange, submission }
    }

    /// Waits for the results of `dispatched` and passes their bytes to `take`.
    pub(crate) fn answer<T>(
        &mut self,
        engine: &Engine,
        dispatched: Dispatch,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, TraceError> {
        let taken = engine.read(dispatched.submission, &dispatched.exchange.back, take)?;
        self.spare.push(dispatched.exchange);
        Ok(taken)
    }

    /// A spare buffer set if it is large enough, else a new one in its place.
    fn exchange(&mut self, engine: &Engine, input_bytes: u64, output_bytes: u64) -> Exchange {
        let fits = |kept: &Exchange| {
            kept.output.size() >= output_bytes && kept.input.as_ref().is_none_or(|input| input.size() >= input_bytes)
        };
        if let Some(exchange) = self.spare.pop().filter(fits) {
            return exchange;
        }
        let buffer = |label, size, usage| {
            let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
            engine.device.create_buffer(&descriptor)
        };
        let both_ways = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let output = buffer("output", output_bytes, wgpu::BufferUsages::STORAGE | both_ways);
        let back = buffer("back", output_bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        let input = (self.form == BufferUse::Image)
            .then(|| buffer("input", input_bytes, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST));
        let bind_group = bind(engine, &self.layout, input.iter().chain([&output]));
        Exchange { input, output, back, bind_group }
    }
}

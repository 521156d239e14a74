//! A kernel and the buffers through which it is asked and answers, kept between calls: as many
//! sets as are under way at once, so that results are read while the next are traced. A
//! kernel of images reads a uniform and writes a storage buffer; that of beams writes each
//! return where the beam was, so that with the scene's seven it takes eight storage
//! buffers, as many as WebGPU promises.

use selene_scene::TraceError;

use crate::copy::{SceneCopy, bind, layout_entry};
use crate::engine::{Engine, Submission};

/// How a kernel is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A uniform in, an array out.
    Image,
    /// An array whose entries are replaced.
    InPlace,
}

/// A kernel: its pipeline, the layout of its own bindings and their buffers.
#[derive(Debug)]
pub(crate) struct Kernel {
    form: Form,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    /// Those that are not under way.
    spare: Vec<Exchange>,
}

/// What a kernel was asked and has not been read.
#[derive(Debug)]
pub(crate) struct Asked {
    exchange: Exchange,
    submission: Submission,
}

/// The buffers of a kernel's input, output and read-back.
#[derive(Debug)]
struct Exchange {
    /// None where the output's own buffer has the input.
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
        form: Form,
    ) -> Self {
        let entries = match form {
            Form::Image => vec![layout_entry(0, true, true), layout_entry(1, false, false)],
            Form::InPlace => vec![layout_entry(0, false, false)],
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

    /// The same kernel, to be asked by somebody else.
    pub(crate) fn without_buffers(&self) -> Self {
        let Self { form, pipeline, layout, .. } = self;
        Self { form: *form, pipeline: pipeline.clone(), layout: layout.clone(), spare: Vec::new() }
    }

    /// Begins to run over a scene: `input` up, `groups` of it dispatched, `bytes` on their way back.
    pub(crate) fn ask(
        &mut self,
        engine: &Engine,
        scene: &SceneCopy,
        input: &[u8],
        groups: [u32; 2],
        bytes: u64,
    ) -> Asked {
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
        Asked { exchange, submission }
    }

    /// Waits for the bytes that were asked for, which `take` is given.
    pub(crate) fn answer<T>(
        &mut self,
        engine: &Engine,
        asked: Asked,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, TraceError> {
        let taken = engine.read(asked.submission, &asked.exchange.back, take)?;
        self.spare.push(asked.exchange);
        Ok(taken)
    }

    /// Spare buffers if they are large enough, else new ones in their place.
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
        let input = (self.form == Form::Image)
            .then(|| buffer("input", input_bytes, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST));
        let bind_group = bind(engine, &self.layout, input.iter().chain([&output]));
        Exchange { input, output, back, bind_group }
    }
}

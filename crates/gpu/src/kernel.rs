//! A compute kernel with its input, output and read-back buffers, which are kept between calls: one set
//! for each dispatch in flight, so that results are read while the next are traced. A kernel of images
//! reads a uniform and writes a storage buffer; the kernel of beams replaces each beam by its return, so
//! that with the scene's seven it uses eight storage buffers, as many as WebGPU guarantees.
//!
//! A kernel is compiled for what an image needs, when an image first needs it: code for several rays to
//! the Sun's disc halved the speed of images with one ray, although it did not run for them (H200).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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

/// What images or beams need of a kernel; the WGSL constants of the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needs {
    /// Several rays to the Sun's disc.
    pub(crate) sun_disc: bool,
    /// Several rays to the Earth's disc.
    pub(crate) earth_disc: bool,
    /// Lamps, also dark ones: switching one does not compile a kernel in the middle of a run.
    pub(crate) lamps: bool,
}

impl Needs {
    fn constants(self) -> [(&'static str, f64); 3] {
        let value = |needed: bool| f64::from(u8::from(needed));
        [("SUN_DISC", value(self.sun_disc)), ("EARTH_DISC", value(self.earth_disc)), ("LAMPS", value(self.lamps))]
    }
}

/// The input of a dispatch: its size, and what writes it to a buffer before the next submission.
pub(crate) struct Input<'a> {
    pub(crate) bytes: u64,
    pub(crate) write: &'a dyn Fn(&wgpu::Buffer),
}

/// The pipelines of a kernel, compiled on first use.
#[derive(Debug)]
struct Pipelines {
    entry: &'static str,
    module: wgpu::ShaderModule,
    layout: wgpu::PipelineLayout,
    /// Locked only to find an entry: one tracer does not wait while another's kernel is compiled.
    compiled: Mutex<BTreeMap<Needs, Arc<OnceLock<wgpu::ComputePipeline>>>>,
}

impl Pipelines {
    fn pipeline(&self, engine: &Engine, needs: Needs) -> wgpu::ComputePipeline {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Arc::clone(compiled.entry(needs).or_default());
        drop(compiled);
        entry.get_or_init(|| self.compile(engine, needs)).clone()
    }

    fn compile(&self, engine: &Engine, needs: Needs) -> wgpu::ComputePipeline {
        let constants = needs.constants();
        engine.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(self.entry),
            layout: Some(&self.layout),
            module: &self.module,
            entry_point: Some(self.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        })
    }
}

/// A kernel: its pipelines, the layout of its own bindings and their buffers.
#[derive(Debug)]
pub(crate) struct Kernel {
    form: BufferUse,
    /// Shared by the tracers of one device.
    pipelines: Arc<Pipelines>,
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
        entry: &'static str,
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
        let (module, compiled) = (module.clone(), Mutex::default());
        let pipelines = Arc::new(Pipelines { entry, module, layout: pipeline_layout, compiled });
        Self { form, pipelines, layout, spare: Vec::new() }
    }

    /// Compiles the kernel, if that was not done before; the engine keeps what the driver has against it.
    pub(crate) fn compile(&self, engine: &Engine, needs: Needs) {
        self.pipelines.pipeline(engine, needs);
    }

    /// The same kernel without buffers, for another tracer.
    pub(crate) fn without_buffers(&self) -> Self {
        let Self { form, pipelines, layout, .. } = self;
        Self { form: *form, pipelines: Arc::clone(pipelines), layout: layout.clone(), spare: Vec::new() }
    }

    /// Starts the kernel on a scene with what it needs there: uploads the input, dispatches `groups` workgroups in x and
    /// y, and copies `bytes` of output to a mappable buffer.
    pub(crate) fn dispatch(
        &mut self,
        engine: &Engine,
        (scene, needs): (&SceneCopy, Needs),
        input: Input<'_>,
        groups: [u32; 2],
        bytes: u64,
    ) -> Dispatch {
        let exchange = self.exchange(engine, input.bytes, bytes);
        (input.write)(exchange.input.as_ref().unwrap_or(&exchange.output));
        let mut encoder = engine.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipelines.pipeline(engine, needs));
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

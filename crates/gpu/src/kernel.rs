//! A compute kernel, or several that run one after the other, with buffers for input, output and reading back, which are
//! kept between calls: one set for each dispatch in flight, so that results are read while the next are traced. Kernels
//! have an array, and some a uniform; results stand in the array, with or in place of what they are made from, so that
//! with the scene's seven a kernel uses eight storage buffers, as many as WebGPU guarantees.
//!
//! A kernel is compiled for what an image needs, when an image first needs it: code for several rays to
//! the Sun's disc halved the speed of images with one ray, although it did not run for them (H200).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use selene_scene::TraceError;

use crate::copy::{SceneCopy, bind, layout_entry};
use crate::engine::{Engine, Submission};

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

/// What a dispatch computes.
pub(crate) struct Task<'a> {
    /// Content of the uniform; empty for a kernel without one.
    pub(crate) uniform: &'a [u8],
    /// Size of the array, bytes.
    pub(crate) array_bytes: u64,
    /// Writes what the kernel reads of the array, before the next submission.
    pub(crate) write: &'a dyn Fn(&wgpu::Buffer),
    /// Workgroups in x and y of the entry points to run, the first ones of the kernel.
    pub(crate) groups: &'a [[u32; 2]],
    /// Bytes of the array that are read back.
    pub(crate) results: Range<u64>,
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
    has_uniform: bool,
    /// One for each entry point, in the order in which they run. Shared by the tracers of one device.
    pipelines: Arc<[Pipelines]>,
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

/// The buffers of a kernel's bindings and the one that results are read from.
#[derive(Debug)]
struct Exchange {
    uniform: Option<wgpu::Buffer>,
    array: wgpu::Buffer,
    back: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
}

impl Kernel {
    pub(crate) fn new(
        engine: &Engine,
        module: &wgpu::ShaderModule,
        scene_layout: &wgpu::BindGroupLayout,
        entries: &[&'static str],
        has_uniform: bool,
    ) -> Self {
        let label = entries.first().copied();
        let bindings = if has_uniform {
            vec![layout_entry(0, true, true), layout_entry(1, false, false)]
        } else {
            vec![layout_entry(0, false, false)]
        };
        let descriptor = wgpu::BindGroupLayoutDescriptor { label, entries: &bindings };
        let layout = engine.device.create_bind_group_layout(&descriptor);
        let pipeline_layout = engine.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(scene_layout), Some(&layout)],
            immediate_size: 0,
        });
        let of_entry = |entry: &&'static str| {
            let (module, layout) = (module.clone(), pipeline_layout.clone());
            Pipelines { entry, module, layout, compiled: Mutex::default() }
        };
        Self { has_uniform, pipelines: entries.iter().map(of_entry).collect(), layout, spare: Vec::new() }
    }

    /// Compiles the kernel, if that was not done before; the engine keeps what the driver has against it.
    pub(crate) fn compile(&self, engine: &Engine, needs: Needs) {
        for pipelines in self.pipelines.iter() {
            pipelines.pipeline(engine, needs);
        }
    }

    /// The same kernel without buffers, for another tracer.
    pub(crate) fn without_buffers(&self) -> Self {
        let Self { has_uniform, pipelines, layout, .. } = self;
        let (pipelines, layout) = (Arc::clone(pipelines), layout.clone());
        Self { has_uniform: *has_uniform, pipelines, layout, spare: Vec::new() }
    }

    /// Starts the kernel on a scene with what it needs there: uploads the input, dispatches the workgroups, and copies
    /// the results to a mappable buffer.
    pub(crate) fn dispatch(
        &mut self,
        engine: &Engine,
        (scene, needs): (&SceneCopy, Needs),
        task: Task<'_>,
    ) -> Dispatch {
        let bytes = task.results.end - task.results.start;
        let exchange = self.exchange(engine, task.uniform.len() as u64, task.array_bytes, bytes);
        if let Some(uniform) = &exchange.uniform {
            engine.queue.write_buffer(uniform, 0, task.uniform);
        }
        (task.write)(&exchange.array);
        let mut encoder = engine.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_bind_group(0, scene.bind_group(), &[]);
        pass.set_bind_group(1, &exchange.bind_group, &[]);
        for (pipelines, [x, y]) in self.pipelines.iter().zip(task.groups) {
            pass.set_pipeline(&pipelines.pipeline(engine, needs));
            pass.dispatch_workgroups(*x, *y, 1);
        }
        drop(pass);
        encoder.copy_buffer_to_buffer(&exchange.array, task.results.start, &exchange.back, 0, bytes);
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
    fn exchange(&mut self, engine: &Engine, uniform_bytes: u64, array_bytes: u64, back_bytes: u64) -> Exchange {
        let fits = |kept: &Exchange| kept.array.size() >= array_bytes && kept.back.size() >= back_bytes;
        if let Some(exchange) = self.spare.pop().filter(fits) {
            return exchange;
        }
        let buffer = |label, size, usage| {
            let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
            engine.device.create_buffer(&descriptor)
        };
        let both_ways = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let array = buffer("array", array_bytes, wgpu::BufferUsages::STORAGE | both_ways);
        let back = buffer("back", back_bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        let uniform = self
            .has_uniform
            .then(|| buffer("uniform", uniform_bytes, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST));
        let bind_group = bind(engine, &self.layout, uniform.iter().chain([&array]));
        Exchange { uniform, array, back, bind_group }
    }
}

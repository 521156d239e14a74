//! The `Tracer` on a device: scene up, one dispatch, results back.

use selene_scene::kernel::WGSL;
use selene_scene::record::{BeamRecord, CameraRecord, GlobalsRecord, PixelRecord, ReturnRecord, TruthRecord};
use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, Scene, TraceError, Tracer, TruthFrame};

use crate::copy::{self, SceneCopy, layout_entry};
use crate::engine::Engine;

/// Pixels on a side of a workgroup; as in trace.wgsl.
const CAMERA_GROUP: u32 = 8;

/// Beams of a workgroup; as in trace.wgsl.
const BEAM_GROUP: u32 = 64;

/// A kernel: its pipeline and the layout of its own bindings (input, output).
#[derive(Debug)]
struct Kernel {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// Buffers of a kernel's input, output and read-back, kept between calls.
#[derive(Debug)]
struct Exchange {
    input: wgpu::Buffer,
    output: wgpu::Buffer,
    back: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
}

/// Traces on a GPU.
#[derive(Debug)]
pub struct GpuTracer {
    engine: Engine,
    scene_layout: wgpu::BindGroupLayout,
    camera: Kernel,
    beams: Kernel,
    truth: Kernel,
    copy: Option<SceneCopy>,
    camera_exchange: Option<Exchange>,
    beams_exchange: Option<Exchange>,
    truth_exchange: Option<Exchange>,
}

impl GpuTracer {
    /// Opens the best GPU of this machine; none when there is none. A software
    /// Vulkan device counts only with `allow_software`.
    ///
    /// # Errors
    /// When a device is there but cannot be used.
    pub fn open(allow_software: bool) -> Result<Option<Self>, TraceError> {
        let Some(engine) = Engine::open(allow_software)? else { return Ok(None) };
        let module = engine.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("kernels"),
            source: wgpu::ShaderSource::Wgsl(WGSL.into()),
        });
        let scene_layout = copy::layout(&engine);
        let camera = kernel(&engine, &module, &scene_layout, "camera", true);
        let beams = kernel(&engine, &module, &scene_layout, "beams", false);
        let truth = kernel(&engine, &module, &scene_layout, "truth", true);
        engine.check()?;
        Ok(Some(Self {
            engine,
            scene_layout,
            camera,
            beams,
            truth,
            copy: None,
            camera_exchange: None,
            beams_exchange: None,
            truth_exchange: None,
        }))
    }

    /// Brings the device's copy of the scene up to date.
    fn upload(&mut self, scene: &Scene, beam_count: u32) -> Result<&SceneCopy, TraceError> {
        self.engine.check()?;
        let kept = self.copy.take().filter(|copy| copy.is_of(scene));
        let copy = match kept {
            Some(mut copy) => {
                copy.update(&self.engine, &self.scene_layout, scene)?;
                copy
            }
            None => SceneCopy::new(&self.engine, &self.scene_layout, scene)?,
        };
        let records = scene.records();
        let globals = GlobalsRecord { beam_count, ..records.globals };
        copy.set_lights(&self.engine, &globals, records.lamps);
        Ok(self.copy.insert(copy))
    }
}

impl Tracer for GpuTracer {
    fn device(&self) -> String {
        self.engine.name.clone()
    }

    fn camera(&mut self, scene: &Scene, view: &CameraView, frame: &mut CameraFrame) -> Result<(), TraceError> {
        view.check()?;
        let pixels = u64::from(view.width) * u64::from(view.height);
        let bytes = pixels * size_of::<PixelRecord>() as u64;
        self.engine.check_size("the image's pixels", bytes)?;
        self.upload(scene, 0)?;
        let camera = CameraRecord::new(view, scene.records().middle_m);
        let exchange =
            grown(&self.engine, &self.camera, self.camera_exchange.take(), size_of_val(&camera) as u64, bytes, true);
        self.engine.queue.write_buffer(&exchange.input, 0, bytemuck::bytes_of(&camera));
        let groups = [view.width.div_ceil(CAMERA_GROUP), view.height.div_ceil(CAMERA_GROUP)];
        self.dispatch(&self.camera, &exchange, groups, bytes);
        frame.resize(view.width, view.height);
        let filled = self.engine.read(&exchange.back, bytes, |bytes| frame.fill(bytemuck::cast_slice(bytes)));
        self.camera_exchange = Some(exchange);
        filled?;
        frame.finish(scene, view);
        Ok(())
    }

    fn truth(&mut self, scene: &Scene, view: &CameraView, frame: &mut TruthFrame) -> Result<(), TraceError> {
        view.check()?;
        let bytes = u64::from(view.width) * u64::from(view.height) * size_of::<TruthRecord>() as u64;
        self.engine.check_size("the image's truth", bytes)?;
        self.upload(scene, 0)?;
        let camera = CameraRecord::new(view, scene.records().middle_m);
        let input_bytes = size_of_val(&camera) as u64;
        let exchange = grown(&self.engine, &self.truth, self.truth_exchange.take(), input_bytes, bytes, true);
        self.engine.queue.write_buffer(&exchange.input, 0, bytemuck::bytes_of(&camera));
        let groups = [view.width.div_ceil(CAMERA_GROUP), view.height.div_ceil(CAMERA_GROUP)];
        self.dispatch(&self.truth, &exchange, groups, bytes);
        let filled = self.engine.read(&exchange.back, bytes, |bytes| frame.fill(bytemuck::cast_slice(bytes)));
        self.truth_exchange = Some(exchange);
        filled
    }

    fn beams(&mut self, scene: &Scene, beams: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError> {
        out.clear();
        if beams.is_empty() {
            return Ok(());
        }
        let middle_m = scene.records().middle_m;
        let input: Vec<_> = beams.iter().map(|beam| BeamRecord::new(beam, middle_m)).collect();
        let bytes = (beams.len() * size_of::<ReturnRecord>()) as u64;
        let input_bytes = size_of_val(input.as_slice()) as u64;
        self.engine.check_size("the beams", input_bytes.max(bytes))?;
        self.upload(scene, beams.len() as u32)?;
        let exchange = grown(&self.engine, &self.beams, self.beams_exchange.take(), input_bytes, bytes, false);
        self.engine.queue.write_buffer(&exchange.input, 0, bytemuck::cast_slice(&input));
        self.dispatch(&self.beams, &exchange, [(beams.len() as u32).div_ceil(BEAM_GROUP), 1], bytes);
        let returned = self.engine.read(&exchange.back, bytes, |bytes| {
            let records: &[ReturnRecord] = bytemuck::cast_slice(bytes);
            out.extend(records.iter().map(BeamReturn::from));
        });
        self.beams_exchange = Some(exchange);
        returned
    }
}

impl GpuTracer {
    /// Runs a kernel over the current scene and copies its output back.
    fn dispatch(&self, kernel: &Kernel, exchange: &Exchange, [x, y]: [u32; 2], bytes: u64) {
        let mut encoder = self.engine.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, self.copy.as_ref().map(SceneCopy::bind_group), &[]);
        pass.set_bind_group(1, &exchange.bind_group, &[]);
        pass.dispatch_workgroups(x, y, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&exchange.output, 0, &exchange.back, 0, bytes);
        self.engine.queue.submit([encoder.finish()]);
    }
}

fn kernel(
    engine: &Engine,
    module: &wgpu::ShaderModule,
    scene_layout: &wgpu::BindGroupLayout,
    entry: &str,
    uniform_input: bool,
) -> Kernel {
    let entries = [layout_entry(0, uniform_input, true), layout_entry(1, false, false)];
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
    Kernel { pipeline, layout }
}

/// The kept buffers if they are large enough, else new ones.
fn grown(
    engine: &Engine,
    kernel: &Kernel,
    kept: Option<Exchange>,
    input_bytes: u64,
    output_bytes: u64,
    uniform_input: bool,
) -> Exchange {
    let fits = |e: &Exchange| e.input.size() >= input_bytes && e.output.size() >= output_bytes;
    if let Some(exchange) = kept.filter(fits) {
        return exchange;
    }
    let buffer = |label, size, usage| {
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        engine.device.create_buffer(&descriptor)
    };
    let kind = if uniform_input { wgpu::BufferUsages::UNIFORM } else { wgpu::BufferUsages::STORAGE };
    let input = buffer("input", input_bytes, kind | wgpu::BufferUsages::COPY_DST);
    let output = buffer("output", output_bytes, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
    let back = buffer("back", output_bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let bind_group = copy::bind(engine, &kernel.layout, [&input, &output]);
    Exchange { input, output, back, bind_group }
}

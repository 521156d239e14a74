//! The `Tracer` on a GPU: uploads the scene, dispatches kernels and reads the results. A large image is
//! traced some rows at a time and a long list of beams some beams at a time, so that limits on the size
//! of buffers and dispatches do not limit them, and no dispatch occupies the device for long. The next
//! part is submitted before the last one is read: the device traces while results are copied and unpacked.

use std::sync::Arc;

use bytemuck::Pod;
use rayon::prelude::*;
use selene_scene::kernel::echo::ECHO_GROUP;
use selene_scene::kernel::{BEAM_GROUP, CAMERA_GROUP, WGSL};
use selene_scene::record::{
    BarePixelRecord, BeamRecord, CameraRecord, EchoRecord, GlobalsRecord, PixelRecord, ReceiverRecord, ReportRecord,
    ReturnRecord, TruthRecord, WideBeamRecord,
};
use selene_scene::{
    Beam, BeamReturn, CameraFrame, CameraView, Echo, Echoes, Receiver, Scene, TraceError, Tracer, TruthFrame, WideBeam,
};

use crate::copy::{self, SceneCopy};
use crate::engine::{Engine, adapter_names};
use crate::kernel::{Dispatch, Kernel, Needs, Task};

/// Maximum size of the results of one dispatch, bytes: a third to half a million pixels, enough to occupy a large
/// device and few enough that an image of 1280 × 720 is read while it is traced.
const DISPATCH_BYTES: u64 = 10 << 20;

/// Most workgroups along one side of a dispatch that every device allows.
const GROUPS_MAX: u64 = 65_535;

/// Beams of one parallel task that converts them.
const BEAMS_A_TASK: usize = 1 << 14;

/// Traces on a GPU.
#[derive(Debug)]
pub struct GpuTracer {
    engine: Arc<Engine>,
    scene_layout: wgpu::BindGroupLayout,
    camera: Kernel,
    bare_camera: Kernel,
    beams: Kernel,
    echoes: Kernel,
    truth: Kernel,
    copy: Option<SceneCopy>,
}

/// Turns a tracer's device off, from any thread: its memory is freed, and every tracer on it
/// returns the error that the device is lost, as when a driver loses it.
#[derive(Clone, Debug)]
pub struct OffSwitch(wgpu::Device);

impl OffSwitch {
    /// Turns the device off for good.
    pub fn turn_off(&self) {
        self.0.destroy();
    }
}

impl GpuTracer {
    /// Opens the best GPU of this machine; `None` if there is none. A software
    /// Vulkan device counts only with `allow_software`.
    ///
    /// # Errors
    /// When a device is there but cannot be used.
    pub fn open(allow_software: bool) -> Result<Option<Self>, TraceError> {
        Engine::open(allow_software)?.map(Self::on).transpose()
    }

    /// Opens the GPU with this index in the order of [`GpuTracer::adapters`]; `None` if there are fewer.
    ///
    /// # Errors
    /// When it is there but cannot be used.
    pub fn open_at(number: usize) -> Result<Option<Self>, TraceError> {
        Engine::open_at(number)?.map(Self::on).transpose()
    }

    /// The names of this machine's GPUs, best first, and whether each is software.
    #[must_use]
    pub fn adapters() -> Vec<(String, bool)> {
        adapter_names()
    }

    fn on(engine: Engine) -> Result<Self, TraceError> {
        let module = engine.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("kernels"),
            source: wgpu::ShaderSource::Wgsl(WGSL.into()),
        });
        let scene_layout = copy::layout(&engine);
        let kernel =
            |entries: &[&'static str], has_uniform| Kernel::new(&engine, &module, &scene_layout, entries, has_uniform);
        let [camera, bare_camera, truth] = ["camera", "bare_camera", "truth"].map(|entry| kernel(&[entry], true));
        let beams = kernel(&["beams"], false);
        let echoes = kernel(&["ray_echoes", "beam_echoes"], true);
        // The smallest one, so that a driver that refuses our kernels does so here.
        beams.compile(&engine, Needs::default());
        engine.check()?;
        Ok(Self { engine: Arc::new(engine), scene_layout, camera, bare_camera, beams, echoes, truth, copy: None })
    }

    /// Another tracer on the same device for another scene; each tracer keeps its own copy of its scene there.
    #[must_use]
    pub fn for_another_scene(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            scene_layout: self.scene_layout.clone(),
            camera: self.camera.without_buffers(),
            bare_camera: self.bare_camera.without_buffers(),
            beams: self.beams.without_buffers(),
            echoes: self.echoes.without_buffers(),
            truth: self.truth.without_buffers(),
            copy: None,
        }
    }

    /// The device.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// A switch that turns this tracer's device off.
    #[must_use]
    pub fn off_switch(&self) -> OffSwitch {
        OffSwitch(self.engine.device.clone())
    }
}

impl Tracer for GpuTracer {
    fn device(&self) -> String {
        self.engine.name.clone()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.engine.device.generate_allocator_report().map(|report| report.total_allocated_bytes)
    }

    fn camera(&mut self, scene: &Scene, view: &CameraView, frame: &mut CameraFrame) -> Result<(), TraceError> {
        view.check()?;
        frame.resize(view.width, view.height);
        let copy = uploaded(&self.engine, &self.scene_layout, &mut self.copy, scene, 0)?;
        let (engine, record) = (&self.engine, CameraRecord::new(view, scene.records().middle_m));
        let on = (copy, needs(scene, view));
        if view.light.bounce_rays > 0 {
            let fill = |first: usize, pixels: &[PixelRecord]| frame.fill(scene, first, pixels);
            image(engine, &mut self.camera, on, &record, fill)?;
        } else {
            let fill = |first: usize, pixels: &[BarePixelRecord]| frame.fill(scene, first, pixels);
            image(engine, &mut self.bare_camera, on, &record, fill)?;
        }
        frame.denoise(scene, view);
        frame.see_dust(scene, view);
        Ok(())
    }

    fn truth(&mut self, scene: &Scene, view: &CameraView, frame: &mut TruthFrame) -> Result<(), TraceError> {
        view.check()?;
        frame.clear();
        let copy = uploaded(&self.engine, &self.scene_layout, &mut self.copy, scene, 0)?;
        let append = |_, pixels: &[TruthRecord]| frame.append(pixels);
        let record = CameraRecord::new(view, scene.records().middle_m);
        let of_light = Needs { sun_disc: view.light.sun_samples > 1, ..Needs::default() };
        image(&self.engine, &mut self.truth, (copy, of_light), &record, append)
    }

    fn beams(&mut self, scene: &Scene, beams: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError> {
        out.clear();
        out.reserve(beams.len());
        let middle_m = scene.records().middle_m;
        let mut take = |bytes: &[u8]| {
            let records: &[BeamRecord] = bytemuck::cast_slice(bytes);
            let returns = records.par_iter().with_min_len(BEAMS_A_TASK / 8);
            out.par_extend(returns.map(|record| BeamReturn::of(scene, &ReturnRecord::in_place_of(record))));
        };
        let mut dispatched = None;
        for some in beams.chunks(beams_at_once(&self.engine)) {
            let count = some.len() as u32;
            let copy = uploaded(&self.engine, &self.scene_layout, &mut self.copy, scene, count)?;
            let bytes = (some.len() * size_of::<BeamRecord>()) as u64;
            let task = Task {
                uniform: &[],
                array_bytes: bytes,
                write: &|array| write(&self.engine, array, some, |beam| BeamRecord::new(beam, middle_m)),
                groups: &[[count.div_ceil(BEAM_GROUP), 1]],
                results: 0..bytes,
            };
            let next = self.beams.dispatch(&self.engine, (copy, Needs::default()), task);
            if let Some(last) = dispatched.replace(next) {
                self.beams.answer(&self.engine, last, &mut take)?;
            }
        }
        dispatched.map_or(Ok(()), |last| self.beams.answer(&self.engine, last, take))
    }

    fn echoes(
        &mut self,
        scene: &Scene,
        beams: &[WideBeam],
        receiver: &Receiver,
        out: &mut Vec<Echoes>,
    ) -> Result<(), TraceError> {
        out.clear();
        out.reserve(beams.len());
        let all = ReceiverRecord::new(receiver, scene, beams.len() as u32)?;
        let at_once = wide_beams_at_once(&self.engine, receiver.rays.len());
        let copy = uploaded(&self.engine, &self.scene_layout, &mut self.copy, scene, 0)?;
        // Equal parts: the beams of one are uploaded while the one before is traced.
        let parts = beams.len().div_ceil(at_once).max(1);
        let mut dispatched = None;
        for some in beams.chunks(beams.len().div_ceil(parts).max(1)) {
            let receiver = ReceiverRecord { beams: some.len() as u32, ..all };
            let next = start_echoes(&self.engine, &mut self.echoes, copy, (scene, &receiver, some));
            if let Some((last, answer)) = dispatched.replace((next, (receiver, some))) {
                self.echoes.answer(&self.engine, last, |bytes| take_echoes(scene, answer, bytes, out))?;
            }
        }
        let Some((last, answer)) = dispatched else { return Ok(()) };
        self.echoes.answer(&self.engine, last, |bytes| take_echoes(scene, answer, bytes, out))
    }
}

/// Starts tracing some of a lidar's beams. The array holds the beams, then the echoes of their rays, then what is
/// reported of each beam. Where there is dust, which the device does not handle, the rays' echoes are read back, else
/// the reports.
fn start_echoes(
    engine: &Engine,
    kernel: &mut Kernel,
    copy: &SceneCopy,
    (scene, receiver, beams): (&Scene, &ReceiverRecord, &[WideBeam]),
) -> Dispatch {
    let (count, rays) = (receiver.beams, receiver.beams * receiver.rays_of_beam);
    let after_beams = size_of::<WideBeamRecord>() as u64 * u64::from(count);
    let after_rays = after_beams + size_of::<EchoRecord>() as u64 * u64::from(rays);
    let end = after_rays + 2 * size_of::<ReportRecord>() as u64 * u64::from(count);
    let middle_m = scene.records().middle_m;
    let ray_groups = [rays.div_ceil(ECHO_GROUP), 1];
    let beam_groups = [count.div_ceil(ECHO_GROUP), 1];
    let with_reports = [ray_groups, beam_groups];
    let is_dusty = scene.is_dusty();
    let task = Task {
        uniform: bytemuck::bytes_of(receiver),
        array_bytes: end,
        write: &|array| write(engine, array, beams, |beam| WideBeamRecord::new(beam, middle_m)),
        groups: if is_dusty { &with_reports[..1] } else { &with_reports },
        results: if is_dusty { after_beams..after_rays } else { after_rays..end },
    };
    kernel.dispatch(engine, (copy, Needs::default()), task)
}

/// Appends what is reported of some beams, of whose tracing `bytes` was read back.
fn take_echoes(scene: &Scene, (receiver, beams): (ReceiverRecord, &[WideBeam]), bytes: &[u8], out: &mut Vec<Echoes>) {
    if scene.is_dusty() {
        let middle_m = scene.records().middle_m;
        let beams: Vec<_> = beams.iter().map(|beam| WideBeamRecord::new(beam, middle_m)).collect();
        out.append(&mut receiver.reports_of(scene, &beams, bytemuck::cast_slice(bytes)));
        return;
    }
    let reports: &[[ReportRecord; 2]] = bytemuck::cast_slice(bytes);
    let reports = reports.par_iter().with_min_len(BEAMS_A_TASK / 8);
    out.par_extend(reports.map(|reports| reports.map(|report| Echo::of(&report, scene.label(report.code)))));
}

/// Writes beams to the beginning of a device's array, by all threads: they are as large as an image's results.
fn write<B: Sync, R: Pod + Send>(engine: &Engine, array: &wgpu::Buffer, beams: &[B], record: impl Fn(&B) -> R + Sync) {
    beams.par_chunks(BEAMS_A_TASK).enumerate().for_each(|(task, beams)| {
        let records: Vec<R> = beams.iter().map(&record).collect();
        let offset = (task * BEAMS_A_TASK * size_of::<R>()) as u64;
        engine.queue.write_buffer(array, offset, bytemuck::cast_slice(&records));
    });
}

/// What the light of an image needs of a kernel.
fn needs(scene: &Scene, view: &CameraView) -> Needs {
    Needs {
        sun_disc: view.light.sun_samples > 1,
        earth_disc: view.light.earth_samples > 1,
        lamps: !scene.lamps().is_empty(),
    }
}

/// Brings the device's copy of the scene up to date.
fn uploaded<'a>(
    engine: &Engine,
    layout: &wgpu::BindGroupLayout,
    kept: &'a mut Option<SceneCopy>,
    scene: &Scene,
    beam_count: u32,
) -> Result<&'a SceneCopy, TraceError> {
    engine.check()?;
    let copy = match kept.take().filter(|copy| copy.is_of(scene)) {
        Some(mut copy) => {
            copy.update(engine, layout, scene)?;
            copy
        }
        None => SceneCopy::new(engine, layout, scene)?,
    };
    let records = scene.records();
    copy.set_lights(engine, &GlobalsRecord { beam_count, ..records.globals }, records.lamps);
    Ok(kept.insert(copy))
}

/// Traces an image in parts of as many rows as fit in a dispatch; passes each part to `take`
/// with the index of its first pixel.
fn image<R: Pod>(
    engine: &Engine,
    kernel: &mut Kernel,
    scene: (&SceneCopy, Needs),
    camera: &CameraRecord,
    mut take: impl FnMut(usize, &[R]),
) -> Result<(), TraceError> {
    let [width, height] = camera.size;
    let row_bytes = u64::from(width) * size_of::<R>() as u64;
    let at_once = rows_at_once(row_bytes, engine.buffer_bytes_max());
    engine.check_size("eight rows of an image", u64::from(at_once) * row_bytes)?;
    let mut dispatched = None;
    let mut answer = |kernel: &mut Kernel, (first_pixel, part)| {
        kernel.answer(engine, part, |bytes| take(first_pixel, bytemuck::cast_slice(bytes)))
    };
    for first_row in (0..height).step_by(at_once as usize) {
        let rows = at_once.min(height - first_row);
        let part = CameraRecord { first_row, ..*camera };
        let groups = [width.div_ceil(CAMERA_GROUP), rows.div_ceil(CAMERA_GROUP)];
        let first_pixel = first_row as usize * width as usize;
        let bytes = u64::from(rows) * row_bytes;
        let task = Task {
            uniform: bytemuck::bytes_of(&part),
            array_bytes: bytes,
            write: &|_| (),
            groups: &[groups],
            results: 0..bytes,
        };
        let next = kernel.dispatch(engine, scene, task);
        if let Some(last) = dispatched.replace((first_pixel, next)) {
            answer(kernel, last)?;
        }
    }
    dispatched.map_or(Ok(()), |last| answer(kernel, last))
}

/// Rows of a dispatch: a multiple of `CAMERA_GROUP`, so that no workgroup writes beyond its part.
fn rows_at_once(row_bytes: u64, buffer_bytes_max: u64) -> u32 {
    let groups = DISPATCH_BYTES.min(buffer_bytes_max) / (row_bytes * u64::from(CAMERA_GROUP));
    groups.clamp(1, GROUPS_MAX) as u32 * CAMERA_GROUP
}

/// A lidar's beams of a dispatch, with their rays and reports.
fn wide_beams_at_once(engine: &Engine, rays: usize) -> usize {
    let beam_bytes = size_of::<WideBeamRecord>() + rays * size_of::<EchoRecord>() + 2 * size_of::<ReportRecord>();
    let by_bytes = DISPATCH_BYTES.min(engine.buffer_bytes_max()) as usize / beam_bytes;
    let ray_groups = engine.device.limits().max_compute_workgroups_per_dimension as usize;
    by_bytes.min(ray_groups * ECHO_GROUP as usize / rays).max(1)
}

fn beams_at_once(engine: &Engine) -> usize {
    let by_bytes = DISPATCH_BYTES.min(engine.buffer_bytes_max()) as usize / size_of::<BeamRecord>();
    let by_groups = engine.device.limits().max_compute_workgroups_per_dimension as usize * BEAM_GROUP as usize;
    by_bytes.min(by_groups).max(1)
}

#[cfg(test)]
mod tests {
    use super::{CAMERA_GROUP, DISPATCH_BYTES, rows_at_once};

    #[test]
    fn rows_of_a_dispatch_are_whole_groups_that_a_buffer_holds() {
        let row_bytes = [(32, 640), (20, 640), (32, 8192), (20, 8192)].map(|(pixel, width)| pixel * width);
        for (row_bytes, most) in row_bytes.into_iter().flat_map(|bytes| [(bytes, 128 << 20), (bytes, 3 << 20)]) {
            let rows = rows_at_once(row_bytes, most);
            assert_eq!(rows % CAMERA_GROUP, 0);
            let bytes = u64::from(rows) * row_bytes;
            assert!(bytes <= most && bytes <= DISPATCH_BYTES, "{row_bytes} a row: {bytes}");
            assert!(bytes + 8 * row_bytes > most.min(DISPATCH_BYTES), "{row_bytes} a row: {bytes}");
        }
        assert_eq!(rows_at_once(20, 1 << 30), 65_535 * CAMERA_GROUP);
        assert_eq!(rows_at_once(32 * 8192, 1 << 20), CAMERA_GROUP, "what does not fit is requested and refused");
    }
}

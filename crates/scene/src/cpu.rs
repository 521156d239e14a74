//! Runs the kernels on the CPU: rayon works on strips of the image and on groups of beams. A pixel's result depends on
//! that pixel alone, so the image is the same for any number of threads.

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use crate::echo::{Echoes, Receiver, WideBeam};
use crate::kernel::FAR;
use crate::kernel::truth::truth_pixel;
use crate::packet::beams::beam_returns;
use crate::record::{
    BeamRecord, CameraRecord, EchoRecord, PixelRecord, ReceiverRecord, Records, ReturnRecord, TruthRecord,
    WideBeamRecord,
};
use crate::scene::Scene;
use crate::tile::{TILE_COLUMNS, TILE_ROWS, TileTracer};
use crate::tracer::{TraceError, Tracer};
use crate::view::{Beam, BeamReturn, CameraFrame, CameraView, Class, Label, TruthFrame};

/// Rays of beams of one parallel task; packets are formed from neighbours within it.
const BEAMS_A_TASK: usize = 512;

/// Fewest pixels of one parallel task that stores them.
const PIXELS_A_TASK: usize = 4096;

/// Traces with the threads of the current rayon pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTracer;

impl Tracer for CpuTracer {
    fn device(&self) -> String {
        format!("CPU ({} threads)", rayon::current_num_threads())
    }

    fn camera(&mut self, scene: &Scene, view: &CameraView, frame: &mut CameraFrame) -> Result<(), TraceError> {
        view.check()?;
        frame.resize(view.width, view.height);
        let records = scene.records();
        let camera = CameraRecord::new(view, records.middle_m);
        let level = Level::new();
        let strip = view.width as usize * TILE_ROWS;
        let light = frame.radiance.par_chunks_mut(strip).zip(frame.scattered.par_chunks_mut(strip));
        let strips = light
            .zip(frame.depth_m.par_chunks_mut(strip))
            .zip(frame.class.par_chunks_mut(strip).zip(frame.instance.par_chunks_mut(strip)))
            .enumerate();
        strips.for_each(|(number, (((radiance, scattered), depth_m), (class, instance)))| {
            let first = (number * TILE_ROWS) as u32;
            let rows = first..view.height.min(first + TILE_ROWS as u32);
            let mut tile = TileTracer::new(level);
            for left in (0..view.width).step_by(TILE_COLUMNS) {
                let columns = left..view.width.min(left + TILE_COLUMNS as u32);
                tile.trace(&records, &camera, [columns, rows.clone()], |[column, row], pixel| {
                    let at = (row - first) as usize * view.width as usize + column as usize;
                    radiance[at] = pixel.radiance;
                    scattered[at] = pixel.scattered;
                    depth_m[at] = depth_of(pixel);
                    let label = scene.label(pixel.code);
                    (class[at], instance[at]) = (label.class as u16, label.number);
                });
            }
        });
        frame.denoise(scene, view);
        frame.see_dust(scene, view);
        Ok(())
    }

    fn truth(&mut self, scene: &Scene, view: &CameraView, frame: &mut TruthFrame) -> Result<(), TraceError> {
        view.check()?;
        let records = scene.records();
        let camera = CameraRecord::new(view, records.middle_m);
        let mut pixels = vec![TruthRecord::NOTHING; view.width as usize * view.height as usize];
        pixels.par_chunks_mut(view.width as usize).enumerate().for_each(|(row, pixels)| {
            for (column, pixel) in pixels.iter_mut().enumerate() {
                *pixel = truth_pixel(&records, &camera, column as u32, row as u32);
            }
        });
        frame.clear();
        frame.append(&pixels);
        Ok(())
    }

    fn beams(&mut self, scene: &Scene, beams: &[Beam], out: &mut Vec<BeamReturn>) -> Result<(), TraceError> {
        let records = scene.records();
        let level = Level::new();
        out.clear();
        out.resize(beams.len(), BeamReturn::NONE);
        let tasks = out.par_chunks_mut(BEAMS_A_TASK).zip(beams.par_chunks(BEAMS_A_TASK));
        tasks.for_each(|(out, beams)| {
            let beams: Vec<_> = beams.iter().map(|beam| BeamRecord::new(beam, records.middle_m)).collect();
            trace_beams(level, &records, &beams, |number, met| out[number] = BeamReturn::of(scene, met));
        });
        Ok(())
    }

    fn echoes(
        &mut self,
        scene: &Scene,
        beams: &[WideBeam],
        receiver: &Receiver,
        out: &mut Vec<Echoes>,
    ) -> Result<(), TraceError> {
        let records = scene.records();
        let level = Level::new();
        let receiver = ReceiverRecord::new(receiver, scene, beams.len() as u32)?;
        let beams_a_task = (BEAMS_A_TASK / receiver.rays_of_beam as usize).max(1);
        let of_task = |beams: &[WideBeam]| {
            let beams: Vec<_> = beams.iter().map(|beam| WideBeamRecord::new(beam, records.middle_m)).collect();
            let rays = receiver.rays_of(&beams);
            let mut echoes = vec![EchoRecord::NONE; rays.len()];
            trace_beams(level, &records, &rays, |ray, met| echoes[ray] = receiver.echo(scene, ray, met));
            receiver.reports_of(scene, &beams, &echoes)
        };
        out.clear();
        out.par_extend(beams.par_chunks(beams_a_task).flat_map_iter(of_task));
        Ok(())
    }
}

fn trace_beams(level: Level, records: &Records<'_>, beams: &[BeamRecord], put: impl FnMut(usize, &ReturnRecord)) {
    dispatch!(level, simd => beam_returns(simd, records, beams, put));
}

impl CameraFrame {
    /// Resizes the frame to the view; its content is undefined until it is traced.
    pub fn resize(&mut self, width: u32, height: u32) {
        let pixels = width as usize * height as usize;
        self.width = width;
        self.height = height;
        self.radiance.resize(pixels, [0.0; 3]);
        self.scattered.resize(pixels, [0.0; 3]);
        self.depth_m.resize(pixels, f32::INFINITY);
        self.class.resize(pixels, 0);
        self.instance.resize(pixels, 0);
    }

    /// Stores traced pixels of a scene, row by row, starting at pixel number `first`.
    pub fn fill<P>(&mut self, scene: &Scene, first: usize, pixels: &[P])
    where
        P: Copy + Into<PixelRecord> + Sync,
    {
        let light = self.radiance[first..].par_iter_mut().zip(&mut self.scattered[first..]);
        let truth = self.class[first..].par_iter_mut().zip(&mut self.instance[first..]);
        let kept = light.zip(self.depth_m[first..].par_iter_mut().zip(truth)).with_min_len(PIXELS_A_TASK);
        kept.zip(pixels).for_each(|(((radiance, scattered), (depth_m, (class, instance))), pixel)| {
            let pixel: PixelRecord = (*pixel).into();
            *radiance = pixel.radiance;
            *scattered = pixel.scattered;
            *depth_m = depth_of(&pixel);
            let label = scene.label(pixel.code);
            (*class, *instance) = (label.class as u16, label.number);
        });
    }
}

impl BeamReturn {
    /// Converts a traced return, with the label and material that the scene gives its code.
    #[must_use]
    pub fn of(scene: &Scene, record: &ReturnRecord) -> Self {
        let Label { class, number } = scene.label(record.code);
        if class == Class::Sky {
            return Self::NONE;
        }
        Self {
            range_m: record.range,
            cos_incidence: record.cos_incidence,
            reflectance: record.reflectance,
            near_infrared: scene.near_infrared(record.code),
            radar: scene.radar(record.code),
            class: class as u16,
            instance: number,
        }
    }
}

fn depth_of(pixel: &PixelRecord) -> f32 {
    if pixel.depth < FAR { pixel.depth } else { f32::INFINITY }
}

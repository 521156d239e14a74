//! Granular soil on a GPU: runs the kernels of `selene_crm::kernel`. The points stay on the device between steps; of
//! each step return the bodies' reactions and a few numbers.
//!
//! A step is a sequence of submissions. Each sorts the points if they may move too far, then runs as many substeps as
//! should be needed. A kernel divides the time, from the speed that the last substep found; substeps that are not
//! needed, or that need points to be sorted first, do nothing.

mod buffers;
mod passes;
mod reading;

use std::sync::Arc;

use selene_crm::kernel::{
    BodyRecord, ClockRecord, GROUPS_MAX, ModelRecord, POINT_LANES, block_count, check_resolution, fault, pack,
    reaction_bytes, reactions, unpack,
};
use selene_crm::{
    Body, CrmError, DeviceSoil, LAYERS, Model, PlacedDrum, Point, SORTED_CELLS, SoilDevice, SoilPiece, State,
    StepResults, Totals, divide,
};
use selene_scene::TraceError;

use self::buffers::{BodyCapacity, Buffers, CLOCK_BYTES};
use self::passes::{Array, Pass, Pipelines};
use crate::engine::Engine;
use crate::pipeline::read_back;
use crate::tracer::GpuTracer;

/// Most substeps of a submission, so that no submission occupies the device for long.
const SUBSTEPS_A_SUBMISSION: u32 = 64;

impl GpuTracer {
    /// This tracer's device, for granular soil.
    ///
    /// # Errors
    /// When it refuses the kernels.
    pub fn soil_device(&self) -> Result<SoilDevice, TraceError> {
        let engine = self.engine();
        let pipelines = Arc::new(Pipelines::new(&engine));
        engine.check()?;
        let name = engine.name.clone();
        Ok(SoilDevice::new(&name, move |model| {
            let soil = GpuSoil::new(Arc::clone(&engine), Arc::clone(&pipelines), model)?;
            Ok(Box::new(soil))
        }))
    }
}

/// Granular soil whose points are on a GPU.
#[derive(Debug)]
struct GpuSoil {
    engine: Arc<Engine>,
    /// Shared by all soil on the device.
    pipelines: Arc<Pipelines>,
    model: Model,
    buffers: Buffers,
    /// Masses, mg, and numbers of the points, in the order in which they were loaded.
    masses_and_ids: Vec<(u32, u32)>,
    /// Whether points were marked since they were loaded.
    is_marked: bool,
    clock: ClockRecord,
    is_sorted: bool,
}

impl GpuSoil {
    fn new(engine: Arc<Engine>, pipelines: Arc<Pipelines>, model: &Model) -> Result<Self, CrmError> {
        check_resolution(model)?;
        let buffers = Buffers::new(&engine, &pipelines, model, 0, BodyCapacity::default()).map_err(failed)?;
        let (model, masses_and_ids, clock) = (model.clone(), Vec::new(), ClockRecord::default());
        Ok(Self { engine, pipelines, model, buffers, masses_and_ids, is_marked: false, clock, is_sorted: false })
    }

    /// Writes what is new in this step.
    fn begin(&mut self, bodies: &[Body], records: &[BodyRecord], duration_s: f64) -> Result<(), CrmError> {
        let capacity = self.buffers.capacity.with_room_for(bodies);
        if capacity != self.buffers.capacity {
            let buffers = self.fitting(self.buffers.points, capacity)?;
            let mut encoder = self.encoder();
            let kept = [Array::Points, Array::Masses].map(|array| (self.buffers.of(array), buffers.of(array)));
            for (old, new) in kept.into_iter().chain([(&self.buffers.marked, &buffers.marked)]) {
                encoder.copy_buffer_to_buffer(old, 0, new, 0, old.size());
            }
            self.engine.queue.submit([encoder.finish()]);
            (self.buffers, self.is_sorted) = (buffers, false);
        }
        self.clock = ClockRecord { speed: self.clock.speed, way_m: self.clock.way_m, ..ClockRecord::default() };
        let model = ModelRecord::new(&self.model, self.buffers.points, bodies, duration_s, self.clock.speed.into());
        let nothing = vec![0; reaction_bytes(bodies.len()) as usize];
        for (array, bytes) in [
            (Array::Model, bytemuck::bytes_of(&model)),
            (Array::Clock, bytemuck::bytes_of(&self.clock)),
            (Array::Bodies, bytemuck::cast_slice(records)),
            (Array::Reactions, &nothing),
        ] {
            self.buffers.write(&self.engine, array, bytes);
        }
        Ok(())
    }

    /// Runs the next substeps. Returns the sums of the reactions since the step began.
    fn submit(&mut self, bodies: &[Body], duration_s: f64) -> Result<Vec<[u32; 2]>, CrmError> {
        let (substeps, must_sort) = self.expected(bodies, duration_s)?;
        let mut encoder = self.encoder();
        if must_sort {
            self.sort(&mut encoder);
        }
        self.substeps(&mut encoder, substeps);
        let (clock, sums) = (self.buffers.of(Array::Clock), self.buffers.of(Array::Reactions));
        let (back, bytes) = (&self.buffers.back, CLOCK_BYTES + reaction_bytes(bodies.len()));
        encoder.copy_buffer_to_buffer(clock, 0, back, 0, CLOCK_BYTES);
        encoder.copy_buffer_to_buffer(sums, 0, back, CLOCK_BYTES, reaction_bytes(bodies.len()));
        let submission = self.engine.submit(encoder.finish(), back, bytes);
        let read = self.engine.read(submission, back, |bytes| {
            let (clock, sums) = bytes.split_at(CLOCK_BYTES as usize);
            (bytemuck::pod_read_unaligned(clock), bytemuck::pod_collect_to_vec(sums))
        });
        let (clock, sums) = read.map_err(failed)?;
        (self.clock, self.is_sorted) = (clock, true);
        if self.clock.faults != 0 {
            let ids: Vec<_> = self.masses_and_ids.iter().map(|(_, id)| *id).collect();
            return Err(fault(&self.model, &self.clock, &self.planes()?, &ids));
        }
        Ok(sums)
    }

    /// Number of substeps to submit, and whether the points must be sorted before them.
    fn expected(&self, bodies: &[Body], duration_s: f64) -> Result<(u32, bool), CrmError> {
        let cell_m = self.model.grid().cell_m;
        let (point_speed, way_m) = (f64::from(self.clock.speed), f64::from(self.clock.way_m));
        let speed_m_s = point_speed.max(Body::fastest_m_s(bodies));
        let remaining_s = duration_s - f64::from(self.clock.elapsed_s);
        let (substep_s, _) = divide(&self.model, remaining_s, speed_m_s, self.clock.substeps)?;
        let substeps = ((remaining_s / substep_s).round() as u32).clamp(1, SUBSTEPS_A_SUBMISSION);
        let way_after_m = way_m + point_speed * substep_s * f64::from(substeps);
        Ok((substeps, !self.is_sorted || way_after_m > SORTED_CELLS * cell_m))
    }

    fn sort(&self, encoder: &mut wgpu::CommandEncoder) {
        let (points, sorted) = (self.buffers.of(Array::Points), self.buffers.of(Array::SortedPoints));
        encoder.clear_buffer(self.buffers.of(Array::Counts), 0, None);
        let groups = self.groups_of(self.buffers.points as u64);
        let mut passes = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.dispatch(&mut passes, Pass::CountPoints, groups);
        self.dispatch(&mut passes, Pass::Scan, [1, 1]);
        self.dispatch(&mut passes, Pass::MovePoints, groups);
        drop(passes);
        encoder.copy_buffer_to_buffer(sorted, 0, points, 0, points.size());
    }

    fn substeps(&self, encoder: &mut wgpu::CommandEncoder, count: u32) {
        let blocks = spread(block_count(&self.model) as u64);
        let mut passes = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for _ in 0..count {
            self.dispatch(&mut passes, Pass::BeginSubstep, [1, 1]);
            if self.buffers.capacity.has_shells {
                self.dispatch(&mut passes, Pass::FindSides, blocks);
            }
            self.dispatch(&mut passes, Pass::ToNodes, blocks);
            self.dispatch(&mut passes, Pass::MoveNodes, blocks);
            self.dispatch(&mut passes, Pass::ToPoints, blocks);
            self.dispatch(&mut passes, Pass::EndSubstep, [1, 1]);
        }
    }

    fn dispatch(&self, passes: &mut wgpu::ComputePass<'_>, pass: Pass, groups: [u32; 2]) {
        let pipelines = self.pipelines.of(&self.engine, self.buffers.capacity.has_shells);
        passes.set_pipeline(&pipelines[pass as usize]);
        passes.set_bind_group(0, &self.buffers.bindings[pass as usize], &[]);
        passes.dispatch_workgroups(groups[0], groups[1], 1);
    }

    /// Workgroups for a kernel that runs once for each of so many points or columns.
    fn groups_of(&self, count: u64) -> [u32; 2] {
        spread(count.div_ceil(POINT_LANES.into()))
    }

    /// The points as the device has them.
    fn planes(&self) -> Result<Vec<[u32; 4]>, CrmError> {
        self.read(self.encoder(), Array::Points)
    }

    /// Runs what was encoded, and reads a buffer.
    fn read<T: bytemuck::Pod>(&self, mut encoder: wgpu::CommandEncoder, array: Array) -> Result<Vec<T>, CrmError> {
        let buffer = self.buffers.of(array);
        let back = read_back(&self.engine, buffer.size());
        encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
        let submission = self.engine.submit(encoder.finish(), &back, buffer.size());
        self.engine.read(submission, &back, bytemuck::pod_collect_to_vec).map_err(failed)
    }

    fn copy(&self, from: &wgpu::Buffer, to: &wgpu::Buffer) -> Result<(), CrmError> {
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        self.run(encoder)
    }

    /// Runs what was encoded, without waiting for it.
    fn run(&self, encoder: wgpu::CommandEncoder) -> Result<(), CrmError> {
        self.engine.queue.submit([encoder.finish()]);
        self.engine.check().map_err(failed)
    }

    /// Checks that a state has as many points as were loaded.
    fn check_count(&self, state: &State) -> Result<(), CrmError> {
        let (here, there) = (state.points.len(), self.masses_and_ids.len());
        if here == there {
            return Ok(());
        }
        Err(CrmError::Device(format!("a device: it has {there} points, the state {here}")))
    }

    fn fitting(&self, points: usize, capacity: BodyCapacity) -> Result<Buffers, CrmError> {
        Buffers::new(&self.engine, &self.pipelines, &self.model, points, capacity).map_err(failed)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.engine.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }
}

impl DeviceSoil for GpuSoil {
    fn load(&mut self, state: &State) -> Result<(), CrmError> {
        let planes = pack(&self.model, state)?;
        if state.points.len() != self.buffers.points {
            self.buffers = self.fitting(state.points.len(), self.buffers.capacity)?;
        }
        self.buffers.write(&self.engine, Array::Points, bytemuck::cast_slice(&planes));
        self.write_masses(state)?;
        (self.is_sorted, self.is_marked, self.clock) = (false, false, ClockRecord::default());
        // The speed as the device finds it, so that soil goes on as if it had never left.
        self.totals(&[])?;
        Ok(())
    }

    fn step(&mut self, bodies: &[Body], duration_s: f64) -> Result<StepResults, CrmError> {
        if !(duration_s > 0.0 && duration_s.is_finite()) {
            return Err(CrmError::Duration(duration_s));
        }
        let records = BodyRecord::of(&self.model, bodies)?;
        self.begin(bodies, &records, duration_s)?;
        loop {
            let sums = self.submit(bodies, duration_s)?;
            if self.clock.elapsed_s >= duration_s as f32 {
                return Ok(results(&self.model, &self.clock, &sums));
            }
        }
    }

    fn save(&self, state: &mut State) -> Result<(), CrmError> {
        if state.points.is_empty() {
            state.points.extend(self.masses_and_ids.iter().map(|(mass_mg, id)| Point::unplaced(*mass_mg, *id)));
        }
        self.check_count(state)?;
        unpack(&self.model, &self.planes()?, state);
        Ok(())
    }

    fn set_masses(&mut self, state: &State) -> Result<(), CrmError> {
        self.check_count(state)?;
        self.write_masses(state)?;
        let mut encoder = self.begin_without_bodies();
        self.run_passes(&mut encoder, &[Pass::TakeMasses]);
        self.run(encoder)
    }

    fn mark(&mut self) -> Result<(), CrmError> {
        self.copy(self.buffers.of(Array::Points), &self.buffers.marked)?;
        self.is_marked = true;
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), CrmError> {
        if !self.is_marked {
            return Err(CrmError::Device("a device: nothing was marked".to_owned()));
        }
        self.copy(&self.buffers.marked, self.buffers.of(Array::Points))
    }

    fn totals(&mut self, drums: &[PlacedDrum]) -> Result<Totals, CrmError> {
        let totals = self.add_up(drums)?;
        self.clock.speed = totals.fastest_m_s;
        Ok(totals)
    }

    fn tops_m(&self) -> Result<Vec<f32>, CrmError> {
        self.find_tops()
    }

    fn highest(&self, outside: &[PlacedDrum]) -> Result<Vec<[Option<SoilPiece>; LAYERS]>, CrmError> {
        self.find_surface(outside)
    }
}

fn failed(error: TraceError) -> CrmError {
    CrmError::Device(error.to_string())
}

fn results(model: &Model, clock: &ClockRecord, sums: &[[u32; 2]]) -> StepResults {
    let mut reactions = reactions(model, sums);
    let walls = reactions.pop().unwrap_or_default();
    StepResults { substeps: clock.substeps, reactions, walls_n_s: walls.impulse_n_s }
}

/// Workgroups along x and y for so many in all.
fn spread(groups: u64) -> [u32; 2] {
    let most = u64::from(GROUPS_MAX);
    [groups.clamp(1, most) as u32, groups.div_ceil(most).max(1) as u32]
}

//! Single grains on a GPU: runs the kernels of `selene_spheres::kernel`. The grains and the memory of their contacts stay
//! on the device between steps; of each step return the bodies' reactions and a few numbers.
//!
//! A step is a sequence of submissions. The first lists the partners of each grain and measures the fastest. Each
//! further one runs as many substeps as should be needed, and lists before them when surfaces may have come nearer by
//! the skin of the list. A kernel divides the time, from the speed that the last substep found; substeps that are not
//! needed, or that need another list first, do nothing. Time within a submission is short, and the CPU adds it up in 64
//! bits, as it does the reactions.

mod buffers;
mod passes;

use std::sync::Arc;

use selene_crm::{Body, Reaction};
use selene_scene::TraceError;
use selene_spheres::kernel::{
    Arrangement, BodyRecord, ClockRecord, GRAIN_LANES, Grains, ModelRecord, check_bodies, fault, pack, reaction_bytes,
    reactions, unpack,
};
use selene_spheres::{DeviceSpheres, Model, SpheresDevice, SpheresError, State, StepResults, divide};

use self::buffers::{Buffers, CLOCK_BYTES, SLOT_BYTES};
use self::passes::{Array, Pass, pipelines};
use crate::engine::Engine;
use crate::pipeline::read_back;
use crate::tracer::GpuTracer;

/// Most substeps of a submission, so that no submission occupies the device for long.
const SUBSTEPS_A_SUBMISSION: u32 = 64;

impl GpuTracer {
    /// This tracer's device, for single grains.
    ///
    /// # Errors
    /// When it refuses the kernels.
    pub fn spheres_device(&self) -> Result<SpheresDevice, TraceError> {
        let engine = self.engine();
        let pipelines: Arc<[_]> = pipelines(&engine).into();
        engine.check()?;
        let name = engine.name.clone();
        Ok(SpheresDevice::new(&name, move |model| {
            let (engine, pipelines, model) = (Arc::clone(&engine), Arc::clone(&pipelines), model.clone());
            Ok(Box::new(GpuSpheres { kernels: Kernels { engine, pipelines, model }, loaded: Loaded::Nothing }))
        }))
    }
}

/// Grains that are on a GPU.
#[derive(Debug)]
struct GpuSpheres {
    kernels: Kernels,
    loaded: Loaded,
}

/// A device with its kernels, which all grains on it share, for a model.
#[derive(Clone, Debug)]
struct Kernels {
    engine: Arc<Engine>,
    pipelines: Arc<[wgpu::ComputePipeline]>,
    model: Model,
}

/// What a device has.
#[derive(Debug)]
enum Loaded {
    Nothing,
    Grains(Box<Bed>),
    /// What a failed step left behind.
    Failed,
}

/// Grains, their buffers and the clock of the last submission.
#[derive(Debug)]
struct Bed {
    kernels: Kernels,
    /// The grains as they were loaded, with their ids and radii; without contacts.
    state: State,
    buffers: Buffers,
    clock: ClockRecord,
}

/// What is known of a step so far.
#[derive(Debug, Default)]
struct Progress {
    elapsed_s: f64,
    results: StepResults,
}

impl Bed {
    /// Runs all submissions of a step.
    fn step(&mut self, bodies: &[Body], duration_s: f64) -> Result<StepResults, SpheresError> {
        self.buffers.make_room(&self.kernels.engine, &self.kernels.pipelines, bodies.len()).map_err(failed)?;
        let mut progress = Progress::default();
        progress.results.reactions = vec![Reaction::default(); bodies.len()];
        self.submit(bodies, duration_s, &mut progress, (0, true))?;
        while self.clock.is_done == 0 {
            let next = self.next(bodies, duration_s, &progress)?;
            self.submit(bodies, duration_s, &mut progress, next)?;
        }
        Ok(progress.results)
    }

    /// Number of substeps to submit, and whether partners must be listed before them.
    fn next(&self, bodies: &[Body], duration_s: f64, progress: &Progress) -> Result<(u32, bool), SpheresError> {
        let arrangement = &self.buffers.arrangement;
        let (speed_m_s, body_m_s) = (f64::from(self.clock.speed), Body::fastest_m_s(bodies));
        let remaining_s = duration_s - progress.elapsed_s;
        let fastest_m_s = speed_m_s.max(body_m_s);
        let so_far = progress.results.substeps;
        let (substep_s, _) = divide(&self.kernels.model, arrangement.smallest_m(), remaining_s, fastest_m_s, so_far)?;
        // In 32 bits, as in the kernels.
        let skin_m = arrangement.skin_m() as f32;
        let must_list = self.clock.way_m > skin_m;
        let way_m = if must_list { 0.0 } else { f64::from(self.clock.way_m) };
        let listed = ((f64::from(skin_m) - way_m) / ((2.0 * speed_m_s + body_m_s) * substep_s)).floor() + 1.0;
        let substeps = (remaining_s / substep_s).round().min(listed) as u32;
        Ok((substeps.clamp(1, SUBSTEPS_A_SUBMISSION), must_list))
    }

    /// Runs the next substeps, and adds what they found to `progress`.
    fn submit(
        &mut self,
        bodies: &[Body],
        duration_s: f64,
        progress: &mut Progress,
        (substeps, must_list): (u32, bool),
    ) -> Result<(), SpheresError> {
        self.begin(bodies, duration_s, progress);
        let mut encoder = self.encoder();
        encoder.clear_buffer(self.buffers.of(Array::Reactions), 0, None);
        if must_list {
            self.list(&mut encoder);
        }
        self.substeps(&mut encoder, substeps);
        let (clock, sums) = self.finish(encoder, bodies.len())?;
        self.clock = clock;
        if self.clock.faults != 0 {
            return Err(self.fault());
        }
        if substeps > 0 && self.clock.substeps == 0 {
            return Err(SpheresError::Device(format!("{}: no substep was made", self.kernels.engine.name)));
        }
        self.add(&sums, duration_s, progress);
        Ok(())
    }

    /// Writes what is new in this submission.
    fn begin(&mut self, bodies: &[Body], duration_s: f64, progress: &Progress) {
        self.clock = self.clock.begun();
        let arrangement = &self.buffers.arrangement;
        let model = ModelRecord::new(&self.kernels.model, arrangement, bodies, duration_s - progress.elapsed_s);
        let bodies = BodyRecord::of(arrangement, bodies, progress.elapsed_s);
        self.buffers.write(&self.kernels.engine, Array::Model, bytemuck::bytes_of(&model));
        self.buffers.write(&self.kernels.engine, Array::Clock, bytemuck::bytes_of(&self.clock));
        self.buffers.write(&self.kernels.engine, Array::Bodies, bytemuck::cast_slice(&bodies));
    }

    fn list(&mut self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.buffers.of(Array::Heads), 0, None);
        let mut passes = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.dispatch(&mut passes, Pass::FillCells, self.groups());
        self.dispatch(&mut passes, Pass::ListPartners, self.groups());
        drop(passes);
        self.buffers.swap_lists();
    }

    fn substeps(&self, encoder: &mut wgpu::CommandEncoder, count: u32) {
        let mut passes = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for _ in 0..count {
            self.dispatch(&mut passes, Pass::BeginSubstep, 1);
            self.dispatch(&mut passes, Pass::PushGrains, self.groups());
            self.dispatch(&mut passes, Pass::MoveGrains, self.groups());
            self.dispatch(&mut passes, Pass::EndSubstep, 1);
        }
    }

    /// Submits the commands, and returns the clock and the sums of the reactions after them.
    fn finish(
        &self,
        mut encoder: wgpu::CommandEncoder,
        bodies: usize,
    ) -> Result<(ClockRecord, Vec<[u32; 2]>), SpheresError> {
        let (back, sum_bytes) = (&self.buffers.back, reaction_bytes(bodies));
        encoder.copy_buffer_to_buffer(self.buffers.of(Array::Clock), 0, back, 0, CLOCK_BYTES);
        encoder.copy_buffer_to_buffer(self.buffers.of(Array::Reactions), 0, back, CLOCK_BYTES, sum_bytes);
        let submission = self.kernels.engine.submit(encoder.finish(), back, CLOCK_BYTES + sum_bytes);
        let read = self.kernels.engine.read(submission, back, |bytes| {
            let (clock, sums) = bytes.split_at(CLOCK_BYTES as usize);
            (bytemuck::pod_read_unaligned(clock), bytemuck::pod_collect_to_vec(sums))
        });
        read.map_err(failed)
    }

    fn add(&self, sums: &[[u32; 2]], duration_s: f64, progress: &mut Progress) {
        let results = &mut progress.results;
        let (on_bodies, on_walls) = reactions(&self.kernels.model, &self.buffers.arrangement, sums);
        for (all, new) in results.reactions.iter_mut().zip(on_bodies) {
            all.impulse_n_s += new.impulse_n_s;
            all.angular_impulse_n_m_s += new.angular_impulse_n_m_s;
        }
        for (all, new) in results.walls_n_s.iter_mut().flatten().zip(on_walls.into_iter().flatten()) {
            *all += new;
        }
        results.substeps += self.clock.substeps;
        progress.elapsed_s =
            if self.clock.is_done == 1 { duration_s } else { progress.elapsed_s + f64::from(self.clock.elapsed_s) };
    }

    /// What the clock's faults mean.
    fn fault(&self) -> SpheresError {
        let mut state = self.state.clone();
        match self.save(&mut state) {
            Ok(()) => fault(&self.kernels.model, &self.buffers.arrangement, &self.clock, &state),
            Err(error) => error,
        }
    }

    /// Sets the grains and contacts of `state`.
    fn save(&self, state: &mut State) -> Result<(), SpheresError> {
        let Buffers { arrangement, .. } = &self.buffers;
        let planes = (self.clock.partners as usize).min(arrangement.slots);
        let pair_bytes = SLOT_BYTES * (planes * arrangement.grains) as u64;
        let grains = self.read_array(Array::Grains, self.buffers.of(Array::Grains).size())?;
        let pairs = if planes == 0 { Vec::new() } else { self.read_array(Array::Pairs, pair_bytes)? };
        unpack(arrangement, &Grains { grains, pairs }, state);
        Ok(())
    }

    /// The first `bytes` of an array.
    fn read_array(&self, array: Array, bytes: u64) -> Result<Vec<[u32; 4]>, SpheresError> {
        let back = read_back(&self.kernels.engine, bytes);
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(self.buffers.of(array), 0, &back, 0, bytes);
        let submission = self.kernels.engine.submit(encoder.finish(), &back, bytes);
        self.kernels.engine.read(submission, &back, bytemuck::pod_collect_to_vec).map_err(failed)
    }

    fn dispatch(&self, passes: &mut wgpu::ComputePass<'_>, pass: Pass, groups: u32) {
        passes.set_pipeline(&self.kernels.pipelines[pass as usize]);
        passes.set_bind_group(0, self.buffers.binding(pass), &[]);
        passes.dispatch_workgroups(groups, 1, 1);
    }

    /// Workgroups of a kernel that runs once for each grain. A state has too few grains for more than a device allows.
    fn groups(&self) -> u32 {
        (self.buffers.arrangement.grains as u32).div_ceil(GRAIN_LANES)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.kernels.engine.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }
}

impl GpuSpheres {
    /// Buffers for this arrangement: those there are, if they have it.
    fn buffers(&mut self, arrangement: Arrangement) -> Result<Buffers, SpheresError> {
        match std::mem::replace(&mut self.loaded, Loaded::Nothing) {
            Loaded::Grains(bed) if bed.buffers.arrangement == arrangement => Ok(bed.buffers),
            before => {
                self.loaded = before;
                Buffers::new(&self.kernels.engine, &self.kernels.pipelines, arrangement).map_err(failed)
            }
        }
    }
}

impl DeviceSpheres for GpuSpheres {
    fn load(&mut self, state: &State) -> Result<(), SpheresError> {
        state.check(&self.kernels.model)?;
        let Some(arrangement) = Arrangement::new(&self.kernels.model, &state.spheres) else {
            self.loaded = Loaded::Nothing;
            return Ok(());
        };
        let (grains, partners) = pack(&arrangement, state)?;
        let buffers = self.buffers(arrangement)?;
        buffers.write(&self.kernels.engine, Array::Grains, bytemuck::cast_slice(&grains.grains));
        buffers.write(&self.kernels.engine, Array::Pairs, bytemuck::cast_slice(&grains.pairs));
        self.loaded = Loaded::Grains(Box::new(Bed {
            kernels: self.kernels.clone(),
            state: State { spheres: state.spheres.clone(), contacts: Vec::new() },
            buffers,
            clock: ClockRecord { partners, ..ClockRecord::default() },
        }));
        Ok(())
    }

    fn step(&mut self, bodies: &[Body], duration_s: f64) -> Result<StepResults, SpheresError> {
        if !(duration_s > 0.0 && duration_s.is_finite()) {
            return Err(SpheresError::Duration(duration_s));
        }
        check_bodies(bodies)?;
        let outcome = match &mut self.loaded {
            Loaded::Grains(bed) => bed.step(bodies, duration_s),
            // Bodies alone meet nothing.
            Loaded::Nothing => {
                let reactions = vec![Reaction::default(); bodies.len()];
                return Ok(StepResults { substeps: 1, reactions, ..StepResults::default() });
            }
            Loaded::Failed => return Err(must_be_loaded()),
        };
        if outcome.is_err() {
            self.loaded = Loaded::Failed;
        }
        outcome
    }

    fn save(&self, state: &mut State) -> Result<(), SpheresError> {
        let there = match &self.loaded {
            Loaded::Grains(bed) => bed.buffers.arrangement.grains,
            Loaded::Nothing => 0,
            Loaded::Failed => return Err(must_be_loaded()),
        };
        let here = state.spheres.len();
        if here != there {
            return Err(SpheresError::Device(format!("it has {there} grains, the state {here}")));
        }
        match &self.loaded {
            Loaded::Grains(bed) => bed.save(state),
            Loaded::Nothing | Loaded::Failed => Ok(()),
        }
    }
}

fn failed(error: TraceError) -> SpheresError {
    SpheresError::Device(error.to_string())
}

fn must_be_loaded() -> SpheresError {
    SpheresError::Device("its last step failed: the grains must be loaded again".to_owned())
}

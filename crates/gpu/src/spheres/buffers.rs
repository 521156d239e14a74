//! The buffers of single grains on a device.

use selene_scene::TraceError;
use selene_spheres::kernel::{Arrangement, BodyRecord, ClockRecord, ModelRecord, reaction_bytes};

use super::passes::{ARRAYS, Array, PASSES, Pass};
use crate::engine::Engine;
use crate::pipeline::{buffer, read_back};

pub(super) const CLOCK_BYTES: u64 = size_of::<ClockRecord>() as u64;
/// Four words of four numbers of a grain; two of a slot; two after a substep.
const GRAIN_BYTES: u64 = 64;
pub(super) const SLOT_BYTES: u64 = 32;
const PUSHED_BYTES: u64 = 32;
/// Room is made for so many bodies at once.
const BODIES_AT_ONCE: usize = 32;

/// Buffers for so many grains and bodies, and the kernels' bindings of them.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) arrangement: Arrangement,
    /// Most bodies.
    pub(super) bodies: usize,
    arrays: [wgpu::Buffer; ARRAYS],
    /// For the clock and the reactions behind it.
    pub(super) back: wgpu::Buffer,
    /// In the order of `PASSES`, as the arrays are, and with the two lists of partners in each other's place.
    bindings: [Vec<wgpu::BindGroup>; 2],
}

impl Buffers {
    pub(super) fn new(
        engine: &Engine,
        pipelines: &[wgpu::ComputePipeline],
        arrangement: Arrangement,
    ) -> Result<Self, TraceError> {
        let storage = wgpu::BufferUsages::STORAGE;
        let grains = arrangement.grains as u64;
        let slot_bytes = SLOT_BYTES * arrangement.slots as u64 * grains;
        let sizes = [
            ("model of grains", size_of::<ModelRecord>() as u64, wgpu::BufferUsages::UNIFORM),
            ("grains", GRAIN_BYTES * grains, storage),
            ("cells of grains", 4 * arrangement.cell_count() as u64, storage),
            ("chains of grains", 4 * grains, storage),
            ("partners of grains", slot_bytes, storage),
            ("listed partners of grains", slot_bytes, storage),
            ("clock of grains", CLOCK_BYTES, storage),
            ("bodies among grains", body_bytes(BODIES_AT_ONCE), storage),
            ("reactions of grains", reaction_bytes(BODIES_AT_ONCE), storage),
            ("motion of grains", PUSHED_BYTES * grains, storage),
        ];
        sizes.iter().try_for_each(|(what, bytes, _)| engine.check_size(what, *bytes))?;
        let arrays = sizes.map(|(what, bytes, usage)| buffer(engine, what, bytes, usage));
        let back = read_back(engine, CLOCK_BYTES + reaction_bytes(BODIES_AT_ONCE));
        let mut buffers =
            Self { arrangement, bodies: BODIES_AT_ONCE, arrays, back, bindings: [Vec::new(), Vec::new()] };
        buffers.bind(engine, pipelines)?;
        Ok(buffers)
    }

    /// Makes room for so many bodies, if there is too little.
    pub(super) fn make_room(
        &mut self,
        engine: &Engine,
        pipelines: &[wgpu::ComputePipeline],
        bodies: usize,
    ) -> Result<(), TraceError> {
        if bodies <= self.bodies {
            return Ok(());
        }
        self.bodies = bodies.next_multiple_of(BODIES_AT_ONCE);
        let storage = wgpu::BufferUsages::STORAGE;
        self.arrays[Array::Bodies as usize] = buffer(engine, "bodies among grains", body_bytes(self.bodies), storage);
        self.arrays[Array::Reactions as usize] =
            buffer(engine, "reactions of grains", reaction_bytes(self.bodies), storage);
        self.back = read_back(engine, CLOCK_BYTES + reaction_bytes(self.bodies));
        self.bind(engine, pipelines)
    }

    fn bind(&mut self, engine: &Engine, pipelines: &[wgpu::ComputePipeline]) -> Result<(), TraceError> {
        for _ in 0..2 {
            let passes = PASSES.iter().zip(pipelines);
            self.bindings[0] = passes.map(|(pass, pipeline)| pass.bind(engine, pipeline, &self.arrays)).collect();
            self.swap_lists();
        }
        engine.check()
    }

    /// Makes the partners that were listed those of the next substeps.
    pub(super) fn swap_lists(&mut self) {
        self.arrays.swap(Array::Pairs as usize, Array::Listed as usize);
        self.bindings.swap(0, 1);
    }

    pub(super) fn binding(&self, pass: Pass) -> &wgpu::BindGroup {
        &self.bindings[0][pass as usize]
    }

    pub(super) fn of(&self, array: Array) -> &wgpu::Buffer {
        &self.arrays[array as usize]
    }

    pub(super) fn write(&self, engine: &Engine, array: Array, bytes: &[u8]) {
        engine.queue.write_buffer(self.of(array), 0, bytes);
    }
}

/// Bytes of the bodies at the start of a submission and of a substep.
fn body_bytes(bodies: usize) -> u64 {
    (2 * size_of::<BodyRecord>() * bodies) as u64
}

//! The buffers of granular soil on a device.

use selene_crm::kernel::{
    BodyRecord, ClockRecord, DENSITY_BYTES, MASS_BYTES, ModelRecord, NODE_BYTES_A_BLOCK, PLANES, ReadingRecord,
    SURFACE_BYTES_A_COLUMN, TOTALS_BYTES, WORD_BYTES_A_COLUMN, block_count, column_count, density_count,
    reaction_bytes, top_count,
};
use selene_crm::{Body, Model};
use selene_scene::TraceError;

use super::passes::{ARRAYS, Array, PASSES, Pipelines};
use crate::engine::Engine;
use crate::pipeline::{buffer, read_back};

pub(super) const CLOCK_BYTES: u64 = size_of::<ClockRecord>() as u64;
/// Room is made for so many bodies at once.
const BODIES_AT_ONCE: usize = 32;
/// Minimum size of a buffer, bytes: WebGPU refuses bindings that do not hold one element.
const BYTES_MIN: u64 = size_of::<BodyRecord>() as u64;

/// The bodies that there is room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BodyCapacity {
    pub(super) bodies: usize,
    pub(super) has_shells: bool,
}

impl BodyCapacity {
    /// Room for these bodies too, with some to spare: bodies come and go.
    pub(super) fn with_room_for(self, bodies: &[Body]) -> Self {
        Self {
            bodies: self.bodies.max(bodies.len().next_multiple_of(BODIES_AT_ONCE)),
            has_shells: self.has_shells || bodies.iter().any(|body| body.shape.is_shell()),
        }
    }
}

/// Buffers for so many points and bodies, and the kernels' bindings of them.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) points: usize,
    pub(super) capacity: BodyCapacity,
    arrays: [wgpu::Buffer; ARRAYS],
    /// The points at the last mark.
    pub(super) marked: wgpu::Buffer,
    /// For the clock and the reactions behind it.
    pub(super) back: wgpu::Buffer,
    /// In the order of `PASSES`.
    pub(super) bindings: Vec<wgpu::BindGroup>,
}

impl Buffers {
    pub(super) fn new(
        engine: &Engine,
        pipelines: &Pipelines,
        model: &Model,
        points: usize,
        capacity: BodyCapacity,
    ) -> Result<Self, TraceError> {
        let BodyCapacity { bodies, has_shells } = capacity;
        let storage = wgpu::BufferUsages::STORAGE;
        let blocks = block_count(model) as u64;
        let point_bytes = (PLANES * size_of::<[u32; 4]>() * points) as u64;
        let sizes = [
            ("soil", size_of::<ModelRecord>() as u64, wgpu::BufferUsages::UNIFORM),
            ("points of soil", point_bytes, storage),
            ("sorted points of soil", point_bytes, storage),
            ("counts of points", 4 * blocks, storage),
            ("first points of blocks", 4 * (blocks + 1), storage),
            ("sums at nodes", NODE_BYTES_A_BLOCK * blocks, storage),
            ("velocities of nodes", NODE_BYTES_A_BLOCK * blocks, storage),
            ("clock", CLOCK_BYTES, storage),
            ("bodies in soil", (3 * size_of::<BodyRecord>() * bodies) as u64, storage),
            ("reactions of soil", reaction_bytes(bodies), storage),
            // Without shells nothing is read from it.
            ("sides of nodes", if has_shells { NODE_BYTES_A_BLOCK * blocks } else { 0 }, storage),
            ("what is read of soil", size_of::<ReadingRecord>() as u64, wgpu::BufferUsages::UNIFORM),
            ("masses of points", MASS_BYTES * points as u64, storage),
            ("totals of soil", TOTALS_BYTES, storage),
            ("densities of soil", DENSITY_BYTES * density_count(model), storage),
            ("heights of soil", 4 * top_count(model), storage),
            ("ranks of points", WORD_BYTES_A_COLUMN * column_count(model), storage),
            ("surface of soil", SURFACE_BYTES_A_COLUMN * column_count(model), storage),
        ];
        sizes.iter().try_for_each(|(what, bytes, _)| engine.check_size(what, *bytes))?;
        let arrays = sizes.map(|(what, bytes, usage)| buffer(engine, what, bytes.max(BYTES_MIN), usage));
        let marked = buffer(engine, "marked points of soil", point_bytes.max(BYTES_MIN), wgpu::BufferUsages::empty());
        let bound = PASSES
            .iter()
            .zip(pipelines.of(engine, has_shells))
            .map(|(pass, pipeline)| pass.bind(engine, pipeline, &arrays));
        let bindings = bound.collect();
        let back = read_back(engine, CLOCK_BYTES + reaction_bytes(bodies));
        engine.check()?;
        Ok(Self { points, capacity, arrays, marked, back, bindings })
    }

    pub(super) fn of(&self, array: Array) -> &wgpu::Buffer {
        &self.arrays[array as usize]
    }

    pub(super) fn write(&self, engine: &Engine, array: Array, bytes: &[u8]) {
        engine.queue.write_buffer(self.of(array), 0, bytes);
    }
}

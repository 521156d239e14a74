//! The device's copy of a scene: one buffer for each array of `Records`, written
//! again only where the scene's versions say that something changed.

use std::sync::Arc;

use selene_scene::record::{GlobalsRecord, LEVELS_MAX, LampRecord, LevelRecord, Records};
use selene_scene::{LAMPS_MAX, Scene, TraceError, Versions};

use crate::engine::Engine;

/// Names of the buffers in the order of their bindings.
const NAMES: [&str; 10] = [
    "globals",
    "levels",
    "heights",
    "instance nodes",
    "mesh nodes",
    "triangles",
    "instances",
    "materials",
    "motions",
    "lamps",
];

/// Minimum size of a buffer, bytes: WebGPU refuses empty bindings.
const BYTES_MIN: u64 = 64;

/// The device's copy of one scene, with the scene's identity and the versions that it holds.
#[derive(Debug)]
pub(crate) struct SceneCopy {
    token: Arc<()>,
    versions: Versions,
    buffers: Vec<wgpu::Buffer>,
    bind_group: wgpu::BindGroup,
}

/// The layout of a scene's bindings.
pub(crate) fn layout(engine: &Engine) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = (0..NAMES.len()).map(|i| layout_entry(i as u32, is_uniform(i), true)).collect();
    engine.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("scene"), entries: &entries })
}

/// A compute binding: uniform or storage.
pub(crate) fn layout_entry(binding: u32, uniform: bool, read_only: bool) -> wgpu::BindGroupLayoutEntry {
    let ty = if uniform { wgpu::BufferBindingType::Uniform } else { wgpu::BufferBindingType::Storage { read_only } };
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

/// A bind group over whole buffers, numbered in their order.
pub(crate) fn bind<'a>(
    engine: &Engine,
    layout: &wgpu::BindGroupLayout,
    buffers: impl IntoIterator<Item = &'a wgpu::Buffer>,
) -> wgpu::BindGroup {
    let entry = |(i, buffer): (usize, &'a wgpu::Buffer)| wgpu::BindGroupEntry {
        binding: i as u32,
        resource: buffer.as_entire_binding(),
    };
    let entries: Vec<_> = buffers.into_iter().enumerate().map(entry).collect();
    engine.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

impl SceneCopy {
    /// Copies a whole scene to the device.
    pub(crate) fn new(engine: &Engine, layout: &wgpu::BindGroupLayout, scene: &Scene) -> Result<Self, TraceError> {
        let records = scene.records();
        check_levels(engine, &records)?;
        let contents = contents(&records);
        let mut buffers = Vec::new();
        for (i, bytes) in contents.iter().enumerate() {
            engine.check_size(NAMES[i], bytes.len() as u64)?;
            buffers.push(buffer(engine, i, bytes.len() as u64));
            engine.queue.write_buffer(&buffers[i], 0, bytes);
        }
        let bind_group = bind(engine, layout, &buffers);
        Ok(Self { token: scene.token().clone(), versions: scene.versions(), buffers, bind_group })
    }

    /// Whether this is a copy of `scene`, perhaps of an earlier state.
    pub(crate) fn is_of(&self, scene: &Scene) -> bool {
        Arc::ptr_eq(&self.token, scene.token())
    }

    /// Writes the arrays and heights of the scene that changed since the last update.
    pub(crate) fn update(
        &mut self,
        engine: &Engine,
        layout: &wgpu::BindGroupLayout,
        scene: &Scene,
    ) -> Result<(), TraceError> {
        let records = scene.records();
        let now = scene.versions();
        let mut changed = vec![];
        if now.instances != self.versions.instances {
            changed.extend([3, 6, 8]);
        }
        if now.shapes != self.versions.shapes {
            changed.extend([4, 5, 7]);
        }
        let all = contents(&records);
        // Pages of wheel prints are appended to the heights.
        let mut grown = self.buffers[2].size() < all[2].len() as u64 && self.write(engine, 2, all[2])?;
        for i in changed {
            grown |= self.write(engine, i, all[i])?;
        }
        if grown {
            self.bind_group = bind(engine, layout, &self.buffers);
        }
        for range in scene.heights_changed_after(self.versions.heights) {
            let bytes = bytemuck::cast_slice(&records.heights[range.clone()]);
            engine.queue.write_buffer(&self.buffers[2], 4 * range.start as u64, bytes);
        }
        self.versions = now;
        Ok(())
    }

    /// Writes the globals and the lamps for the next dispatch.
    pub(crate) fn set_lights(&self, engine: &Engine, globals: &GlobalsRecord, lamps: &[LampRecord]) {
        engine.queue.write_buffer(&self.buffers[0], 0, bytemuck::bytes_of(globals));
        engine.queue.write_buffer(&self.buffers[9], 0, bytemuck::cast_slice(lamps));
    }

    /// The scene's bindings.
    pub(crate) fn bind_group(&self) -> &wgpu::BindGroup {
        &self.bind_group
    }

    /// Writes a whole array; returns true if its buffer had to grow.
    fn write(&mut self, engine: &Engine, i: usize, bytes: &[u8]) -> Result<bool, TraceError> {
        let grown = bytes.len() as u64 > self.buffers[i].size();
        if grown {
            engine.check_size(NAMES[i], bytes.len() as u64)?;
            self.buffers[i] = buffer(engine, i, bytes.len() as u64);
        }
        engine.queue.write_buffer(&self.buffers[i], 0, bytes);
        Ok(grown)
    }
}

fn check_levels(engine: &Engine, records: &Records<'_>) -> Result<(), TraceError> {
    if records.levels.len() <= LEVELS_MAX {
        return Ok(());
    }
    let what = format!("the ground has {} levels, the kernels take {LEVELS_MAX}", records.levels.len());
    Err(TraceError::TooLarge { device: engine.name.clone(), what })
}

/// The arrays as bytes, in the order of their bindings.
fn contents<'a>(records: &'a Records<'_>) -> [&'a [u8]; 10] {
    [
        bytemuck::bytes_of(&records.globals),
        bytemuck::cast_slice(records.levels),
        bytemuck::cast_slice(records.heights),
        bytemuck::cast_slice(records.instance_nodes),
        bytemuck::cast_slice(records.mesh_nodes),
        bytemuck::cast_slice(records.triangles),
        bytemuck::cast_slice(records.instances),
        bytemuck::cast_slice(records.materials),
        bytemuck::cast_slice(records.motions),
        bytemuck::cast_slice(records.lamps),
    ]
}

/// Small arrays are uniforms, because devices bind few storage buffers.
fn is_uniform(i: usize) -> bool {
    matches!(i, 0 | 1 | 9)
}

fn buffer(engine: &Engine, i: usize, bytes: u64) -> wgpu::Buffer {
    let usage = if is_uniform(i) { wgpu::BufferUsages::UNIFORM } else { wgpu::BufferUsages::STORAGE };
    // WGSL declares arrays in uniforms with their full length.
    let least = match i {
        1 => (LEVELS_MAX * size_of::<LevelRecord>()) as u64,
        9 => (LAMPS_MAX * size_of::<LampRecord>()) as u64,
        _ => BYTES_MIN,
    };
    engine.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(NAMES[i]),
        size: bytes.max(least),
        usage: usage | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

//! What light can meet, and how it is traced: a plain-data scene, the `Tracer`
//! port, its CPU kernels and their WGSL twins.

mod changes;
mod cpu;
pub mod kernel;
mod material;
mod mesh;
mod pyramid;
pub mod record;
mod scene;
mod tracer;
mod tree;
pub mod view;

/// Meshes of simple solids, for URDF visuals.
pub mod primitives {
    pub use crate::mesh::{cuboid, cylinder, sphere};
}

pub use cpu::CpuTracer;
pub use material::{HapkeParams, Material};
pub use mesh::Mesh;
pub use scene::{AMBIENT_SHARE, InstanceId, MeshId, Scene, SceneError, Sun, Versions, instance_of_movable};
pub use tracer::{TraceError, Tracer};
pub use view::{Beam, BeamReturn, CameraFrame, CameraView, Class};

//! The scene as plain data and the tracing of light in it: the `Tracer` port, its CPU kernels and their WGSL twins.

mod boxes;
mod changes;
mod clear;
mod cpu;
mod denoise;
mod detail;
mod dust;
mod echo;
mod flow;
mod grains;
pub mod kernel;
mod lamp;
mod lens;
mod light;
mod material;
mod mesh;
mod packet;
mod polynomial;
mod projection;
mod pyramid;
mod real;
pub mod record;
mod scene;
mod shutter_motion;
mod tile;
mod tracer;
mod tree;
#[cfg(test)]
mod twins;
pub mod view;

/// Meshes of simple solids, for URDF visuals.
pub mod primitives {
    pub use crate::mesh::{cuboid, cylinder, sphere};
}

pub use boxes::{Solid, Visible, visible};
pub use cpu::CpuTracer;
pub use detail::Detail;
pub use dust::Puff;
pub use echo::{Echo, Echoes, RayOfBeam, Receiver, Reports, ReturnKind, WideBeam};
pub use flow::{FlowReference, flow};
pub use grains::{Grain, Heap};
pub use lamp::{Colour, Flux, LAMPS_MAX, Lamp, Profile};
pub use lens::{Lens, LensModel};
pub use light::{BOUNCES_MAX, EARTH_BANDS, Earth, LIMB_EXPONENT, LightSampling, SAMPLES_MAX, Star, Sun};
pub use material::{HapkeParams, Material, PrincipledParams, ROUGHNESS_MIN};
pub use mesh::Mesh;
pub use projection::PIXEL_SAMPLES_MAX;
pub use scene::{InstanceId, MeshId, Scene, SceneError, Versions};
pub use shutter_motion::ShutterMotion;
pub use tracer::{TraceError, Tracer};
pub use view::{
    Beam, BeamReturn, CameraFrame, CameraView, Class, Label, NEAR_INFRARED_NM, TruthFrame, VISIBLE_NM, panchromatic,
};

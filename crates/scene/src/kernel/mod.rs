//! The kernels: small pure functions over `Records`, in `f32`. Each has a WGSL twin of the same name in the file beside
//! it; the GPU engine runs the twins, the CPU tracer these functions. A test checks that structs and constants of both
//! are the same.

pub mod bvh;
pub mod chance;
pub mod craterlet;
pub mod detail;
pub mod earthlight;
pub mod echo;
pub mod hapke;
pub mod heights;
pub mod lamp;
pub mod lens;
pub mod motion;
pub mod principled;
pub mod print;
pub mod scatter;
pub mod sky;
pub mod sunlight;
pub mod surface;
pub mod trace;
pub mod truth;

use nalgebra::Vector3;

/// A ray. Its direction has any length; the ray parameter `t` is in units of that length.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    /// Start of the ray, in the scene's frame, m.
    pub origin: Vector3<f32>,
    /// Direction of the ray.
    pub direction: Vector3<f32>,
}

/// What a ray has met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Ray parameter of the hit; `FAR` where the ray met nothing.
    pub t: f32,
    /// Index of the instance, or `GROUND`.
    pub instance: u32,
    /// Index of the triangle or the grain, or of the height level.
    pub part: u32,
}

/// Light in the three bands: red, green, blue.
pub type Bands = Vector3<f32>;

/// Fraction of sunlight in each band.
pub const SUN_BAND: f32 = 1.0 / 3.0;

/// The `kind` of a Lambert material.
pub const LAMBERT: u32 = 0;

/// The `kind` of a material with Hapke's reflectance.
pub const HAPKE: u32 = 1;

/// The `kind` of a material with the principled reflectance.
pub const PRINCIPLED: u32 = 2;

/// A distance or ray parameter beyond everything; it marks a miss.
pub const FAR: f32 = 1e30;

/// The `instance` of a hit on the ground.
pub const GROUND: u32 = 0xffff_ffff;

/// Pixels along a side of a GPU workgroup.
pub const CAMERA_GROUP: u32 = 8;

/// Beams in a GPU workgroup.
pub const BEAM_GROUP: u32 = 64;

/// The smaller of two numbers. `f32::min` is three times as slow because it handles NaN, which rays never have.
#[inline(always)]
pub(crate) fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The larger of two numbers; see `least`.
#[inline(always)]
pub(crate) fn most(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// All kernels as one WGSL module, with entry points `camera`, `bare_camera`, `beams`, `truth`, `ray_echoes` and
/// `beam_echoes`.
pub const WGSL: &str = concat!(
    include_str!("records.wgsl"),
    include_str!("heights.wgsl"),
    include_str!("motion.wgsl"),
    include_str!("bvh.wgsl"),
    include_str!("hapke.wgsl"),
    include_str!("principled.wgsl"),
    include_str!("chance.wgsl"),
    include_str!("surface.wgsl"),
    include_str!("print.wgsl"),
    include_str!("craterlet.wgsl"),
    include_str!("detail.wgsl"),
    include_str!("lamp.wgsl"),
    include_str!("sunlight.wgsl"),
    include_str!("earthlight.wgsl"),
    include_str!("scatter.wgsl"),
    include_str!("sky.wgsl"),
    include_str!("lens.wgsl"),
    include_str!("trace.wgsl"),
    include_str!("truth.wgsl"),
    include_str!("echo.wgsl"),
);

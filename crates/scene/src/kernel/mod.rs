//! The kernels: small pure functions over `Records`, in `f32`. Each has a WGSL
//! twin of the same name in the file beside it; the GPU engine runs those, the CPU
//! tracer these. A test holds the structs and constants of both to be the same.

pub mod bvh;
pub mod chance;
pub mod detail;
pub mod earthlight;
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

/// A ray. Its direction has any length; `t` counts in it.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    /// Where it starts, m.
    pub origin: Vector3<f32>,
    /// Where it goes.
    pub direction: Vector3<f32>,
}

/// What a ray met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// How far along the ray; `FAR` where nothing was met.
    pub t: f32,
    /// Index of the instance, or `GROUND`.
    pub instance: u32,
    /// Index of the triangle or the grain, or of the height level.
    pub part: u32,
}

/// Light in the three bands: red, green, blue.
pub type Bands = Vector3<f32>;

/// The Sun's light in each band, as a part of its sum.
pub const SUN_BAND: f32 = 1.0 / 3.0;

/// The `kind` of a matt material.
pub const LAMBERT: u32 = 0;

/// The `kind` of one after Hapke.
pub const HAPKE: u32 = 1;

/// The `kind` of a principled one.
pub const PRINCIPLED: u32 = 2;

/// Farther than anything.
pub const FAR: f32 = 1e30;

/// The `instance` of a hit on the ground.
pub const GROUND: u32 = 0xffff_ffff;

/// Pixels on a side of a device's workgroup.
pub const CAMERA_GROUP: u32 = 8;

/// Beams of a device's workgroup.
pub const BEAM_GROUP: u32 = 64;

/// The lesser of two numbers; `f32::min` costs three times as much to be exact
/// about NaN, which rays do not carry.
#[inline(always)]
pub(crate) fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The greater of two numbers, as `least`.
#[inline(always)]
pub(crate) fn most(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// All kernels as one WGSL module, with entry points `camera`, `beams` and `truth`.
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
    include_str!("detail.wgsl"),
    include_str!("lamp.wgsl"),
    include_str!("sunlight.wgsl"),
    include_str!("earthlight.wgsl"),
    include_str!("scatter.wgsl"),
    include_str!("sky.wgsl"),
    include_str!("lens.wgsl"),
    include_str!("trace.wgsl"),
    include_str!("truth.wgsl"),
);

//! Individually visible grains: spheres and angular fragments in heaps, which a granular solver or a file provides. A
//! heap is a static instance with a bounding volume hierarchy of its own; images label it as ground. A fragment is what
//! three pairs of parallel planes leave of a sphere, at random distances and nearly at right angles.
//!
//! The hierarchy is rebuilt whenever
//! the grains change, so it is built in one pass: in the order of the grains' Morton codes, split where the highest bit
//! changes (Lauterbach et al. 2009).

use std::f32::consts::TAU;
use std::sync::Arc;

use bytemuck::Zeroable;
use nalgebra::Vector3;
use selene_base::Pose;

use crate::kernel::bvh::normals;
use crate::kernel::chance::scramble;
use crate::kernel::surface::across;
use crate::material::Material;
use crate::record::TriangleRecord;
use crate::scene::SceneError;
use crate::tree::Bounds;

/// Distance of a fragment's faces from its centre, in radii: the least, and how much greater the greatest is.
const FACES_AT: [f32; 2] = [0.5, 0.35];
/// Greatest angle by which a fragment's second face departs from a right angle to the first, rad.
const OBLIQUE_RAD: f32 = 0.4;

/// A sphere, or a fragment in a sphere, in the frame of its heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grain {
    /// Centre of the sphere, m.
    pub centre_m: [f32; 3],
    /// Radius of the sphere, m.
    pub radius_m: f32,
    /// Number that determines the faces of a fragment; 0 for a sphere.
    pub faces: u32,
}

/// A heap of grains of one material.
#[derive(Clone, Debug)]
pub struct Heap {
    /// Pose of the grains' frame on the map. It must be near the grains, because their positions are in single
    /// precision.
    pub world_from_heap: Pose,
    /// The grains of the heap.
    pub grains: Arc<[Grain]>,
    /// Material of every grain.
    pub material: Material,
}

impl Heap {
    /// Checks that the grains can be traced.
    ///
    /// # Errors
    /// When a number is not finite or a radius is not more than 0.
    pub(crate) fn check(&self) -> Result<(), SceneError> {
        let is_fit = |g: &Grain| g.centre_m.iter().all(|x| x.is_finite()) && g.radius_m.is_finite() && g.radius_m > 0.0;
        match self.grains.iter().position(|grain| !is_fit(grain)) {
            Some(grain) => Err(SceneError::Grain { grain }),
            None => Ok(()),
        }
    }
}

impl Grain {
    /// Normals of a fragment's faces, 1/m: with p from the centre, it is where |n · p| ≤ 1 for each of them, in its sphere.
    /// All are 0 for a sphere.
    #[must_use]
    pub fn normals(&self) -> [Vector3<f32>; 3] {
        normals(&self.record())
    }

    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { min: self.centre_m.map(|x| x - self.radius_m), max: self.centre_m.map(|x| x + self.radius_m) }
    }

    pub(crate) fn record(&self) -> TriangleRecord {
        let Self { centre_m, radius_m, faces } = *self;
        let sphere = TriangleRecord::zeroed();
        let sphere = TriangleRecord { corner: centre_m, radius: radius_m, ..sphere };
        if faces == 0 { sphere } else { cut(faces, sphere) }
    }
}

/// A sphere with the faces of a fragment.
fn cut(faces: u32, sphere: TriangleRecord) -> TriangleRecord {
    let mut bits = faces;
    let mut share = || {
        bits = scramble(bits);
        bits as f32 * (1.0 / 4_294_967_296.0)
    };
    let (up, turn) = (2.0 * share() - 1.0, TAU * share());
    let level = (1.0 - up * up).max(0.0).sqrt();
    let first = Vector3::new(level * turn.cos(), level * turn.sin(), up);
    let ([side, other], turn, oblique) = (across(&first), TAU * share(), OBLIQUE_RAD * (2.0 * share() - 1.0));
    let second = (side * turn.cos() + other * turn.sin()) * oblique.cos() + first * oblique.sin();
    let [one, two, three] = [0, 1, 2].map(|_| (FACES_AT[0] + FACES_AT[1] * share()) * sphere.radius);
    TriangleRecord {
        edge1: (first / one).into(),
        third: one * two / (three * oblique.cos()),
        edge2: (second / two).into(),
        ..sphere
    }
}

//! Grains that are seen one by one: spheres in heaps, as a granular solver or a file tells them.
//! A heap is an instance that stands still and has a tree of its own; images tell it as ground.
//! Its tree is made anew whenever its grains change, so it is made in one pass: in the order of the
//! grains' Morton codes, cut where the highest bit changes (Lauterbach et al. 2009).

use std::sync::Arc;

use selene_base::Pose;

use crate::material::Material;
use crate::record::TriangleRecord;
use crate::scene::SceneError;
use crate::tree::Bounds;

/// A sphere in the frame of its heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grain {
    /// Its centre, m.
    pub centre_m: [f32; 3],
    /// Its radius, m.
    pub radius_m: f32,
}

/// Grains of one material.
#[derive(Clone, Debug)]
pub struct Heap {
    /// Where the frame of the grains is on the map: near them, as places are in single precision.
    pub world_from_heap: Pose,
    /// The grains.
    pub grains: Arc<[Grain]>,
    /// What each grain is made of.
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
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { min: self.centre_m.map(|x| x - self.radius_m), max: self.centre_m.map(|x| x + self.radius_m) }
    }

    pub(crate) fn record(&self) -> TriangleRecord {
        let Self { centre_m, radius_m } = *self;
        TriangleRecord { corner: centre_m, radius: radius_m, edge1: [0.0; 3], pad0: 0, edge2: [0.0; 3], pad1: 0 }
    }
}

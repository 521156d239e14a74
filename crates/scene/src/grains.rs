//! Individually visible grains: spheres in heaps, which a granular solver or a file provides. A heap is a static
//! instance with a bounding volume hierarchy of its own; images label it as ground. The hierarchy is rebuilt whenever
//! the grains change, so it is built in one pass: in the order of the grains' Morton codes, split where the highest bit
//! changes (Lauterbach et al. 2009).

use std::sync::Arc;

use selene_base::Pose;

use crate::material::Material;
use crate::record::TriangleRecord;
use crate::scene::SceneError;
use crate::tree::Bounds;

/// A sphere, in the frame of its heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grain {
    /// Centre of the sphere, m.
    pub centre_m: [f32; 3],
    /// Radius of the sphere, m.
    pub radius_m: f32,
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
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { min: self.centre_m.map(|x| x - self.radius_m), max: self.centre_m.map(|x| x + self.radius_m) }
    }

    pub(crate) fn record(&self) -> TriangleRecord {
        let Self { centre_m, radius_m } = *self;
        TriangleRecord { corner: centre_m, radius: radius_m, edge1: [0.0; 3], pad0: 0, edge2: [0.0; 3], pad1: 0 }
    }
}

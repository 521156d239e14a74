//! The force of each node on the solid that presses it, and the sum of these forces.

use nalgebra::Vector3;
use selene_terrain::GroundPatch;

use crate::memory::MemoryPatch;
use crate::press::{CoveredNode, Motion, NodeContact, PressScratch, Response};
use crate::profile::Profile;
use crate::scm::{Scm, mobilise};
use crate::spec::Pressure;
use crate::wheel::Conditions;

/// Cosine of the angle between the solid's surface and the terrain. At a steeper angle the solid presses along the
/// terrain's normal.
const STEEPEST_COSINE: f64 = 0.2;

/// Speed at which the soil beside a side wall resists with half of its passive pressure: slow
/// compared with any wheel, so that the wall's force grows without a jump.
const WALL_SPEED_M_S: f64 = 1e-3;

/// The inputs that all node forces of a step share.
pub(crate) struct Law<'a> {
    pub(crate) scm: &'a Scm,
    pub(crate) normal: Vector3<f64>,
    /// Share of the soil's strength that the solid's skin holds.
    pub(crate) grip: f64,
    pub(crate) motion: &'a Motion,
    pub(crate) conditions: &'a Conditions,
    pub(crate) spacing_m: f64,
}

/// The directions of a contact. The memory holds mobilised strength in the terrain's plane. The
/// smallest rotation between the two normals turns it into the surface's plane, which keeps its
/// magnitude while a wheel's surface turns past a node.
struct Facing {
    terrain: Vector3<f64>,
    normal: Vector3<f64>,
    /// Cosine of the angle between `terrain` and `normal`.
    cosine: f64,
    /// (terrain + normal) / (1 + cosine). The rotation subtracts this, times the vector's component along the other
    /// normal.
    halfway: Vector3<f64>,
}

impl Facing {
    fn new(terrain: Vector3<f64>, normal: Vector3<f64>, cosine: f64) -> Self {
        Self { terrain, normal, cosine, halfway: (terrain + normal) * (1.0 / (1.0 + cosine)) }
    }

    fn to_surface(&self, in_terrain: Vector3<f64>) -> Vector3<f64> {
        in_terrain - self.halfway * in_terrain.dot(&self.normal)
    }

    fn to_terrain(&self, in_surface: Vector3<f64>) -> Vector3<f64> {
        in_surface - self.halfway * in_surface.dot(&self.terrain)
    }
}

impl Law<'_> {
    /// The response, and the largest height, m, by which a post still lies above its true rut.
    pub(crate) fn apply(
        &self,
        solid: &impl Profile,
        ground: &GroundPatch,
        memory: &mut MemoryPatch,
        scratch: &mut PressScratch,
    ) -> (Response, f64) {
        let mut response = Response { normal: self.normal, ..Response::default() };
        let mut lag_m: f64 = 0.0;
        let PressScratch { hits, patches, .. } = scratch;
        for hit in hits.iter_mut() {
            let force = match hit.touch {
                NodeContact::Free => continue,
                NodeContact::Soil => {
                    let inverse_b = if self.scm.needs_patch() { patches.inverse_b_per_m(hit.at) } else { 0.0 };
                    let (modulus, floored) = self.scm.modulus(inverse_b);
                    response.modulus_floored |= floored;
                    self.soil(hit, solid, modulus, memory, &mut response)
                }
            };
            let rut_m = f64::from(hit.surface_m) - hit.plastic_m;
            lag_m = lag_m.max(ground.node_height_m(hit.node) - rut_m);
            response.wrench.add_force_at(force, hit.point_m - self.motion.centre_m);
        }
        (response, lag_m)
    }

    fn soil(
        &self,
        hit: &mut CoveredNode,
        solid: &impl Profile,
        modulus: f64,
        memory: &mut MemoryPatch,
        response: &mut Response,
    ) -> Vector3<f64> {
        let cosine = self.normal.z;
        let (sinkage_m, plastic_m) = (hit.depth_m * cosine, hit.plastic_m * cosine);
        let Some(node) = memory.touch(hit.node, hit.surface_m) else { return Vector3::zeros() };
        let flat = in_plane(node.mobilised(), &self.normal);
        let pressed = self.scm.normal(modulus * self.scm.bearing_share(flat.norm(), self.grip), sinkage_m, plastic_m);
        hit.plastic_m = pressed.plastic_m / cosine;
        node.plastic_m = hit.plastic_m as f32;
        response.sinkage_m = response.sinkage_m.max(sinkage_m);
        response.contact_nodes += 1;

        let facing = self.facing(solid, hit.point_m);
        let velocity = self.motion.velocity_m_s(hit.point_m);
        let rising = velocity.dot(&facing.normal);
        let sigma_pa = self.scm.damped_pa(pressed.sigma_pa, rising);
        let slide = facing.to_terrain(velocity - facing.normal * rising);
        let (after, acting) = mobilise(flat, slide, self.conditions.dt_s, self.scm.janosi_m);
        node.set_mobilised([after.x, after.y]);
        let area_m2 = self.spacing_m * self.spacing_m * hit.share / (cosine * facing.cosine);
        let shear = facing.to_surface(acting) * (self.grip * self.scm.strength_pa(sigma_pa));
        let force = (facing.normal * sigma_pa + shear) * area_m2;
        force + self.side_wall(hit, solid, &velocity)
    }

    /// The directions along which pressure and shear act on a point of the solid.
    fn facing(&self, solid: &impl Profile, point_m: Vector3<f64>) -> Facing {
        let terrain = self.normal;
        let surface = match self.scm.pressure {
            Pressure::Terrain => terrain,
            Pressure::Surface => solid.inward(point_m).unwrap_or(terrain),
        };
        let cosine = surface.dot(&terrain);
        if cosine < STEEPEST_COSINE {
            return Facing::new(terrain, terrain, 1.0);
        }
        Facing::new(terrain, surface, cosine)
    }

    /// Force, N, with which soil resists a sunk side wall that moves into it.
    fn side_wall(&self, hit: &CoveredNode, solid: &impl Profile, velocity: &Vector3<f64>) -> Vector3<f64> {
        let Some(side) = solid.side(hit.point_m) else { return Vector3::zeros() };
        let outward_m_s = velocity.dot(&side.outward);
        if outward_m_s <= 0.0 {
            return Vector3::zeros();
        }
        let wall_m = self.spacing_m * self.spacing_m / side.band_m;
        let yielding = outward_m_s / (outward_m_s + WALL_SPEED_M_S);
        -side.outward * (self.scm.wall_n_per_m(hit.depth_m, self.conditions.gravity_m_s2) * wall_m * yielding)
    }
}

/// The vector in the plane of `normal` whose x and y are given.
fn in_plane([x, y]: [f64; 2], normal: &Vector3<f64>) -> Vector3<f64> {
    if x == 0.0 && y == 0.0 {
        return Vector3::zeros();
    }
    Vector3::new(x, y, -(normal.x * x + normal.y * y) / normal.z)
}

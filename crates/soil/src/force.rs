//! The force of one node on what presses it, and their sum.

use nalgebra::Vector3;
use selene_terrain::Ground;

use crate::memory::SoilMemory;
use crate::press::{Hit, Motion, Response, Scratch, Touch};
use crate::scm::{Scm, mobilise};

/// What the forces of a step share.
pub(crate) struct Law<'a> {
    pub(crate) scm: &'a Scm,
    pub(crate) normal: Vector3<f64>,
    pub(crate) motion: &'a Motion,
    pub(crate) dt_s: f64,
    pub(crate) spacing_m: f64,
}

impl Law<'_> {
    /// The response, and how far the ground's posts are behind.
    pub(crate) fn apply(&self, ground: &Ground, memory: &mut SoilMemory, scratch: &mut Scratch) -> (Response, f64) {
        let mut response = Response { normal: self.normal, ..Response::default() };
        let mut lag_m: f64 = 0.0;
        let Scratch { hits, patches, .. } = scratch;
        for hit in hits.iter_mut() {
            let force = match hit.touch {
                Touch::Free => continue,
                Touch::Loose => self.loose(hit, memory),
                Touch::Soil => {
                    let inverse_b = if self.scm.needs_patch() { patches.inverse_b_per_m(hit.at) } else { 0.0 };
                    let (modulus, floored) = self.scm.modulus(inverse_b);
                    response.modulus_floored |= floored;
                    self.soil(hit, modulus, memory, &mut response)
                }
            };
            let rut_m = f64::from(hit.surface_m) - hit.plastic_m;
            lag_m = lag_m.max(ground.node_height_m(hit.node) - rut_m);
            response.wrench.add_force_at(force, hit.point_m - self.motion.centre_m);
        }
        (response, lag_m)
    }

    /// Loose soil, pushed down, neither carries nor holds.
    fn loose(&self, hit: &mut Hit, memory: &mut SoilMemory) -> Vector3<f64> {
        hit.plastic_m = hit.depth_m;
        let node = memory.touch(hit.node, hit.surface_m);
        node.plastic_m = hit.plastic_m as f32;
        node.set_mobilised([0.0; 2]);
        Vector3::zeros()
    }

    fn velocity_m_s(&self, point_m: Vector3<f64>) -> Vector3<f64> {
        self.motion.linear_m_s + self.motion.angular_rad_s.cross(&(point_m - self.motion.centre_m))
    }

    fn soil(&self, hit: &mut Hit, modulus: f64, memory: &mut SoilMemory, response: &mut Response) -> Vector3<f64> {
        let cosine = self.normal.z;
        let (sinkage_m, plastic_m) = (hit.depth_m * cosine, hit.plastic_m * cosine);
        let node = memory.touch(hit.node, hit.surface_m);
        let pressed = self.scm.normal(modulus, sinkage_m, plastic_m);
        hit.plastic_m = pressed.plastic_m / cosine;
        node.plastic_m = hit.plastic_m as f32;
        response.sinkage_m = response.sinkage_m.max(sinkage_m);
        response.contact_nodes += 1;

        let velocity = self.velocity_m_s(hit.point_m);
        let rising = velocity.dot(&self.normal);
        let sigma_pa = self.scm.damped_pa(pressed.sigma_pa, rising);
        let slide = velocity - self.normal * rising;
        let before = in_plane(node.mobilised(), &self.normal);
        let (after, acting) = mobilise(before, slide, self.dt_s, self.scm.janosi_m);
        node.set_mobilised([after.x, after.y]);
        let area_m2 = self.spacing_m * self.spacing_m * hit.share / cosine;
        (self.normal * sigma_pa + acting * self.scm.strength_pa(sigma_pa)) * area_m2
    }
}

/// The vector in the plane of `normal` whose x and y are given.
fn in_plane([x, y]: [f64; 2], normal: &Vector3<f64>) -> Vector3<f64> {
    if x == 0.0 && y == 0.0 {
        return Vector3::zeros();
    }
    Vector3::new(x, y, -(normal.x * x + normal.y * y) / normal.z)
}

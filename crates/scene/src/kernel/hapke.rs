//! Hapke's reflectance with shadow-hiding opposition surge and macroscopic
//! roughness (Hapke 2012; Sato et al. 2014, doi 10.1002/2013JE004580, App. A);
//! coherent backscatter is left out. Written without angles where it can be, so
//! that it is finite at normal incidence and at opposition.

use std::f32::consts::PI;

use nalgebra::Vector3;

use crate::record::MaterialRecord;

/// Sines and cosines are kept above this where they divide.
pub(crate) const LEAST: f32 = 1e-6;

/// An angle to the normal: its cosine, sine and the two roughness integrals.
#[derive(Clone, Copy)]
pub(crate) struct Slant {
    pub(crate) cos: f32,
    pub(crate) sin: f32,
    pub(crate) e1: f32,
    pub(crate) e2: f32,
}

/// Radiance per irradiance of a source that is `sun`-ward: f · cos i, 1/sr. All
/// three are unit vectors away from the surface; zero below the horizon.
#[must_use]
pub fn reflected(m: &MaterialRecord, normal: &Vector3<f32>, sun: &Vector3<f32>, viewer: &Vector3<f32>) -> f32 {
    let mu0 = normal.dot(sun);
    let mu = normal.dot(viewer);
    if mu0 <= 0.0 || mu <= 0.0 {
        return 0.0;
    }
    let i = slant(m, mu0);
    let e = slant(m, mu);
    let cos_psi = cos_azimuth(normal, sun, viewer, mu0, mu);
    let sin2_half = 0.5 * (1.0 - cos_psi);
    let [mu0e, mue, s] = roughness(m, i, e, cos_psi, sin2_half);
    let cos_g = sun.dot(viewer).clamp(-1.0, 1.0);
    let scattering = h_function(m, mu0e / m.k) * h_function(m, mue / m.k) - 1.0;
    let single = phase(m, cos_g) * (1.0 + m.bs0 * surge(m, cos_g));
    m.k * m.w / (4.0 * PI) * mu0e / (mu0e + mue) * (single + scattering) * s
}

/// Cosine of the azimuth between the sun and the viewer about the normal.
fn cos_azimuth(normal: &Vector3<f32>, sun: &Vector3<f32>, viewer: &Vector3<f32>, mu0: f32, mu: f32) -> f32 {
    let across_sun = sun - normal * mu0;
    let across_viewer = viewer - normal * mu;
    let lengths = (across_sun.norm_squared() * across_viewer.norm_squared()).sqrt();
    if lengths < LEAST { 1.0 } else { (across_sun.dot(&across_viewer) / lengths).clamp(-1.0, 1.0) }
}

fn slant(m: &MaterialRecord, cos: f32) -> Slant {
    let sin = (1.0 - cos * cos).max(0.0).sqrt();
    let cot = cos / sin.max(LEAST);
    let x = cot / m.tan_theta;
    Slant { cos, sin, e1: (-2.0 / PI * x).exp(), e2: (-x * x / PI).exp() }
}

/// Effective cosines of incidence and emission, and the shadowing factor S.
fn roughness(m: &MaterialRecord, i: Slant, e: Slant, cos_psi: f32, sin2_half: f32) -> [f32; 3] {
    let i_is_less = i.cos >= e.cos;
    let (less, more) = if i_is_less { (i, e) } else { (e, i) };
    let psi = cos_psi.acos();
    let q = (2.0 - more.e1 - psi / PI * less.e1).max(LEAST);
    let less_e = m.chi * (less.cos + less.sin * m.tan_theta * (cos_psi * more.e2 + sin2_half * less.e2) / q);
    let more_e = m.chi * (more.cos + more.sin * m.tan_theta * (more.e2 - sin2_half * less.e2) / q);
    let f = (-2.0 * (sin2_half / (1.0 - sin2_half).max(LEAST)).sqrt()).exp();
    let ratio_less = less.cos / eta(m, less);
    let emitted = if i_is_less { more_e / eta(m, e) } else { less_e / eta(m, e) };
    let s = emitted * (i.cos / eta(m, i)) * m.chi / (1.0 - f + f * m.chi * ratio_less);
    if i_is_less { [less_e, more_e, s] } else { [more_e, less_e, s] }
}

fn eta(m: &MaterialRecord, y: Slant) -> f32 {
    m.chi * (y.cos + y.sin * m.tan_theta * y.e2 / (2.0 - y.e1))
}

/// Double Henyey–Greenstein phase function, g = 0 toward the source.
fn phase(m: &MaterialRecord, cos_g: f32) -> f32 {
    let lobe = |x: f32| (1.0 - m.b * m.b) / (x * x.sqrt());
    let round = 1.0 + m.b * m.b;
    let turn = 2.0 * m.b * cos_g;
    0.5 * (1.0 + m.c) * lobe(round - turn) + 0.5 * (1.0 - m.c) * lobe(round + turn)
}

/// Shadow-hiding surge Bs.
fn surge(m: &MaterialRecord, cos_g: f32) -> f32 {
    let tan_half = ((1.0 - cos_g) / (1.0 + cos_g).max(LEAST)).sqrt();
    1.0 / (1.0 + tan_half / m.hs)
}

/// Chandrasekhar's H for isotropic scatterers, Hapke's approximation.
fn h_function(m: &MaterialRecord, x: f32) -> f32 {
    let x = x.max(LEAST);
    1.0 / (1.0 - m.w * x * (m.r0 + 0.5 * (1.0 - 2.0 * m.r0 * x) * ((1.0 + x) / x).ln()))
}

//! Hapke's reflectance with shadow-hiding opposition surge and macroscopic roughness (Hapke 2012; Sato et al. 2014, doi
//! 10.1002/2013JE004580, App. A), without coherent backscatter. It avoids angles where possible, so that it is finite
//! at normal incidence and at opposition, and is generic over `Real`, so that one pixel or a packet of them give the
//! same bits.

use std::f32::consts::PI;

use nalgebra::Vector3;

use crate::real::{Real, along, dot};
use crate::record::MaterialRecord;

/// Lower limit of sines and cosines that divide.
pub(crate) const LEAST: f32 = 1e-6;

/// An angle to the normal: its cosine and sine, and the two roughness integrals E1 and E2.
#[derive(Clone, Copy)]
pub(crate) struct Slant<R> {
    pub(crate) cos: R,
    pub(crate) sin: R,
    pub(crate) e1: R,
    pub(crate) e2: R,
}

impl<R: Real> Slant<R> {
    #[inline(always)]
    fn either(mask: R::Mask, one: Self, other: Self) -> Self {
        Self {
            cos: R::either(mask, one.cos, other.cos),
            sin: R::either(mask, one.sin, other.sin),
            e1: R::either(mask, one.e1, other.e1),
            e2: R::either(mask, one.e2, other.e2),
        }
    }
}

/// Radiance per irradiance of a source in direction `sun`: f · cos i, 1/sr. All three are unit vectors away from the
/// surface; zero when sun or viewer is below the horizon.
#[must_use]
pub fn reflected(m: &MaterialRecord, normal: &Vector3<f32>, sun: &Vector3<f32>, viewer: &Vector3<f32>) -> f32 {
    if normal.dot(sun) <= 0.0 || normal.dot(viewer) <= 0.0 {
        return 0.0;
    }
    reflected_by(m, [normal, sun, viewer].map(|v| [v.x, v.y, v.z]))
}

/// As `reflected`, with normal, sun and viewer of one pixel or of a packet.
#[inline(always)]
pub(crate) fn reflected_by<R: Real>(m: &MaterialRecord, [normal, sun, viewer]: [[R; 3]; 3]) -> R {
    let mu0 = dot(normal, sun);
    let mu = dot(normal, viewer);
    let zero = mu.like(0.0);
    let faces = zero.below(mu0) & zero.below(mu);
    let i = slant(m, mu0);
    let e = slant(m, mu);
    let cos_psi = cos_azimuth(normal, sun, viewer, [mu0, mu]);
    let sin2_half = (mu.like(1.0) - cos_psi) * 0.5;
    let [mu0e, mue, s] = roughness(m, i, e, [cos_psi, sin2_half]);
    let cos_g = dot(sun, viewer).most(mu.like(-1.0)).least(mu.like(1.0));
    let scattering = h_function(m, mu0e / m.k) * h_function(m, mue / m.k) - 1.0;
    let single = phase(m, cos_g) * (surge(m, cos_g) * m.bs0 + 1.0);
    let reflected = mu0e * (m.k * m.w / (4.0 * PI)) / (mu0e + mue) * (single + scattering) * s;
    R::either(faces, reflected, zero)
}

/// Cosine of the azimuth between the sun and the viewer around the normal.
#[inline(always)]
fn cos_azimuth<R: Real>(normal: [R; 3], sun: [R; 3], viewer: [R; 3], [mu0, mu]: [R; 2]) -> R {
    let across_sun = along(sun, normal, -mu0);
    let across_viewer = along(viewer, normal, -mu);
    let lengths = (dot(across_sun, across_sun) * dot(across_viewer, across_viewer)).root();
    let one = mu.like(1.0);
    let cos = (dot(across_sun, across_viewer) / lengths).most(mu.like(-1.0)).least(one);
    R::either(lengths.below(mu.like(LEAST)), one, cos)
}

#[inline(always)]
fn slant<R: Real>(m: &MaterialRecord, cos: R) -> Slant<R> {
    let sin = (cos.like(1.0) - cos * cos).most(cos.like(0.0)).root();
    let cot = cos / sin.most(cos.like(LEAST));
    let x = cot / m.tan_theta;
    Slant { cos, sin, e1: (x * (-2.0 / PI)).exp(), e2: (-x * x / PI).exp() }
}

/// Effective cosines of incidence and emission, and the shadowing factor S.
#[inline(always)]
fn roughness<R: Real>(m: &MaterialRecord, i: Slant<R>, e: Slant<R>, [cos_psi, sin2_half]: [R; 2]) -> [R; 3] {
    let least = cos_psi.like(LEAST);
    let i_is_less = e.cos.at_most(i.cos);
    let less = Slant::either(i_is_less, i, e);
    let more = Slant::either(i_is_less, e, i);
    let psi = cos_psi.acos();
    let q = (more.e1 * -1.0 + 2.0 - psi / PI * less.e1).most(least);
    let less_e = (less.cos + less.sin * m.tan_theta * (cos_psi * more.e2 + sin2_half * less.e2) / q) * m.chi;
    let more_e = (more.cos + more.sin * m.tan_theta * (more.e2 - sin2_half * less.e2) / q) * m.chi;
    let f = ((sin2_half / (cos_psi.like(1.0) - sin2_half).most(least)).root() * -2.0).exp();
    let eta_less = eta(m, less);
    let eta_more = eta(m, more);
    let ratio_less = less.cos / eta_less;
    let emitted = R::either(i_is_less, more_e / eta_more, less_e / eta_less);
    let incident = i.cos / R::either(i_is_less, eta_less, eta_more);
    // The order matters: where f is 1, the last term can be tiny near the horizon, and adding it to 1 first would lose
    // it.
    let s = emitted * incident * m.chi / (cos_psi.like(1.0) - f + f * m.chi * ratio_less);
    [R::either(i_is_less, less_e, more_e), R::either(i_is_less, more_e, less_e), s]
}

#[inline(always)]
fn eta<R: Real>(m: &MaterialRecord, y: Slant<R>) -> R {
    (y.cos + y.sin * m.tan_theta * y.e2 / (y.e1 * -1.0 + 2.0)) * m.chi
}

/// Double Henyey–Greenstein phase function; g = 0 is toward the source.
#[inline(always)]
pub(crate) fn phase<R: Real>(m: &MaterialRecord, cos_g: R) -> R {
    let lobe = |x: R| cos_g.like(1.0 - m.b * m.b) / (x * x.root());
    let round = 1.0 + m.b * m.b;
    let turn = cos_g * (2.0 * m.b);
    lobe(-turn + round) * (0.5 * (1.0 + m.c)) + lobe(turn + round) * (0.5 * (1.0 - m.c))
}

/// Shadow-hiding opposition surge Bs, without its height.
#[inline(always)]
fn surge<R: Real>(m: &MaterialRecord, cos_g: R) -> R {
    let one = cos_g.like(1.0);
    let tan_half = ((one - cos_g) / (cos_g + 1.0).most(cos_g.like(LEAST))).root();
    one / (tan_half / m.hs + 1.0)
}

/// Hapke's approximation of Chandrasekhar's H function for isotropic scatterers.
#[inline(always)]
fn h_function<R: Real>(m: &MaterialRecord, x: R) -> R {
    let one = x.like(1.0);
    let x = x.most(x.like(LEAST));
    let log = ((one + x) / x).ln();
    one / (one - x * m.w * ((one - x * (2.0 * m.r0)) * 0.5 * log + m.r0))
}

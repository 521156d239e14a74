//! A principled reflectance after Burley 2012 ("Physically-Based Shading at Disney") with
//! base colour, metallic, roughness and specular: facets by the GGX distribution with
//! Smith's height-correlated masking (Heitz 2014) and Schlick's Fresnel, over a diffuse
//! part that takes what the facets leave, on the way in and on the way out (Kelemen and
//! Szirmay-Kalos 2001), so that it is reciprocal and never returns more than it got.

use std::f32::consts::PI;

use nalgebra::Vector3;

use super::Bands;
use crate::record::MaterialRecord;

/// 21/20, the reciprocal of the mean of 1 − (1 − cos)⁵ over the hemisphere, less the
/// 0.3 % by which rough facets would overrun a white base.
pub(crate) const DIFFUSE_GAIN: f32 = 1.047;

/// Radiance per irradiance of a source in direction `source`: f · cos i, 1/sr, in each
/// band. All three are unit vectors away from the surface; zero below the horizon. Facets
/// are taken at least as rough as `least_alpha`; the base is `shade` times the material's.
#[must_use]
pub fn reflected(
    m: &MaterialRecord,
    normal: &Vector3<f32>,
    source: &Vector3<f32>,
    viewer: &Vector3<f32>,
    [least_alpha, shade]: [f32; 2],
) -> Bands {
    let mu0 = normal.dot(source);
    let mu = normal.dot(viewer);
    if mu0 <= 0.0 || mu <= 0.0 {
        return Bands::zeros();
    }
    let base = Bands::from(m.tint) * (m.albedo * shade);
    let half = (source + viewer).normalize();
    let grazing = fifth(1.0 - source.dot(&half));
    let mirror = Bands::repeat(m.specular * (1.0 - m.metallic)) + base * m.metallic;
    let fresnel = mirror + (Bands::repeat(1.0) - mirror) * grazing;
    let left = (1.0 - facet_share(m, mu0)) * (1.0 - facet_share(m, mu)) / (1.0 - m.specular);
    let diffuse = base * ((1.0 - m.metallic) * DIFFUSE_GAIN / PI * left);
    (diffuse + fresnel * facets(m.alpha.max(least_alpha), normal.dot(&half), mu0, mu)) * mu0
}

/// Distribution and masking of the facets, over 4 cos i cos e.
fn facets(alpha: f32, cos_half: f32, mu0: f32, mu: f32) -> f32 {
    let a2 = alpha * alpha;
    let narrow = cos_half * cos_half * (a2 - 1.0) + 1.0;
    let distribution = a2 / (PI * narrow * narrow);
    let masking = mu0 * (mu * mu * (1.0 - a2) + a2).sqrt() + mu * (mu0 * mu0 * (1.0 - a2) + a2).sqrt();
    distribution * 0.5 / masking
}

/// What smooth facets of no metal would send back.
fn facet_share(m: &MaterialRecord, cos: f32) -> f32 {
    m.specular + (1.0 - m.specular) * fifth(1.0 - cos)
}

fn fifth(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    x * x * x * x * x
}

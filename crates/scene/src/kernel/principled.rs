//! The principled reflectance after Burley 2012 ("Physically-Based Shading at Disney") with base colour, metallic,
//! roughness and specular. Facets follow the GGX distribution with Smith's height-correlated masking (Heitz 2014) and
//! Schlick's Fresnel. The diffuse part below receives what the facets do not reflect, on the way in and on the way out
//! (Kelemen and Szirmay-Kalos 2001), so the reflectance is reciprocal and conserves energy.

use std::f32::consts::PI;

use nalgebra::Vector3;

use super::Bands;
use crate::record::MaterialRecord;

/// 21/20, the reciprocal of the mean of 1 − (1 − cos)⁵ over the hemisphere, minus the 0.3 % by which rough facets on a
/// white base would reflect more than they receive.
pub(crate) const DIFFUSE_GAIN: f32 = 1.047;

/// Radiance per irradiance of a source in direction `source`: f · cos i, 1/sr, in each band. All three are unit vectors
/// away from the surface; zero when source or viewer is below the horizon. Facets are at least as rough as
/// `least_alpha`; `shade` scales the base colour.
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

/// Distribution times masking of the facets, divided by 4 cos i cos e.
fn facets(alpha: f32, cos_half: f32, mu0: f32, mu: f32) -> f32 {
    let a2 = alpha * alpha;
    let narrow = cos_half * cos_half * (a2 - 1.0) + 1.0;
    let distribution = a2 / (PI * narrow * narrow);
    let masking = mu0 * (mu * mu * (1.0 - a2) + a2).sqrt() + mu * (mu0 * mu0 * (1.0 - a2) + a2).sqrt();
    distribution * 0.5 / masking
}

/// Fraction that smooth non-metallic facets reflect (Schlick's Fresnel).
fn facet_share(m: &MaterialRecord, cos: f32) -> f32 {
    m.specular + (1.0 - m.specular) * fifth(1.0 - cos)
}

fn fifth(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    x * x * x * x * x
}

// The principled reflectance: the twin of principled.rs.

const DIFFUSE_GAIN: f32 = 1.047;

// Radiance per irradiance of a source in direction `source`: f · cos i, 1/sr, in each band.
fn principled(m: Material, surface: Surface, source: vec3<f32>, viewer: vec3<f32>) -> vec3<f32> {
    let normal = surface.normal;
    let mu0 = dot(normal, source);
    let mu = dot(normal, viewer);
    if mu0 <= 0.0 || mu <= 0.0 {
        return vec3(0.0);
    }
    let base = m.tint * (m.albedo * surface.shade);
    let middle = normalize(source + viewer);
    let grazing = fifth(1.0 - dot(source, middle));
    let mirror = vec3(m.specular * (1.0 - m.metallic)) + base * m.metallic;
    let fresnel = mirror + (vec3(1.0) - mirror) * grazing;
    let left = (1.0 - facet_share(m, mu0)) * (1.0 - facet_share(m, mu)) / (1.0 - m.specular);
    let diffuse = base * ((1.0 - m.metallic) * DIFFUSE_GAIN / PI * left);
    return (diffuse + fresnel * facets(max(m.alpha, surface.least_alpha), dot(normal, middle), mu0, mu)) * mu0;
}

// Distribution times masking of the facets, divided by 4 cos i cos e.
fn facets(alpha: f32, cos_half: f32, mu0: f32, mu: f32) -> f32 {
    let a2 = alpha * alpha;
    let narrow = cos_half * cos_half * (a2 - 1.0) + 1.0;
    let distribution = a2 / (PI * narrow * narrow);
    let masking = mu0 * sqrt(mu * mu * (1.0 - a2) + a2) + mu * sqrt(mu0 * mu0 * (1.0 - a2) + a2);
    return distribution * 0.5 / masking;
}

// Fraction that smooth non-metallic facets reflect (Schlick's Fresnel).
fn facet_share(m: Material, cosine: f32) -> f32 {
    return m.specular + (1.0 - m.specular) * fifth(1.0 - cosine);
}

fn fifth(value: f32) -> f32 {
    let x = clamp(value, 0.0, 1.0);
    return x * x * x * x * x;
}

// Hapke's reflectance: the twin of hapke.rs.

const LEAST: f32 = 1e-6;

// An angle to the normal: its cosine and sine, and the two roughness integrals E1 and E2.
struct Slant {
    cos: f32,
    sin: f32,
    e1: f32,
    e2: f32,
}

// Radiance per irradiance of a source in direction `sun`: f · cos i, 1/sr.
fn reflected(m: Material, normal: vec3<f32>, sun: vec3<f32>, viewer: vec3<f32>) -> f32 {
    let mu0 = dot(normal, sun);
    let mu = dot(normal, viewer);
    if mu0 <= 0.0 || mu <= 0.0 {
        return 0.0;
    }
    let cos_psi = cos_azimuth(normal, sun, viewer, mu0, mu);
    let rough = roughness(m, slant(m, mu0), slant(m, mu), cos_psi, 0.5 * (1.0 - cos_psi));
    let cos_g = clamp(dot(sun, viewer), -1.0, 1.0);
    let scattering = h_function(m, rough.x / m.k) * h_function(m, rough.y / m.k) - 1.0;
    let single = phase(m, cos_g) * (1.0 + m.bs0 * surge(m, cos_g));
    return m.k * m.w / (4.0 * PI) * rough.x / (rough.x + rough.y) * (single + scattering) * rough.z;
}

// Cosine of the azimuth between the sun and the viewer around the normal.
fn cos_azimuth(normal: vec3<f32>, sun: vec3<f32>, viewer: vec3<f32>, mu0: f32, mu: f32) -> f32 {
    let across_sun = sun - normal * mu0;
    let across_viewer = viewer - normal * mu;
    let lengths = sqrt(dot(across_sun, across_sun) * dot(across_viewer, across_viewer));
    if lengths < LEAST {
        return 1.0;
    }
    return clamp(dot(across_sun, across_viewer) / lengths, -1.0, 1.0);
}

fn slant(m: Material, cosine: f32) -> Slant {
    let sine = sqrt(max(1.0 - cosine * cosine, 0.0));
    let x = cosine / max(sine, LEAST) / m.tan_theta;
    return Slant(cosine, sine, exp(-2.0 / PI * x), exp(-x * x / PI));
}

// Effective cosines of incidence and emission, and the shadowing factor S.
fn roughness(m: Material, i: Slant, e: Slant, cos_psi: f32, sin2_half: f32) -> vec3<f32> {
    let i_is_less = i.cos >= e.cos;
    var less = e;
    var more = i;
    if i_is_less {
        less = i;
        more = e;
    }
    let psi = acos(cos_psi);
    let q = max(2.0 - more.e1 - psi / PI * less.e1, LEAST);
    let less_e = m.chi * (less.cos + less.sin * m.tan_theta * (cos_psi * more.e2 + sin2_half * less.e2) / q);
    let more_e = m.chi * (more.cos + more.sin * m.tan_theta * (more.e2 - sin2_half * less.e2) / q);
    let f = exp(-2.0 * sqrt(sin2_half / max(1.0 - sin2_half, LEAST)));
    let ratio_less = less.cos / eta(m, less);
    let emitted = select(less_e, more_e, i_is_less) / eta(m, e);
    let s = emitted * (i.cos / eta(m, i)) * m.chi / (1.0 - f + f * m.chi * ratio_less);
    return vec3(select(vec2(more_e, less_e), vec2(less_e, more_e), i_is_less), s);
}

fn eta(m: Material, y: Slant) -> f32 {
    return m.chi * (y.cos + y.sin * m.tan_theta * y.e2 / (2.0 - y.e1));
}

// Double Henyey–Greenstein phase function; g = 0 is toward the source.
fn phase(m: Material, cos_g: f32) -> f32 {
    let round = 1.0 + m.b * m.b;
    let turn = 2.0 * m.b * cos_g;
    return 0.5 * (1.0 + m.c) * lobe(m, round - turn) + 0.5 * (1.0 - m.c) * lobe(m, round + turn);
}

fn lobe(m: Material, x: f32) -> f32 {
    return (1.0 - m.b * m.b) / (x * sqrt(x));
}

// Shadow-hiding opposition surge Bs, without its height.
fn surge(m: Material, cos_g: f32) -> f32 {
    let tan_half = sqrt((1.0 - cos_g) / max(1.0 + cos_g, LEAST));
    return 1.0 / (1.0 + tan_half / m.hs);
}

// Hapke's approximation of Chandrasekhar's H function for isotropic scatterers.
fn h_function(m: Material, mu: f32) -> f32 {
    let x = max(mu, LEAST);
    return 1.0 / (1.0 - m.w * x * (m.r0 + 0.5 * (1.0 - 2.0 * m.r0 * x) * log((1.0 + x) / x)));
}

// Earthlight on a surface: the twin of earthlight.rs.

const FIRST_EARTH_NUMBER: u32 = 0x3000u;
const LEAST_SIN: f32 = 1e-4;
const LEAST_MEAN: f32 = 1e-5;

// A point of the Earth's lit part, and its light relative to the mean.
struct EarthPoint {
    direction: vec3<f32>,
    weight: f32,
}

// Radiance toward `viewer` of earthlight on a surface, W/(m² sr), by at most `samples` rays to the Earth's disc; with
// one ray the Earth is a point.
fn earthlight(surface: Surface, viewer: vec3<f32>, samples: u32, seed: u32) -> vec3<f32> {
    if globals.earth_irradiance <= 0.0 {
        return vec3(0.0);
    }
    var seen = EarthPoint(globals.earth_direction, 0.0);
    if EARTH_DISC {
        seen = seen_part(surface, samples, seed);
    } else if faces_openly(surface, seen.direction) {
        seen.weight = 1.0;
    }
    if seen.weight <= 0.0 {
        return vec3(0.0);
    }
    let irradiance = globals.earth_bands * (globals.earth_irradiance * seen.weight);
    return irradiance * reflect_toward(surface, seen.direction, viewer);
}

// Radiance toward `viewer`, W/(m² sr), of earthlight from the single point that `even` (0…1, 0…1) selects.
fn any_earthlight(surface: Surface, viewer: vec3<f32>, even: vec2<f32>) -> vec3<f32> {
    if globals.earth_irradiance <= 0.0 {
        return vec3(0.0);
    }
    let point = earth_point(even);
    if !faces_openly(surface, point.direction) {
        return vec3(0.0);
    }
    let irradiance = globals.earth_bands * (globals.earth_irradiance * point.weight);
    return irradiance * reflect_toward(surface, point.direction, viewer);
}

// Fraction of earthlight that arrives, 0…1, as the weight, and its mean direction.
fn seen_part(surface: Surface, samples: u32, seed: u32) -> EarthPoint {
    let earth = globals.earth_direction;
    let radius = globals.earth_radius;
    let height = dot(surface.normal, earth);
    if height <= -radius {
        return EarthPoint(earth, 0.0);
    }
    let up = cross(earth, level_across(earth));
    let hidden = ground_hides_disc(surface, earth, up * radius);
    if hidden == ALL_HIDDEN {
        return EarthPoint(earth, 0.0);
    }
    let ground_cuts = hidden == PART_HIDDEN;
    if !ground_cuts && height >= radius && !cone_meets_instances(surface_ray(surface, earth), radius) {
        return EarthPoint(earth, 1.0);
    }
    return sample_earth(surface, samples, seed, ground_cuts);
}

fn sample_earth(surface: Surface, samples: u32, seed: u32, ground_cuts: bool) -> EarthPoint {
    let earth = globals.earth_direction;
    let shift = vec2(unit(seed, FIRST_EARTH_NUMBER), unit(seed, FIRST_EARTH_NUMBER + 1u));
    let count = min(samples, SAMPLES_MAX);
    let hidden = instances_hide(surface_ray(surface, earth), globals.earth_radius, Disc(true, count, shift));
    var seen = 0.0;
    var total = 0.0;
    var toward = vec3(0.0);
    for (var index = 0u; index < count; index++) {
        let point = earth_point(stratified(index, count, shift));
        let direction = point.direction;
        let weight = point.weight;
        total += weight;
        let open = ((hidden >> index) & 1u) == 0u && dot(surface.normal, direction) > 0.0;
        if open && !(ground_cuts && ground_hides(surface, direction)) {
            seen += weight;
            toward += direction * weight;
        }
    }
    if seen <= 0.0 {
        return EarthPoint(earth, 0.0);
    }
    // The whole disc is visible: use its centre, which has no noise.
    if seen < total {
        return EarthPoint(normalize(toward), seen / total);
    }
    return EarthPoint(earth, 1.0);
}

// The point of the lit part that two uniform numbers of 0…1 select.
fn earth_point(even: vec2<f32>) -> EarthPoint {
    let earth = globals.earth_direction;
    let cosine = -dot(globals.sun_from_earth, earth);
    let toward_limb = globals.sun_from_earth + earth * cosine;
    let sine = length(toward_limb);
    var side = level_across(earth);
    if sine > LEAST_SIN {
        side = toward_limb / sine;
    }
    let phase = atan2(sine, cosine);
    let span = PI - phase;
    let longitude = phase - 0.5 * PI + span * even.x;
    // The integral of cos³ is sin φ − sin³ φ/3; its inverse trisects an angle.
    let sin_latitude = 2.0 * sin(asin(2.0 * even.y - 1.0) / 3.0);
    let out = sqrt(max(1.0 - sin_latitude * sin_latitude, 0.0)) * sin(longitude);
    let place = side * out + cross(earth, side) * sin_latitude;
    let light = max(cos(longitude - phase) * cos(longitude), 0.0);
    let mean = max(0.5 * (cosine + sine / max(span, LEAST_SIN)), LEAST_MEAN);
    return EarthPoint(normalize(earth + place * globals.earth_radius), light / mean);
}

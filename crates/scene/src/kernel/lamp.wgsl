// Lamplight on a surface: the twin of lamp.rs.

const FAINTEST: f32 = 1e-5;
const FAINTEST_OF_SUN: f32 = 1e-4;
const SMALL: f32 = 2e-3;
const BEFORE: f32 = 1e-4;
const NEAREST2: f32 = 1e-8;
const FIRST_LAMP_NUMBER: u32 = 0x1000u;

// Light that one point of a lamp sends to a place.
struct Lamplight {
    irradiance: vec3<f32>,
    distance: f32,
    direction: vec3<f32>,
}

// Light at `place` from the point of the lamp's face that `even` (0…1, 0…1) selects.
fn lamplight(index: u32, place: vec3<f32>, even: vec2<f32>) -> Lamplight {
    let across = lamps[index].side * (2.0 * even.x - 1.0);
    let along = lamps[index].up * (2.0 * even.y - 1.0);
    let way = lamps[index].position + across + along - place;
    let distance2 = max(dot(way, way), NEAREST2);
    let distance = sqrt(distance2);
    let direction = way / distance;
    let cosine = -dot(direction, lamps[index].axis);
    let fall = clamp((cosine - lamps[index].cos_outer) * lamps[index].inverse_fall, 0.0, 1.0);
    let irradiance = lamps[index].intensity * (pow(fall, lamps[index].falloff) / distance2);
    return Lamplight(irradiance, distance, direction);
}

// Radiance toward `viewer` of all lamps' light on a surface, W/(m² sr), by at most `samples` rays to each lamp;
// `sun_share` is the fraction of sunlight that arrives as well.
fn lamps_on(surface: Surface, viewer: vec3<f32>, samples: u32, seed: u32, sun_share: f32) -> vec3<f32> {
    let faintest = max(FAINTEST, FAINTEST_OF_SUN * sun_share * globals.sun_irradiance);
    var sum = vec3(0.0);
    for (var lamp = 0u; lamp < globals.lamp_count; lamp++) {
        let way = lamps[lamp].position - surface.point;
        let distance2 = dot(way, way);
        if lamps[lamp].peak < faintest * distance2 {
            continue;
        }
        let small = lamps[lamp].radius * lamps[lamp].radius < SMALL * SMALL * distance2;
        let count = select(clamp(samples, 1u, SAMPLES_MAX), 1u, small);
        let number = FIRST_LAMP_NUMBER + 2u * lamp;
        let shift = vec2(unit(seed, number), unit(seed, number + 1u));
        var of_lamp = vec3(0.0);
        for (var index = 0u; index < count; index++) {
            let even = select(stratified(index, count, shift), vec2(0.5), count == 1u);
            of_lamp += reflected_light(surface, viewer, lamp, even);
        }
        sum += of_lamp / f32(count);
    }
    return sum;
}

// Radiance toward `viewer`, W/(m² sr), from a point of one randomly chosen lamp, times the number of lamps.
fn any_lamp_on(surface: Surface, viewer: vec3<f32>, chance: vec3<f32>) -> vec3<f32> {
    if globals.lamp_count == 0u {
        return vec3(0.0);
    }
    let lamp = min(u32(chance.x * f32(globals.lamp_count)), globals.lamp_count - 1u);
    return reflected_light(surface, viewer, lamp, chance.yz) * f32(globals.lamp_count);
}

fn reflected_light(surface: Surface, viewer: vec3<f32>, lamp: u32, even: vec2<f32>) -> vec3<f32> {
    let light = lamplight(lamp, surface.point, even);
    let irradiance = light.irradiance.x + light.irradiance.y + light.irradiance.z;
    if irradiance <= 0.0 || dot(surface.normal, light.direction) <= 0.0 {
        return vec3(0.0);
    }
    let ray = surface_ray(surface, light.direction);
    let end = light.distance * (1.0 - BEFORE) - surface.clearance;
    if trace_heights(ray, end, SURFACE_MIP).t < FAR || any_instance(ray, end) {
        return vec3(0.0);
    }
    return light.irradiance * reflect_toward(surface, light.direction, viewer);
}

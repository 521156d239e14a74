// Light of Sun, Earth and lamps that reaches a surface by way of others: the twin of scatter.rs.

const LEAST_COS: f32 = 1e-4;
const FIRST_NUMBER: u32 = 2u;
const FIRST_PATH_NUMBER: u32 = 0x2000u;
const BLUR_ALPHA: f32 = 1.0;

// Number of rays that a pixel gets of those of its 2 × 2 block.
fn rays_of_pixel(rays_of_four: u32, column: u32, row: u32) -> u32 {
    let place = ((column ^ row) & 1u) * 2u + (row & 1u);
    return (rays_of_four + 3u - place) / 4u;
}

// Radiance toward `viewer` of the light that other surfaces scatter onto this one, W/(m² sr), by `rays` rays of this
// pixel, each of which carries 4/`bounce_rays` of the light.
fn scattered(sharp: Surface, viewer: vec3<f32>, rays: u32, seed: u32) -> vec3<f32> {
    let shift = vec2(unit(seed, FIRST_NUMBER), unit(seed, FIRST_NUMBER + 1u));
    var surface = sharp;
    surface.normal = sharp.even;
    surface.least_alpha = BLUR_ALPHA;
    var sum = vec3(0.0);
    for (var index = 0u; index < rays; index++) {
        let direction = cosine_direction(surface.normal, stratified(index, rays, shift));
        let arriving = path_radiance(surface, direction, index, seed);
        if arriving.x + arriving.y + arriving.z > 0.0 {
            let cosine = max(dot(surface.normal, direction), LEAST_COS);
            sum += arriving * reflect_toward(surface, direction, viewer) / cosine;
        }
    }
    return sum * (PI * 4.0 / f32(max(view.bounce_rays, 1u)));
}

// Radiance that reaches a surface from a direction along a path of as many surfaces as the camera's `bounces`, W/(m²
// sr): the direct light on each surface, times what the surfaces before it reflect.
fn path_radiance(first: Surface, first_direction: vec3<f32>, index: u32, seed: u32) -> vec3<f32> {
    var surface = first;
    var direction = first_direction;
    var passed = vec3(1.0);
    var radiance = vec3(0.0);
    var number = FIRST_NUMBER + 2u + 2u * index;
    for (var bounce = 1u; bounce <= view.bounces; bounce++) {
        let ray = surface_ray(surface, direction);
        let hit = trace_nearest(ray, SURFACE_MIP);
        if hit.t >= FAR {
            break;
        }
        var other = surface_at(ray, hit);
        other.least_alpha = BLUR_ALPHA;
        let back = -direction;
        radiance += passed * own_light(other, back, vec2(unit(seed, number), unit(seed, number + 1u)));
        if bounce == view.bounces {
            break;
        }
        number = FIRST_PATH_NUMBER + 4u * (index * BOUNCES_MAX + bounce);
        direction = cosine_direction(other.normal, vec2(unit(seed, number + 2u), unit(seed, number + 3u)));
        let cosine = max(dot(other.normal, direction), LEAST_COS);
        passed = passed * reflect_toward(other, direction, back) * (PI / cosine);
        surface = other;
    }
    return radiance;
}

// Radiance toward `back` of the direct light on a surface, W/(m² sr), from the points of the Sun and of the Earth that
// `even` selects and from a point of a lamp.
fn own_light(surface: Surface, back: vec3<f32>, even: vec2<f32>) -> vec3<f32> {
    let sun = sun_point(even);
    var radiance = vec3(0.0);
    if faces_openly(surface, sun) {
        radiance = reflect_toward(surface, sun, back) * (SUN_BAND * globals.sun_irradiance);
    }
    if EARTH_DISC {
        radiance += any_earthlight(surface, back, even);
    }
    if !LAMPS || globals.lamp_count == 0u {
        return radiance;
    }
    // Selects the lamp by the finer digits of the first number.
    return radiance + any_lamp_on(surface, back, vec3(fract(even.x * 4096.0), even));
}

// A direction above a surface, with a density proportional to the cosine to the normal.
fn cosine_direction(normal: vec3<f32>, even: vec2<f32>) -> vec3<f32> {
    let side = level_across(normal);
    let turn = 2.0 * PI * even.y;
    let out = sqrt(even.x);
    let lift = sqrt(max(1.0 - even.x, 0.0));
    return normalize(side * (out * cos(turn)) + cross(normal, side) * (out * sin(turn)) + normal * lift);
}

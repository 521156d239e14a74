// Radiance of the sky in a pixel whose ray meets nothing: the twin of sky.rs.

const POINTS: u32 = 8u;
const LIMB_EXPONENT: f32 = 0.508;

// Mean radiance of the sky in a pixel, in each band, W/(m² sr).
fn sky_radiance(column: u32, row: u32) -> vec3<f32> {
    let at = vec2(f32(column), f32(row));
    let centre = normalize(camera_direction(at));
    let near_sun = length(centre - globals.sun_direction) < globals.sun_radius + view.pixel_reach;
    let near_earth = length(centre - globals.earth_direction) < globals.earth_radius + view.pixel_reach;
    if !near_sun && !near_earth {
        return vec3(0.0);
    }
    var sum = vec3(0.0);
    for (var point = 0u; point < POINTS * POINTS; point++) {
        let within = vec2(f32(point % POINTS), f32(point / POINTS));
        let direction = camera_direction(at + (within + 0.5) / f32(POINTS) - 0.5);
        if any(direction != vec3(0.0)) {
            sum += disc_radiance(normalize(direction));
        }
    }
    return sum / f32(POINTS * POINTS);
}

// Radiance of the Earth, or of the Sun behind it, in a direction, W/(m² sr).
fn disc_radiance(direction: vec3<f32>) -> vec3<f32> {
    let earth = globals.earth_direction;
    let earth_side = level_across(earth);
    let on_earth = on_disc(direction, earth, earth_side, globals.earth_radius);
    if on_earth.z < 1.0 {
        let normal = earth_side * on_earth.x + cross(earth, earth_side) * on_earth.y - earth * sqrt(1.0 - on_earth.z);
        return globals.earth_bands * (globals.earth_radiance * max(dot(normal, globals.sun_from_earth), 0.0));
    }
    let sun = globals.sun_direction;
    let out2 = on_disc(direction, sun, level_across(sun), globals.sun_radius).z;
    if out2 < 1.0 {
        return vec3(SUN_BAND * globals.sun_radiance * pow(1.0 - out2, 0.5 * LIMB_EXPONENT));
    }
    return vec3(0.0);
}

// Position on a disc in units of its radius, and the squared distance from its centre; above 1 outside the disc.
fn on_disc(direction: vec3<f32>, axis: vec3<f32>, side: vec3<f32>, radius: f32) -> vec3<f32> {
    if radius <= 0.0 || dot(direction, axis) <= 0.0 {
        return vec3(0.0, 0.0, 2.0);
    }
    let at = vec2(dot(direction, side), dot(direction, cross(axis, side))) / radius;
    return vec3(at, dot(at, at));
}

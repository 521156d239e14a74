// What a camera pixel and a lidar beam see: the twin of trace.rs.

@group(1) @binding(0) var<uniform> view: Camera;
@group(1) @binding(1) var<storage, read_write> pixels: array<Pixel>;
@group(1) @binding(0) var<storage, read> beam_list: array<Beam>;
@group(1) @binding(1) var<storage, read_write> returns: array<Return>;

@compute @workgroup_size(8, 8)
fn camera(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < view.size.x && id.y < view.size.y {
        pixels[id.y * view.size.x + id.x] = camera_pixel(id.x, id.y);
    }
}

@compute @workgroup_size(64)
fn beams(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < globals.beam_count {
        returns[id.x] = beam_return(beam_list[id.x]);
    }
}

const SHIFT_NUMBER: u32 = 4096u;
const SEED_STEP: u32 = 0x9e3779b9u;

// What the pixel at (column, row) sees.
fn camera_pixel(column: u32, row: u32) -> Pixel {
    shutter = row_middle(row);
    let ray = camera_ray(vec2(f32(column), f32(row)));
    if all(ray.direction == vec3(0.0)) {
        return Pixel(0.0, FAR, 0u, 0.0);
    }
    let hit = trace_nearest(ray, SENSOR_MIP);
    let seed = pixel_seed(view.seed, column, row);
    if hit.t >= FAR {
        if view.samples > 1u {
            return Pixel(mean_radiance(column, row, seed), FAR, 0u, 0.0);
        }
        return Pixel(sky_radiance(column, row), FAR, 0u, 0.0);
    }
    let surface = surface_at(ray, hit);
    let viewer = -normalize(ray.direction);
    let rays = rays_of_pixel(view.bounce_rays, column, row);
    let from_around = scattered(surface, viewer, rays, view.bounce_rays, seed);
    if view.samples > 1u {
        return Pixel(mean_radiance(column, row, seed), hit.t, surface.code, from_around);
    }
    return Pixel(lit(surface, viewer, seed), hit.t, surface.code, from_around);
}

// Mean over a pixel's samples, each at its own place and instant.
fn mean_radiance(column: u32, row: u32, seed: u32) -> f32 {
    let shift = vec3(unit(seed, SHIFT_NUMBER), unit(seed, SHIFT_NUMBER + 1u), unit(seed, SHIFT_NUMBER + 2u));
    var sum = 0.0;
    for (var index = 0u; index < view.samples; index++) {
        let within = stratified_in_three(index, view.samples, shift);
        shutter = row_middle(row) + view.exposure_share * (within.z - 0.5);
        let ray = camera_ray(vec2(f32(column), f32(row)) + within.xy - 0.5);
        sum += radiance_along(ray, column, row, scramble(seed ^ (index * SEED_STEP)));
    }
    return sum / f32(view.samples);
}

// Radiance that comes along a ray of a pixel.
fn radiance_along(ray: Ray, column: u32, row: u32, seed: u32) -> f32 {
    if all(ray.direction == vec3(0.0)) {
        return 0.0;
    }
    let hit = trace_nearest(ray, SENSOR_MIP);
    if hit.t >= FAR {
        return sky_radiance(column, row);
    }
    return lit(surface_at(ray, hit), -normalize(ray.direction), seed);
}

// Where in the span the middle of a row's exposure is; 0 where nothing moves.
fn row_middle(row: u32) -> f32 {
    return 0.5 * view.exposure_share + view.row_share * f32(row);
}

// What a beam meets.
fn beam_return(beam: Beam) -> Return {
    let ray = Ray(beam.origin, beam.direction);
    let hit = trace_nearest(ray, SENSOR_MIP);
    if hit.t >= FAR {
        return Return(FAR, 0.0, 0.0, 0u);
    }
    let surface = surface_at(ray, hit);
    let cosine = clamp(-dot(surface.normal, ray.direction), 0.0, 1.0);
    return Return(hit.t, cosine, materials[surface.material].albedo, surface.code);
}

// The ray through a place in the image at `shutter`; t counts as depth does.
fn camera_ray(place: vec2<f32>) -> Ray {
    let rows = view.world_from_optical;
    let origin = vec3(rows[0].w, rows[1].w, rows[2].w);
    if view.moves == 0u {
        return Ray(origin, camera_direction(place));
    }
    return Ray(origin + view.motion.shift * shutter, camera_direction(place));
}

// The direction through a place in the image at `shutter`, as long as lens_direction has it.
fn camera_direction(place: vec2<f32>) -> vec3<f32> {
    let d = lens_direction(place);
    let rows = view.world_from_optical;
    let direction = vec3(dot(rows[0].xyz, d), dot(rows[1].xyz, d), dot(rows[2].xyz, d));
    if view.moves == 0u {
        return direction;
    }
    return turned(direction, view.motion.axis, shutter * view.motion.angle);
}

// Radiance of the Sun's and the Earth's own light toward the viewer, W/(m² sr).
fn lit(surface: Surface, viewer: vec3<f32>, seed: u32) -> f32 {
    let sun = sunlight(surface, view.sun_samples, seed);
    var radiance = 0.0;
    if sun.share > 0.0 {
        radiance = sun.share * globals.sun_irradiance * reflect_toward(surface, sun.direction, viewer);
    }
    let earth = globals.earth_direction;
    if sun.share < 1.0 && globals.earth_irradiance > 0.0 && faces_openly(surface, earth) {
        radiance += globals.earth_irradiance * reflect_toward(surface, earth, viewer);
    }
    return radiance;
}

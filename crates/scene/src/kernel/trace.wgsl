// What a camera pixel and a lidar beam see: the twin of trace.rs.

@group(1) @binding(0) var<uniform> view: Camera;
@group(1) @binding(1) var<storage, read_write> pixels: array<Pixel>;
@group(1) @binding(1) var<storage, read_write> bare_pixels: array<BarePixel>;
@group(1) @binding(0) var<storage, read_write> beam_list: array<Beam>;

@compute @workgroup_size(CAMERA_GROUP, CAMERA_GROUP)
fn camera(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = view.first_row + id.y;
    if id.x < view.size.x && row < view.size.y {
        pixels[id.y * view.size.x + id.x] = camera_pixel(id.x, row, true);
    }
}

// As `camera`, without scattered light: less to write, copy and read.
@compute @workgroup_size(CAMERA_GROUP, CAMERA_GROUP)
fn bare_camera(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = view.first_row + id.y;
    if id.x < view.size.x && row < view.size.y {
        let pixel = camera_pixel(id.x, row, false);
        let radiance = array(pixel.radiance.x, pixel.radiance.y, pixel.radiance.z);
        bare_pixels[id.y * view.size.x + id.x] = BarePixel(radiance, pixel.depth, pixel.code);
    }
}

@compute @workgroup_size(BEAM_GROUP)
fn beams(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < globals.beam_count {
        // The return replaces the beam in the buffer.
        let met = beam_return(beam_list[id.x]);
        beam_list[id.x] = Beam(vec3(met.range, met.cos_incidence, met.reflectance), met.code, vec3(0.0), 0.0);
    }
}

const SHIFT_NUMBER: u32 = 4096u;
const SEED_STEP: u32 = 0x9e3779b9u;

// What the pixel at (column, row) sees. The ray through its centre gives depth and class; with several samples per
// pixel, separate rays give the light. `scatters` says whether other surfaces' light counts.
fn camera_pixel(column: u32, row: u32, scatters: bool) -> Pixel {
    let seed = pixel_seed(view.seed, column, row);
    let middle = row_middle(row);
    let rays = select(1u, view.samples + 1u, view.samples > 1u);
    var pixel = Pixel(vec3(0.0), FAR, vec3(0.0), 0u);
    let pixel_size = max(view.inverse_focal.x, view.inverse_focal.y);
    for (var index = 0u; index < rays; index++) {
        var within = vec3(0.0, 0.0, middle);
        var light_seed = seed;
        if index > 0u {
            within = sample(middle, seed, index - 1u);
            light_seed = scramble(seed ^ (index * SEED_STEP));
        }
        shutter = within.z;
        let ray = camera_ray(vec2(f32(column), f32(row)) + within.xy);
        if all(ray.direction == vec3(0.0)) {
            if index == 0u {
                return pixel;
            }
            continue;
        }
        let hit = trace_nearest(ray, SENSOR_MIP);
        let gives_light = index > 0u || rays == 1u;
        if hit.t >= FAR {
            if gives_light {
                pixel.radiance += sky_radiance(column, row);
            }
            continue;
        }
        let surface = detailed(ray.direction, pixel_size, hit, surface_at(ray, hit));
        let viewer = -normalize(ray.direction);
        if index == 0u {
            pixel.depth = hit.t;
            pixel.code = surface.code;
            if scatters {
                pixel.scattered = scattered(surface, viewer, rays_of_pixel(view.bounce_rays, column, row), seed);
            }
        }
        if gives_light {
            pixel.radiance += lit(surface, viewer, light_seed);
        }
    }
    pixel.radiance /= f32(view.samples);
    return pixel;
}

// A sample's offset from the pixel's centre, pixels, and its share of the time span.
fn sample(middle: f32, seed: u32, index: u32) -> vec3<f32> {
    let shift = vec3(unit(seed, SHIFT_NUMBER), unit(seed, SHIFT_NUMBER + 1u), unit(seed, SHIFT_NUMBER + 2u));
    let place = stratified_in_three(index, view.samples, shift);
    return vec3(place.xy - 0.5, middle + view.exposure_share * (place.z - 0.5));
}

// Share of the time span at the middle of a row's exposure; 0 where nothing moves.
fn row_middle(row: u32) -> f32 {
    return 0.5 * view.exposure_share + view.row_share * f32(row);
}

// What a beam meets, at the beam's share of the time span.
fn beam_return(beam: Beam) -> Return {
    shutter = beam.share;
    let ray = Ray(beam.origin, beam.direction);
    let hit = trace_nearest(ray, SENSOR_MIP);
    if hit.t >= FAR {
        return Return(FAR, 0.0, 0.0, 0u);
    }
    let surface = surface_at(ray, hit);
    let cosine = clamp(-dot(surface.normal, ray.direction), 0.0, 1.0);
    return Return(hit.t, cosine, materials[surface.material].albedo, surface.code);
}

// The ray through an image position at `shutter`; its t equals the depth.
fn camera_ray(place: vec2<f32>) -> Ray {
    let rows = view.world_from_optical;
    let origin = vec3(rows[0].w, rows[1].w, rows[2].w);
    if view.moves == 0u {
        return Ray(origin, camera_direction(place));
    }
    return Ray(origin + view.motion.shift * shutter, camera_direction(place));
}

// Direction through an image position at `shutter`, scene's frame, with the length that lens_direction gives.
fn camera_direction(place: vec2<f32>) -> vec3<f32> {
    let d = lens_direction(place);
    let rows = view.world_from_optical;
    let direction = vec3(dot(rows[0].xyz, d), dot(rows[1].xyz, d), dot(rows[2].xyz, d));
    if view.moves == 0u {
        return direction;
    }
    return turned(direction, view.motion.axis, shutter * view.motion.angle);
}

// Radiance toward the viewer from direct light of Sun, Earth and lamps, W/(m² sr).
fn lit(surface: Surface, viewer: vec3<f32>, seed: u32) -> vec3<f32> {
    let sun = sunlight(surface, view.sun_samples, seed);
    var radiance = vec3(0.0);
    if sun.share > 0.0 {
        let irradiance = SUN_BAND * sun.share * globals.sun_irradiance;
        radiance = reflect_toward(surface, sun.direction, viewer) * irradiance;
    }
    if sun.share < 1.0 {
        radiance += earthlight(surface, viewer, view.earth_samples, seed);
    }
    if LAMPS {
        radiance += lamps_on(surface, viewer, view.sun_samples, seed, sun.share);
    }
    return radiance;
}

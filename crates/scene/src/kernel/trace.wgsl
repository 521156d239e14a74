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

// What the pixel at (column, row) sees.
fn camera_pixel(column: u32, row: u32) -> Pixel {
    let ray = camera_ray(column, row);
    let hit = trace_nearest(ray, SENSOR_MIP);
    if hit.t >= FAR {
        return Pixel(sky_radiance(column, row), FAR, vec3(0.0), 0u);
    }
    let pixel = max(view.inverse_focal.x, view.inverse_focal.y);
    let surface = detailed(ray.direction, pixel, hit, surface_at(ray, hit));
    let viewer = -normalize(ray.direction);
    let seed = pixel_seed(view.seed, column, row);
    let radiance = lit(surface, viewer, seed);
    let rays = rays_of_pixel(view.bounce_rays, column, row);
    let from_around = scattered(surface, viewer, rays, view.bounce_rays, seed);
    return Pixel(radiance, hit.t, from_around, surface.code);
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

// The ray through a pixel's centre, one metre along the optical axis a unit of t.
fn camera_ray(column: u32, row: u32) -> Ray {
    let rows = view.world_from_optical;
    return Ray(vec3(rows[0].w, rows[1].w, rows[2].w), camera_direction(vec2(f32(column), f32(row))));
}

// The direction through a place in the image, 1 along the optical axis.
fn camera_direction(place: vec2<f32>) -> vec3<f32> {
    let p = vec3((place - view.principal) * view.inverse_focal, 1.0);
    let rows = view.world_from_optical;
    return vec3(dot(rows[0].xyz, p), dot(rows[1].xyz, p), dot(rows[2].xyz, p));
}

// Radiance of the own light of Sun, Earth and lamps toward the viewer, W/(m² sr).
fn lit(surface: Surface, viewer: vec3<f32>, seed: u32) -> vec3<f32> {
    let sun = sunlight(surface, view.sun_samples, seed);
    var radiance = vec3(0.0);
    if sun.share > 0.0 {
        let irradiance = SUN_BAND * sun.share * globals.sun_irradiance;
        radiance = reflect_toward(surface, sun.direction, viewer) * irradiance;
    }
    let earth = globals.earth_direction;
    if sun.share < 1.0 && globals.earth_irradiance > 0.0 && faces_openly(surface, earth) {
        radiance += globals.earth_bands * globals.earth_irradiance * reflect_toward(surface, earth, viewer);
    }
    return radiance + lamps_on(surface, viewer, view.sun_samples, seed, sun.share);
}

// What a camera pixel and a lidar beam see: the twin of trace.rs.

const SENSOR_MIP: u32 = 7u;
const SHADOW_MIP: u32 = 0u;
const GRAZING_COS: f32 = 0.01;
const GROUND_CODE: u32 = 1u;

@group(1) @binding(0) var<uniform> view: Camera;
@group(1) @binding(1) var<storage, read_write> pixels: array<Pixel>;
@group(1) @binding(0) var<storage, read> beam_list: array<Beam>;
@group(1) @binding(1) var<storage, read_write> returns: array<Return>;

// A point on a surface, its unit normal and where shadow rays start above it.
struct Surface {
    point: vec3<f32>,
    normal: vec3<f32>,
    clearance: f32,
    material: u32,
    code: u32,
}

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
    let hit = trace_nearest(ray);
    if hit.t >= FAR {
        return Pixel(0.0, FAR, 0u);
    }
    let surface = surface_at(ray, hit);
    return Pixel(shade(ray, surface), hit.t, surface.code);
}

// What a beam meets.
fn beam_return(beam: Beam) -> Return {
    let ray = Ray(beam.origin, beam.direction);
    let hit = trace_nearest(ray);
    if hit.t >= FAR {
        return Return(FAR, 0.0, 0.0, 0u);
    }
    let surface = surface_at(ray, hit);
    let cosine = clamp(-dot(surface.normal, ray.direction), 0.0, 1.0);
    return Return(hit.t, cosine, materials[surface.material].albedo, surface.code);
}

// The ray through a pixel's centre, one metre along the optical axis a unit of t.
fn camera_ray(column: u32, row: u32) -> Ray {
    let at = (vec2(f32(column), f32(row)) - view.principal) * view.inverse_focal;
    let rows = view.world_from_optical;
    let p = vec3(at, 1.0);
    let direction = vec3(dot(rows[0].xyz, p), dot(rows[1].xyz, p), dot(rows[2].xyz, p));
    return Ray(vec3(rows[0].w, rows[1].w, rows[2].w), direction);
}

fn trace_nearest(ray: Ray) -> Hit {
    let ground = trace_heights(ray, FAR, SENSOR_MIP);
    return trace_instances(ray, Hit(ground.t, GROUND, ground.level));
}

fn surface_at(ray: Ray, hit: Hit) -> Surface {
    let point = ray.origin + ray.direction * hit.t;
    let rounding = 1e-4 + 1e-6 * (abs(point.x) + abs(point.y) + abs(point.z));
    if hit.instance == GROUND {
        let normal = ground_normal(hit.part, point.x, point.y);
        return Surface(point, normal, rounding + 2e-3 * levels[hit.part].spacing, 0u, GROUND_CODE);
    }
    let outward = triangle_normal(hit.instance, hit.part);
    let normal = select(outward, -outward, dot(outward, ray.direction) > 0.0);
    return Surface(point, normal, rounding, instances[hit.instance].material, instances[hit.instance].code);
}

// Radiance of a surface toward the ray's origin, W/(m² sr).
fn shade(ray: Ray, surface: Surface) -> f32 {
    let ambient = materials[surface.material].albedo / PI * globals.ambient_irradiance;
    if dot(surface.normal, globals.sun_direction) <= 0.0 || in_shadow(surface) {
        return ambient;
    }
    let viewer = -normalize(ray.direction);
    return ambient + globals.sun_irradiance * reflect_sun(surface, viewer);
}

fn in_shadow(surface: Surface) -> bool {
    let ray = Ray(surface.point + surface.normal * surface.clearance, globals.sun_direction);
    return trace_heights(ray, FAR, SHADOW_MIP).t < FAR || any_instance(ray, FAR);
}

// Radiance per irradiance of the Sun, 1/sr.
fn reflect_sun(surface: Surface, viewer: vec3<f32>) -> f32 {
    let material = materials[surface.material];
    if material.kind == 0u {
        return material.albedo / PI * dot(surface.normal, globals.sun_direction);
    }
    let turned_away = max(GRAZING_COS - dot(surface.normal, viewer), 0.0);
    return reflected(material, surface.normal, globals.sun_direction, normalize(viewer + surface.normal * turned_away));
}

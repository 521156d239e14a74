// Points on surfaces: the twin of surface.rs.

const SENSOR_MIP: u32 = 7u;
const SURFACE_MIP: u32 = 0u;
const GRAZING_COS: f32 = 0.01;
const GROUND_CODE: u32 = 1u;

// A point on a surface, its unit normal and the distance above it at which rays start.
struct Surface {
    point: vec3<f32>,
    normal: vec3<f32>,
    even: vec3<f32>,
    clearance: f32,
    material: u32,
    code: u32,
    shade: f32,
    least_alpha: f32,
    open: f32,
}

// A ray that leaves a surface in a direction.
fn surface_ray(surface: Surface, direction: vec3<f32>) -> Ray {
    return Ray(surface.point + surface.normal * surface.clearance, direction);
}

// The first hit of a ray on ground or instances.
fn trace_nearest(ray: Ray, start_mip: u32) -> Hit {
    let ground = trace_heights(ray, FAR, start_mip);
    return trace_instances(ray, Hit(ground.t, GROUND, ground.level));
}

// The surface that a ray has hit.
fn surface_at(ray: Ray, hit: Hit) -> Surface {
    let point = ray.origin + ray.direction * hit.t;
    let rounding = 1e-4 + 1e-6 * (abs(point.x) + abs(point.y) + abs(point.z));
    if hit.instance == GROUND {
        let normal = ground_normal(hit.part, point.x, point.y);
        return Surface(point, normal, normal, rounding + 2e-3 * levels[hit.part].spacing, 0u, GROUND_CODE, 1.0, 0.0, 1.0);
    }
    let outward = part_normal(ray, hit);
    let normal = select(outward, -outward, dot(outward, ray.direction) > 0.0);
    let code = instances[hit.instance].code;
    return Surface(point, normal, normal, rounding, instances[hit.instance].material, code, 1.0, 0.0, 1.0);
}

// Ray parameter at which ground hides what lies in `direction`, or FAR; only ground beyond `start` counts.
fn ground_beyond(surface: Surface, direction: vec3<f32>, start: f32) -> f32 {
    let ray = surface_ray(surface, direction);
    return trace_heights(Ray(ray.origin + direction * start, direction), FAR, SURFACE_MIP).t;
}

// How much of a disc the ground hides.
const NONE_HIDDEN: u32 = 0u;
const PART_HIDDEN: u32 = 1u;
const ALL_HIDDEN: u32 = 2u;

// How much the ground hides of the disc around `axis` whose highest point is `axis + up`. When the lowest point is
// visible, so is the highest; and ground that hides the highest lies beyond the ground that hides the lowest.
fn ground_hides_disc(surface: Surface, axis: vec3<f32>, up: vec3<f32>) -> u32 {
    var start = 0.0;
    for (var hidden = NONE_HIDDEN; hidden < ALL_HIDDEN; hidden++) {
        let point = select(axis - up, axis + up, hidden == PART_HIDDEN);
        start = ground_beyond(surface, point, start);
        if start >= FAR {
            return hidden;
        }
    }
    return ALL_HIDDEN;
}

// Whether the ground hides what lies in `direction`.
fn ground_hides(surface: Surface, direction: vec3<f32>) -> bool {
    return ground_beyond(surface, direction, 0.0) < FAR;
}

// Whether an instance hides what lies in `direction`.
fn instance_hides(surface: Surface, direction: vec3<f32>) -> bool {
    return any_instance(surface_ray(surface, direction), FAR);
}

// Whether a surface faces `direction` and neither ground nor an instance is in between.
fn faces_openly(surface: Surface, direction: vec3<f32>) -> bool {
    return dot(surface.normal, direction) > 0.0
        && !ground_hides(surface, direction)
        && !instance_hides(surface, direction);
}

// Radiance toward `viewer` per irradiance of a source in direction `source`, 1/sr, in each band.
fn reflect_toward(surface: Surface, source: vec3<f32>, viewer: vec3<f32>) -> vec3<f32> {
    let material = materials[surface.material];
    let tint = material.tint * surface.shade;
    if material.kind == LAMBERT {
        return tint * (material.albedo / PI * max(dot(surface.normal, source), 0.0));
    }
    let turned_away = max(GRAZING_COS - dot(surface.normal, viewer), 0.0);
    let toward = normalize(viewer + surface.normal * turned_away);
    if material.kind == HAPKE {
        return tint * reflected(material, surface.normal, source, toward);
    }
    return principled(material, surface, source, toward);
}

// A horizontal unit vector perpendicular to a unit vector; axis × side then points up most.
fn level_across(axis: vec3<f32>) -> vec3<f32> {
    let along = select(vec3(1.0, 0.0, 0.0), vec3(0.0, 0.0, 1.0), abs(axis.z) < 0.999);
    return normalize(cross(along, axis));
}

// The ground's unit normal where it has this slope along x and y in addition.
fn tilted(n: vec3<f32>, slope: vec2<f32>) -> vec3<f32> {
    return normalize(vec3(n.xy - slope * n.z, n.z));
}

// Traces a ray against the instances: the twin of bvh.rs.

// The nearest hit on an instance before `nearest`, else `nearest` itself.
fn trace_instances(ray: Ray, nearest: Hit) -> Hit {
    var hit = nearest;
    let inverse = inverse_direction(ray);
    var node = 0u;
    while node < globals.node_count {
        let here = instance_nodes[node];
        if !meets_box(here.min, here.max, ray, inverse, hit.t) {
            node = here.escape;
            continue;
        }
        if here.leaf != 0u {
            hit = trace_mesh(ray, here.leaf >> 3u, hit, false);
        }
        node += 1u;
    }
    return hit;
}

// Whether any instance blocks the ray before t_max.
fn any_instance(ray: Ray, t_max: f32) -> bool {
    let open = Hit(t_max, 0u, 0u);
    let inverse = inverse_direction(ray);
    var node = 0u;
    while node < globals.node_count {
        let here = instance_nodes[node];
        if !meets_box(here.min, here.max, ray, inverse, t_max) {
            node = here.escape;
            continue;
        }
        if here.leaf != 0u && trace_mesh(ray, here.leaf >> 3u, open, true).t < t_max {
            return true;
        }
        node += 1u;
    }
    return false;
}

// A cone around a ray of unit direction that widens by `spread` per metre on all sides, as the inverses of the least
// and the greatest direction along each axis.
struct Cone {
    origin: vec3<f32>,
    low: vec3<f32>,
    high: vec3<f32>,
}

fn cone_about(ray: Ray, spread: f32) -> Cone {
    return Cone(ray.origin, inverse(ray.direction - spread), inverse(ray.direction + spread));
}

// Whether an instance's box reaches into the cone around a ray of unit direction that widens by `spread` per metre.
fn cone_meets_instances(ray: Ray, spread: f32) -> bool {
    let cone = cone_about(ray, spread);
    var node = 0u;
    while node < globals.node_count {
        let here = instance_nodes[node];
        if !cone_meets_box(here.min, here.max, cone) {
            node = here.escape;
            continue;
        }
        if here.leaf != 0u {
            return true;
        }
        node += 1u;
    }
    return false;
}

// `count` stratified points of the Sun's or the Earth's disc, shifted by `shift`. Their directions are computed where they
// are used: an array of them would be kept in memory and slow down every ray.
struct Disc {
    is_earth: bool,
    count: u32,
    shift: vec2<f32>,
}

fn disc_direction(disc: Disc, index: u32) -> vec3<f32> {
    let even = stratified(index, disc.count, disc.shift);
    if disc.is_earth {
        return earth_point(even).direction;
    }
    return sun_point(even);
}

// Which of the rays from `ray.origin` to the points of a disc an instance hides, as bits from the lowest on. All
// directions lie in the cone around `ray` that widens by `spread` per metre.
fn instances_hide(ray: Ray, spread: f32, disc: Disc) -> u32 {
    let cone = cone_about(ray, spread);
    let open = Hit(FAR, 0u, 0u);
    var hidden = 0u;
    var node = 0u;
    while node < globals.node_count {
        let here = instance_nodes[node];
        if !cone_meets_box(here.min, here.max, cone) {
            node = here.escape;
            continue;
        }
        if here.leaf != 0u {
            for (var index = 0u; index < disc.count; index++) {
                if ((hidden >> index) & 1u) == 0u
                    && trace_mesh(Ray(ray.origin, disc_direction(disc, index)), here.leaf >> 3u, open, true).t < FAR {
                    hidden |= 1u << index;
                }
            }
        }
        node += 1u;
    }
    return hidden;
}

// Whether the cone's square cross-section touches the box at some t ≥ 0.
fn cone_meets_box(low: vec3<f32>, high: vec3<f32>, cone: Cone) -> bool {
    let past_min = (low - cone.origin) * cone.high;
    let past_max = (high - cone.origin) * cone.low;
    let min_ahead = cone.high > vec3(0.0);
    let max_ahead = cone.low > vec3(0.0);
    let enter = max(select(vec3(0.0), past_min, min_ahead), select(past_max, vec3(0.0), max_ahead));
    let leave = min(select(past_min, vec3(FAR), min_ahead), select(vec3(FAR), past_max, max_ahead));
    return max(max(enter.x, enter.y), max(enter.z, 0.0)) <= min(min(leave.x, leave.y), min(leave.z, FAR));
}

// The nearest hit on one instance before `nearest`, else `nearest` itself; with `first`, the first hit found.
fn trace_mesh(world_ray: Ray, index: u32, nearest: Hit, first: bool) -> Hit {
    var hit = nearest;
    let ray = seen_by(index, world_ray);
    let inverse = inverse_direction(ray);
    var node = instances[index].first_node;
    let end = instances[index].end_node;
    while node < end {
        let here = mesh_nodes[node];
        if !meets_box(here.min, here.max, ray, inverse, hit.t) {
            node = here.escape;
            continue;
        }
        let low = here.leaf >> 3u;
        for (var part = low; part < low + (here.leaf & 7u); part++) {
            let t = meet_part(part, ray);
            if t < hit.t {
                hit = Hit(t, index, part);
                if first {
                    return hit;
                }
            }
        }
        node += 1u;
    }
    return hit;
}

// The ray in an instance's frame, at the share of the time span in `shutter`.
fn seen_by(index: u32, ray: Ray) -> Ray {
    if index >= globals.moving_from {
        return object_ray(index, moved_back(motions[index - globals.moving_from], ray));
    }
    return object_ray(index, ray);
}

// The ray in the instance's own frame; t keeps its value.
fn object_ray(index: u32, ray: Ray) -> Ray {
    let rows = instances[index].object_from_world;
    let o = vec4(ray.origin, 1.0);
    let d = ray.direction;
    let origin = vec3(dot(rows[0], o), dot(rows[1], o), dot(rows[2], o));
    return Ray(origin, vec3(dot(rows[0].xyz, d), dot(rows[1].xyz, d), dot(rows[2].xyz, d)));
}

fn inverse_direction(ray: Ray) -> vec3<f32> {
    return inverse(ray.direction);
}

// 1/x of each component; 1e20 where a component is nearly zero.
fn inverse(v: vec3<f32>) -> vec3<f32> {
    return select(1.0 / v, vec3(1e20), abs(v) < vec3(1e-20));
}

fn meets_box(low: vec3<f32>, high: vec3<f32>, ray: Ray, inverse: vec3<f32>, t_max: f32) -> bool {
    let a = (low - ray.origin) * inverse;
    let b = (high - ray.origin) * inverse;
    let near = min(a, b);
    let far = max(a, b);
    let enter = max(max(near.x, near.y), max(near.z, 0.0));
    let leave = min(min(far.x, far.y), min(far.z, t_max));
    return enter <= leave;
}

// Ray parameter of the hit on a triangle or a grain, or FAR.
fn meet_part(index: u32, ray: Ray) -> f32 {
    if triangles[index].radius > 0.0 {
        return meet_grain(index, ray);
    }
    return meet_triangle(index, ray);
}

// Ray parameter at which a ray from outside meets a grain, or FAR.
fn meet_grain(index: u32, ray: Ray) -> f32 {
    let to_centre = triangles[index].corner - ray.origin;
    let inverse = 1.0 / dot(ray.direction, ray.direction);
    let middle = dot(to_centre, ray.direction) * inverse;
    let beside = ray.direction * middle - to_centre;
    let within = triangles[index].radius * triangles[index].radius - dot(beside, beside);
    if within < 0.0 {
        return FAR;
    }
    let half = sqrt(within * inverse);
    var t = middle - half;
    if triangles[index].third > 0.0 {
        t = meet_fragment(index, ray, to_centre, t, middle + half);
    }
    return select(FAR, t, t > 0.0);
}

// Ray parameter at which a ray enters a fragment, or FAR; it is in the fragment's sphere between two parameters.
fn meet_fragment(index: u32, ray: Ray, to_centre: vec3<f32>, from_t: f32, to_t: f32) -> f32 {
    var enter = from_t;
    var leave = to_t;
    for (var number = 0u; number < 3u; number++) {
        let normal = face_normal(index, number);
        let apart = dot(normal, to_centre);
        let along = inverse(vec3(dot(normal, ray.direction))).x;
        let a = (apart - 1.0) * along;
        let b = (apart + 1.0) * along;
        enter = max(enter, min(a, b));
        leave = min(leave, max(a, b));
    }
    return select(FAR, enter, enter <= leave);
}

// One of the three normals of a fragment's faces, as long as makes n · p = 1 the plane of one.
fn face_normal(index: u32, number: u32) -> vec3<f32> {
    if number == 0u {
        return triangles[index].edge1;
    }
    if number == 1u {
        return triangles[index].edge2;
    }
    return cross(triangles[index].edge1, triangles[index].edge2) * triangles[index].third;
}

// Outward normal of a grain at a point of its surface, from its centre; of any length.
fn grain_normal(index: u32, point: vec3<f32>) -> vec3<f32> {
    var normal = point;
    if triangles[index].third == 0.0 {
        return normal;
    }
    var farthest = dot(point, point) / (triangles[index].radius * triangles[index].radius);
    for (var number = 0u; number < 3u; number++) {
        let face = face_normal(index, number);
        let out = dot(face, point);
        if out * out > farthest {
            farthest = out * out;
            normal = select(face, -face, out < 0.0);
        }
    }
    return normal;
}

// Ray parameter of the hit on a triangle, or FAR.
fn meet_triangle(index: u32, ray: Ray) -> f32 {
    let edge1 = triangles[index].edge1;
    let edge2 = triangles[index].edge2;
    let p = cross(ray.direction, edge2);
    let determinant = dot(edge1, p);
    if determinant == 0.0 {
        return FAR;
    }
    let from_corner = ray.origin - triangles[index].corner;
    let q = cross(from_corner, edge1);
    let inverse = 1.0 / determinant;
    let u = dot(from_corner, p) * inverse;
    let v = dot(ray.direction, q) * inverse;
    let t = dot(edge2, q) * inverse;
    return select(FAR, t, u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0);
}

// Outward unit normal, in the scene's frame, where a ray has met an instance.
fn part_normal(ray: Ray, hit: Hit) -> vec3<f32> {
    let instance = hit.instance;
    var n = cross(triangles[hit.part].edge1, triangles[hit.part].edge2);
    if triangles[hit.part].radius > 0.0 {
        let seen = seen_by(instance, ray);
        n = grain_normal(hit.part, seen.origin + seen.direction * hit.t - triangles[hit.part].corner);
    }
    let rows = instances[instance].object_from_world;
    let normal = normalize(rows[0].xyz * n.x + rows[1].xyz * n.y + rows[2].xyz * n.z);
    if instance < globals.moving_from {
        return normal;
    }
    let motion = motions[instance - globals.moving_from];
    return turned(normal, motion.axis, shutter * motion.angle);
}

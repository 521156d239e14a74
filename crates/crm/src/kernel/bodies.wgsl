// Twin of body.rs and of the solids in shape.rs; lengths are cells.

fn quaternion_product(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz), a.w * b.w - dot(a.xyz, b.xyz));
}

fn turned(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

fn turned_back(q: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    return turned(vec4<f32>(-q.xyz, q.w), v);
}

// The body after `time_s` along its twist.
fn moved(body: Body, time_s: f32) -> Body {
    var after = body;
    after.position += body.velocity * (time_s / model.cell_m);
    let angle = length(body.spin) * time_s;
    if angle > 0.0 {
        let turn = vec4<f32>(normalize(body.spin) * sin(0.5 * angle), cos(0.5 * angle));
        after.rotation = normalize(quaternion_product(turn, body.rotation));
    }
    return after;
}

struct Distance {
    cells: f32,
    normal: vec3<f32>,
}

fn sides(v: vec3<f32>) -> vec3<f32> {
    return select(vec3<f32>(-1.0), vec3<f32>(1.0), v >= vec3<f32>(0.0));
}

fn unit_or_up(v: vec3<f32>) -> vec3<f32> {
    let size = length(v);
    return select(vec3<f32>(0.0, 0.0, 1.0), v / size, size > 0.0);
}

// Distance and normal of a place inside; `excess` is the distance beyond each pair of faces.
fn from_excess(at: vec3<f32>, excess: vec3<f32>) -> Distance {
    let side = sides(at);
    if excess.x >= excess.y && excess.x >= excess.z {
        return Distance(excess.x, vec3<f32>(side.x, 0.0, 0.0));
    }
    if excess.y >= excess.z {
        return Distance(excess.y, vec3<f32>(0.0, side.y, 0.0));
    }
    return Distance(excess.z, vec3<f32>(0.0, 0.0, side.z));
}

// Distance from the surface, and normal there, for a place inside; for one outside only a distance of at least zero.
fn distance_to(body: Body, at: vec3<f32>) -> Distance {
    switch body.shape {
        case 0u: {
            return Distance(length(at) - body.half.x, unit_or_up(at));
        }
        case 1u: {
            return from_excess(at, abs(at) - body.half);
        }
        case 2u: {
            let across = length(at.xy);
            let radial = unit_or_up(vec3<f32>(at.xy, 0.0));
            let excess = vec3<f32>(across - body.half.x, -1e30, abs(at.z) - body.half.z);
            let found = from_excess(vec3<f32>(across, 0.0, at.z), excess);
            return Distance(found.cells, radial * found.normal.x + vec3<f32>(0.0, 0.0, found.normal.z));
        }
        // A shell has no inside.
        default: {
            return Distance(1.0, vec3<f32>(0.0, 0.0, 1.0));
        }
    }
}

// Removes the approach to a surface, and reduces the tangential motion by Coulomb friction.
fn slide(relative: vec3<f32>, normal: vec3<f32>, friction: f32) -> vec3<f32> {
    let approach = -dot(relative, normal);
    if approach <= 0.0 {
        return relative;
    }
    let along = relative + normal * approach;
    let speed = length(along);
    let taken = friction * approach;
    return select(vec3<f32>(0.0), along * (1.0 - taken / speed), speed > taken);
}

// Adds a number to one of 64 bits, with 32 after the point, in two words: exact in any order.
fn add_exact(at: u32, number: f32) {
    let size = abs(number);
    let whole = floor(size);
    var low = u32((size - whole) * REACTION_SCALE);
    var high = u32(whole);
    if number < 0.0 {
        low = ~low + 1u;
        high = ~high + select(0u, 1u, low == 0u);
    }
    let before = atomicAdd(&reactions[2u * at], low);
    atomicAdd(&reactions[2u * at + 1u], high + select(0u, 1u, before + low < before));
}

// Adds an impulse (cell masses times m/s) and its moment (times cells) to the reaction of a body or of the walls.
fn react(row: u32, block: u32, impulse: vec3<f32>, moment: vec3<f32>) {
    let first = (row * PLACES + block % PLACES) * 6u;
    for (var axis = 0u; axis < 3u; axis++) {
        add_exact(first + axis, impulse[axis]);
        add_exact(first + 3u + axis, moment[axis]);
    }
}

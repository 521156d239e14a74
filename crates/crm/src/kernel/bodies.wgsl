// Twin of body.rs, of the solids in shape.rs and of wheel.rs; lengths are cells.

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

fn distance_to_cylinder(body: Body, at: vec3<f32>) -> Distance {
    let across = length(at.xy);
    let radial = unit_or_up(vec3<f32>(at.xy, 0.0));
    let excess = vec3<f32>(across - body.half.x, -1e30, abs(at.z) - body.half.z);
    let found = from_excess(vec3<f32>(across, 0.0, at.z), excess);
    return Distance(found.cells, radial * found.normal.x + vec3<f32>(0.0, 0.0, found.normal.z));
}

fn distance_to_wheel(body: Body, at: vec3<f32>) -> Distance {
    let rim = distance_to_cylinder(body, at);
    if dot(at.xy, at.xy) <= body.half.x * body.half.x {
        return rim;
    }
    let apart = 6.2831853 / f32(body.slices);
    let angle = apart * round(atan2(at.y, at.x) / apart);
    let along = vec2<f32>(cos(angle), sin(angle));
    let across = vec2<f32>(-along.y, along.x);
    let half = vec3<f32>(0.5 * (body.half.x + body.half.y), 0.5 * body.thickness, body.half.z);
    let from_middle = vec3<f32>(dot(at.xy, along) - half.x, dot(at.xy, across), at.z);
    let plate = from_excess(from_middle, abs(from_middle) - half);
    if rim.cells <= plate.cells {
        return rim;
    }
    return Distance(plate.cells, vec3<f32>(along * plate.normal.x + across * plate.normal.y, plate.normal.z));
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
            return distance_to_cylinder(body, at);
        }
        case 4u: {
            return distance_to_wheel(body, at);
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

// Adds an impulse (cell masses times m/s) and its moment (times cells) to the reaction of a body or of the walls.
fn react(row: u32, block: u32, impulse: vec3<f32>, moment: vec3<f32>) {
    let first = (row * PLACES + block % PLACES) * 6u;
    for (var axis = 0u; axis < 3u; axis++) {
        add_exact(first + axis, impulse[axis]);
        add_exact(first + 3u + axis, moment[axis]);
    }
}

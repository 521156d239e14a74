// Twin of drum.rs and shells.rs; lengths are cells.

const SHELLS_MAX: u32 = 4u;
const SLICE_BITS: u32 = 4u;
const SLICE: u32 = 15u;
const TAU: f32 = 6.283185307179586;
// Distance that soil keeps from surfaces.
const SKIN_CELLS: f32 = 1e-3;
// Half of the side of a block's tile, and the longest way of a point in a substep.
const HALF_TILE_CELLS: f32 = 4.0;
// A node of a point's stencil is at most so far from the point.
const STENCIL_CELLS: f32 = 2.6;

// On which side of each of a drum's surfaces a position is: in the low half the number of its slice, then a bit for
// each panel; in the high half the bits of the surfaces that exist there.
fn between(own: u32, other: u32) -> u32 {
    return (own >> 16u) & (other >> 16u) & (own ^ other) & 0xffffu;
}

fn is_below(sides: u32, scoop: u32) -> bool {
    return (sides & (1u << (SLICE_BITS + scoop))) != 0u;
}

fn pitch_rad(drum: Body) -> f32 {
    return TAU / f32(drum.scoops);
}

fn rise_rad(drum: Body) -> f32 {
    return drum.half.y / pitch_rad(drum);
}

fn slice_length(drum: Body) -> f32 {
    return 2.0 * drum.half.z / f32(drum.slices);
}

// Number of the slice at z: from 1; 0 and the number of slices + 1 are beyond the ends.
fn slice_at(drum: Body, z: f32) -> u32 {
    return u32(clamp(floor((z + drum.half.z) / slice_length(drum)) + 1.0, 0.0, f32(drum.slices + 1u)));
}

fn angle_of(at: vec3<f32>) -> f32 {
    return select(0.0, atan2(at.y, at.x), any(at.xy != vec2<f32>(0.0)));
}

// Angle of a position behind a lip, 0 to 2π.
fn behind_rad(drum: Body, angle: f32, slice: u32, scoop: u32) -> f32 {
    let stagger = f32(slice) / f32(drum.slices);
    let behind = pitch_rad(drum) * (f32(scoop) + stagger) - angle;
    return behind - TAU * floor(behind / TAU);
}

// Radius of a panel at an angle behind its lip.
fn panel_radius(drum: Body, behind: f32) -> f32 {
    return drum.half.x - rise_rad(drum) * behind;
}

fn is_near_drum(drum: Body, at: vec3<f32>) -> bool {
    let across = drum.half.x + STENCIL_CELLS;
    return abs(at.z) < drum.half.z + STENCIL_CELLS && dot(at.xy, at.xy) < across * across;
}

fn drum_sides(drum: Body, at: vec3<f32>) -> u32 {
    let across = length(at.xy);
    let slice = slice_at(drum, at.z);
    var near = select(0u, SLICE, across < drum.half.x);
    var side = slice;
    if slice >= 1u && slice <= drum.slices {
        let angle = angle_of(at);
        for (var scoop = 0u; scoop < drum.scoops; scoop++) {
            let behind = behind_rad(drum, angle, slice, scoop);
            if behind <= pitch_rad(drum) + drum.overlap_rad {
                let bit = 1u << (SLICE_BITS + scoop);
                near |= bit;
                side |= select(0u, bit, across < panel_radius(drum, behind));
            }
        }
    }
    return (near << 16u) | side;
}

// Unit normals at a position: of discs along the axis, of panels away from it.
struct DrumNormals {
    disc: vec3<f32>,
    panel: vec3<f32>,
}

fn drum_normals(drum: Body, at: vec3<f32>, rotation: vec4<f32>) -> DrumNormals {
    let across = length(at.xy);
    let out = select(vec3<f32>(1.0, 0.0, 0.0), vec3<f32>(at.xy, 0.0) / across, across > 0.0);
    let along = vec3<f32>(-out.y, out.x, 0.0);
    let panel = normalize(out * across - along * rise_rad(drum));
    return DrumNormals(turned(rotation, vec3<f32>(0.0, 0.0, 1.0)), turned(rotation, panel));
}

// Velocity on the sides `own` after contact with the surfaces between them and `other`, which move at `wall`.
fn against_drum(
    drum: Body,
    wall: vec3<f32>,
    normals: DrumNormals,
    own: u32,
    other: u32,
    velocity: vec3<f32>,
) -> vec3<f32> {
    let divided = between(own, other);
    var relative = velocity - wall;
    if (divided & SLICE) != 0u {
        let normal = select(-normals.disc, normals.disc, (own & SLICE) > (other & SLICE));
        relative = slide(relative, normal, drum.friction);
    }
    for (var scoop = 0u; scoop < drum.scoops; scoop++) {
        if (divided & (1u << (SLICE_BITS + scoop))) != 0u {
            let normal = select(normals.panel, -normals.panel, is_below(own, scoop));
            relative = slide(relative, normal, drum.friction);
        }
    }
    return wall + relative;
}

// Position nearest to `to` that is on the `own` side of the surfaces between it and `other`.
fn beside_drum(drum: Body, to: vec3<f32>, own: u32, other: u32) -> vec3<f32> {
    let divided = between(own, other);
    let slice = own & SLICE;
    var place = to;
    if (divided & SLICE) != 0u {
        let is_ahead = slice > (other & SLICE);
        let disc = f32(select(slice, slice - 1u, is_ahead)) * slice_length(drum) - drum.half.z;
        place.z = disc + select(-SKIN_CELLS, SKIN_CELLS, is_ahead);
    }
    let across = length(to.xy);
    let angle = angle_of(to);
    for (var scoop = 0u; scoop < drum.scoops; scoop++) {
        if (divided & (1u << (SLICE_BITS + scoop))) != 0u {
            let panel = panel_radius(drum, behind_rad(drum, angle, slice, scoop));
            let wanted = panel + select(SKIN_CELLS, -SKIN_CELLS, is_below(own, scoop));
            place = vec3<f32>(to.xy * (wanted / across), place.z);
        }
    }
    return place;
}

// A shell at the start of the substep, and at its end.
fn shell(number: u32) -> Body {
    return bodies[model.body_count + model.shells[number]];
}

fn later_shell(number: u32) -> Body {
    return bodies[2u * model.body_count + model.shells[number]];
}

fn in_frame(body: Body, at: vec3<f32>) -> vec3<f32> {
    return turned_back(body.rotation, at - body.position);
}

// Sides of a position for each shell; 0 where a shell is far.
fn sides_at(at: vec3<f32>) -> vec4<u32> {
    var sides = vec4<u32>(0u);
    for (var number = 0u; number < model.shell_count; number++) {
        let drum = shell(number);
        let local = in_frame(drum, at);
        if is_near_drum(drum, local) {
            sides[number] = drum_sides(drum, local);
        }
    }
    return sides;
}

// Whether a surface may lie between a point of a block and a node of its tile.
fn shells_reach(block: vec3<i32>) -> bool {
    let middle = vec3<f32>(block * SIDE - model.origin) + f32(SIDE / 2) + 0.5;
    for (var number = 0u; number < model.shell_count; number++) {
        let drum = shell(number);
        let axis = turned(drum.rotation, vec3<f32>(0.0, 0.0, 1.0));
        let from_drum = middle - drum.position;
        let along = dot(from_drum, axis);
        let across = from_drum - axis * along;
        let distance = length(across);
        // A box reaches so far from its middle along a unit vector.
        let box_along = HALF_TILE_CELLS * dot(abs(axis), vec3<f32>(1.0));
        let box_across = HALF_TILE_CELLS * dot(abs(across), vec3<f32>(1.0)) / max(distance, 1e-6);
        let is_across = distance < 1e-3 || distance <= drum.half.x + box_across;
        if abs(along) <= drum.half.z + box_along && is_across {
            return true;
        }
    }
    return false;
}

fn place_of(position: vec3<i32>) -> vec3<f32> {
    return vec3<f32>(position) / f32(1 << model.fraction_bits);
}

// Finds the sides of each node of a block.
@compute @workgroup_size(64)
fn find_sides(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= block_count() {
        return;
    }
    let block = block_at(index);
    let node = index * BLOCK_NODES + lane;
    if shells_reach(block) {
        node_sides_out[node] = sides_at(vec3<f32>(block * SIDE + local_node(lane) - model.origin));
    } else {
        node_sides_out[node] = vec4<u32>(0u);
    }
}

// Whether any surface divides positions on these sides.
fn is_divided(own: vec4<u32>, other: vec4<u32>) -> bool {
    return any(((own >> vec4<u32>(16u)) & (other >> vec4<u32>(16u)) & (own ^ other) & vec4<u32>(0xffffu)) != vec4<u32>(0u));
}

// Sides of a node of a block's tile.
fn sides_in_tile(place: vec3<i32>, block: vec3<i32>) -> vec4<u32> {
    let node = node_of_tile(tile_index(place), block);
    if node == NO_NODE {
        return vec4<u32>(0u);
    }
    return node_sides[node];
}

// Whether a surface lies between a point on the sides `own` and a node of its stencil.
fn is_beside_shell(own: vec4<u32>, first: vec3<i32>, block: vec3<i32>) -> bool {
    if all((own >> vec4<u32>(16u)) == vec4<u32>(0u)) {
        return false;
    }
    for (var k = 0; k < 3; k++) {
        for (var j = 0; j < 3; j++) {
            for (var i = 0; i < 3; i++) {
                if is_divided(own, sides_in_tile(first + vec3<i32>(i, j, k), block)) {
                    return true;
                }
            }
        }
    }
    return false;
}

// Impulses of a point on the shells (cell masses times m/s), and their moments.
struct ShellReactions {
    impulses: array<vec3<f32>, SHELLS_MAX>,
    moments: array<vec3<f32>, SHELLS_MAX>,
}

// Velocity, after meeting the walls, of a point's share at a node behind them.
fn meet_shells(
    velocity_before: vec3<f32>,
    at: vec3<f32>,
    own: vec4<u32>,
    other: vec4<u32>,
    normals: array<DrumNormals, SHELLS_MAX>,
    mass: f32,
    on_shells: ptr<function, ShellReactions>,
) -> vec3<f32> {
    var velocity = velocity_before;
    for (var number = 0u; number < model.shell_count; number++) {
        if between(own[number], other[number]) == 0u {
            continue;
        }
        let drum = shell(number);
        let arm = at - drum.position;
        let wall = drum.velocity + cross(drum.spin, arm * model.cell_m);
        let after = against_drum(drum, wall, normals[number], own[number], other[number], velocity);
        let impulse = (velocity - after) * mass;
        (*on_shells).impulses[number] += impulse;
        (*on_shells).moments[number] += cross(arm, impulse);
        velocity = after;
    }
    return velocity;
}

// Sets a point that moved from `before` back to its side of each surface.
fn hold(point: ptr<function, Point>, before: vec3<f32>, own: vec4<u32>, on_shells: ptr<function, ShellReactions>) {
    for (var number = 0u; number < model.shell_count; number++) {
        if (own[number] >> 16u) == 0u {
            continue;
        }
        let later = later_shell(number);
        let local_before = in_frame(shell(number), before);
        let local_after = in_frame(later, place_of((*point).position));
        let way = local_after - local_before;
        let distance = length(way);
        // A point that wrapped around a period has not crossed a surface.
        if distance == 0.0 || distance >= 1.0 {
            continue;
        }
        let other = drum_sides(later, local_after + way * (SKIN_CELLS / distance));
        if between(own[number], other) == 0u {
            continue;
        }
        let place = beside_drum(later, local_after, own[number], other);
        let is_held = between(own[number], drum_sides(later, place)) == 0u;
        let held = later.position + turned(later.rotation, select(local_before, place, is_held));
        (*point).position = vec3<i32>(round(held * f32(1 << model.fraction_bits)));
        let arm = held - later.position;
        let wall = later.velocity + cross(later.spin, arm * model.cell_m);
        let normals = drum_normals(later, local_before, later.rotation);
        let after = against_drum(later, wall, normals, own[number], other, (*point).velocity);
        let impulse = ((*point).velocity - after) * (*point).mass;
        (*on_shells).impulses[number] += impulse;
        (*on_shells).moments[number] += cross(arm, impulse);
        (*point).velocity = after;
    }
}

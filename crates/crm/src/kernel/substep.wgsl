// Twin of substep.rs, step.rs, nodes.rs, stencil.rs, to_tile.rs, to_points.rs and motion.rs: the passes of a substep. A
// substep of length 0 does nothing.

// Sets the length of the next substep and the bodies at its start; 0 at the end of the step, after a fault, or where
// points must be sorted first.
@compute @workgroup_size(64)
fn begin_substep(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        clock.substep_s = 0.0;
        let remaining_s = model.duration_s - clock.elapsed_s;
        let must_sort = clock.way_m > SORTED_CELLS * model.cell_m;
        if remaining_s > 0.0 && !must_sort && atomicLoad(&clock.faults) == 0u {
            let speed = max(clock.speed, model.body_speed);
            let limit_s = min(model.substep_max_s, WAY_CELLS * model.cell_m / max(speed, 1e-20));
            // Rounding errors must not add a substep.
            let needed = max(ceil(remaining_s / limit_s * (1.0 - 1e-6)), 1.0);
            clock.substep_s = remaining_s / needed;
            clock.is_last = select(0u, 1u, needed <= 1.0);
        }
    }
    workgroupBarrier();
    storageBarrier();
    let elapsed_s = clock.elapsed_s;
    let end_s = elapsed_s + clock.substep_s;
    for (var n = lane; n < model.body_count; n += 64u) {
        bodies_out[model.body_count + n] = moved(bodies_out[n], elapsed_s);
        bodies_out[2u * model.body_count + n] = moved(bodies_out[n], end_s);
    }
}

@compute @workgroup_size(1)
fn end_substep() {
    let substep_s = clock.substep_s;
    if substep_s == 0.0 {
        return;
    }
    let speed = sqrt(bitcast<f32>(atomicExchange(&clock.fastest, 0u)));
    clock.speed = speed;
    clock.way_m += speed * substep_s;
    clock.substeps += 1u;
    clock.elapsed_s = select(clock.elapsed_s + substep_s, model.duration_s, clock.is_last == 1u);
    if speed * substep_s > model.cell_m {
        atomicOr(&clock.faults, UNSTABLE);
    }
    if atomicLoad(&clock.faults) != 0u {
        clock.failed_s = substep_s;
    }
}

// Momentum along x, y, z and mass of the nodes of a tile.
var<workgroup> tile: array<atomic<i32>, 2048>;

@compute @workgroup_size(128)
fn to_nodes(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= block_count() {
        return;
    }
    let end = starts[index + 1u];
    if starts[index] == end {
        return;
    }
    let substep_s = clock.substep_s;
    let block = block_at(index);
    let is_near_shell = SHELLS && shells_reach(block);
    for (var at = starts[index] + lane; at < end; at += POINT_LANES) {
        if substep_s > 0.0 {
            add_to_tile(load_point(at), block, is_near_shell);
        }
    }
    workgroupBarrier();
    for (var n = lane; n < TILE_NODES; n += POINT_LANES) {
        add_node(n, block);
    }
}

// Gradient of the momentum that a point adds to nodes, per mass, 1/s.
fn pushed(point: Point) -> mat3x3<f32> {
    let n = point.normal_stress;
    let s = point.shear_stress;
    let stress = mat3x3<f32>(vec3<f32>(n.x, s.xy), vec3<f32>(s.x, n.y, s.z), vec3<f32>(s.yz, n.z));
    let stress_factor = 4.0 * clock.substep_s / (model.cell_m * model.cell_m * model.density);
    return point.affine - stress * (stress_factor * point.volume_ratio);
}

fn add_to_tile(point: Point, block: vec3<i32>, is_near_shell: bool) {
    let around_point = stencil(point.position);
    let first = in_tile(around_point.base, block);
    let weight = weights(around_point.offset);
    let affine = pushed(point) * model.cell_m;
    var own = vec4<u32>(0u);
    if SHELLS && is_near_shell {
        own = sides_at(place_of(point.position));
    }
    let has_sides = any((own >> vec4<u32>(16u)) != vec4<u32>(0u));
    for (var k = 0; k < 3; k++) {
        for (var j = 0; j < 3; j++) {
            for (var i = 0; i < 3; i++) {
                let step = vec3<i32>(i, j, k);
                if SHELLS && has_sides && is_divided(own, sides_in_tile(first + step, block)) {
                    continue;
                }
                let share = point.mass * weight[i].x * weight[j].y * weight[k].z;
                let velocity = point.velocity + affine * (around_point.offset + vec3<f32>(step));
                let momentum = vec3<i32>(round(velocity * (share * model.momentum_scale)));
                let node = 4u * tile_index(first + step);
                atomicAdd(&tile[node], momentum.x);
                atomicAdd(&tile[node + 1u], momentum.y);
                atomicAdd(&tile[node + 2u], momentum.z);
                atomicAdd(&tile[node + 3u], i32(round(share * MASS_SCALE)));
            }
        }
    }
}

fn add_node(n: u32, block: vec3<i32>) {
    let mass = atomicLoad(&tile[4u * n + 3u]);
    let node = node_of_tile(n, block);
    if mass == 0 || node == NO_NODE {
        return;
    }
    for (var axis = 0u; axis < 3u; axis++) {
        atomicAdd(&sums[4u * node + axis], atomicLoad(&tile[4u * n + axis]));
    }
    atomicAdd(&sums[4u * node + 3u], mass);
}

// Bodies that reach a block, one bit each.
var<workgroup> near: array<atomic<u32>, BODY_WORDS>;

@compute @workgroup_size(64)
fn move_nodes(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= block_count() {
        return;
    }
    let block = block_at(index);
    let low = vec3<f32>(block * SIDE - model.origin);
    for (var n = lane; n < model.body_count; n += 64u) {
        let body = bodies[model.body_count + n];
        let beyond = max(low - body.position, body.position - low - f32(SIDE - 1));
        if all(beyond <= vec3<f32>(body.reach)) {
            atomicOr(&near[n / 32u], 1u << (n % 32u));
        }
    }
    workgroupBarrier();
    let node = index * BLOCK_NODES + lane;
    let sum = vec3<i32>(
        atomicExchange(&sums[4u * node], 0),
        atomicExchange(&sums[4u * node + 1u], 0),
        atomicExchange(&sums[4u * node + 2u], 0),
    );
    let mass = atomicExchange(&sums[4u * node + 3u], 0);
    if any(abs(sum) > vec3<i32>(SUM_MAX)) || mass < 0 || mass > SUM_MAX {
        atomicOr(&clock.faults, TOO_DENSE);
    }
    if mass <= 0 {
        velocities_out[node] = vec4<f32>(0.0);
        return;
    }
    let share = f32(mass) / MASS_SCALE;
    let fallen = vec3<f32>(sum) / (model.momentum_scale * share) + model.gravity * clock.substep_s;
    let number = block * SIDE + local_node(lane) - model.origin;
    let met = against_bodies(index, vec3<f32>(number), share, fallen);
    let after = at_walls(number, met);
    if any(after != met) {
        react(model.body_count, index, (met - after) * share, vec3<f32>(0.0));
    }
    velocities_out[node] = vec4<f32>(after, share);
}

fn against_bodies(block: u32, at: vec3<f32>, share: f32, before: vec3<f32>) -> vec3<f32> {
    var velocity = before;
    for (var word = 0u; word < (model.body_count + 31u) / 32u; word++) {
        var bits = atomicLoad(&near[word]);
        while bits != 0u {
            let n = 32u * word + firstTrailingBit(bits);
            bits &= bits - 1u;
            velocity = against_body(block, n, at, share, velocity);
        }
    }
    return velocity;
}

fn against_body(block: u32, n: u32, at: vec3<f32>, share: f32, velocity: vec3<f32>) -> vec3<f32> {
    let body = bodies[model.body_count + n];
    let arm = at - body.position;
    if dot(arm, arm) > body.reach * body.reach {
        return velocity;
    }
    let found = distance_to(body, turned_back(body.rotation, arm));
    if found.cells >= 0.0 {
        return velocity;
    }
    let own = body.velocity + cross(body.spin, arm * model.cell_m);
    let after = own + slide(velocity - own, turned(body.rotation, found.normal), body.friction);
    let impulse = (velocity - after) * share;
    react(n, block, impulse, cross(arm, impulse));
    return after;
}

fn at_walls(number: vec3<i32>, before: vec3<f32>) -> vec3<f32> {
    var velocity = before;
    for (var axis = 0u; axis < 3u; axis++) {
        if model.period[axis] > 0 {
            continue;
        }
        var inward = vec3<f32>(0.0);
        inward[axis] = 1.0;
        if number[axis] <= 0 {
            velocity = at_wall(model.low_walls[axis], inward, velocity);
        }
        if number[axis] >= model.cells[axis] {
            velocity = at_wall(model.high_walls[axis], -inward, velocity);
        }
    }
    return velocity;
}

fn at_wall(wall: f32, inward: vec3<f32>, velocity: vec3<f32>) -> vec3<f32> {
    if wall == OPEN {
        return velocity;
    }
    if wall == ROUGH {
        return vec3<f32>(0.0);
    }
    return slide(velocity, inward, wall);
}

var<workgroup> velocity_tile: array<vec3<f32>, TILE_NODES>;
var<workgroup> fastest: atomic<u32>;
var<workgroup> faults: atomic<u32>;

@compute @workgroup_size(128)
fn to_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= block_count() {
        return;
    }
    let end = starts[index + 1u];
    if starts[index] == end {
        return;
    }
    let block = block_at(index);
    for (var n = lane; n < TILE_NODES; n += POINT_LANES) {
        let node = node_of_tile(n, block);
        if node == NO_NODE {
            velocity_tile[n] = vec3<f32>(0.0);
        } else {
            velocity_tile[n] = velocities[node].xyz;
        }
    }
    workgroupBarrier();
    let is_near_shell = SHELLS && shells_reach(block);
    for (var at = starts[index] + lane; at < end; at += POINT_LANES) {
        if clock.substep_s > 0.0 {
            move_point(at, index, is_near_shell);
        }
    }
    workgroupBarrier();
    if lane == 0u {
        atomicMax(&clock.fastest, atomicLoad(&fastest));
        atomicOr(&clock.faults, atomicLoad(&faults));
    }
}

fn move_point(at: u32, index: u32, is_near_shell: bool) {
    let substep_s = clock.substep_s;
    let block = block_at(index);
    var point = load_point(at);
    let before = place_of(point.position);
    var own = vec4<u32>(0u);
    if SHELLS && is_near_shell {
        own = sides_at(before);
    }
    var on_shells: ShellReactions;
    let first = in_tile(stencil(point.position).base, block);
    let is_beside = SHELLS && is_near_shell && is_beside_shell(own, first, block);
    gather(&point, block, own, is_beside, &on_shells);
    advance(&point, substep_s);
    let l = point.affine;
    point.volume_ratio *= 1.0 + (l[0].x + l[1].y + l[2].z) * substep_s;
    strain(&point, substep_s);
    if SHELLS && is_near_shell {
        hold(&point, before, own, &on_shells);
        react_shells(index, &on_shells);
    }
    store_point(at, point);
    inspect(point);
}

fn react_shells(index: u32, on_shells: ptr<function, ShellReactions>) {
    for (var number = 0u; number < model.shell_count; number++) {
        let impulse = (*on_shells).impulses[number];
        if any(impulse != vec3<f32>(0.0)) {
            react(model.shells[number], index, impulse, (*on_shells).moments[number]);
        }
    }
}

// Gives a point the velocity of the nodes there and its gradient. Where surfaces lie between the point and some nodes,
// the point has nodes of its own behind them.
fn gather(
    point: ptr<function, Point>,
    block: vec3<i32>,
    own: vec4<u32>,
    is_beside: bool,
    on_shells: ptr<function, ShellReactions>,
) {
    let around_point = stencil((*point).position);
    let first = in_tile(around_point.base, block);
    let weight = weights(around_point.offset);
    let at = place_of((*point).position);
    let own_gradient = pushed(*point);
    let own_velocity = (*point).velocity + model.gravity * clock.substep_s;
    var normals: array<DrumNormals, SHELLS_MAX>;
    if SHELLS && is_beside {
        for (var number = 0u; number < model.shell_count; number++) {
            let drum = shell(number);
            normals[number] = drum_normals(drum, in_frame(drum, at), drum.rotation);
        }
    }
    var velocity = vec3<f32>(0.0);
    var gradient = mat3x3<f32>();
    for (var k = 0; k < 3; k++) {
        for (var j = 0; j < 3; j++) {
            for (var i = 0; i < 3; i++) {
                let step = vec3<i32>(i, j, k);
                let weight_here = weight[i].x * weight[j].y * weight[k].z;
                let away = around_point.offset + vec3<f32>(step);
                var here = velocity_tile[tile_index(first + step)];
                if SHELLS && is_beside {
                    let sides = sides_in_tile(first + step, block);
                    if is_divided(own, sides) {
                        let pushed_here = own_velocity + own_gradient * (away * model.cell_m);
                        let mass = weight_here * (*point).mass;
                        here = meet_shells(pushed_here, at + away, own, sides, normals, mass, on_shells);
                    }
                }
                let share = here * weight_here;
                velocity += share;
                gradient[0] += share * away.x;
                gradient[1] += share * away.y;
                gradient[2] += share * away.z;
            }
        }
    }
    (*point).velocity = velocity;
    (*point).affine = gradient * (4.0 / model.cell_m);
}

fn advance(point: ptr<function, Point>, substep_s: f32) {
    let one = f32(1 << model.fraction_bits);
    let step = vec3<i32>(round((*point).velocity * (substep_s / model.cell_m * one)));
    let length = model.period << vec3<u32>(model.fraction_bits);
    (*point).position = around((*point).position + step, length);
}

fn is_finite(number: f32) -> bool {
    return (bitcast<u32>(number) & 0x7f800000u) != 0x7f800000u;
}

// Notes a point's speed and faults.
fn inspect(point: Point) {
    let square = dot(point.velocity, point.velocity);
    let l = point.affine;
    let size = dot(abs(l[0]) + abs(l[1]) + abs(l[2]) + abs(point.normal_stress) + abs(point.shear_stress), vec3<f32>(1.0));
    if !is_finite(square + size) || !(point.volume_ratio > 0.0) {
        atomicOr(&faults, NOT_FINITE);
        return;
    }
    atomicMax(&fastest, bitcast<u32>(square));
    let one = 1 << model.fraction_bits;
    let is_beyond = (point.position <= vec3<i32>(-one)) | (point.position >= (model.cells + 1) * one);
    if any(is_beyond & (model.period == vec3<i32>(0))) {
        atomicOr(&faults, OUTSIDE);
    }
}

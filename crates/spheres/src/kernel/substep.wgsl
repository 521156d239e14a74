// Twin of candidate.rs and step.rs: the passes of a substep. A substep of length 0 does nothing.

// Sets the length of the next substep and the bodies at its start; 0 at the end of the step, after a fault, or where
// partners must be listed first.
@compute @workgroup_size(64)
fn begin_substep(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        clock.substep_s = 0.0;
        if clock.is_done == 0u && clock.way_m <= model.skin_m && atomicLoad(&clock.faults) == 0u {
            let remaining_s = model.remaining_s - clock.elapsed_s;
            let speed = max(clock.speed, model.body_speed);
            let limit_s = min(model.substep_max_s, WAY_RADII * model.smallest_m / max(speed, 1e-20));
            // Rounding errors must not add a substep.
            let needed = max(ceil(remaining_s / limit_s * (1.0 - 1e-6)), 1.0);
            clock.substep_s = remaining_s / needed;
            clock.is_last = select(0u, 1u, needed <= 1.0);
        }
    }
    for (var n = lane; n < model.body_count; n += 64u) {
        bodies[model.body_count + n] = moved(bodies[n], clock.elapsed_s);
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
    clock.way_m += (2.0 * speed + model.body_speed) * substep_s;
    clock.substeps += 1u;
    clock.elapsed_s += substep_s;
    clock.is_done = clock.is_last;
    if !(speed * substep_s <= PUSHED_RADII * model.smallest_m) {
        atomicOr(&clock.faults, UNSTABLE);
    }
    if atomicLoad(&clock.faults) != 0u {
        clock.failed_s = substep_s;
    }
}

// Force on a grain, and moments on it and on its partner.
struct Wrench {
    force: vec3<f32>,
    moment: vec3<f32>,
    partner_moment: vec3<f32>,
}

// Computes all contacts of each grain, and from their sum the change of its motion. Grains come before walls and bodies
// in the list, and have a loop of their own: most grains never enter the other.
@compute @workgroup_size(64)
fn push_grains(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let at = id.x;
    let substep_s = clock.substep_s;
    if at >= model.grain_count || substep_s == 0.0 {
        return;
    }
    let place = place_at(at);
    let motion = motion_at(at);
    var force = vec3<f32>(0.0);
    var moment = vec3<f32>(0.0);
    var slot = 0u;
    var partner = partner_at(at, slot);
    while partner < FIRST_WALL {
        let found = with_grain(at, slot, partner, place, motion);
        force += found.force;
        moment += found.moment;
        slot++;
        partner = partner_at(at, slot);
    }
    while partner != NO_PARTNER {
        let found = with_rigid(at, slot, partner, place, motion, group.x);
        force += found.force;
        moment += found.moment;
        slot++;
        partner = partner_at(at, slot);
    }
    let mass = mass_of(place.radius);
    let inertia = 0.4 * mass * place.radius * place.radius;
    pushed[2u * at] = vec4<f32>((force / mass + model.gravity) * substep_s, 0.0);
    pushed[2u * at + 1u] = vec4<f32>(moment * (substep_s / inertia), 0.0);
}

fn partner_at(at: u32, slot: u32) -> u32 {
    if slot >= model.slots {
        return NO_PARTNER;
    }
    return pairs[slot_at(at, slot)].x;
}

fn with_grain(at: u32, slot: u32, partner: u32, place: Place, motion: Motion) -> Wrench {
    let is_low = at < partner;
    var low = place;
    var high = place_at(partner);
    if !is_low {
        low = high;
        high = place;
    }
    let pairing = pairing_of_grains(low.radius, high.radius);
    let found = press(slot_at(at, slot), partner, pairing, meet_grain(low, high, is_low, motion, partner));
    if is_low {
        return found;
    }
    return Wrench(-found.force, found.partner_moment, found.moment);
}

fn with_rigid(at: u32, slot: u32, partner: u32, place: Place, motion: Motion, group: u32) -> Wrench {
    var meeting: Meeting;
    var friction: f32;
    if partner < FIRST_BODY {
        meeting = meet_wall(partner - FIRST_WALL, place, motion);
        friction = wall_friction(partner - FIRST_WALL);
    } else {
        let body = bodies[model.body_count + partner - FIRST_BODY];
        meeting = meet_body(body, place, motion);
        friction = body.friction;
    }
    let found = press(slot_at(at, slot), partner, pairing_with_rigid(place.radius, friction), meeting);
    if meeting.overlap > 0.0 {
        react(partner, group, -found.force, found.partner_moment);
    }
    return found;
}

// The contact in a slot, as seen from the grain of the meeting. Its memory is cleared when the two part.
fn press(first: u32, partner: u32, pairing: Pairing, meeting: Meeting) -> Wrench {
    if meeting.overlap <= 0.0 {
        if pairs[first].y != 0u {
            pairs[first] = vec4<u32>(partner, 0u, 0u, 0u);
        }
        return Wrench(vec3<f32>(0.0), vec3<f32>(0.0), vec3<f32>(0.0));
    }
    var memory = remembered(first);
    let load = respond(pairing, meeting, &memory, clock.substep_s);
    remember(first, partner, memory);
    if clock.is_last == 1u && meeting.overlap > OVERLAP_MAX * pairing.radius {
        atomicOr(&clock.faults, TOO_DEEP);
    }
    let moment = cross(meeting.arm, load.force) + load.rolling;
    return Wrench(load.force, moment, -cross(meeting.partner_arm, load.force) - load.rolling);
}

fn remembered(first: u32) -> Memory {
    let one = bitcast<vec4<f32>>(pairs[first]);
    if one.y == 0.0 {
        return Memory(vec3<f32>(0.0), vec3<f32>(0.0), 0.0);
    }
    let other = bitcast<vec4<f32>>(pairs[first + model.grain_count]);
    return Memory(vec3<f32>(one.zw, other.x), other.yzw, one.y);
}

fn remember(first: u32, partner: u32, memory: Memory) {
    let one = bitcast<vec3<u32>>(vec3<f32>(memory.contact, memory.shear.xy));
    pairs[first] = vec4<u32>(partner, one);
    pairs[first + model.grain_count] = bitcast<vec4<u32>>(vec4<f32>(memory.shear.z, memory.rolling));
}

// Velocity of a grain's material at an arm from its centre.
fn velocity_of(motion: Motion, arm: vec3<f32>) -> vec3<f32> {
    return motion.velocity + cross(motion.spin, arm);
}

// The meeting of two grains, as seen from the lower one. `own_motion` is that of the grain that is pushed, which is the
// lower one or not. The point of contact is at the middle of the overlap.
fn meet_grain(low: Place, high: Place, is_low: bool, own_motion: Motion, partner: u32) -> Meeting {
    var meeting: Meeting;
    let between = between_m(low.fixed, low.rest, high.fixed, high.rest);
    meeting.overlap = low.radius + high.radius - length(between);
    if meeting.overlap <= 0.0 {
        return meeting;
    }
    var motion = own_motion;
    var other = motion_at(partner);
    if !is_low {
        motion = other;
        other = own_motion;
    }
    meeting.normal = unit_or_up(between);
    meeting.arm = meeting.normal * (0.5 * meeting.overlap - low.radius);
    meeting.partner_arm = meeting.normal * (high.radius - 0.5 * meeting.overlap);
    meeting.velocity = velocity_of(motion, meeting.arm) - velocity_of(other, meeting.partner_arm);
    meeting.turn = motion.spin - other.spin;
    return meeting;
}

fn meet_wall(face: u32, place: Place, motion: Motion) -> Meeting {
    let away = wall_distance(face, place);
    var normal = vec3<f32>(0.0);
    normal[face / 2u] = select(-1.0, 1.0, face % 2u == 0u);
    let arm = -normal * away;
    let velocity = velocity_of(motion, arm);
    return Meeting(place.radius - away, normal, velocity, motion.spin, arm, vec3<f32>(0.0));
}

// The point of contact is on the body's surface.
fn meet_body(body: Body, place: Place, motion: Motion) -> Meeting {
    let found = distance_to(place, body);
    let arm = -found.normal * found.length;
    let partner_arm = arm_of(place, body) + arm;
    let surface = body.velocity + cross(body.spin, partner_arm);
    let velocity = velocity_of(motion, arm) - surface;
    return Meeting(place.radius - found.length, found.normal, velocity, motion.spin - body.spin, arm, partner_arm);
}

// Adds the impulse of a force, N, and a moment, N m, in this substep to the reaction of a wall or body.
fn react(partner: u32, group: u32, force: vec3<f32>, moment: vec3<f32>) {
    let is_wall = partner < FIRST_BODY;
    let row = select(partner - FIRST_BODY, model.body_count + partner - FIRST_WALL, is_wall);
    let first = (row * PLACES + group % PLACES) * 6u;
    for (var axis = 0u; axis < 3u; axis++) {
        add_exact(first + axis, force[axis] * clock.substep_s * model.impulse_scale);
        if !is_wall {
            add_exact(first + 3u + axis, moment[axis] * clock.substep_s * model.moment_scale);
        }
    }
}

@compute @workgroup_size(64)
fn move_grains(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    if id.x < model.grain_count && clock.substep_s > 0.0 {
        move_grain(id.x);
    }
    workgroupBarrier();
    if lane == 0u {
        atomicMax(&clock.fastest, atomicLoad(&fastest));
    }
}

fn move_grain(at: u32) {
    let motion = motion_at(at);
    let before = vec3<u32>(grains[4u * at + 1u].w, grains[4u * at + 2u].w, grains[4u * at + 3u].w);
    let gain = rounded(pushed[2u * at].xyz + bitcast<vec3<f32>>(before));
    let velocity = rounded(motion.velocity + gain);
    let left = remainder(motion.velocity, gain, velocity);
    let spin = motion.spin + pushed[2u * at + 1u].xyz;
    var place = place_at(at);
    let way = shift(place.rest + velocity * (clock.substep_s / model.unit_m));
    place.fixed += way.whole;
    grains[4u * at] = vec4<u32>(bitcast<vec3<u32>>(place.fixed), bitcast<u32>(place.radius));
    grains[4u * at + 1u] = bitcast<vec4<u32>>(vec4<f32>(way.rest, left.x));
    grains[4u * at + 2u] = bitcast<vec4<u32>>(vec4<f32>(velocity, left.y));
    grains[4u * at + 3u] = bitcast<vec4<u32>>(vec4<f32>(spin, left.z));
    inspect(place, velocity, spin);
}

// The numbers as they were rounded: compilers that took sums for exact would find no remainder.
fn rounded(v: vec3<f32>) -> vec3<f32> {
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(v) ^ vec3<u32>(model.zero));
}

// What rounding took from the sum of two numbers (Knuth), cut so that sum and remainder fit in 53 bits.
fn remainder(one: vec3<f32>, other: vec3<f32>, sum: vec3<f32>) -> vec3<f32> {
    let second = rounded(sum - one);
    let first = rounded(sum - second);
    let left = (one - first) + (other - second);
    let exponent = (bitcast<vec3<u32>>(sum) >> vec3<u32>(23u)) & vec3<u32>(255u);
    let step = bitcast<vec3<f32>>((max(exponent, vec3<u32>(48u)) - 47u) << vec3<u32>(23u));
    return trunc(left / step) * step;
}

fn is_finite(number: f32) -> bool {
    return (bitcast<u32>(number) & 0x7f800000u) != 0x7f800000u;
}

// Notes a grain's speed and faults.
fn inspect(place: Place, velocity: vec3<f32>, spin: vec3<f32>) {
    if !is_finite(dot(velocity, velocity)) || !is_finite(dot(abs(spin), vec3<f32>(1.0))) {
        atomicOr(&clock.faults, NOT_FINITE);
        return;
    }
    note_speed(velocity);
    // A little more than a radius, so that the CPU, which tells which grain it is, finds it outside too.
    let beyond = i32(place.radius / model.unit_m * (1.0 + 1e-6)) + 2;
    if any(place.fixed < vec3<i32>(-beyond)) || any(place.fixed > model.size + beyond) {
        atomicOr(&clock.faults, OUTSIDE);
    }
}

// Twin of neighbours.rs and scratch.rs: lists the partners of each grain. The grains of a cell are chained in any order;
// each grain then sorts its partners. Chains need no scan over cells, and all grains stay where they are in memory:
// those of a million fit in the cache of a large GPU.

// Number of the cell of a position along each axis. Grains outside of the container are in the cell at its edge.
fn cell_of(fixed: vec3<i32>) -> vec3<i32> {
    return clamp(fixed / model.cell_size, vec3<i32>(0), model.cells - 1);
}

fn cell_index(cell: vec3<i32>) -> u32 {
    return u32((cell.z * model.cells.y + cell.y) * model.cells.x + cell.x);
}

var<workgroup> fastest: atomic<u32>;

fn note_speed(velocity: vec3<f32>) {
    atomicMax(&fastest, bitcast<u32>(dot(velocity, velocity)));
}

// A step begins with the speed of the loaded grains, measured here as in its substeps: a saved state has no other.
@compute @workgroup_size(64)
fn fill_cells(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = id.x;
    if at < model.grain_count {
        let cell = cell_index(cell_of(place_at(at).fixed));
        nexts[at] = atomicExchange(&heads[cell], at + 1u);
        note_speed(motion_at(at).velocity);
    }
    workgroupBarrier();
    if lane == 0u {
        atomicMax(&clock.fastest, atomicLoad(&fastest));
    }
}

@compute @workgroup_size(64)
fn list_partners(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.x;
    if at == 0u {
        clock.speed = sqrt(bitcast<f32>(atomicExchange(&clock.fastest, 0u)));
        clock.way_m = 0.0;
    }
    if at >= model.grain_count {
        return;
    }
    let place = place_at(at);
    var count = list_grains(at, place);
    let reach = place.radius + model.skin_m;
    for (var face = 0u; face < FACES; face++) {
        if wall_friction(face) >= 0.0 && wall_distance(face, place) < reach {
            count = insert(at, count, FIRST_WALL + face);
        }
    }
    for (var n = 0u; n < model.body_count; n++) {
        if distance_to(place, bodies[n]).length < reach {
            count = insert(at, count, FIRST_BODY + n);
        }
    }
    recall(at, count);
    atomicMax(&clock.partners, count);
}

// Lists the grains near a grain; returns their number.
fn list_grains(at: u32, place: Place) -> u32 {
    let cell = cell_of(place.fixed);
    let low = max(cell - 1, vec3<i32>(0));
    let high = min(cell + 1, model.cells - 1);
    var count = 0u;
    for (var z = low.z; z <= high.z; z++) {
        for (var y = low.y; y <= high.y; y++) {
            for (var x = low.x; x <= high.x; x++) {
                var next = atomicLoad(&heads[cell_index(vec3<i32>(x, y, z))]);
                while next != 0u {
                    let other = next - 1u;
                    if other != at && is_near(place, place_at(other)) {
                        count = insert(at, count, other);
                    }
                    next = nexts[other];
                }
            }
        }
    }
    return count;
}

fn is_near(place: Place, other: Place) -> bool {
    let apart = between_m(place.fixed, place.rest, other.fixed, other.rest);
    return length(apart) < place.radius + model.skin_m + other.radius;
}

// Inserts a partner into the sorted list of a grain; returns the number of its partners.
fn insert(at: u32, count: u32, partner: u32) -> u32 {
    if count >= model.slots {
        atomicOr(&clock.faults, CROWDED);
        atomicMin(&clock.crowded, at);
        return count;
    }
    var slot = count;
    while slot > 0u && listed[slot_at(at, slot - 1u)].x > partner {
        listed[slot_at(at, slot)].x = listed[slot_at(at, slot - 1u)].x;
        slot--;
    }
    listed[slot_at(at, slot)].x = partner;
    return count + 1u;
}

// Copies the memory of contacts to the new list; both are sorted.
fn recall(at: u32, count: u32) {
    let plane = model.grain_count;
    var before = 0u;
    for (var slot = 0u; slot < count; slot++) {
        let here = slot_at(at, slot);
        let partner = listed[here].x;
        while before < model.slots && pairs[slot_at(at, before)].x < partner {
            before++;
        }
        if before < model.slots && pairs[slot_at(at, before)].x == partner {
            listed[here] = pairs[slot_at(at, before)];
            listed[here + plane] = pairs[slot_at(at, before) + plane];
        } else {
            listed[here] = vec4<u32>(partner, 0u, 0u, 0u);
        }
    }
    if count < model.slots {
        listed[slot_at(at, count)].x = NO_PARTNER;
    }
}

// Coulomb's coefficient of a face, counted from the low one of x; below zero where it is open.
fn wall_friction(face: u32) -> f32 {
    return select(model.high_walls[face / 2u], model.low_walls[face / 2u], face % 2u == 0u);
}

// Distance of a grain's centre from a face, m, positive inside.
fn wall_distance(face: u32, place: Place) -> f32 {
    let axis = face / 2u;
    if face % 2u == 0u {
        return (f32(place.fixed[axis]) + place.rest[axis]) * model.unit_m;
    }
    return (f32(model.size[axis] - place.fixed[axis]) - place.rest[axis]) * model.unit_m;
}

// Sorts points into blocks by counting. Their order within a block has no effect.

fn block_of(position: vec3<i32>) -> u32 {
    let base = stencil(position).base;
    let block = (base + SIDE * model.blocks) / SIDE - model.blocks;
    // A faulty point must not write anywhere else; its step fails.
    return min(block_index(around(block, model.blocks)), block_count() - 1u);
}

// Number of an invocation in a dispatch of POINT_LANES for each group.
fn point_at(group: vec3<u32>, lane: u32) -> u32 {
    return group_index(group) * POINT_LANES + lane;
}

@compute @workgroup_size(128)
fn count_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = point_at(group, lane);
    if at < model.point_count {
        atomicAdd(&counts[block_of(bitcast<vec3<i32>>(points[at].xyz))], 1u);
    }
}

const SCAN_LANES: u32 = 256u;
var<workgroup> totals: array<u32, SCAN_LANES>;

// One workgroup: each lane adds up a stretch of blocks, then all lanes share their sums.
@compute @workgroup_size(256)
fn scan(@builtin(local_invocation_index) lane: u32) {
    let count = block_count();
    let stretch = (count + SCAN_LANES - 1u) / SCAN_LANES;
    let first = min(lane * stretch, count);
    let end = min(first + stretch, count);
    var total = 0u;
    for (var block = first; block < end; block++) {
        total += atomicLoad(&counts[block]);
    }
    totals[lane] = total;
    workgroupBarrier();
    var begin = 0u;
    for (var before = 0u; before < lane; before++) {
        begin += totals[before];
    }
    for (var block = first; block < end; block++) {
        let here = atomicLoad(&counts[block]);
        starts_out[block] = begin;
        atomicStore(&counts[block], begin);
        begin += here;
    }
    if lane == 0u {
        starts_out[count] = model.point_count;
        clock.way_m = 0.0;
    }
}

@compute @workgroup_size(128)
fn move_points(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = point_at(group, lane);
    if at >= model.point_count {
        return;
    }
    let slot = atomicAdd(&counts[block_of(bitcast<vec3<i32>>(points[at].xyz))], 1u);
    for (var plane = 0u; plane < PLANES; plane++) {
        sorted[plane * model.point_count + slot] = points[plane * model.point_count + at];
    }
}

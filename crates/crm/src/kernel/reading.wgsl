// What a world reads of the points at a heartbeat, twin of `reading.rs` and `surface.rs`: sums, the height of the
// surface, and the highest points. All are integers, so that the order of points has no effect.

struct Reading {
    drums: array<Body, 4>,
    drum_count: u32,
    // Columns half a cell wide along x and y.
    columns: u32,
    rows: u32,
    pad: u32,
}

// Pairs of words of 64 bits: mass of all points, sum of the squares of speeds, and masses in drums.
const TOTALS: u32 = 6u;
const OF_MASS: u32 = 0u;
const OF_SQUARES: u32 = 1u;
const OF_DRUMS: u32 = 2u;
// Integers in 1 m²/s², the most that a point counts.
const SQUARE_SCALE: f32 = 16777216.0;
// Integers in the density at rest.
const DENSITY_SCALE: f32 = 1048576.0;
// Cells beyond each wall that points contribute to.
const RIM: i32 = 2;
// Density at the surface, and the part of the kernel of a cell at a wall that lies beyond it, as on the CPU.
const TOP_SHARE: f32 = 0.5;
const BEYOND_WALL: f32 = 0.16666667;
// Words of a column: height and index of its highest point, then of its second.
const COLUMN_WORDS: u32 = 4u;
// Heights count from so far below the floor, so that none is negative.
const HEIGHT_ZERO: i32 = 1073741824;

@group(0) @binding(11) var<uniform> reading: Reading;
// Mass of each point, mg and bits of cell masses, by index.
@group(0) @binding(12) var<storage, read> masses: array<vec2<u32>>;
// TOTALS pairs, then the bits of the square of the greatest speed.
@group(0) @binding(13) var<storage, read_write> totals_out: array<atomic<u32>>;
@group(0) @binding(14) var<storage, read_write> densities: array<atomic<u32>>;
@group(0) @binding(15) var<storage, read_write> tops: array<f32>;
@group(0) @binding(16) var<storage, read_write> columns: array<atomic<u32>>;
// Position and one more than the index, then the velocity, of each point; nothing where there is none.
@group(0) @binding(17) var<storage, read_write> surface: array<vec4<u32>>;

fn index_of(at: u32) -> u32 {
    return points[2u * model.point_count + at].w;
}

@compute @workgroup_size(128)
fn take_masses(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = point_at(group, lane);
    if at < model.point_count {
        points[at].w = masses[index_of(at)].y;
    }
}

fn is_held(position: vec3<i32>, number: u32) -> bool {
    let drum = reading.drums[number];
    let place = in_frame(drum, place_of(position));
    return length(place.xy) < drum.half.x && abs(place.z) < drum.half.z;
}

fn is_outside(position: vec3<i32>) -> bool {
    for (var number = 0u; number < reading.drum_count; number++) {
        if is_held(position, number) {
            return false;
        }
    }
    return true;
}

// Low and high halves of the sums of a workgroup, none of which can overflow.
var<workgroup> low_halves: array<atomic<u32>, TOTALS>;
var<workgroup> high_halves: array<atomic<u32>, TOTALS>;
var<workgroup> fastest_here: atomic<u32>;

fn add_half(total: u32, number: u32) {
    atomicAdd(&low_halves[total], number & 0xffffu);
    atomicAdd(&high_halves[total], number >> 16u);
}

@compute @workgroup_size(128)
fn add_up(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = point_at(group, lane);
    if at < model.point_count {
        let velocity = bitcast<vec4<f32>>(points[model.point_count + at]).xyz;
        let square = dot(velocity, velocity);
        let mass_mg = masses[index_of(at)].x;
        add_half(OF_MASS, mass_mg);
        add_half(OF_SQUARES, u32(round(min(square, 1.0) * SQUARE_SCALE)));
        atomicMax(&fastest_here, bitcast<u32>(square));
        let position = bitcast<vec3<i32>>(points[at].xyz);
        for (var number = 0u; number < reading.drum_count; number++) {
            if is_held(position, number) {
                add_half(OF_DRUMS + number, mass_mg);
            }
        }
    }
    workgroupBarrier();
    if lane < TOTALS {
        add_total(lane, atomicLoad(&low_halves[lane]), atomicLoad(&high_halves[lane]));
    }
    if lane == 0u {
        atomicMax(&totals_out[2u * TOTALS], atomicLoad(&fastest_here));
    }
}

// Adds low + 65536 high to a total of two words.
fn add_total(total: u32, low_half: u32, high_half: u32) {
    let low = low_half + (high_half << 16u);
    let high = (high_half >> 16u) + select(0u, 1u, low < low_half);
    let before = atomicAdd(&totals_out[2u * total], low);
    atomicAdd(&totals_out[2u * total + 1u], high + select(0u, 1u, before + low < before));
}

fn density_index(cell: vec3<i32>) -> u32 {
    let side = model.cells + 2 * RIM;
    let at = cell + RIM;
    return u32((at.z * side.y + at.y) * side.x + at.x);
}

// Adds the mass of a point to the 27 cells whose middles are nearest.
@compute @workgroup_size(128)
fn weigh(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let at = point_at(group, lane);
    if at >= model.point_count {
        return;
    }
    let one = 1 << model.fraction_bits;
    let place = points[at];
    let position = bitcast<vec3<i32>>(place.xyz);
    let first = (position >> vec3<u32>(model.fraction_bits)) - 1;
    if any(first < vec3<i32>(-RIM)) || any(first + 2 >= model.cells + RIM) {
        return;
    }
    // From the point to the middle of the first cell.
    let offset = vec3<f32>(first * one + one / 2 - position) / f32(one);
    let weight = weights(offset);
    let mass = bitcast<f32>(place.w) * DENSITY_SCALE;
    for (var k = 0; k < 3; k++) {
        for (var j = 0; j < 3; j++) {
            for (var i = 0; i < 3; i++) {
                let share = mass * (weight[i].x * weight[j].y * weight[k].z);
                atomicAdd(&densities[density_index(first + vec3<i32>(i, j, k))], u32(round(share)));
            }
        }
    }
}

// Density around a cell's middle over that at rest, of the part of its kernel that is within the walls.
fn density_at(cell: vec3<i32>) -> f32 {
    let at_walls = vec3<f32>(
        f32(cell.x == 0) + f32(cell.x + 1 == model.cells.x),
        f32(cell.y == 0) + f32(cell.y + 1 == model.cells.y),
        f32(cell.z == 0),
    );
    let whole = 1.0 - BEYOND_WALL * at_walls;
    return f32(atomicLoad(&densities[density_index(cell)])) / (DENSITY_SCALE * whole.x * whole.y * whole.z);
}

// Height of the surface in a column of cells: where the density, going up, first falls below TOP_SHARE.
@compute @workgroup_size(128)
fn find_tops(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = i32(point_at(group, lane));
    if column >= model.cells.x * model.cells.y {
        return;
    }
    let x = column % model.cells.x;
    let y = column / model.cells.x;
    var below = 0.0;
    var end = 0;
    var above = 0.0;
    for (; end < model.cells.z; end++) {
        above = density_at(vec3<i32>(x, y, end));
        if above < TOP_SHARE {
            break;
        }
        below = above;
    }
    var top = f32(end);
    if end > 0 && end < model.cells.z {
        top += (below - TOP_SHARE) / (below - above) - 0.5;
    }
    tops[column] = top * model.cell_m;
}

fn column_of(position: vec3<i32>) -> u32 {
    let along = (2 * position.xy) >> vec2<u32>(model.fraction_bits);
    let place = vec2<u32>(clamp(along, vec2<i32>(0), vec2<i32>(i32(reading.columns), i32(reading.rows)) - 1));
    return place.y * reading.columns + place.x;
}

// A point that may be at the surface.
struct Candidate {
    counts: bool,
    // Index of the words of its column.
    column: u32,
    height: u32,
    // Greater for the smaller index.
    order: u32,
}

fn candidate(group: vec3<u32>, lane: u32) -> Candidate {
    let at = point_at(group, lane);
    if at >= model.point_count {
        return Candidate(false, 0u, 0u, 0u);
    }
    let position = bitcast<vec3<i32>>(points[at].xyz);
    let height = u32(position.z + HEIGHT_ZERO);
    return Candidate(is_outside(position), COLUMN_WORDS * column_of(position), height, ~index_of(at));
}

fn is_in_layer(point: Candidate, layer: u32) -> bool {
    let at = point.column + 2u * layer;
    return point.counts && atomicLoad(&columns[at]) == point.height && atomicLoad(&columns[at + 1u]) == point.order;
}

// Four kernels, one after the other: the greatest height of each column, which of the points there is meant, and the
// same for the points that are left.
@compute @workgroup_size(128)
fn rank_first(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let point = candidate(group, lane);
    if point.counts {
        atomicMax(&columns[point.column], point.height);
    }
}

@compute @workgroup_size(128)
fn name_first(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let point = candidate(group, lane);
    if point.counts && atomicLoad(&columns[point.column]) == point.height {
        atomicMax(&columns[point.column + 1u], point.order);
    }
}

@compute @workgroup_size(128)
fn rank_second(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let point = candidate(group, lane);
    if point.counts && !is_in_layer(point, 0u) {
        atomicMax(&columns[point.column + 2u], point.height);
    }
}

@compute @workgroup_size(128)
fn name_second(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let point = candidate(group, lane);
    if point.counts && !is_in_layer(point, 0u) && atomicLoad(&columns[point.column + 2u]) == point.height {
        atomicMax(&columns[point.column + 3u], point.order);
    }
}

// Writes the points that were found: two vectors for each layer of a column.
@compute @workgroup_size(128)
fn show_surface(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let point = candidate(group, lane);
    for (var layer = 0u; layer < 2u; layer++) {
        if is_in_layer(point, layer) {
            let at = point_at(group, lane);
            let slot = point.column + 2u * layer;
            surface[slot] = vec4<u32>(points[at].xyz, index_of(at) + 1u);
            surface[slot + 1u] = points[model.point_count + at];
        }
    }
}

// Twin of the CPU solver on a GPU. Positions are fixed-point numbers of cells, sums at the nodes integers: neither
// depends on the order in which points are added, so a device gives the same bytes each time. Elsewhere units are SI.

struct Model {
    blocks: vec3<i32>,
    point_count: u32,
    // Number of the node at the grid's origin.
    origin: vec3<i32>,
    // Bits after the point of a position.
    fraction_bits: u32,
    // Cells of a period; 0 on an axis with walls.
    period: vec3<i32>,
    body_count: u32,
    cells: vec3<i32>,
    cell_m: f32,
    gravity: vec3<f32>,
    substep_max_s: f32,
    // Of the low and the high wall of each axis: OPEN, ROUGH, or the coefficient of friction.
    low_walls: vec3<f32>,
    duration_s: f32,
    high_walls: vec3<f32>,
    // Speed of the fastest place on a body, m/s.
    body_speed: f32,
    bulk_pa: f32,
    shear_pa: f32,
    friction_static: f32,
    friction_dynamic: f32,
    cohesion_pa: f32,
    // G I0/(d √ρs).
    viscous: f32,
    density: f32,
    // Integers in a cell mass times 1 m/s.
    momentum_scale: f32,
    // Indices of the bodies that are shells.
    shells: vec4<u32>,
    shell_count: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

struct Clock {
    elapsed_s: f32,
    substep_s: f32,
    is_last: u32,
    substeps: u32,
    faults: atomic<u32>,
    // Bits of the square of the speed of the fastest point, (m/s)².
    fastest: atomic<u32>,
    speed: f32,
    // Upper bound of how far a point has moved since the last sort, m.
    way_m: f32,
    // Length of the substep in which a fault was found, s.
    failed_s: f32,
}

struct Body {
    // Cells.
    position: vec3<f32>,
    // 0 ball, 1 box, 2 cylinder along z, 3 drum along z, 4 wheel along z.
    shape: u32,
    rotation: vec4<f32>,
    velocity: vec3<f32>,
    friction: f32,
    spin: vec3<f32>,
    // Radius of the sphere around it, cells.
    reach: f32,
    // Half sizes; radius, nothing and half length; radius, channel and half length; radius of the rim, height of
    // grousers and half length. Cells.
    half: vec3<f32>,
    overlap_rad: f32,
    // A drum's; or the number of a wheel's grousers.
    slices: u32,
    scoops: u32,
    // Of grousers, cells.
    thickness: f32,
    pad0: u32,
}

struct Point {
    position: vec3<i32>,
    // In cell masses, as at rest.
    mass: f32,
    velocity: vec3<f32>,
    volume_ratio: f32,
    // Columns are axes.
    affine: mat3x3<f32>,
    // xx, yy, zz and xy, xz, yz, Pa.
    normal_stress: vec3<f32>,
    shear_stress: vec3<f32>,
    index: u32,
}

// Whether there are shells; without them their code costs registers.
override SHELLS: bool = true;

const SIDE: i32 = 4;
const TILE_SIDE: i32 = 8;
const TILE_NODES: u32 = 512u;
const BLOCK_NODES: u32 = 64u;
const GROUPS_MAX: u32 = 65535u;
const POINT_LANES: u32 = 128u;
// Integers in a cell mass.
const MASS_SCALE: f32 = 16777216.0;
// Walls that soil leaves through, and that it sticks to.
const OPEN: f32 = -1.0;
const ROUGH: f32 = -2.0;
// The most that points move in a substep, and between two sorts, cells.
const WAY_CELLS: f32 = 0.5;
const SORTED_CELLS: f32 = 0.99;
const OUTSIDE: u32 = 1u;
const NOT_FINITE: u32 = 2u;
const UNSTABLE: u32 = 4u;
const TOO_DENSE: u32 = 8u;
// The largest sum at a node: half of what an integer holds, so that no sum grows beyond that unseen.
const SUM_MAX: i32 = 1073741824;
const PLANES: u32 = 6u;
const BODY_WORDS: u32 = 16u;

@group(0) @binding(0) var<uniform> model: Model;
@group(0) @binding(1) var<storage, read_write> points: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> sorted: array<vec4<u32>>;
// Before the scan the number of points in each block, after it the next free slot.
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> starts_out: array<u32>;
@group(0) @binding(4) var<storage, read> starts: array<u32>;
@group(0) @binding(5) var<storage, read_write> sums: array<atomic<i32>>;
@group(0) @binding(6) var<storage, read_write> velocities_out: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> velocities: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> clock: Clock;
// The bodies at the start of the step, then at the start of the substep, then at its end.
@group(0) @binding(8) var<storage, read_write> bodies_out: array<Body>;
@group(0) @binding(8) var<storage, read> bodies: array<Body>;
@group(0) @binding(9) var<storage, read_write> reactions: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read_write> node_sides_out: array<vec4<u32>>;
@group(0) @binding(10) var<storage, read> node_sides: array<vec4<u32>>;

fn load_point(at: u32) -> Point {
    let count = model.point_count;
    let place = points[at];
    let motion = bitcast<vec4<f32>>(points[count + at]);
    let x = points[2u * count + at];
    let y = bitcast<vec4<f32>>(points[3u * count + at]);
    let z = bitcast<vec4<f32>>(points[4u * count + at]);
    let stress = bitcast<vec4<f32>>(points[5u * count + at]);
    return Point(
        bitcast<vec3<i32>>(place.xyz),
        bitcast<f32>(place.w),
        motion.xyz,
        motion.w,
        mat3x3<f32>(bitcast<vec3<f32>>(x.xyz), y.xyz, z.xyz),
        vec3<f32>(y.w, z.w, stress.x),
        stress.yzw,
        x.w,
    );
}

fn store_point(at: u32, point: Point) {
    let count = model.point_count;
    points[at] = vec4<u32>(bitcast<vec3<u32>>(point.position), bitcast<u32>(point.mass));
    points[count + at] = bitcast<vec4<u32>>(vec4<f32>(point.velocity, point.volume_ratio));
    points[2u * count + at] = vec4<u32>(bitcast<vec3<u32>>(point.affine[0]), point.index);
    points[3u * count + at] = bitcast<vec4<u32>>(vec4<f32>(point.affine[1], point.normal_stress.x));
    points[4u * count + at] = bitcast<vec4<u32>>(vec4<f32>(point.affine[2], point.normal_stress.y));
    points[5u * count + at] = bitcast<vec4<u32>>(vec4<f32>(point.normal_stress.z, point.shear_stress));
}

fn block_at(index: u32) -> vec3<i32> {
    let at = i32(index);
    return vec3<i32>(at % model.blocks.x, at / model.blocks.x % model.blocks.y, at / (model.blocks.x * model.blocks.y));
}

fn block_index(block: vec3<i32>) -> u32 {
    return u32((block.z * model.blocks.y + block.y) * model.blocks.x + block.x);
}

// Place of a node in its block.
fn local_node(lane: u32) -> vec3<i32> {
    let at = i32(lane);
    return vec3<i32>(at % SIDE, at / SIDE % SIDE, at / (SIDE * SIDE));
}

// Number of the workgroup in a dispatch of one for each block.
fn group_index(group: vec3<u32>) -> u32 {
    return group.y * GROUPS_MAX + group.x;
}

fn block_count() -> u32 {
    return u32(model.blocks.x * model.blocks.y * model.blocks.z);
}

// Wraps a number of a node or block along periodic axes.
fn around(number: vec3<i32>, count: vec3<i32>) -> vec3<i32> {
    let raised = select(number, number + count, number < vec3<i32>(0));
    let wrapped = select(raised, raised - count, raised >= count);
    return select(number, wrapped, model.period > vec3<i32>(0));
}

// The 27 nodes that a point touches.
struct Stencil {
    // Number of the first node.
    base: vec3<i32>,
    // Vector from the point to it, cells.
    offset: vec3<f32>,
}

fn stencil(position: vec3<i32>) -> Stencil {
    let one = 1 << model.fraction_bits;
    let along = position + model.origin * one;
    let base = (along - vec3<i32>(one / 2)) >> vec3<u32>(model.fraction_bits);
    return Stencil(base, -vec3<f32>(along - base * one) / f32(one));
}

// Weights of the first, second and third node along each axis.
fn weights(offset: vec3<f32>) -> array<vec3<f32>, 3> {
    let before = 1.5 + offset;
    let middle = -offset - 1.0;
    let behind = -offset - 0.5;
    return array<vec3<f32>, 3>(0.5 * before * before, 0.75 - middle * middle, 0.5 * behind * behind);
}

// First node of a stencil in the tile of a block, which begins one node before the block.
fn in_tile(base: vec3<i32>, block: vec3<i32>) -> vec3<i32> {
    return around(base - block * SIDE + 1, model.period);
}

fn tile_index(place: vec3<i32>) -> u32 {
    return u32((place.z * TILE_SIDE + place.y) * TILE_SIDE + place.x);
}

const NO_NODE: u32 = 0xffffffffu;

// Index in the arrays of nodes of a tile's node; NO_NODE beyond walls.
fn node_of_tile(at: u32, block: vec3<i32>) -> u32 {
    let n = i32(at);
    let in_tile = vec3<i32>(n % TILE_SIDE, n / TILE_SIDE % TILE_SIDE, n / (TILE_SIDE * TILE_SIDE));
    let number = in_tile - 1 + SIDE;
    let near = around(block + number / SIDE - 1, model.blocks);
    if any(near < vec3<i32>(0)) || any(near >= model.blocks) {
        return NO_NODE;
    }
    let local = number % SIDE;
    return block_index(near) * BLOCK_NODES + u32((local.z * SIDE + local.y) * SIDE + local.x);
}

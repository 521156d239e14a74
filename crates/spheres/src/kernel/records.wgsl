// Twin of the CPU's step on a GPU, in SI units. Every grain computes all of its contacts, so that a contact of two
// grains is computed twice, with the same numbers in the same order (the lower grain first), and gives the same bits. A
// grain adds up its contacts in the order of their partners, and reactions are integers: a device gives the same bytes
// each time.
//
// A position is a whole number of units and a remainder, in units. A unit is 2⁻³⁰ of the container or finer, 1 nm in a
// box of 1 m: 32-bit numbers of metres would be 60 nm apart there, and settled grains of 1 mm overlap by 100 nm. The
// difference of two positions is exact but for the rounding of a number as long as the distance, so an overlap is known
// to some 1e-7 of a radius wherever the grains are. The remainder lets slow grains creep by less than a unit a substep.
// A velocity has a remainder too: at 1 m/s gravity in a substep of 20 µs is some hundred steps of a 32-bit number.

struct Model {
    // The container's sides, units.
    size: vec3<i32>,
    grain_count: u32,
    cells: vec3<i32>,
    // Most partners of a grain.
    slots: u32,
    // Sides of a cell, units.
    cell_size: vec3<i32>,
    body_count: u32,
    gravity: vec3<f32>,
    // Length of a unit of positions, m.
    unit_m: f32,
    // Coulomb's coefficients of the low and the high wall of each axis; below zero where it is open.
    low_walls: vec3<f32>,
    // Time from the submission's start to the end of the step, s.
    remaining_s: f32,
    high_walls: vec3<f32>,
    // Speed of the fastest place on a body, m/s.
    body_speed: f32,
    // Reduced moduli of a grain and a rigid surface; those of two grains are half.
    young_pa: f32,
    shear_pa: f32,
    damping: f32,
    density: f32,
    friction: f32,
    rolling_friction: f32,
    smallest_m: f32,
    // Surfaces closer than this are listed.
    skin_m: f32,
    substep_max_s: f32,
    // Units of an exact sum in 1 N s, and in 1 N m s.
    impulse_scale: f32,
    moment_scale: f32,
    // A zero that compilers do not know.
    zero: u32,
}

struct Clock {
    // Time since the submission's start.
    elapsed_s: f32,
    substep_s: f32,
    is_last: u32,
    // Whether the step is at its end.
    is_done: u32,
    // Since the submission's start.
    substeps: u32,
    faults: atomic<u32>,
    // Bits of the square of the speed of the fastest grain, (m/s)².
    fastest: atomic<u32>,
    speed: f32,
    // Upper bound of how much nearer any two have come since the last listing, m.
    way_m: f32,
    // Length of the substep in which a fault was found, s.
    failed_s: f32,
    // Most partners that a grain has.
    partners: atomic<u32>,
    // The first grain that has more partners than slots.
    crowded: atomic<u32>,
}

struct Body {
    fixed: vec3<i32>,
    // 0 ball, 1 box, 2 cylinder along z.
    shape: u32,
    rest: vec3<f32>,
    friction: f32,
    rotation: vec4<f32>,
    velocity: vec3<f32>,
    pad0: u32,
    spin: vec3<f32>,
    pad1: u32,
    // Half sizes; the radius twice and half the length.
    half: vec3<f32>,
    pad2: u32,
}

// Where a grain is, and how large.
struct Place {
    fixed: vec3<i32>,
    radius: f32,
    rest: vec3<f32>,
}

struct Motion {
    velocity: vec3<f32>,
    spin: vec3<f32>,
}

// Partners, in the order of their numbers: grains, then walls, then bodies.
const FIRST_WALL: u32 = 0x80000000u;
const FIRST_BODY: u32 = 0xc0000000u;
const NO_PARTNER: u32 = 0xffffffffu;
const FACES: u32 = 6u;
// The most that anything moves in a substep, relative to the smallest radius.
const WAY_RADII: f32 = 0.1;
const PUSHED_RADII: f32 = 0.3;
const OUTSIDE: u32 = 1u;
const NOT_FINITE: u32 = 2u;
const UNSTABLE: u32 = 4u;
const TOO_DEEP: u32 = 8u;
const CROWDED: u32 = 16u;
// Steps of a remainder in a unit. With them a position fits in 53 bits, so that a saved state goes on with the same bits.
const REST_STEPS: f32 = 1048576.0;

@group(0) @binding(0) var<uniform> model: Model;
// Of each grain: units and radius; remainder; velocity; spin. The fourth numbers of the last three are the remainder of
// the velocity.
@group(0) @binding(1) var<storage, read_write> grains: array<vec4<u32>>;
// Of each cell: one more than its first grain; zero where it is empty.
@group(0) @binding(2) var<storage, read_write> heads: array<atomic<u32>>;
// Of each grain: one more than the next grain in its cell; zero for the last.
@group(0) @binding(3) var<storage, read_write> nexts: array<u32>;
// Two words of four numbers in each slot, one plane of all grains after the other: partner, contact radius and shear
// along x and y; shear along z and the rolling moment. Where the radius is zero the two do not touch, and the rest of
// the slot says nothing.
@group(0) @binding(4) var<storage, read_write> pairs: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> listed: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> clock: Clock;
// The bodies at the start of the submission, then at that of the substep.
@group(0) @binding(7) var<storage, read_write> bodies: array<Body>;
// Six numbers in many places for each body, then for each wall.
@group(0) @binding(8) var<storage, read_write> reactions: array<atomic<u32>>;
// What a substep adds to velocity and spin of each grain.
@group(0) @binding(9) var<storage, read_write> pushed: array<vec4<f32>>;

fn place_at(at: u32) -> Place {
    let units = grains[4u * at];
    return Place(bitcast<vec3<i32>>(units.xyz), bitcast<f32>(units.w), bitcast<vec3<f32>>(grains[4u * at + 1u].xyz));
}

fn motion_at(at: u32) -> Motion {
    let velocity = bitcast<vec3<f32>>(grains[4u * at + 2u].xyz);
    return Motion(velocity, bitcast<vec3<f32>>(grains[4u * at + 3u].xyz));
}

// Index of the first of a slot's two words; the second is a plane further.
fn slot_at(at: u32, slot: u32) -> u32 {
    return 2u * slot * model.grain_count + at;
}

// Vector between two positions, m.
fn between_m(fixed: vec3<i32>, rest: vec3<f32>, from_fixed: vec3<i32>, from_rest: vec3<f32>) -> vec3<f32> {
    return (vec3<f32>(fixed - from_fixed) + (rest - from_rest)) * model.unit_m;
}

// Whole units, and a remainder of at least zero and less than one.
struct Shift {
    whole: vec3<i32>,
    rest: vec3<f32>,
}

fn shift(units: vec3<f32>) -> Shift {
    let whole = floor(units);
    return Shift(vec3<i32>(whole), floor((units - whole) * REST_STEPS) / REST_STEPS);
}

// Length of a vector of any size: its square may be too small or too large for a number.
fn length_of(v: vec3<f32>) -> f32 {
    let most = max(max(abs(v.x), abs(v.y)), abs(v.z));
    if most < 1e-36 {
        return 0.0;
    }
    return most * length(v / most);
}

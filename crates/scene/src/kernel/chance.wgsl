// Reproducible random numbers, the same on every device: the twin of chance.rs.

const GOLDEN: f32 = 0.618034;

// A hash of a number.
fn scramble(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

// The seed of a pixel in a frame.
fn pixel_seed(frame_seed: u32, column: u32, row: u32) -> u32 {
    let of_row = scramble(row + scramble(frame_seed));
    return scramble(column + of_row);
}

// The nth random number of a seed, in [0, 1), in steps of 2^-24.
fn unit(seed: u32, n: u32) -> f32 {
    return f32(scramble(seed + n) >> 8u) * (1.0 / 16777216.0);
}

// The index-th of `count` stratified points of the unit square, shifted by `shift`.
fn stratified(index: u32, count: u32, shift: vec2<f32>) -> vec2<f32> {
    let turned = f32(index) * GOLDEN + shift.y;
    return vec2((f32(index) + shift.x) / f32(count), turned - floor(turned));
}

const PLASTIC: vec2<f32> = vec2(0.7548777, 0.5698403);

// The index-th of `count` points of the unit cube, shifted by `shift`: stratified along the first axis, evenly spread
// along the others and in the volume (R2).
fn stratified_in_three(index: u32, count: u32, shift: vec3<f32>) -> vec3<f32> {
    let along = f32(index) * PLASTIC + shift.yz;
    return vec3((f32(index) + shift.x) / f32(count), along - floor(along));
}

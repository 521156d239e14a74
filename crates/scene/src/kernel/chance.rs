//! Reproducible random numbers: integer hashes of pixel, frame and use, the same on every device (PCG, after Jarzynski
//! and Olano 2020, "Hash functions for GPU rendering"). Samples of one pixel are stratified: the first coordinate in
//! equal parts, the second in steps of the golden ratio, both with a random shift.

/// Fractional part of the golden ratio.
pub(crate) const GOLDEN: f32 = 0.618_034;

/// The inverse of the plastic number, and its square (Roberts 2018, R2).
pub(crate) const PLASTIC: [f32; 2] = [0.754_877_7, 0.569_840_3];

/// A hash of a number.
#[must_use]
pub fn scramble(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The seed of a pixel in a frame.
#[must_use]
pub fn pixel_seed(frame_seed: u32, column: u32, row: u32) -> u32 {
    let of_row = scramble(row.wrapping_add(scramble(frame_seed)));
    scramble(column.wrapping_add(of_row))
}

/// The `n`th random number of a seed, in [0, 1), in steps of 2^-24.
#[must_use]
pub fn unit(seed: u32, n: u32) -> f32 {
    (scramble(seed.wrapping_add(n)) >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// The `index`th of `count` stratified points of the unit square, shifted by `shift`.
#[must_use]
pub fn stratified(index: u32, count: u32, shift: [f32; 2]) -> [f32; 2] {
    let turned = index as f32 * GOLDEN + shift[1];
    [(index as f32 + shift[0]) / count as f32, turned - turned.floor()]
}

/// The `index`th of `count` points of the unit cube, shifted by `shift`: stratified along the first axis, evenly spread
/// along the others and in the volume (R2).
#[must_use]
pub fn stratified_in_three(index: u32, count: u32, shift: [f32; 3]) -> [f32; 3] {
    let [a, b] = [index as f32 * PLASTIC[0] + shift[1], index as f32 * PLASTIC[1] + shift[2]];
    [(index as f32 + shift[0]) / count as f32, a - a.floor(), b - b.floor()]
}

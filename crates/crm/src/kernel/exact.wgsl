// Sums that are exact in any order, in `reactions`: an array of atomic words that the kernels which use them declare.

// Such a sum counts in this fraction of its unit.
const REACTION_SCALE: f32 = 4294967296.0;
// Reactions of one body or wall are added in so many places, by workgroup.
const PLACES: u32 = 16u;

// Adds a number to one of 64 bits, with 32 after the point, in two words: exact in any order.
fn add_exact(at: u32, number: f32) {
    let size = abs(number);
    let whole = floor(size);
    var low = u32((size - whole) * REACTION_SCALE);
    var high = u32(whole);
    if number < 0.0 {
        low = ~low + 1u;
        high = ~high + select(0u, 1u, low == 0u);
    }
    let before = atomicAdd(&reactions[2u * at], low);
    atomicAdd(&reactions[2u * at + 1u], high + select(0u, 1u, before + low < before));
}

//! A bit for each node of a tile: which of them were changed, or touched, or are to be told.

use crate::surface::tile::TILE_AREA;

/// Words of a tile's bits.
const WORDS: usize = TILE_AREA / 64;

/// Some nodes of a tile, by their numbers within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks([u64; WORDS]);

impl Marks {
    /// Marks a node.
    #[inline]
    pub fn mark(&mut self, node: usize) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    /// Whether a node is marked; what is no node of a tile is not.
    #[inline]
    #[must_use]
    pub fn has(&self, node: usize) -> bool {
        self.0.get(node / 64).is_some_and(|word| word >> (node % 64) & 1 == 1)
    }

    /// The marked nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        let set = move |word: usize| {
            std::iter::successors(Some(self.0[word]), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| 64 * word + bits.trailing_zeros() as usize)
        };
        (0..WORDS).flat_map(set)
    }

    /// How many nodes are marked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many marked nodes come before one.
    #[must_use]
    pub fn rank(&self, node: usize) -> usize {
        let (word, bit) = (node / 64, 1_u64 << (node % 64));
        let before: u32 = self.0[..word].iter().map(|word| word.count_ones()).sum();
        (before + (self.0[word] & (bit - 1)).count_ones()) as usize
    }

    /// Takes all marks away.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The bits as bytes, those of the first nodes first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The marks of such bytes; none when they are too few or too many.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let words: [u64; WORDS] = words.try_into().ok()?;
        rest.is_empty().then_some(Self(words))
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn marked_nodes_are_told_in_order_counted_and_found_again_in_bytes() {
        let mut marks = Marks::default();
        [4095, 0, 64, 63].into_iter().for_each(|node| marks.mark(node));
        assert_eq!(marks.nodes().collect::<Vec<_>>(), [0, 63, 64, 4095]);
        assert_eq!((marks.count(), marks.rank(64), marks.rank(4095)), (4, 2, 3));
        assert!(marks.has(64) && !marks.has(65) && !marks.has(4096));
        let bytes = marks.to_bytes();
        assert_eq!(Marks::from_bytes(&bytes), Some(marks));
        assert!(Marks::from_bytes(&bytes[1..]).is_none() && Marks::from_bytes(&[&bytes[..], &[0]].concat()).is_none());
        marks.clear();
        assert_eq!(marks, Marks::default());
    }
}

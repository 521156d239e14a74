//! A bit set over the nodes of a tile, such as those that changed or that are to be sent.

use crate::surface::tile::TILE_AREA;

/// Number of 64-bit words in the set.
const WORDS: usize = TILE_AREA / 64;

/// A set of nodes of a tile, by their numbers within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSet([u64; WORDS]);

impl NodeSet {
    /// Adds a node.
    #[inline]
    pub fn mark(&mut self, node: usize) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    /// Whether the set contains a node; false for numbers beyond the tile.
    #[inline]
    #[must_use]
    pub fn has(&self, node: usize) -> bool {
        self.0.get(node / 64).is_some_and(|word| word >> (node % 64) & 1 == 1)
    }

    /// The marked nodes in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = usize> + '_ {
        let set = move |word: usize| {
            std::iter::successors(Some(self.0[word]), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| 64 * word + bits.trailing_zeros() as usize)
        };
        (0..WORDS).flat_map(set)
    }

    /// Number of marked nodes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of marked nodes before `node`.
    #[must_use]
    pub fn rank(&self, node: usize) -> usize {
        let (word, bit) = (node / 64, 1_u64 << (node % 64));
        let before: u32 = self.0[..word].iter().map(|word| word.count_ones()).sum();
        (before + (self.0[word] & (bit - 1)).count_ones()) as usize
    }

    /// Removes all marks.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The bits as bytes, lowest nodes first.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The set from bytes of `to_bytes`; none when there are too few or too many.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let words: [u64; WORDS] = words.try_into().ok()?;
        rest.is_empty().then_some(Self(words))
    }
}

impl Default for NodeSet {
    fn default() -> Self {
        Self([0; WORDS])
    }
}

#[cfg(test)]
mod tests {
    use super::NodeSet;

    #[test]
    fn marked_nodes_are_listed_in_order_counted_and_found_again_in_bytes() {
        let mut marks = NodeSet::default();
        [4095, 0, 64, 63].into_iter().for_each(|node| marks.mark(node));
        assert_eq!(marks.nodes().collect::<Vec<_>>(), [0, 63, 64, 4095]);
        assert_eq!((marks.count(), marks.rank(64), marks.rank(4095)), (4, 2, 3));
        assert!(marks.has(64) && !marks.has(65) && !marks.has(4096));
        let bytes = marks.to_bytes();
        assert_eq!(NodeSet::from_bytes(&bytes), Some(marks));
        assert!(
            NodeSet::from_bytes(&bytes[1..]).is_none() && NodeSet::from_bytes(&[&bytes[..], &[0]].concat()).is_none()
        );
        marks.clear();
        assert_eq!(marks, NodeSet::default());
    }
}

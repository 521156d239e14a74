//! Pieces of levels that have been made, kept for windows that come to lie over them
//! again. Each level's lattice is cut into tiles of 256 posts; those used longest ago
//! go when the store grows over its limit.

use std::collections::BTreeMap;

use crate::patch::Patch;

/// Posts on a tile's side.
pub(crate) const TILE_POSTS: usize = 256;
/// What a store keeps unless told otherwise, in bytes.
const BYTES_MAX: usize = 256 << 20;

/// Level, and column and row of the tile.
pub(crate) type Key = (usize, [i64; 2]);

/// Tiles of one landscape, owned by whoever moves windows over it.
#[derive(Clone, Debug)]
pub struct TileStore {
    tiles: BTreeMap<Key, Kept>,
    bytes_max: usize,
    turn: u64,
}

#[derive(Clone, Debug)]
struct Kept {
    patch: Patch,
    last_used: u64,
}

impl Default for TileStore {
    /// A store that keeps 256 MiB.
    fn default() -> Self {
        Self::new(BYTES_MAX)
    }
}

impl TileStore {
    /// An empty store that keeps at most `bytes_max` bytes between uses; what one use
    /// needs may be more for its duration.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { tiles: BTreeMap::new(), bytes_max, turn: 0 }
    }

    /// Bytes of heights that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.tiles.values().map(|kept| bytes(&kept.patch)).sum()
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Patch> {
        self.tiles.get(&key).map(|kept| &kept.patch)
    }

    pub(crate) fn insert(&mut self, key: Key, patch: Patch) {
        self.tiles.insert(key, Kept { patch, last_used: self.turn });
    }

    /// Whether the tile is there; it then counts as used now.
    pub(crate) fn touch(&mut self, key: Key) -> bool {
        let turn = self.turn;
        self.tiles.get_mut(&key).is_some_and(|kept| {
            kept.last_used = turn;
            true
        })
    }

    /// Lets go of the tiles used longest ago until the limit is kept.
    pub(crate) fn trim(&mut self) {
        self.turn += 1;
        let mut bytes_kept = self.bytes();
        if bytes_kept <= self.bytes_max {
            return;
        }
        let mut by_age: Vec<_> = self.tiles.iter().map(|(&key, kept)| (kept.last_used, key)).collect();
        by_age.sort_unstable();
        for (_, key) in by_age {
            if bytes_kept <= self.bytes_max {
                return;
            }
            bytes_kept -= self.tiles.remove(&key).map_or(0, |kept| bytes(&kept.patch));
        }
    }
}

fn bytes(patch: &Patch) -> usize {
    let posts = patch.surface.heights_m.len() + patch.base.as_ref().map_or(0, |base| base.heights_m.len());
    posts * size_of::<f32>()
}

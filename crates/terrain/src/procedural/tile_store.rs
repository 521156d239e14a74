//! Pieces of levels that have been made, kept for windows and pages that need them again. Each
//! level's lattice is cut into tiles of 256 posts; those used longest ago go when the store grows
//! over its limit. It is shared by all who make ground: what it holds depends on the place alone,
//! so that it does not matter who made it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::procedural::patch::Patch;

/// Posts on a tile's side.
pub(crate) const TILE_POSTS: usize = 256;
/// What a store keeps unless told otherwise, in bytes.
const BYTES_MAX: usize = 256 << 20;

/// Level, and column and row of the tile.
pub(crate) type Key = (usize, [i64; 2]);

/// Tiles of one landscape.
#[derive(Debug)]
pub struct TileStore {
    kept: Mutex<Kept>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Kept {
    tiles: BTreeMap<Key, KeptTile>,
    bytes: usize,
    turn: u64,
}

#[derive(Clone, Debug)]
struct KeptTile {
    patch: Arc<Patch>,
    last_used: u64,
}

impl Default for TileStore {
    /// A store that keeps 256 MiB.
    fn default() -> Self {
        Self::new(BYTES_MAX)
    }
}

impl TileStore {
    /// An empty store that keeps at most `bytes_max` bytes between uses.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { kept: Mutex::default(), bytes_max }
    }

    /// Bytes of heights that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }

    /// A tile if it is there; it then counts as used now.
    pub(crate) fn get(&self, key: Key) -> Option<Arc<Patch>> {
        let mut kept = self.kept();
        let turn = kept.turn;
        kept.tiles.get_mut(&key).map(|tile| {
            tile.last_used = turn;
            Arc::clone(&tile.patch)
        })
    }

    pub(crate) fn insert(&self, key: Key, patch: Arc<Patch>) {
        let mut kept = self.kept();
        let last_used = kept.turn;
        kept.bytes += bytes(&patch);
        let before = kept.tiles.insert(key, KeptTile { patch, last_used });
        kept.bytes -= before.map_or(0, |tile| bytes(&tile.patch));
    }

    /// Lets go of the tiles used longest ago until the limit is kept.
    pub(crate) fn trim(&self) {
        let mut kept = self.kept();
        kept.turn += 1;
        if kept.bytes <= self.bytes_max {
            return;
        }
        let mut by_age: Vec<_> = kept.tiles.iter().map(|(&key, tile)| (tile.last_used, key)).collect();
        by_age.sort_unstable();
        for (_, key) in by_age {
            if kept.bytes <= self.bytes_max {
                return;
            }
            let gone = kept.tiles.remove(&key);
            kept.bytes -= gone.map_or(0, |tile| bytes(&tile.patch));
        }
    }

    /// A maker that panicked leaves whole tiles behind.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(patch: &Patch) -> usize {
    let posts = patch.surface.heights_m.len() + patch.base.as_ref().map_or(0, |base| base.heights_m.len());
    posts * size_of::<f32>()
}

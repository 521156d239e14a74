//! Store of generated tiles for windows and pages that need them again. Each level's lattice is divided into tiles of
//! 256 × 256 posts. When the store exceeds its limit, the least recently used tiles are dropped. All users of a terrain
//! share it: its contents depend on the position alone, so it does not matter who generated them.
//!
//! New tiles take over the arrays of dropped ones. Many threads make tiles, some at the start alone; the heaps of those
//! would stay as large as at the start if each thread allocated its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::procedural::patch::Patch;

/// Posts along a side of a tile.
pub(crate) const TILE_POSTS: usize = 256;
/// Default limit of a store, bytes: a third more than the tiles under four windows of 2049 × 2049 posts.
const BYTES_MAX: usize = 192 << 20;
/// Size of a tile's heights, bytes.
const TILE_BYTES: usize = TILE_POSTS * TILE_POSTS * size_of::<f32>();
/// Arrays of dropped tiles are kept up to this part of the limit.
const ROOMS_PART: usize = 4;

/// Level, and column and row of the tile.
pub(crate) type Key = (usize, [i64; 2]);

/// Generated tiles of one landscape.
#[derive(Debug)]
pub struct TileStore {
    kept: Mutex<TileCache>,
    /// Arrays of dropped tiles.
    rooms: Mutex<Vec<Vec<f32>>>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct TileCache {
    tiles: BTreeMap<Key, CachedTile>,
    bytes: usize,
    turn: u64,
}

#[derive(Clone, Debug)]
struct CachedTile {
    patch: Arc<Patch>,
    last_used: u64,
}

impl Default for TileStore {
    /// A store that keeps 192 MiB.
    fn default() -> Self {
        Self::new(BYTES_MAX)
    }
}

impl TileStore {
    /// An empty store that keeps at most `bytes_max` bytes between uses.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { kept: Mutex::default(), rooms: Mutex::default(), bytes_max }
    }

    /// Size of the heights in the store, bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }

    /// A tile, if the store has it; marks it as used now.
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
        let before = kept.tiles.insert(key, CachedTile { patch, last_used });
        kept.bytes -= before.map_or(0, |tile| bytes(&tile.patch));
    }

    /// The array of a dropped tile, with any contents; an empty one if there is none.
    pub(crate) fn room(&self) -> Vec<f32> {
        whole(&self.rooms).pop().unwrap_or_default()
    }

    /// Drops the least recently used tiles until the limit is met.
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
            if let Some(gone) = kept.tiles.remove(&key) {
                kept.bytes -= bytes(&gone.patch);
                self.take_rooms(gone.patch);
            }
        }
    }

    /// Keeps the arrays of a dropped tile that nobody uses any more.
    fn take_rooms(&self, patch: Arc<Patch>) {
        let Some(Patch { base, surface }) = Arc::into_inner(patch) else { return };
        let mut rooms = whole(&self.rooms);
        for level in base.into_iter().chain(Arc::into_inner(surface)) {
            if rooms.len() < self.bytes_max / ROOMS_PART / TILE_BYTES {
                rooms.push(level.heights_m);
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, TileCache> {
        whole(&self.kept)
    }
}

/// Locks a mutex. A poisoned lock is fine: a panicking thread leaves complete tiles behind.
fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bytes(patch: &Patch) -> usize {
    let posts = patch.surface.heights_m.len() + patch.base.as_ref().map_or(0, |base| base.heights_m.len());
    posts * size_of::<f32>()
}

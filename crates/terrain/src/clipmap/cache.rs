//! Cache of a clipmap's most recent windows: each level joined to the coarser one, with the stones on it. Coarse
//! windows seldom move, so the cache keeps them. A window that moved copies the posts that it shares with its
//! predecessor, so moving to a neighbouring centre costs little more than the new posts of the finest window. Coarse
//! windows that will move next can be made one by one before they are needed (`prefetch`).
//!
//! A new window takes over the memory of a dropped one of its size. On a long drive, arrays of 17 MB that several threads
//! allocate and free again would leave the heap full of holes.

use std::sync::Arc;

use crate::clipmap::seam;
use crate::clipmap::windows::ClipmapWindows;
use crate::level::Level;
use crate::procedural::landscape::{EarlierWindow, Landscape};
use crate::procedural::tile_store::TileStore;
use crate::surface::rock::DrawnRock;

/// Windows kept of each level: the viewer's previous, current and next one.
const KEPT: usize = 3;
/// Number of window moves after which a window that no viewer used is dropped: the previous window of a coarse level,
/// 67 MB for 4097 × 4097 posts, would otherwise stay for kilometres.
const KEPT_MOVES: u64 = 64;

/// The most recent windows of all levels.
#[derive(Debug, Default)]
pub(crate) struct WindowCache {
    /// Windows of each level, the most recently used one last.
    last: Vec<Vec<CachedWindow>>,
    /// Windows that the cache dropped; users may still hold them.
    dropped: Vec<Arc<Level>>,
    /// Number of moves so far.
    moves: u64,
}

/// The window of one level.
#[derive(Clone, Debug)]
struct CachedWindow {
    /// First posts of this window and of the coarser ones that it is joined to.
    firsts: Vec<[i64; 2]>,
    level: Arc<Level>,
    stones: Arc<[DrawnRock]>,
    /// The move that last used it.
    last_used: u64,
}

impl WindowCache {
    /// The windows with the given first posts, finest first, with the rocks on them.
    pub(crate) fn windows(&mut self, landscape: &Landscape, tiles: &TileStore, firsts: &[[i64; 2]]) -> ClipmapWindows {
        self.last.resize_with(firsts.len(), Vec::new);
        self.moves += 1;
        let mut coarser: Option<Arc<Level>> = None;
        let (mut levels, mut stones) = (Vec::new(), Vec::new());
        for level in (0..firsts.len()).rev() {
            let window = self.window(landscape, tiles, level, &firsts[level..], coarser.as_deref());
            coarser = Some(Arc::clone(&window.level));
            levels.push(window.level);
            stones.push(window.stones);
        }
        levels.reverse();
        stones.reverse();
        let rocks = landscape.rocks_among(&stones, &levels);
        ClipmapWindows::new([0, 0], levels, rocks, landscape.rock_shapes())
    }

    /// Makes the coarsest missing window of a centre, except the finest, which is never prefetched; returns whether one
    /// was missing.
    pub(crate) fn prefetch(&mut self, landscape: &Landscape, tiles: &TileStore, firsts: &[[i64; 2]]) -> bool {
        self.last.resize_with(firsts.len(), Vec::new);
        let mut coarser: Option<Arc<Level>> = None;
        for level in (1..firsts.len()).rev() {
            let is_there = self.last[level].iter().any(|cached| cached.firsts == firsts[level..]);
            let window = self.window(landscape, tiles, level, &firsts[level..], coarser.as_deref());
            if !is_there {
                return true;
            }
            coarser = Some(window.level);
        }
        false
    }

    fn window(
        &mut self,
        landscape: &Landscape,
        tiles: &TileStore,
        level: usize,
        firsts: &[[i64; 2]],
        coarser: Option<&Level>,
    ) -> CachedWindow {
        let cached = self.last[level].iter().position(|cached| cached.firsts == firsts);
        let window = match cached {
            Some(at) => CachedWindow { last_used: self.moves, ..self.last[level].remove(at) },
            None => self.made(landscape, tiles, level, firsts, coarser),
        };
        self.drop_old(level);
        self.last[level].push(window.clone());
        window
    }

    /// Drops the windows of a level that are one too many for another, whose arrays serve again, and frees those that
    /// were not used for long.
    fn drop_old(&mut self, level: usize) {
        let last = &mut self.last[level];
        let surplus = last.len().saturating_sub(KEPT - 1);
        self.dropped.extend(last.drain(..surplus).map(|window| window.level));
        last.retain(|window| window.last_used + KEPT_MOVES >= self.moves);
    }

    fn made(
        &mut self,
        landscape: &Landscape,
        tiles: &TileStore,
        level: usize,
        firsts: &[[i64; 2]],
        coarser: Option<&Level>,
    ) -> CachedWindow {
        let room = self.room(landscape.levels()[level].posts());
        let seam_posts = |level: &Level| coarser.map_or(0, |coarser| seam::width_posts(level, coarser));
        let last = self.last[level].last();
        let known = last.map(|cached| EarlierWindow { level: &cached.level, seam_posts: seam_posts(&cached.level) });
        let mut window = landscape.window_beside(tiles, level, firsts[0], known, room);
        coarser.into_iter().for_each(|coarser| seam::join(&mut window, coarser));
        let stones = landscape.stones_on(level, &window).into();
        CachedWindow { firsts: firsts.to_vec(), level: Arc::new(window), stones, last_used: self.moves }
    }

    /// The array of a dropped window with `posts` along a side that nobody uses any more; an empty one if there is none.
    fn room(&mut self, posts: usize) -> Vec<f32> {
        let is_free = |level: &Arc<Level>| level.posts == posts && Arc::strong_count(level) == 1;
        let free = self.dropped.iter().position(is_free).map(|at| self.dropped.swap_remove(at));
        free.and_then(Arc::into_inner).map_or_else(Vec::new, |level| level.heights_m)
    }
}

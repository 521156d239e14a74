//! The windows of a clipmap that were made last: each level joined to the coarser one, with the
//! stones that lie on it. Coarse windows seldom move, so that those made last are kept, and a window
//! that moved takes over the posts that it shares with the one before: a centre beside the last
//! one costs little more than the new posts of its finest window. Coarse windows that move next
//! are made one by one before they are asked for (`prefetch`).

use std::sync::Arc;

use crate::clipmap::seam;
use crate::clipmap::windows::ClipmapWindows;
use crate::level::Level;
use crate::procedural::landscape::{Known, Landscape};
use crate::procedural::tile_store::TileStore;
use crate::surface::rock::Stone;

/// Windows kept of each level: where a viewer was, is and will be.
const KEPT: usize = 3;

/// The windows that were made last.
#[derive(Debug, Default)]
pub(crate) struct WindowCache {
    /// For each level, the one used last at the end.
    last: Vec<Vec<CachedWindow>>,
}

/// One window.
#[derive(Clone, Debug)]
struct CachedWindow {
    /// First posts of this window and of the coarser ones, which it is joined to.
    firsts: Vec<[i64; 2]>,
    level: Arc<Level>,
    stones: Arc<[Stone]>,
}

impl WindowCache {
    /// The windows that begin at the given posts, finest first, with the rocks that lie on them.
    pub(crate) fn windows(&mut self, landscape: &Landscape, tiles: &TileStore, firsts: &[[i64; 2]]) -> ClipmapWindows {
        self.last.resize_with(firsts.len(), Vec::new);
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

    /// Makes the coarsest window that a centre will need and that is not there, but the finest, which
    /// is never there; whether there was one to make.
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
        let last = &mut self.last[level];
        let window = match last.iter().position(|cached| cached.firsts == firsts) {
            Some(at) => last.remove(at),
            None => {
                let seam_posts = |level: &Level| coarser.map_or(0, |coarser| seam::width_posts(level, coarser));
                let known =
                    last.last().map(|cached| Known { level: &cached.level, seam_posts: seam_posts(&cached.level) });
                let mut window = landscape.window_beside(tiles, level, firsts[0], known);
                coarser.into_iter().for_each(|coarser| seam::join(&mut window, coarser));
                let stones = landscape.stones_on(level, &window).into();
                CachedWindow { firsts: firsts.to_vec(), level: Arc::new(window), stones }
            }
        };
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push(window.clone());
        window
    }
}

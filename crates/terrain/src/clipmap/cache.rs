//! Cache of a clipmap's most recent windows: each level joined to the coarser one, with the stones on it. Coarse
//! windows seldom move, so the cache keeps them. A window that moved copies the posts that it shares with its
//! predecessor, so moving to a neighbouring centre costs little more than the new posts of the finest window. Coarse
//! windows that will move next can be made one by one before they are needed (`prefetch`).

use std::sync::Arc;

use crate::clipmap::seam;
use crate::clipmap::windows::ClipmapWindows;
use crate::level::Level;
use crate::procedural::landscape::{EarlierWindow, Landscape};
use crate::procedural::tile_store::TileStore;
use crate::surface::rock::DrawnRock;

/// Windows kept of each level: the viewer's previous, current and next one.
const KEPT: usize = 3;

/// The most recent windows of all levels.
#[derive(Debug, Default)]
pub(crate) struct WindowCache {
    /// Windows of each level, the most recently used one last.
    last: Vec<Vec<CachedWindow>>,
}

/// The window of one level.
#[derive(Clone, Debug)]
struct CachedWindow {
    /// First posts of this window and of the coarser ones that it is joined to.
    firsts: Vec<[i64; 2]>,
    level: Arc<Level>,
    stones: Arc<[DrawnRock]>,
}

impl WindowCache {
    /// The windows with the given first posts, finest first, with the rocks on them.
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
        let last = &mut self.last[level];
        let window = match last.iter().position(|cached| cached.firsts == firsts) {
            Some(at) => last.remove(at),
            None => {
                let seam_posts = |level: &Level| coarser.map_or(0, |coarser| seam::width_posts(level, coarser));
                let known = last
                    .last()
                    .map(|cached| EarlierWindow { level: &cached.level, seam_posts: seam_posts(&cached.level) });
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

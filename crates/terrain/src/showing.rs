//! What the windows of a place show: each level joined to the coarser one, with the stones
//! that lie on it. Coarse windows seldom move, so that those shown last are kept, and a window that
//! moved takes over the posts that it shares with the one before: a place beside the last
//! one costs little more than the new posts of its finest window. Coarse windows that move next
//! are made one by one before they are asked for (`foresee`).

use std::sync::Arc;

use crate::landscape::{Known, Landscape};
use crate::level::Level;
use crate::rock::Stone;
use crate::seam;
use crate::tile_store::TileStore;
use crate::windows::Vicinity;

/// Windows kept of each level: where the ground was, is and will be.
const KEPT: usize = 3;

/// The windows that one landscape showed last, and the tiles that they were put together from.
#[derive(Debug, Default)]
pub(crate) struct Showing {
    tiles: TileStore,
    /// For each level, the one used last at the end.
    last: Vec<Vec<Shown>>,
}

/// One window.
#[derive(Clone, Debug)]
struct Shown {
    /// First posts of this window and of the coarser ones, which it is joined to.
    firsts: Vec<[i64; 2]>,
    level: Arc<Level>,
    stones: Arc<[Stone]>,
}

impl Showing {
    /// The windows that begin at the given posts, finest first, with the rocks that lie on them.
    pub(crate) fn vicinity(&mut self, landscape: &Landscape, firsts: &[[i64; 2]]) -> Vicinity {
        self.last.resize_with(firsts.len(), Vec::new);
        let mut coarser: Option<Arc<Level>> = None;
        let (mut levels, mut stones) = (Vec::new(), Vec::new());
        for level in (0..firsts.len()).rev() {
            let shown = self.shown(landscape, level, &firsts[level..], coarser.as_deref());
            coarser = Some(Arc::clone(&shown.level));
            levels.push(shown.level);
            stones.push(shown.stones);
        }
        levels.reverse();
        stones.reverse();
        let rocks = landscape.rocks_among(&stones, &levels);
        Vicinity::new([0, 0], levels, rocks, landscape.rock_shapes())
    }

    /// Makes the coarsest window that a place will need and that is not there, but the finest, which
    /// is never there; whether there was one to make.
    pub(crate) fn foresee(&mut self, landscape: &Landscape, firsts: &[[i64; 2]]) -> bool {
        self.last.resize_with(firsts.len(), Vec::new);
        let mut coarser: Option<Arc<Level>> = None;
        for level in (1..firsts.len()).rev() {
            let is_there = self.last[level].iter().any(|shown| shown.firsts == firsts[level..]);
            let shown = self.shown(landscape, level, &firsts[level..], coarser.as_deref());
            if !is_there {
                return true;
            }
            coarser = Some(shown.level);
        }
        false
    }

    fn shown(&mut self, landscape: &Landscape, level: usize, firsts: &[[i64; 2]], coarser: Option<&Level>) -> Shown {
        let last = &mut self.last[level];
        let shown = match last.iter().position(|shown| shown.firsts == firsts) {
            Some(at) => last.remove(at),
            None => {
                let seam_posts = |level: &Level| coarser.map_or(0, |coarser| seam::width_posts(level, coarser));
                let known =
                    last.last().map(|shown| Known { level: &shown.level, seam_posts: seam_posts(&shown.level) });
                let mut window = landscape.window_beside(&mut self.tiles, level, firsts[0], known);
                coarser.into_iter().for_each(|coarser| seam::join(&mut window, coarser));
                let stones = landscape.stones_on(level, &window).into();
                Shown { firsts: firsts.to_vec(), level: Arc::new(window), stones }
            }
        };
        if last.len() == KEPT {
            last.remove(0);
        }
        last.push(shown.clone());
        shown
    }
}

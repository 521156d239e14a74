//! What the windows of a place show: each level joined to the coarser one, with the stones
//! that lie on it. Coarse windows seldom move, so that those shown last are kept: a
//! place beside the last one costs little more than its finest window.

use std::sync::Arc;

use crate::landscape::Landscape;
use crate::level::Level;
use crate::rock::Stone;
use crate::seam;
use crate::tile_store::TileStore;
use crate::windows::Vicinity;

/// Windows kept of each level: where the ground is and where it was.
const KEPT: usize = 2;

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

    fn shown(&mut self, landscape: &Landscape, level: usize, firsts: &[[i64; 2]], coarser: Option<&Level>) -> Shown {
        let last = &mut self.last[level];
        let shown = match last.iter().position(|shown| shown.firsts == firsts) {
            Some(at) => last.remove(at),
            None => {
                let mut window = landscape.window_level(&mut self.tiles, level, firsts[0]);
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

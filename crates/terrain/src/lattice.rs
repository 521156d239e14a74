//! The lattice of a level: post (column, row) is at (column, row) · spacing on the map, whichever window shows it.
//! Windows are located by post numbers and not by metres, so that a post has the same number everywhere.

use crate::level::Level;
use crate::sampler::Grid;

/// A square of posts of a level's lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posts {
    /// Column and row of the post with the least x and y.
    pub(crate) first: [i64; 2],
    /// Posts along a side.
    pub(crate) count: usize,
}

impl Posts {
    /// The posts of a level's window.
    pub(crate) fn of(level: &Level) -> Self {
        Self { first: level.origin_m.map(|m| (m / level.spacing_m).round() as i64), count: level.posts }
    }

    /// The posts within `reach` posts of the map's origin along each axis.
    pub(crate) fn around_origin(reach: usize) -> Self {
        Self { first: [-(reach as i64); 2], count: 2 * reach + 1 }
    }

    /// Index of a post in a window's heights; none outside.
    pub(crate) fn index(&self, at: [i64; 2]) -> Option<usize> {
        let along = |axis: usize| {
            let post = usize::try_from(at[axis] - self.first[axis]).ok()?;
            (post < self.count).then_some(post)
        };
        Some(along(1)? * self.count + along(0)?)
    }

    /// Whether another square contains all of these posts.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let last = self.first.map(|first| first + self.count as i64 - 1);
        other.index(self.first).is_some() && other.index(last).is_some()
    }

    /// Whether this square contains all posts that two others share.
    pub(crate) fn has_shared(&self, one: &Self, other: &Self) -> bool {
        (0..2).all(|axis| {
            let first = one.first[axis].max(other.first[axis]);
            let end = one.end(axis).min(other.end(axis));
            first >= self.first[axis] && end <= self.end(axis)
        })
    }

    /// The posts without the outermost `margin` ones.
    pub(crate) fn inner(&self, margin: usize) -> Self {
        Self { first: self.first.map(|post| post + margin as i64), count: self.count.saturating_sub(2 * margin) }
    }

    /// The post after the last along an axis.
    fn end(&self, axis: usize) -> i64 {
        self.first[axis] + self.count as i64
    }

    pub(crate) fn grid(&self, spacing_m: f64) -> Grid {
        Grid { origin_m: self.first.map(|post| post as f64 * spacing_m), spacing_m, posts: self.count }
    }

    /// The coarser posts needed to refine these: those under the cubic kernels, and one more on each side.
    pub(crate) fn refined_from(&self, ratio: i64) -> Self {
        let first = self.first.map(|post| post.div_euclid(ratio) - 2);
        Self { first, count: (self.count as i64 - 1).div_euclid(ratio) as usize + 7 }
    }

    /// The tiles of `side` posts along a side that contain some of these posts.
    pub(crate) fn tiles(&self, side: usize) -> impl Iterator<Item = [i64; 2]> + use<> {
        let span = self.first.map(|post| {
            let last = post + self.count as i64 - 1;
            post.div_euclid(side as i64)..=last.div_euclid(side as i64)
        });
        let [columns, rows] = span;
        rows.flat_map(move |row| columns.clone().map(move |column| [column, row]))
    }
}

/// Bilinear height at (x, y), m, bit for bit the same in every window that contains the surrounding posts; none
/// outside.
pub(crate) fn height_m(level: &Level, [x, y]: [f64; 2]) -> Option<f64> {
    let Posts { first, count } = Posts::of(level);
    let along = |m: f64, first: i64| {
        let posts = m / level.spacing_m;
        let within = usize::try_from(posts.floor() as i64 - first).ok()?;
        (within + 1 < count).then(|| (within, posts - posts.floor()))
    };
    let ((column, u), (row, v)) = (along(x, first[0])?, along(y, first[1])?);
    let blend = |row: usize| level.post_m(column, row) * (1.0 - u) + level.post_m(column + 1, row) * u;
    Some(blend(row) * (1.0 - v) + blend(row + 1) * v)
}

#[cfg(test)]
mod tests {
    use super::{Posts, height_m};
    use crate::level::Level;

    #[test]
    fn tiles_of_a_window_hold_its_first_and_last_post() {
        let posts = Posts { first: [-1, 255], count: 258 };
        let tiles: Vec<_> = posts.tiles(256).collect();
        assert_eq!(tiles, [[-1, 0], [0, 0], [1, 0], [-1, 1], [0, 1], [1, 1], [-1, 2], [0, 2], [1, 2]]);
    }

    #[test]
    fn what_two_squares_share_is_had_or_not() {
        let [window, tile] = [([0, 0], 100), ([90, 40], 20)].map(|(first, count)| Posts { first, count });
        let had = |first: [i64; 2], count: usize| Posts { first, count }.has_shared(&window, &tile);
        assert!(had([90, 40], 20) && had([80, 0], 60));
        assert!(!had([91, 40], 20) && !had([89, 40], 10) && !had([90, 40], 19));
        assert_eq!(window.inner(30), Posts { first: [30, 30], count: 40 });
        assert_eq!(window.inner(60).count, 0);
    }

    #[test]
    fn refined_posts_have_two_coarser_ones_beyond_each_end() {
        for (first, count, ratio) in [(-9, 20, 8), (7, 2, 4), (-256, 256, 8), (0, 33, 5)] {
            let coarse = Posts { first: [first; 2], count }.refined_from(ratio);
            let last = first + count as i64 - 1;
            assert!(coarse.first[0] + 2 <= first.div_euclid(ratio));
            assert!(coarse.first[0] + coarse.count as i64 > last.div_euclid(ratio) + 3);
        }
    }

    #[test]
    fn a_place_has_the_same_height_to_the_bit_in_two_windows() {
        let height = |x: f64, y: f64| (x * 3.1).sin() + (y * 0.7).cos();
        let [wide, narrow] = [(-40_i64, 90), (-3, 20)].map(|(first, posts)| {
            let origin = first as f64 * 0.16;
            Level::sample([origin, origin], 0.16, posts, |x, y| height((x / 0.16).round(), (y / 0.16).round()))
        });
        for (x, y) in [(0.013, 0.4), (1.1, -0.2), (2.0, 0.32)] {
            assert_eq!(height_m(&wide, [x, y]).map(f64::to_bits), height_m(&narrow, [x, y]).map(f64::to_bits));
        }
        assert_eq!(height_m(&narrow, [-0.49, 0.0]), None);
    }
}

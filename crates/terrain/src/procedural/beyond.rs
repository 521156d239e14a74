//! Generated ground outside the square that a site's elevation data and their surroundings fill. The site's relief and
//! craters continue there, plus their difference from the square's border. The difference is averaged along the border,
//! over a longer stretch farther out, so that no slope is drawn out into a ridge; it fades to zero over the length of
//! the square's side. The result says nothing about the real place.

use crate::lattice::Posts;
use crate::level::Level;
use std::sync::Arc;

use crate::clipmap::seam::smoothstep;
use crate::procedural::patch::Patch;

/// The border of a square of posts, and the difference of the generated ground from it.
#[derive(Debug)]
pub(crate) struct Edge {
    posts: Posts,
    /// Cumulative sums of the difference, m, along the border from the south-west corner, starting along the south.
    sums_m: Vec<f64>,
}

/// Heights along a level's border, in the same order.
pub(crate) fn border_m(level: &Level) -> Vec<f32> {
    let last = level.posts - 1;
    let sides = (0..4).flat_map(|side| (0..last).map(move |i| (side, i)));
    let at = |(side, i)| match side {
        0 => [i, 0],
        1 => [last, i],
        2 => [last - i, last],
        _ => [0, last - i],
    };
    sides.map(at).map(|[column, row]| level.heights_m[row * level.posts + column]).collect()
}

impl Edge {
    /// The border of `level`, where the generated ground has the heights `made_up_m`.
    pub(crate) fn new(level: &Level, made_up_m: &[f32]) -> Self {
        let lacking = border_m(level).into_iter().zip(made_up_m).map(|(m, made_up_m)| f64::from(m - made_up_m));
        let sum = |sum_m: &mut f64, lack_m: f64| Some(std::mem::replace(sum_m, *sum_m + lack_m));
        // One element more than posts: the last one is the total.
        let sums_m = lacking.chain([0.0]).scan(0.0, sum).collect();
        Self { posts: Posts::of(level), sums_m }
    }

    /// A piece of a level with data: heights of the square `fixed`, and outside it the generated ones plus the
    /// difference.
    pub(crate) fn patch(&self, fixed: &Level, made_up: Level) -> Patch {
        let mut level = made_up;
        let (posts, square) = (Posts::of(&level), Posts::of(fixed));
        for (i, height_m) in level.heights_m.iter_mut().enumerate() {
            let at = [posts.first[0] + (i % posts.count) as i64, posts.first[1] + (i / posts.count) as i64];
            match square.index(at) {
                Some(index) => *height_m = fixed.heights_m[index],
                None => *height_m += self.lack_m(at) as f32,
            }
        }
        Patch { base: Some(level.clone()), surface: Arc::new(level) }
    }

    /// Difference to add at a post outside the square, m.
    fn lack_m(&self, at: [i64; 2]) -> f64 {
        let last = self.posts.count as i64 - 1;
        let from = [0, 1].map(|axis| at[axis] - self.posts.first[axis]);
        let nearest = from.map(|post| post.clamp(0, last));
        let apart = ((from[0] - nearest[0]) as f64).hypot((from[1] - nearest[1]) as f64);
        let walked = match nearest {
            [column, 0] => column,
            [column, row] if column == last => last + row,
            [column, row] if row == last => 3 * last - column,
            [_, row] => 4 * last - row,
        };
        let reach = (apart as i64 - 1).clamp(0, last);
        self.mean_m(walked - reach, 2 * reach + 1) * (1.0 - smoothstep(apart / last as f64))
    }

    /// Mean over `count` posts from `start` on, m; indices wrap around the border.
    fn mean_m(&self, start: i64, count: i64) -> f64 {
        let around = self.sums_m.len() as i64 - 1;
        let up_to = |post: i64| {
            let (turns, rest) = (post.div_euclid(around), post.rem_euclid(around));
            turns as f64 * self.sums_m[around as usize] + self.sums_m[rest as usize]
        };
        (up_to(start + count) - up_to(start)) / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{Edge, border_m};
    use crate::level::Level;

    fn edge(lack_m: impl Fn(f64, f64) -> f64) -> Edge {
        let level = Level::sample([-10.0, -20.0], 1.0, 41, lack_m);
        Edge::new(&level, &vec![0.0; border_m(&level).len()])
    }

    /// Rounding of heights of some metres in `f32`.
    const STORED_M: f64 = 1e-5;

    #[test]
    fn next_to_the_border_all_of_it_is_added_and_a_side_away_nothing() {
        let edge = edge(|x, y| 3.0 + 0.5 * x - 0.25 * y);
        for (at, x, y) in
            [([-11, 3], -10.0, 3.0), ([31, -20], 30.0, -20.0), ([7, 21], 7.0, 20.0), ([7, -21], 7.0, -20.0)]
        {
            let expected_m = 3.0 + 0.5 * x - 0.25 * y;
            // One post out, the difference has faded by 3/1600.
            assert!((edge.lack_m(at) - expected_m).abs() < 0.002 * f64::abs(expected_m) + STORED_M, "{at:?}");
        }
        assert_eq!(edge.lack_m([70, 0]), 0.0);
        assert_eq!(edge.lack_m([-200, 500]), 0.0);
    }

    #[test]
    fn along_any_line_it_changes_by_little_from_post_to_post() {
        let edge = edge(|x, y| (0.3 * x).sin() + 0.1 * y);
        for line in [-25, -20, 0, 20, 26, 40] {
            let profile: Vec<_> =
                (-60..80).filter(|x| !(-10..=30).contains(x) || !(-20..=20).contains(&line)).collect();
            for pair in profile.windows(2).filter(|pair| pair[1] == pair[0] + 1) {
                let step_m = edge.lack_m([pair[1], line]) - edge.lack_m([pair[0], line]);
                assert!(step_m.abs() < 0.5, "{step_m} m at {}, {line}", pair[0]);
            }
        }
    }
}

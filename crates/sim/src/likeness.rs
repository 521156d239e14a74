//! What tells one ground from another: the mean heights of the squares of a chessboard
//! over each level around the map's origin. Another seed, law, elevation file or version
//! of Selene changes them by millimetres at least; another machine's last bits by far less.

use selene_terrain::{Ground, Level};

/// Squares on a side.
const SQUARES: usize = 16;
/// Means of the same ground differ by less, m: the last bits of `f32` heights of kilometres,
/// averaged. A crater of six posts changes its square by ten times as much.
const SAME_M: f64 = 2e-4;

/// Mean heights of one ground.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Likeness {
    /// Level by level, finest first; squares row by row from the south-west.
    pub(crate) means_m: Vec<f64>,
}

/// Where two grounds differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) level: usize,
    pub(crate) at_m: [f64; 2],
    /// Mean heights, m.
    pub(crate) heights_m: [f64; 2],
}

impl Likeness {
    /// Numbers that a ground of so many levels has.
    pub(crate) fn len(levels: usize) -> usize {
        levels * SQUARES * SQUARES
    }

    /// Of ground that nothing has pressed, around the map's origin.
    pub(crate) fn of(home: &Ground) -> Self {
        Self { means_m: home.levels().flat_map(means_m).collect() }
    }

    /// Where `home` is not like the ground that this was taken from.
    pub(crate) fn difference(&self, home: &Ground) -> Option<Difference> {
        let found = Self::of(home);
        let pairs = self.means_m.iter().zip(&found.means_m);
        let (place, heights) = pairs.enumerate().find(|(_, (a, b))| !is_same(**a, **b))?;
        let (level, square) = (place / (SQUARES * SQUARES), place % (SQUARES * SQUARES));
        let [origin_m, side_m] = home.levels().nth(level).map(|l| [l.origin_m, [l.side_m(); 2]])?;
        let middle = [square % SQUARES, square / SQUARES].map(|i| (i as f64 + 0.5) / SQUARES as f64);
        let at_m = [0, 1].map(|axis| origin_m[axis] + middle[axis] * side_m[axis]);
        Some(Difference { level, at_m, heights_m: [*heights.0, *heights.1] })
    }
}

fn is_same(a_m: f64, b_m: f64) -> bool {
    (a_m - b_m).abs() < SAME_M
}

fn means_m(level: &Level) -> Vec<f64> {
    let start = |square: usize| square * level.posts / SQUARES;
    let mean_m = |square: usize| {
        let [columns, rows] = [square % SQUARES, square / SQUARES].map(|i| start(i)..start(i + 1));
        let count = columns.len() * rows.len();
        let line = |row: usize| &level.heights_m[row * level.posts + columns.start..row * level.posts + columns.end];
        let sum: f64 = rows.flat_map(|row| line(row).iter().copied().map(f64::from)).sum();
        sum / count as f64
    };
    (0..SQUARES * SQUARES).map(mean_m).collect()
}

#[cfg(test)]
mod tests {
    use super::Likeness;
    use selene_terrain::{Ground, Level};

    fn ground(bump_m: f64) -> Ground {
        let height_m = move |x: f64, y: f64| (0.1 * x).sin() + if x > 40.0 && y < -40.0 { bump_m } else { 0.0 };
        Ground::new(vec![Level::sample([-50.0, -50.0], 0.5, 201, height_m)], Vec::new(), Vec::new())
    }

    #[test]
    fn a_ground_is_like_itself_and_a_bump_is_found_where_it_is() {
        let likeness = Likeness::of(&ground(0.0));
        assert_eq!(likeness.means_m.len(), Likeness::len(1));
        assert_eq!(likeness.difference(&ground(0.0)), None);
        let difference = likeness.difference(&ground(0.01)).expect("another ground");
        assert_eq!(difference.level, 0);
        assert!(difference.at_m[0] > 35.0 && difference.at_m[1] < -35.0, "{difference:?}");
    }
}

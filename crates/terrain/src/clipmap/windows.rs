//! Windows of an unbounded ground: each level is a square of posts around the rover that moves over the plane in whole
//! steps; the levels are nested. A centre names the windows' position: two integers, the centre of the finest window in
//! its own steps from the map's origin. A coarser window follows in steps of its own.
//!
//! The finest level moves by whole tiles of 64 posts and by whole posts of the next level, so that soil and ruts keep
//! their numbering; a step is about an eighth of the window.

use std::sync::Arc;

use crate::level::Level;
use crate::site::spec::{LevelSpec, SiteSpec};
use crate::surface::rock::Rock;
use crate::surface::rock::RockShape;
use crate::surface::rock_grid::RockGrid;
use crate::surface::tile::TILE_NODES;

/// Number of steps across a window.
const STEPS_ACROSS: f64 = 8.0;
/// Posts of the coarser level that remain around a window, in addition to what steps need.
const MARGIN_POSTS: f64 = 4.0;
/// Largest tile index that edits can name.
const TILE_MAX: i64 = i16::MAX as i64;

/// Centre of a clipmap's windows: steps of the finest level from the map's origin, along x and y.
pub type ClipmapCentre = [i32; 2];

/// How the windows of a site's levels move.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowPlan {
    levels: Vec<Steps>,
}

/// Size of one level's window and of its step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Steps {
    spacing_m: f64,
    posts: i64,
    /// Posts that the window moves by in one step.
    step_posts: i64,
    /// Whether the window stays around the map's origin as long as the finer windows lie on it.
    stays: bool,
}

impl WindowPlan {
    /// The plan for levels given finest first. The coarsest `measured` levels stay on their data as long as the finer
    /// windows lie on them, so that the data are visible from everywhere.
    #[must_use]
    pub fn new(levels: &[LevelSpec], measured: usize) -> Self {
        let steps = |(i, level): (usize, &LevelSpec)| {
            let coarser = levels.get(i + 1);
            let step_posts = step_posts(level, coarser, i == 0);
            let stays = i + measured >= levels.len() && i > 0;
            Steps { spacing_m: level.spacing_m, posts: level.posts() as i64, step_posts, stays }
        };
        Self { levels: levels.iter().enumerate().map(steps).collect() }
    }

    /// The plan of a site's levels.
    #[must_use]
    pub fn of(site: &SiteSpec) -> Self {
        Self::new(&site.levels, site.measured_levels())
    }

    /// Length of the finest window's step, m.
    #[must_use]
    pub fn step_m(&self) -> f64 {
        let finest = self.levels[0];
        finest.step_posts as f64 * finest.spacing_m
    }

    /// Tiles that the finest window moves by in one step.
    pub(crate) fn step_tiles(&self) -> i64 {
        self.levels[0].step_posts / TILE_NODES as i64
    }

    /// The first post of each level's window, column and row; post (0, 0) is at the map's origin.
    #[must_use]
    pub fn first_posts(&self, centre: ClipmapCentre) -> Vec<[i64; 2]> {
        let middle_m = centre.map(|steps| f64::from(steps) * self.step_m());
        let mut firsts: Vec<[i64; 2]> = Vec::with_capacity(self.levels.len());
        for (i, level) in self.levels.iter().enumerate() {
            let finer = i.checked_sub(1).map(|finer| (self.levels[finer], firsts[finer]));
            let first = match finer {
                Some((finer, at)) if level.stays => at.map(|first| level.under(finer.span_m(first))),
                _ => middle_m.map(|m| level.middle_posts(m) - (level.posts - 1) / 2),
            };
            firsts.push(first);
        }
        firsts
    }

    /// The centre whose finest window is centred nearest to (x, y), m.
    #[must_use]
    pub fn centre_of(&self, x: f64, y: f64) -> ClipmapCentre {
        [x, y].map(|m| (m / self.step_m()).round() as i32)
    }

    /// Approximate distance from the map's origin up to which there are windows, m.
    #[must_use]
    pub fn reach_m(&self) -> f64 {
        (TILE_MAX / 2 * TILE_NODES as i64) as f64 * self.levels[0].spacing_m
    }

    /// Whether there are windows at a centre: its tiles have numbers and the levels nest.
    #[must_use]
    pub fn has(&self, centre: ClipmapCentre) -> bool {
        let numbered = |steps: i32| (i64::from(steps).abs() + STEPS_ACROSS as i64) * self.step_tiles() < TILE_MAX / 2;
        let firsts = self.first_posts(centre);
        let nested = |(level, first): (&[Steps], &[[i64; 2]])| {
            (0..2).all(|axis| {
                let [fine, coarse] = [0, 1].map(|i| level[i].span_m(first[i][axis]));
                let margin_m = MARGIN_POSTS * level[1].spacing_m;
                fine[0] >= coarse[0] + margin_m && fine[1] <= coarse[1] - margin_m
            })
        };
        centre.into_iter().all(numbered) && self.levels.windows(2).zip(firsts.windows(2)).all(nested)
    }
}

impl Steps {
    /// The allowed centre post of the window that is nearest to `middle_m`.
    fn middle_posts(&self, middle_m: f64) -> i64 {
        let step_m = self.step_posts as f64 * self.spacing_m;
        (middle_m / step_m).round() as i64 * self.step_posts
    }

    /// First post of this window, as near as possible to its place around the map's origin, for which the finer window
    /// from `low_m` to `high_m` lies on it.
    fn under(&self, [low_m, high_m]: [f64; 2]) -> i64 {
        let home = -(self.posts - 1) / 2;
        let [from_m, to_m] = self.span_m(home);
        let margin_m = MARGIN_POSTS * self.spacing_m;
        let steps = |over_m: f64| (over_m.max(0.0) / (self.step_posts as f64 * self.spacing_m)).ceil() as i64;
        home + (steps(high_m + margin_m - to_m) - steps(from_m + margin_m - low_m)) * self.step_posts
    }

    fn span_m(&self, first: i64) -> [f64; 2] {
        [first as f64 * self.spacing_m, (first + self.posts - 1) as f64 * self.spacing_m]
    }
}

/// About an eighth of the window, in whole posts of the coarser level (and whole tiles for the finest).
fn step_posts(level: &LevelSpec, coarser: Option<&LevelSpec>, finest: bool) -> i64 {
    let ratio = coarser.map_or(1, |coarser| (coarser.spacing_m / level.spacing_m).round() as i64).max(1);
    let unit = if finest { least_common_multiple(ratio, TILE_NODES as i64) } else { ratio };
    let wanted = level.posts() as f64 / STEPS_ACROSS / unit as f64;
    (wanted.round() as i64).max(1) * unit
}

fn least_common_multiple(a: i64, b: i64) -> i64 {
    let greatest_divisor = |mut a: i64, mut b: i64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    a / greatest_divisor(a, b) * b
}

/// The undisturbed windows around one centre.
#[derive(Clone, Debug)]
pub struct ClipmapWindows {
    pub(crate) centre: ClipmapCentre,
    /// Levels, finest first, each joined to the next.
    pub(crate) levels: Vec<Arc<Level>>,
    pub(crate) rocks: Arc<Vec<Rock>>,
    pub(crate) rock_grid: Arc<RockGrid>,
}

impl ClipmapWindows {
    /// Windows around a centre from its levels (finest first, joined) and rocks.
    #[must_use]
    pub fn new(centre: ClipmapCentre, levels: Vec<Arc<Level>>, rocks: Vec<Rock>, shapes: &[RockShape]) -> Self {
        let rock_grid = Arc::new(RockGrid::new(levels[0].origin_m, levels[0].side_m(), &rocks, shapes));
        Self { centre, levels, rocks: Arc::new(rocks), rock_grid }
    }

    /// The centre of the windows.
    #[must_use]
    pub fn centre(&self) -> ClipmapCentre {
        self.centre
    }

    /// The undisturbed levels, finest first, each joined to the next.
    #[must_use]
    pub fn levels(&self) -> &[Arc<Level>] {
        &self.levels
    }

    /// The same windows with a finest level that is not shared, so that entering them copies nothing.
    #[must_use]
    pub fn owned(mut self) -> Self {
        if let Some(finest) = self.levels.first_mut() {
            Arc::make_mut(finest);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::WindowPlan;
    use crate::site::spec::LevelSpec;

    fn levels() -> [LevelSpec; 3] {
        [(0.02, 60.0), (0.2, 204.0), (2.0, 2048.0)].map(|(spacing_m, side_m)| LevelSpec { spacing_m, side_m })
    }

    #[test]
    fn the_finest_window_steps_by_whole_tiles_and_whole_coarser_posts() {
        let plan = WindowPlan::new(&levels(), 1);
        assert!((plan.step_m() - 6.4).abs() < 1e-9, "{}", plan.step_m());
        assert_eq!(plan.step_tiles(), 5);
        let [home, away] = [[0, 0], [3, -2]].map(|centre| plan.first_posts(centre));
        assert_eq!(home[0], [-1500, -1500]);
        assert_eq!([away[0][0] - home[0][0], away[0][1] - home[0][1]], [960, -640]);
        assert_eq!(away[2], home[2]);
    }

    #[test]
    fn the_window_on_data_stays_until_finer_ones_leave_it() {
        let plan = WindowPlan::new(&levels(), 1);
        let first = |x: f64| plan.first_posts(plan.centre_of(x, 0.0))[2];
        // Half of 2048 m minus half of 204 m, a margin of 8 m, and the steps of the windows.
        assert_eq!([first(0.0), first(880.0), first(-880.0)], [[-512, -512]; 3]);
        assert_eq!([first(960.0), first(-960.0)], [[-384, -512], [-640, -512]]);
    }

    #[test]
    fn windows_nest_wherever_they_are() {
        let plan = WindowPlan::new(&levels(), 1);
        let within = |x: f64, y: f64| plan.has(plan.centre_of(x, y));
        assert!((-90..=90).all(|i| within(f64::from(i) * 10.0, f64::from(i) * -7.0)));
        assert!((-40..=40).all(|i| within(f64::from(i) * 317.0, f64::from(i) * -101.0)));
        assert!(!within(0.0, -1e9));
        let endless = WindowPlan::new(&levels(), 0);
        assert!((-40..=40).all(|i| endless.has(endless.centre_of(f64::from(i) * 317.0, f64::from(i) * -101.0))));
    }
}

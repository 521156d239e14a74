//! The ground around a viewer: nested levels of posts, finest first; where levels overlap, the finer one counts. Levels
//! are windows that follow the viewer (`windows`), each joined to the next coarser one at its seam. Changes to the
//! ground appear on the finest level, and `Ruts` keeps them where there is no window.
//!
//! Fixed rocks are separate bodies on the ground.

pub(crate) mod cache;
pub(crate) mod horizon;
pub(crate) mod mosaic;
pub(crate) mod seam;
pub(crate) mod windows;

use std::path::Path;
use std::sync::Arc;

use nalgebra::Vector3;

use crate::clipmap::windows::{ClipmapCentre, ClipmapWindows};
use crate::error::TerrainError;
use crate::lattice::Posts;
use crate::level::Level;
use crate::site::spec::SiteSpec;
use crate::surface::print::Print;
use crate::surface::rock::{Rock, RockShape};
use crate::surface::rock_grid::RockGrid;
use crate::surface::ruts::Ruts;
use crate::surface::tile::{Edit, Node, TileIndex, TileRect};
use crate::terrain::Terrain;

/// The ground around a viewer, in nested levels.
#[derive(Clone, Debug)]
pub struct Clipmap {
    /// Levels, finest first; shared until one is first written.
    levels: Vec<Arc<Level>>,
    rocks: Arc<Vec<Rock>>,
    shapes: Arc<Vec<RockShape>>,
    rock_grid: Arc<RockGrid>,
    ruts: Ruts,
    centre: ClipmapCentre,
    /// The terrain beyond the windows; none for a ground that ends with them.
    terrain: Option<Arc<Terrain>>,
}

impl Clipmap {
    /// A ground of nested `levels` that do not move, finest first, with fixed rocks.
    ///
    /// # Panics
    /// When there is no level.
    #[must_use]
    pub fn new(levels: Vec<Level>, rocks: Vec<Rock>, shapes: Vec<RockShape>) -> Self {
        assert!(!levels.is_empty(), "a clipmap has at least one level");
        let grid = RockGrid::new(levels[0].origin_m, levels[0].side_m(), &rocks, &shapes);
        Self {
            rock_grid: Arc::new(grid),
            levels: levels.into_iter().map(Arc::new).collect(),
            rocks: Arc::new(rocks),
            shapes: Arc::new(shapes),
            ruts: Ruts::default(),
            centre: [0, 0],
            terrain: None,
        }
    }

    /// The windows of a site around the map's origin; see [`Terrain::load`].
    ///
    /// # Errors
    /// When the site's elevation file is missing, does not match its checksum or is unusable.
    pub fn of_site(
        spec: &SiteSpec,
        site_file: &Path,
        data_dir: Option<&Path>,
        seed: u64,
    ) -> Result<Self, TerrainError> {
        Ok(Self::at(&Arc::new(Terrain::load(spec, site_file, data_dir, seed)?), [0, 0]))
    }

    /// The undisturbed windows of a terrain nearest to (x, y), m; all of a bounded terrain.
    #[must_use]
    pub fn around(terrain: &Arc<Terrain>, x: f64, y: f64) -> Self {
        Self::at(terrain, terrain.plan().map_or([0, 0], |plan| plan.centre_of(x, y)))
    }

    /// The undisturbed windows of a terrain around a centre; all of a bounded terrain.
    #[must_use]
    pub fn at(terrain: &Arc<Terrain>, centre: ClipmapCentre) -> Self {
        let Some(windows) = terrain.windows(centre) else { return Self::whole(terrain) };
        let mut clipmap = Self {
            rock_grid: Arc::clone(&windows.rock_grid),
            levels: Vec::new(),
            rocks: Arc::clone(&windows.rocks),
            shapes: Arc::clone(terrain.shapes()),
            ruts: Ruts::default(),
            centre,
            terrain: Some(Arc::clone(terrain)),
        };
        clipmap.enter(windows);
        clipmap
    }

    /// All of a bounded terrain; its nodes are numbered from its first post.
    fn whole(terrain: &Terrain) -> Self {
        let nothing = || (Level::flat(terrain.spacing_m(), terrain.spacing_m()), &[][..]);
        let (level, rocks) = terrain.bounded_parts().unwrap_or_else(nothing);
        let rocks = rocks.iter().filter(|rock| !terrain.is_loosened(rock.id)).cloned().collect();
        Self::new(vec![level], rocks, terrain.shapes().to_vec())
    }

    /// Flat ground at height zero around the origin, with sides of `side_m`.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        Self::new(vec![Level::flat(spacing_m, side_m)], Vec::new(), Vec::new())
    }

    /// The centre of the windows.
    #[must_use]
    pub fn centre(&self) -> ClipmapCentre {
        self.centre
    }

    /// The terrain beyond the windows; none for a ground that ends with them.
    #[must_use]
    pub fn terrain(&self) -> Option<&Arc<Terrain>> {
        self.terrain.as_ref()
    }

    /// All changes to the ground.
    #[must_use]
    pub fn ruts(&self) -> &Ruts {
        &self.ruts
    }

    /// The nodes of the finest window with wheel prints.
    pub fn prints(&self) -> impl Iterator<Item = (Node, Print)> + '_ {
        let first = self.first_node();
        let posts = self.finest().posts as i32;
        let last = Node { column: first.column + posts - 1, row: first.row + posts - 1 };
        let of_tile = move |tile: TileIndex| {
            self.ruts.prints_of_tile(tile).map(move |(within, print)| (tile.node(within), print))
        };
        let prints = self.ruts.tiles_within(&TileRect::of_nodes(first, last)).into_iter().flat_map(of_tile);
        prints.filter(move |(node, _)| on_window(first, posts, *node).is_some())
    }

    /// Copies all changes from elsewhere; this ground must not have been changed yet.
    pub fn take_ruts(&mut self, ruts: &Ruts) {
        self.ruts = ruts.clone();
        self.show_all();
    }

    /// Moves to the windows nearest to (x, y), m, if there are any; takes as long as making them.
    pub fn go_to(&mut self, x: f64, y: f64) {
        let centre = self.terrain.as_ref().and_then(|terrain| terrain.plan()).map(|plan| plan.centre_of(x, y));
        centre.into_iter().for_each(|centre| self.go_to_centre(centre));
    }

    /// Moves to the windows around a centre, if there are any.
    pub fn go_to_centre(&mut self, centre: ClipmapCentre) {
        let Some(terrain) = self.terrain.as_ref().filter(|_| centre != self.centre) else { return };
        let has = terrain.plan().is_some_and(|plan| plan.has(centre));
        if let Some(windows) = terrain.windows(centre).filter(|_| has) {
            self.enter(windows);
        }
    }

    /// Moves to other windows and shows the changes to the ground there.
    pub fn enter(&mut self, windows: ClipmapWindows) {
        let is_loose = |rock: &Rock| self.terrain.as_ref().is_some_and(|terrain| terrain.is_loosened(rock.id));
        if windows.rocks.iter().any(is_loose) {
            let fixed: Vec<_> = windows.rocks.iter().filter(|rock| !is_loose(rock)).cloned().collect();
            let finest = &windows.levels[0];
            self.rock_grid = Arc::new(RockGrid::new(finest.origin_m, finest.side_m(), &fixed, &self.shapes));
            self.rocks = Arc::new(fixed);
        } else {
            (self.rock_grid, self.rocks) = (windows.rock_grid, windows.rocks);
        }
        (self.centre, self.levels) = (windows.centre, windows.levels);
        self.show_all();
    }

    /// Shows the ruts on the posts of a fresh window.
    fn show_all(&mut self) {
        let first = self.first_node();
        let posts = self.finest().posts as i32;
        let last = Node { column: first.column + posts - 1, row: first.row + posts - 1 };
        let (ruts, levels) = (&self.ruts, &mut self.levels);
        for tile in ruts.tiles_within(&TileRect::of_nodes(first, last)) {
            for (within, height_m) in ruts.of_tile(tile) {
                if let Some(at) = on_window(first, posts, tile.node(within)) {
                    show(levels, at, height_m);
                }
            }
        }
    }

    /// The levels, finest first.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = &Level> {
        self.levels.iter().map(Arc::as_ref)
    }

    /// The levels as shared with other holders of the same windows; the finest one is shared only until it is changed.
    #[must_use]
    pub fn shared_levels(&self) -> &[Arc<Level>] {
        &self.levels
    }

    /// The finest level.
    #[must_use]
    pub fn finest(&self) -> &Level {
        &self.levels[0]
    }

    /// The node of the finest window's first post.
    #[must_use]
    pub fn first_node(&self) -> Node {
        match &self.terrain {
            Some(_) => {
                let [column, row] = Posts::of(self.finest()).first.map(|post| post as i32);
                Node { column, row }
            }
            None => Node::default(),
        }
    }

    /// The fixed rocks, in order of their id.
    #[must_use]
    pub fn rocks(&self) -> &[Rock] {
        &self.rocks
    }

    /// The fixed rocks on the finest level whose bounding circles meet the circle of `radius_m` around (x, y), each
    /// once, in an order that depends on the position alone.
    pub fn rocks_near(&self, x: f64, y: f64, radius_m: f64) -> impl Iterator<Item = &Rock> {
        self.rock_grid.near(x, y, radius_m).map(|index| &self.rocks[index])
    }

    /// The meshes that rocks are instances of.
    #[must_use]
    pub fn rock_shapes(&self) -> &[RockShape] {
        &self.shapes
    }

    /// Height of the soil at (x, y), m; none outside the windows.
    #[must_use]
    pub fn height_m(&self, x: f64, y: f64) -> Option<f64> {
        self.levels.iter().find_map(|level| level.height_m(x, y))
    }

    /// Unit normal of the soil at (x, y), pointing up; none outside the windows.
    #[must_use]
    pub fn normal(&self, x: f64, y: f64) -> Option<Vector3<f64>> {
        self.levels.iter().find_map(|level| level.normal(x, y))
    }

    /// Applies edits. On the window's seam they are joined to the coarser level, as when a window moves over them.
    /// Returns the edits that changed the window, with the heights that it shows. Ignores edits whose height is not
    /// finite or that lie outside a bounded ground.
    pub fn apply(&mut self, edits: &[Edit]) -> Vec<Edit> {
        let (first, posts) = (self.first_node(), self.finest().posts as i32);
        self.ruts.apply(edits);
        let mut shown = Vec::with_capacity(edits.len());
        for edit in edits.iter().filter(|edit| edit.is_sound()) {
            if let Some(at) = on_window(first, posts, edit.at()) {
                shown.push(Edit { height_m: show(&mut self.levels, at, edit.height_m), ..*edit });
            }
        }
        shown
    }
}

/// Sets a window's post to a height, joined to the coarser level on the seam; returns the resulting height, m.
fn show(levels: &mut [Arc<Level>], at: [usize; 2], height_m: f32) -> f32 {
    let (finest, coarser) = levels.split_at_mut(1);
    let finest = Arc::make_mut(&mut finest[0]);
    let joined_m = coarser.first().map_or(height_m, |coarse| seam::joined_m(finest, coarse, at, height_m));
    finest.heights_m[at[1] * finest.posts + at[0]] = joined_m;
    joined_m
}

/// Column and row of a node on a window of `posts` that starts at `first`; none outside.
fn on_window(first: Node, posts: i32, node: Node) -> Option<[usize; 2]> {
    let along = |post: i32, first: i32| usize::try_from(post - first).ok().filter(|&at| at < posts as usize);
    Some([along(node.column, first.column)?, along(node.row, first.row)?])
}

#[cfg(test)]
mod tests {
    use super::Clipmap;
    use crate::site::spec::LevelSpec;
    use crate::surface::print::Print;
    use crate::surface::tile::{Edit, Node};
    use crate::terrain::Terrain;
    use std::sync::Arc;

    fn hills(x: f64, y: f64) -> f64 {
        0.3 * (0.4 * x).sin() * (0.3 * y).cos() + 0.05 * (2.1 * x + 0.7 * y).sin()
    }

    /// Two levels, 16 m and 64 m wide.
    fn endless() -> Clipmap {
        let levels = [(0.05, 16.0), (0.4, 64.0)].map(|(spacing_m, side_m)| LevelSpec { spacing_m, side_m });
        Clipmap::around(&Arc::new(Terrain::of_formula(&levels, hills)), 0.0, 0.0)
    }

    /// Sets the height of the node nearest to (x, y).
    fn press(clipmap: &mut Clipmap, x: f64, y: f64, height_m: f32) {
        let [column, row] = [x, y].map(|m| (m / 0.05_f64).round() as i32);
        clipmap.apply(&[Edit::of(Node { column, row }, height_m)]);
    }

    #[test]
    fn ruts_stay_where_they_are_when_the_window_goes_and_comes_back() {
        let mut clipmap = endless();
        let untouched = clipmap.finest().clone();
        for i in 0..100_u8 {
            press(&mut clipmap, -5.0 + 0.1 * f64::from(i), 1.0, -0.5 - 1e-3 * f32::from(i));
        }
        let home = clipmap.finest().clone();
        assert!(home != untouched && clipmap.ruts().count() == 100);
        for centre in [[1, 0], [1, 1], [40, -3], [0, 1]] {
            clipmap.go_to_centre(centre);
            assert_eq!(clipmap.centre(), centre);
        }
        clipmap.go_to_centre([0, 0]);
        assert!(*clipmap.finest() == home);
    }

    #[test]
    fn prints_are_reported_of_the_window_alone_and_come_back_with_it() {
        let mut clipmap = endless();
        let node = |column| Node { column, row: 20 };
        let print = Print::of_grousers(0.3, 1.0, 0.06);
        clipmap.apply(&[Edit::of(node(-100), -0.5).with_print(print), Edit::of(node(5), -0.5)]);
        let reported = |clipmap: &Clipmap| clipmap.prints().collect::<Vec<_>>();
        assert_eq!(reported(&clipmap), [(node(-100), print)]);
        clipmap.go_to_centre([40, -3]);
        assert!(reported(&clipmap).is_empty());
        clipmap.go_to_centre([0, 0]);
        assert_eq!(reported(&clipmap), [(node(-100), print)]);
    }

    #[test]
    fn a_terrain_that_receives_ruts_equals_one_that_was_made_with_them_seams_too() {
        let mut early = endless();
        for i in 0..40 {
            press(&mut early, -7.0 + 0.1 * f64::from(i), 1.0, -0.5);
        }
        let edits: Vec<_> = early.ruts().edits().collect();
        for centre in [[0, 0], [1, 0], [2, 0], [-1, 1]] {
            early.go_to_centre(centre);
            let mut late = endless();
            late.go_to_centre(centre);
            late.apply(&edits);
            assert!(late.finest() == early.finest(), "{centre:?}");
        }
    }

    #[test]
    fn a_place_has_the_same_height_from_every_window_that_holds_it() {
        let mut clipmap = endless();
        let at = [(2.0, 1.0), (3.3, -1.7), (0.4, 0.6)];
        let heights = |clipmap: &Clipmap| at.map(|(x, y)| clipmap.height_m(x, y).expect("inside"));
        let before = heights(&clipmap);
        clipmap.go_to_centre([1, 0]);
        // Positions within a cell have the rounding of `f64` at some metres.
        assert!(heights(&clipmap).iter().zip(before).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn edits_off_the_ground_are_not_shown() {
        let mut clipmap = Clipmap::flat(0.02, 1.0);
        let edit = |tile, node, height_m| Edit { tile, node, height_m, print: Print::SMOOTH };
        let off =
            [edit([-1, 0], 0, 1.0), edit([0, 9], 4095, 1.0), edit([0, 0], u16::MAX, 1.0), edit([0, 0], 0, f32::NAN)];
        assert!(clipmap.apply(&off).is_empty());
    }
}

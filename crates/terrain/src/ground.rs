//! The ground: the one surface that wheels, rays and truth share. It is a stack of
//! nested levels, finest first; where levels overlap the finer one counts. The
//! finest level's posts are also the nodes that wheels press: ruts are new heights
//! of its posts, told to others as edits of 64 × 64 tiles.
//!
//! Levels are windows that can move to other places (`windows`); nodes are numbered
//! within the window, edits over the whole plane. Ruts stay where they are (`ruts`).
//!
//! Rocks stand on the ground as bodies of their own (`rock`). Those that are fixed are
//! part of the surface for rays and contacts; loose ones are listed apart, where they
//! lie at the start.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;

use crate::error::TerrainError;
use crate::landscape::Landscape;
use crate::level::Level;
use crate::rock::{Rock, RockShape};
use crate::rock_grid::RockGrid;
use crate::ruts::{Ruts, TileAt};
use crate::seam;
use crate::site::SiteSpec;
use crate::surroundings::Surroundings;
use crate::windows::{Place, Vicinity};

/// Rocks that were laid are numbered from here: beyond all that landscapes have.
const LAID: u32 = 7 << 29;

/// Nodes on a tile's side.
pub const TILE_NODES: usize = 64;

/// A new height of one node of the finest level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edit {
    /// Tile column and row, from the first window's corner.
    pub tile: [i16; 2],
    /// Node within the tile: row · 64 + column.
    pub node: u16,
    /// The node's height from now on, m.
    pub height_m: f32,
}

/// A node of the finest level: column and row of the post within the level's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// Column (x).
    pub column: u32,
    /// Row (y).
    pub row: u32,
}

/// The surface, its rocks and what has been done to it.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Finest first. Shared until first edited.
    levels: Vec<Arc<Level>>,
    rocks: Arc<Vec<Rock>>,
    loose_rocks: Arc<Vec<Rock>>,
    shapes: Arc<Vec<RockShape>>,
    rock_grid: Arc<RockGrid>,
    ruts: Ruts,
    edit_count: u64,
    place: Place,
    /// What other places have; none for a ground that ends.
    surroundings: Option<Arc<Surroundings>>,
}

impl Ground {
    /// A ground of nested `levels`, finest first, with fixed rocks.
    ///
    /// # Panics
    /// When there is no level.
    #[must_use]
    pub fn new(levels: Vec<Level>, rocks: Vec<Rock>, shapes: Vec<RockShape>) -> Self {
        assert!(!levels.is_empty(), "a ground has at least one level");
        Self {
            rock_grid: Arc::new(RockGrid::new(&levels[0], &rocks, &shapes)),
            levels: levels.into_iter().map(Arc::new).collect(),
            rocks: Arc::new(rocks),
            loose_rocks: Arc::new(Vec::new()),
            shapes: Arc::new(shapes),
            ruts: Ruts::default(),
            edit_count: 0,
            place: [0, 0],
            surroundings: None,
        }
    }

    /// The ground of a site. `site_file` is named in errors; `data_dir` holds the
    /// elevation files that sites name. The same spec, data and seed give the same
    /// ground for any number of threads.
    ///
    /// # Errors
    /// When the site's elevation file is missing, not the one named, or unusable.
    pub fn generate(
        spec: &SiteSpec,
        site_file: &Path,
        data_dir: Option<&Path>,
        seed: u64,
    ) -> Result<Self, TerrainError> {
        let landscape = Landscape::new(spec.clone(), site_file, data_dir, seed)?;
        Ok(Self::around_origin(Arc::new(Surroundings::of(landscape))))
    }

    /// The ground of a landscape around the map's origin.
    #[must_use]
    pub fn around_origin(surroundings: Arc<Surroundings>) -> Self {
        let windows = surroundings.vicinity([0, 0]);
        Self {
            rock_grid: Arc::clone(&windows.rock_grid),
            levels: windows.levels.clone(),
            rocks: Arc::clone(&windows.rocks),
            loose_rocks: Arc::new(Vec::new()),
            shapes: surroundings.shapes(),
            ruts: Ruts::default(),
            edit_count: 0,
            place: [0, 0],
            surroundings: Some(surroundings),
        }
    }

    /// Which windows of its landscape it holds.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// What other places have; none for a ground that ends with its levels.
    #[must_use]
    pub fn surroundings(&self) -> Option<&Arc<Surroundings>> {
        self.surroundings.as_ref()
    }

    /// Tiles (column, row) from the first window's corner to this one's.
    #[must_use]
    pub fn tiles_from_home(&self) -> [i64; 2] {
        let step = self.surroundings.as_ref().map_or(0, |surroundings| surroundings.plan().step_tiles());
        self.place.map(|steps| i64::from(steps) * step)
    }

    /// Goes to the place whose detailed window has (x, y) nearest to its middle, if its
    /// landscape has one: takes as long as making it.
    pub fn go_to(&mut self, x: f64, y: f64) {
        let Some(surroundings) = self.surroundings.clone() else { return };
        let place = surroundings.plan().place_of(x, y);
        if place != self.place && surroundings.plan().has(place) {
            self.enter(surroundings.vicinity(place));
        }
    }

    /// Goes to another place: ruts come along.
    pub fn enter(&mut self, windows: Vicinity) {
        let mut ruts = std::mem::take(&mut self.ruts);
        ruts.pack(&self.tiles(), |tile, node| self.held_height_m(tile, node));
        let is_loose = |rock: &Rock| self.loose_rocks.binary_search_by_key(&rock.id, |loose| loose.id).is_ok();
        if windows.rocks.iter().any(is_loose) {
            let fixed: Vec<_> = windows.rocks.iter().filter(|rock| !is_loose(rock)).cloned().collect();
            self.rock_grid = Arc::new(RockGrid::new(&windows.levels[0], &fixed, &self.shapes));
            self.rocks = Arc::new(fixed);
        } else {
            (self.rock_grid, self.rocks) = (windows.rock_grid, windows.rocks);
        }
        (self.place, self.levels) = (windows.place, windows.levels);
        self.press_in(&mut ruts);
        self.ruts = ruts;
    }

    /// Gives the posts of a fresh window the heights of its ruts.
    fn press_in(&mut self, ruts: &mut Ruts) {
        let tiles = self.tiles();
        let held: BTreeSet<_> = tiles.iter().copied().filter(|&tile| self.holds(tile)).collect();
        let home = self.tiles_from_home();
        let (finest, coarser) = self.levels.split_at_mut(1);
        let finest = Arc::make_mut(&mut finest[0]);
        ruts.unpack(
            &tiles,
            |tile| held.contains(&tile),
            |tile, node, height_m| {
                if let Some(at) = local(home, finest.posts, tile, node) {
                    show(finest, coarser.first(), at, height_m);
                }
            },
        );
    }

    /// The tiles that the finest window meets.
    fn tiles(&self) -> BTreeSet<TileAt> {
        let [column, row] = self.tiles_from_home();
        let across = self.finest().posts.div_ceil(TILE_NODES) as i64;
        let tiles = (row..row + across).flat_map(|row| (column..column + across).map(move |column| [row, column]));
        tiles.filter_map(|[row, column]| Some([i16::try_from(row).ok()?, i16::try_from(column).ok()?])).collect()
    }

    /// Whether all posts of a tile lie on the window with their own heights, off its seam.
    fn holds(&self, tile: TileAt) -> bool {
        let finest = self.finest();
        let seam = self.levels.get(1).map_or(0, |coarse| seam::width_posts(finest, coarse)) as i64;
        let home = self.tiles_from_home();
        [0, 1].into_iter().all(|axis| {
            let first = (i64::from(tile[1 - axis]) - home[axis]) * TILE_NODES as i64;
            first >= seam && first + TILE_NODES as i64 + seam <= finest.posts as i64
        })
    }

    /// Height of a post by tile and node; what is off the window has none here.
    fn held_height_m(&self, tile: TileAt, node: usize) -> f32 {
        let posts = self.finest().posts;
        let at = local(self.tiles_from_home(), posts, tile, node);
        at.map_or(f32::NAN, |[column, row]| self.finest().heights_m[row * posts + column])
    }

    /// Level ground at height zero around the origin, `side_m` long: for rigs.
    #[must_use]
    pub fn flat(spacing_m: f64, side_m: f64) -> Self {
        let posts = (side_m / spacing_m).round().max(1.0) as usize + 1;
        let origin = -0.5 * (posts - 1) as f64 * spacing_m;
        let level = Level { origin_m: [origin, origin], spacing_m, posts, heights_m: vec![0.0; posts * posts] };
        Self::new(vec![level], Vec::new(), Vec::new())
    }

    /// The levels, finest first.
    pub fn levels(&self) -> impl ExactSizeIterator<Item = &Level> {
        self.levels.iter().map(Arc::as_ref)
    }

    /// The levels as they are shared with other holders of the same place; the finest one
    /// only until the next edit.
    #[must_use]
    pub fn shared_levels(&self) -> &[Arc<Level>] {
        &self.levels
    }

    /// The level whose posts wheels press.
    #[must_use]
    pub fn finest(&self) -> &Level {
        &self.levels[0]
    }

    /// The fixed rocks, in order of their id.
    #[must_use]
    pub fn rocks(&self) -> &[Rock] {
        &self.rocks
    }

    /// The rocks that nothing holds, as they lie at the start, in order of their id.
    #[must_use]
    pub fn loose_rocks(&self) -> &[Rock] {
        &self.loose_rocks
    }

    /// The fixed rocks on the finest level whose bounding circles meet the circle of
    /// `radius_m` about (x, y), each once, in an order that depends on the place alone.
    pub fn rocks_near(&self, x: f64, y: f64, radius_m: f64) -> impl Iterator<Item = &Rock> {
        self.rock_grid.near(x, y, radius_m).map(|index| &self.rocks[index])
    }

    /// Loosens the rocks on the finest level that `is_loose` picks: they are bodies of
    /// their own from now on.
    pub fn loosen(&mut self, is_loose: impl Fn(&Rock) -> bool) {
        let on_finest = |rock: &Rock| {
            let at = rock.world_from_rock.translation;
            self.finest().contains(at.x, at.y)
        };
        let (loose, fixed): (Vec<_>, Vec<_>) =
            self.rocks.iter().cloned().partition(|rock| on_finest(rock) && is_loose(rock));
        self.rock_grid = Arc::new(RockGrid::new(self.finest(), &fixed, &self.shapes));
        self.rocks = Arc::new(fixed);
        Arc::make_mut(&mut self.loose_rocks).extend(loose);
        Arc::make_mut(&mut self.loose_rocks).sort_by_key(|rock| rock.id);
    }

    /// Whether a rock's bounding ball meets that of another fixed rock.
    #[must_use]
    pub fn is_wedged(&self, rock: &Rock) -> bool {
        let reach_m = |rock: &Rock| self.shapes.get(rock.shape).map_or(1.0, RockShape::reach) * rock.radius_m;
        let at = rock.world_from_rock.translation.vector;
        let mut near = self.rocks_near(at.x, at.y, reach_m(rock));
        near.any(|other| {
            let apart_m = (other.world_from_rock.translation.vector - at).norm();
            other.id != rock.id && apart_m < reach_m(rock) + reach_m(other)
        })
    }

    /// Lays a loose rock on the soil at (x, y), its lowest corner touching; its id, or
    /// none off the finest level or for a shape that is not there.
    pub fn lay_rock(&mut self, [x, y]: [f64; 2], shape: usize, radius_m: f64, yaw_rad: f64) -> Option<u32> {
        let corners = &self.shapes.get(shape)?.vertices;
        let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        let lift = |corner: &[f32; 3]| {
            let arm = rotation * Vector3::from(*corner).cast::<f64>() * radius_m;
            Some(self.finest().height_m(x + arm.x, y + arm.y)? - arm.z)
        };
        let z = corners.iter().filter_map(lift).fold(f64::NEG_INFINITY, f64::max);
        let id = self.loose_rocks.last().map_or(LAID, |last| (last.id + 1).max(LAID));
        let world_from_rock = Pose::from_parts(Vector3::new(x, y, z).into(), rotation);
        z.is_finite().then(|| {
            Arc::make_mut(&mut self.loose_rocks).push(Rock { id, shape, world_from_rock, radius_m });
            id
        })
    }

    /// The shapes that rocks are instances of.
    #[must_use]
    pub fn rock_shapes(&self) -> &[RockShape] {
        &self.shapes
    }

    /// Height of the soil at (x, y), m; none off the site.
    #[must_use]
    pub fn height_m(&self, x: f64, y: f64) -> Option<f64> {
        self.levels.iter().find_map(|level| level.height_m(x, y))
    }

    /// Unit normal of the soil at (x, y), pointing up; none off the site.
    #[must_use]
    pub fn normal(&self, x: f64, y: f64) -> Option<Vector3<f64>> {
        self.levels.iter().find_map(|level| level.normal(x, y))
    }

    /// Height of a node, m.
    #[must_use]
    pub fn node_height_m(&self, node: Node) -> f64 {
        self.finest().post_m(node.column as usize, node.row as usize)
    }

    /// Gives a node a new height and remembers the edit.
    pub fn set_node_height(&mut self, node: Node, height_m: f64) {
        let (tile, within) = self.tile_of(node);
        self.put(node, height_m as f32);
        self.ruts.insert(tile, within, height_m as f32, self.holds(tile));
        self.ruts.refresh(tile, within);
        self.edit_count += 1;
    }

    /// The nodes edited since the last call, each once with its latest height, in
    /// order of tile and node.
    pub fn take_edits(&mut self) -> Vec<Edit> {
        let mut ruts = std::mem::take(&mut self.ruts);
        let edits = ruts.take_fresh(|tile, node| self.held_height_m(tile, node));
        self.ruts = ruts;
        edits
    }

    /// How many edits were ever made: the ground's version.
    #[must_use]
    pub fn edit_count(&self) -> u64 {
        self.edit_count
    }

    /// Every edited node with its latest height, in order of tile and node: what a
    /// late joiner needs.
    #[must_use]
    pub fn all_edits(&self) -> Vec<Edit> {
        self.ruts.all(|tile, node| self.held_height_m(tile, node))
    }

    /// Applies another ground's edits; on the seam of its window they are joined to the
    /// coarser level, as on a window that comes over them. Returns the nodes that changed on the
    /// window; edits of a height that is no number, or off a ground that ends, are left out.
    pub fn apply(&mut self, edits: &[Edit]) -> Vec<Node> {
        let nodes: Vec<_> = edits.iter().filter_map(|edit| self.apply_one(edit)).collect();
        self.edit_count += edits.len() as u64;
        nodes
    }

    fn apply_one(&mut self, edit: &Edit) -> Option<Node> {
        let (tile, within) = ([edit.tile[1], edit.tile[0]], usize::from(edit.node));
        let at = local(self.tiles_from_home(), self.finest().posts, tile, within);
        let known = edit.height_m.is_finite() && within < TILE_NODES * TILE_NODES;
        if !known || (at.is_none() && self.surroundings.is_none()) {
            return None;
        }
        self.ruts.insert(tile, within, edit.height_m, self.holds(tile));
        let [column, row] = at?;
        let (finest, coarser) = self.levels.split_at_mut(1);
        show(Arc::make_mut(&mut finest[0]), coarser.first(), [column, row], edit.height_m);
        Some(Node { column: column as u32, row: row as u32 })
    }

    /// Those of some edits that lie on the window, with the heights that it shows.
    #[must_use]
    pub fn shown(&self, edits: &[Edit]) -> Vec<Edit> {
        let height_m = |edit: &Edit| self.held_height_m([edit.tile[1], edit.tile[0]], usize::from(edit.node));
        let shown = edits.iter().map(|edit| Edit { height_m: height_m(edit), ..*edit });
        shown.filter(|edit| edit.height_m.is_finite()).collect()
    }

    fn put(&mut self, node: Node, height_m: f32) {
        let finest = Arc::make_mut(&mut self.levels[0]);
        finest.heights_m[node.row as usize * finest.posts + node.column as usize] = height_m;
    }

    fn tile_of(&self, node: Node) -> (TileAt, usize) {
        let [column, row] = self.tiles_from_home();
        let tile = |post: u32, from: i64| (from + i64::from(post) / TILE_NODES as i64) as i16;
        let within = (node.row as usize % TILE_NODES) * TILE_NODES + node.column as usize % TILE_NODES;
        ([tile(node.row, row), tile(node.column, column)], within)
    }
}

/// Gives a window's post its height; on the seam it is joined to the coarser level.
fn show(finest: &mut Level, coarser: Option<&Arc<Level>>, at: [usize; 2], height_m: f32) {
    let joined_m = coarser.map_or(height_m, |coarse| seam::joined_m(finest, coarse, at, height_m));
    finest.heights_m[at[1] * finest.posts + at[0]] = joined_m;
}

/// Column and row within a window of `posts` whose corner is `home` tiles from the first one's.
fn local(home: [i64; 2], posts: usize, tile: TileAt, node: usize) -> Option<[usize; 2]> {
    let side = TILE_NODES;
    let along = |tile: i16, from: i64, within: usize| {
        let post = (i64::from(tile) - from) * side as i64 + within as i64;
        usize::try_from(post).ok().filter(|&post| post < posts)
    };
    let inside = node < side * side;
    inside.then_some(())?;
    Some([along(tile[1], home[0], node % side)?, along(tile[0], home[1], node / side)?])
}

#[cfg(test)]
mod tests {
    use super::{Edit, Ground, Node};

    #[test]
    fn a_follower_that_applies_the_edits_has_the_same_ground() {
        let mut ground = Ground::flat(0.02, 4.0);
        let mut follower = ground.clone();
        for (column, row, h) in [(0, 0, -0.01), (100, 70, -0.02), (200, 200, 0.03), (100, 70, -0.04)] {
            ground.set_node_height(Node { column, row }, h);
        }
        follower.apply(&ground.take_edits());
        assert_eq!(follower.finest(), ground.finest());
        let mut late = Ground::flat(0.02, 4.0);
        late.apply(&ground.all_edits());
        assert_eq!(late.finest(), ground.finest());
        assert_eq!(ground.all_edits().len(), 3);
        assert!(ground.take_edits().is_empty());
    }

    fn hills(x: f64, y: f64) -> f64 {
        0.3 * (0.4 * x).sin() * (0.3 * y).cos() + 0.05 * (2.1 * x + 0.7 * y).sin()
    }

    fn endless() -> Ground {
        crate::hills::endless(hills)
    }

    fn go(ground: &mut Ground, place: [i32; 2]) {
        let windows = ground.surroundings().expect("endless").vicinity(place);
        ground.enter(windows);
    }

    /// Presses a post near (x, y).
    fn press(ground: &mut Ground, x: f64, y: f64, height_m: f64) {
        let finest = ground.finest();
        let [column, row] =
            [(x, 0), (y, 1)].map(|(m, axis)| ((m - finest.origin_m[axis]) / finest.spacing_m).round() as u32);
        ground.set_node_height(Node { column, row }, height_m);
    }

    #[test]
    fn ruts_stay_where_they_are_when_the_window_goes_and_comes_back() {
        let mut ground = endless();
        let untouched = ground.finest().clone();
        for i in 0..100 {
            press(&mut ground, -5.0 + 0.1 * f64::from(i), 1.0, -0.5 - 1e-3 * f64::from(i));
        }
        let (home, edits) = (ground.finest().clone(), ground.all_edits());
        assert!(home != untouched);
        for place in [[1, 0], [1, 1], [40, -3], [0, 1]] {
            go(&mut ground, place);
            assert_eq!(ground.all_edits(), edits, "{place:?}");
        }
        go(&mut ground, [0, 0]);
        assert!(*ground.finest() == home);
    }

    #[test]
    fn a_follower_has_the_same_ground_wherever_it_was_when_it_heard() {
        let mut ground = endless();
        let mut follower = endless();
        go(&mut follower, [7, 7]);
        press(&mut ground, 3.0, -2.0, -0.5);
        follower.apply(&ground.take_edits());
        go(&mut ground, [2, 0]);
        press(&mut ground, 3.0, -1.9, -0.6);
        press(&mut ground, 6.0, 0.0, -0.7);
        let late = ground.take_edits();
        go(&mut follower, [2, 0]);
        follower.apply(&late);
        assert!(follower.finest() == ground.finest());
        for place in [[0, 0], [3, -1]] {
            go(&mut ground, place);
            go(&mut follower, place);
            assert!(follower.finest() == ground.finest() && follower.all_edits() == ground.all_edits());
        }
    }

    #[test]
    fn who_hears_of_ruts_on_a_seam_has_the_ground_of_who_came_there_with_them() {
        let mut ground = endless();
        for i in 0..40 {
            press(&mut ground, -7.0 + 0.1 * f64::from(i), 1.0, -0.5);
        }
        go(&mut ground, [1, 0]);
        let mut late = endless();
        go(&mut late, [1, 0]);
        late.apply(&ground.all_edits());
        assert!(late.finest() == ground.finest());
    }

    #[test]
    fn a_place_has_the_same_height_from_every_window_that_holds_it() {
        let mut ground = endless();
        let at = [(2.0, 1.0), (3.3, -1.7), (0.4, 0.6)];
        let heights = |ground: &Ground| at.map(|(x, y)| ground.height_m(x, y).expect("inside"));
        let before = heights(&ground);
        go(&mut ground, [1, 0]);
        // Positions within a cell are kept to f64 at some metres.
        assert!(heights(&ground).iter().zip(before).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn edits_off_the_ground_are_left_out() {
        let mut ground = Ground::flat(0.02, 1.0);
        let off = [
            Edit { tile: [-1, 0], node: 0, height_m: 1.0 },
            Edit { tile: [0, 9], node: 4095, height_m: 1.0 },
            Edit { tile: [0, 0], node: u16::MAX, height_m: 1.0 },
            Edit { tile: [0, 0], node: 0, height_m: f32::NAN },
        ];
        assert!(ground.apply(&off).is_empty());
    }

    #[test]
    fn edits_are_given_once_with_the_latest_height() {
        let mut ground = Ground::flat(0.02, 4.0);
        for height_m in [-0.01, -0.02, -0.03] {
            ground.set_node_height(Node { column: 130, row: 5 }, height_m);
        }
        assert_eq!(ground.take_edits(), [Edit { tile: [2, 0], node: 5 * 64 + 2, height_m: -0.03 }]);
        assert_eq!(ground.edit_count(), 3);
    }
}

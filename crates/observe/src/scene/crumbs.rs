//! Crumbs of soil along ruts, for rendering: angular grains on compressed posts of the height field whose neighbours are
//! higher or lower, on the wall and at its foot. They are functions of (seed, post) and of the heights around it: the
//! ruts determine the crumbs.
//!
//! The steeper a post, the more crumbs it has: none below [`EVEN`], all at [`LOOSE`], the slope of
//! loose soil at its angle of repose.

use nalgebra::{Vector2, Vector3};
use selene_base::random::{RngExt, Stream, stream_at};
use selene_scene::{Grain, Heap};
use selene_sim::{CrumbsSpec, Model};
use selene_terrain::{Clipmap, Node, TileIndex};

use super::grains::{faces, heap_about, lying_grain, place_m, radius_m, share_at};

/// Slope (height over length) below which there are no crumbs: undisturbed ground is seldom steeper from post to post.
const EVEN: f64 = 0.2;
/// Slope from which a post has all its crumbs: tan 35°.
const LOOSE: f64 = 0.7;
/// Lowest and highest position of a crumb's centre above the ground, in crumb radii.
const LIES: [f64; 2] = [-0.6, 0.8];

/// Ruts along which crumbs are made.
struct RutTrail<'a> {
    spec: &'a CrumbsSpec,
    clipmap: &'a Clipmap,
    /// Position of the observing rover, map frame, m.
    viewer_m: Vector3<f64>,
    seed: u64,
}

/// The crumbs around the observing rover; `None` if the scenario has none.
pub(super) fn heap(model: &Model, clipmap: &Clipmap, viewer_m: Vector3<f64>) -> Option<Heap> {
    let spec = model.scenario().crumbs.as_ref()?;
    let trail = RutTrail { spec, clipmap, viewer_m, seed: model.scenario().seed };
    Some(heap_about(model, clipmap, viewer_m, spec.within_m, |tile| trail.crumbs_on(tile)))
}

impl RutTrail<'_> {
    /// The crumbs of a tile's changed posts, relative to the viewer.
    fn crumbs_on(&self, tile: TileIndex) -> Vec<Grain> {
        self.clipmap.ruts().of_tile(tile).flat_map(|(within, _)| self.crumbs_of(tile.node(within))).collect()
    }

    /// The crumbs of a post.
    fn crumbs_of(&self, node: Node) -> Vec<Grain> {
        let (at_m, spacing_m) = (place_m(self.clipmap, node), self.clipmap.finest().spacing_m);
        let apart_m = Vector3::new(at_m.x - self.viewer_m.x, at_m.y - self.viewer_m.y, 0.0);
        let share = share_at(apart_m.norm(), self.spec.within_m);
        let Some((wall, down)) = self.wall(&at_m).filter(|_| share > 0.0) else { return Vec::new() };
        let index = u64::from(node.column.cast_unsigned()) << 32 | u64::from(node.row.cast_unsigned());
        let mut chance = stream_at(self.seed, "crumbs", index);
        let mean = self.spec.per_m2 * spacing_m.powi(2) * wall * share;
        let count = (mean + chance.random::<f64>()) as usize;
        (0..count).filter_map(|_| self.crumb(&at_m, &(down * spacing_m), &mut chance)).collect()
    }

    /// Steepness of the ground at a post, 0 to 1 (from `EVEN` to `LOOSE`), and the unit direction downhill; `None` on
    /// even ground.
    fn wall(&self, at_m: &Vector2<f64>) -> Option<(f64, Vector2<f64>)> {
        let spacing_m = self.clipmap.finest().spacing_m;
        let height_m = |x: f64, y: f64| self.clipmap.height_m(at_m.x + x * spacing_m, at_m.y + y * spacing_m);
        let here_m = height_m(0.0, 0.0)?;
        let [east, west] = [height_m(1.0, 0.0)? - here_m, height_m(-1.0, 0.0)? - here_m];
        let [north, south] = [height_m(0.0, 1.0)? - here_m, height_m(0.0, -1.0)? - here_m];
        let steepest = [east, west, north, south].map(f64::abs).into_iter().fold(0.0, f64::max) / spacing_m;
        let share = ((steepest - EVEN) / (LOOSE - EVEN)).clamp(0.0, 1.0);
        let down = Vector2::new(west - east, south - north).try_normalize(1e-9).unwrap_or_default();
        (share > 0.0).then_some((share, down))
    }

    /// The next crumb of a post: in the post's square, or up to `down_m` downhill from there.
    fn crumb(&self, post_m: &Vector2<f64>, down_m: &Vector2<f64>, chance: &mut Stream) -> Option<Grain> {
        let spacing_m = self.clipmap.finest().spacing_m;
        let within_m = Vector2::from_fn(|_, _| (chance.random::<f64>() - 0.5) * spacing_m);
        let at_m = post_m + within_m + down_m * chance.random::<f64>();
        let radius_m = radius_m(self.spec.diameter_m, self.spec.spread, chance);
        let lies = LIES[0] + (LIES[1] - LIES[0]) * chance.random::<f64>();
        lying_grain(self.clipmap, self.viewer_m, at_m, (radius_m, faces(chance)), lies)
    }
}

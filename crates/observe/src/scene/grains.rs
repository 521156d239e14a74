//! Grains of granular windows, for rendering: each loose soil point is shown as several angular grains, spread uniformly
//! in the cube that the point represents. They are functions of (seed, window, point), so that a point keeps its grains
//! wherever it goes.
//!
//! A point's height is relative to the ground below it, and so is each grain's to the ground below itself: grains
//! follow relief that is finer than points. The points of a window end up to a cell below the height field that
//! represents them, so the highest points of a column are raised until their cubes end at the ground. Grains hidden
//! by the ground are left out. With distance from the observing rover there are fewer grains, until only the height
//! field remains.
//!
//! In windows of single grains (DEM) each point is a grain, seen as the sphere that it is.

use nalgebra::{UnitQuaternion, Vector2, Vector3};
use rayon::prelude::*;
use selene_base::Pose;
use selene_base::random::{RngExt, Stream, stream_at};
use selene_scene::{Grain, HapkeParams, Heap, Material};
use selene_sim::{GrainsSpec, GranularWindow, LoosePoint, LooseSoil, Model, Snapshot};
use selene_terrain::{Clipmap, Node, TileIndex, TileRect};

/// The sequence numbers of the snapshots that a scene's ground and grains show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SceneVersion {
    pub(super) ground: Option<u64>,
    pub(super) grains: Option<u64>,
}

/// A granular window and the parameters of its grains.
struct GrainWindow<'a> {
    window: &'a GranularWindow,
    spec: &'a GrainsSpec,
    clipmap: &'a Clipmap,
    /// Position of the observing rover, map frame, m.
    viewer_m: Vector3<f64>,
    seed: u64,
    /// Name of its random stream.
    name: String,
}

/// The grains of a snapshot, for a rover at `viewer_m`.
pub(super) fn heaps(model: &Model, clipmap: &Clipmap, viewer_m: Vector3<f64>, reported: &Snapshot) -> Vec<Heap> {
    let material = Material::of(&model.scenario().site.surface.regolith, &HapkeParams::REGOLITH);
    let heap = |soil: &LooseSoil| {
        let window = model.windows().get(soil.window as usize)?;
        let grains: Vec<Grain> = match window.grains() {
            None => soil.points.iter().filter_map(|point| single_grain(window, point)).collect(),
            Some(spec) => {
                let (seed, name) = (model.scenario().seed, format!("grains/{}", window.name()));
                let grained = GrainWindow { window, spec, clipmap, viewer_m, seed, name };
                soil.points.par_iter().flat_map_iter(|point| grained.grains_of(point)).collect()
            }
        };
        if grains.is_empty() {
            return None;
        }
        let world_from_heap = Pose::from_parts(window.corner_m().into(), UnitQuaternion::identity());
        Some(Heap { world_from_heap, grains: grains.into(), material })
    };
    reported.loose_soil.iter().filter_map(heap).collect()
}

/// A grain of a window of single grains, relative to its corner; `None` in other windows.
fn single_grain(window: &GranularWindow, point: &LoosePoint) -> Option<Grain> {
    let centre_m = window.place_m(point) - window.corner_m();
    let radius_m = window.grain_radius_m(point.id)? as f32;
    Some(Grain { centre_m: centre_m.cast::<f32>().into(), radius_m, faces: 0 })
}

impl GrainWindow<'_> {
    /// The visible grains of a point, relative to the window's corner.
    fn grains_of(&self, point: &LoosePoint) -> Vec<Grain> {
        let middle_m = self.window.place_m(point);
        let Some(ground_m) = self.clipmap.height_m(middle_m.x, middle_m.y) else { return Vec::new() };
        let lies_m = (middle_m.z - ground_m).max(-0.5 * self.window.spacing_m());
        let above_m = Vector3::new(middle_m.x, middle_m.y, lies_m);
        let mut chance = stream_at(self.seed, &self.name, u64::from(point.id));
        (0..self.count_at(&middle_m)).filter_map(|_| self.grain(&above_m, &mut chance)).collect()
    }

    /// Number of grains of a point.
    fn count_at(&self, at_m: &Vector3<f64>) -> u32 {
        let share = share_at((at_m - self.viewer_m).norm(), self.spec.within_m);
        (f64::from(self.spec.per_point) * share) as u32
    }

    /// The next grain of a point; the z of `point_m` is its height above the ground. `None` if the ground hides it.
    fn grain(&self, point_m: &Vector3<f64>, chance: &mut Stream) -> Option<Grain> {
        let offset = Vector3::from_fn(|_, _| chance.random::<f64>() - 0.5);
        let radius_m = radius_m(self.spec.diameter_m, self.spec.spread, chance);
        let at_m = point_m + offset * self.window.spacing_m();
        let ground_m = self.clipmap.height_m(at_m.x, at_m.y)?;
        let centre_m = Vector3::new(at_m.x, at_m.y, at_m.z + ground_m) - self.window.corner_m();
        let faces = faces(chance);
        let is_seen = at_m.z + radius_m > 0.0;
        is_seen.then(|| Grain { centre_m: centre_m.cast::<f32>().into(), radius_m: radius_m as f32, faces })
    }
}

/// The fraction of grains that is shown at a distance: all up to half of `within_m`, none beyond `within_m`.
pub(super) fn share_at(distance_m: f64, within_m: f64) -> f64 {
    (2.0 - 2.0 * distance_m / within_m).clamp(0.0, 1.0)
}

/// A random radius of a grain, m, with this median diameter: the exponent of `spread` is a sum of three uniform
/// draws, scaled to variance 1 and within ±3.
pub(super) fn radius_m(diameter_m: f64, spread: f64, chance: &mut Stream) -> f64 {
    let sum: f64 = (0..3).map(|_| chance.random::<f64>()).sum();
    0.5 * diameter_m * spread.powf(2.0 * (sum - 1.5))
}

/// The faces of an angular grain.
pub(super) fn faces(chance: &mut Stream) -> u32 {
    chance.random::<u32>() | 1
}

/// Grains on the ground around a viewer: `on_tile` gives those of each tile within `within_m`, relative to the viewer.
pub(super) fn heap_about(
    model: &Model,
    clipmap: &Clipmap,
    viewer_m: Vector3<f64>,
    within_m: f64,
    on_tile: impl Fn(TileIndex) -> Vec<Grain> + Send + Sync,
) -> Heap {
    let corner = |sign: f64| node_before(clipmap, viewer_m.xy().add_scalar(sign * within_m));
    let tiles: Vec<_> = TileRect::of_nodes(corner(-1.0), corner(1.0)).tiles().collect();
    let grains: Vec<Grain> = tiles.into_par_iter().flat_map_iter(on_tile).collect();
    let material = Material::of(&model.scenario().site.surface.regolith, &HapkeParams::REGOLITH);
    let world_from_heap = Pose::from_parts(viewer_m.into(), UnitQuaternion::identity());
    Heap { world_from_heap, grains: grains.into(), material }
}

/// A grain at a position on the ground, relative to the viewer; `lies` is the height of its centre in grain radii.
pub(super) fn lying_grain(
    clipmap: &Clipmap,
    viewer_m: Vector3<f64>,
    at_m: Vector2<f64>,
    (radius_m, faces): (f64, u32),
    lies: f64,
) -> Option<Grain> {
    let height_m = clipmap.height_m(at_m.x, at_m.y)? + lies * radius_m;
    let centre_m = Vector3::new(at_m.x, at_m.y, height_m) - viewer_m;
    Some(Grain { centre_m: centre_m.cast::<f32>().into(), radius_m: radius_m as f32, faces })
}

/// Position of a node, map x and y, m.
pub(super) fn place_m(clipmap: &Clipmap, node: Node) -> Vector2<f64> {
    let (finest, first) = (clipmap.finest(), clipmap.first_node());
    let steps = Vector2::new(node.column - first.column, node.row - first.row).cast::<f64>();
    Vector2::from(finest.origin_m) + steps * finest.spacing_m
}

/// The last node whose x and y are not greater than these.
fn node_before(clipmap: &Clipmap, at_m: Vector2<f64>) -> Node {
    let (finest, first) = (clipmap.finest(), clipmap.first_node());
    let steps = (at_m - Vector2::from(finest.origin_m)) / finest.spacing_m;
    Node { column: first.column + steps.x.floor() as i32, row: first.row + steps.y.floor() as i32 }
}

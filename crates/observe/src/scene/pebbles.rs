//! Clods and pebbles on undisturbed ground, for rendering: fragments of spheres, half in the ground. They are functions of
//! (seed, tile); the changed posts of the height field determine which pebbles are gone.
//!
//! Diameters follow a power law between the two given limits: the number of pebbles larger than D is proportional to
//! D^−q, after counts of fragments on the Moon.

use nalgebra::{Vector2, Vector3};
use selene_base::random::{RngExt, Stream, stream_at};
use selene_scene::{Grain, Heap};
use selene_sim::{Model, PebblesSpec};
use selene_terrain::{Clipmap, NodeSet, TILE_NODES, TileIndex};

use super::grains::{faces, heap_about, lying_grain, place_m, share_at};

/// Lowest and highest position of a pebble's centre above the ground, in pebble radii.
const LIES: [f64; 2] = [-0.7, 0.5];

/// Ground on which pebbles lie.
struct PebbleField<'a> {
    spec: &'a PebblesSpec,
    clipmap: &'a Clipmap,
    /// Position of the observing rover, map frame, m.
    viewer_m: Vector3<f64>,
    seed: u64,
}

/// The pebbles around the observing rover; `None` if the scenario has none.
pub(super) fn heap(model: &Model, clipmap: &Clipmap, viewer_m: Vector3<f64>) -> Option<Heap> {
    let spec = model.scenario().pebbles.as_ref()?;
    let field = PebbleField { spec, clipmap, viewer_m, seed: model.scenario().seed };
    Some(heap_about(model, clipmap, viewer_m, spec.within_m, |tile| field.pebbles_on(tile)))
}

impl PebbleField<'_> {
    /// The pebbles of a tile, relative to the viewer.
    fn pebbles_on(&self, tile: TileIndex) -> Vec<Grain> {
        let mut moved = NodeSet::default();
        self.clipmap.ruts().of_tile(tile).for_each(|(within, _)| moved.mark(within));
        let index = u64::from(tile.column.cast_unsigned()) << 16 | u64::from(tile.row.cast_unsigned());
        let mut chance = stream_at(self.seed, "pebbles", index);
        let side_m = TILE_NODES as f64 * self.clipmap.finest().spacing_m;
        let count = (self.spec.per_m2 * side_m.powi(2) + chance.random::<f64>()) as usize;
        (0..count).filter_map(|_| self.pebble(tile, &moved, &mut chance)).collect()
    }

    /// The next pebble of a tile; `None` if its post was changed, or if it is left out because of its distance.
    fn pebble(&self, tile: TileIndex, moved: &NodeSet, chance: &mut Stream) -> Option<Grain> {
        let [column, row] = [0, 1].map(|_| chance.random::<f64>() * TILE_NODES as f64);
        let radius_m = 0.5 * self.diameter_m(chance.random());
        let lies = LIES[0] + (LIES[1] - LIES[0]) * chance.random::<f64>();
        let (here, faces, last) = (chance.random::<f64>(), faces(chance), TILE_NODES - 1);
        // The post to the south-west of the pebble.
        let within = (row as usize).min(last) * TILE_NODES + (column as usize).min(last);
        let spacing_m = self.clipmap.finest().spacing_m;
        let at_m = place_m(self.clipmap, tile.node(0)) + Vector2::new(column, row) * spacing_m;
        let share = share_at((at_m - self.viewer_m.xy()).norm(), self.spec.within_m);
        if moved.has(within) || here >= share {
            return None;
        }
        lying_grain(self.clipmap, self.viewer_m, at_m, (radius_m, faces), lies)
    }

    /// The diameter for a uniform draw from 0 to 1: the inverse of the power law's distribution function.
    fn diameter_m(&self, even: f64) -> f64 {
        let [least_m, greatest_m] = self.spec.diameter_m;
        let rarest = (least_m / greatest_m).powf(self.spec.exponent);
        least_m * (1.0 - even * (1.0 - rarest)).powf(-1.0 / self.spec.exponent)
    }
}

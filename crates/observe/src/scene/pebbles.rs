//! Clods and pebbles on ground that nothing has moved, as a scene has them: spheres that lie half in the ground. They are
//! functions of (seed, tile): who knows which posts were changed knows which pebbles are gone.
//!
//! Diameters D follow a power law between the two that are given: the number of those larger than D goes as D^−q, after
//! fragments that were counted on the Moon's ground.

use nalgebra::{Vector2, Vector3};
use selene_base::random::{RngExt, Stream, stream_at};
use selene_scene::{Grain, Heap};
use selene_sim::{Model, PebblesSpec};
use selene_terrain::{Clipmap, Marks, TILE_NODES, TileIndex};

use super::grains::{heap_about, lying_grain, place_m, share_at};

/// How high the middle of a pebble is over the ground, over its radius.
const LIES: [f64; 2] = [-0.7, 0.5];

/// Ground on which pebbles lie.
struct Field<'a> {
    spec: &'a PebblesSpec,
    clipmap: &'a Clipmap,
    /// Where the rover is that looks, m.
    viewer_m: Vector3<f64>,
    seed: u64,
}

/// The pebbles about a rover that looks; none where the scenario has none.
pub(super) fn heap(model: &Model, clipmap: &Clipmap, viewer_m: Vector3<f64>) -> Option<Heap> {
    let spec = model.scenario().pebbles.as_ref()?;
    let field = Field { spec, clipmap, viewer_m, seed: model.scenario().seed };
    Some(heap_about(model, clipmap, viewer_m, spec.within_m, |tile| field.pebbles_on(tile)))
}

impl Field<'_> {
    /// The pebbles of a tile, from where the viewer is.
    fn pebbles_on(&self, tile: TileIndex) -> Vec<Grain> {
        let mut moved = Marks::default();
        self.clipmap.ruts().of_tile(tile).for_each(|(within, _)| moved.mark(within));
        let index = u64::from(tile.column.cast_unsigned()) << 16 | u64::from(tile.row.cast_unsigned());
        let mut chance = stream_at(self.seed, "pebbles", index);
        let side_m = TILE_NODES as f64 * self.clipmap.finest().spacing_m;
        let count = (self.spec.per_m2 * side_m.powi(2) + chance.random::<f64>()) as usize;
        (0..count).filter_map(|_| self.pebble(tile, &moved, &mut chance)).collect()
    }

    /// The next pebble of a tile; none where its post was moved, or so far off that it is left out.
    fn pebble(&self, tile: TileIndex, moved: &Marks, chance: &mut Stream) -> Option<Grain> {
        let [column, row] = [0, 1].map(|_| chance.random::<f64>() * TILE_NODES as f64);
        let radius_m = 0.5 * self.diameter_m(chance.random());
        let lies = LIES[0] + (LIES[1] - LIES[0]) * chance.random::<f64>();
        let (here, last) = (chance.random::<f64>(), TILE_NODES - 1);
        // The post south-west of it.
        let within = (row as usize).min(last) * TILE_NODES + (column as usize).min(last);
        let spacing_m = self.clipmap.finest().spacing_m;
        let at_m = place_m(self.clipmap, tile.node(0)) + Vector2::new(column, row) * spacing_m;
        let share = share_at((at_m - self.viewer_m.xy()).norm(), self.spec.within_m);
        if moved.has(within) || here >= share {
            return None;
        }
        lying_grain(self.clipmap, self.viewer_m, at_m, radius_m, lies)
    }

    /// The diameter that an even number of 0…1 stands for: the law's inverse.
    fn diameter_m(&self, even: f64) -> f64 {
        let [least_m, greatest_m] = self.spec.diameter_m;
        let rarest = (least_m / greatest_m).powf(self.spec.exponent);
        least_m * (1.0 - even * (1.0 - rarest)).powf(-1.0 / self.spec.exponent)
    }
}

//! Named landforms of a procedural site: hills and ridges, displaced by the surrounding relief so that none looks drawn
//! with a ruler.

use nalgebra::Vector2;

use crate::level::Level;
use crate::site::spec::{LandformSpec, RidgeSpec, RiseSpec};

/// Ratio of a landform's horizontal displacement to the relief's height.
const LANDFORM_WARP: f32 = 10.0;

/// Adds the landforms to a level that contains the relief. `mirrored_m` is the relief at the mirrored positions (y, x),
/// row by row of the mirrored level; together with the relief at the position itself it gives two independent fields.
pub(crate) fn add(level: &mut Level, mirrored_m: &[f32], landforms: &[LandformSpec]) {
    let grid = level.grid();
    for (row, heights) in level.heights_m.chunks_mut(grid.posts).enumerate() {
        for (column, height) in heights.iter_mut().enumerate() {
            let relief_m = [*height, mirrored_m[column * grid.posts + row]];
            let warp = Vector2::from(relief_m.map(|m| f64::from(m * LANDFORM_WARP)));
            let at = Vector2::new(grid.at_m(0, column), grid.at_m(1, row)) + warp;
            *height += landforms.iter().map(|landform| landform_m(landform, at)).sum::<f64>() as f32;
        }
    }
}

fn landform_m(landform: &LandformSpec, at: Vector2<f64>) -> f64 {
    match *landform {
        LandformSpec::Rise(RiseSpec { at_m, height_m, radius_m }) => {
            height_m * (-(at - Vector2::from(at_m)).norm_squared() / (radius_m * radius_m)).exp()
        }
        LandformSpec::Ridge(RidgeSpec { from_m, to_m, height_m, width_m }) => {
            let [from, to] = [Vector2::from(from_m), Vector2::from(to_m)];
            let along = to - from;
            let fraction = ((at - from).dot(&along) / along.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let distance_m = (at - from - along * fraction).norm();
            height_m * (-(distance_m / width_m).powi(2)).exp()
        }
        // Craters are stamped on every level: see `Landscape::craters`.
        LandformSpec::Crater(_) => 0.0,
    }
}

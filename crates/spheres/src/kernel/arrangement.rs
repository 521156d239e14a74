//! How grains are arranged on a device: the units of positions, the cells in which neighbours are searched, and the
//! slots for each grain's partners. It follows from the model and the radii.

use nalgebra::Vector3;

use crate::model::Model;
use crate::state::Sphere;
use crate::step::SKIN_RADII;

/// Steps of a position's remainder in a unit.
pub(super) const REST_STEPS: f64 = 1_048_576.0;
/// Units along the container, at most: two positions differ by less than a 32-bit integer holds.
const UNITS_MAX: f64 = 1_073_741_824.0;
/// The most cells: their table then takes 16 MiB.
const CELLS_MAX: f64 = 4_194_304.0;
/// Growth of a cell's side while there are too many cells: their number halves.
const WIDER: f64 = 1.26;
/// Grains that touch a sphere lie on a surface, side by side: they cover no more than π/√12 of it.
const COVERED: f64 = 0.907;
/// Slots for walls in a corner, bodies, and grains pressed closer than side by side.
const SPARE_SLOTS: f64 = 6.0;
/// The number of slots is a multiple of this.
const SLOTS_AT_ONCE: usize = 8;

/// Number and sizes of what a device has of some grains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrangement {
    /// Number of grains.
    pub grains: usize,
    /// Most partners of a grain.
    pub slots: usize,
    /// The least and the greatest radius, m.
    pub(crate) smallest_m: f64,
    pub(crate) greatest_m: f64,
    /// Length of a unit of positions, m: a power of two.
    pub(super) unit_m: f64,
    /// The container's sides, units.
    pub(super) size: [i32; 3],
    pub(super) cells: [i32; 3],
    /// Sides of a cell, units.
    pub(super) cell_size: [i32; 3],
}

impl Arrangement {
    /// The arrangement of `spheres`; `None` if there are none.
    #[must_use]
    pub fn new(model: &Model, spheres: &[Sphere]) -> Option<Self> {
        let radii_m = || spheres.iter().map(|sphere| sphere.radius_m);
        let (smallest_m, greatest_m) = (radii_m().reduce(f64::min)?, radii_m().reduce(f64::max)?);
        let size_m = model.container().size_m;
        let longest_m = size_m.into_iter().fold(0.0, f64::max) + 4.0 * greatest_m;
        let unit_m = (longest_m / UNITS_MAX).log2().ceil().exp2();
        let cells = cells(size_m, 2.0 * greatest_m + SKIN_RADII * smallest_m);
        let size = size_m.map(|side_m| (side_m / unit_m).round());
        Some(Self {
            grains: spheres.len(),
            slots: slots(greatest_m / smallest_m),
            smallest_m,
            greatest_m,
            unit_m,
            size: size.map(|side| side as i32),
            cells: cells.map(|count| count as i32),
            cell_size: std::array::from_fn(|axis| (size[axis] / cells[axis]).ceil() as i32),
        })
    }

    /// Distance within which surfaces are listed, m.
    #[must_use]
    pub fn skin_m(&self) -> f64 {
        SKIN_RADII * self.smallest_m
    }

    /// The least radius, m.
    #[must_use]
    pub fn smallest_m(&self) -> f64 {
        self.smallest_m
    }

    /// Number of cells.
    #[must_use]
    pub fn cell_count(&self) -> usize {
        self.cells.iter().map(|count| *count as usize).product()
    }

    /// A position as whole units and a remainder. Far outside of the container it has more of a remainder.
    pub(super) fn units(&self, position_m: &Vector3<f64>) -> ([i32; 3], [f32; 3]) {
        let units = position_m / self.unit_m;
        let whole = units.map(|along| along.floor().clamp(-0.5 * UNITS_MAX, UNITS_MAX));
        let rest = (units - whole).map(|along| (along * REST_STEPS).floor() / REST_STEPS);
        (whole.map(|along| along as i32).into(), rest.cast::<f32>().into())
    }

    /// The position, m, of whole units and a remainder: exact, and [`Arrangement::units`] gives the same bits again.
    pub(super) fn position_m(&self, fixed: [i32; 3], rest: [f32; 3]) -> Vector3<f64> {
        (Vector3::from(fixed).cast::<f64>() + Vector3::from(rest).cast()) * self.unit_m
    }
}

/// Number of cells along each axis that are at least `reach_m` wide.
fn cells(size_m: [f64; 3], reach_m: f64) -> [f64; 3] {
    let mut side_m = reach_m;
    loop {
        let cells = size_m.map(|along_m| (along_m / side_m).floor().max(1.0));
        if cells.iter().product::<f64>() <= CELLS_MAX {
            return cells;
        }
        side_m *= WIDER;
    }
}

/// As many as the least grains that lie around the greatest one, which is `ratio` times as large, within its skin.
fn slots(ratio: f64) -> usize {
    let around = 4.0 * COVERED * (ratio + 1.0 + SKIN_RADII).powi(2);
    ((around + SPARE_SLOTS).ceil() as usize).next_multiple_of(SLOTS_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;
    use selene_crm::Wall;

    use super::{Arrangement, CELLS_MAX, cells, slots};
    use crate::{Container, Model, SpheresSpec, State};

    fn arrangement(size_m: [f64; 3]) -> Arrangement {
        let grains = SpheresSpec {
            density_kg_m3: 2500.0,
            young_pa: 5e6,
            poisson: 0.3,
            restitution: 0.9,
            friction: 0.5,
            rolling_friction: 0.0,
        };
        let container = Container { size_m, walls: [[Wall::Rough; 2]; 3] };
        let model = Model::new(&grains, &container, Vector3::zeros()).expect("a model");
        let mut state = State::default();
        state.add(0.001, Vector3::repeat(0.01), Vector3::zeros());
        Arrangement::new(&model, &state.spheres).expect("grains")
    }

    #[test]
    fn positions_are_kept_to_a_millionth_of_a_unit_and_come_back_with_the_same_bits() {
        let arrangement = arrangement([1.0, 0.5, 0.7]);
        assert!(arrangement.unit_m < 2e-9);
        for position_m in [Vector3::new(0.123_456_789, -0.000_9, 0.700_9), Vector3::new(1e-12, 1.0, 0.3)] {
            let (fixed, rest) = arrangement.units(&position_m);
            let there_m = arrangement.position_m(fixed, rest);
            assert!((there_m - position_m).amax() < 1e-6 * arrangement.unit_m);
            assert_eq!(arrangement.units(&there_m), (fixed, rest));
        }
    }

    #[test]
    fn cells_are_at_least_as_wide_as_the_reach_and_not_too_many() {
        assert_eq!(cells([0.1, 0.25, 0.01], 0.02), [5.0, 12.0, 1.0]);
        assert!(cells([1000.0; 3], 0.01).iter().product::<f64>() <= CELLS_MAX);
    }

    #[test]
    fn slots_grow_with_the_ratio_of_radii() {
        assert_eq!([1.0, 1.25, 2.0].map(slots), [32, 32, 48]);
    }
}

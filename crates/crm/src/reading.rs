//! What a world reads of soil at each heartbeat: sums over all points, and the points at the surface. A device finds
//! the same with the kernels of `kernel/reading.wgsl`, so that its points need not come to the CPU.

use nalgebra::{Isometry3, Vector3};

use crate::body::Body;
use crate::drum::Drum;
use crate::grid::Grid;
use crate::shape::BodyShape;
use crate::state::{POINTS_A_CELL, Point, State};

/// The highest pieces of a column that are reported: one in flight and the one below.
pub const LAYERS: usize = 2;

/// A drum at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedDrum {
    /// Its shape.
    pub drum: Drum,
    /// Its pose in the grid's frame, m.
    pub pose: Isometry3<f64>,
}

impl PlacedDrum {
    /// Whether a place (m, grid's frame) is in the cylinder that the drum fills.
    #[must_use]
    pub fn holds(&self, at_m: &Vector3<f64>) -> bool {
        self.drum.holds(&self.pose.inverse_transform_point(&(*at_m).into()).coords)
    }
}

/// The drum as a body at rest.
impl From<PlacedDrum> for Body {
    fn from(PlacedDrum { drum, pose }: PlacedDrum) -> Self {
        let (velocity_m_s, angular_velocity_rad_s) = (Vector3::zeros(), Vector3::zeros());
        Self { shape: BodyShape::Drum(drum), pose, velocity_m_s, angular_velocity_rad_s, friction: 0.0 }
    }
}

/// Sums over all pieces of soil.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Mass, mg; exact.
    pub mass_mg: u64,
    /// Mass of those in each drum, mg; exact.
    pub held_mg: Vec<u64>,
    /// Speed of the fastest, m/s.
    pub fastest_m_s: f32,
    /// Mean square of the speeds, m²/s²; a device counts one of more than 1 m/s as one of 1 m/s.
    pub mean_square_m2_s2: f64,
}

/// A piece of soil, a point or a single grain, as the ledger, the surface and sensors see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoilPiece {
    /// Its position, m from the grid's low corner.
    pub position_m: Vector3<f64>,
    /// Its velocity, m/s.
    pub velocity_m_s: Vector3<f32>,
    /// Its mass, mg.
    pub mass_mg: u32,
    /// Its number.
    pub id: u32,
}

impl From<&Point> for SoilPiece {
    fn from(point: &Point) -> Self {
        let &Point { position_m, velocity_m_s, mass_mg, id, .. } = point;
        Self { position_m, velocity_m_s, mass_mg, id }
    }
}

impl State {
    /// Sums over the points, and how much of them is in each of `drums`.
    #[must_use]
    pub fn totals(&self, drums: &[PlacedDrum]) -> Totals {
        totals(self.points.iter().map(SoilPiece::from), drums)
    }

    /// The highest points of each column of the grid that are in none of the drums `outside`, as [`highest`] gives them.
    #[must_use]
    pub fn highest(&self, grid: &Grid, outside: &[PlacedDrum]) -> Vec<[Option<SoilPiece>; LAYERS]> {
        highest(grid, self.points.iter().map(SoilPiece::from), outside)
    }
}

/// Sums over `pieces`, and how much of them is in each of `drums`.
#[must_use]
pub fn totals(pieces: impl Iterator<Item = SoilPiece>, drums: &[PlacedDrum]) -> Totals {
    let mut totals = Totals { held_mg: vec![0; drums.len()], ..Totals::default() };
    let (mut count, mut squares, mut fastest) = (0.0_f64, 0.0, 0.0_f32);
    for piece in pieces {
        let square = piece.velocity_m_s.norm_squared();
        count += 1.0;
        squares += f64::from(square);
        fastest = fastest.max(square);
        totals.mass_mg = totals.mass_mg.saturating_add(u64::from(piece.mass_mg));
        for (drum, held_mg) in drums.iter().zip(&mut totals.held_mg) {
            *held_mg += if drum.holds(&piece.position_m) { u64::from(piece.mass_mg) } else { 0 };
        }
    }
    totals.fastest_m_s = fastest.sqrt();
    totals.mean_square_m2_s2 = squares / count.max(1.0);
    totals
}

/// Number of columns half a cell wide along x and y.
pub(crate) fn columns(grid: &Grid) -> [usize; 2] {
    [grid.cells[0], grid.cells[1]].map(|cells| cells as usize * POINTS_A_CELL as usize)
}

/// The highest pieces of each column half a cell wide that are in none of the drums `outside`, x fastest, highest first;
/// of equally high ones the one with the smaller number.
#[must_use]
pub fn highest(
    grid: &Grid,
    pieces: impl Iterator<Item = SoilPiece>,
    outside: &[PlacedDrum],
) -> Vec<[Option<SoilPiece>; LAYERS]> {
    let [columns, rows] = columns(grid);
    let side_m = grid.cell_m / POINTS_A_CELL;
    let mut highest = vec![[None; LAYERS]; columns * rows];
    let along = |m: f64, count: usize| ((m / side_m) as usize).min(count - 1);
    let is_outside = |piece: &SoilPiece| !outside.iter().any(|drum| drum.holds(&piece.position_m));
    for piece in pieces.filter(is_outside) {
        let column = along(piece.position_m.y, rows) * columns + along(piece.position_m.x, columns);
        push_down(&mut highest[column], piece);
    }
    highest
}

/// Inserts a piece into a list of the highest.
fn push_down(highest: &mut [Option<SoilPiece>], piece: SoilPiece) {
    let is_above =
        |a: &SoilPiece, b: &SoilPiece| a.position_m.z.total_cmp(&b.position_m.z).then(b.id.cmp(&a.id)).is_gt();
    let mut falling = Some(piece);
    for place in highest {
        if falling.is_some_and(|new| place.is_none_or(|known| is_above(&new, &known))) {
            std::mem::swap(place, &mut falling);
        }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Isometry3, Vector3};

    use super::{PlacedDrum, SoilPiece, highest};
    use crate::drum::Drum;
    use crate::grid::{Edges, Grid, Wall};
    use crate::state::{Point, State};

    fn at(id: u32, position_m: Vector3<f64>) -> SoilPiece {
        SoilPiece { position_m, velocity_m_s: Vector3::zeros(), mass_mg: 1, id }
    }

    fn grid() -> Grid {
        let sides = Edges::Walls { low: Wall::Rough, high: Wall::Rough };
        Grid { cell_m: 0.2, cells: [3, 2, 4], edges: [sides; 3] }
    }

    #[test]
    fn the_highest_points_are_found_in_whatever_order_they_come() {
        let heights_m = [0.1, 0.4, 0.3, 0.4];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]] {
            let points = order.map(|id| at(id, Vector3::new(0.35, 0.15, heights_m[id as usize])));
            let found = highest(&grid(), points.into_iter(), &[]);
            assert_eq!(found.len(), 6 * 4);
            // The fourth column of the second row.
            assert_eq!(found[6 + 3].map(|point| point.map(|point| point.id)), [Some(1), Some(3)]);
            assert_eq!(found.iter().flatten().flatten().count(), 2);
        }
    }

    #[test]
    fn totals_are_those_of_all_points_and_of_each_drum() {
        let point = |id: u32, x: f64, speed_m_s: f32| Point {
            position_m: Vector3::new(x, 0.2, 0.2),
            velocity_m_s: Vector3::new(0.0, speed_m_s, 0.0),
            affine_s: nalgebra::Matrix3::zeros(),
            stress_pa: nalgebra::Matrix3::zeros(),
            volume_ratio: 1.0,
            mass_mg: 1000 + id,
            id,
        };
        let mut state = State::default();
        state.points.extend([point(0, 0.05, 0.3), point(1, 0.3, -0.4), point(2, 0.32, 0.0)]);
        let drum = Drum { radius_m: 0.1, half_length_m: 0.1, slices: 1, scoops: 1, channel_m: 0.05, overlap_rad: 0.5 };
        let drums = [0.3, 0.05, 0.5].map(|x| PlacedDrum { drum, pose: Isometry3::translation(x, 0.2, 0.2) });
        let totals = state.totals(&drums);
        assert_eq!((totals.mass_mg, &totals.held_mg[..]), (3003, &[2003, 1000, 0][..]));
        assert!((totals.fastest_m_s - 0.4).abs() < 1e-6 && (totals.mean_square_m2_s2 - 0.25 / 3.0).abs() < 1e-8);
        let outside = state.highest(&grid(), &drums[..1]);
        assert_eq!(outside.iter().flatten().flatten().map(|point| point.id).collect::<Vec<_>>(), [0]);
    }
}

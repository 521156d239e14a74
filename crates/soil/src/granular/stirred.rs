//! The soil of a window that throws dust: in each column the highest point that does not fly, while it is faster than
//! [`FAST_M_S`]; in LUNAR such markers on the surface do. Soil in flight sheds none, since there is no air. Soil in a
//! drum keeps its own; the surface is that below the drum. It need not be open to the sky: soil that a wheel or a
//! blade covers counts too. Single grains throw none.

use nalgebra::Vector3;
use selene_crm::SoilPiece;

use crate::granular::shells::Shells;
use crate::granular::solver::SoilSolver;
use crate::granular::state::{MG_PER_KG, Particles, WindowState};
use crate::granular::window::{GranularError, GranularWindow, POINTS_A_CELL};

/// Speed above which soil throws dust, m/s: our choice. By the default `rise`, dust of slower soil would rise by less
/// than half a millimetre on the Moon.
const FAST_M_S: f32 = 0.1;

/// The fast points at the surface of one column of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StirredSoil {
    /// Number of the column, x fastest.
    pub cell: u32,
    /// Its centre of mass, map frame, m.
    pub place_m: Vector3<f64>,
    /// Its mean velocity, m/s.
    pub velocity_m_s: Vector3<f64>,
    /// Sum over its points of speed times the area of a point, m³/s.
    pub speed_area_m3_s: f64,
    /// Standard deviation of its place along any axis, m.
    pub deviation_m: f64,
}

/// Sums over the points of a column, in the grid's frame.
#[derive(Clone, Copy, Default)]
struct Sums {
    mass_kg: f64,
    moment_kg_m: Vector3<f64>,
    momentum_n_s: Vector3<f64>,
    speeds_m_s: f64,
}

impl GranularWindow {
    /// The soil that throws dust, ascending by column, at the end of a heartbeat in which `fastest_m_s` is the speed of the
    /// fastest.
    ///
    /// # Errors
    /// When the device fails on which the points are.
    pub fn stirred_soil(
        &self,
        state: &WindowState,
        solver: &mut SoilSolver,
        fastest_m_s: f32,
    ) -> Result<Vec<StirredSoil>, GranularError> {
        let are_points = matches!(state.particles(), Some(Particles::Points(_)));
        if !are_points || fastest_m_s <= FAST_M_S {
            return Ok(Vec::new());
        }
        let outside = state.shells().map(Shells::placed).unwrap_or_default();
        let highest = self.highest(state, solver, &outside)?;
        let [columns, rows] = self.posts.cells();
        let mut sums = vec![Sums::default(); columns * rows];
        let a_cell = POINTS_A_CELL as usize;
        for (column, layers) in highest.into_iter().enumerate() {
            let surface = layers.into_iter().flatten().find(|point| !self.flies(state, point));
            let is_fast = |point: &SoilPiece| point.velocity_m_s.norm_squared() > FAST_M_S * FAST_M_S;
            let Some(point) = surface.filter(is_fast) else { continue };
            let (x, y) = (column % (columns * a_cell), column / (columns * a_cell));
            sums[(y / a_cell) * columns + x / a_cell].add(&point);
        }
        let moving = sums.iter().enumerate().filter(|(_, sums)| sums.mass_kg > 0.0);
        Ok(moving.map(|(cell, sums)| self.stirred(cell as u32, sums)).collect())
    }

    fn stirred(&self, cell: u32, sums: &Sums) -> StirredSoil {
        StirredSoil {
            cell,
            place_m: self.corner_m + sums.moment_kg_m / sums.mass_kg,
            velocity_m_s: sums.momentum_n_s / sums.mass_kg,
            speed_area_m3_s: sums.speeds_m_s * self.spacing_m().powi(2),
            deviation_m: 0.5 * self.spacing_m(),
        }
    }
}

impl Sums {
    fn add(&mut self, point: &SoilPiece) {
        let (mass_kg, velocity_m_s) = (f64::from(point.mass_mg) / MG_PER_KG, point.velocity_m_s.cast::<f64>());
        self.mass_kg += mass_kg;
        self.moment_kg_m += point.position_m * mass_kg;
        self.momentum_n_s += velocity_m_s * mass_kg;
        self.speeds_m_s += velocity_m_s.norm();
    }
}

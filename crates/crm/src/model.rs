//! The part of a simulation that does not change while soil moves: soil, grid and gravity.

use garde::Validate;
use nalgebra::Vector3;

use crate::block::Layout;
use crate::error::CrmError;
use crate::grid::Grid;
use crate::law::Law;
use crate::spec::CrmSpec;

/// The longest substep, as a fraction of the time that a pressure wave takes through a cell. Shaken beds of regular and
/// of random points, with Poisson's ratios of 0 to 0.45, come to rest up to 1.2; from 1.3 on, some of them never do.
const COURANT: f64 = 0.8;

/// Soil parameters, grid and gravity of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    soil: CrmSpec,
    grid: Grid,
    gravity_m_s2: Vector3<f64>,
    pub(crate) law: Law,
    pub(crate) layout: Layout,
}

impl Model {
    /// Creates a model of `soil` in `grid` under `gravity_m_s2`, in the grid's axes.
    ///
    /// # Errors
    /// When a value is out of its range.
    pub fn new(soil: &CrmSpec, grid: &Grid, gravity_m_s2: Vector3<f64>) -> Result<Self, CrmError> {
        soil.validate().map_err(|report| CrmError::Soil(report.to_string().trim_end().to_owned()))?;
        grid.check()?;
        if !gravity_m_s2.iter().all(|along| along.abs() <= 1000.0) {
            return Err(CrmError::Grid(format!("gravity {:?}: must be 1000 m/s² at most", gravity_m_s2.as_slice())));
        }
        Ok(Self { soil: *soil, grid: *grid, gravity_m_s2, law: Law::from(soil), layout: Layout::new(grid) })
    }

    /// The soil's parameters.
    #[must_use]
    pub fn soil(&self) -> &CrmSpec {
        &self.soil
    }

    /// The grid.
    #[must_use]
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Gravity in the grid's axes, m/s².
    #[must_use]
    pub fn gravity_m_s2(&self) -> Vector3<f64> {
        self.gravity_m_s2
    }

    /// The longest substep for slow soil, s: 0.8 of the time that a pressure wave takes through a cell.
    #[must_use]
    pub fn substep_max_s(&self) -> f64 {
        COURANT * self.grid.cell_m / self.soil.wave_speed_m_s()
    }
}

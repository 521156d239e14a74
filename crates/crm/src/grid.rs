//! The box that holds the soil: its cells, and the condition at each of its faces.

use serde::{Deserialize, Serialize};

use crate::error::CrmError;

/// The most cells along an axis and in total: the tables of their blocks then fit in 64 MiB.
const CELLS_MAX: u32 = 8192;
const CELLS_IN_ALL_MAX: f64 = 1e9;
/// Cells along a side of a block.
pub(crate) const BLOCK_CELLS: u32 = 4;

/// A grid from the origin along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Side of a cell, m.
    pub cell_m: f64,
    /// Cells along x, y and z.
    pub cells: [u32; 3],
    /// Conditions at the two faces of each axis.
    pub edges: [Edges; 3],
}

/// Conditions at the two faces of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Edges {
    /// Walls at the low and the high end.
    Walls {
        /// The wall at coordinate zero.
        low: Wall,
        /// The wall at the far end.
        high: Wall,
    },
    /// Soil that leaves at one end enters at the other; the number of cells must be a multiple of four.
    Periodic,
}

/// A face of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wall {
    /// Open: a point that passes the face by a cell makes the step fail.
    Open,
    /// Soil sticks to it.
    Rough,
    /// Soil slides along it and leaves it freely.
    Sliding {
        /// Coulomb's coefficient, 0 or more.
        friction: f64,
    },
}

impl Grid {
    /// Length along x, y and z, m.
    #[must_use]
    pub fn size_m(&self) -> [f64; 3] {
        self.cells.map(|cells| f64::from(cells) * self.cell_m)
    }

    pub(crate) fn check(&self) -> Result<(), CrmError> {
        if !(1e-4..=10.0).contains(&self.cell_m) {
            return Err(CrmError::Grid(format!("cell of {} m: must be 0.0001 to 10 m", self.cell_m)));
        }
        let in_all: f64 = self.cells.iter().map(|cells| f64::from(*cells)).product();
        if in_all > CELLS_IN_ALL_MAX {
            return Err(CrmError::Grid(format!("{in_all} cells in all: at most {CELLS_IN_ALL_MAX} fit")));
        }
        (0..3).try_for_each(|axis| self.check_axis(axis))
    }

    fn check_axis(&self, axis: usize) -> Result<(), CrmError> {
        let (cells, name) = (self.cells[axis], ["x", "y", "z"][axis]);
        if !(1..=CELLS_MAX).contains(&cells) {
            return Err(CrmError::Grid(format!("{cells} cells along {name}: must be 1 to {CELLS_MAX}")));
        }
        match self.edges[axis] {
            Edges::Periodic if !cells.is_multiple_of(BLOCK_CELLS) => Err(CrmError::Grid(format!(
                "{cells} cells along {name}, which is periodic: must be a multiple of {BLOCK_CELLS}"
            ))),
            Edges::Periodic => Ok(()),
            Edges::Walls { low, high } => check_wall(low, name).and_then(|()| check_wall(high, name)),
        }
    }
}

fn check_wall(wall: Wall, axis: &str) -> Result<(), CrmError> {
    match wall {
        Wall::Sliding { friction } if !(0.0..=10.0).contains(&friction) => {
            Err(CrmError::Grid(format!("friction {friction} of a wall along {axis}: must be 0 to 10")))
        }
        _ => Ok(()),
    }
}

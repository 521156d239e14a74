//! The box that holds the grains, and the walls at its faces.

use selene_crm::Wall;
use serde::{Deserialize, Serialize};

use crate::error::SpheresError;

/// Coulomb's coefficient of a rough wall: high enough that nothing slides on it.
const ROUGH: f64 = 1e6;

/// A box from the origin along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Container {
    /// Length along x, y and z, m: 1 mm to 10 km.
    pub size_m: [f64; 3],
    /// For each axis, the wall at zero and the one at the far end. On a rough wall grains do not slide, but may roll. A
    /// grain that passes an open wall by more than its radius makes the step fail.
    pub walls: [[Wall; 2]; 3],
}

impl Container {
    pub(crate) fn check(&self) -> Result<(), SpheresError> {
        let refuse = |what| Err(SpheresError::Container(what));
        if let Some(size_m) = self.size_m.into_iter().find(|size_m| !(1e-3..=1e4).contains(size_m)) {
            return refuse(format!("a side of {size_m} m: must be 0.001 to 10000 m"));
        }
        let slides_badly =
            |wall: &&Wall| matches!(wall, Wall::Sliding { friction } if !(0.0..=10.0).contains(friction));
        match self.walls.iter().flatten().find(slides_badly) {
            Some(wall) => refuse(format!("{wall:?}: friction must be 0 to 10")),
            None => Ok(()),
        }
    }

    /// Coulomb's coefficient of a face, counted from the low one of x; `None` where it is open.
    pub(crate) fn friction(&self, face: u8) -> Option<f64> {
        friction(self.walls[usize::from(face / 2)][usize::from(face % 2)])
    }

    /// Distance, m, that `at_m` along the axis of a face lies inside of it, and the direction inwards along that axis.
    pub(crate) fn depth(&self, face: u8, at_m: f64) -> (f64, f64) {
        match face % 2 {
            0 => (at_m, 1.0),
            _ => (self.size_m[usize::from(face / 2)] - at_m, -1.0),
        }
    }
}

fn friction(wall: Wall) -> Option<f64> {
    match wall {
        Wall::Open => None,
        Wall::Rough => Some(ROUGH),
        Wall::Sliding { friction } => Some(friction),
    }
}

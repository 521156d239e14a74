//! Driven ground: the ruts of rovers and the memory of the soil, without the rovers
//! themselves. A run can begin on the ground of another.

use selene_soil::SoilMemory;
use selene_terrain::Ruts;
use serde::{Deserialize, Serialize};

use crate::world::state::State;

/// Driven ground.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DrivenGround {
    /// Changes of the ground's heights by rovers.
    pub ruts: Ruts,
    /// Memory of the soil, such as its compaction.
    pub soil: SoilMemory,
}

impl DrivenGround {
    /// The ground of a state.
    #[must_use]
    pub fn of(state: &State) -> Self {
        Self { ruts: state.ruts.clone(), soil: state.soil.clone() }
    }

    pub(crate) fn clone_parts(&self) -> (Ruts, SoilMemory) {
        (self.ruts.clone(), self.soil.clone())
    }
}

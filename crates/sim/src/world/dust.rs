//! Dust in flight above the ground, and the balance of its mass: what each tile of the ground lost and gained, in whole
//! micrograms. The mass in flight and the net gain of all tiles always add up to zero. Dust from and to a granular
//! window is taken from its soil and given to it.
//!
//! At the end of a heartbeat each wheel on the soil, and each column of a granular window whose soil is fast, throws
//! one parcel; where several processes share a world, when their parts are merged. A parcel stays in the list for the
//! heartbeat in which it lands, so that a snapshot has all dust that flew since the one before.

use std::collections::{BTreeMap, BTreeSet};

use nalgebra::Vector2;
use selene_base::SimTime;
use selene_soil::{DustParcel, WindowState};
use selene_terrain::{GroundPatch, Node, Ruts, TileIndex, TileRect};
use serde::{Deserialize, Serialize};

use crate::world::model::Model;

/// Maximum number of parcels in flight; beyond it, no dust is thrown.
const PARCELS_MAX: usize = 16_384;
/// Longest flight of a parcel for which ground is looked up under its path, s.
const FLIGHT_S: f64 = 10.0;
/// Longest horizontal path under which ground is looked up, m.
const WAY_MAX_M: f64 = 100.0;
/// Distance between the places of a path at which tiles are looked up, m: less than a tile.
const STEP_M: f64 = 0.5;

/// Dust in flight, and the dust that each tile of the ground lost and gained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DustState {
    /// Parcels in flight since the last heartbeat, ordered by the time at which they were thrown and by whom.
    pub parcels: Vec<DustParcel>,
    /// Mass that landed on each tile less the mass that was thrown from it, µg, ascending by tile.
    pub settled_ug: Vec<(TileIndex, i64)>,
}

impl DustState {
    /// Mass in flight, µg.
    #[must_use]
    pub fn flying_ug(&self) -> i64 {
        self.parcels.iter().map(|parcel| parcel.mass_ug as i64).sum()
    }

    /// Net gain of all tiles, µg: the negative of the mass in flight.
    #[must_use]
    pub fn all_settled_ug(&self) -> i64 {
        self.settled_ug.iter().map(|(_, mass_ug)| mass_ug).sum()
    }

    /// Whether the state is valid: finite and ordered, not too many parcels, and a mass that adds up to zero.
    pub(crate) fn fits(&self) -> bool {
        let flying_ug: i128 = self.parcels.iter().map(|parcel| i128::from(parcel.mass_ug)).sum();
        let settled_ug: i128 = self.settled_ug.iter().map(|(_, mass_ug)| i128::from(*mass_ug)).sum();
        self.parcels.len() <= PARCELS_MAX
            && self.parcels.iter().all(DustParcel::is_sound)
            && self.parcels.is_sorted_by_key(DustParcel::order)
            && self.settled_ug.is_sorted_by(|(tile, _), (next, _)| tile < next)
            && flying_ug + settled_ug == 0
    }

    /// Adds the parcels of a heartbeat, in their order as far as there is room, so that processes which share a
    /// world leave out the same ones.
    pub(crate) fn throw(
        &mut self,
        parcels: impl IntoIterator<Item = DustParcel>,
        model: &Model,
        windows: &mut BTreeMap<u32, WindowState>,
    ) {
        let mut thrown: Vec<_> = parcels.into_iter().collect();
        thrown.sort_by_key(DustParcel::order);
        thrown.truncate(PARCELS_MAX.saturating_sub(self.parcels.len()));
        for parcel in &thrown {
            self.settle(parcel.place_m.xy().into(), -(parcel.mass_ug as i64), model, windows);
        }
        self.parcels.append(&mut thrown);
        self.parcels.sort_by_key(DustParcel::order);
    }

    /// Moves the mass of parcels that have landed by `time` to the ground.
    pub(crate) fn land(&mut self, time: SimTime, model: &Model, windows: &mut BTreeMap<u32, WindowState>) {
        let all = std::mem::take(&mut self.parcels).into_iter();
        let (flying, landed): (Vec<_>, Vec<_>) = all.partition(|parcel| time < parcel.until);
        self.parcels = flying;
        for parcel in landed {
            let at_m = parcel.place_at_m(parcel.until, model.scenario().gravity_m_s2);
            self.settle(at_m.xy().into(), parcel.mass_ug as i64, model, windows);
        }
    }

    /// Moves all times back by `by`.
    pub(crate) fn move_back(&mut self, by: SimTime) {
        for parcel in &mut self.parcels {
            (parcel.from, parcel.until) = (parcel.from - by, parcel.until - by);
        }
    }

    /// Moves mass to the ground at a place, or from it, and to the soil of the window there.
    fn settle(&mut self, at_m: [f64; 2], mass_ug: i64, model: &Model, windows: &mut BTreeMap<u32, WindowState>) {
        let id = model.windows().iter().position(|window| window.contains(at_m));
        if let Some(window) = id.and_then(|id| windows.get_mut(&(id as u32))) {
            window.take_dust(mass_ug);
        }
        let tile = tile_at(model, at_m);
        match self.settled_ug.binary_search_by_key(&tile, |(known, _)| *known) {
            Ok(at) => self.settled_ug[at].1 += mass_ug,
            Err(at) => self.settled_ug.insert(at, (tile, mass_ug)),
        }
    }
}

/// Parcels that were thrown in a heartbeat.
#[derive(Debug, Default)]
pub(crate) struct ThrownDust {
    /// Parcels whose landing is known.
    pub(crate) near: Vec<DustParcel>,
    /// Parcels that leave the ground of their group before they land.
    pub(crate) far: Vec<DustParcel>,
}

impl ThrownDust {
    /// Adds a parcel, with its landing on the ground of its group if it lands there.
    pub(crate) fn push(&mut self, mut parcel: DustParcel, gravity_m_s2: f64, ground: &GroundPatch) {
        let landed = parcel.land(gravity_m_s2, |x, y| ground.height_m(x, y));
        let list = if landed { &mut self.near } else { &mut self.far };
        list.push(parcel);
    }

    /// All parcels in their order. Those that fly beyond their group's ground land on the ground under their path.
    /// Beyond that ground, twice the range over level ground, or [`WAY_MAX_M`], the ground counts as level with the
    /// start.
    pub(crate) fn landed(mut self, model: &Model, ruts: &Ruts) -> Vec<DustParcel> {
        let gravity_m_s2 = model.scenario().gravity_m_s2;
        if !self.far.is_empty() {
            let mut ruts = ruts.clone();
            for parcel in &mut self.far {
                let mut ground = GroundPatch::new(model.terrain(), &tiles_under(parcel, model));
                ground.borrow_from(&mut ruts);
                let begins_m = parcel.place_m.z;
                parcel.land(gravity_m_s2, |x, y| Some(ground.height_m(x, y).unwrap_or(begins_m)));
                ground.give_back(&mut ruts);
            }
        }
        self.near.append(&mut self.far);
        self.near.sort_by_key(DustParcel::order);
        self.near
    }
}

/// The tiles under a parcel's path.
fn tiles_under(parcel: &DustParcel, model: &Model) -> BTreeSet<TileIndex> {
    let way_m = way_m(parcel, model.scenario().gravity_m_s2);
    let steps = (way_m.norm() / STEP_M).ceil().max(1.0);
    let spacing_m = model.terrain().spacing_m();
    let around = |step: usize| {
        let at_m = parcel.place_m.xy() + way_m * (step as f64 / steps);
        let corner = |sign: f64| node_at(model, [at_m.x + sign * spacing_m, at_m.y + sign * spacing_m]);
        TileRect::of_nodes(corner(-1.0), corner(1.0)).tiles()
    };
    (0..=steps as usize).flat_map(around).collect()
}

/// Horizontal vector from a parcel's start to the end of the path under which ground is looked up, m.
fn way_m(parcel: &DustParcel, gravity_m_s2: f64) -> Vector2<f64> {
    let level_s = (2.0 * parcel.velocity_m_s.z / gravity_m_s2).clamp(0.0, FLIGHT_S);
    let way_m = parcel.velocity_m_s.xy() * (2.0 * level_s);
    way_m * (WAY_MAX_M / way_m.norm()).min(1.0)
}

/// The node to the south-west of a place, or at it.
fn node_at(model: &Model, at_m: [f64; 2]) -> Node {
    let (origin_m, spacing_m) = (model.terrain().origin_m(), model.terrain().spacing_m());
    let cell = |axis: usize| ((at_m[axis] - origin_m[axis]) / spacing_m).floor() as i32;
    Node { column: cell(0), row: cell(1) }
}

/// The tile at a place.
fn tile_at(model: &Model, at_m: [f64; 2]) -> TileIndex {
    node_at(model, at_m).tile()
}

#[cfg(test)]
mod tests {
    use super::{WAY_MAX_M, way_m};
    use nalgebra::{Vector2, Vector3};
    use selene_base::SimTime;
    use selene_soil::DustParcel;

    fn parcel(velocity_m_s: Vector3<f64>) -> DustParcel {
        DustParcel {
            by: [1, 0],
            from: SimTime::ZERO,
            until: SimTime::ZERO,
            place_m: Vector3::zeros(),
            velocity_m_s,
            mass_ug: 1,
            cross_section_m2: 1e-6,
            deviation_m: 0.03,
            spreading_m_s: 0.04,
        }
    }

    #[test]
    fn ground_is_looked_for_along_twice_the_level_way_and_not_beyond_its_bound() {
        let way_m = |x: f64, y: f64, z: f64| way_m(&parcel(Vector3::new(x, y, z)), 1.62);
        // 1 s of flight over level ground.
        assert!((way_m(3.0, -4.0, 0.81) - Vector2::new(6.0, -8.0)).norm() < 1e-12);
        assert_eq!(way_m(0.0, 0.0, 0.81), Vector2::zeros());
        assert_eq!(way_m(3.0, 4.0, -1.0), Vector2::zeros());
        assert!((way_m(3000.0, 4000.0, 50.0) - Vector2::new(0.6, 0.8) * WAY_MAX_M).norm() < 1e-9);
    }
}

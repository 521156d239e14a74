//! Full wells and blooming: a pixel holds a limited number of electrons. The excess goes to its drain, at most
//! `anti_blooming` times the full well; the rest spills along the column, half up and half down, until it finds room or
//! leaves the detector (blooming of a CCD; J. R. Janesick, Scientific Charge-Coupled Devices, §4.3). Without
//! `anti_blooming` the whole excess is drained, as in the pixels of a CMOS detector. Electrons to electrons.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{positive, within};
use serde::Deserialize;

use super::plate::Plate;

/// `wells`: full wells and blooming.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WellsSpec {
    /// Full well of a pixel, electrons.
    #[garde(custom(positive))]
    pub full_well_e: f64,
    /// Capacity of a pixel's drain per exposure, in full wells; beyond it charge spills. Left out, the drain takes all.
    #[garde(inner(custom(within(0.0, 1e9))))]
    #[serde(default)]
    pub anti_blooming: Option<f64>,
}

impl WellsSpec {
    /// Limits the charge of all pixels of a plate and spills the excess.
    pub(super) fn fill(self, plate: &mut Plate) {
        let columns = plate.width.max(1);
        plate.planes.iter_mut().for_each(|plane| self.fill_plane(plane, columns));
    }

    fn fill_plane(self, plane: &mut [f32], columns: usize) {
        let full = self.full_well_e as f32;
        let spilt = self.anti_blooming.map(|wells| self.spilt(plane, (wells * self.full_well_e) as f32));
        plane.iter_mut().for_each(|held| *held = held.min(full));
        if let Some(spilt) = spilt.filter(|spilt| spilt.iter().any(|over| *over > 0.0)) {
            let mut carried = vec![0.0; columns];
            let rows = || spilt.chunks(columns);
            plane.chunks_mut(columns).zip(rows()).for_each(|(held, over)| pass(&mut carried, held, over, full));
            carried.fill(0.0);
            let upward = plane.chunks_mut(columns).rev().zip(rows().rev());
            upward.for_each(|(held, over)| pass(&mut carried, held, over, full));
        }
    }

    /// Half of the charge that exceeds well and drain, pixel by pixel.
    fn spilt(self, plane: &[f32], drained: f32) -> Vec<f32> {
        let most = self.full_well_e as f32 + drained;
        plane.iter().map(|held| (held - most).max(0.0) / 2.0).collect()
    }
}

/// Fills free wells of a row with the carried charge; carries on what is left and what spills in this row.
fn pass(carried: &mut [f32], held: &mut [f32], over: &[f32], full: f32) {
    for ((carried, held), over) in carried.iter_mut().zip(held).zip(over) {
        let taken = carried.min(full - *held);
        *held += taken;
        *carried += over - taken;
    }
}

#[cfg(test)]
mod tests {
    use super::WellsSpec;
    use crate::develop::plate::{Plate, Quantity};

    /// Three columns of nine rows, with these electrons in the middle of the second.
    fn filled(anti_blooming: Option<f64>, electrons: f32) -> Vec<f32> {
        let mut plane = vec![10.0; 27];
        plane[13] = electrons;
        let mut plate = Plate { width: 3, height: 9, quantity: Quantity::Electrons, planes: vec![plane] };
        WellsSpec { full_well_e: 100.0, anti_blooming }.fill(&mut plate);
        plate.planes.remove(0)
    }

    fn column(plane: &[f32], column: usize) -> Vec<f32> {
        plane.iter().skip(column).step_by(3).copied().collect()
    }

    #[test]
    fn a_well_holds_no_more_than_it_can() {
        let plane = filled(None, 1e6);
        assert_eq!(column(&plane, 1), [10.0, 10.0, 10.0, 10.0, 100.0, 10.0, 10.0, 10.0, 10.0]);
        assert_eq!(column(&filled(None, 60.0), 1)[4], 60.0);
    }

    #[test]
    fn what_is_over_well_and_drain_spills_along_the_column_half_up_and_half_down() {
        // 100 stay, 200 are drained, 250 spill: 125 each way, 90 into each pixel that has 10.
        let plane = filled(Some(2.0), 550.0);
        assert_eq!(column(&plane, 1), [10.0, 10.0, 45.0, 100.0, 100.0, 100.0, 45.0, 10.0, 10.0]);
        assert_eq!(column(&plane, 0), [10.0; 9]);
        // Charge beyond the column's capacity leaves the detector.
        assert_eq!(column(&filled(Some(2.0), 1e6), 1), [100.0; 9]);
    }
}

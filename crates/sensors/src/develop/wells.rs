//! Full wells: a pixel holds so many electrons and no more. What is over goes down its drain, `anti_blooming` wells'
//! worth at the most; the rest spills along the column, half up and half down, until it finds room or leaves the
//! detector (blooming of a CCD; J. R. Janesick, Scientific Charge-Coupled Devices, §4.3). Without `anti_blooming`
//! all that is over is drained, as each pixel of a CMOS detector does. Electrons to electrons.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::input::{positive, within};
use serde::Deserialize;

use super::plate::Plate;

/// `wells`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct WellsSpec {
    /// Electrons that a pixel holds.
    #[garde(custom(positive))]
    pub full_well_e: f64,
    /// Wells that a pixel's drain takes in an exposure before charge spills; all of it where left out.
    #[garde(inner(custom(within(0.0, 1e9))))]
    #[serde(default)]
    pub anti_blooming: Option<f64>,
}

impl WellsSpec {
    /// Fills and spills the wells of a plate.
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

    /// Half of what is over well and drain, pixel by pixel.
    fn spilt(self, plane: &[f32], drained: f32) -> Vec<f32> {
        let most = self.full_well_e as f32 + drained;
        plane.iter().map(|held| (held - most).max(0.0) / 2.0).collect()
    }
}

/// Takes what is carried into the room of a row, and carries on what is left and what spills here.
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

    /// Three columns of nine rows, electrons in the middle of the second.
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
        // More than the column holds leaves the detector.
        assert_eq!(column(&filled(Some(2.0), 1e6), 1), [100.0; 9]);
    }
}

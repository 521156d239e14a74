//! The memory of a touched node, in 16 bytes.

use serde::{Deserialize, Serialize};

/// The memory of a touched node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeMemory {
    /// Height before it was pressed, m.
    pub initial_m: f32,
    /// Vertical plastic sinkage below that height, m: the rut's depth.
    pub plastic_m: f32,
    /// Mobilised share of the shear strength, x and y in the map frame, in units of
    /// 2⁻³¹: rounding makes a parked wheel creep, 64 times less than with `f32`. Soil
    /// that has just moved has no mobilised strength; the value is then `UNSETTLED`.
    mobilised: [i32; 2],
}

/// One, in the units of `NodeMemory::mobilised`.
const MOBILISED_ONE: f64 = 2_147_483_648.0;
/// In place of a mobilised strength, which is never longer than one: soil that has moved and may
/// not yet have come to rest.
const UNSETTLED: [i32; 2] = [i32::MIN; 2];

impl NodeMemory {
    /// A node that no wheel has touched; its height is NaN.
    pub(super) const UNTOUCHED: Self = Self { initial_m: f32::NAN, plastic_m: 0.0, mobilised: [0; 2] };

    /// A node's memory; mobilised strength in units of 2⁻³¹.
    #[must_use]
    pub fn new(initial_m: f32, plastic_m: f32, mobilised: [i32; 2]) -> Self {
        Self { initial_m, plastic_m, mobilised }
    }

    /// Mobilised share of the shear strength, x and y in the map frame.
    #[must_use]
    pub fn mobilised(&self) -> [f64; 2] {
        if self.is_unsettled() {
            return [0.0; 2];
        }
        self.mobilised.map(|share| f64::from(share) / MOBILISED_ONE)
    }

    /// Whether its soil has moved and may not yet have come to rest.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.mobilised == UNSETTLED
    }

    /// The stored mobilised share in units of 2⁻³¹, or the mark of unsettled soil.
    #[must_use]
    pub fn mobilised_units(&self) -> [i32; 2] {
        self.mobilised
    }

    /// Sets the mobilised share of the strength; its magnitude never exceeds one.
    pub(crate) fn set_mobilised(&mut self, share: [f64; 2]) {
        // The cast saturates: a share of one becomes the nearest value below.
        self.mobilised = share.map(|share| (share * MOBILISED_ONE).round() as i32);
    }

    /// Moves soil to or from the node until its surface is at `height_m`, m. Added soil fills the rut
    /// first and is as strong as soil pressed that deep; above that it is like undisturbed ground,
    /// which bears once it is pressed. Removed soil lowers the ground and leaves its plastic sinkage. Returns the
    /// new height, which rounding may change by a bit.
    pub(super) fn move_soil_to(&mut self, height_m: f32) -> f32 {
        let fills = height_m >= self.initial_m - self.plastic_m;
        (self.initial_m, self.plastic_m) = match (fills, height_m <= self.initial_m) {
            (true, true) => (self.initial_m, self.initial_m - height_m),
            (true, false) => (height_m, 0.0),
            (false, _) => (height_m + self.plastic_m, self.plastic_m),
        };
        self.initial_m - self.plastic_m
    }

    pub(super) fn unsettle(&mut self) {
        self.mobilised = UNSETTLED;
    }

    /// Marks its soil as at rest; mobilised strength stays.
    pub(super) fn settle(&mut self) {
        if self.is_unsettled() {
            self.mobilised = [0; 2];
        }
    }

    /// The bit patterns of all its values.
    #[must_use]
    pub fn bits(&self) -> [u32; 4] {
        let Self { initial_m, plastic_m, mobilised: [x, y] } = *self;
        [initial_m.to_bits(), plastic_m.to_bits(), x as u32, y as u32]
    }

    /// Whether its heights are finite.
    pub(super) fn is_sound(&self) -> bool {
        self.initial_m.is_finite() && self.plastic_m.is_finite()
    }

    /// Whether it was touched and some of its strength is mobilised: a solid presses it, or did and
    /// has not been lifted off by more than the gap that resets shear.
    pub(crate) fn is_mobilised(&self) -> bool {
        self.has_units() && !self.is_unsettled()
    }

    /// Whether it was touched and has mobilised strength or the mark of unsettled soil.
    pub(super) fn has_units(&self) -> bool {
        self.is_touched() && self.mobilised != [0; 2]
    }

    pub(crate) fn is_touched(&self) -> bool {
        !self.initial_m.is_nan()
    }
}

#[cfg(test)]
mod tests {
    use super::NodeMemory;

    /// Heights are kept as `f32`.
    const TOLERANCE_M: f32 = 1e-6;

    #[test]
    fn soil_fills_a_rut_before_it_heaps_and_leaves_without_weakening_what_stays() {
        let mut node = NodeMemory::new(1.0, 0.03, [5, 5]);
        for (to_m, initial_m, plastic_m) in [
            (0.98, 1.0, 0.02), // into the rut
            (1.01, 1.01, 0.0), // over its brim: a heap on ground that nothing pressed
            (1.005, 1.005, 0.0),
            (0.99, 0.99, 0.0),
        ] {
            assert!((node.move_soil_to(to_m) - to_m).abs() < TOLERANCE_M);
            assert!((node.initial_m - initial_m).abs() < TOLERANCE_M, "{node:?}");
            assert!((node.plastic_m - plastic_m).abs() < TOLERANCE_M, "{node:?}");
        }
        let mut wall = NodeMemory::new(1.0, 0.03, [0; 2]);
        wall.move_soil_to(0.96);
        assert!((wall.plastic_m - 0.03).abs() < TOLERANCE_M, "as strong as before: {wall:?}");
    }

    #[test]
    fn what_is_unsettled_has_no_strength_and_no_strength_looks_like_it() {
        let mut node = NodeMemory::new(1.0, 0.0, [0; 2]);
        for share in [[-1.0, 0.0], [0.0, -1.0], [-0.707, -0.707]] {
            node.set_mobilised(share);
            assert!(!node.is_unsettled() && node.is_mobilised());
        }
        node.unsettle();
        assert!(node.is_unsettled() && !node.is_mobilised() && node.mobilised() == [0.0; 2]);
        node.settle();
        assert_eq!(node, NodeMemory::new(1.0, 0.0, [0; 2]));
    }
}

//! What a touched node remembers, in 16 bytes.

use serde::{Deserialize, Serialize};

/// What a touched node remembers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeMemory {
    /// Height before it was pressed, m.
    pub initial_m: f32,
    /// Vertical plastic sinkage below that height, m: the rut's depth.
    pub plastic_m: f32,
    /// Share of the shear strength mobilised, x and y in the map frame, in units of
    /// 2⁻³¹: a parked wheel creeps at the speed that rounding hides, 64 times less
    /// than with `f32`. Soil that has just moved has none and stands here as `UNSETTLED`.
    mobilised: [i32; 2],
}

/// One, in the units of `NodeMemory::mobilised`.
const MOBILISED_ONE: f64 = 2_147_483_648.0;
/// In place of a mobilised strength, which is never longer than one: soil that has moved and may
/// not yet have come to rest.
const UNSETTLED: [i32; 2] = [i32::MIN; 2];

impl NodeMemory {
    /// A node that no wheel has touched; told by its height.
    pub(super) const UNTOUCHED: Self = Self { initial_m: f32::NAN, plastic_m: 0.0, mobilised: [0; 2] };

    /// A node's memory; mobilised strength in units of 2⁻³¹.
    #[must_use]
    pub fn new(initial_m: f32, plastic_m: f32, mobilised: [i32; 2]) -> Self {
        Self { initial_m, plastic_m, mobilised }
    }

    /// Share of the shear strength mobilised, x and y in the map frame.
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

    /// The same in units of 2⁻³¹, as it is kept, with the mark of unsettled soil.
    #[must_use]
    pub fn mobilised_units(&self) -> [i32; 2] {
        self.mobilised
    }

    /// Sets the mobilised share of the strength; its magnitude never exceeds one.
    pub(crate) fn set_mobilised(&mut self, share: [f64; 2]) {
        // The cast saturates: one itself is the nearest value below.
        self.mobilised = share.map(|share| (share * MOBILISED_ONE).round() as i32);
    }

    /// Soil moves to or from the node until its surface lies at `height_m`. What comes fills the
    /// rut first and is as strong as soil pressed that deep; beyond, it is ground like any, that
    /// bears when it is pressed anew. What goes takes the ground's height and leaves its strength.
    /// The height then, which rounding may shift by a bit.
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

    /// Its soil rests; strength that is mobilised stays.
    pub(super) fn settle(&mut self) {
        if self.is_unsettled() {
            self.mobilised = [0; 2];
        }
    }

    /// Every bit of it.
    #[must_use]
    pub fn bits(&self) -> [u32; 4] {
        let [x, y] = self.mobilised;
        [self.initial_m.to_bits(), self.plastic_m.to_bits(), x as u32, y as u32]
    }

    /// Whether its heights are numbers.
    pub(super) fn is_sound(&self) -> bool {
        self.initial_m.is_finite() && self.plastic_m.is_finite()
    }

    /// Whether it was touched and some of its strength is mobilised: something presses it, or did
    /// and stood too near since to forget it.
    pub(crate) fn is_mobilised(&self) -> bool {
        self.has_units() && !self.is_unsettled()
    }

    /// Whether it was touched and is kept with more than its heights.
    pub(super) fn has_units(&self) -> bool {
        self.is_touched() && self.mobilised != [0; 2]
    }

    pub(super) fn is_touched(&self) -> bool {
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

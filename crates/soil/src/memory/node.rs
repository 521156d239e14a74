//! What a touched node remembers, in 16 bytes.

use serde::{Deserialize, Serialize};

/// What a touched node remembers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeMemory {
    /// Height before it was pressed, m.
    pub initial_m: f32,
    /// Vertical plastic sinkage below that height, m: the rut's depth; negative where
    /// loose soil lies on it.
    pub plastic_m: f32,
    /// Share of the shear strength mobilised, x and y in the map frame, in units of
    /// 2⁻³¹: a parked wheel creeps at the speed that rounding hides, 64 times less
    /// than with `f32`.
    mobilised: [i32; 2],
}

/// One, in the units of `NodeMemory::mobilised`.
const MOBILISED_ONE: f64 = 2_147_483_648.0;

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
        self.mobilised.map(|share| f64::from(share) / MOBILISED_ONE)
    }

    /// The same in units of 2⁻³¹, as it is kept.
    #[must_use]
    pub fn mobilised_units(&self) -> [i32; 2] {
        self.mobilised
    }

    /// Sets the mobilised share of the strength; its magnitude never exceeds one.
    pub(crate) fn set_mobilised(&mut self, share: [f64; 2]) {
        // The cast saturates: one itself is the nearest value below.
        self.mobilised = share.map(|share| (share * MOBILISED_ONE).round() as i32);
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

    /// Whether it was touched and some of its strength is mobilised.
    pub(super) fn is_mobilised(&self) -> bool {
        self.is_touched() && self.mobilised != [0; 2]
    }

    pub(super) fn is_touched(&self) -> bool {
        !self.initial_m.is_nan()
    }
}

//! Detail of the ground below its mesh: the relief's law carried on to waves shorter than
//! the grid's, as slopes that turn normals and as spots of albedo. Heights stay as they
//! are, so nothing casts shadows that the wheels do not meet. It is a function of the
//! place alone, and of each octave a pixel takes as much as it can hold.

use std::f64::consts::PI;

use crate::record::GlobalsRecord;

/// What the ground is like below the finest grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Standard deviation of the relief's octave of one metre, m.
    pub deviation_at_1m_m: f64,
    /// Its Hurst exponent below a metre.
    pub hurst: f64,
    /// Part of the law's slopes that is shown: Hapke's roughness holds slopes of these
    /// sizes as well, so that all of both would count some twice.
    pub strength: f64,
    /// Standard deviation of the albedo of each octave, relative; at most 0.3.
    pub mottle: f64,
}

impl Detail {
    /// A ground as smooth and even as its mesh.
    pub const NONE: Self = Self { deviation_at_1m_m: 0.0, hurst: 0.7, strength: 0.0, mottle: 0.0 };

    /// Writes what the kernels need, for a finest grid of `spacing_m` whose post (0, 0) is
    /// the `origin`-th from the map's origin. An octave on a lattice of s holds waves of
    /// λ = 2 s with heights that deviate by d(λ), so slopes along each axis by √½ 2π d/λ.
    pub(crate) fn write(&self, spacing_m: f64, origin: [i64; 2], globals: &mut GlobalsRecord) {
        let wave_m = 2.0 * spacing_m;
        let deviation_m = self.deviation_at_1m_m * wave_m.powf(self.hurst);
        globals.detail_slope = (self.strength * 0.5_f64.sqrt() * 2.0 * PI * deviation_m / wave_m) as f32;
        globals.detail_gain = 2.0_f64.powf(1.0 - self.hurst) as f32;
        globals.detail_mottle = self.mottle as f32;
        // Far off the count wraps: so does the kernels'.
        globals.detail_origin = origin.map(|posts| posts as i32);
    }
}

//! Detail of the ground finer than its mesh: the relief's law extended to waves shorter than the grid's, as slopes that
//! tilt normals and as variations of albedo; and craterlets, which tilt normals and lie in their own shadow. Heights do not
//! change, so nothing casts a shadow on other ground that the wheels do not meet. Detail depends on the position alone; a
//! pixel includes of each octave only as much as it can resolve.

use std::f64::consts::PI;

use selene_terrain::CraterSizes;

use crate::kernel::craterlet::LEAST_RADIUS;
use crate::record::GlobalsRecord;

/// Statistics of the ground below the resolution of the finest grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Standard deviation of the relief's octave of 1 m wavelength, m.
    pub deviation_at_1m_m: f64,
    /// Hurst exponent of the relief below 1 m.
    pub hurst: f64,
    /// Fraction of the law's slopes that is applied, 0…1: Hapke's roughness already contains slopes of these sizes, so
    /// applying all of them would count some twice.
    pub strength: f64,
    /// Standard deviation of each octave of the albedo, relative to the mean; at most 0.3.
    pub mottle: f64,
    /// Number of craterlets relative to Trask's equilibrium, 0…1.9.
    pub craterlets: f64,
}

impl Detail {
    /// No detail: the ground is as smooth and uniform as its mesh.
    pub const NONE: Self = Self { deviation_at_1m_m: 0.0, hurst: 0.7, strength: 0.0, mottle: 0.0, craterlets: 0.0 };

    /// Writes the kernels' inputs for a finest grid of `spacing_m` whose post (0, 0) is the `origin`-th post from the
    /// map's origin. An octave on a lattice of spacing s holds waves of λ = 2 s with heights of standard deviation
    /// d(λ),
    /// so the slopes along each axis have the standard deviation √½ 2π d/λ.
    pub(crate) fn write(&self, spacing_m: f64, origin: [i64; 2], globals: &mut GlobalsRecord) {
        let wave_m = 2.0 * spacing_m;
        let deviation_m = self.deviation_at_1m_m * wave_m.powf(self.hurst);
        globals.detail_slope = (self.strength * 0.5_f64.sqrt() * 2.0 * PI * deviation_m / wave_m) as f32;
        globals.detail_gain = 2.0_f64.powf(1.0 - self.hurst) as f32;
        globals.detail_mottle = self.mottle as f32;
        globals.detail_craterlets = (self.craterlets * equilibrium_per_cell()) as f32;
        // Far from the map's origin the count wraps, as it does in the kernel.
        globals.detail_origin = origin.map(|posts| posts as i32);
    }
}

/// Craterlets per cell of a lattice in Trask's equilibrium, 0.515: the law's craters with the diameters that a cell's
/// craterlet may have. They are as many in a cell of any size.
fn equilibrium_per_cell() -> f64 {
    let [least, greatest] = [2.0, 4.0].map(|radii| radii * f64::from(LEAST_RADIUS));
    CraterSizes::Trask.density_m2(least) - CraterSizes::Trask.density_m2(greatest)
}

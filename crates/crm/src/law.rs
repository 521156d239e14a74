//! Constitutive law: the stress of a point after a substep. With the velocity gradient L, its symmetric part D and spin
//! W, the trial stress follows the elastic law in Jaumann's rate:
//! `σᵗ = σ + Δt (2G dev D + K tr D I + Wσ − σW)`.
//!
//! - Pressure `p = −tr σᵗ/3`. The point is open (σ = 0) when p ≤ 0 or when it has spread
//!   beyond `OPEN_RATIO` of its volume.
//! - `τ = √(½ s:s)` returns to the yield surface of μ(I) friction, implicitly (Dunatunga and
//!   Kamrin 2015): with `p* = p + c/μs`, `s₀ = μs p*`, `s₂ = μ2 p*` and
//!   `α = G I₀ Δt √(p/ρs)/d`, the new τ solves `τ' = τ − GΔt γ̇ᵖ(τ')`:
//!   `τ' = 2H/(B + √(B² − 4H))`, `B = s₂ + τ + α`, `H = s₂τ + s₀α`. With μ2 = μs it is s₀.
//! - There is no dilatancy.

use fearless_simd::prelude::*;

use crate::lanes::{Floats, Mask, Matrices, Symmetric};
use crate::spec::CrmSpec;

/// Volume, relative to that at rest, beyond which soil bears no stress.
pub(crate) const OPEN_RATIO: f32 = 1.02;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Law {
    bulk_pa: f32,
    shear_pa: f32,
    friction_static: f32,
    friction_dynamic: f32,
    cohesion_pa: f32,
    /// `G I₀/(d √ρs)`: times Δt √p it gives α.
    viscous: f32,
}

impl From<&CrmSpec> for Law {
    fn from(soil: &CrmSpec) -> Self {
        let viscous = soil.shear_pa() * soil.inertial_number / (soil.grain_m * soil.grain_density_kg_m3.sqrt());
        Self {
            bulk_pa: soil.bulk_pa() as f32,
            shear_pa: soil.shear_pa() as f32,
            friction_static: soil.friction_static as f32,
            friction_dynamic: soil.friction_dynamic as f32,
            cohesion_pa: soil.cohesion_pa as f32,
            viscous: viscous as f32,
        }
    }
}

impl Law {
    /// `G I₀/(d √ρs)`, for the kernels.
    pub(crate) fn viscous(&self) -> f32 {
        self.viscous
    }

    /// The stresses of eight points after `substep_s` in the velocity gradients `gradients`, 1/s.
    #[inline(always)]
    pub(crate) fn stresses<S: Simd>(
        &self,
        stresses: Symmetric<S>,
        volume_ratios: Floats<S>,
        gradients: &Matrices<S>,
        substep_s: f32,
    ) -> Symmetric<S> {
        let trial = self.trial(stresses, gradients, substep_s);
        let [xx, yy, zz, xy, xz, yz] = trial;
        let pressure = (xx + yy + zz) * (-1.0 / 3.0);
        let [dxx, dyy, dzz] = [xx + pressure, yy + pressure, zz + pressure];
        let across = xy * xy + xz * xz + yz * yz;
        let shear = ((dxx * dxx + dyy * dyy + dzz * dzz) * 0.5 + across).sqrt();
        let (left, is_elastic) = self.yielded(shear, pressure, substep_s);
        let zero = Floats::splat(pressure.simd, 0.0);
        let is_open = pressure.simd_le(zero) | volume_ratios.simd_gt(zero + OPEN_RATIO);
        let returned =
            [dxx * left - pressure, dyy * left - pressure, dzz * left - pressure, xy * left, xz * left, yz * left];
        let mut after = trial;
        for n in 0..after.len() {
            after[n] = is_open.select(zero, is_elastic.select(trial[n], returned[n]));
        }
        after
    }

    #[inline(always)]
    fn trial<S: Simd>(
        &self,
        [xx, yy, zz, xy, xz, yz]: Symmetric<S>,
        gradients: &Matrices<S>,
        substep_s: f32,
    ) -> Symmetric<S> {
        let [[lxx, lxy, lxz], [lyx, lyy, lyz], [lzx, lzy, lzz]] = *gradients;
        // Twice the upper half of the spin.
        let (spin_xy, spin_xz, spin_yz) = (lxy - lyx, lxz - lzx, lyz - lzy);
        let dilated = (lxx + lyy + lzz) * (self.bulk_pa - 2.0 / 3.0 * self.shear_pa);
        let (shear_pa, twice) = (self.shear_pa, 2.0 * self.shear_pa);
        let [turned_xy, turned_xz, turned_yz] = [
            spin_xy * (yy - xx) + spin_xz * yz + spin_yz * xz,
            spin_xy * yz + spin_xz * (zz - xx) - spin_yz * xy,
            spin_yz * (zz - yy) - spin_xy * xz - spin_xz * xy,
        ];
        [
            xx + (lxx * twice + dilated + (spin_xy * xy + spin_xz * xz)) * substep_s,
            yy + (lyy * twice + dilated + (spin_yz * yz - spin_xy * xy)) * substep_s,
            zz + (lzz * twice + dilated - (spin_xz * xz + spin_yz * yz)) * substep_s,
            xy + ((lxy + lyx) * shear_pa + turned_xy * 0.5) * substep_s,
            xz + ((lxz + lzx) * shear_pa + turned_xz * 0.5) * substep_s,
            yz + ((lyz + lzy) * shear_pa + turned_yz * 0.5) * substep_s,
        ]
    }

    /// Fraction of the trial `shear` that remains after yield, and a mask of the points that do not yield.
    #[inline(always)]
    fn yielded<S: Simd>(&self, shear: Floats<S>, pressure: Floats<S>, substep_s: f32) -> (Floats<S>, Mask<S>) {
        let strength = pressure + self.cohesion_pa / self.friction_static;
        let (slow, fast) = (strength * self.friction_static, strength * self.friction_dynamic);
        // A negative pressure gives NaN here; such a point is open and bears no stress.
        let alpha = pressure.sqrt() * (self.viscous * substep_s);
        let b = fast + shear + alpha;
        let h = fast * shear + slow * alpha;
        let squared = b * b - h * 4.0;
        let zero = Floats::splat(pressure.simd, 0.0);
        let root = squared.simd_gt(zero).select(squared, zero).sqrt();
        (h * 2.0 / ((b + root) * shear), shear.simd_le(slow))
    }
}

#[cfg(test)]
mod tests {
    use fearless_simd::prelude::*;
    use fearless_simd::{Level, dispatch};
    use nalgebra::Matrix3;

    use super::Law;
    use crate::lanes::{Symmetric, floats};
    use crate::spec::CrmSpec;

    impl Law {
        /// The stress of one point.
        fn stress(&self, stress: &Matrix3<f32>, ratio: f32, gradient: &Matrix3<f32>, substep_s: f32) -> Matrix3<f32> {
            dispatch!(Level::new(), simd => self.stress_on(simd, stress, ratio, gradient, substep_s))
        }

        #[inline(always)]
        fn stress_on<S: Simd>(
            &self,
            simd: S,
            stress: &Matrix3<f32>,
            ratio: f32,
            gradient: &Matrix3<f32>,
            substep_s: f32,
        ) -> Matrix3<f32> {
            let lanes = |number: f32| floats(simd, |_| number);
            let before = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].map(|at| lanes(stress[at]));
            let gradients = [0, 1, 2].map(|row| [0, 1, 2].map(|column| lanes(gradient[(row, column)])));
            let after: Symmetric<S> = self.stresses(before, lanes(ratio), &gradients, substep_s);
            let [xx, yy, zz, xy, xz, yz] = after.map(|numbers| numbers[5]);
            Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
        }
    }

    const SOIL: CrmSpec = CrmSpec {
        density_kg_m3: 1500.0,
        young_pa: 1e6,
        poisson: 0.3,
        friction_static: 0.38,
        friction_dynamic: 0.64,
        inertial_number: 0.279,
        grain_m: 1e-3,
        grain_density_kg_m3: 2500.0,
        cohesion_pa: 0.0,
    };

    fn sheared(rate_s: f32) -> Matrix3<f32> {
        let mut gradient = Matrix3::zeros();
        gradient[(0, 2)] = rate_s;
        gradient
    }

    /// Under steady shear at one rate, soil mobilises the friction `μs + (μ2 − μs) I/(I₀ + I)`.
    #[test]
    fn steady_shear_mobilises_the_friction_of_its_inertial_number() {
        let law = Law::from(&SOIL);
        for rate_s in [0.1_f32, 10.0, 100.0] {
            let mut stress = Matrix3::from_diagonal_element(-1000.0);
            for _ in 0..20_000 {
                stress = law.stress(&stress, 1.0, &sheared(rate_s), 1e-2 / rate_s);
            }
            let pressure = f64::from(-stress.trace() / 3.0);
            let inertial = f64::from(rate_s) * SOIL.grain_m * (SOIL.grain_density_kg_m3 / pressure).sqrt();
            let expected = 0.38 + (0.64 - 0.38) * inertial / (SOIL.inertial_number + inertial);
            let deviator = stress - Matrix3::from_diagonal_element(stress.trace() / 3.0);
            let mobilised = f64::from((0.5 * deviator.norm_squared()).sqrt()) / pressure;
            assert!((mobilised / expected - 1.0).abs() < 2e-3, "{rate_s} 1/s: {mobilised} is not {expected}");
        }
    }

    #[test]
    fn cohesion_is_shear_strength_and_no_tension() {
        let cohesive = CrmSpec { cohesion_pa: 500.0, friction_dynamic: 0.38, ..SOIL };
        let law = Law::from(&cohesive);
        let mut stress = Matrix3::from_diagonal_element(-1000.0);
        for _ in 0..2000 {
            stress = law.stress(&stress, 1.0, &sheared(1.0), 1e-3);
        }
        let deviator = stress - Matrix3::from_diagonal_element(stress.trace() / 3.0);
        let shear = (0.5 * deviator.norm_squared()).sqrt();
        assert!((shear - (0.38 * 1000.0 + 500.0)).abs() < 1.0, "{shear} Pa");
        let pulled = law.stress(&stress, 1.0, &Matrix3::from_diagonal_element(10.0), 1.0);
        assert_eq!(pulled, Matrix3::zeros());
        assert_eq!(law.stress(&stress, 1.03, &Matrix3::zeros(), 1e-3), Matrix3::zeros());
    }

    #[test]
    fn a_rigid_turn_turns_the_stress() {
        let law = Law::from(&SOIL);
        let mut stress = Matrix3::from_diagonal(&nalgebra::Vector3::new(-900.0, -1000.0, -1100.0));
        let spin = Matrix3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0_f32);
        let steps = 2000_u16;
        for _ in 0..steps {
            stress = law.stress(&stress, 1.0, &spin, std::f32::consts::FRAC_PI_2 / f32::from(steps));
        }
        assert!((stress[(0, 0)] + 1000.0).abs() < 2.0 && (stress[(1, 1)] + 900.0).abs() < 2.0, "{stress}");
    }
}

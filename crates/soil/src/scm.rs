//! The soil contact model (Krenn and Hirzinger 2009; Serban et al. 2023), node by
//! node. Normal to the terrain: σ = E (z − z_pl) until it meets Bekker's curve
//! (Kc/b + Kφ) zⁿ, then along that curve with z_pl = z − σ/E; less R v_n, and never
//! below zero, so that soil cannot pull. Since E exceeds the curve's slope, the two
//! cross once and z_pl alone remembers the yield pressure.
//!
//! Along the terrain: Janosi–Hanamoto, τ = (c + σ tan φ)(1 − e^(−j/J)), kept as a
//! vector m of mobilised strength (|m| ≤ 1) with dm = (d − m)|dj|/J, where d is the
//! direction of the soil's force. For a steady direction this is the formula exactly;
//! when the direction turns, m follows within J and the work between is dissipated, so a
//! parked wheel comes to rest instead of creeping. The acting strength is a little ahead of
//! m (`AHEAD_M`), and further ahead where sliding reverses against m (`BACK_M`): a
//! viscosity that damps the sway of a stopped rover and does not change steady slip.

use garde::Validate;
use nalgebra::Vector3;

use crate::dust::Dust;
use crate::spec::{BulldozingSpec, Pressure, ScmSpec, SlipSinkage, SoilLaw, SoilSpec};

/// A negative Kc (a fit's artefact) times a small patch would make soil that pushes
/// the wrong way: the modulus never falls below this share of Kφ.
const MODULUS_FLOOR: f64 = 0.1;
/// The acting strength is that after sliding up to this much further: too little to matter to a
/// driven wheel (1 % of its pull), enough to damp a parked rover's sway.
const AHEAD_M: f64 = 5e-5;
/// Sliding speed at which half of `AHEAD_M` is reached: for slow sliding a retardation time of
/// 20 ms, about a tenth of critical damping for a sway at 2 Hz.
const AHEAD_SPEED_M_S: f64 = 2.5e-3;

/// The same distance where sliding reduces the mobilised strength: soil dissipates energy as it
/// unloads, which damps the sway of a rover on its wheels' shear (about 2 Hz). VIPER on lunar soil
/// loses half of the sway or more each half period and stands still 1.5 s after a stop.
const BACK_M: f64 = 4e-3;
/// Sliding speed at which half of `BACK_M` is reached: a retardation time of 0.1 s.
const BACK_SPEED_M_S: f64 = 0.04;

/// A soil that is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SoilError {
    /// A parameter is out of its range.
    #[error("soil '{name}' is refused: {report}")]
    Refused {
        /// The soil's name.
        name: String,
        /// The refused values, with their allowed ranges.
        report: String,
    },
}

/// Validated parameters of the soil contact model; SI, radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scm {
    pub(crate) k_phi: f64,
    pub(crate) k_c: f64,
    pub(crate) n: f64,
    pub(crate) cohesion_pa: f64,
    pub(crate) friction_tan: f64,
    pub(crate) janosi_m: f64,
    pub(crate) elastic_pa_per_m: f64,
    pub(crate) damping_pa_s_per_m: f64,
    pub(crate) pressure: Pressure,
    pub(crate) slip_sinkage: Option<SlipSinkage>,
    pub(crate) density_kg_m3: f64,
    pub(crate) bulldozing: Option<Bulldozing>,
    pub(crate) dust: Option<Dust>,
}

/// Validated parameters of bulldozing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bulldozing {
    pub(crate) repose_tan: f64,
    pub(crate) flow: f64,
}

impl Default for Bulldozing {
    fn default() -> Self {
        Self::from(&BulldozingSpec::default())
    }
}

impl From<&BulldozingSpec> for Bulldozing {
    fn from(spec: &BulldozingSpec) -> Self {
        Self { repose_tan: spec.repose_deg.to_radians().tan(), flow: spec.flow }
    }
}

impl TryFrom<&SoilSpec> for Scm {
    type Error = SoilError;

    fn try_from(spec: &SoilSpec) -> Result<Self, SoilError> {
        spec.validate().map_err(|report| SoilError::Refused { name: spec.name.clone(), report: report.to_string() })?;
        let SoilLaw::Scm(law) = &spec.law else {
            let report = format!("law: {} is not allowed here: must be scm", spec.law.key());
            return Err(SoilError::Refused { name: spec.name.clone(), report });
        };
        let bulldozing = spec.bulldozing.as_ref().map(Bulldozing::from);
        Ok(Self { bulldozing, dust: spec.dust.as_ref().map(Dust::from), ..Self::from_law(law) })
    }
}

/// The normal response of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Normal {
    /// Pressure, Pa.
    pub(crate) sigma_pa: f64,
    /// Plastic sinkage after the step, m, along the normal.
    pub(crate) plastic_m: f64,
}

impl Scm {
    fn from_law(law: &ScmSpec) -> Self {
        Self {
            k_phi: law.k_phi,
            k_c: law.k_c,
            n: law.n,
            cohesion_pa: law.cohesion_pa,
            friction_tan: law.friction_deg.to_radians().tan(),
            janosi_m: law.janosi_m,
            elastic_pa_per_m: law.elastic_pa_per_m,
            damping_pa_s_per_m: law.damping_pa_s_per_m,
            pressure: law.pressure,
            slip_sinkage: law.slip_sinkage,
            density_kg_m3: law.density_kg_m3,
            bulldozing: None,
            dust: None,
        }
    }

    /// The same soil with bulldozing on or off.
    #[must_use]
    pub fn with_bulldozing(self, bulldozing: Option<Bulldozing>) -> Self {
        Self { bulldozing, ..self }
    }

    /// The same soil with thrown dust on or off.
    #[must_use]
    pub fn with_dust(self, dust: Option<Dust>) -> Self {
        Self { dust, ..self }
    }

    /// Whether Bekker's modulus depends on the patch.
    pub(crate) fn needs_patch(&self) -> bool {
        self.k_c != 0.0
    }

    /// Bekker's modulus Kc/b + Kφ, `N/m^(n+2)`, for a patch with 1/b, and whether it
    /// had to be raised to its floor.
    pub(crate) fn modulus(&self, inverse_b_per_m: f64) -> (f64, bool) {
        let (fitted, floor) = (self.k_c * inverse_b_per_m + self.k_phi, MODULUS_FLOOR * self.k_phi);
        (fitted.max(floor), fitted < floor)
    }

    /// Bekker's pressure at sinkage `z_m`, Pa.
    pub(crate) fn bekker_pa(&self, modulus: f64, z_m: f64) -> f64 {
        if self.n == 1.0 { modulus * z_m } else { modulus * z_m.powf(self.n) }
    }

    /// Elasto-plastic pressure at sinkage `z_m`, before damping.
    pub(crate) fn normal(&self, modulus: f64, z_m: f64, plastic_m: f64) -> Normal {
        let trial = self.elastic_pa_per_m * (z_m - plastic_m);
        let limit = if z_m > 0.0 { self.bekker_pa(modulus, z_m) } else { 0.0 };
        if trial <= limit {
            return Normal { sigma_pa: trial.max(0.0), plastic_m };
        }
        Normal { sigma_pa: limit, plastic_m: z_m - limit / self.elastic_pa_per_m }
    }

    /// Pressure with damping, Pa, at normal velocity `v_m_s` (up positive); never negative, and
    /// zero where `sigma_pa` is zero.
    pub(crate) fn damped_pa(&self, sigma_pa: f64, v_m_s: f64) -> f64 {
        if sigma_pa > 0.0 { (sigma_pa - self.damping_pa_s_per_m * v_m_s).max(0.0) } else { 0.0 }
    }

    /// Share of Bekker's modulus left in soil whose mobilised strength is `mobilised`. The sheared
    /// length follows by Janosi's formula, j = −J ln(1 − mobilised), so that the nodes need no further
    /// memory. A skin that slides on the soil shears it less: its `grip` scales the loss.
    pub(crate) fn bearing_share(&self, mobilised: f64, grip: f64) -> f64 {
        let Some(SlipSinkage { loss, displacement_m }) = self.slip_sinkage else { return 1.0 };
        1.0 - grip * loss * (1.0 - (1.0 - mobilised.min(1.0)).powf(self.janosi_m / displacement_m))
    }

    /// Passive resistance of soil `depth_m` deep against a wall that is pushed into it,
    /// N per metre of wall (Rankine): ½ ρ g h² Nφ + 2 c h √Nφ.
    pub(crate) fn wall_n_per_m(&self, depth_m: f64, gravity_m_s2: f64) -> f64 {
        let passive = passive_coefficient(self.friction_tan);
        let weight_n_m3 = self.density_kg_m3 * gravity_m_s2;
        (0.5 * weight_n_m3 * depth_m * passive + 2.0 * self.cohesion_pa * passive.sqrt()) * depth_m
    }

    /// Mohr–Coulomb strength, Pa; zero without pressure.
    pub(crate) fn strength_pa(&self, sigma_pa: f64) -> f64 {
        if sigma_pa > 0.0 { self.cohesion_pa + sigma_pa * self.friction_tan } else { 0.0 }
    }
}

/// Rankine's coefficient of passive earth pressure, Nφ = tan²(45° + φ/2).
pub(crate) fn passive_coefficient(friction_tan: f64) -> f64 {
    // (1 + sin φ)/(1 − sin φ) = (√(1 + tan² φ) + tan φ)².
    (1.0_f64.hypot(friction_tan) + friction_tan).powi(2)
}

/// Mobilised strength after sliding at `slide_m_s` for `dt_s`, and the acting strength, both as
/// vectors over the full strength.
pub(crate) fn mobilise(
    mobilised: Vector3<f64>,
    slide_m_s: Vector3<f64>,
    dt_s: f64,
    janosi_m: f64,
) -> (Vector3<f64>, Vector3<f64>) {
    let speed = slide_m_s.norm();
    if speed == 0.0 {
        return (mobilised, mobilised);
    }
    // Few divisions: this runs for every node of every wheel in every step.
    let per_janosi = 1.0 / janosi_m;
    let push = slide_m_s * (-1.0 / speed);
    let after = mobilised + (push - mobilised) * one_minus_exp(speed * dt_s * per_janosi);
    let ahead_m = AHEAD_M * speed / (speed + AHEAD_SPEED_M_S)
        + undoing(&after, &push) * (BACK_M * speed / (speed + BACK_SPEED_M_S));
    let acting = after + (push - after) * one_minus_exp(ahead_m * per_janosi);
    (after, acting)
}

/// How far a push is against the mobilised strength: 0 along it, 1 against it.
fn undoing(mobilised: &Vector3<f64>, push: &Vector3<f64>) -> f64 {
    let strength = mobilised.norm();
    if strength > 0.0 { 0.5 * (1.0 - mobilised.dot(push) / strength) } else { 0.0 }
}

/// 1 − e^(−x) for x ≥ 0, by its series where x is small, as it is nearly always.
fn one_minus_exp(x: f64) -> f64 {
    if x > 0.1 {
        return 1.0 - (-x).exp();
    }
    x * (1.0 - x * (1.0 / 2.0) * (1.0 - x * (1.0 / 3.0) * (1.0 - x * (1.0 / 4.0) * (1.0 - x * (1.0 / 5.0)))))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{MODULUS_FLOOR, Pressure, Scm, mobilise, one_minus_exp, passive_coefficient};
    use nalgebra::Vector3;

    /// Soil `lunar` of config/soil.
    pub(crate) const LUNAR: Scm = Scm {
        k_phi: 0.82e6,
        k_c: 1.4e3,
        n: 1.0,
        cohesion_pa: 170.0,
        friction_tan: 0.700_207_538_209_709_9,
        janosi_m: 0.0178,
        elastic_pa_per_m: 2e8,
        damping_pa_s_per_m: 3e4,
        pressure: Pressure::Terrain,
        slip_sinkage: None,
        density_kg_m3: 0.0,
        bulldozing: None,
        dust: None,
    };
    /// The series' first dropped term is x⁶/720.
    const SERIES_TOLERANCE: f64 = 1e-8;

    #[test]
    fn loading_follows_bekker_and_unloading_the_elastic_line() {
        let loaded = LUNAR.normal(LUNAR.k_phi, 0.01, 0.0);
        assert!((loaded.sigma_pa - LUNAR.k_phi * 0.01).abs() < 1e-9);
        let unloaded = LUNAR.normal(LUNAR.k_phi, 0.01 - 1e-5, loaded.plastic_m);
        assert!((loaded.sigma_pa - unloaded.sigma_pa - 1e-5 * LUNAR.elastic_pa_per_m).abs() < 1e-6);
        assert_eq!(unloaded.plastic_m, loaded.plastic_m);
        let again = LUNAR.normal(LUNAR.k_phi, 0.01, loaded.plastic_m);
        assert!((again.sigma_pa - loaded.sigma_pa).abs() < 1e-6);
    }

    #[test]
    fn a_negative_kc_meets_the_floor_only_under_small_patches_and_reports_it() {
        let grc = Scm { k_phi: 2.99e6, k_c: -2.02e5, ..LUNAR };
        assert_eq!(grc.modulus(10.0), (2.99e6 - 2.02e6, false));
        assert_eq!(grc.modulus(50.0), (MODULUS_FLOOR * grc.k_phi, true));
        assert!(!LUNAR.modulus(1e6).1);
    }

    #[test]
    fn damping_never_pulls() {
        assert_eq!(LUNAR.damped_pa(100.0, 1.0), 0.0);
        assert_eq!(LUNAR.damped_pa(100.0, -1.0), 100.0 + 3e4);
        assert_eq!(LUNAR.strength_pa(0.0), 0.0);
    }

    #[test]
    fn a_wall_meets_rankines_passive_pressure() {
        let passive = passive_coefficient(30.0_f64.to_radians().tan());
        assert!((passive - 3.0).abs() < 1e-12, "tan² 60° = 3: {passive}");
        let soil = Scm { density_kg_m3: 1500.0, friction_tan: 30.0_f64.to_radians().tan(), ..LUNAR };
        let expected = 0.5 * 1500.0 * 1.62 * 0.1 * 0.1 * 3.0 + 2.0 * 170.0 * 0.1 * 3.0_f64.sqrt();
        assert!((soil.wall_n_per_m(0.1, 1.62) - expected).abs() < 1e-9);
    }

    #[test]
    fn steady_sliding_mobilises_by_janosi_and_hanamoto() {
        let (mut m, slide, dt) = (Vector3::zeros(), Vector3::new(0.03, 0.04, 0.0), 5e-4);
        for _ in 0..1000 {
            (m, _) = mobilise(m, slide, dt, LUNAR.janosi_m);
        }
        let expected = 1.0 - (-0.05 * 1000.0 * dt / LUNAR.janosi_m).exp();
        assert!((m.norm() - expected).abs() < SERIES_TOLERANCE);
        assert!((m.normalize() + slide.normalize()).norm() < SERIES_TOLERANCE);
    }

    /// To and fro at 1 Hz and up to 0.02 m/s. Over a stroke of length l the push's share q of the strength goes as
    /// 1 + (q₀ − 1) e^(−l/J), and its integral is the work for each newton of strength; each turn of the way turns q.
    #[test]
    fn a_closed_path_of_sliding_takes_janosis_work() {
        /// Trapezia of 1 ms: 7e-6.
        const STEPS_TOLERANCE: f64 = 1e-4;
        let (mut m, mut work) = (Vector3::zeros(), 0.0);
        for i in 0..4000 {
            let slide = Vector3::x() * 0.02 * (f64::from(i) * std::f64::consts::TAU / 1000.0).cos();
            let before = m;
            (m, _) = mobilise(m, slide, 1e-3, LUNAR.janosi_m);
            work -= 0.5 * (before + m).dot(&slide) * 1e-3;
        }
        let stroke_m = 0.04 / std::f64::consts::TAU;
        let (mut q, mut expected) = (0.0_f64, 0.0_f64);
        for strokes in [0.5_f64, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5] {
            let left = (-strokes * stroke_m / LUNAR.janosi_m).exp();
            expected += strokes * stroke_m + (q - 1.0) * LUNAR.janosi_m * (1.0 - left);
            q = -(1.0 + (q - 1.0) * left);
        }
        assert!((work / expected - 1.0).abs() < STEPS_TOLERANCE, "{work} m, expected {expected} m");
    }

    #[test]
    fn the_series_meets_the_exponential() {
        for x in [0.0, 1e-9, 1e-3, 0.05, 0.1, 0.100_001, 3.0, 1e6] {
            let exact = -f64::exp_m1(-x);
            assert!((one_minus_exp(x) - exact).abs() < SERIES_TOLERANCE, "{x}");
        }
    }
}

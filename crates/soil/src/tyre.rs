//! A pneumatic tyre on hard ground by TMeasy (G. Rill, "Road Vehicle Dynamics: Fundamentals and Modeling", CRC Press
//! 2012, ch. 3; the law of Chrono's `ChTMeasyTire`). On soft soil a wheel with a tyre is the rigid cylinder of its
//! radius, as every other wheel is.
//!
//! **Radial.** A spring and damper along the normal, shared among the discs of [`crate::contact_patch`], so that a
//! leaning tyre is righted. The tyre rolls at `r_D = r_0 − δ/3` and stands at `r_S = r_0 − δ`, δ its deflection.
//!
//! **Along the ground.** With the velocities v of the contact point, the slips are `s_x = −(v_x − r_D Ω)/(r_D |Ω|)` and
//! `s_y = −v_y/(r_D |Ω|)`. Each direction has a curve of five numbers at the nominal load and at its double
//! ([`TyreCurve`]): forces between and beyond follow the parabola through nothing at no load, slips a line. Slips over
//! ŝ = s_M/(s_Mx + s_My) + (F_M/dF_0)/(F_Mx/dF_0x + F_My/dF_0y) make one generalised slip s, whose force F(s) rises as a
//! rational function to its peak and falls by a cubic to that of sliding. On ground whose friction is μ, peak and
//! sliding force and their slips are μ/μ_0 times those of the curve, μ_0 being the friction that it was taken at.
//!
//! **Over time.** The contact point gives way elastically: F = −(c u + d u̇), and F(v + ė) ≈ F(v) + F' ė with e = −u gives
//! `u̇ (1 + κ d/c) = v − κ u`, `κ = c ŝ V/F(s)`, V the generalised sliding speed. A rolling tyre has the
//! relaxation length dF_0/c at small slip. A standing tyre is a spring: V/F(s) is then V/F_S, which is zero at rest,
//! so that a parked truck does not creep. Forces never leave the ellipse of the peaks.
//!
//! **Moments.** The side force acts behind the centre, as the tyre rolls, by the trail n = (n/L) L, L = 2 √(r_0 δ), so
//! that in reverse it acts ahead of it; the rolling resistance is f N r_S about the axle. Both fade out below
//! [`RESIST_M_S`]: the slip of a standing tyre is a ratio of two rounding errors. Camber acts only through the discs,
//! turning on the spot has no moment of its own, and pressure, temperature and wear have no effect.

use nalgebra::Vector3;

use crate::contact_patch::{ContactPatch, DISCS, NormalReaction};
use crate::surface::Surface;
use crate::wheel::{Conditions, WheelContact, WheelMotion, WheelShape};
use crate::wheel_memory::WheelMemory;

/// Largest load of the curves, over the nominal one: beyond it the parabolas would fall, so the curves stay the same.
const LOAD_SHARE_MAX: f64 = 2.5;
/// Loss of the rolling radius over the tyre's deflection.
const ROLLING_LOSS: f64 = 1.0 / 3.0;
/// Rolling speed from which on the full rolling resistance and the full trail act, m/s.
const RESIST_M_S: f64 = 0.1;
/// Sine of 45°: a wheel whose axle is less steep stands on its tread.
const TREAD_SINE_MAX: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Force against slip in one direction at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TyreCurve {
    /// Initial slope dF_0 of force over slip, N; at least twice the peak force over its slip.
    pub slope_n: f64,
    /// Greatest force, N.
    pub peak_n: f64,
    /// Slip at the peak.
    pub peak_slip: f64,
    /// Force of full sliding, N.
    pub sliding_n: f64,
    /// Slip from which on the tyre slides fully.
    pub sliding_slip: f64,
}

/// A tyre in one direction along the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TyreDirection {
    /// Stiffness of the standing tyre, N/m.
    pub stiffness_n_m: f64,
    /// Damping of the standing tyre, N s/m.
    pub damping_n_s_m: f64,
    /// The curve under the nominal load.
    pub nominal: TyreCurve,
    /// The curve under twice the nominal load.
    pub double: TyreCurve,
}

/// Trail of the side force behind the centre of the contact, at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TyreTrail {
    /// Trail over the length of the contact at no slip.
    pub share: f64,
    /// Lateral slip at which the trail changes its sign.
    pub zero_slip: f64,
    /// Lateral slip from which on the trail is zero.
    pub end_slip: f64,
}

/// A tyre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tyre {
    /// Radial stiffness, N/m.
    pub radial_stiffness_n_m: f64,
    /// Radial damping, N s/m.
    pub radial_damping_n_s_m: f64,
    /// The load of the `nominal` curves, N.
    pub nominal_load_n: f64,
    /// Friction of the ground that the curves were taken on.
    pub friction: f64,
    /// Rolling resistance over load.
    pub rolling_resistance: f64,
    /// Driving and braking.
    pub longitudinal: TyreDirection,
    /// Cornering.
    pub lateral: TyreDirection,
    /// The trail under the nominal load and under twice the nominal load.
    pub trail: [TyreTrail; 2],
}

impl TyreDirection {
    /// The curve under `load` nominal loads, on ground of `grip` times the friction of the curves.
    fn curve(&self, load: f64, grip: f64) -> TyreCurve {
        let (one, two) = (&self.nominal, &self.double);
        let force_n = |one: f64, two: f64| load * (2.0 * one - 0.5 * two - (one - 0.5 * two) * load);
        let slip = |one: f64, two: f64| one + (two - one) * (load - 1.0);
        let peak_n = grip * force_n(one.peak_n, two.peak_n);
        let peak_slip = grip * slip(one.peak_slip, two.peak_slip);
        TyreCurve {
            slope_n: force_n(one.slope_n, two.slope_n).max(2.0 * peak_n / peak_slip),
            peak_n,
            peak_slip,
            sliding_n: grip * force_n(one.sliding_n, two.sliding_n),
            sliding_slip: grip * slip(one.sliding_slip, two.sliding_slip),
        }
    }
}

impl TyreCurve {
    /// Force over slip, N; at zero slip the initial slope.
    fn secant_n(&self, slip: f64) -> f64 {
        let Self { slope_n, peak_n, peak_slip, sliding_n, sliding_slip } = *self;
        if slip >= sliding_slip.max(peak_slip) {
            return sliding_n / slip;
        }
        if slip >= peak_slip {
            let share = (slip - peak_slip) / (sliding_slip - peak_slip);
            return (peak_n - (peak_n - sliding_n) * share * share * (3.0 - 2.0 * share)) / slip;
        }
        let share = slip / peak_slip;
        slope_n / (1.0 + share * (share + slope_n * peak_slip / peak_n - 2.0))
    }
}

/// Both directions under one load.
#[derive(Clone, Copy, Debug)]
struct Curves {
    x: TyreCurve,
    y: TyreCurve,
    /// Divisors of the two slips, `[ŝ_x, ŝ_y]`, that combine them into the generalised slip.
    norm: [f64; 2],
}

impl Curves {
    fn new(tyre: &Tyre, load: f64, grip: f64) -> Self {
        let (x, y) = (tyre.longitudinal.curve(load, grip), tyre.lateral.curve(load, grip));
        let (slips, rises) = (x.peak_slip + y.peak_slip, x.peak_n / x.slope_n + y.peak_n / y.slope_n);
        let norm = [x, y].map(|curve| curve.peak_slip / slips + curve.peak_n / curve.slope_n / rises);
        Self { x, y, norm }
    }

    /// The curve in a direction of generalised slip, `[cos φ, sin φ]`.
    fn along(&self, [cos, sin]: [f64; 2]) -> TyreCurve {
        let (Self { x, y, .. }, [nx, ny]) = (self, self.norm);
        TyreCurve {
            slope_n: (x.slope_n * nx * cos).hypot(y.slope_n * ny * sin),
            peak_n: (x.peak_n * cos).hypot(y.peak_n * sin),
            peak_slip: (x.peak_slip / nx * cos).hypot(y.peak_slip / ny * sin),
            sliding_n: (x.sliding_n * cos).hypot(y.sliding_n * sin),
            sliding_slip: (x.sliding_slip / nx * cos).hypot(y.sliding_slip / ny * sin),
        }
    }

    /// V/F(s), m/(s N): generalised sliding speed over force, at sliding velocities `[x, y]` of a tyre that rolls at
    /// `rolling_m_s`.
    fn sliding_per_force(&self, velocity_m_s: [f64; 2], rolling_m_s: f64) -> f64 {
        let parts = [velocity_m_s[0] / self.norm[0], velocity_m_s[1] / self.norm[1]];
        let speed_m_s = parts[0].hypot(parts[1]);
        let direction =
            if speed_m_s > 0.0 { parts.map(|part| part / speed_m_s) } else { [std::f64::consts::FRAC_1_SQRT_2; 2] };
        let curve = self.along(direction);
        if speed_m_s >= rolling_m_s * curve.sliding_slip.max(curve.peak_slip) {
            return speed_m_s / curve.sliding_n;
        }
        rolling_m_s / curve.secant_n(speed_m_s / rolling_m_s)
    }
}

impl Tyre {
    /// Force along the ground on a steadily rolling tyre, `[ahead, left]`, N, at the slips `[s_x, s_y]`.
    ///
    /// `load_n` is the tyre's load and `friction` the ground's friction coefficient.
    #[must_use]
    pub fn steady_n(&self, slip: [f64; 2], load_n: f64, friction: f64) -> [f64; 2] {
        if load_n <= 0.0 || friction <= 0.0 {
            return [0.0; 2];
        }
        let curves = self.curves(load_n, friction);
        let per_force = curves.sliding_per_force(slip, 1.0);
        let force_n = |i: usize| if per_force > 0.0 { slip[i] / (curves.norm[i] * per_force) } else { 0.0 };
        [force_n(0), force_n(1)]
    }

    fn curves(&self, load_n: f64, friction: f64) -> Curves {
        Curves::new(self, (load_n / self.nominal_load_n).min(LOAD_SHARE_MAX), friction / self.friction)
    }

    /// Trail over the length of the contact at a lateral slip.
    fn trail_share(&self, slip: f64, load_n: f64, friction: f64) -> f64 {
        let load = (load_n / self.nominal_load_n).min(LOAD_SHARE_MAX);
        let [one, two] = &self.trail;
        let at = |one: f64, two: f64| one + (two - one) * (load - 1.0);
        if friction <= 0.0 {
            return 0.0;
        }
        let grip = friction / self.friction;
        let (zero, end) = (grip * at(one.zero_slip, two.zero_slip), grip * at(one.end_slip, two.end_slip));
        let (share, slip) = (at(one.share, two.share).max(0.0), slip.abs());
        let weight = zero / end;
        if slip >= end {
            0.0
        } else if slip <= zero {
            let s = slip / zero;
            share * ((1.0 - weight) * (1.0 - s) + weight * (1.0 - (3.0 - 2.0 * s) * s * s))
        } else {
            let s = (end - slip) / (end - zero);
            -share * (1.0 - weight) * (slip - zero) / zero * s * s
        }
    }

    /// Whether a wheel stands on its tread; a wheel on its side has the friction of any other body.
    pub(crate) fn bears(motion: &WheelMotion) -> bool {
        (motion.world_from_wheel.rotation * Vector3::y()).z.abs() < TREAD_SINE_MAX
    }

    /// One step on hard ground with the friction coefficient `friction`.
    pub(crate) fn step(
        &self,
        friction: f64,
        surface: &Surface,
        wheel: &WheelShape,
        memory: &mut WheelMemory,
        motion: &WheelMotion,
        conditions: &Conditions,
    ) -> WheelContact {
        memory.is_down = true;
        let Some(contact_patch) = ContactPatch::find(surface, wheel, motion) else {
            memory.leave();
            return WheelContact::default();
        };
        memory.bring_hollow(contact_patch.depth_m(), memory.load_n / self.radial_stiffness_n_m);
        let hollow_m = memory.yielded_m;
        let Some(stand) = contact_patch.stand(motion, |depth_m, closing| self.disc_n(depth_m - hollow_m, closing))
        else {
            memory.lift(contact_patch.depth_m() <= 0.0);
            return WheelContact::default();
        };
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let Some(ahead) = axle.cross(&stand.normal).try_normalize(1e-6) else {
            memory.leave();
            return WheelContact { wrench: stand.wrench, normal_n: stand.normal_n, ..WheelContact::default() };
        };
        let rolled_m = motion.linear_m_s.dot(&ahead).abs() * conditions.dt_s;
        memory.yielded_m *= (1.0 - rolled_m / wheel.radius_m).max(0.0);
        memory.follow_load(stand.normal_n, false, conditions.dt_s);
        let deflection_m = (stand.depth_m - hollow_m).clamp(0.0, wheel.radius_m);
        let rolling = Rolling::new(&stand, &axle, ahead, wheel.radius_m, deflection_m, motion);
        let force_n = self.hold(friction, &rolling, stand.normal_n, memory, conditions.dt_s);
        self.contact(friction, &stand, &axle, &rolling, force_n)
    }

    /// Radial force on one disc, N; never negative.
    fn disc_n(&self, depth_m: f64, closing_m_s: f64) -> f64 {
        if depth_m <= 0.0 {
            return 0.0;
        }
        let radial_n = self.radial_stiffness_n_m * depth_m + self.radial_damping_n_s_m * closing_m_s;
        radial_n.max(0.0) / DISCS as f64
    }

    /// Force along the ground, `[ahead, left]`, N. Updates the stretch by one step.
    fn hold(&self, friction: f64, rolling: &Rolling, normal_n: f64, memory: &mut WheelMemory, dt_s: f64) -> [f64; 2] {
        if friction <= 0.0 {
            memory.stretch_m = Vector3::zeros();
            return [0.0; 2];
        }
        let curves = self.curves(normal_n, friction);
        let per_force = curves.sliding_per_force(rolling.sliding_m_s, rolling.speed_m_s);
        let directions = [(&self.longitudinal, rolling.ahead), (&self.lateral, rolling.left)];
        let (mut stretch_m, mut force_n) = ([0.0; 2], [0.0; 2]);
        for (i, (direction, axis)) in directions.into_iter().enumerate() {
            let TyreDirection { stiffness_n_m, damping_n_s_m, .. } = direction;
            let fading_1_s = stiffness_n_m * curves.norm[i] * per_force;
            let before_m = memory.stretch_m.dot(&axis);
            // Implicit in the stretch, so that it is stable however fast the stretch fades.
            let rate_m_s = (rolling.sliding_m_s[i] - fading_1_s * before_m)
                / (1.0 + fading_1_s * (damping_n_s_m / stiffness_n_m + dt_s));
            stretch_m[i] = before_m + rate_m_s * dt_s;
            force_n[i] = -(stiffness_n_m * stretch_m[i] + damping_n_s_m * rate_m_s);
        }
        let excess = (force_n[0] / curves.x.peak_n).hypot(force_n[1] / curves.y.peak_n).max(1.0);
        memory.is_sliding = excess > 1.0;
        let elastic = (self.longitudinal.stiffness_n_m * stretch_m[0] / curves.x.peak_n)
            .hypot(self.lateral.stiffness_n_m * stretch_m[1] / curves.y.peak_n)
            .max(1.0);
        memory.stretch_m = (rolling.ahead * stretch_m[0] + rolling.left * stretch_m[1]) / elastic;
        force_n.map(|n| n / excess)
    }

    fn contact(
        &self,
        friction: f64,
        stand: &NormalReaction,
        axle: &Vector3<f64>,
        rolling: &Rolling,
        [ahead_n, left_n]: [f64; 2],
    ) -> WheelContact {
        let mut wrench = stand.wrench;
        wrench.add_force_at(rolling.ahead * ahead_n + rolling.left * left_n, rolling.arm_m);
        let share = (rolling.rim_m_s / RESIST_M_S).clamp(-1.0, 1.0);
        let trail_m = share * rolling.length_m * self.trail_share(rolling.lateral_slip(), stand.normal_n, friction);
        wrench.torque -= stand.normal * (trail_m * left_n);
        wrench.torque -= axle * (share * self.rolling_resistance * stand.normal_n * rolling.standing_radius_m);
        WheelContact {
            wrench,
            terrain_normal: stand.normal,
            normal_n: stand.normal_n,
            contact_nodes: stand.discs,
            rolling_radius_loss_m: rolling.radius_loss_m,
            ..WheelContact::default()
        }
    }
}

/// How a tyre rolls over the ground.
#[derive(Clone, Copy, Debug)]
struct Rolling {
    ahead: Vector3<f64>,
    left: Vector3<f64>,
    /// From the wheel's centre to the contact point, m.
    arm_m: Vector3<f64>,
    standing_radius_m: f64,
    /// Radius of the unloaded tyre less the rolling radius, m.
    radius_loss_m: f64,
    /// Length of the contact, m.
    length_m: f64,
    /// Speed of the rim r_D Ω, and its magnitude, m/s.
    rim_m_s: f64,
    speed_m_s: f64,
    /// Velocity of the contact point over the ground, ahead and to the left, m/s.
    sliding_m_s: [f64; 2],
}

impl Rolling {
    fn new(
        stand: &NormalReaction,
        axle: &Vector3<f64>,
        ahead: Vector3<f64>,
        radius_m: f64,
        deflection_m: f64,
        motion: &WheelMotion,
    ) -> Self {
        let left = stand.normal.cross(&ahead);
        let arm_m = stand.arm_m + stand.normal * deflection_m;
        let radius_loss_m = ROLLING_LOSS * deflection_m;
        let rim_m_s = (radius_m - radius_loss_m) * motion.angular_rad_s.dot(axle);
        let side_m_s = (motion.linear_m_s + motion.angular_rad_s.cross(&arm_m)).dot(&left);
        Self {
            ahead,
            left,
            arm_m,
            standing_radius_m: radius_m - deflection_m,
            radius_loss_m,
            length_m: 2.0 * (radius_m * deflection_m).sqrt(),
            rim_m_s,
            speed_m_s: rim_m_s.abs(),
            sliding_m_s: [motion.linear_m_s.dot(&ahead) - rim_m_s, side_m_s],
        }
    }

    /// v_y over the rolling speed; zero where v_y is.
    fn lateral_slip(&self) -> f64 {
        if self.sliding_m_s[1] == 0.0 { 0.0 } else { self.sliding_m_s[1] / self.speed_m_s }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tyre, TyreCurve, TyreDirection, TyreTrail};
    use crate::drive_rig::{DriveRig, drive};
    use crate::{
        Conditions, Law, MemoryPatch, PressScratch, Rigid, RigidSpec, SoilContext, Soils, WheelContact, WheelMemory,
        WheelMotion, WheelShape, step,
    };
    use nalgebra::Vector3;
    use selene_base::Pose;
    use selene_terrain::GroundPatch;

    const fn curve(slope_n: f64, peak_n: f64, sliding_n: f64, peak_slip: f64, sliding_slip: f64) -> TyreCurve {
        TyreCurve { slope_n, peak_n, peak_slip, sliding_n, sliding_slip }
    }

    /// The tyre of Chrono's HMMWV (`data/vehicle/hmmwv/tire/HMMWV_TMeasyTire.json`).
    const HMMWV: Tyre = Tyre {
        radial_stiffness_n_m: 411_121.0,
        radial_damping_n_s_m: 3900.0,
        nominal_load_n: 8562.8266,
        friction: 0.8,
        rolling_resistance: 0.015,
        longitudinal: TyreDirection {
            stiffness_n_m: 185_004.42,
            damping_n_s_m: 3700.0,
            nominal: curve(151_447.29, 7575.3614, 4657.9208, 0.12, 0.9),
            double: curve(236_412.79, 12_808.276, 8625.3352, 0.15, 0.95),
        },
        lateral: TyreDirection {
            stiffness_n_m: 164_448.37,
            damping_n_s_m: 3488.0,
            nominal: curve(50_931.693, 6615.0404, 6091.5092, 0.38786, 0.82534),
            double: curve(94_293.847, 12_509.947, 11_443.875, 0.38786, 0.91309),
        },
        trail: [
            TyreTrail { share: 0.178, zero_slip: 0.40726, end_slip: 0.82534 },
            TyreTrail { share: 0.19, zero_slip: 0.40726, end_slip: 0.91309 },
        ],
    };

    #[test]
    fn pure_slip_meets_slope_peak_and_sliding_of_the_published_parameters_at_both_loads() {
        for (load, x, y) in [
            (1.0, HMMWV.longitudinal.nominal, HMMWV.lateral.nominal),
            (2.0, HMMWV.longitudinal.double, HMMWV.lateral.double),
        ] {
            let force_n = |slip| HMMWV.steady_n(slip, load * HMMWV.nominal_load_n, 0.8);
            for (is_x, curve) in [(true, x), (false, y)] {
                let at = |slip: f64| if is_x { force_n([slip, 0.0])[0] } else { force_n([0.0, slip])[1] };
                assert!((at(1e-6) / 1e-6 / curve.slope_n - 1.0).abs() < 1e-4, "{load} {is_x}: {}", at(1e-6));
                assert!((at(curve.peak_slip) / curve.peak_n - 1.0).abs() < 1e-9, "{}", at(curve.peak_slip));
                assert!((at(3.0) / curve.sliding_n - 1.0).abs() < 1e-9, "{}", at(3.0));
                let middle = at(0.5 * (curve.peak_slip + curve.sliding_slip));
                assert!((middle / (0.5 * (curve.peak_n + curve.sliding_n)) - 1.0).abs() < 1e-9, "{middle}");
                assert!((at(-0.05) + at(0.05)).abs() < 1e-9);
            }
        }
        assert_eq!(HMMWV.steady_n([0.0, 0.0], 8000.0, 0.8), [0.0, 0.0]);
        assert_eq!(HMMWV.steady_n([0.1, 0.1], 0.0, 0.8), [0.0, 0.0]);
    }

    /// Rill's rational function by its own terms: F = dF_0 s/(1 + σ(σ + dF_0 s_M/F_M − 2)), σ = s/s_M.
    #[test]
    fn below_its_peak_the_force_is_rills_rational_function() {
        let TyreCurve { slope_n, peak_n, peak_slip, .. } = HMMWV.longitudinal.nominal;
        for share in [0.1, 0.4, 0.8] {
            let slip = share * peak_slip;
            let expected_n = slope_n * slip / (1.0 + share * (share + slope_n * peak_slip / peak_n - 2.0));
            let [force_n, _] = HMMWV.steady_n([slip, 0.0], HMMWV.nominal_load_n, 0.8);
            assert!((force_n / expected_n - 1.0).abs() < 1e-9, "{share}: {force_n} {expected_n}");
        }
    }

    #[test]
    fn braking_takes_from_cornering_and_no_force_leaves_the_ellipse_of_the_peaks() {
        let alone_n = HMMWV.steady_n([0.0, 0.1], 6000.0, 0.8)[1];
        let braked_n = HMMWV.steady_n([-0.2, 0.1], 6000.0, 0.8)[1];
        assert!(braked_n < 0.6 * alone_n && braked_n > 0.0, "{braked_n} of {alone_n}");
        let curves = HMMWV.curves(6000.0, 0.8);
        let share = |i: i32| {
            let (angle, size) = (0.13 * f64::from(i), 0.005 * f64::from(i));
            let [x, y] = HMMWV.steady_n([size * angle.cos(), size * angle.sin()], 6000.0, 0.8);
            (x / curves.x.peak_n).hypot(y / curves.y.peak_n)
        };
        // Between the axes all numbers of the curve lie between those of the axes: no exact ellipse, 1.3 % beyond at most.
        let most = (0..400).map(share).fold(0.0, f64::max);
        assert!(most < 1.02, "{most}");
    }

    #[test]
    fn half_the_friction_halves_the_peak_and_leaves_the_slope() {
        let (dry, wet) = (HMMWV.curves(6000.0, 0.8), HMMWV.curves(6000.0, 0.4));
        assert!((wet.x.peak_n / dry.x.peak_n - 0.5).abs() < 1e-12 && wet.y.slope_n == dry.y.slope_n);
        assert!((wet.y.peak_slip / dry.y.peak_slip - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_trail_is_longest_without_slip_passes_through_nothing_and_ends() {
        let share = |slip| HMMWV.trail_share(slip, HMMWV.nominal_load_n, 0.8);
        assert_eq!(share(0.0), 0.178);
        assert!(share(0.40726).abs() < 1e-12 && share(0.6) < 0.0 && share(0.83) == 0.0);
        assert!(share(0.1) > share(0.2) && share(-0.2) == share(0.2));
    }

    const RADIUS_M: f64 = 0.4699;

    fn rigid() -> Law {
        Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }))
    }

    fn wheel() -> WheelShape {
        WheelShape { tyre: Some(HMMWV), ..WheelShape::plain(RADIUS_M, 0.3175) }
    }

    /// Rolling freely it goes r_D Ω, r_D = r_0 − δ/3, against f N r_S.
    #[test]
    fn it_rolls_at_its_rolling_radius_against_its_rolling_resistance() {
        let rig = DriveRig { gravity_m_s2: 9.81, grid_m: 0.1, ..DriveRig::new(rigid(), wheel(), 870.0, 1.0) };
        let (samples, _) = drive(&rig).expect("runs");
        let last = samples.last().expect("samples");
        let load_n = 870.0 * 9.81;
        let deflection_m = load_n / HMMWV.radial_stiffness_n_m;
        assert!((last.normal_n / load_n - 1.0).abs() < 1e-3, "{last:?}");
        assert!((last.speed_m_s - (1.0 - deflection_m / 3.0 / RADIUS_M)).abs() < 2e-4, "{last:?}");
        let resists_nm = 0.015 * load_n * (RADIUS_M - deflection_m);
        assert!((last.torque_nm / -resists_nm - 1.0).abs() < 0.01, "{last:?} {resists_nm}");
    }

    #[test]
    fn locked_on_a_slope_it_does_not_creep_along_or_across() {
        for heading_deg in [0.0, 90.0] {
            let rig = DriveRig {
                gravity_m_s2: 9.81,
                slope_deg: 15.0,
                heading_deg,
                grid_m: 0.1,
                duration_s: 40.0,
                ..DriveRig::new(rigid(), wheel(), 870.0, 0.0)
            };
            let (samples, _) = drive(&rig).expect("runs");
            let crept_m: f64 = samples[25_000..].iter().map(|s| 1e-3 * s.speed_m_s.hypot(s.left_m_s)).sum();
            assert!(crept_m < 1e-6, "{heading_deg}: {crept_m} m");
        }
    }

    const DEFLECTION_M: f64 = 0.018;

    /// The last contact of a wheel whose rim goes at some m/s ahead and which moves at some to the left, for 0.3 s each.
    fn after(phases: &[[f64; 2]]) -> WheelContact {
        let mut ground = GroundPatch::flat(0.25, 10.0);
        let mut memory = MemoryPatch::new(&ground);
        let (soils, mut scratch) = (Soils::uniform(rigid()), PressScratch::default());
        let mut context =
            SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        let conditions = Conditions { dt_s: 2e-4, gravity_m_s2: 9.81 };
        let (shape, mut of_wheel) = (wheel(), WheelMemory::carrying(7400.0));
        let mut contact = WheelContact::default();
        for [rim_m_s, left_m_s] in phases {
            let motion = WheelMotion {
                world_from_wheel: Pose::translation(0.0, 0.0, RADIUS_M - DEFLECTION_M),
                linear_m_s: Vector3::new(*rim_m_s, *left_m_s, 0.0),
                angular_rad_s: Vector3::y() * (rim_m_s / (RADIUS_M - DEFLECTION_M / 3.0)),
            };
            (0..1500).for_each(|_| contact = step(&mut context, &shape, &mut of_wheel, &motion, &conditions));
        }
        contact
    }

    #[test]
    fn the_side_force_acts_behind_the_centre_as_the_tyre_rolls_ahead_and_in_reverse() {
        let [ahead, reverse] = [5.0, -5.0].map(|rim_m_s| after(&[[rim_m_s, -0.05]]));
        assert!(ahead.wrench.force.y > 0.0 && reverse.wrench.force.y > 0.0, "{ahead:?} {reverse:?}");
        let trail_m = HMMWV.trail_share(0.01, ahead.normal_n, 0.8) * 2.0 * (RADIUS_M * DEFLECTION_M).sqrt();
        let expected_nm = -trail_m * ahead.wrench.force.y;
        for (contact, sign) in [(ahead, 1.0), (reverse, -1.0)] {
            assert!((sign * contact.wrench.torque.z / expected_nm - 1.0).abs() < 0.02, "{contact:?} {expected_nm}");
        }
    }

    /// It holds a side force, at speeds whose ratio would be the slip of the longest trail.
    #[test]
    fn a_tyre_that_stands_has_no_trail() {
        for rest in [[0.0, 0.0], [1e-14, -1e-16], [-1e-14, 1e-15]] {
            let contact = after(&[[0.0, -0.5], rest]);
            let (left_n, yaw_nm) = (contact.wrench.force.y, contact.wrench.torque.z);
            assert!(left_n > 3000.0 && yaw_nm.abs() < 1e-6 * left_n, "{rest:?}: {left_n} N, {yaw_nm} N m");
        }
    }

    /// At a small slip angle that comes at once the side force is F (1 − (1 − d/(c τ)) exp(−t/τ)), τ = σ/v + d/c,
    /// σ the secant of the curve over c.
    #[test]
    fn the_side_force_comes_with_the_relaxation_length() {
        const SPEED_M_S: f64 = 5.0;
        const SLIP: f64 = 0.01;
        const DT_S: f64 = 2e-4;
        let mut ground = GroundPatch::flat(0.25, 10.0);
        let mut memory = MemoryPatch::new(&ground);
        let (soils, mut scratch) = (Soils::uniform(rigid()), PressScratch::default());
        let mut context =
            SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        let deflection_m = 0.018;
        let motion = WheelMotion {
            world_from_wheel: Pose::translation(0.0, 0.0, RADIUS_M - deflection_m),
            linear_m_s: Vector3::new(SPEED_M_S, -SLIP * SPEED_M_S, 0.0),
            angular_rad_s: Vector3::y() * (SPEED_M_S / (RADIUS_M - deflection_m / 3.0)),
        };
        let conditions = Conditions { dt_s: DT_S, gravity_m_s2: 9.81 };
        let (shape, mut of_wheel) = (wheel(), WheelMemory::carrying(7400.0));
        for i in 1..1500 {
            let contact = step(&mut context, &shape, &mut of_wheel, &motion, &conditions);
            let steady_n = HMMWV.steady_n([0.0, SLIP], contact.normal_n, 0.8)[1];
            let (c, d) = (HMMWV.lateral.stiffness_n_m, HMMWV.lateral.damping_n_s_m);
            let lag_s = steady_n / SLIP / c / SPEED_M_S + d / c;
            let share = 1.0 - (1.0 - d / c / lag_s) * (-f64::from(i) * DT_S / lag_s).exp();
            let left_n = contact.wrench.force.y;
            assert!((left_n / steady_n - share).abs() < 0.01, "{i}: {left_n} N, {share} of {steady_n} N");
        }
    }
}

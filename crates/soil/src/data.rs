//! The data-driven law (Kern et al., DATA): slip and sinkage come from regressions of
//! measurements with a rover on a soil, not from stresses.
//!
//! **Along the wheel.** In the paper a physics wheel of radius R rolls on the ground by stiff Coulomb
//! friction at the slip-adjusted speed v = (1 − s(ωR, α)) ωR, or ωR/(1 + s) in skid, while the visible
//! wheel turns at ω. Here both are one wheel: friction drives it toward v instead of ωR, and the torque
//! about the axle is F R, so that the soil dissipates s F ωR. α is the slope along the wheel's heading.
//! The paper prints α² without a sign, counts downward slopes in the range of its fit (§IV) and finds
//! skid only in deceleration (§III-A), so a wheel slips downhill as it does uphill. With
//! `downhill: reversed`, our choice, the slope's term changes sign there: gravity helps, and skid is
//! bounded. v rises no faster than a piecewise limit allows. It falls at once; the body then slows down
//! by dynamic friction.
//!
//! **Across the wheel.** The same friction acts, and a rolling wheel yields in proportion to the force
//! (creep); the paper does not treat side-slip.
//!
//! **Normal.** k = F/(z(s, F) + h), c = 2√(k m), with the load F followed in the wheel's memory,
//! m = F/g, and the grousers' height h, since R reaches to their tips. At low speed the depth only
//! grows while the wheel stays in its place; rolling on raises the wheel within one radius. At higher
//! speed the paper lets the wheel rise at once. Here it rises within a tenth of a radius of rolling,
//! since a stiffness that grows under a load would throw the wheel.

use nalgebra::Vector3;
use selene_base::Wrench;

use crate::bearing::Bearing;
use crate::contact_patch::{ContactPatch, NormalReaction, point_velocity};
use crate::data_spec::{DataSpec, SinkageFitSpec, SlipFitSpec, TraceSpec};
use crate::grip::{Friction, Load, Slide, Spring};
use crate::surface::Surface;
use crate::trace::Trace;
use crate::wheel::{Conditions, SoilContext, WheelContact, WheelMotion, WheelShape, slip_ratio};
use crate::wheel_memory::WheelMemory;

/// Stretch of the friction bristle when its force equals the load, m.
const STRETCH_M: f64 = 1e-3;
/// The stop of the bearing lies at this many times the depth at rest.
const STOP_DEPTHS: f64 = 4.0;
/// Below about this speed, m/s, slip counts for less; at rest a wheel has none.
const CRAWL_M_S: f64 = 1e-3;
/// A value beyond the fit's limit by less than this share of the limit counts as within it.
const EDGE: f64 = 1e-3;
/// Distance, in wheel radii, over which a rolling wheel rises from a depth. Compacted ground does not
/// lift it again; only fresh ground does.
const FORGET_RADII: f64 = 0.1;
/// The same distance at low speed: a wheel keeps the depth to which it sank while braking.
const HOLD_RADII: f64 = 1.0;

/// Validated data-driven law.
#[derive(Clone, Debug, PartialEq)]
pub struct DataDriven {
    slip: SlipFitSpec,
    sinkage: SinkageFitSpec,
    up_to_m_s: Vec<f64>,
    limit_m_s2: Vec<f64>,
    friction: Friction,
    lateral_creep: f64,
    trace: TraceSpec,
}

impl From<&DataSpec> for DataDriven {
    fn from(spec: &DataSpec) -> Self {
        Self {
            slip: spec.slip,
            sinkage: spec.sinkage,
            up_to_m_s: spec.acceleration.up_to_m_s.clone(),
            limit_m_s2: spec.acceleration.limit_m_s2.clone(),
            friction: Friction { at_rest: spec.friction.static_friction, sliding: spec.friction.dynamic_friction },
            lateral_creep: spec.friction.lateral_creep,
            trace: spec.trace,
        }
    }
}

/// The value of a fit, and whether the input was outside the fit's range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The value.
    pub value: f64,
    /// Whether the input was outside the range, so that the nearest covered value was taken.
    pub is_outside: bool,
}

/// A wheel's motion along the ground.
struct Rolling {
    /// Unit direction along the ground, square to the axle; none for a wheel on its side.
    ahead: Option<Vector3<f64>>,
    rate_rad_s: f64,
    rim_m_s: f64,
    ahead_m_s: f64,
}

impl DataDriven {
    /// Slip, as defined by [`slip_ratio`], at a wheel speed of `rim_m_s` = ωR. `slope_rad` is the slope
    /// in the direction in which the wheel rolls, negative downhill.
    #[must_use]
    pub fn slip(&self, rim_m_s: f64, slope_rad: f64) -> Fitted {
        let (fit, speed_m_s, slope_deg) = (&self.slip, rim_m_s.abs(), slope_rad.abs().to_degrees());
        let (v, a) = (speed_m_s.min(fit.speed_max_m_s), slope_deg.min(fit.slope_max_deg));
        let by_slope = (fit.per_deg2_per_m_s * v + fit.per_deg2) * a * a;
        let raw = fit.per_m_s * v + fit.at_rest + fit.downhill.sign(slope_rad) * by_slope;
        let value = raw.clamp(-fit.skid_max, fit.slip_max);
        Fitted { value, is_outside: value != raw || speed_m_s - v > EDGE * v || slope_deg - a > EDGE * a }
    }

    /// Depth of the wheel's rim without grousers below the undisturbed ground, m, at a slip and
    /// under a load.
    #[must_use]
    pub fn depth_m(&self, slip: f64, load_n: f64) -> Fitted {
        let fit = &self.sinkage;
        let excess_n = load_n - fit.reference_n;
        let within_n = excess_n.clamp(-fit.load_range_n, fit.load_range_n);
        let raw_mm = fit.static_mm + fit.per_slip_mm * slip.abs() + fit.per_newton_mm * within_n;
        let depth_mm = raw_mm.max(fit.least_mm);
        Fitted { value: 1e-3 * depth_mm, is_outside: within_n != excess_n }
    }

    /// Largest acceleration at `speed_m_s`, m/s².
    #[must_use]
    pub fn acceleration_limit_m_s2(&self, speed_m_s: f64) -> f64 {
        let piece = self.up_to_m_s.iter().take_while(|&&up_to| speed_m_s.abs() > up_to).count();
        self.limit_m_s2[piece]
    }

    pub(crate) fn step(
        &self,
        context: &mut SoilContext,
        wheel: &WheelShape,
        memory: &mut WheelMemory,
        motion: &WheelMotion,
        conditions: &Conditions,
    ) -> WheelContact {
        if memory.load_n == 0.0 {
            memory.load_n = self.sinkage.reference_n;
        }
        let surface = Surface::undisturbed(context.ground, context.memory);
        let Some(contact_patch) = ContactPatch::find(&surface, wheel, motion) else {
            memory.leave();
            return WheelContact::default();
        };
        let rolling = Rolling::new(motion, &contact_patch.normal, wheel.radius_m);
        memory.turn(rolling.rate_rad_s, conditions.dt_s);
        memory.bring_hollow(contact_patch.depth_m(), wheel.grouser_height_m);
        let load_is_outside = self.yield_under(memory, &rolling, wheel, conditions);
        let bearing = self.bearing(memory, wheel, conditions);
        let disc_n = |depth_m: f64, closing_m_s: f64| bearing.disc_n(depth_m, closing_m_s);
        let Some(stand) = contact_patch.stand(motion, disc_n) else {
            memory.lift(contact_patch.depth_m() <= 0.0);
            return WheelContact::default();
        };
        let slip_is_outside = self.drive(memory, &rolling, conditions);
        memory.is_down = true;
        let held_n = self.hold(memory, &rolling, &stand, wheel, motion, conditions);
        memory.follow_load(stand.normal_n, bearing.is_too_soft(&stand, 0.0), conditions.dt_s);
        let sinkage_m = (stand.depth_m - wheel.grouser_height_m).max(0.0);
        let trace = self.trace(&rolling, memory, wheel);
        trace.leave(context.ground, context.memory, wheel, motion, sinkage_m);
        WheelContact {
            wrench: rolling.wrench(&stand, held_n, motion, wheel.radius_m),
            terrain_normal: stand.normal,
            sinkage_m,
            normal_n: stand.normal_n,
            contact_nodes: stand.discs,
            sinkage_beyond_radius: sinkage_m > wheel.radius_m,
            slip_outside_fit: slip_is_outside || load_is_outside,
            ..WheelContact::default()
        }
    }

    /// Updates the depth to which the soil yields. Returns whether the load was outside the fit.
    fn yield_under(
        &self,
        memory: &mut WheelMemory,
        rolling: &Rolling,
        wheel: &WheelShape,
        conditions: &Conditions,
    ) -> bool {
        let fitted = self.depth_m(rolling.slip(), memory.load_n);
        let rising_m = (memory.yielded_m - fitted.value).max(0.0);
        let is_slow = rolling.ahead_m_s.abs() <= self.sinkage.hold_below_m_s;
        let way_m = wheel.radius_m * if is_slow { HOLD_RADII } else { FORGET_RADII };
        let rolled = rolling.ahead_m_s.abs() * conditions.dt_s / way_m;
        memory.yielded_m = fitted.value + rising_m * (1.0 - rolled).max(0.0);
        fitted.is_outside
    }

    /// A spring whose secant stiffness carries the followed load at the yielded depth.
    fn bearing(&self, memory: &WheelMemory, wheel: &WheelShape, conditions: &Conditions) -> Bearing {
        let depth_m = memory.yielded_m + wheel.grouser_height_m;
        let load = Load { load_n: memory.load_n, own_kg: wheel.mass_kg };
        let spring = Spring::new(load.load_n / depth_m, &load, 1.0, conditions);
        Bearing::new(spring, STOP_DEPTHS * depth_m, &load, conditions)
    }

    /// Updates the slip-adjusted speed of the wheel. Returns whether the input was outside the
    /// fit.
    fn drive(&self, memory: &mut WheelMemory, rolling: &Rolling, conditions: &Conditions) -> bool {
        let Some(ahead) = rolling.ahead else {
            memory.drive_m_s = 0.0;
            return false;
        };
        let rim_m_s = rolling.rim_m_s;
        let fitted = self.slip(rim_m_s, ahead.z.asin() * rim_m_s.signum());
        let goal_m_s =
            if fitted.value >= 0.0 { (1.0 - fitted.value) * rim_m_s } else { rim_m_s / (1.0 + fitted.value) };
        let from_m_s = if memory.is_down { memory.drive_m_s } else { rolling.ahead_m_s };
        // The speed falls at once, also where the wheel reverses.
        let from_m_s = from_m_s.clamp(goal_m_s.min(0.0), goal_m_s.max(0.0));
        let most_m_s = self.acceleration_limit_m_s2(from_m_s) * conditions.dt_s;
        memory.drive_m_s = from_m_s + (goal_m_s - from_m_s).clamp(-most_m_s, most_m_s);
        fitted.is_outside && rim_m_s.abs() > CRAWL_M_S
    }

    /// Friction force that drives the wheel toward the slip-adjusted speed, N.
    fn hold(
        &self,
        memory: &mut WheelMemory,
        rolling: &Rolling,
        stand: &NormalReaction,
        wheel: &WheelShape,
        motion: &WheelMotion,
        conditions: &Conditions,
    ) -> Vector3<f64> {
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let velocity = point_velocity(motion, &axle, &stand.arm_m);
        let driven = rolling.ahead.map_or(Vector3::zeros(), |ahead| ahead * memory.drive_m_s);
        let load = Load { load_n: memory.load_n, own_kg: wheel.tangential_kg() };
        let bristle = Spring::new(load.load_n / STRETCH_M, &load, 1.0, conditions);
        // In steady state v_across = creep |v| F/N.
        let fading = self.lateral_creep * memory.drive_m_s.abs() * conditions.dt_s / STRETCH_M;
        let slide = Slide::new(stand.normal, velocity - driven, rolling.ahead, fading);
        memory.hold(&slide, stand.normal_n, &self.friction, &bristle, conditions.dt_s)
    }

    fn trace(&self, rolling: &Rolling, memory: &WheelMemory, wheel: &WheelShape) -> Trace {
        let slip = rolling.slip().clamp(-1.0, 1.0);
        let clear = (1.0 - slip.abs() / self.trace.pattern_gone_at_slip).max(0.0);
        Trace {
            amplitude_m: self.trace.pattern_share * wheel.grouser_height_m * clear,
            pitch_m: Trace::pitch_m(wheel, slip),
            turned_rad: memory.turned_rad,
        }
    }
}

impl Rolling {
    fn new(motion: &WheelMotion, normal: &Vector3<f64>, radius_m: f64) -> Self {
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let ahead = axle.cross(normal).try_normalize(1e-6);
        let rate_rad_s = motion.angular_rad_s.dot(&axle);
        let ahead_m_s = ahead.map_or(0.0, |ahead| motion.linear_m_s.dot(&ahead));
        Self { ahead, rate_rad_s, rim_m_s: rate_rad_s * radius_m, ahead_m_s }
    }

    /// The actual slip, which fades to zero at rest.
    fn slip(&self) -> f64 {
        let speed_m_s = self.rim_m_s.abs().max(self.ahead_m_s.abs());
        slip_ratio(self.ahead_m_s, self.rim_m_s).clamp(-1.0, 1.0) * speed_m_s / (speed_m_s + CRAWL_M_S)
    }

    /// Normal and friction forces on the wheel, with the torque about the axle that drives it:
    /// F R, and less where F R would give the wheel more power than the body loses.
    fn wrench(&self, stand: &NormalReaction, held_n: Vector3<f64>, motion: &WheelMotion, radius_m: f64) -> Wrench {
        let mut wrench = stand.wrench;
        wrench.add_force_at(held_n, stand.arm_m);
        let Some(ahead) = self.ahead else { return wrench };
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let ahead_n = held_n.dot(&ahead);
        let gives_power = ahead_n * (self.ahead_m_s - self.rim_m_s) > 0.0;
        let arm_m = if gives_power { (self.ahead_m_s / self.rate_rad_s).clamp(0.0, radius_m) } else { radius_m };
        let arm_m = if arm_m.is_finite() { arm_m } else { radius_m };
        wrench.torque -= axle * (wrench.torque.dot(&axle) + ahead_n * arm_m);
        wrench
    }
}

//! Rigid ground: the wheel is a cylinder on a surface that keeps its shape, with Coulomb
//! friction. Contact is a stiff damped spring (`grip`): a wheel that carries F sinks by
//! δ = 0.5 mm (F/100 N)^¼, so that its bounce has ω² = g/δ (57 rad/s for 100 N on the
//! Moon), stable in steps of 2 ms. Since the depth grows with the load, the wheels of a rover
//! without springs share its weight. Beyond four times that depth spring and damper are as
//! stiff as the step allows, so that an impact does not sink the wheel.
//!
//! Along the surface one friction bristle acts (`grip`), half as stiff. Its stretch across the
//! wheel fades within a wheel's radius of rolling, as new points of the rim come into contact, so
//! that forces of wheels against each other fade as a rover drives.
//!
//! A wheel with a pneumatic tyre follows the tyre's law here (`tyre`), with the static friction.

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::input::within;
use serde::Deserialize;

use crate::bearing::Bearing;
use crate::contact_patch::{ContactPatch, NormalReaction};
use crate::grip::{Friction, LOAD_MIN_N, Load, Slide, Spring};
use crate::surface::Surface;
use crate::tyre::Tyre;
use crate::wheel::{Conditions, WheelContact, WheelMotion, WheelShape};
use crate::wheel_memory::WheelMemory;

/// Depth under the reference load, m, and that load, N.
const DEPTH_M: f64 = 5e-4;
const DEPTH_LOAD_N: f64 = 100.0;
/// Multiple of the depth at rest beyond which the spring is as stiff as the step allows.
const STOP_DEPTHS: f64 = 4.0;
/// Damping over critical.
const DAMPING_RATIO: f64 = 0.7;
/// The bristle's stiffness over the normal spring's.
const BRISTLE: f64 = 0.5;

/// Coefficients of rigid ground.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RigidSpec {
    /// Friction over normal force up to which a wheel does not slide, 0 to 10.
    #[garde(custom(within(0.0, 10.0)))]
    pub static_friction: f64,
    /// Friction over normal force while the wheel slides; at most the static one.
    #[garde(custom(within(0.0, self.static_friction)))]
    pub dynamic_friction: f64,
}

/// Validated rigid ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rigid {
    friction: Friction,
}

impl From<&RigidSpec> for Rigid {
    fn from(spec: &RigidSpec) -> Self {
        Self { friction: Friction { at_rest: spec.static_friction, sliding: spec.dynamic_friction } }
    }
}

/// The bearing of rigid ground under a wheel.
pub(crate) fn bearing(memory: &WheelMemory, wheel: &WheelShape, conditions: &Conditions) -> Bearing {
    let load = Load { load_n: memory.load_n.max(LOAD_MIN_N), own_kg: wheel.mass_kg };
    let depth_m = DEPTH_M * (load.load_n / DEPTH_LOAD_N).sqrt().sqrt();
    let spring = Spring::new(load.load_n / depth_m, &load, DAMPING_RATIO, conditions);
    Bearing::new(spring, STOP_DEPTHS * depth_m, &load, conditions)
}

/// The friction bristle for this bearing.
pub(crate) fn bristle(bearing: &Bearing, memory: &WheelMemory, wheel: &WheelShape, conditions: &Conditions) -> Spring {
    let load = Load { load_n: memory.load_n.max(LOAD_MIN_N), own_kg: wheel.tangential_kg() };
    Spring::new(BRISTLE * bearing.spring.stiffness_n_m, &load, DAMPING_RATIO, conditions)
}

impl Rigid {
    pub(crate) fn step(
        &self,
        surface: &Surface,
        wheel: &WheelShape,
        memory: &mut WheelMemory,
        motion: &WheelMotion,
        conditions: &Conditions,
    ) -> WheelContact {
        if let Some(tyre) = wheel.tyre.as_ref().filter(|_| Tyre::bears(motion)) {
            return tyre.step(self.friction.at_rest, surface, wheel, memory, motion, conditions);
        }
        memory.is_down = true;
        let bearing = bearing(memory, wheel, conditions);
        let Some(contact_patch) = ContactPatch::find(surface, wheel, motion) else {
            memory.leave();
            return WheelContact::default();
        };
        memory.bring_hollow(contact_patch.depth_m(), bearing.rest_m(memory.load_n));
        let hollow_m = memory.yielded_m;
        let disc_n = |depth_m: f64, closing_m_s: f64| bearing.disc_n(depth_m - hollow_m, closing_m_s);
        let Some(stand) = contact_patch.stand(motion, disc_n) else {
            memory.lift(contact_patch.depth_m() <= 0.0);
            return WheelContact::default();
        };
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let velocity_m_s = motion.linear_m_s + motion.angular_rad_s.cross(&stand.arm_m);
        let ahead = axle.cross(&stand.normal).try_normalize(1e-6);
        let rolled_m = ahead.map_or(0.0, |ahead| motion.linear_m_s.dot(&ahead).abs() * conditions.dt_s);
        let rolled = rolled_m / wheel.radius_m;
        memory.yielded_m *= (1.0 - rolled).max(0.0);
        let slide = Slide::new(stand.normal, velocity_m_s, ahead, rolled);
        let bristle = bristle(&bearing, memory, wheel, conditions);
        let held_n = memory.hold(&slide, stand.normal_n, &self.friction, &bristle, conditions.dt_s);
        memory.follow_load(stand.normal_n, bearing.is_too_soft(&stand, hollow_m), conditions.dt_s);
        contact(&stand, held_n, wheel)
    }
}

fn contact(stand: &NormalReaction, held_n: Vector3<f64>, wheel: &WheelShape) -> WheelContact {
    let mut wrench = stand.wrench;
    wrench.add_force_at(held_n, stand.arm_m);
    WheelContact {
        wrench,
        terrain_normal: stand.normal,
        sinkage_m: stand.depth_m,
        normal_n: stand.normal_n,
        contact_nodes: stand.discs,
        sinkage_beyond_radius: stand.depth_m > wheel.radius_m,
        ..WheelContact::default()
    }
}

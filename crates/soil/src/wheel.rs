//! A wheel on soil: its shape, its motion, and the forces and flags of its contact with the ground.

use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_terrain::GroundPatch;

use crate::law::Law;
use crate::memory::MemoryPatch;
use crate::press::{Motion, PressScratch, press};
use crate::profile::Cylinder;
use crate::scm::{Scm, passive_coefficient};
use crate::soils::Soils;
use crate::surface::Surface;
use crate::tread::Tread;
use crate::tyre::Tyre;
use crate::wheel_memory::WheelMemory;

/// A cylinder, with grousers or without, and its mass.
///
/// Grousers hold some of the soil between them, which turns with the wheel: of each spacing a
/// wedge as long as the passive failure of a grouser's height, `2 h tan(45° + φ/2)`. The cylinder
/// that presses the soil has the mean radius of these wedges and the bare rim between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WheelShape {
    /// Radius, m; to the tips of grousers, if there are any.
    pub radius_m: f64,
    /// Width, m.
    pub width_m: f64,
    /// Height of the grousers, m; zero without grousers.
    pub grouser_height_m: f64,
    /// Number of grousers around the wheel.
    pub grousers: u32,
    /// Share of the soil's shear strength that the wheel's skin holds, 0 to 1: one for a rough
    /// skin or grousers, tan δ / tan φ for a smooth one.
    pub grip: f64,
    /// The wheel's tyre, which deforms on rigid ground; on soft soil the wheel is a rigid cylinder.
    pub tyre: Option<Tyre>,
    /// Mass of the wheel alone, kg; zero if it is not known. It bounds damping and stiffest stop of contacts that are
    /// not pressed node by node (`grip`).
    pub mass_kg: f64,
    /// Inertia of the wheel, and of the motor that turns with it, about the axle over the radius squared, kg; zero if it
    /// is not known.
    pub rim_kg: f64,
}

impl Default for WheelShape {
    fn default() -> Self {
        Self::plain(0.25, 0.2)
    }
}

impl WheelShape {
    /// A rough cylinder without grousers, of unknown mass.
    #[must_use]
    pub const fn plain(radius_m: f64, width_m: f64) -> Self {
        Self { radius_m, width_m, grouser_height_m: 0.0, grousers: 0, grip: 1.0, tyre: None, mass_kg: 0.0, rim_kg: 0.0 }
    }

    /// The least mass that moves along the surface with the wheel's rim, kg; zero if it is not known.
    pub(crate) fn tangential_kg(&self) -> f64 {
        self.mass_kg.min(self.rim_kg)
    }

    /// The equivalent radius that presses a soil of friction tan φ, m.
    #[must_use]
    pub fn pressing_radius_m(&self, friction_tan: f64) -> f64 {
        let spacing_m = std::f64::consts::TAU * self.radius_m / f64::from(self.grousers.max(1));
        let wedge_m = 2.0 * self.grouser_height_m * passive_coefficient(friction_tan).sqrt();
        let held = if self.grousers == 0 { 1.0 } else { (wedge_m / spacing_m).min(1.0) };
        self.radius_m - self.grouser_height_m * (1.0 - held)
    }
}

/// Length of the step and gravity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Length of the step, s.
    pub dt_s: f64,
    /// Free-fall acceleration, m/s².
    pub gravity_m_s2: f64,
}

/// A wheel's pose and velocity in the map frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WheelMotion {
    /// Origin at the wheel's centre; y along the axle, x ahead, z up (the wheel's
    /// carrier: it need not turn with the spin).
    pub world_from_wheel: Pose,
    /// Velocity of the centre, m/s.
    pub linear_m_s: Vector3<f64>,
    /// Angular velocity, spin included, rad/s; rolling ahead is about +y.
    pub angular_rad_s: Vector3<f64>,
}

/// The effect of the ground on a wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WheelContact {
    /// Force and torque of the soil on the wheel about its centre, map frame.
    pub wrench: Wrench,
    /// Unit normal of the undisturbed terrain under the wheel; zero without contact.
    pub terrain_normal: Vector3<f64>,
    /// Depth of the deepest node below the undisturbed terrain, along the normal, m. The
    /// data-driven law gives the depth of the wheel without its grousers, as its fits do.
    pub sinkage_m: f64,
    /// Force along the terrain's normal, N.
    pub normal_n: f64,
    /// Number of nodes that carry; for laws without nodes, of discs of the wheel that touch.
    pub contact_nodes: u32,
    /// Whether Bekker's modulus Kc/b + Kφ of some node was raised to its floor of a
    /// tenth of Kφ: its patch is too small for a soil whose Kc is negative, so the
    /// forces are not those of the fit.
    pub modulus_floored: bool,
    /// Whether the wheel is deeper in the ground than its radius, where no law was ever fitted.
    pub sinkage_beyond_radius: bool,
    /// Whether slip, speed, slope or load was outside the law's fit or table, so that the nearest
    /// covered value was taken.
    pub slip_outside_fit: bool,
    /// Radius less rolling radius, m: more than zero for a deflected tyre.
    pub rolling_radius_loss_m: f64,
}

/// A contact's forces in the wheel's own directions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WheelForces {
    /// Net force ahead along the terrain (drawbar pull), N.
    pub drawbar_n: f64,
    /// Force to the wheel's left along the terrain, N.
    pub lateral_n: f64,
    /// Force along the terrain's normal, N.
    pub normal_n: f64,
    /// Torque about the axle, N m; negative resists driving ahead.
    pub torque_nm: f64,
}

impl WheelContact {
    /// The forces in the wheel's own directions; zero without contact.
    #[must_use]
    pub fn forces(&self, world_from_wheel: &Pose) -> WheelForces {
        let axle = world_from_wheel.rotation * Vector3::y();
        let Some(ahead) = axle.cross(&self.terrain_normal).try_normalize(1e-9) else {
            return WheelForces::default();
        };
        let left = self.terrain_normal.cross(&ahead);
        WheelForces {
            drawbar_n: self.wrench.force.dot(&ahead),
            lateral_n: self.wrench.force.dot(&left),
            normal_n: self.normal_n,
            torque_nm: self.wrench.torque.dot(&axle),
        }
    }
}

/// The ground that wheels press: the soils of a site, the surface and the soil's memory.
pub struct SoilContext<'a> {
    /// Which soil lies where.
    pub soils: &'a Soils,
    /// The surface, which takes the ruts.
    pub ground: &'a mut GroundPatch,
    /// The memory of the nodes.
    pub memory: &'a mut MemoryPatch,
    /// Working arrays without state.
    pub scratch: &'a mut PressScratch,
}

/// One step of a wheel on the ground. Returns the contact at this motion, and updates ruts and
/// memories. The law is that of the soil under the wheel's centre. A wheel that touches nothing,
/// is off the site, or whose motion is not finite gets no wrench.
pub fn step(
    context: &mut SoilContext,
    wheel: &WheelShape,
    wheel_memory: &mut WheelMemory,
    motion: &WheelMotion,
    conditions: &Conditions,
) -> WheelContact {
    if !is_finite(motion) {
        return WheelContact::default();
    }
    let at = motion.world_from_wheel.translation;
    let law = context.soils.at(at.x, at.y);
    wheel_memory.enter(law.kind());
    match law {
        Law::Scm(scm) => {
            wheel_memory.leave();
            let axle = motion.world_from_wheel.rotation * Vector3::y();
            wheel_memory.turn(motion.angular_rad_s.dot(&axle), conditions.dt_s);
            let tread = Tread { wheel, motion, turned_rad: wheel_memory.turned_rad };
            let contact = step_scm(scm, context, &tread, conditions);
            wheel_memory.is_down = contact.contact_nodes > 0;
            WheelContact { sinkage_beyond_radius: contact.sinkage_m > wheel.radius_m, ..contact }
        }
        Law::Data(data) => data.step(context, wheel, wheel_memory, motion, conditions),
        Law::Rigid(rigid) => rigid.step(&Surface::now(context.ground), wheel, wheel_memory, motion, conditions),
        Law::SlipMap(map) => map.step(context, wheel, wheel_memory, motion, conditions),
    }
}

fn step_scm(scm: &Scm, context: &mut SoilContext, tread: &Tread<'_>, conditions: &Conditions) -> WheelContact {
    let Tread { wheel, motion, .. } = *tread;
    let centre_m = motion.world_from_wheel.translation.vector;
    let axle = motion.world_from_wheel.rotation * Vector3::y();
    let spacing_m = context.ground.spacing_m();
    let radius_m = wheel.pressing_radius_m(scm.friction_tan);
    let cylinder = Cylinder::new(centre_m, axle, radius_m, 0.5 * wheel.width_m, spacing_m).with_tread(*tread);
    let motion = Motion { centre_m, linear_m_s: motion.linear_m_s, angular_rad_s: motion.angular_rad_s };
    let response =
        press(scm, &cylinder, wheel.grip, &motion, conditions, context.ground, context.memory, context.scratch);
    WheelContact {
        wrench: response.wrench,
        terrain_normal: response.normal,
        sinkage_m: response.sinkage_m,
        normal_n: response.wrench.force.dot(&response.normal),
        contact_nodes: response.contact_nodes,
        modulus_floored: response.modulus_floored,
        ..WheelContact::default()
    }
}

fn is_finite(motion: &WheelMotion) -> bool {
    let pose = &motion.world_from_wheel;
    let parts: [[f64; 3]; 3] = [pose.translation.vector, motion.linear_m_s, motion.angular_rad_s].map(Into::into);
    let turn: [f64; 4] = pose.rotation.coords.into();
    // Without a branch for each number.
    parts.as_flattened().iter().chain(&turn).fold(true, |is_finite, value| is_finite & value.is_finite())
}

/// Slip of a wheel whose rim moves at `rim_m_s` = ωR while it goes ahead at `ahead_m_s`:
/// 1 − v/ωR when driving, ωR/v − 1 when dragged; within [−1, 1] while both have one
/// sign, zero at rest, and of larger magnitude when they oppose.
#[must_use]
pub fn slip_ratio(ahead_m_s: f64, rim_m_s: f64) -> f64 {
    if rim_m_s == 0.0 && ahead_m_s == 0.0 {
        return 0.0;
    }
    if rim_m_s.abs() >= ahead_m_s.abs() { 1.0 - ahead_m_s / rim_m_s } else { rim_m_s / ahead_m_s - 1.0 }
}

/// Angle from the wheel's heading to its direction of motion, rad; zero at rest.
#[must_use]
pub fn slip_angle_rad(ahead_m_s: f64, left_m_s: f64) -> f64 {
    left_m_s.atan2(ahead_m_s.abs())
}

#[cfg(test)]
mod tests {
    use super::{WheelShape, slip_angle_rad, slip_ratio};

    #[test]
    fn grousers_count_to_their_tips_when_close_and_less_when_far_apart() {
        let friction_tan = 30.0_f64.to_radians().tan();
        let radius_m = |grousers| {
            let shape = WheelShape { grouser_height_m: 0.01, grousers, ..WheelShape::plain(0.25, 0.2) };
            shape.pressing_radius_m(friction_tan)
        };
        assert_eq!(WheelShape::plain(0.25, 0.2).pressing_radius_m(friction_tan), 0.25);
        assert!((radius_m(100) - 0.25).abs() < 1e-12);
        // A wedge of 2 · 10 mm · tan 60° of each of 12 spacings of 131 mm.
        let expected_m = 0.24 + 0.01 * 0.02 * 3.0_f64.sqrt() / (std::f64::consts::TAU * 0.25 / 12.0);
        assert!((radius_m(12) - expected_m).abs() < 1e-12);
    }

    #[test]
    fn slip_is_zero_rolling_one_spinning_on_the_spot_and_minus_one_locked() {
        for (ahead, rim, slip) in
            [(0.2, 0.2, 0.0), (0.0, 0.2, 1.0), (0.2, 0.0, -1.0), (0.1, 0.2, 0.5), (0.25, 0.2, -0.2), (0.0, 0.0, 0.0)]
        {
            assert!((slip_ratio(ahead, rim) - slip).abs() < 1e-12, "{ahead} {rim}");
            assert!((slip_ratio(-ahead, -rim) - slip).abs() < 1e-12, "backwards {ahead} {rim}");
        }
    }

    #[test]
    fn the_slip_angle_is_that_of_the_path() {
        assert_eq!(slip_angle_rad(0.0, 0.0), 0.0);
        assert!((slip_angle_rad(1.0, 1.0) - std::f64::consts::FRAC_PI_4).abs() < 1e-12);
        assert!((slip_angle_rad(-1.0, 1.0) - std::f64::consts::FRAC_PI_4).abs() < 1e-12);
    }
}

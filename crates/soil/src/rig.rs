//! Test rigs: one wheel at a given slip that sinks under its load (the single-wheel
//! testbed), and a plate pressed into soil and lifted again (the bevameter). Both
//! run on level ground, as such rigs do.

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, Wrench};
use selene_terrain::{GroundPatch, Level};

use crate::law::Law;
use crate::memory::MemoryPatch;
use crate::press::{Motion, NODES_MAX, Scratch, press};
use crate::profile::Plate;
use crate::scm::Scm;
use crate::soils::Soils;
use crate::wheel::{Conditions, SoilContext, WheelMotion, WheelShape, step};
use crate::wheel_memory::WheelMemory;

/// Posts on a side of a rig's ground at most: 256 MB.
const POSTS_MAX: f64 = 8192.0;

/// Under a wheel that Kc fits, lone nodes at the rim meet the floor now and then; a
/// wheel that stands on it does so in most steps.
const FLOORED_MAX: f64 = 0.5;
/// A wheel this far above or below the ground was thrown by steps too long for its soil.
const LOST_RADII: f64 = 10.0;
/// Largest slip angle of a rig that sets its speed by the slip: 80°.
const SLIP_ANGLE_MAX_RAD: f64 = 1.4;
/// Steps of a run at most.
const STEPS_MAX: f64 = 1e7;
/// The same in words.
const STEPS: &str = "at most 10 million steps";

/// A rig that cannot be run, or whose result would not be true.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A value out of its range.
    #[error("{what} is {value}: must be {allowed}")]
    Value {
        /// Which.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// Too fine a grid for the length of the run or for what presses the soil.
    #[error("{what}: {needed:.0} on a grid of {grid_m} m, at most {allowed:.0} are taken: use a coarser grid")]
    TooFine {
        /// What there would be too many of.
        what: &'static str,
        /// How many.
        needed: f64,
        /// How many are taken.
        allowed: f64,
        /// Spacing, m.
        grid_m: f64,
    },
    /// The motion or the force is no longer a finite number, or a wheel is thrown far
    /// from the ground.
    #[error("the run diverged after {time_s} s: use steps shorter than {step_s} s")]
    Diverged {
        /// Since the start, s.
        time_s: f64,
        /// The step, s.
        step_s: f64,
    },
    /// A result that is not the soil's: see [`crate::WheelContact::modulus_floored`].
    #[error(
        "in {:.0} % of the steps Bekker's modulus Kc/b + Kφ is below a tenth of Kφ: the negative Kc was not fitted to \
         patches this small; use a wider wheel or plate, or a soil whose Kc is not negative", 100.0 * share
    )]
    ModulusFloored {
        /// Share of the steps.
        share: f64,
    },
}

/// The single-wheel testbed.
#[derive(Clone, Debug, PartialEq)]
pub struct WheelRig {
    /// The soil.
    pub law: Law,
    /// The wheel.
    pub wheel: WheelShape,
    /// Vertical load, N; the wheel's mass is load/gravity.
    pub load_n: f64,
    /// Spin, rad/s.
    pub omega_rad_s: f64,
    /// Slip, above −1 and at most 1: speed ahead ωR (1 − s), or ωR/(1 + s) when negative.
    pub slip: f64,
    /// Angle from where the wheel points to where it goes, left positive, rad.
    pub slip_angle_rad: f64,
    /// Gravity, m/s².
    pub gravity_m_s2: f64,
    /// Spacing of the nodes, m.
    pub grid_m: f64,
    /// Time step, s.
    pub step_s: f64,
    /// Length of the run, s.
    pub duration_s: f64,
    /// Its last part, over which means are taken, s.
    pub average_s: f64,
}

impl WheelRig {
    /// The rig of the reference data: 0.5 ms steps, 7 s of which the last 2 count.
    #[must_use]
    pub fn new(law: Law, wheel: WheelShape, load_n: f64, slip: f64) -> Self {
        Self {
            law,
            wheel,
            load_n,
            omega_rad_s: 0.8,
            slip,
            slip_angle_rad: 0.0,
            gravity_m_s2: 1.62,
            grid_m: 0.01,
            step_s: 5e-4,
            duration_s: 7.0,
            average_s: 2.0,
        }
    }

    /// Speed ahead and to the left.
    fn velocity_m_s(&self) -> Vector3<f64> {
        let rim = self.omega_rad_s * self.wheel.radius_m;
        let ahead = if self.slip < 0.0 { rim / (1.0 + self.slip) } else { rim * (1.0 - self.slip) };
        Vector3::new(ahead, ahead * self.slip_angle_rad.tan(), 0.0)
    }

    fn check(&self) -> Result<(), RigError> {
        let positive = [
            ("radius", self.wheel.radius_m),
            ("width", self.wheel.width_m),
            ("load", self.load_n),
            ("gravity", self.gravity_m_s2),
            ("grid", self.grid_m),
            ("step", self.step_s),
            ("duration", self.duration_s),
            ("average", self.average_s),
        ];
        positive.into_iter().try_for_each(|(what, value)| check_positive(what, value))?;
        let size_m = [2.0 * self.wheel.radius_m, self.wheel.width_m];
        check_count("nodes under the wheel", nodes_under(size_m, self.grid_m), NODES_MAX as f64, self.grid_m)?;
        check("duration over step", self.duration_s / self.step_s, self.duration_s / self.step_s <= STEPS_MAX, STEPS)?;
        check("slip", self.slip, self.slip > -1.0 && self.slip <= 1.0, "above -1 and at most 1")?;
        let angle = self.slip_angle_rad;
        check("slip angle", angle, angle.abs() <= SLIP_ANGLE_MAX_RAD, "within ±80°, in rad")?;
        check("omega", self.omega_rad_s, self.omega_rad_s.is_finite(), "a finite number")
    }
}

/// Means over the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SteadyState {
    /// Depth of the wheel's lowest point below the undisturbed ground, m.
    pub sinkage_m: f64,
    /// Net force ahead on the wheel, N.
    pub drawbar_n: f64,
    /// Force to the left on the wheel, N.
    pub lateral_n: f64,
    /// Force upward, N.
    pub normal_n: f64,
    /// Torque of the soil about the axle, N m; negative resists the drive.
    pub torque_nm: f64,
    /// Share of the steps in which a negative Kc met its floor under some node; see
    /// [`crate::WheelContact::modulus_floored`].
    pub floored_share: f64,
}

/// Runs the single-wheel testbed.
///
/// # Errors
/// When a value is out of range, the grid too fine, the run diverges, or the soil's
/// negative Kc mostly does not hold for the patches under the wheel.
pub fn wheel(rig: &WheelRig) -> Result<SteadyState, RigError> {
    rig.check()?;
    let level_m_s = rig.velocity_m_s();
    let travel_m = level_m_s.amax() * rig.duration_s;
    let mut ground = flat(rig.grid_m, travel_m + 4.0 * rig.wheel.radius_m + 2.0 * rig.wheel.width_m)?;
    let mut memory = MemoryPatch::new(&ground);
    let (mut wheel_memory, mut scratch) = (WheelMemory::carrying(rig.load_n), Scratch::default());
    let soils = Soils::uniform(rig.law.clone());
    let mut context = SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
    let conditions = Conditions { dt_s: rig.step_s, gravity_m_s2: rig.gravity_m_s2 };
    let steps = (rig.duration_s / rig.step_s).round() as usize;
    let skipped = steps.saturating_sub((rig.average_s / rig.step_s).round() as usize);
    let mut centre_m = level_m_s * (-0.5 * rig.duration_s) + Vector3::z() * rig.wheel.radius_m;
    let (mut rise_m_s, mut sum) = (0.0, SteadyState::default());
    for i in 0..steps {
        let motion = WheelMotion {
            world_from_wheel: Pose::from_parts(centre_m.into(), UnitQuaternion::identity()),
            linear_m_s: level_m_s + Vector3::z() * rise_m_s,
            angular_rad_s: Vector3::y() * rig.omega_rad_s,
        };
        let contact = step(&mut context, &rig.wheel, &mut wheel_memory, &motion, &conditions);
        let time_s = i as f64 * rig.step_s;
        if !(centre_m.z.abs() < LOST_RADII * rig.wheel.radius_m && is_finite(&contact.wrench)) {
            return Err(RigError::Diverged { time_s, step_s: rig.step_s });
        }
        if i >= skipped {
            sum.floored_share += f64::from(u8::from(contact.modulus_floored));
            sum.sinkage_m += rig.wheel.radius_m - centre_m.z;
            sum.drawbar_n += contact.wrench.force.x;
            sum.lateral_n += contact.wrench.force.y;
            sum.normal_n += contact.wrench.force.z;
            sum.torque_nm += contact.wrench.torque.y;
        }
        rise_m_s += (contact.wrench.force.z / rig.load_n - 1.0) * rig.gravity_m_s2 * rig.step_s;
        centre_m += (level_m_s + Vector3::z() * rise_m_s) * rig.step_s;
    }
    let steady = sum.over((steps - skipped).max(1));
    if steady.floored_share > FLOORED_MAX {
        return Err(RigError::ModulusFloored { share: steady.floored_share });
    }
    Ok(steady)
}

impl SteadyState {
    fn over(self, count: usize) -> Self {
        let count = count as f64;
        Self {
            sinkage_m: self.sinkage_m / count,
            drawbar_n: self.drawbar_n / count,
            lateral_n: self.lateral_n / count,
            normal_n: self.normal_n / count,
            torque_nm: self.torque_nm / count,
            floored_share: self.floored_share / count,
        }
    }
}

/// The bevameter: a flat plate pressed at a steady speed, then lifted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlateRig {
    /// The soil.
    pub scm: Scm,
    /// Length and width of the plate, m.
    pub size_m: [f64; 2],
    /// Speed down and up, m/s.
    pub speed_m_s: f64,
    /// Depth at which it turns, m.
    pub depth_m: f64,
    /// Spacing of the nodes, m.
    pub grid_m: f64,
    /// Time step, s.
    pub step_s: f64,
}

impl PlateRig {
    /// The plate on nodes of 1 cm, in steps of 1 ms.
    #[must_use]
    pub fn new(scm: Scm, size_m: [f64; 2], speed_m_s: f64, depth_m: f64) -> Self {
        Self { scm, size_m, speed_m_s, depth_m, grid_m: 0.01, step_s: 1e-3 }
    }

    fn check(&self) -> Result<(), RigError> {
        let values = [
            ("length", self.size_m[0]),
            ("width", self.size_m[1]),
            ("speed", self.speed_m_s),
            ("depth", self.depth_m),
            ("grid", self.grid_m),
            ("step", self.step_s),
        ];
        values.into_iter().try_for_each(|(what, value)| check_positive(what, value))?;
        check_count("nodes under the plate", nodes_under(self.size_m, self.grid_m), NODES_MAX as f64, self.grid_m)?;
        let steps = self.depth_m / (self.speed_m_s * self.step_s);
        check("depth over speed and step", steps, steps <= STEPS_MAX, STEPS)
    }
}

/// A moment of a plate's run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlateSample {
    /// Since the plate met the ground, s.
    pub time_s: f64,
    /// Depth of the plate below the undisturbed ground, m.
    pub sinkage_m: f64,
    /// Force upward on the plate, N.
    pub force_n: f64,
}

/// Runs the bevameter: a sample a step, down to the depth and half of the way up.
///
/// # Errors
/// When a value is out of range, the grid too fine, a force is not finite, or the
/// soil's negative Kc does not hold for a patch of the plate's size.
pub fn plate(rig: &PlateRig) -> Result<Vec<PlateSample>, RigError> {
    rig.check()?;
    let mut ground = flat_between_posts(rig.grid_m, rig.size_m)?;
    let mut memory = MemoryPatch::new(&ground);
    let mut scratch = Scratch::default();
    let turn_s = rig.depth_m / rig.speed_m_s;
    let steps = (1.5 * turn_s / rig.step_s).round() as usize;
    let conditions = Conditions { dt_s: rig.step_s, gravity_m_s2: 0.0 };
    let mut sample = |i: usize| {
        let time_s = i as f64 * rig.step_s;
        let sinkage_m = rig.depth_m - (time_s - turn_s).abs() * rig.speed_m_s;
        let down = if time_s <= turn_s { -1.0 } else { 1.0 };
        let motion = Motion {
            centre_m: -Vector3::z() * sinkage_m,
            linear_m_s: Vector3::z() * (down * rig.speed_m_s),
            angular_rad_s: Vector3::zeros(),
        };
        let solid = Plate { size_m: rig.size_m, height_m: -sinkage_m, spacing_m: rig.grid_m };
        let response = press(&rig.scm, &solid, 1.0, &motion, &conditions, &mut ground, &mut memory, &mut scratch);
        if response.modulus_floored {
            return Err(RigError::ModulusFloored { share: 1.0 });
        }
        if !is_finite(&response.wrench) {
            return Err(RigError::Diverged { time_s, step_s: rig.step_s });
        }
        Ok(PlateSample { time_s, sinkage_m, force_n: response.wrench.force.z })
    };
    (0..=steps).map(&mut sample).collect()
}

fn check(what: &'static str, value: f64, good: bool, allowed: &'static str) -> Result<(), RigError> {
    if good { Ok(()) } else { Err(RigError::Value { what, value, allowed }) }
}

fn check_positive(what: &'static str, value: f64) -> Result<(), RigError> {
    check(what, value, value.is_finite() && value > 0.0, "more than 0")
}

fn check_count(what: &'static str, needed: f64, allowed: f64, grid_m: f64) -> Result<(), RigError> {
    if needed <= allowed { Ok(()) } else { Err(RigError::TooFine { what, needed, allowed, grid_m }) }
}

/// The most nodes that a rectangle can cover, cut cells at its edges too.
fn nodes_under(size_m: [f64; 2], grid_m: f64) -> f64 {
    size_m.iter().map(|size| size / grid_m + 2.0).product()
}

fn flat(grid_m: f64, side_m: f64) -> Result<GroundPatch, RigError> {
    check_count("posts a side of the ground", side_m / grid_m, POSTS_MAX, grid_m)?;
    Ok(GroundPatch::flat(grid_m, side_m))
}

fn is_finite(wrench: &Wrench) -> bool {
    wrench.force.iter().chain(wrench.torque.iter()).all(|value| value.is_finite())
}

/// Level ground whose nodes stand for cells that tile a plate of whole cells exactly.
fn flat_between_posts(grid_m: f64, size_m: [f64; 2]) -> Result<GroundPatch, RigError> {
    let side_m = size_m[0].max(size_m[1]) + 8.0 * grid_m;
    check_count("posts a side of the ground", side_m / grid_m, POSTS_MAX, grid_m)?;
    let level = Level { origin_m: size_m.map(|size| -0.5 * size - 3.5 * grid_m), ..Level::flat(grid_m, side_m) };
    Ok(GroundPatch::of_level(level, Vec::new(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::{FLOORED_MAX, PlateRig, RigError, WheelRig, plate, wheel};
    use crate::scm::tests::LUNAR;
    use crate::{Law, Scm, WheelShape};

    const WHEEL: WheelShape =
        WheelShape { radius_m: 0.25, width_m: 0.2, grouser_height_m: 0.0, grousers: 0, grip: 1.0 };
    /// GRC-1: its negative Kc was fitted to patches wider than 7 cm.
    const GRC1: Scm = Scm { k_phi: 2.99e6, k_c: -2.02e5, ..LUNAR };

    fn floored(width_m: f64) -> Result<f64, RigError> {
        let shape = WheelShape { width_m, ..WHEEL };
        let rig = WheelRig { duration_s: 2.0, average_s: 0.5, ..WheelRig::new(Law::Scm(GRC1), shape, 180.0, 0.2) };
        wheel(&rig).map(|steady| steady.floored_share)
    }

    #[test]
    fn a_negative_kc_is_refused_under_what_is_too_narrow_for_it() {
        assert!(floored(0.2).is_ok_and(|share| share < FLOORED_MAX));
        assert!(matches!(floored(0.06), Err(RigError::ModulusFloored { .. })));
        assert!(plate(&PlateRig::new(GRC1, [0.3, 0.3], 0.01, 0.02)).is_ok());
        let narrow = plate(&PlateRig::new(GRC1, [0.05, 0.05], 0.01, 0.02));
        assert!(matches!(narrow, Err(RigError::ModulusFloored { .. })));
    }

    #[test]
    fn a_run_that_leaves_the_numbers_is_told_and_not_returned() {
        let light = wheel(&WheelRig::new(Law::Scm(LUNAR), WHEEL, f64::MIN_POSITIVE, 0.2));
        assert!(matches!(light, Err(RigError::Diverged { .. })), "{light:?}");
        let deep = plate(&PlateRig::new(LUNAR, [0.3, 0.3], 1e306, 1e306)).map(|samples| samples.len());
        assert!(matches!(deep, Err(RigError::Diverged { .. })), "{deep:?}");
    }

    #[test]
    fn a_grid_too_fine_for_what_it_carries_is_refused_with_the_numbers() {
        let fine = WheelRig { grid_m: 1e-4, ..WheelRig::new(Law::Scm(LUNAR), WHEEL, 180.0, 0.2) };
        let message = wheel(&fine).expect_err("refused").to_string();
        assert!(message.contains("under the wheel: 10014004 on a grid of 0.0001 m, at most 1048576"), "{message}");
        let plates = PlateRig { grid_m: 1e-4, ..PlateRig::new(LUNAR, [0.3, 0.3], 0.01, 0.02) };
        assert!(plate(&plates).is_err_and(|refusal| refusal.to_string().contains("under the plate")));
        let far = WheelRig { omega_rad_s: 1e3, ..WheelRig::new(Law::Scm(LUNAR), WHEEL, 180.0, 0.2) };
        assert!(wheel(&far).is_err_and(|refusal| refusal.to_string().contains("posts a side")));
        let long = WheelRig { step_s: 1e-9, ..WheelRig::new(Law::Scm(LUNAR), WHEEL, 180.0, 0.2) };
        assert!(wheel(&long).is_err_and(|refusal| refusal.to_string().contains("10 million steps")));
    }
}

//! Test rigs on level ground: one wheel at a given slip that sinks under its load (the
//! single-wheel testbed), and a plate pressed into soil and lifted again (the bevameter).

mod end;
mod error;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::{Pose, Wrench};
use selene_terrain::{GroundPatch, Level};

pub use self::error::{DivergedRig, NoSteadyState, RigError};

use self::end::RunEnd;
use crate::law::Law;
use crate::memory::MemoryPatch;
use crate::press::{Motion, NODES_MAX, PressScratch, press};
use crate::profile::Plate;
use crate::scm::Scm;
use crate::soils::Soils;
use crate::wheel::{Conditions, SoilContext, WheelMotion, WheelShape, step};
use crate::wheel_memory::WheelMemory;

/// Most posts along a side of a rig's ground: 256 MB.
const POSTS_MAX: f64 = 8192.0;

/// Largest share of steps in which the modulus may be at its floor. Under a wheel that Kc fits
/// single nodes at the rim reach the floor now and then; otherwise it happens in most steps.
const FLOORED_MAX: f64 = 0.5;
/// Height above or below the ground, in radii, at which steps too long for the soil have thrown the wheel.
const LOST_RADII: f64 = 10.0;
/// Vertical motion in one step, in radii, that no sinking wheel reaches.
const LEAP_RADII: f64 = 0.01;
/// Largest slip angle of a rig that sets its speed by the slip: 80°.
const SLIP_ANGLE_MAX_RAD: f64 = 1.4;
/// Most steps of a run.
const STEPS_MAX: f64 = 1e7;
/// The same limit in words, for messages.
const STEPS: &str = "at most 10 million steps";
/// Factors by which a run that has not settled is made longer, one after the other: under little
/// gravity a wheel sinks slowly, and a slow wheel stays long on the soil that it started on.
const LONGER: [f64; 2] = [3.0, 10.0];
/// Fewest cells of the grid along a plate's shorter side: Bekker's b is computed from whole
/// cells, so it is at most a quarter too large.
const PLATE_CELLS_MIN: f64 = 4.0;
/// Fewest steps of a plate on its way down.
const PLATE_STEPS_MIN: f64 = 10.0;

/// The single-wheel testbed.
#[derive(Clone, Debug, PartialEq)]
pub struct WheelRig {
    /// The soil.
    pub law: Law,
    /// The wheel.
    pub wheel: WheelShape,
    /// Vertical load, N; the wheel's mass is load/gravity.
    pub load_n: f64,
    /// Spin about the axle ω, rad/s.
    pub omega_rad_s: f64,
    /// Slip s, above −1 and at most 1: the speed ahead is ωR (1 − s), or ωR/(1 + s) for negative s.
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
    /// Length of the last part of the run, over which means are taken, s.
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

    /// Velocity: ahead, to the left, and zero upward.
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
        if matches!(self.law, Law::Data(_)) {
            return Err(RigError::NoPull);
        }
        check_grid(&self.wheel, self.grid_m)?;
        let size_m = [2.0 * self.wheel.radius_m, self.wheel.width_m];
        check_count("nodes under the wheel", nodes_under(size_m, self.grid_m), NODES_MAX as f64, self.grid_m)?;
        check("duration over step", self.duration_s / self.step_s, self.duration_s / self.step_s <= STEPS_MAX, STEPS)?;
        check("slip", self.slip, self.slip > -1.0 && self.slip <= 1.0, "above -1 and at most 1")?;
        let angle = self.slip_angle_rad;
        check("slip angle", angle, angle.abs() <= SLIP_ANGLE_MAX_RAD, "within ±80°, in rad")?;
        check("omega", self.omega_rad_s, self.omega_rad_s.is_finite(), "a finite number")
    }

    /// Refuses a wheel that is far from the ground or has sunk to its axle. A wheel that reaches its
    /// axle in leaps diverged rather than sank.
    fn check_place(&self, height_m: f64, rise_m_s: f64, wrench: &Wrench, time_s: f64) -> Result<(), RigError> {
        let radius_m = self.wheel.radius_m;
        let is_near = height_m.abs() < LOST_RADII * radius_m && is_finite(wrench);
        let leaps = (rise_m_s * self.step_s).abs() > LEAP_RADII * radius_m;
        match (is_near, height_m < 0.0) {
            (true, false) => Ok(()),
            (true, true) if !leaps => Err(RigError::Buried { time_s, radius_m }),
            _ => {
                let what = DivergedRig::Wheel { load_n: self.load_n, slip: self.slip };
                Err(RigError::Diverged { time_s, what })
            }
        }
    }

    /// The same rig with a run, and a part over which means are taken, `times` as long.
    fn times_as_long(&self, times: f64) -> Self {
        Self { duration_s: times * self.duration_s, average_s: times * self.average_s, ..self.clone() }
    }
}

/// The coarsest grid on which a rig accepts a wheel, m: two cells across its width and four
/// along its radius. On soil `lunar` a wheel of 100 N pulls within 2 % of its pull on a fine grid
/// with four cells, a fifth too much with two, and does not come to rest with fewer.
#[must_use]
pub fn coarsest_grid_m(wheel: &WheelShape) -> f64 {
    (0.5 * wheel.width_m).min(0.25 * wheel.radius_m)
}

/// Checks that a grid is fine enough for a wheel.
///
/// # Errors
/// When it is not; see [`coarsest_grid_m`].
pub(crate) fn check_grid(wheel: &WheelShape, grid_m: f64) -> Result<(), RigError> {
    let what = "half of the wheel's width and a quarter of its radius";
    check_coarse(grid_m, coarsest_grid_m(wheel), what)
}

fn check_coarse(grid_m: f64, most_m: f64, what: &'static str) -> Result<(), RigError> {
    if grid_m <= most_m { Ok(()) } else { Err(RigError::TooCoarse { grid_m, most_m, what }) }
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

/// Runs the single-wheel testbed, up to ten times as long as the rig says, until it has reached a
/// steady state.
///
/// # Errors
/// When a value is out of range, the law has no pull at a given slip, the grid is too fine or
/// too coarse, the wheel is too fast for the step, the run diverges, the wheel sinks deeper
/// than its radius or does not settle, or the soil's negative Kc does not hold for most of the
/// patches under the wheel.
pub fn wheel(rig: &WheelRig) -> Result<SteadyState, RigError> {
    let mut end = roll(rig)?;
    for times in LONGER {
        if end.unsettled(rig).is_none() {
            break;
        }
        match roll(&rig.times_as_long(times)) {
            // The longer run would exceed the limits of steps or ground: keep the result so far.
            Err(RigError::Value { .. } | RigError::TooFine { .. }) => break,
            longer => end = longer?,
        }
    }
    if let Some(why) = end.unsettled(rig) {
        return Err(RigError::NotSettled { time_s: end.time_s, why });
    }
    end.check_resolved(rig)?;
    Ok(end.steady)
}

/// Runs the testbed as long as the rig says.
fn roll(rig: &WheelRig) -> Result<RunEnd, RigError> {
    rig.check()?;
    let level_m_s = rig.velocity_m_s();
    let travel_m = level_m_s.amax() * rig.duration_s;
    let mut ground = flat(rig.grid_m, travel_m + 4.0 * rig.wheel.radius_m + 2.0 * rig.wheel.width_m)?;
    let mut memory = MemoryPatch::new(&ground);
    let (mut wheel_memory, mut scratch) = (WheelMemory::carrying(rig.load_n), PressScratch::default());
    let soils = Soils::uniform(rig.law.clone());
    let mut context = SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
    let conditions = Conditions { dt_s: rig.step_s, gravity_m_s2: rig.gravity_m_s2 };
    let steps = (rig.duration_s / rig.step_s).round() as usize;
    let skipped = steps.saturating_sub((rig.average_s / rig.step_s).round() as usize);
    let (counted, of_first) = (steps - skipped, (steps - skipped) / 2);
    let mut centre_m = level_m_s * (-0.5 * rig.duration_s) + Vector3::z() * rig.wheel.radius_m;
    let (mut rise_m_s, mut sum, mut first) = (0.0, SteadyState::default(), SteadyState::default());
    for i in 0..steps {
        let motion = WheelMotion {
            world_from_wheel: Pose::from_parts(centre_m.into(), UnitQuaternion::identity()),
            linear_m_s: level_m_s + Vector3::z() * rise_m_s,
            angular_rad_s: Vector3::y() * rig.omega_rad_s,
        };
        let contact = step(&mut context, &rig.wheel, &mut wheel_memory, &motion, &conditions);
        let time_s = i as f64 * rig.step_s;
        rig.check_place(centre_m.z, rise_m_s, &contact.wrench, time_s)?;
        if i == skipped + of_first {
            first = sum;
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
    let end = RunEnd::new(rig, sum, first, [of_first, counted], skipped);
    if end.steady.floored_share > FLOORED_MAX {
        return Err(RigError::ModulusFloored { share: end.steady.floored_share });
    }
    Ok(end)
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
    /// Depth at which the plate reverses, m.
    pub depth_m: f64,
    /// Spacing of the nodes, m.
    pub grid_m: f64,
    /// Time step, s.
    pub step_s: f64,
}

impl PlateRig {
    /// A plate on nodes 1 cm apart, in steps of 1 ms.
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
        let shorter_m = self.size_m[0].min(self.size_m[1]);
        check_coarse(self.grid_m, shorter_m / PLATE_CELLS_MIN, "a quarter of the plate's shorter side")?;
        check_count("nodes under the plate", nodes_under(self.size_m, self.grid_m), NODES_MAX as f64, self.grid_m)?;
        let steps = self.depth_m / (self.speed_m_s * self.step_s);
        let allowed = "10 to 10 million steps: press slower or deeper, or faster";
        check("depth over speed and step", steps, (PLATE_STEPS_MIN..=STEPS_MAX).contains(&steps), allowed)
    }
}

/// The state of the plate at one step of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlateSample {
    /// Time since the plate touched the ground, s.
    pub time_s: f64,
    /// Depth of the plate below the undisturbed ground, m.
    pub sinkage_m: f64,
    /// Force upward on the plate, N.
    pub force_n: f64,
}

/// Runs the bevameter down to the depth and half of the way up. Returns a sample for each step.
///
/// # Errors
/// When a value is out of range, the grid too fine or too coarse, a force is not finite, or
/// the soil's negative Kc does not hold for a patch of the plate's size.
pub fn plate(rig: &PlateRig) -> Result<Vec<PlateSample>, RigError> {
    rig.check()?;
    let mut ground = flat_between_posts(rig.grid_m, rig.size_m)?;
    let mut memory = MemoryPatch::new(&ground);
    let mut scratch = PressScratch::default();
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
            return Err(RigError::Diverged { time_s, what: DivergedRig::Plate { sinkage_m } });
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

/// The most nodes that a rectangle can cover, including cells cut by its edges.
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

/// Level ground whose cells exactly tile a plate with sides of whole cells.
fn flat_between_posts(grid_m: f64, size_m: [f64; 2]) -> Result<GroundPatch, RigError> {
    let side_m = size_m[0].max(size_m[1]) + 8.0 * grid_m;
    check_count("posts a side of the ground", side_m / grid_m, POSTS_MAX, grid_m)?;
    let level = Level { origin_m: size_m.map(|size| -0.5 * size - 3.5 * grid_m), ..Level::flat(grid_m, side_m) };
    Ok(GroundPatch::of_level(level, Vec::new(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::{FLOORED_MAX, NoSteadyState, PlateRig, RigError, WheelRig, plate, wheel};
    use crate::scm::tests::LUNAR;
    use crate::{Law, Scm, WheelShape};

    const WHEEL: WheelShape = WheelShape::plain(0.25, 0.2);
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
    fn a_run_that_leaves_the_numbers_is_reported_and_not_returned() {
        let light = wheel(&WheelRig::new(Law::Scm(LUNAR), WHEEL, f64::MIN_POSITIVE, 0.2));
        let message = light.expect_err("diverges").to_string();
        assert!(message.contains("diverged after") && message.contains(" N at a slip of 0.2"), "{message}");
        let deep = plate(&PlateRig::new(LUNAR, [0.3, 0.3], 1e306, 1e306)).map(|samples| samples.len());
        let message = deep.expect_err("diverges").to_string();
        assert!(message.contains("diverged after") && message.contains("press it less deep"), "{message}");
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

    /// 100 N on soil `lunar`, on a coarse grid in long steps.
    fn quick() -> WheelRig {
        WheelRig { grid_m: 0.02, step_s: 1e-3, ..WheelRig::new(Law::Scm(LUNAR), WHEEL, 100.0, 0.2) }
    }

    /// Bekker's curve does not depend on gravity: under little gravity a wheel reaches the same
    /// depth, only later.
    #[test]
    fn under_little_gravity_a_wheel_is_given_the_time_to_sink() {
        let usual = wheel(&quick()).expect("runs");
        let late = wheel(&WheelRig { gravity_m_s2: 0.01, ..quick() }).expect("settles");
        assert!((late.normal_n / 100.0 - 1.0).abs() < 0.02, "{late:?}");
        assert!((late.sinkage_m / usual.sinkage_m - 1.0).abs() < 0.1, "{late:?} {usual:?}");
        assert!((late.drawbar_n / usual.drawbar_n - 1.0).abs() < 0.1, "{late:?} {usual:?}");
        let never = wheel(&WheelRig { gravity_m_s2: 1e-4, ..quick() }).expect_err("still sinks").to_string();
        assert!(never.contains("not settled after 70 s: the wheel carries"), "{never}");
        assert!(never.contains(" of 100 N; take more gravity"), "{never}");
    }

    /// Pull depends on the distance travelled and hardly on the speed (only through damping): a wheel ten
    /// times slower than another pulls the same once it has left the soil that it started on.
    #[test]
    fn a_slow_wheel_is_given_the_way_to_come_onto_new_soil() {
        let [fast, slow] =
            [0.2, 0.02].map(|omega_rad_s| wheel(&WheelRig { omega_rad_s, ..quick() }).expect("settles").drawbar_n);
        assert!((slow / fast - 1.0).abs() < 0.05, "{slow} {fast}");
        let stuck = wheel(&WheelRig { omega_rad_s: 1e-3, ..quick() });
        assert!(matches!(stuck, Err(RigError::NotSettled { why: NoSteadyState::Way { .. }, .. })), "{stuck:?}");
        let standing = wheel(&WheelRig { omega_rad_s: 0.0, ..quick() });
        assert!(standing.is_ok_and(|state| state.drawbar_n.abs() < 1.0));
    }

    #[test]
    fn a_grid_too_coarse_for_what_it_carries_is_refused_with_the_coarsest_that_is_taken() {
        let refused = |rig: WheelRig| wheel(&rig).expect_err("refused").to_string();
        let message = refused(WheelRig { grid_m: 0.07, ..quick() });
        assert!(message.contains("0.07 m is too coarse: must be at most 0.0625 m, half of the wheel"), "{message}");
        let narrow = WheelShape { width_m: 0.03, ..WHEEL };
        let message = refused(WheelRig { wheel: narrow, ..quick() });
        assert!(message.contains("must be at most 0.015 m"), "{message}");
        // Fine enough for the wheel, but not for the 27 mm on which 10 N stand.
        let light = refused(WheelRig { grid_m: 0.05, load_n: 10.0, ..quick() });
        assert!(light.contains("too coarse") && light.contains("contact with the soil"), "{light}");
        let coarse = PlateRig { grid_m: 0.03, ..PlateRig::new(LUNAR, [0.3, 0.1], 0.01, 0.02) };
        let message = plate(&coarse).expect_err("refused").to_string();
        assert!(message.contains("must be at most 0.025 m, a quarter of the plate's shorter side"), "{message}");
    }

    #[test]
    fn what_passes_in_too_few_steps_is_refused() {
        let fast = WheelRig { omega_rad_s: 30.0, duration_s: 2.0, average_s: 0.5, step_s: 5e-4, ..quick() };
        let message = wheel(&fast).expect_err("refused").to_string();
        assert!(message.contains("goes 0.00300 m in a step of 0.0005 s"), "{message}");
        let message = plate(&PlateRig::new(LUNAR, [0.3, 0.3], 20.0, 0.02)).expect_err("refused").to_string();
        assert!(message.contains("depth over speed and step is 1: must be 10 to 10 million"), "{message}");
    }

    #[test]
    fn a_wheel_that_sinks_to_above_its_axle_is_not_reported_as_one_that_drives() {
        let heavy = wheel(&WheelRig { load_n: 2e4, ..quick() });
        assert!(matches!(heavy, Err(RigError::Buried { .. })), "{heavy:?}");
    }
}

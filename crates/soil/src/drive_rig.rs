//! A test rig that drives: a point mass on one wheel, on level ground or on a slope, whose
//! wheel turns at a commanded speed. It shows how a rover with equal wheels accelerates,
//! brakes and slips on a law of soil: each wheel carries its share of the mass, and the
//! attitude stays that of the slope.

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_terrain::{GroundPatch, Level};

use crate::law::Law;
use crate::memory::MemoryPatch;
use crate::press::PressScratch;
use crate::rig::{DivergedRig, RigError, check_grid};
use crate::soils::Soils;
use crate::wheel::{Conditions, SoilContext, WheelMotion, WheelShape, slip_ratio, step};
use crate::wheel_memory::WheelMemory;

/// Most posts along a side of the rig's ground: 64 MB.
const POSTS_MAX: f64 = 4096.0;
/// Most steps of a run.
const STEPS_MAX: f64 = 1e7;
/// Height above or below the ground, in wheel radii, at which the run counts as diverged.
const LOST_RADII: f64 = 10.0;

/// A change of the commanded wheel speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedCommand {
    /// Time from which on the command holds, s.
    pub from_s: f64,
    /// Wheel speed ωR, m/s.
    pub rim_m_s: f64,
}

/// The driving rig.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveRig {
    /// The soil.
    pub law: Law,
    /// The wheel.
    pub wheel: WheelShape,
    /// Mass that the wheel carries, kg.
    pub mass_kg: f64,
    /// Free-fall acceleration, m/s².
    pub gravity_m_s2: f64,
    /// Slope, degrees; positive ahead is up.
    pub slope_deg: f64,
    /// Heading on the slope, degrees counter-clockwise from straight up.
    pub heading_deg: f64,
    /// Commanded wheel speeds, in order of time; before the first the wheel stands still.
    pub commands: Vec<SpeedCommand>,
    /// Largest change of the wheel speed by the motor, m/s².
    pub motor_m_s2: f64,
    /// Spacing of the posts, m.
    pub grid_m: f64,
    /// Time step, s.
    pub step_s: f64,
    /// Length of the run, s.
    pub duration_s: f64,
}

/// The state of the wheel at one step of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriveSample {
    /// Time since the start, s.
    pub time_s: f64,
    /// Wheel speed v_w = ωR, m/s.
    pub rim_m_s: f64,
    /// Speed of the body along its heading, m/s.
    pub speed_m_s: f64,
    /// Speed of the body to its left, m/s.
    pub left_m_s: f64,
    /// Slip, as [`slip_ratio`] defines it.
    pub slip: f64,
    /// Sinkage, m; see [`crate::WheelContact::sinkage_m`].
    pub sinkage_m: f64,
    /// Normal force, N.
    pub normal_n: f64,
    /// Torque of the ground about the axle, N m.
    pub torque_nm: f64,
    /// Whether the input was outside the law's fit or table.
    pub slip_outside_fit: bool,
}

impl DriveRig {
    /// A wheel that is commanded to `rim_m_s` at the start, on level ground on the Moon, for 5 s
    /// in steps of 1 ms.
    #[must_use]
    pub fn new(law: Law, wheel: WheelShape, mass_kg: f64, rim_m_s: f64) -> Self {
        Self {
            law,
            wheel,
            mass_kg,
            gravity_m_s2: 1.62,
            slope_deg: 0.0,
            heading_deg: 0.0,
            commands: vec![SpeedCommand { from_s: 0.0, rim_m_s }],
            motor_m_s2: f64::INFINITY,
            grid_m: 0.02,
            step_s: 1e-3,
            duration_s: 5.0,
        }
    }

    fn check(&self) -> Result<(), RigError> {
        let value = |what, value: f64, good: bool, allowed| {
            if good { Ok(()) } else { Err(RigError::Value { what, value, allowed }) }
        };
        for (what, number) in [
            ("radius", self.wheel.radius_m),
            ("width", self.wheel.width_m),
            ("mass", self.mass_kg),
            ("gravity", self.gravity_m_s2),
            ("motor acceleration", self.motor_m_s2),
            ("grid", self.grid_m),
            ("step", self.step_s),
            ("duration", self.duration_s),
        ] {
            value(what, number, number > 0.0, "more than 0")?;
        }
        // For laws without nodes a plane is the same however far apart its posts are.
        if matches!(self.law, Law::Scm(_)) {
            check_grid(&self.wheel, self.grid_m)?;
        }
        value("slope", self.slope_deg, self.slope_deg.abs() <= 60.0, "-60 to 60")?;
        value("heading", self.heading_deg, self.heading_deg.is_finite(), "a finite number")?;
        let steps = self.duration_s / self.step_s;
        value("duration over step", steps, steps <= STEPS_MAX, "at most 10 million steps")?;
        self.commands
            .iter()
            .try_for_each(|command| value("wheel speed", command.rim_m_s, command.rim_m_s.is_finite(), "finite"))
    }

    fn commanded_m_s(&self, time_s: f64) -> f64 {
        self.commands.iter().take_while(|command| command.from_s <= time_s).last().map_or(0.0, |last| last.rim_m_s)
    }

    fn ground(&self) -> Result<GroundPatch, RigError> {
        let fastest = self.commands.iter().fold(0.0, |most: f64, command| most.max(command.rim_m_s.abs()));
        let half_m = fastest * self.duration_s + 4.0 * self.wheel.radius_m + 1.0;
        let posts = (2.0 * half_m / self.grid_m).ceil() + 1.0;
        if posts > POSTS_MAX {
            let what = "posts a side of the ground";
            return Err(RigError::TooFine { what, needed: posts, allowed: POSTS_MAX, grid_m: self.grid_m });
        }
        let rise = self.slope_deg.to_radians().tan();
        let level = Level::sample([-half_m, -half_m], self.grid_m, posts as usize, |x, _| rise * x);
        Ok(GroundPatch::of_level(level, Vec::new(), Vec::new()))
    }
}

/// Runs the driving rig. Returns a sample for each step, and the ground with the wheel's trace.
///
/// # Errors
/// When a value is out of range, the ground too large, the grid too coarse for a law that
/// presses its nodes, or the run diverges.
pub fn drive(rig: &DriveRig) -> Result<(Vec<DriveSample>, GroundPatch), RigError> {
    rig.check()?;
    let mut ground = rig.ground()?;
    let mut memory = MemoryPatch::new(&ground);
    let (soils, mut scratch) = (Soils::uniform(rig.law.clone()), PressScratch::default());
    let mut context = SoilContext { soils: &soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
    let mut wheel = DrivenWheel::new(rig);
    let steps = (rig.duration_s / rig.step_s).round() as usize;
    let samples = (0..steps).map(|i| wheel.step(rig, &mut context, i as f64 * rig.step_s)).collect::<Result<_, _>>()?;
    Ok((samples, ground))
}

/// The state of the wheel and of the mass that it carries.
struct DrivenWheel {
    world_from_wheel: Pose,
    velocity_m_s: Vector3<f64>,
    rim_m_s: f64,
    wheel_memory: WheelMemory,
    up: Vector3<f64>,
}

impl DrivenWheel {
    fn new(rig: &DriveRig) -> Self {
        let pitch = UnitQuaternion::from_euler_angles(0.0, -rig.slope_deg.to_radians(), 0.0);
        let rotation = pitch * UnitQuaternion::from_euler_angles(0.0, 0.0, rig.heading_deg.to_radians());
        let up = pitch * Vector3::z();
        Self {
            world_from_wheel: Pose::from_parts((up * rig.wheel.radius_m).into(), rotation),
            velocity_m_s: Vector3::zeros(),
            rim_m_s: 0.0,
            wheel_memory: WheelMemory::carrying(rig.mass_kg * rig.gravity_m_s2 * up.z),
            up,
        }
    }

    fn step(&mut self, rig: &DriveRig, context: &mut SoilContext, time_s: f64) -> Result<DriveSample, RigError> {
        let most_m_s = rig.motor_m_s2 * rig.step_s;
        self.rim_m_s += (rig.commanded_m_s(time_s) - self.rim_m_s).clamp(-most_m_s, most_m_s);
        let axle = self.world_from_wheel.rotation * Vector3::y();
        let motion = WheelMotion {
            world_from_wheel: self.world_from_wheel,
            linear_m_s: self.velocity_m_s,
            angular_rad_s: axle * (self.rim_m_s / rig.wheel.radius_m),
        };
        let conditions = Conditions { dt_s: rig.step_s, gravity_m_s2: rig.gravity_m_s2 };
        let contact = step(context, &rig.wheel, &mut self.wheel_memory, &motion, &conditions);
        let ahead_m_s = self.velocity_m_s.dot(&axle.cross(&self.up));
        let acceleration = contact.wrench.force / rig.mass_kg - Vector3::z() * rig.gravity_m_s2;
        self.velocity_m_s += acceleration * rig.step_s;
        self.world_from_wheel.translation.vector += self.velocity_m_s * rig.step_s;
        let height_m = self.world_from_wheel.translation.vector.dot(&self.up);
        let is_near = height_m.abs() < LOST_RADII * rig.wheel.radius_m;
        if !is_near {
            let what = DivergedRig::Drive { mass_kg: rig.mass_kg, step_s: rig.step_s };
            return Err(RigError::Diverged { time_s, what });
        }
        Ok(DriveSample {
            time_s,
            rim_m_s: self.rim_m_s,
            speed_m_s: ahead_m_s,
            left_m_s: motion.linear_m_s.dot(&axle),
            slip: slip_ratio(ahead_m_s, self.rim_m_s),
            sinkage_m: contact.sinkage_m,
            normal_n: contact.normal_n,
            torque_nm: contact.wrench.torque.dot(&axle),
            slip_outside_fit: contact.slip_outside_fit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{DriveRig, drive};
    use crate::scm::tests::LUNAR;
    use crate::{Law, Rigid, RigidSpec, WheelShape};

    #[test]
    fn a_law_of_nodes_needs_several_under_the_wheel_and_one_without_does_not() {
        let rigid = Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }));
        let on = |law| {
            let rig = DriveRig::new(law, WheelShape::plain(0.1, 0.08), 5.0, 0.1);
            drive(&DriveRig { grid_m: 0.05, duration_s: 0.1, ..rig }).map(|(samples, _)| samples.len())
        };
        let refusal = on(Law::Scm(LUNAR)).expect_err("refused").to_string();
        assert!(refusal.contains("0.05 m is too coarse: must be at most 0.025 m"), "{refusal}");
        assert!(on(rigid).is_ok_and(|samples| samples == 100));
    }
}

//! A test rig for rovers on slopes: the rover stands on a plane that rises along x under vertical gravity,
//! drives straight up at a commanded speed, and either climbs or stalls. Its wheels press the soil
//! as in a world, and nothing else touches it.
//!
//! The ground is tilted, not gravity, so that every law sees the slope as it does on a
//! site: the data-driven law by the wheel's heading against the vertical, the soil contact
//! model by its nodes, which sink vertically while pressure is along the plane's normal.

use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::rig::coarsest_grid_m;
use selene_soil::{
    Conditions, Law, MemoryPatch, PressScratch, SoilContext, Soils, WheelContact, WheelMemory, WheelShape, slip_ratio,
};
use selene_terrain::{GroundPatch, Level};
use selene_vehicle::{BodyTwist, Forces, Rover, RoverModel, Targets, VehicleError, steering};

use crate::wheels::{press_wheels, wheel_shapes};

/// Maximum number of posts on a side of the ground: 64 MB.
const POSTS_MAX: f64 = 4096.0;
/// Maximum number of steps of a run.
const STEPS_MAX: f64 = 1e7;
/// Longest step, s. With a longer one a light rover slips more because of the step alone, and
/// slides back where it should climb.
const STEP_MAX_S: f64 = 2e-3;
/// Time to settle with the wheels held, s.
const SETTLE_S: f64 = 1.0;
/// Distance that the rim travels while means are taken, in wheel radii. Before that, every wheel has
/// reached the ground that the first one stood on, and driven this distance again.
const AVERAGE_RADII: f64 = 6.0;
/// A rover slower than this fraction of its commanded speed has stalled.
const STALL_SHARE: f64 = 0.02;
/// Width of the ground around the rover's path, m.
const MARGIN_M: f64 = 1.5;
/// Cosine of the tilt from the plane beyond which a rover has fallen over: 60°.
const FALLEN_COS: f64 = 0.5;
/// Factors on the usual length of a run that are tried in turn if its end is not steady:
/// under little gravity a rover sinks and gains speed slowly.
const LONGER: [f64; 2] = [3.0, 10.0];
/// Relative tolerance within which the plane carries the weight of a settled rover.
const CARRIED_TOLERANCE: f64 = 0.05;
/// Minimum mean fraction of the weight that the plane carried before a rover fell over or slid away;
/// below it the rover never stood on the ground.
const CARRIED_MIN: f64 = 0.5;
/// Maximum relative gain of speed from the first half of the end to the second; a rover that gains more has
/// not reached its speed. At an even acceleration from rest the gain is a fifth.
const GAIN_MAX: f64 = 0.1;
/// A gain below this fraction of the commanded speed does not count: it is that of a motor which oscillates
/// about a stall.
const GAIN_MIN: f64 = 1e-3;

/// The rig: a rover, its soil and how it is driven.
#[derive(Clone, Debug)]
pub struct SlopeRig {
    /// The rover.
    pub rover: Arc<RoverModel>,
    /// The soil.
    pub law: Law,
    /// Free-fall acceleration, m/s².
    pub gravity_m_s2: f64,
    /// Commanded speed, m/s.
    pub speed_m_s: f64,
    /// Spacing of the ground's posts, m.
    pub grid_m: f64,
    /// Physics step, s.
    pub step_s: f64,
}

/// Results of a rover on a slope: means over the end of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Climb {
    /// The slope, degrees.
    pub slope_deg: f64,
    /// Speed up the slope, m/s.
    pub speed_m_s: f64,
    /// Slip, mean of the wheels.
    pub slip: f64,
    /// Sinkage, mean of the wheels, m.
    pub sinkage_m: f64,
    /// Torque of a drive at its wheel, mean of the wheels, N m.
    pub drive_torque_nm: f64,
    /// Whether the rover no longer advances, or fell over.
    pub stalled: bool,
}

/// Why a slope cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum SlopeError {
    /// A value out of its range.
    #[error("{what} is {value}: must be {allowed}")]
    Value {
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// Too few of the ground's posts are under the smallest wheel.
    #[error(
        "a grid of {grid_m} m is too coarse: must be at most {most_m} m, half of the smallest wheel's width and a \
         quarter of its radius"
    )]
    TooCoarse {
        /// Spacing, m.
        grid_m: f64,
        /// Coarsest spacing that is allowed, m.
        most_m: f64,
    },
    /// The rover cannot be built.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The wheels do not carry the rover's weight at the end of the longest run that was tried.
    #[error(
        "on {slope_deg}° not settled after {time_s:.1} s: the ground carries {percent:.0} % of the rover's weight; \
         take more gravity or a finer grid"
    )]
    NotCarried {
        /// The slope, degrees.
        slope_deg: f64,
        /// Length of the run, s.
        time_s: f64,
        /// Fraction of the weight that is carried, %.
        percent: f64,
    },
    /// The rover still gains speed at the end of the longest run that was tried.
    #[error(
        "on {slope_deg}° not settled after {time_s:.1} s: the rover still gains speed, {from_m_s:.4} to {to_m_s:.4} \
         m/s; command a lower speed"
    )]
    StillFaster {
        /// The slope, degrees.
        slope_deg: f64,
        /// Length of the run, s.
        time_s: f64,
        /// Mean speed over the first half of the end, m/s.
        from_m_s: f64,
        /// Mean speed over the second half, m/s.
        to_m_s: f64,
    },
    /// The state is no longer finite.
    #[error("on {slope_deg}° the rover's state is no longer finite after {time_s:.3} s; a smaller step may help")]
    NotFinite {
        /// The slope, degrees.
        slope_deg: f64,
        /// Simulated time, s.
        time_s: f64,
    },
}

impl SlopeRig {
    /// The rover at its own speed limit on lunar gravity, 1 cm posts and 0.5 ms steps.
    #[must_use]
    pub fn new(rover: Arc<RoverModel>, law: Law) -> Self {
        let speed_m_s = rover.spec().limits.speed_m_s;
        Self { rover, law, gravity_m_s2: 1.62, speed_m_s, grid_m: 0.01, step_s: 5e-4 }
    }

    /// Drives up a slope of `slope_deg`, or down if it is negative. A run that is not steady at its end is
    /// repeated with up to ten times the usual length.
    ///
    /// # Errors
    /// When a value is out of range, the grid too coarse, the rover cannot be built, does not
    /// settle, or its state is no longer finite.
    pub fn climb(&self, slope_deg: f64) -> Result<Climb, SlopeError> {
        self.check(slope_deg, 1.0)?;
        let mut end = self.drive(slope_deg, 1.0)?;
        for times in LONGER {
            if end.unsettled(self.speed_m_s).is_none() || self.check(slope_deg, times).is_err() {
                break;
            }
            end = self.drive(slope_deg, times)?;
        }
        match end.unsettled(self.speed_m_s) {
            // After the longest run a stall counts as one, however its speed oscillates.
            Some(SlopeError::StillFaster { .. }) if end.climb.stalled => Ok(end.climb),
            Some(why) => Err(why),
            None => Ok(end.climb),
        }
    }

    /// Drives for `times` the usual length of a run.
    fn drive(&self, slope_deg: f64, times: f64) -> Result<RunEnd, SlopeError> {
        let mut run = Run::new(self, slope_deg, times)?;
        let (steps, counted) = (run.steps(self.drive_s(times)), run.steps(self.average_s(times)));
        for _ in 0..run.steps(SETTLE_S * times) {
            run.step(0.0)?;
        }
        for _ in 0..steps {
            run.step(self.speed_m_s)?;
            if run.has_fallen() || run.has_left() {
                return Ok(run.broken_off(self));
            }
            if run.driven_steps == steps - counted {
                run.sums = Sums::new(self.rover.wheels().len());
            }
            if run.driven_steps == steps - counted / 2 {
                run.first_half = (run.sums.speed_m_s, run.sums.steps);
            }
        }
        Ok(run.end(self))
    }

    /// The largest wheel's radius, m.
    fn radius_m(&self) -> f64 {
        self.rover.wheels().iter().fold(0.0, |most: f64, wheel| most.max(wheel.radius_m))
    }

    /// Distance between the first and the last axle, m.
    fn wheelbase_m(&self) -> f64 {
        let along = self.rover.wheels().iter().map(|wheel| wheel.centre_in_base_m.x);
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        (high - low).max(0.0)
    }

    fn average_s(&self, times: f64) -> f64 {
        times * (AVERAGE_RADII * self.radius_m() / self.speed_m_s)
    }

    fn drive_s(&self, times: f64) -> f64 {
        2.0 * self.average_s(times) + times * (self.wheelbase_m() / self.speed_m_s)
    }

    /// Whether a run of `times` the usual length can be driven.
    fn check(&self, slope_deg: f64, times: f64) -> Result<(), SlopeError> {
        let value = |what, value: f64, good: bool, allowed| {
            if good { Ok(()) } else { Err(SlopeError::Value { what, value, allowed }) }
        };
        for (what, number) in
            [("gravity", self.gravity_m_s2), ("speed", self.speed_m_s), ("grid", self.grid_m), ("step", self.step_s)]
        {
            value(what, number, number.is_finite() && number > 0.0, "more than 0")?;
        }
        value("step", self.step_s, self.step_s <= STEP_MAX_S, "at most 0.002, in s")?;
        let limit = self.rover.spec().limits.speed_m_s;
        value("speed", self.speed_m_s, self.speed_m_s <= limit, "at most the rover's limits: speed_m_s")?;
        value("slope", slope_deg, slope_deg.abs() <= 45.0, "-45 to 45")?;
        self.check_grid()?;
        let steps = (SETTLE_S * times + self.drive_s(times)) / self.step_s;
        value("duration over step", steps, steps <= STEPS_MAX, "at most 10 million steps")?;
        let posts = self.side_m(times) / self.grid_m;
        value("posts a side of the ground", posts, posts <= POSTS_MAX, "at most 4096; take a coarser grid")
    }

    fn check_grid(&self) -> Result<(), SlopeError> {
        let most_m = wheel_shapes(&self.rover).iter().map(coarsest_grid_m).fold(f64::INFINITY, f64::min);
        let grid_m = self.grid_m;
        if grid_m <= most_m { Ok(()) } else { Err(SlopeError::TooCoarse { grid_m, most_m }) }
    }

    fn side_m(&self, times: f64) -> f64 {
        self.drive_s(times) * self.speed_m_s + self.wheelbase_m() + 2.0 * self.radius_m() + 2.0 * MARGIN_M
    }

    /// A plane that rises along x, with room behind and ahead of the origin, where the
    /// rover starts.
    fn ground(&self, slope_deg: f64, times: f64) -> GroundPatch {
        let side_m = self.side_m(times);
        let posts = (side_m / self.grid_m).ceil() as usize + 1;
        let rise = slope_deg.to_radians().tan();
        let behind_m = 0.5 * self.wheelbase_m() + self.radius_m() + MARGIN_M;
        let level = Level::sample([-behind_m, -0.5 * side_m], self.grid_m, posts, |x, _| rise * x);
        GroundPatch::of_level(level, Vec::new(), Vec::new())
    }
}

/// The end of a run, with the quantities that show whether it is a steady state.
struct RunEnd {
    climb: Climb,
    /// Whether the rover drove to the end, and did not fall over or slide away before it.
    is_whole: bool,
    /// Mean fraction of the weight that the ground carried.
    carried: f64,
    /// Mean speeds over the first and the second half of the end, m/s.
    halves_m_s: [f64; 2],
    /// Length of the run, s.
    time_s: f64,
}

impl RunEnd {
    /// Why this is no steady state; `None` if it is one.
    fn unsettled(&self, commanded_m_s: f64) -> Option<SlopeError> {
        let (slope_deg, time_s) = (self.climb.slope_deg, self.time_s);
        let is_carried =
            if self.is_whole { (self.carried - 1.0).abs() <= CARRIED_TOLERANCE } else { self.carried >= CARRIED_MIN };
        if !is_carried {
            return Some(SlopeError::NotCarried { slope_deg, time_s, percent: 100.0 * self.carried });
        }
        let [from_m_s, to_m_s] = self.halves_m_s;
        let gain_m_s = to_m_s - from_m_s;
        let gains = gain_m_s > GAIN_MAX * self.climb.speed_m_s.abs() && gain_m_s > GAIN_MIN * commanded_m_s;
        gains.then_some(SlopeError::StillFaster { slope_deg, time_s, from_m_s, to_m_s })
    }
}

/// A rover on its slope.
struct Run {
    rover: Rover,
    soils: Soils,
    ground: GroundPatch,
    memory: MemoryPatch,
    scratch: PressScratch,
    shapes: Vec<WheelShape>,
    wheel_memories: Vec<WheelMemory>,
    contacts: Vec<WheelContact>,
    conditions: Conditions,
    slope_deg: f64,
    /// Unit vectors up the slope, and normal to it.
    ahead: Vector3<f64>,
    normal: Vector3<f64>,
    time_s: f64,
    driven_steps: usize,
    sums: Sums,
    /// Sum of the speed over the first half of the end, m/s, and the number of its steps.
    first_half: (f64, usize),
    /// Sum of the force along the normal over the whole run, N, and the number of its steps.
    whole: (f64, usize),
}

impl Run {
    fn new(rig: &SlopeRig, slope_deg: f64, times: f64) -> Result<Self, SlopeError> {
        let ground = rig.ground(slope_deg, times);
        let shapes = wheel_shapes(&rig.rover);
        let rotation = UnitQuaternion::from_euler_angles(0.0, -slope_deg.to_radians(), 0.0);
        let (ahead, normal) = (rotation * Vector3::x(), rotation * Vector3::z());
        let heights = rig.rover.wheels().iter().map(|wheel| wheel.radius_m - wheel.centre_in_base_m.z);
        let stands_m = heights.fold(f64::NEG_INFINITY, f64::max);
        let pose = Pose::from_parts((normal * stands_m).into(), rotation);
        let gravity = Vector3::new(0.0, 0.0, -rig.gravity_m_s2);
        let share_n = rig.rover.mass_kg() * rig.gravity_m_s2 * normal.z / shapes.len().max(1) as f64;
        Ok(Self {
            rover: Rover::new(&rig.rover, pose, gravity, rig.step_s)?,
            soils: Soils::uniform(rig.law.clone()),
            memory: MemoryPatch::new(&ground),
            ground,
            scratch: PressScratch::default(),
            wheel_memories: vec![WheelMemory::carrying(share_n); shapes.len()],
            contacts: vec![WheelContact::default(); shapes.len()],
            sums: Sums::new(shapes.len()),
            shapes,
            conditions: Conditions { dt_s: rig.step_s, gravity_m_s2: rig.gravity_m_s2 },
            slope_deg,
            ahead,
            normal,
            time_s: 0.0,
            driven_steps: 0,
            first_half: (0.0, 0),
            whole: (0.0, 0),
        })
    }

    fn steps(&self, duration_s: f64) -> usize {
        (duration_s / self.conditions.dt_s).round() as usize
    }

    fn step(&mut self, speed_m_s: f64) -> Result<(), SlopeError> {
        let model = Arc::clone(self.rover.model());
        let targets = steering::wheel_targets(&model, &BodyTwist::arc(speed_m_s, 0.0), &self.rover.steer_angles_rad());
        self.press();
        let soil_on_wheel: Vec<_> = self.contacts.iter().map(|contact| contact.wrench).collect();
        self.rover.step(&Targets::from(targets), &Forces { soil_on_wheel: &soil_on_wheel, on_links: &[] });
        self.time_s += self.conditions.dt_s;
        self.driven_steps += usize::from(speed_m_s != 0.0);
        self.sums.speed_m_s += self.rover.base_twist().linear.dot(&self.ahead);
        self.sums.torque_nm += self.rover.drive_torques_nm().iter().sum::<f64>();
        self.sums.steps += 1;
        let carried_n: f64 = self.contacts.iter().map(|contact| contact.wrench.force.dot(&self.normal)).sum();
        self.sums.carried_n += carried_n;
        self.whole = (self.whole.0 + carried_n, self.whole.1 + 1);
        if self.rover.is_finite() {
            return Ok(());
        }
        Err(SlopeError::NotFinite { slope_deg: self.slope_deg, time_s: self.time_s })
    }

    fn press(&mut self) {
        let Self { soils, ground, memory, scratch, .. } = self;
        let mut context = SoilContext { soils, ground, memory, scratch };
        let (shapes, memories, contacts) = (&self.shapes, &mut self.wheel_memories, &mut self.contacts);
        press_wheels(&mut context, &self.rover, shapes, memories, &self.conditions, contacts);
        for (i, motion) in self.rover.wheel_motions().into_iter().enumerate() {
            let axle = motion.world_from_wheel.rotation * Vector3::y();
            let forward = axle.cross(&self.normal);
            self.sums.ahead_m_s[i] += motion.linear.dot(&forward);
            self.sums.rim_m_s[i] += motion.angular.dot(&axle) * self.shapes[i].radius_m;
            self.sums.sinkage_m += self.contacts[i].sinkage_m;
        }
    }

    /// The end of a run in which the rover drove to the end.
    fn end(&self, rig: &SlopeRig) -> RunEnd {
        let (sums, (first_m_s, first)) = (&self.sums, self.first_half);
        let second = sums.steps - first;
        let mean = |sum_m_s: f64, steps: usize| sum_m_s / steps.max(1) as f64;
        RunEnd {
            climb: sums.mean(self.slope_deg, &rig.rover, rig.speed_m_s),
            is_whole: true,
            carried: mean(sums.carried_n, sums.steps) / self.weight_n(rig),
            halves_m_s: [mean(first_m_s, first), mean(sums.speed_m_s - first_m_s, second)],
            time_s: self.time_s,
        }
    }

    /// The end of a run in which the rover fell over or left the ground.
    fn broken_off(&self, rig: &SlopeRig) -> RunEnd {
        let (carried_n, steps) = self.whole;
        RunEnd {
            climb: Climb { stalled: true, ..self.sums.mean(self.slope_deg, &rig.rover, rig.speed_m_s) },
            is_whole: false,
            carried: carried_n / steps.max(1) as f64 / self.weight_n(rig),
            halves_m_s: [0.0; 2],
            time_s: self.time_s,
        }
    }

    /// Component of the weight along the plane's normal, N.
    fn weight_n(&self, rig: &SlopeRig) -> f64 {
        rig.rover.mass_kg() * rig.gravity_m_s2 * self.normal.z
    }

    fn has_fallen(&self) -> bool {
        (self.rover.world_from_base().rotation * Vector3::z()).dot(&self.normal) < FALLEN_COS
    }

    /// Whether a wheel is beyond the ground.
    fn has_left(&self) -> bool {
        let off = |motion: selene_vehicle::WheelKinematics| {
            let at = motion.world_from_wheel.translation;
            self.ground.height_m(at.x, at.y).is_none()
        };
        self.rover.wheel_motions().into_iter().any(off)
    }
}

/// Sums over steps; those that are not per wheel are over all wheels.
struct Sums {
    steps: usize,
    speed_m_s: f64,
    ahead_m_s: Vec<f64>,
    rim_m_s: Vec<f64>,
    sinkage_m: f64,
    torque_nm: f64,
    carried_n: f64,
}

impl Sums {
    fn new(wheels: usize) -> Self {
        let zeros = vec![0.0; wheels];
        Self {
            steps: 0,
            speed_m_s: 0.0,
            ahead_m_s: zeros.clone(),
            rim_m_s: zeros,
            sinkage_m: 0.0,
            torque_nm: 0.0,
            carried_n: 0.0,
        }
    }

    /// Means over the steps. The slip is computed from mean speeds: a motor that oscillates about a stall
    /// has an unbounded slip at single instants.
    fn mean(&self, slope_deg: f64, rover: &RoverModel, commanded_m_s: f64) -> Climb {
        let (steps, wheels) = (self.steps.max(1) as f64, rover.wheels().len().max(1) as f64);
        let slips = self.ahead_m_s.iter().zip(&self.rim_m_s).map(|(ahead, rim)| slip_ratio(*ahead, *rim));
        let speed_m_s = self.speed_m_s / steps;
        Climb {
            slope_deg,
            speed_m_s,
            slip: slips.sum::<f64>() / wheels,
            sinkage_m: self.sinkage_m / (steps * wheels),
            drive_torque_nm: self.torque_nm / (steps * wheels),
            stalled: speed_m_s < STALL_SHARE * commanded_m_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Climb, RunEnd, SlopeError, SlopeRig};
    use selene_soil::{Law, SoilSpec};
    use selene_vehicle::RoverModel;
    use std::path::Path;
    use std::sync::Arc;

    fn config(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(name)
    }

    fn rig(rover: &str, soil: &str) -> SlopeRig {
        let rover = Arc::new(RoverModel::load(&config(&format!("rover/{rover}.yaml"))).expect("a rover"));
        let spec = SoilSpec::load(&config(&format!("soil/{soil}.yaml"))).expect("a soil");
        SlopeRig { grid_m: 0.02, step_s: 1e-3, ..SlopeRig::new(rover, Law::try_from(&spec).expect("a law")) }
    }

    /// On rigid ground a rover climbs while tan α is below the static friction, 0.8
    /// (38.7°), and slides back above it.
    #[test]
    fn on_rigid_ground_friction_says_how_steep_it_climbs() {
        let rig = rig("sorato", "rigid");
        let [flat, steep, too_steep] = [0.0, 30.0, 42.0].map(|slope| rig.climb(slope).expect("runs"));
        assert!(!flat.stalled && flat.slip.abs() < 0.02, "{flat:?}");
        assert!(!steep.stalled && steep.speed_m_s > 0.9 * rig.speed_m_s, "{steep:?}");
        assert!(too_steep.stalled && too_steep.speed_m_s < 0.0, "{too_steep:?}");
        // Torque does the work of the rise: m g sin α R over four wheels.
        let mass_kg = rig.rover.mass_kg();
        let expected_nm = mass_kg * rig.gravity_m_s2 * 30.0_f64.to_radians().sin() * 0.1 / 4.0;
        assert!((steep.drive_torque_nm / expected_nm - 1.0).abs() < 0.05, "{steep:?} {expected_nm}");
    }

    #[test]
    fn on_soil_slip_grows_with_the_slope_until_the_rover_stalls() {
        let rig = rig("sorato", "lunar");
        let climbs = [0.0, 10.0, 20.0, 40.0].map(|slope| rig.climb(slope).expect("runs"));
        assert!(climbs[..3].windows(2).all(|pair| pair[1].slip > pair[0].slip + 0.1), "{climbs:?}");
        assert_eq!(climbs.map(|climb| climb.stalled), [false, false, false, true], "{climbs:?}");
    }

    #[test]
    fn what_cannot_be_driven_is_refused_with_what_is_allowed() {
        let rig = rig("sorato", "lunar");
        for (rig, slope_deg, part) in [
            (rig.clone(), 50.0, "-45 to 45"),
            (rig.clone(), f64::NAN, "-45 to 45"),
            (SlopeRig { speed_m_s: 5.0, ..rig.clone() }, 0.0, "rover's limits"),
            (SlopeRig { grid_m: 1e-5, ..rig.clone() }, 0.0, "coarser grid"),
            (SlopeRig { grid_m: 5.0, ..rig.clone() }, 0.0, "5 m is too coarse: must be at most 0.025 m"),
            (SlopeRig { step_s: f64::INFINITY, ..rig.clone() }, 0.0, "more than 0"),
            (SlopeRig { step_s: 0.005, ..rig.clone() }, 0.0, "step is 0.005: must be at most 0.002"),
        ] {
            assert!(rig.climb(slope_deg).is_err_and(|refusal| refusal.to_string().contains(part)), "{part}");
        }
    }
    /// Friction of 0.7 gives the truck 1.1 m/s² on the Moon: it soon reaches 1 m/s, but not 10 m/s within
    /// a run that is long enough for means at that speed.
    #[test]
    fn a_rover_that_still_gains_speed_is_not_reported_as_one_that_slips() {
        let truck = SlopeRig { grid_m: 0.05, ..rig("truck", "rigid") };
        let refusal = truck.climb(0.0).expect_err("does not reach 10 m/s").to_string();
        assert!(refusal.contains("on 0° not settled after"), "{refusal}");
        let slow = SlopeRig { speed_m_s: 1.0, ..truck }.climb(0.0).expect("runs");
        assert!(!slow.stalled && (slow.speed_m_s - 1.0).abs() < 0.01, "{slow:?}");
    }

    #[test]
    fn an_end_is_steady_where_the_ground_carries_the_rover_and_its_speed_stays() {
        let climb = Climb { speed_m_s: 0.1, ..Climb::default() };
        let steady = || RunEnd { climb, is_whole: true, carried: 1.01, halves_m_s: [0.1, 0.1], time_s: 16.0 };
        let why = |end: RunEnd| end.unsettled(0.1);
        assert!(why(steady()).is_none());
        for carried in [0.3, 0.9, 1.1, f64::NAN] {
            let end = RunEnd { carried, ..steady() };
            assert!(matches!(why(end), Some(SlopeError::NotCarried { .. })), "{carried}");
        }
        let gains = why(RunEnd { halves_m_s: [0.09, 0.11], ..steady() });
        assert!(matches!(gains, Some(SlopeError::StillFaster { .. })), "{gains:?}");
        // Sliding back ever faster, oscillating about a stall, falling over.
        let slides = Climb { speed_m_s: -1.0, stalled: true, ..climb };
        assert!(why(RunEnd { climb: slides, halves_m_s: [-0.5, -1.5], ..steady() }).is_none());
        let hunts = Climb { speed_m_s: 1e-5, stalled: true, ..climb };
        assert!(why(RunEnd { climb: hunts, halves_m_s: [-2e-5, 4e-5], ..steady() }).is_none());
        assert!(why(RunEnd { is_whole: false, carried: 0.8, halves_m_s: [0.0; 2], ..steady() }).is_none());
        assert!(why(RunEnd { is_whole: false, carried: 0.1, ..steady() }).is_some());
    }
}

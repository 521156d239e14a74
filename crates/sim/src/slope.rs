//! A rover on a slope: it stands on a plane that rises along x under vertical gravity,
//! drives straight up it at a commanded speed, and either climbs or stalls. Its wheels press the soil
//! as in a world, and nothing else touches it.
//!
//! The ground is tilted, not gravity, so that every law sees the slope as it does on a
//! site: the data-driven law by the wheel's heading against the vertical, the soil contact
//! model by its nodes, which sink vertically while pressure is along the plane's normal.

use std::sync::Arc;

use nalgebra::{UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_soil::{
    Conditions, Law, MemoryPatch, Scratch, SoilContext, Soils, WheelContact, WheelMemory, WheelShape, slip_ratio,
};
use selene_terrain::{GroundPatch, Level};
use selene_vehicle::{BodyTwist, Forces, Rover, RoverModel, Targets, VehicleError, steering};

use crate::wheels::{press_wheels, wheel_shapes};

/// Posts on a side of the ground at most: 64 MB.
const POSTS_MAX: f64 = 4096.0;
/// Steps of a run at most.
const STEPS_MAX: f64 = 1e7;
/// Time to settle with the wheels held, s.
const SETTLE_S: f64 = 1.0;
/// Way of the rim over which means are taken, in wheel radii; before it every wheel has
/// come onto the ground that the first stood on, and as far again.
const AVERAGE_RADII: f64 = 6.0;
/// A rover slower than this share of its commanded speed does not advance.
const STALL_SHARE: f64 = 0.02;
/// Ground around the rover's way, m.
const MARGIN_M: f64 = 1.5;
/// A rover that leans from the plane by more than 60° has fallen over.
const FALLEN_COS: f64 = 0.5;

/// The rig.
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

/// How a rover fared on a slope: means over the end of its run.
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

/// A slope that cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum SlopeError {
    /// A value out of its range.
    #[error("{what} is {value}: must be {allowed}")]
    Value {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The rover cannot be built.
    #[error(transparent)]
    Vehicle(#[from] VehicleError),
    /// The state is no longer finite.
    #[error("on {slope_deg}° the rover's state is no longer finite after {time_s:.3} s; a smaller step may help")]
    NotFinite {
        /// The slope.
        slope_deg: f64,
        /// When.
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

    /// Drives up a slope of `slope_deg`; downhill when negative.
    ///
    /// # Errors
    /// When a value is out of range, the rover cannot be built or its state left the
    /// numbers.
    pub fn climb(&self, slope_deg: f64) -> Result<Climb, SlopeError> {
        self.check(slope_deg)?;
        let mut run = Run::new(self, slope_deg)?;
        let (steps, counted) = (run.steps(self.drive_s()), run.steps(self.average_s()));
        for _ in 0..run.steps(SETTLE_S) {
            run.step(0.0)?;
        }
        for _ in 0..steps {
            run.step(self.speed_m_s)?;
            if run.has_fallen() || run.has_left() {
                return Ok(Climb { stalled: true, ..run.sums.mean(slope_deg, &self.rover, self.speed_m_s) });
            }
            if run.driven_steps == steps - counted {
                run.sums = Sums::new(self.rover.wheels().len());
            }
        }
        Ok(run.sums.mean(slope_deg, &self.rover, self.speed_m_s))
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

    fn average_s(&self) -> f64 {
        AVERAGE_RADII * self.radius_m() / self.speed_m_s
    }

    fn drive_s(&self) -> f64 {
        2.0 * self.average_s() + self.wheelbase_m() / self.speed_m_s
    }

    fn check(&self, slope_deg: f64) -> Result<(), SlopeError> {
        let value = |what, value: f64, good: bool, allowed| {
            if good { Ok(()) } else { Err(SlopeError::Value { what, value, allowed }) }
        };
        for (what, number) in
            [("gravity", self.gravity_m_s2), ("speed", self.speed_m_s), ("grid", self.grid_m), ("step", self.step_s)]
        {
            value(what, number, number.is_finite() && number > 0.0, "more than 0")?;
        }
        let limit = self.rover.spec().limits.speed_m_s;
        value("speed", self.speed_m_s, self.speed_m_s <= limit, "at most the rover's limits: speed_m_s")?;
        value("slope", slope_deg, slope_deg.abs() <= 45.0, "-45 to 45")?;
        let steps = (SETTLE_S + self.drive_s()) / self.step_s;
        value("duration over step", steps, steps <= STEPS_MAX, "at most 10 million steps")?;
        let posts = self.side_m() / self.grid_m;
        value("posts a side of the ground", posts, posts <= POSTS_MAX, "at most 4096; take a coarser grid")
    }

    fn side_m(&self) -> f64 {
        self.drive_s() * self.speed_m_s + self.wheelbase_m() + 2.0 * self.radius_m() + 2.0 * MARGIN_M
    }

    /// A plane that rises along x, with room behind and ahead of the origin, where the
    /// rover starts.
    fn ground(&self, slope_deg: f64) -> GroundPatch {
        let side_m = self.side_m();
        let posts = (side_m / self.grid_m).ceil() as usize + 1;
        let rise = slope_deg.to_radians().tan();
        let behind_m = 0.5 * self.wheelbase_m() + self.radius_m() + MARGIN_M;
        let level = Level::sample([-behind_m, -0.5 * side_m], self.grid_m, posts, |x, _| rise * x);
        GroundPatch::of_level(level, Vec::new(), Vec::new())
    }
}

/// A rover on its slope.
struct Run {
    rover: Rover,
    soils: Soils,
    ground: GroundPatch,
    memory: MemoryPatch,
    scratch: Scratch,
    shapes: Vec<WheelShape>,
    wheel_memories: Vec<WheelMemory>,
    contacts: Vec<WheelContact>,
    conditions: Conditions,
    slope_deg: f64,
    /// Up the slope, and square to it.
    ahead: Vector3<f64>,
    normal: Vector3<f64>,
    time_s: f64,
    driven_steps: usize,
    sums: Sums,
}

impl Run {
    fn new(rig: &SlopeRig, slope_deg: f64) -> Result<Self, SlopeError> {
        let ground = rig.ground(slope_deg);
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
            scratch: Scratch::default(),
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

    fn has_fallen(&self) -> bool {
        (self.rover.world_from_base().rotation * Vector3::z()).dot(&self.normal) < FALLEN_COS
    }

    /// Whether it slid or drove off to where there is no ground any more.
    fn has_left(&self) -> bool {
        let off = |motion: selene_vehicle::WheelMotion| {
            let at = motion.world_from_wheel.translation;
            self.ground.height_m(at.x, at.y).is_none()
        };
        self.rover.wheel_motions().into_iter().any(off)
    }
}

/// Sums over steps; those without a wheel's index are over all wheels.
struct Sums {
    steps: usize,
    speed_m_s: f64,
    ahead_m_s: Vec<f64>,
    rim_m_s: Vec<f64>,
    sinkage_m: f64,
    torque_nm: f64,
}

impl Sums {
    fn new(wheels: usize) -> Self {
        let zeros = vec![0.0; wheels];
        Self { steps: 0, speed_m_s: 0.0, ahead_m_s: zeros.clone(), rim_m_s: zeros, sinkage_m: 0.0, torque_nm: 0.0 }
    }

    /// Slip is that of the mean speeds: a motor that hunts about a stall has a slip
    /// without bound at every instant.
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
    use super::SlopeRig;
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

    /// On rigid ground a rover climbs while tan α is below the friction at rest, 0.8
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
            (SlopeRig { step_s: f64::INFINITY, ..rig.clone() }, 0.0, "more than 0"),
        ] {
            assert!(rig.climb(slope_deg).is_err_and(|refusal| refusal.to_string().contains(part)), "{part}");
        }
    }
}

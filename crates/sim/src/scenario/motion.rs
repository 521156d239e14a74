//! Scripted motions of a rover's joints from the start of a run. They act like a command of type
//! `trajectory_msgs/JointTrajectory`, until another command replaces them.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::{SimTime, input};
use serde::Deserialize;

use crate::driving::{Command, Driver, JointTrajectory, TrajectoryPoint};
use crate::scenario::rover::RoverSetup;

/// Maximum number of motions of a rover, and of instants of one motion.
pub(crate) const MOTIONS_MAX: usize = 100;
const INSTANTS_MAX: usize = 10_000;

/// A motion of several joints, by angles or by rates, which are interpolated linearly between instants.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct MotionSpec {
    /// Names of joints or of their servos.
    #[garde(length(min = 1, max = MOTIONS_MAX))]
    pub joints: Vec<String>,
    /// Instants of simulated time, s: each later than the one before.
    #[garde(length(min = 1, max = INSTANTS_MAX), inner(custom(input::within(0.0, 1e6))))]
    pub at_s: Vec<f64>,
    /// Angles at these instants, degrees, for steers and servos by position.
    #[garde(inner(custom(input::finite)), custom(one_of_two(&self.at_s, &self.rates_deg_s)))]
    #[serde(default)]
    pub angles_deg: Vec<f64>,
    /// Rates at these instants, deg/s, for drives and servos by rate. The last one holds as long as any rate command.
    #[garde(inner(custom(input::finite)))]
    #[serde(default)]
    pub rates_deg_s: Vec<f64>,
}

fn one_of_two(at_s: &[f64], rates: &[f64]) -> impl FnOnce(&Vec<f64>, &()) -> garde::Result {
    let (instants, rates) = (at_s.len(), rates.len());
    move |angles, ()| match (angles.len(), rates) {
        (angles, 0) if angles == instants => Ok(()),
        (0, rates) if rates == instants => Ok(()),
        (angles, rates) => Err(garde::Error::new(format!(
            "{angles} angles_deg and {rates} rates_deg_s for {instants} instants at_s: must be as many of one of the two"
        ))),
    }
}

impl MotionSpec {
    /// The motion as a command that starts with the run.
    pub(crate) fn trajectory(&self) -> JointTrajectory {
        let of_all = |values: &[f64], n: usize| {
            values.get(n).map_or_else(Vec::new, |value| vec![value.to_radians(); self.joints.len()])
        };
        let point = |(n, at_s): (usize, &f64)| TrajectoryPoint {
            time: SimTime::from_secs_f64(*at_s),
            positions: of_all(&self.angles_deg, n),
            velocities: of_all(&self.rates_deg_s, n),
        };
        let points = self.at_s.iter().enumerate().map(point).collect();
        JointTrajectory { start: Some(SimTime::ZERO), joints: self.joints.clone(), points }
    }
}

impl RoverSetup {
    /// Refuses motions that the rover's driver would refuse.
    pub(crate) fn refuse_other_motions(&self) -> Result<(), String> {
        let driver = Driver::new(&self.model);
        let mut unreported = driver.unreported();
        for motion in &self.motions {
            driver.take(&mut unreported, &Command::Trajectory(motion.clone()), SimTime::ZERO);
        }
        unreported.last_refusal().map_or(Ok(()), |refusal| Err(refusal.to_string()))
    }
}

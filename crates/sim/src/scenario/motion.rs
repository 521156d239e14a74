//! What a rover's joints do by themselves from the run's begin on: as `trajectory_msgs/JointTrajectory` would tell them, and
//! until somebody tells them otherwise.

use std::path::Path;

use garde::Validate;
use schemars::JsonSchema;
use selene_base::{InputError, SimTime, input};
use serde::Deserialize;

use crate::driving::{Command, Driver, JointTrajectory, TrajectoryPoint};
use crate::scenario::rover::RoverSetup;

/// Motions of a rover at most, and instants of one.
pub(crate) const MOTIONS_MAX: usize = 100;
const INSTANTS_MAX: usize = 10_000;

/// Joints that do the same, by angles or by rates. Between two instants values run straight.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct MotionSpec {
    /// Names of joints or of their servos.
    #[garde(length(min = 1, max = MOTIONS_MAX))]
    pub joints: Vec<String>,
    /// Instants of simulated time, s: each later than the one before.
    #[garde(length(min = 1, max = INSTANTS_MAX), inner(custom(input::within(0.0, 1e6))))]
    pub at_s: Vec<f64>,
    /// Their angles then, of steers and of servos by position.
    #[garde(inner(custom(input::finite)), custom(one_of_two(&self.at_s, &self.rates_deg_s)))]
    #[serde(default)]
    pub angles_deg: Vec<f64>,
    /// Their rates then, of drives and of servos by rate. The last one is held as long as any rate command.
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
    /// As a command that begins with the run.
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
    /// Refuses motions that its driver would.
    pub(crate) fn refuse_other_motions(&self, scenario: &Path) -> Result<(), InputError> {
        let driver = Driver::new(&self.model);
        let mut untold = driver.untold();
        for motion in &self.motions {
            driver.take(&mut untold, &Command::Trajectory(motion.clone()), SimTime::ZERO);
        }
        match untold.last_refusal() {
            None => Ok(()),
            Some(refusal) => Err(InputError::content(scenario, format!("motions of rover '{}': {refusal}", self.name))),
        }
    }
}

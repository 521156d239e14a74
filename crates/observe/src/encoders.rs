//! What wheel encoders make of joint states: a drive joint's angle in whole counts,
//! its rate by the difference of two readings. Drives without an encoder's resolution in
//! the rover's file are told exactly.

use selene_base::SimTime;
use selene_sim::RoverSnapshot;
use selene_vehicle::{RoverModel, encoder};

use crate::values::JointReadings;

/// The encoders of a rover's wheels and what they told last.
#[derive(Clone, Debug)]
pub struct Encoders {
    /// Place in the joint states, and counts for a turn.
    wheels: Vec<(usize, u32)>,
    last: Option<(SimTime, Vec<f64>)>,
}

impl Encoders {
    /// Those of a rover.
    #[must_use]
    pub fn new(rover: &RoverModel) -> Self {
        let place = |joint: usize| rover.moving_joints().iter().position(|&moving| moving == joint);
        let wheels = rover.wheels().iter().filter(|wheel| wheel.is_driven());
        let wheels = wheels.filter_map(|w| Some((place(w.drive_joint)?, w.drive.encoder_counts_per_turn?))).collect();
        Self { wheels, last: None }
    }

    /// What the joints tell at `now`.
    pub fn read(&mut self, now: SimTime, rover: &RoverSnapshot) -> JointReadings {
        let mut told = JointReadings {
            position: rover.joint_position.clone(),
            velocity: rover.joint_velocity.clone(),
            effort: rover.joint_effort.clone(),
        };
        let wheels: Vec<_> = self.wheels.iter().filter(|(place, _)| *place < told.position.len()).collect();
        let read = |&&(place, counts): &&(usize, u32)| encoder::quantised_rad(told.position[place], Some(counts));
        let readings: Vec<f64> = wheels.iter().map(read).collect();
        let rates = match &self.last {
            Some((then, before)) if *then < now => encoder::rates_rad_s(before, &readings, (now - *then).secs_f64()),
            _ => vec![0.0; readings.len()],
        };
        for (i, &&(place, _)) in wheels.iter().enumerate() {
            (told.position[place], told.velocity[place]) = (readings[i], rates[i]);
        }
        self.last = Some((now, readings));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::Encoders;
    use selene_base::SimTime;
    use selene_sim::RoverSnapshot;

    #[test]
    fn angles_come_in_counts_and_rates_from_two_readings() {
        let mut encoders = Encoders { wheels: vec![(1, 1000)], last: None };
        let count = std::f64::consts::TAU / 1000.0;
        let mut told = |time_s: f64, angle: f64| {
            let rover = RoverSnapshot {
                joint_position: vec![0.123, angle],
                joint_velocity: vec![9.0, 9.0],
                ..RoverSnapshot::default()
            };
            encoders.read(SimTime::from_secs_f64(time_s), &rover)
        };
        let first = told(0.0, 2.5 * count);
        assert_eq!((first.position[0], first.velocity[0]), (0.123, 9.0));
        assert_eq!((first.position[1], first.velocity[1]), (2.0 * count, 0.0));
        assert!((told(0.02, 7.9 * count).velocity[1] - 5.0 * count / 0.02).abs() < 1e-9);
    }
}

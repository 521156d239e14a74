//! Joint states as wheel encoders measure them: a drive joint's angle in whole counts, its rate from the difference
//! of two readings. Drives without an encoder resolution in the rover's file are reported exactly.

use selene_base::SimTime;
use selene_sim::RoverSnapshot;
use selene_vehicle::{RoverModel, encoder};

use crate::values::JointReadings;

/// The encoders of a rover's wheels and their last readings.
#[derive(Clone, Debug)]
pub struct Encoders {
    /// Index in the joint states, and counts per turn.
    wheels: Vec<(usize, u32)>,
    last: Option<Reading>,
}

/// What all encoders of a rover measured at an instant.
#[derive(Clone, Debug)]
struct Reading {
    time: SimTime,
    angles_rad: Vec<f64>,
    rates_rad_s: Vec<f64>,
}

impl Encoders {
    /// The encoders of a rover.
    #[must_use]
    pub fn new(rover: &RoverModel) -> Self {
        let place = |joint: usize| rover.moving_joints().iter().position(|&moving| moving == joint);
        let wheels = rover.wheels().iter().filter(|wheel| wheel.is_driven());
        let wheels = wheels.filter_map(|w| Some((place(w.drive_joint)?, w.drive.encoder_counts_per_turn?))).collect();
        Self { wheels, last: None }
    }

    /// The joint states at `now` as the encoders measure them.
    pub fn read(&mut self, now: SimTime, rover: &RoverSnapshot) -> JointReadings {
        let mut reported = JointReadings {
            position: rover.joint_position.clone(),
            velocity: rover.joint_velocity.clone(),
            effort: rover.joint_effort.clone(),
        };
        let wheels: Vec<_> = self.wheels.iter().filter(|(place, _)| *place < reported.position.len()).collect();
        let read = |&&(place, counts): &&(usize, u32)| encoder::quantised_rad(reported.position[place], Some(counts));
        let readings: Vec<f64> = wheels.iter().map(read).collect();
        let rates = match &self.last {
            Some(last) if last.time < now => {
                encoder::rates_rad_s(&last.angles_rad, &readings, (now - last.time).secs_f64())
            }
            Some(last) if last.time == now => last.rates_rad_s.clone(),
            _ => vec![0.0; readings.len()],
        };
        for (i, &&(place, _)) in wheels.iter().enumerate() {
            (reported.position[place], reported.velocity[place]) = (readings[i], rates[i]);
        }
        self.last = Some(Reading { time: now, angles_rad: readings, rates_rad_s: rates });
        reported
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
        let mut reported = |time_s: f64, angle: f64| {
            let rover = RoverSnapshot {
                joint_position: vec![0.123, angle],
                joint_velocity: vec![9.0, 9.0],
                ..RoverSnapshot::default()
            };
            encoders.read(SimTime::from_secs_f64(time_s), &rover)
        };
        let first = reported(0.0, 2.5 * count);
        assert_eq!((first.position[0], first.velocity[0]), (0.123, 9.0));
        assert_eq!((first.position[1], first.velocity[1]), (2.0 * count, 0.0));
        for reading in ["first", "repeated"] {
            let velocity = reported(0.02, 7.9 * count).velocity[1];
            assert!((velocity - 5.0 * count / 0.02).abs() < 1e-9, "{reading}: {velocity} rad/s");
        }
    }
}

//! What wheel encoders make of `joint_states`: a drive joint's angle in whole counts,
//! its rate by the difference of two readings. Drives without an encoder's resolution in
//! the rover's file are told exactly.

use selene_base::SimTime;
use selene_ros::sensor_msgs;
use selene_vehicle::{RoverModel, encoder};

/// The encoders of a rover's wheels and what they told last.
pub(crate) struct Encoders {
    /// Place in the joint states, and counts for a turn.
    wheels: Vec<(usize, u32)>,
    last: Option<(SimTime, Vec<f64>)>,
}

impl Encoders {
    pub(crate) fn new(rover: &RoverModel) -> Self {
        let place = |joint: usize| rover.moving_joints().iter().position(|&moving| moving == joint);
        let wheels = rover.wheels().iter();
        let wheels = wheels.filter_map(|w| Some((place(w.drive_joint)?, w.drive.encoder_counts_per_turn?))).collect();
        Self { wheels, last: None }
    }

    /// Puts readings at `now` in the place of the true angles and rates.
    pub(crate) fn read(&mut self, now: SimTime, told: &mut sensor_msgs::JointState) {
        let read = |&(place, counts): &(usize, u32)| encoder::quantised_rad(told.position[place], Some(counts));
        let readings: Vec<f64> = self.wheels.iter().map(read).collect();
        let rates = match &self.last {
            Some((then, before)) if *then < now => encoder::rates_rad_s(before, &readings, (now - *then).secs_f64()),
            _ => vec![0.0; readings.len()],
        };
        for (i, &(place, _)) in self.wheels.iter().enumerate() {
            (told.position[place], told.velocity[place]) = (readings[i], rates[i]);
        }
        self.last = Some((now, readings));
    }
}

#[cfg(test)]
mod tests {
    use super::Encoders;
    use selene_base::SimTime;
    use selene_ros::sensor_msgs;

    #[test]
    fn angles_come_in_counts_and_rates_from_two_readings() {
        let mut encoders = Encoders { wheels: vec![(1, 1000)], last: None };
        let count = std::f64::consts::TAU / 1000.0;
        let mut told = |time_s: f64, angle: f64| {
            let mut joints = sensor_msgs::JointState {
                position: vec![0.123, angle],
                velocity: vec![9.0, 9.0],
                ..Default::default()
            };
            encoders.read(SimTime::from_secs_f64(time_s), &mut joints);
            joints
        };
        let first = told(0.0, 2.5 * count);
        assert_eq!((first.position[0], first.velocity[0]), (0.123, 9.0));
        assert_eq!((first.position[1], first.velocity[1]), (2.0 * count, 0.0));
        assert!((told(0.02, 7.9 * count).velocity[1] - 5.0 * count / 0.02).abs() < 1e-9);
    }
}

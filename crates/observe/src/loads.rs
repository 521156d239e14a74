//! Observers of contact and force–torque sensors: the loads of wheels and joints in the heartbeat of an instant, or
//! their mean over a window that ends there. Forces in a snapshot are those of the last step before it; the first
//! snapshot of a world has none yet.

use nalgebra::Vector3;
use selene_base::{Pose, SimTime, Wrench};
use selene_sensors::{Contact, ContactSpec, ForceTorqueSpec, Sample};
use selene_sim::{RoverSetup, RoverSnapshot, Snapshot};

use crate::instruments::{MeasurementContext, WithTruth};
use crate::values::Measured;

/// The observer of a wheel's contact sensor.
#[derive(Debug)]
pub(crate) struct ContactObserver {
    spec: ContactSpec,
    /// Index of its wheel in the rover.
    wheel: Option<usize>,
    seed: u64,
}

impl ContactObserver {
    pub(crate) fn new(spec: &ContactSpec, link: usize, setup: &RoverSetup) -> Self {
        let wheel = setup.model.wheels().iter().position(|wheel| wheel.link == link);
        Self { spec: spec.clone(), wheel, seed: setup.sensor_seed }
    }

    pub(crate) fn measure(&self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let wheel = view.interval.next.rover(view.rover)?.wheels.get(self.wheel?)?;
        let truth = Contact { in_contact: wheel.in_contact, load_n: wheel.force_n.z };
        let reported = self.spec.read(truth.load_n, self.seed, sample);
        Some(WithTruth { measured: Measured::Contact(reported), truth: Measured::Contact(truth) })
    }
}

/// The observer of a force–torque sensor.
#[derive(Debug)]
pub(crate) struct ForceTorqueObserver {
    spec: ForceTorqueSpec,
    /// Index of the link whose load is measured.
    link: Option<usize>,
    frame: usize,
    seed: u64,
}

impl ForceTorqueObserver {
    /// `frame` is the index of the sensor's frame among the rover's links.
    pub(crate) fn new(spec: &ForceTorqueSpec, frame: usize, setup: &RoverSetup) -> Self {
        let link = setup.model.link_index(&spec.link);
        Self { spec: spec.clone(), link, frame, seed: setup.sensor_seed }
    }

    pub(crate) fn measure(&self, view: &MeasurementContext<'_>, sample: Sample) -> Option<WithTruth> {
        let truth = self.mean_load(view, sample.instant)?;
        let reported = self.spec.read(&truth, self.seed, sample);
        Some(WithTruth { measured: Measured::Load(reported), truth: Measured::Load(truth) })
    }

    /// The mean load in the window that ends at `time`, or that of the heartbeat if no snapshot falls in the window.
    /// `None` if a snapshot lacks it, or the history does not reach back far enough.
    fn mean_load(&self, view: &MeasurementContext<'_>, time: SimTime) -> Option<Wrench> {
        let link = self.link?;
        let load = |snapshot: &Snapshot| load_in(snapshot.rover(view.rover)?, link, self.frame);
        let begin = time - SimTime::from_secs_f64(self.spec.window_s);
        if !view.history.reaches_back_to(begin) {
            return None;
        }
        let reported: Vec<Wrench> = view.history.within(begin, time).filter_map(load).collect();
        if reported.is_empty() { load(&view.interval.next) } else { Some(mean(&reported)) }
    }
}

/// The wrench that a link exerts on its parent, in a frame that is fixed to the parent.
pub(crate) fn load_in(rover: &RoverSnapshot, link: usize, frame: usize) -> Option<Wrench> {
    let of_link = rover.load_of(link)?;
    let frame_from_link: Pose = rover.world_from_links.get(frame)?.inverse() * rover.world_from_links.get(link)?;
    let force = frame_from_link.rotation * of_link.force;
    let arm = frame_from_link.translation.vector;
    Some(Wrench { force, torque: frame_from_link.rotation * of_link.torque + arm.cross(&force) })
}

fn mean(of: &[Wrench]) -> Wrench {
    let share = 1.0 / of.len() as f64;
    let sum = |part: fn(&Wrench) -> Vector3<f64>| of.iter().map(part).sum::<Vector3<f64>>() * share;
    Wrench { force: sum(|wrench| wrench.force), torque: sum(|wrench| wrench.torque) }
}

#[cfg(test)]
mod tests {
    use super::{load_in, mean};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::{Pose, Wrench};
    use selene_sim::{LinkLoad, RoverSnapshot};
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn a_load_is_turned_and_moved_to_the_sensors_frame() {
        // The link is rotated by 90° about z and is 0.5 m ahead of the sensor's frame.
        let turned = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), FRAC_PI_2);
        let rover = RoverSnapshot {
            world_from_links: vec![
                Pose::translation(1.0, 2.0, 3.0),
                Pose::from_parts(Vector3::new(1.5, 2.0, 3.0).into(), turned),
            ],
            link_loads: vec![LinkLoad {
                link: 1,
                wrench: Wrench { force: Vector3::new(2.0, 0.0, 7.0), torque: Vector3::x() },
            }],
            ..RoverSnapshot::default()
        };
        let load = load_in(&rover, 1, 0).expect("published");
        assert!((load.force - Vector3::new(0.0, 2.0, 7.0)).norm() < 1e-12, "{}", load.force);
        // (0.5, 0, 0) × (0, 2, 7) = (0, −3.5, 1), and the link's own torque along y.
        assert!((load.torque - Vector3::new(0.0, -2.5, 1.0)).norm() < 1e-12, "{}", load.torque);
        assert!(load_in(&rover, 0, 0).is_none(), "nobody measures it");
    }

    #[test]
    fn the_mean_is_that_of_every_part() {
        let of = |n: f64| Wrench { force: Vector3::repeat(n), torque: Vector3::new(n, 0.0, -n) };
        assert_eq!(mean(&[of(1.0), of(2.0), of(6.0)]), of(3.0));
    }
}

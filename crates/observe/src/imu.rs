//! Inertial units: the motion of `base_link` between two snapshots, felt at the
//! unit's mounting. Accelerations are means over the heartbeat.

use std::convert::Infallible;

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_sensors::{Imu, ImuSpec, Motion, Sample, Schedule};
use selene_sim::{EntityId, Model, Mounted};

use crate::interval::Interval;
use crate::outbox::Outbox;
use crate::per_rover::PerRover;
use crate::values::{ImuSample, SensorId};

/// The inertial units of all rovers.
#[derive(Debug)]
pub struct Imus {
    rovers: PerRover<Vec<MountedImu>>,
}

#[derive(Debug)]
struct MountedImu {
    sensor: SensorId,
    imu: Imu,
    frame: String,
    schedule: Schedule,
    outbox: Outbox<ImuSample>,
}

impl Default for Imus {
    fn default() -> Self {
        Self { rovers: PerRover::without_ground() }
    }
}

impl Imus {
    /// Takes in the world's next interval; the readings that are due in it, in the order of rovers and of each
    /// one's units.
    pub fn take(&mut self, interval: &Interval) -> Vec<ImuSample> {
        let Ok(()) = self.rovers.follow(interval, |id, _| Ok::<_, Infallible>(units(&interval.model, id)));
        let gravity = Vector3::new(0.0, 0.0, -interval.model.scenario().gravity_m_s2);
        let mut due = Vec::new();
        for unit in self.rovers.values_mut().flatten() {
            unit.take(interval, gravity);
            let at = |sample: &ImuSample| unit.schedule.handed_over(sample.stamp);
            due.extend(unit.outbox.due(interval.next.time).filter(|sample| !interval.was_told(at(sample))));
        }
        due
    }
}

fn units(model: &Model, rover: EntityId) -> Vec<MountedImu> {
    let Some(setup) = model.rovers().get(&rover).map(|kind| kind.setup()) else { return Vec::new() };
    let base_from_links = setup.model.base_from_links_at_zero();
    let unit = |Mounted { spec, link }: Mounted<'_, ImuSpec>| MountedImu {
        sensor: SensorId { rover, name: spec.name.clone() },
        imu: Imu::new(spec.clone(), base_from_links[link], setup.sensor_seed),
        frame: setup.frame(&spec.link),
        schedule: spec.schedule(),
        outbox: Outbox::default(),
    };
    setup.imus().map(unit).collect()
}

impl MountedImu {
    fn take(&mut self, interval: &Interval, gravity: Vector3<f64>) {
        for sample in self.schedule.measured_in(interval.after(), interval.next.time) {
            if let Some(motion) = motion(interval, self.sensor.rover, sample.instant) {
                self.outbox.put(self.schedule.handed_over(sample.instant), self.read(sample, &motion, gravity));
            }
        }
    }

    fn read(&self, sample: Sample, motion: &Motion, gravity: Vector3<f64>) -> ImuSample {
        let reading = self.imu.read(sample, motion, gravity);
        ImuSample {
            sensor: self.sensor.clone(),
            frame: self.frame.clone(),
            stamp: sample.instant,
            index: sample.index,
            world_from_imu: reading.world_from_imu,
            angular_velocity_rad_s: reading.angular_velocity,
            linear_acceleration_m_s2: reading.linear_acceleration,
            white_variances: self.imu.white_variances(),
        }
    }
}

/// Motion of a rover's base at `time` between the two snapshots; none where one of them does not have it.
fn motion(interval: &Interval, rover: EntityId, time: SimTime) -> Option<Motion> {
    let (previous, next) = (&interval.previous, &interval.next);
    let (before, after) = (previous.rover(rover)?, next.rover(rover)?);
    let span_s = (next.time - previous.time).secs_f64();
    let angular_acceleration = (after.base_twist.angular - before.base_twist.angular) / span_s;
    Some(Motion {
        world_from_body: previous.link_at(next, rover, 0, time)?,
        angular_velocity: after.base_twist.angular - angular_acceleration * (next.time - time).secs_f64(),
        angular_acceleration,
        linear_acceleration: after.base_acceleration,
    })
}

//! Inertial units: the motion of `base_link` between two snapshots, felt at the
//! unit's mounting. Accelerations are means over the heartbeat.

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_sensors::{Imu, ImuReading, ImuSpec, Motion, Sample};
use selene_sim::{EntityId, RoverSetup};

use crate::instruments::{Told, View};
use crate::interval::Interval;
use crate::values::{ImuSample, Measured};

/// One unit.
#[derive(Debug)]
pub(crate) struct ImuObserver {
    imu: Imu,
}

impl ImuObserver {
    pub(crate) fn new(spec: &ImuSpec, link: usize, setup: &RoverSetup) -> Self {
        let base_from_imu = setup.model.base_from_links_at_zero()[link];
        Self { imu: Imu::new(spec.clone(), base_from_imu, setup.sensor_seed) }
    }

    pub(crate) fn measure(&self, view: &View<'_>, sample: Sample) -> Option<Told> {
        let motion = motion(view.interval, view.rover, sample.instant)?;
        let gravity = Vector3::new(0.0, 0.0, -view.interval.model.scenario().gravity_m_s2);
        let measured = told(&self.imu.read(sample, &motion, gravity), self.imu.white_variances());
        Some(Told { measured, truth: told(&self.imu.exact(&motion, gravity), [0.0; 2]) })
    }
}

fn told(reading: &ImuReading, white_variances: [f64; 2]) -> Measured {
    Measured::Imu(ImuSample {
        world_from_imu: reading.world_from_imu,
        angular_velocity_rad_s: reading.angular_velocity,
        linear_acceleration_m_s2: reading.linear_acceleration,
        white_variances,
    })
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

//! One inertial unit: the motion of `base_link` between two snapshots, felt at the
//! unit's mounting. Accelerations are means over the heartbeat.

use nalgebra::Vector3;
use selene_base::SimTime;
use selene_coherence::{Interval, NodeError, Outbox, qos_of};
use selene_ros::sensor_msgs;
use selene_ros::transport::{Publisher, Transport};
use selene_sensors::{Imu, ImuSpec, ImuState, Motion, Schedule};
use selene_sim::Scenario;

use crate::messages;

pub(crate) struct InertialUnit {
    imu: Imu,
    frame: String,
    biases: ImuState,
    schedule: Schedule,
    gravity: Vector3<f64>,
    outbox: Outbox<sensor_msgs::Imu>,
    publisher: Publisher<sensor_msgs::Imu>,
}

impl InertialUnit {
    pub(crate) fn open(
        transport: &dyn Transport,
        scenario: &Scenario,
        spec: &ImuSpec,
        schedule: Schedule,
    ) -> Result<Self, NodeError> {
        let link = scenario.link_index(&spec.link);
        let base_from_imu = scenario.rover.base_from_links_at_zero()[link];
        let topic = scenario.topic(&format!("{}/data", spec.name));
        Ok(Self {
            imu: Imu::new(spec.clone(), base_from_imu, scenario.seed),
            frame: spec.link.clone(),
            biases: ImuState::default(),
            schedule,
            gravity: Vector3::new(0.0, 0.0, -scenario.gravity_m_s2),
            outbox: Outbox::default(),
            publisher: Publisher::new(transport, &topic, qos_of(spec.qos))?,
        })
    }

    pub(crate) fn take(&mut self, interval: &Interval) -> Result<(), NodeError> {
        for sample in self.schedule.measured_in(interval.after(), interval.next.time) {
            let motion = motion(interval, sample.instant);
            let reading = self.imu.read(&mut self.biases, sample, &motion, self.gravity);
            let message = messages::imu(&self.frame, &reading, self.imu.white_variances(), sample.instant);
            self.outbox.put(self.schedule.handed_over(sample.instant), message);
        }
        for message in self.outbox.due(interval.next.time) {
            self.publisher.publish(&message, message.header.stamp.into())?;
        }
        Ok(())
    }
}

/// Motion of the base at `time` between the two snapshots.
fn motion(interval: &Interval, time: SimTime) -> Motion {
    let (previous, next) = (&interval.previous, &interval.next);
    let span_s = (next.time - previous.time).secs_f64();
    let angular_acceleration = (next.base_twist.angular - previous.base_twist.angular) / span_s;
    Motion {
        world_from_body: previous.link_at(next, 0, time),
        angular_velocity: next.base_twist.angular - angular_acceleration * (next.time - time).secs_f64(),
        angular_acceleration,
        linear_acceleration: next.base_acceleration,
    }
}

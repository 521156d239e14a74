//! One position receiver: where its antenna is on the lunar sphere.

use selene_coherence::{Interval, NodeError, Outbox, qos_of};
use selene_ros::sensor_msgs::NavSatFix;
use selene_ros::transport::{Publisher, Transport};
use selene_sensors::{PositionSpec, Schedule};
use selene_sim::Scenario;
use selene_terrain::elevation::MapFrame;

use crate::messages;

pub(crate) struct PositionReceiver {
    spec: PositionSpec,
    link: usize,
    map: MapFrame,
    seed: u64,
    schedule: Schedule,
    outbox: Outbox<NavSatFix>,
    publisher: Publisher<NavSatFix>,
}

impl PositionReceiver {
    pub(crate) fn open(
        transport: &dyn Transport,
        scenario: &Scenario,
        spec: &PositionSpec,
        schedule: Schedule,
    ) -> Result<Self, NodeError> {
        let topic = scenario.topic(&format!("{}/fix", spec.name));
        let site = &scenario.site;
        Ok(Self {
            link: scenario.link_index(&spec.link),
            map: MapFrame::new(site.latitude_deg, site.longitude_deg, site.datum_m),
            seed: scenario.seed,
            schedule,
            outbox: Outbox::default(),
            publisher: Publisher::new(transport, &topic, qos_of(spec.qos))?,
            spec: spec.clone(),
        })
    }

    pub(crate) fn take(&mut self, interval: &Interval) -> Result<(), NodeError> {
        let (previous, next) = (&interval.previous, &interval.next);
        for sample in self.schedule.measured_in(interval.after(), next.time) {
            let antenna_m = previous.link_at(next, self.link, sample.instant).translation.vector;
            let fix = self.spec.fix(&self.map, antenna_m, self.seed, sample);
            self.outbox
                .put(self.schedule.handed_over(sample.instant), messages::fix(&self.spec.link, &fix, sample.instant));
        }
        for message in self.outbox.due(next.time) {
            self.publisher.publish(&message, message.header.stamp.into())?;
        }
        Ok(())
    }
}

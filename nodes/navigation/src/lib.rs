//! The navigation node: publishes what the inertial units and position receivers of every rover tell.

mod messages;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{NodeContext, RoversThere, SensorDiagnostics, WorldWatcher, qos_of};
use selene_observe::{Imus, Interval, Positions, SensorId};
use selene_ros::sensor_msgs::{Imu, NavSatFix};
use selene_ros::transport::Publisher;
use selene_sim::{EntityId, Model, Mounted};

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "navigation";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened.
pub fn run(context: &NodeContext, stop: &AtomicBool) -> Result<(), NodeError> {
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let mut diagnostics = SensorDiagnostics::open(&context.links, PARTICIPANT)?;
    let (mut imus, mut positions) = (Imus::default(), Positions::default());
    let mut publishers = Publishers::default();
    let mut there = RoversThere::of(&context.model);
    for rover in context.model.rovers().keys() {
        publishers.open(context, &context.model, *rover)?;
    }
    while let Some(interval) = watcher.next(stop)? {
        publishers.follow(context, &interval, &there.gone(&interval))?;
        for sample in imus.take(&interval) {
            if let Some(publisher) = publishers.imus.get(&sample.sensor) {
                diagnostics.count(&sample.sensor, &publisher.topic().name, sample.index);
                publisher.publish(&messages::imu(&sample), sample.stamp)?;
            }
        }
        for sample in positions.take(&interval) {
            if let Some(publisher) = publishers.positions.get(&sample.sensor) {
                diagnostics.count(&sample.sensor, &publisher.topic().name, sample.index);
                publisher.publish(&messages::fix(&sample), sample.stamp)?;
            }
        }
        diagnostics.tell(&interval, &watcher, None)?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

/// The topics of all rovers.
#[derive(Default)]
struct Publishers {
    imus: BTreeMap<SensorId, Publisher<Imu>>,
    positions: BTreeMap<SensorId, Publisher<NavSatFix>>,
    known: Vec<EntityId>,
}

impl Publishers {
    /// Opens the topics of rovers that came and closes those of rovers that went.
    fn follow(
        &mut self,
        context: &NodeContext,
        interval: &Interval,
        gone: &BTreeSet<EntityId>,
    ) -> Result<(), NodeError> {
        self.imus.retain(|sensor, _| !gone.contains(&sensor.rover));
        self.positions.retain(|sensor, _| !gone.contains(&sensor.rover));
        self.known.retain(|rover| !gone.contains(rover));
        interval.next.rovers.iter().try_for_each(|rover| self.open(context, &interval.model, rover.id))
    }

    /// Opens the topics of a rover, if they are not open.
    fn open(&mut self, context: &NodeContext, model: &Model, rover: EntityId) -> Result<(), NodeError> {
        let Some(kind) = model.rovers().get(&rover).filter(|_| !self.known.contains(&rover)) else { return Ok(()) };
        self.known.push(rover);
        let (transport, setup) = (context.links.public.as_ref(), kind.setup());
        for Mounted { spec, .. } in setup.imus() {
            let topic = setup.topic(&format!("{}/data", spec.name));
            let publisher = Publisher::new(transport, &topic, qos_of(spec.qos))?;
            self.imus.insert(SensorId { rover, name: spec.name.clone() }, publisher);
        }
        for Mounted { spec, .. } in setup.positions() {
            let topic = setup.topic(&format!("{}/fix", spec.name));
            let publisher = Publisher::new(transport, &topic, qos_of(spec.qos))?;
            self.positions.insert(SensorId { rover, name: spec.name.clone() }, publisher);
        }
        Ok(())
    }
}

//! The navigation node: publishes what the inertial units and position receivers of every rover tell.

mod messages;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{NodeContext, WorldWatcher, qos_of};
use selene_observe::{Imus, Positions, SensorId};
use selene_ros::sensor_msgs::{Imu, NavSatFix};
use selene_ros::transport::Publisher;
use selene_sensors::{SensorHeader, SensorSpec};
use selene_sim::{EntityId, Model};

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "navigation";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened.
pub fn run(context: &NodeContext, stop: &AtomicBool) -> Result<(), NodeError> {
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let (mut imus, mut positions) = (Imus::default(), Positions::default());
    let mut publishers = Publishers::default();
    for rover in context.model.rovers().keys() {
        publishers.open(context, &context.model, *rover)?;
    }
    while let Some(interval) = watcher.next(stop)? {
        for rover in &interval.next.rovers {
            publishers.open(context, &interval.model, rover.id)?;
        }
        for sample in imus.take(&interval) {
            if let Some(publisher) = publishers.imus.get(&sample.sensor) {
                publisher.publish(&messages::imu(&sample), sample.stamp)?;
            }
        }
        for sample in positions.take(&interval) {
            if let Some(publisher) = publishers.positions.get(&sample.sensor) {
                publisher.publish(&messages::fix(&sample), sample.stamp)?;
            }
        }
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
    /// Opens the topics of a rover, if they are not open.
    fn open(&mut self, context: &NodeContext, model: &Model, rover: EntityId) -> Result<(), NodeError> {
        let Some(kind) = model.rovers().get(&rover).filter(|_| !self.known.contains(&rover)) else { return Ok(()) };
        self.known.push(rover);
        let transport = context.links.public.as_ref();
        for sensor in &kind.setup().sensors {
            let SensorHeader { name, qos, .. } = sensor.spec.header();
            let topic = |suffix: &str| kind.setup().topic(&format!("{name}/{suffix}"));
            let id = SensorId { rover, name: name.to_owned() };
            let qos = qos_of(qos);
            match &sensor.spec {
                SensorSpec::Imu(_) => drop(self.imus.insert(id, Publisher::new(transport, &topic("data"), qos)?)),
                SensorSpec::Position(_) => {
                    drop(self.positions.insert(id, Publisher::new(transport, &topic("fix"), qos)?));
                }
                SensorSpec::Camera(_) | SensorSpec::Lidar(_) => {}
            }
        }
        Ok(())
    }
}

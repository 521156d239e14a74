//! The lidar node: publishes the scans of every rover's lidars.

mod message;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{NodeContext, RoversThere, SensorDiagnostics, WorldWatcher, qos_of};
use selene_observe::{Device, Lidars, SensorId};
use selene_ros::sensor_msgs::PointCloud2;
use selene_ros::transport::Publisher;
use selene_sim::{EntityId, Model};

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "lidar";

type Publishers = BTreeMap<SensorId, Publisher<PointCloud2>>;

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or nothing can be traced.
pub fn run(context: &NodeContext, device: Device, stop: &AtomicBool) -> Result<(), NodeError> {
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let mut diagnostics = SensorDiagnostics::open(&context.links, PARTICIPANT)?;
    let mut lidars = Lidars::new(device.clone());
    let mut publishers = Publishers::new();
    for rover in context.model.rovers().keys() {
        publishers.extend(of_rover(context, &context.model, *rover)?);
    }
    let mut there = RoversThere::of(&context.model);
    while let Some(interval) = watcher.next(stop)? {
        // Topics of rovers that went are closed.
        let gone = there.gone(&interval);
        publishers.retain(|sensor, _| !gone.contains(&sensor.rover));
        for sample in lidars.take(&interval)? {
            if !publishers.contains_key(&sample.sensor) {
                publishers.extend(of_rover(context, &interval.model, sample.sensor.rover)?);
            }
            if let Some(publisher) = publishers.get(&sample.sensor) {
                diagnostics.count(&sample.sensor, &publisher.topic().name, sample.index);
                publisher.publish(&message::cloud(sample.cloud, &sample.frame, sample.stamp), sample.stamp)?;
            }
        }
        diagnostics.tell(&interval, &watcher, Some(&device))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

/// The topics of one rover's lidars.
fn of_rover(context: &NodeContext, model: &Model, rover: EntityId) -> Result<Publishers, NodeError> {
    let Some(kind) = model.rovers().get(&rover) else { return Ok(Publishers::new()) };
    let open = |spec: &selene_sensors::LidarSpec| {
        let topic = kind.setup().topic(&format!("{}/points", spec.name));
        let publisher = Publisher::new(context.links.public.as_ref(), &topic, qos_of(spec.qos))?;
        Ok((SensorId { rover, name: spec.name.clone() }, publisher))
    };
    kind.setup().lidars().map(|lidar| open(lidar.spec)).collect()
}

//! The lidar node: publishes the scans of every rover's lidars: clouds, and images and planar scans where a lidar asks
//! for them.

mod message;
mod publishers;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{NodeContext, RoversThere, SensorDiagnostics, WorldWatcher};
use selene_observe::{Device, Lidars, SensorId};

use publishers::{LidarPublishers, of_rover};

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "lidar";

type Publishers = BTreeMap<SensorId, LidarPublishers>;

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
                diagnostics.count(&sample.sensor, publisher.points_topic(), sample.index);
                publisher.publish(sample)?;
            }
        }
        diagnostics.tell(&interval, &watcher, Some(&device))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

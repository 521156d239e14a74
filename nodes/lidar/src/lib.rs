//! The lidar node: publishes the scans of every rover's lidars as point clouds, and optionally as images and planar
//! scans. It also publishes radars, time-of-flight cameras and range finders (`ranging`).

mod message;
mod publishers;
mod ranging;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{CurrentRovers, NodeContext, SensorDiagnostics, WorldWatcher};
use selene_observe::{Devices, Lidars, Ranging, SensorId};

use publishers::{LidarPublishers, of_rover};
use ranging::RangingPublishers;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "lidar";

type Publishers = BTreeMap<SensorId, LidarPublishers>;
type OfRangers = BTreeMap<SensorId, RangingPublishers>;

/// Runs the node until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or a scan cannot be traced.
pub fn run(context: &NodeContext, devices: impl Into<Devices>, stop: &AtomicBool) -> Result<(), NodeError> {
    let devices = devices.into();
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let mut diagnostics = SensorDiagnostics::open(&context.links, PARTICIPANT)?;
    let mut lidars = Lidars::new(devices.clone());
    let mut ranging = Ranging::new(devices.usual().clone());
    let (mut publishers, mut of_rangers) = (Publishers::new(), OfRangers::new());
    for rover in context.model.rovers().keys() {
        publishers.extend(of_rover(context, &context.model, *rover)?);
        of_rangers.extend(ranging::of_rover(context, &context.model, *rover)?);
    }
    let mut there = CurrentRovers::of(&context.model);
    while let Some(interval) = watcher.next(stop)? {
        // Close the topics of removed rovers.
        let gone = there.gone(&interval);
        publishers.retain(|sensor, _| !gone.contains(&sensor.rover));
        of_rangers.retain(|sensor, _| !gone.contains(&sensor.rover));
        for sample in lidars.take(&interval)? {
            if !publishers.contains_key(&sample.sensor) {
                publishers.extend(of_rover(context, &interval.model, sample.sensor.rover)?);
            }
            if let Some(publisher) = publishers.get_mut(&sample.sensor) {
                let (sensor, index) = (sample.sensor.clone(), sample.index);
                let outcome = publisher.publish(sample, stop)?;
                diagnostics.count(&sensor, publisher.points_topic(), index, outcome, publisher.row());
            }
        }
        for sample in ranging.take(&interval)? {
            if !of_rangers.contains_key(&sample.sensor) {
                of_rangers.extend(ranging::of_rover(context, &interval.model, sample.sensor.rover)?);
            }
            if let Some(publishers) = of_rangers.get_mut(&sample.sensor) {
                let (sensor, index) = (sample.sensor.clone(), sample.index);
                let outcome = publishers.publish(sample, stop)?;
                diagnostics.count(&sensor, publishers.topic(), index, outcome, publishers.row());
            }
        }
        diagnostics.report(&interval, &watcher, Some(devices.usual()))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

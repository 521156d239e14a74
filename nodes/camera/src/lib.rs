//! The camera node: publishes the images of every rover's cameras, raw and optionally rectified and compressed, with
//! their camera_info and the requested ground truth.

mod messages;
mod publishers;

use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{CurrentRovers, NodeContext, SensorDiagnostics, WorldWatcher};
use selene_observe::{Cameras, Devices};
use selene_sensors::OwnStages;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "camera";

/// Runs the node until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or an image cannot be traced.
pub fn run(context: &NodeContext, devices: impl Into<Devices>, stop: &AtomicBool) -> Result<(), NodeError> {
    run_with(context, devices, stop, OwnStages::new())
}

/// Like [`run`], with custom stages for cameras whose YAML names them.
///
/// # Errors
/// Those of [`run`], and when a camera names an unknown stage.
pub fn run_with(
    context: &NodeContext,
    devices: impl Into<Devices>,
    stop: &AtomicBool,
    own: OwnStages,
) -> Result<(), NodeError> {
    let devices = devices.into();
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let mut diagnostics = SensorDiagnostics::open(&context.links, PARTICIPANT)?;
    let mut cameras = Cameras::new(devices.clone(), own);
    let mut publishers = publishers::of_model(context, &context.model)?;
    let mut there = CurrentRovers::of(&context.model);
    while let Some(interval) = watcher.next(stop)? {
        // Close the topics of removed rovers.
        let gone = there.gone(&interval);
        publishers.retain(|sensor, _| !gone.contains(&sensor.rover));
        for sample in cameras.take(&interval)? {
            if !publishers.contains_key(&sample.sensor) {
                publishers.extend(publishers::of_rover(context, &interval.model, sample.sensor.rover)?);
            }
            if let Some(publishers) = publishers.get_mut(&sample.sensor) {
                let (sensor, index) = (sample.sensor.clone(), sample.index);
                let outcome = publishers.publish(sample, stop)?;
                diagnostics.count(&sensor, publishers.image_topic(), index, outcome, publishers.row());
            }
        }
        diagnostics.report(&interval, &watcher, Some(devices.usual()))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

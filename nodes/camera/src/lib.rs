//! The camera node: publishes what the cameras of every rover see, raw and where asked
//! rectified and compressed, with their camera_info and the truth that is asked for.

mod messages;
mod publishers;

use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{NodeContext, RoversThere, SensorDiagnostics, WorldWatcher};
use selene_observe::{Cameras, Device};
use selene_sensors::OwnStages;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "camera";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or nothing can be traced.
pub fn run(context: &NodeContext, device: Device, stop: &AtomicBool) -> Result<(), NodeError> {
    run_with(context, device, stop, OwnStages::new())
}

/// As `run`, with stages of one's own for cameras whose YAML names them.
///
/// # Errors
/// As `run`, and when a camera names a stage that is not known.
pub fn run_with(context: &NodeContext, device: Device, stop: &AtomicBool, own: OwnStages) -> Result<(), NodeError> {
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let mut diagnostics = SensorDiagnostics::open(&context.links, PARTICIPANT)?;
    let mut cameras = Cameras::new(device.clone(), own);
    let mut publishers = publishers::of_model(context, &context.model)?;
    let mut there = RoversThere::of(&context.model);
    while let Some(interval) = watcher.next(stop)? {
        // Topics of rovers that went are closed.
        let gone = there.gone(&interval);
        publishers.retain(|sensor, _| !gone.contains(&sensor.rover));
        for sample in cameras.take(&interval)? {
            if !publishers.contains_key(&sample.sensor) {
                publishers.extend(publishers::of_rover(context, &interval.model, sample.sensor.rover)?);
            }
            if let Some(publishers) = publishers.get(&sample.sensor) {
                diagnostics.count(&sample.sensor, publishers.image_topic(), sample.index);
                publishers.publish(sample)?;
            }
        }
        diagnostics.tell(&interval, &watcher, Some(&device))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

//! The camera node: publishes what the cameras of every rover see, raw and where asked
//! rectified and compressed, with their camera_info and the truth that is asked for.

mod messages;
mod publishers;

use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{NodeContext, RoversThere, SensorDiagnostics, WorldWatcher};
use selene_observe::{Cameras, Devices};
use selene_sensors::OwnStages;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "camera";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or nothing can be traced.
pub fn run(context: &NodeContext, devices: impl Into<Devices>, stop: &AtomicBool) -> Result<(), NodeError> {
    run_with(context, devices, stop, OwnStages::new())
}

/// As `run`, with stages of one's own for cameras whose YAML names them.
///
/// # Errors
/// As `run`, and when a camera names a stage that is not known.
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
    let mut there = RoversThere::of(&context.model);
    while let Some(interval) = watcher.next(stop)? {
        // Topics of rovers that went are closed.
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
        diagnostics.tell(&interval, &watcher, Some(devices.usual()))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

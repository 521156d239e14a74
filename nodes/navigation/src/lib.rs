//! The navigation node: publishes the readings of every rover's instruments (inertial units, position receivers, Sun
//! sensors and the like). `topics.rs` defines the topics of each kind of sensor, `messages.rs` converts readings to
//! messages.

mod messages;
mod topics;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::{CurrentRovers, NodeContext, SensorDiagnostics, WorldWatcher};
use selene_observe::{Instruments, Interval, SensorId, SkyInstruments};
use selene_sim::{EntityId, Model};

use crate::topics::SensorTopics;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "navigation";

/// Runs the node until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened, or what instruments see of the sky cannot be computed.
pub fn run(context: &NodeContext, stop: &AtomicBool) -> Result<(), NodeError> {
    let mut watcher = WorldWatcher::new(context, PARTICIPANT)?;
    let mut diagnostics = SensorDiagnostics::open(&context.links, PARTICIPANT)?;
    let (mut instruments, mut of_sky) = (Instruments::default(), SkyInstruments::default());
    let mut topics = Topics::default();
    let mut there = CurrentRovers::of(&context.model);
    for rover in context.model.rovers().keys() {
        topics.open(context, &context.model, *rover)?;
    }
    while let Some(interval) = watcher.next(stop)? {
        topics.follow(context, &interval, &there.gone(&interval))?;
        for reading in instruments.take(&interval).into_iter().chain(of_sky.take(&interval)?) {
            if let Some(of_sensor) = topics.of_sensors.get_mut(&reading.sensor) {
                let outcome = of_sensor.publish(&reading, stop)?;
                diagnostics.count(&reading.sensor, of_sensor.name(), reading.index, outcome, of_sensor.row());
            }
        }
        diagnostics.report(&interval, &watcher, None)?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

/// The open topics of all rovers.
#[derive(Default)]
struct Topics {
    of_sensors: BTreeMap<SensorId, SensorTopics>,
    known: Vec<EntityId>,
}

impl Topics {
    /// Opens the topics of added rovers and closes those of removed ones.
    fn follow(
        &mut self,
        context: &NodeContext,
        interval: &Interval,
        gone: &BTreeSet<EntityId>,
    ) -> Result<(), NodeError> {
        self.of_sensors.retain(|sensor, _| !gone.contains(&sensor.rover));
        self.known.retain(|rover| !gone.contains(rover));
        interval.next.rovers.iter().try_for_each(|rover| self.open(context, &interval.model, rover.id))
    }

    /// Opens the topics of a rover, if they are not open.
    fn open(&mut self, context: &NodeContext, model: &Model, rover: EntityId) -> Result<(), NodeError> {
        let Some(kind) = model.rovers().get(&rover).filter(|_| !self.known.contains(&rover)) else { return Ok(()) };
        self.known.push(rover);
        let (transport, setup) = (context.links.public.as_ref(), kind.setup());
        for sensor in &setup.sensors {
            if let Some(topics) = SensorTopics::open(transport, setup, &sensor.spec)? {
                let name = sensor.spec.header().name.to_owned();
                self.of_sensors.insert(SensorId { rover, name }, topics);
            }
        }
        Ok(())
    }
}

//! The navigation node: samples inertial units and position fixes from the world
//! state it receives.

mod inertial;
mod messages;
mod position;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use selene_coherence::NodeError;
use selene_coherence::WorldWatcher;
use selene_ros::transport::Transport;
use selene_sensors::SensorSpec;
use selene_sim::Scenario;

use inertial::InertialUnit;
use position::PositionReceiver;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "navigation";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened.
pub fn run(transport: &dyn Transport, scenario: &Arc<Scenario>, stop: &AtomicBool) -> Result<(), NodeError> {
    let (mut units, mut receivers) = open(transport, scenario)?;
    let mut watcher = WorldWatcher::new(transport, PARTICIPANT, scenario.rover.links().len())?;
    while let Some(interval) = watcher.next(stop)? {
        units.iter_mut().try_for_each(|unit| unit.take(&interval))?;
        receivers.iter_mut().try_for_each(|receiver| receiver.take(&interval))?;
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

fn open(
    transport: &dyn Transport,
    scenario: &Arc<Scenario>,
) -> Result<(Vec<InertialUnit>, Vec<PositionReceiver>), NodeError> {
    let (mut units, mut receivers) = (Vec::new(), Vec::new());
    for sensor in &scenario.sensors {
        match sensor {
            SensorSpec::Imu(spec) => units.push(InertialUnit::open(transport, scenario, spec, sensor.schedule())?),
            SensorSpec::Position(spec) => {
                receivers.push(PositionReceiver::open(transport, scenario, spec, sensor.schedule())?);
            }
            SensorSpec::Camera(_) | SensorSpec::Lidar(_) => {}
        }
    }
    Ok((units, receivers))
}

//! The lidar node: spins every lidar of the scenario. Each beam starts at its own
//! instant from where the sensor then was; a scan is traced when the world is known up
//! to its last firing, against the ground and the rover as they stand then.

mod message;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::{Pose, SimTime};
pub use selene_coherence::NodeError;
use selene_coherence::{EngineRoom, History, Interval, Stage, WorldWatcher, qos_of};
use selene_ros::sensor_msgs::PointCloud2;
use selene_ros::transport::{Publisher, Transport};
use selene_scene::{BeamReturn, Tracer};
use selene_sensors::{Lidar, LidarSpec, Sample, Schedule, SensorSpec};
use selene_sim::Scenario;
use selene_terrain::Ground;

/// The name under which the node takes part in lockstep.
pub const PARTICIPANT: &str = "lidar";

/// Runs until the simulation ends its run or `stop` is set.
///
/// # Errors
/// When a topic cannot be opened or nothing can be traced.
pub fn run(
    transport: &dyn Transport,
    scenario: &Arc<Scenario>,
    ground: &Ground,
    tracer: Box<dyn Tracer>,
    stop: &AtomicBool,
) -> Result<(), NodeError> {
    let mut lidars = open_lidars(transport, scenario)?;
    let mut watcher = WorldWatcher::new(transport, PARTICIPANT, scenario.rover.links().len())?;
    let mut stage = Stage::new(scenario, ground)?;
    let mut room = EngineRoom::new(tracer);
    while let Some(interval) = watcher.next(stop)? {
        stage.take_ground(&interval);
        for lidar in &mut lidars {
            lidar.take(&interval, &mut stage, &mut room, scenario.seed)?;
        }
        watcher.acknowledge(interval.next.sequence, interval.next.time)?;
    }
    Ok(())
}

struct Spinner {
    lidar: Lidar,
    link: usize,
    /// Scans by their start; a scan is due when it is complete and its lag is over.
    schedule: Schedule,
    history: History,
    points: Publisher<PointCloud2>,
    returns: Vec<BeamReturn>,
}

fn open_lidars(transport: &dyn Transport, scenario: &Scenario) -> Result<Vec<Spinner>, NodeError> {
    let mut lidars = Vec::new();
    for sensor in &scenario.sensors {
        if let SensorSpec::Lidar(spec) = sensor {
            let link = scenario.link_index(&spec.link);
            lidars.push(Spinner::open(transport, scenario, spec, link)?);
        }
    }
    Ok(lidars)
}

impl Spinner {
    fn open(transport: &dyn Transport, scenario: &Scenario, spec: &LidarSpec, link: usize) -> Result<Self, NodeError> {
        let topic = scenario.topic(&format!("{}/points", spec.name));
        let lidar = Lidar::new(spec.clone());
        let schedule = lidar.schedule();
        // From a scan's start to its hand-over, and one heartbeat more.
        let span = schedule.handed_over(SimTime::ZERO) + scenario.heartbeat;
        Ok(Self {
            link,
            schedule,
            history: History::new(span),
            points: Publisher::new(transport, &topic, qos_of(spec.qos))?,
            returns: Vec::new(),
            lidar,
        })
    }

    fn take(
        &mut self,
        interval: &Interval,
        stage: &mut Stage,
        room: &mut EngineRoom,
        seed: u64,
    ) -> Result<(), NodeError> {
        if !self.history.reaches_back_to(interval.previous.time) {
            self.history.push(interval.previous.clone());
        }
        self.history.push(interval.next.clone());
        for sample in self.schedule.due_in(interval.after(), interval.next.time) {
            // A node that joined in the middle of a scan leaves that scan out: no half scans.
            if self.history.reaches_back_to(sample.instant) {
                stage.move_to(&interval.previous, &interval.next, interval.next.time)?;
                self.scan(sample, stage, room, seed)?;
            }
        }
        Ok(())
    }

    fn scan(&mut self, sample: Sample, stage: &Stage, room: &mut EngineRoom, seed: u64) -> Result<(), NodeError> {
        let pose_at = |time| self.history.link_at(self.link, time).unwrap_or_else(Pose::identity);
        let beams = self.lidar.beams(sample.instant, pose_at);
        let name = &self.lidar.spec().name;
        let what = format!("the scan of {name} at {}", sample.instant);
        room.trace(&what, |tracer| tracer.beams(stage.scene(), &beams, &mut self.returns))
            .map_err(|error| NodeError::Sensor { sensor: name.clone(), what: error.to_string() })?;
        let points = self.lidar.points(&self.returns, seed, sample.index);
        let cloud = message::cloud(&self.lidar.spec().link, &points, sample.instant);
        Ok(self.points.publish(&cloud, sample.instant)?)
    }
}

//! Spinning lidars. Each beam starts at its own instant from where the sensor then was; a scan is traced
//! when it is due, against the world as it stands then.

use std::sync::Arc;

use selene_scene::BeamReturn;
use selene_sensors::{Lidar, LidarPoint, Sample, Schedule};
use selene_sim::{EntityId, Model, Snapshot};
use selene_terrain::Ruts;

use crate::ObserveError;
use crate::device::{Device, SteadyTracer};
use crate::history::History;
use crate::interval::Interval;
use crate::per_rover::PerRover;
use crate::recall::rover_span;
use crate::scene::TracedScene;
use crate::values::{FieldType, LidarSample, PointCloud, PointField, SensorId};

/// The layout of the Velodyne driver: seconds count from the stamp.
const FIELDS: [PointField; 6] = [
    PointField { name: "x", offset: 0, kind: FieldType::F32 },
    PointField { name: "y", offset: 4, kind: FieldType::F32 },
    PointField { name: "z", offset: 8, kind: FieldType::F32 },
    PointField { name: "intensity", offset: 12, kind: FieldType::F32 },
    PointField { name: "ring", offset: 16, kind: FieldType::U16 },
    PointField { name: "time", offset: 18, kind: FieldType::F32 },
];
const POINT_BYTES: usize = 22;

/// The lidars of all rovers.
#[derive(Debug)]
pub struct Lidars {
    device: Device,
    /// None for a rover without lidars.
    rovers: PerRover<Option<RoverLidars>>,
}

/// The lidars of one rover.
struct RoverLidars {
    rover: EntityId,
    history: History,
    scene: TracedScene,
    tracer: SteadyTracer,
    lidars: Vec<MountedLidar>,
}

/// One lidar.
struct MountedLidar {
    sensor: SensorId,
    lidar: Lidar,
    link: usize,
    frame: String,
    seed: u64,
    /// Scans by their start; a scan is due when it is complete and its lag is over.
    schedule: Schedule,
    returns: Vec<BeamReturn>,
}

impl Lidars {
    /// Lidars that trace on a device.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self { device, rovers: PerRover::on_ground() }
    }

    /// Takes in the world's next interval; the scans that are due in it, in the order of rovers and of each
    /// one's lidars.
    ///
    /// # Errors
    /// When a scene cannot be built or a scan not be traced.
    pub fn take(&mut self, interval: &Interval) -> Result<Vec<LidarSample>, ObserveError> {
        let Interval { model, previous, .. } = interval;
        self.rovers.follow(interval, |id, ruts| RoverLidars::new(model, id, previous, ruts, &self.device))?;
        let mut due = Vec::new();
        for lidars in self.rovers.values_mut().flatten() {
            due.append(&mut lidars.take(interval)?);
        }
        Ok(due)
    }
}

impl RoverLidars {
    fn new(
        model: &Arc<Model>,
        rover: EntityId,
        snapshot: &Snapshot,
        ruts: &Ruts,
        device: &Device,
    ) -> Result<Option<Self>, ObserveError> {
        let setup = model.rovers().get(&rover).map(|kind| kind.setup());
        let Some(setup) = setup.filter(|setup| setup.lidars().next().is_some()) else { return Ok(None) };
        let mounted = setup.lidars().map(|of| {
            let lidar = Lidar::new(of.spec.clone());
            MountedLidar {
                sensor: SensorId { rover, name: of.spec.name.clone() },
                link: of.link,
                frame: setup.frame(&of.spec.link),
                seed: setup.sensor_seed,
                schedule: lidar.schedule(),
                returns: Vec::new(),
                lidar,
            }
        });
        Ok(Some(Self {
            rover,
            history: History::new(rover_span(setup, model.scenario().heartbeat)),
            scene: TracedScene::new(model, rover, snapshot, ruts)?,
            tracer: device.tracer(),
            lidars: mounted.collect(),
        }))
    }

    fn take(&mut self, interval: &Interval) -> Result<Vec<LidarSample>, ObserveError> {
        self.history.take(interval, self.rover);
        self.scene.take(interval)?;
        let mut due = Vec::new();
        for lidar in &mut self.lidars {
            for sample in lidar.schedule.due_in(interval.after(), interval.next.time) {
                // A node that joined in the middle of a scan leaves that scan out: no half scans.
                let is_known = self.history.reaches_back_to(sample.instant);
                if is_known && !interval.was_told(lidar.schedule.handed_over(sample.instant)) {
                    self.scene.move_to(&self.history, interval.next.time)?;
                    due.push(lidar.scan(self.rover, sample, &self.history, &self.scene, &mut self.tracer)?);
                }
            }
        }
        Ok(due)
    }
}

impl MountedLidar {
    fn scan(
        &mut self,
        rover: EntityId,
        sample: Sample,
        history: &History,
        scene: &TracedScene,
        tracer: &mut SteadyTracer,
    ) -> Result<LidarSample, ObserveError> {
        let beams = self.lidar.beams(sample.instant, |time| history.link_at(rover, self.link, time));
        let unknown = || ObserveError::of(&self.sensor.name, &"its rover is in no snapshot of that time");
        let beams = beams.ok_or_else(unknown)?;
        let what = format!("the scan of {} at {}", self.sensor.name, sample.instant);
        let returns = &mut self.returns;
        let traced = tracer.trace(&what, |tracer| tracer.beams(scene.scene(), &beams, returns));
        traced.map_err(|error| ObserveError::of(&self.sensor.name, &error))?;
        let points = self.lidar.points(&self.returns, self.seed, sample.index);
        Ok(LidarSample {
            sensor: self.sensor.clone(),
            frame: self.frame.clone(),
            stamp: sample.instant,
            index: sample.index,
            cloud: cloud(&points),
        })
    }
}

impl std::fmt::Debug for RoverLidars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoverLidars").field("rover", &self.rover).finish_non_exhaustive()
    }
}

fn cloud(points: &[LidarPoint]) -> PointCloud {
    PointCloud {
        points: points.len(),
        fields: &FIELDS,
        point_bytes: POINT_BYTES,
        data: points.iter().flat_map(bytes).collect(),
    }
}

fn bytes(point: &LidarPoint) -> [u8; POINT_BYTES] {
    let mut bytes = [0; POINT_BYTES];
    for (place, value) in bytes.chunks_exact_mut(4).zip([point.x, point.y, point.z, point.intensity]) {
        place.copy_from_slice(&value.to_le_bytes());
    }
    bytes[16..18].copy_from_slice(&point.ring.to_le_bytes());
    bytes[18..].copy_from_slice(&point.time.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::{POINT_BYTES, cloud};
    use selene_sensors::LidarPoint;

    #[test]
    fn every_field_lies_where_the_layout_says() {
        let point = LidarPoint { x: 1.5, y: -2.0, z: 0.25, intensity: 7.0, ring: 513, time: 0.0625 };
        let cloud = cloud(&[point, point]);
        assert_eq!((cloud.points, cloud.data.len()), (2, 2 * POINT_BYTES));
        let second = &cloud.data[POINT_BYTES..];
        let float = |field: usize| {
            let at = cloud.fields[field].offset;
            f32::from_le_bytes(second[at..at + 4].try_into().expect("four bytes"))
        };
        assert_eq!([float(0), float(1), float(2), float(3), float(5)], [1.5, -2.0, 0.25, 7.0, 0.0625]);
        assert_eq!(u16::from_le_bytes([second[16], second[17]]), 513);
    }
}

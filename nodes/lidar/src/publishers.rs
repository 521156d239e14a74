//! Publishers of one lidar.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use selene_coherence::{NodeContext, NodeError, RemoteStages, SampleOutcome, qos_of};
use selene_observe::{LidarSample, SensorId};
use selene_ros::Message;
use selene_ros::sensor_msgs::{Image, LaserScan, PointCloud2};
use selene_ros::transport::{Publisher, TransportError};
use selene_sensors::{LidarSpec, StageRow};
use selene_sim::{EntityId, Model, RoverSetup};

use crate::message;

/// The publishers of one lidar.
pub(crate) struct LidarPublishers {
    own: RemoteStages<PointCloud2>,
    points: Publisher<PointCloud2>,
    /// Range image and intensity image.
    images: Option<[Publisher<Image>; 2]>,
    scan: Option<Publisher<LaserScan>>,
}

/// The publishers of one rover's lidars.
pub(crate) fn of_rover(
    context: &NodeContext,
    model: &Model,
    rover: EntityId,
) -> Result<BTreeMap<SensorId, LidarPublishers>, NodeError> {
    let Some(kind) = model.rovers().get(&rover) else { return Ok(BTreeMap::new()) };
    let open = |spec: &LidarSpec| {
        let sensor = SensorId { rover, name: spec.name.clone() };
        Ok((sensor, LidarPublishers::open(context, kind.setup(), spec)?))
    };
    kind.setup().lidars().map(|lidar| open(lidar.spec)).collect()
}

impl LidarPublishers {
    fn open(context: &NodeContext, rover: &RoverSetup, spec: &LidarSpec) -> Result<Self, NodeError> {
        let images = if spec.images {
            Some([topic(context, rover, spec, "range_image")?, topic(context, rover, spec, "intensity_image")?])
        } else {
            None
        };
        let scan = if spec.scan_ring.is_some() { Some(topic(context, rover, spec, "scan")?) } else { None };
        let row = StageRow::new(&spec.name, spec.stages.clone(), rover.sensor_seed);
        let own = RemoteStages::open(context.links.public.as_ref(), &rover.topic(&spec.name), row)?;
        Ok(Self { own, points: topic(context, rover, spec, "points")?, images, scan })
    }

    /// The name of the topic of the point clouds.
    pub(crate) fn points_topic(&self) -> &str {
        &self.points.topic().name
    }

    /// The stages that the point clouds pass.
    pub(crate) fn row(&self) -> &StageRow {
        self.own.row()
    }

    /// Sends a scan's cloud through the stages of other processes, then publishes all messages of the scan.
    pub(crate) fn publish(&mut self, mut sample: LidarSample, stop: &AtomicBool) -> Result<SampleOutcome, NodeError> {
        let reported = |of: &LidarSample| message::cloud(of.cloud.clone(), &of.frame, of.stamp);
        let stamp = sample.stamp;
        let outcome = self.own.finish(&mut sample, stamp, reported, message::take_back, stop)?;
        if outcome == SampleOutcome::Published {
            self.publish_sample(sample)?;
        }
        Ok(outcome)
    }

    fn publish_sample(&self, sample: LidarSample) -> Result<(), NodeError> {
        let LidarSample { frame, stamp, cloud, images, planar, .. } = sample;
        self.points.publish(&message::cloud(cloud, &frame, stamp), stamp)?;
        if let (Some(publishers), Some(images)) = (&self.images, images) {
            for (publisher, image) in publishers.iter().zip(images) {
                publisher.publish(&message::image(image, &frame, stamp), stamp)?;
            }
        }
        if let (Some(publisher), Some(planar)) = (&self.scan, planar) {
            publisher.publish(&message::scan(planar, &frame, stamp), stamp)?;
        }
        Ok(())
    }
}

fn topic<M: Message>(
    context: &NodeContext,
    rover: &RoverSetup,
    spec: &LidarSpec,
    name: &str,
) -> Result<Publisher<M>, TransportError> {
    let topic = rover.topic(&format!("{}/{name}", spec.name));
    Publisher::new(context.links.public.as_ref(), &topic, qos_of(spec.qos))
}

//! Publishers of ranging sensors other than lidars. A radar has `radar_scan`; a time-of-flight camera has depth,
//! amplitude and intensity images with their calibrations; a range finder has `range`. `points` is optional. If a
//! sensor's file asks for the ground truth, the same topics exist under `ground_truth/`, whose data pass no stages.
//! Stages of other processes receive the messages of a sensor's first topic.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_coherence::{NodeContext, NodeError, RemoteStages, SampleOutcome, qos_of};
use selene_observe::{CameraCalibration, DepthSample, RangeSample, Ranged, RangingSample, SensorId};
use selene_ros::radar_msgs::{RadarReturn, RadarScan};
use selene_ros::sensor_msgs::{CameraInfo, Image, PointCloud2, Range, RegionOfInterest};
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Publisher, TransportError};
use selene_ros::{Message, Qos};
use selene_sensors::range_finder::Radiation;
use selene_sensors::{SensorSpec, StageRow};
use selene_sim::{EntityId, Model, RoverSetup};

use crate::message;

/// The publishers of one sensor.
pub(crate) struct RangingPublishers {
    measured: Publishers,
    truth: Option<Publishers>,
    row: StageRow,
}

/// The publishers for one kind of sensor.
enum Publishers {
    Radar { scan: FirstTopic<RadarScan>, points: Option<Publisher<PointCloud2>> },
    Depth(Box<DepthPublishers>),
    Range(FirstTopic<Range>),
}

/// A sensor's first topic, whose messages pass the stages of other processes.
struct FirstTopic<M> {
    publisher: Publisher<M>,
    own: Option<RemoteStages<M>>,
}

struct DepthPublishers {
    depth: FirstTopic<Image>,
    depth_info: Publisher<CameraInfo>,
    amplitude: ImagePublisher,
    intensity: ImagePublisher,
    points: Option<Publisher<PointCloud2>>,
}

/// Publishers of an image and of its calibration in the same namespace.
struct ImagePublisher {
    image: Publisher<Image>,
    info: Publisher<CameraInfo>,
}

/// What is needed to open the topics of a sensor.
struct TopicContext<'a> {
    context: &'a NodeContext,
    rover: &'a RoverSetup,
    /// Prefix of every topic name, below the rover's namespace.
    prefix: String,
    qos: Qos,
    /// The name and stages of a sensor with stages of other processes, until its first topic has taken them.
    row: Cell<Option<(String, StageRow)>>,
}

/// The publishers of one rover's ranging sensors.
pub(crate) fn of_rover(
    context: &NodeContext,
    model: &Model,
    rover: EntityId,
) -> Result<BTreeMap<SensorId, RangingPublishers>, NodeError> {
    let mut all = BTreeMap::new();
    let Some(kind) = model.rovers().get(&rover) else { return Ok(all) };
    for sensor in &kind.setup().sensors {
        if let Some(publishers) = RangingPublishers::open(context, kind.setup(), &sensor.spec)? {
            all.insert(SensorId { rover, name: sensor.spec.header().name.to_owned() }, publishers);
        }
    }
    Ok(all)
}

impl RangingPublishers {
    /// Opens the topics of a sensor; `None` for sensors of other kinds.
    fn open(context: &NodeContext, rover: &RoverSetup, spec: &SensorSpec) -> Result<Option<Self>, TransportError> {
        let (header, row) = (spec.header(), spec.row(rover.sensor_seed));
        let under = |prefix: &str, row| {
            let prefix = format!("{prefix}{}", header.name);
            Publishers::open(
                &TopicContext { context, rover, prefix, qos: qos_of(header.qos), row: Cell::new(row) },
                spec,
            )
        };
        let with_own = row.own().next().is_some().then(|| (header.name.to_owned(), row.clone()));
        let Some(measured) = under("", with_own)? else { return Ok(None) };
        let truth = if spec.has_truth() { under("ground_truth/", None)? } else { None };
        Ok(Some(Self { measured, truth, row }))
    }

    /// The name of the sensor's first topic.
    pub(crate) fn topic(&self) -> &str {
        match &self.measured {
            Publishers::Radar { scan, .. } => scan.name(),
            Publishers::Depth(depth) => depth.depth.name(),
            Publishers::Range(range) => range.name(),
        }
    }

    /// The stages that the measurements pass.
    pub(crate) fn row(&self) -> &StageRow {
        &self.row
    }

    /// Sends a measurement's first message through the stages of other processes, then publishes the whole measurement.
    pub(crate) fn publish(&mut self, sample: RangingSample, stop: &AtomicBool) -> Result<SampleOutcome, NodeError> {
        let RangingSample { frame, stamp, measured, truth, .. } = sample;
        let outcome = self.measured.publish(measured, &frame, stamp, stop)?;
        match (&mut self.truth, truth) {
            (Some(publishers), Some(truth)) if outcome == SampleOutcome::Published => {
                Ok(publishers.publish(truth, &frame, stamp, stop)?)
            }
            _ => Ok(outcome),
        }
    }
}

impl Publishers {
    fn open(of: &TopicContext<'_>, spec: &SensorSpec) -> Result<Option<Self>, TransportError> {
        Ok(match spec {
            SensorSpec::Radar(spec) => {
                Some(Self::Radar { scan: of.first("radar_scan")?, points: of.points(spec.cloud)? })
            }
            SensorSpec::TofCamera(spec) => Some(Self::Depth(Box::new(DepthPublishers {
                depth: of.first("depth/image_rect_raw")?,
                depth_info: of.topic("depth/camera_info")?,
                amplitude: of.image("amplitude", "image")?,
                intensity: of.image("intensity", "image")?,
                points: of.points(spec.cloud)?,
            }))),
            SensorSpec::RangeFinder(_) => Some(Self::Range(of.first("range")?)),
            _ => None,
        })
    }

    /// Publishes a measurement; returns the outcome on its first topic. If it is lost there, it is published on no
    /// topic.
    fn publish(
        &mut self,
        ranged: Ranged,
        frame: &str,
        stamp: SimTime,
        stop: &AtomicBool,
    ) -> Result<SampleOutcome, TransportError> {
        match (self, ranged) {
            (Self::Radar { scan, points }, Ranged::Radar(sample)) => {
                let reported = radar_scan(&sample.returns, Header::new(stamp, frame));
                let outcome = scan.publish(reported, stamp, stop)?;
                if outcome == SampleOutcome::Published {
                    publish_cloud(points.as_ref(), sample.cloud, frame, stamp)?;
                }
                Ok(outcome)
            }
            (Self::Depth(publishers), Ranged::Depth(sample)) => publishers.publish(*sample, frame, stamp, stop),
            (Self::Range(range), Ranged::Range(sample)) => {
                range.publish(range_message(&sample, Header::new(stamp, frame)), stamp, stop)
            }
            _ => Ok(SampleOutcome::Nothing),
        }
    }
}

impl<M: Message> FirstTopic<M> {
    fn name(&self) -> &str {
        &self.publisher.topic().name
    }

    fn publish(&mut self, message: M, stamp: SimTime, stop: &AtomicBool) -> Result<SampleOutcome, TransportError> {
        let passed = match &mut self.own {
            Some(own) => own.pass(message, stamp, stop)?,
            None => Some(message),
        };
        let Some(message) = passed else { return Ok(SampleOutcome::Unanswered) };
        self.publisher.publish(&message, stamp)?;
        Ok(SampleOutcome::Published)
    }
}

impl DepthPublishers {
    fn publish(
        &mut self,
        sample: DepthSample,
        frame: &str,
        stamp: SimTime,
        stop: &AtomicBool,
    ) -> Result<SampleOutcome, TransportError> {
        let info = camera_info(&sample.calibration, Header::new(stamp, frame));
        let outcome = self.depth.publish(message::image(sample.depth, frame, stamp), stamp, stop)?;
        if outcome == SampleOutcome::Published {
            self.depth_info.publish(&info, stamp)?;
            self.amplitude.publish(sample.amplitude, &info, frame, stamp)?;
            self.intensity.publish(sample.intensity, &info, frame, stamp)?;
            publish_cloud(self.points.as_ref(), sample.cloud, frame, stamp)?;
        }
        Ok(outcome)
    }
}

impl TopicContext<'_> {
    fn topic<M: Message>(&self, end: &str) -> Result<Publisher<M>, TransportError> {
        let name = self.rover.topic(&format!("{}/{end}", self.prefix));
        Publisher::new(self.context.links.public.as_ref(), &name, self.qos)
    }

    fn first<M: Message>(&self, end: &str) -> Result<FirstTopic<M>, TransportError> {
        let transport = self.context.links.public.as_ref();
        let open = |(sensor, row): (String, StageRow)| RemoteStages::open(transport, &self.rover.topic(&sensor), row);
        Ok(FirstTopic { publisher: self.topic(end)?, own: self.row.take().map(open).transpose()? })
    }

    fn points(&self, is_requested: bool) -> Result<Option<Publisher<PointCloud2>>, TransportError> {
        is_requested.then(|| self.topic("points")).transpose()
    }

    fn image(&self, folder: &str, end: &str) -> Result<ImagePublisher, TransportError> {
        let image = self.topic(&format!("{folder}/{end}"))?;
        Ok(ImagePublisher { image, info: self.topic(&format!("{folder}/camera_info"))? })
    }
}

impl ImagePublisher {
    fn publish(
        &self,
        image: selene_observe::Image,
        info: &CameraInfo,
        frame: &str,
        stamp: SimTime,
    ) -> Result<(), TransportError> {
        self.image.publish(&message::image(image, frame, stamp), stamp)?;
        self.info.publish(info, stamp)
    }
}

fn publish_cloud(
    publisher: Option<&Publisher<PointCloud2>>,
    cloud: Option<selene_observe::PointCloud>,
    frame: &str,
    stamp: SimTime,
) -> Result<(), TransportError> {
    match (publisher, cloud) {
        (Some(publisher), Some(cloud)) => publisher.publish(&message::cloud(cloud, frame, stamp), stamp),
        _ => Ok(()),
    }
}

fn radar_scan(returns: &[selene_sensors::RadarReturn], header: Header) -> RadarScan {
    let of = |reported: &selene_sensors::RadarReturn| RadarReturn {
        range: reported.range_m as f32,
        azimuth: reported.azimuth_rad as f32,
        elevation: reported.elevation_rad as f32,
        doppler_velocity: reported.speed_m_s as f32,
        amplitude: reported.amplitude_db() as f32,
    };
    RadarScan { header, returns: returns.iter().map(of).collect() }
}

fn range_message(sample: &RangeSample, header: Header) -> Range {
    Range {
        header,
        radiation_type: match sample.radiation {
            Radiation::Ultrasound => Range::ULTRASOUND,
            Radiation::Infrared => Range::INFRARED,
        },
        field_of_view: sample.field_of_view_rad as f32,
        min_range: sample.limits_m[0] as f32,
        max_range: sample.limits_m[1] as f32,
        range: sample.range_m as f32,
        variance: sample.variance_m2 as f32,
    }
}

fn camera_info(calibration: &CameraCalibration, header: Header) -> CameraInfo {
    let CameraCalibration { width, height, distortion_model, d, k, r, p } = calibration.clone();
    CameraInfo {
        header,
        height,
        width,
        distortion_model: distortion_model.to_owned(),
        d,
        k,
        r,
        p,
        binning_x: 0,
        binning_y: 0,
        roi: RegionOfInterest::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{radar_scan, range_message};
    use selene_base::SimTime;
    use selene_observe::RangeSample;
    use selene_ros::std_msgs::Header;
    use selene_sensors::RadarReturn;
    use selene_sensors::range_finder::Radiation;

    #[test]
    fn a_return_reports_metres_radians_and_decibels() {
        let reported =
            RadarReturn { range_m: 12.5, azimuth_rad: 0.25, elevation_rad: -0.125, speed_m_s: -1.5, snr: 1000.0 };
        let scan = radar_scan(&[reported], Header::new(SimTime::ZERO, "radar"));
        let got = &scan.returns[0];
        assert_eq!([got.range, got.azimuth, got.elevation, got.doppler_velocity], [12.5, 0.25, -0.125, -1.5]);
        assert!((got.amplitude - 30.0).abs() < 1e-5, "{}", got.amplitude);
    }

    #[test]
    fn a_distance_reports_what_was_sent_out_and_what_is_too_near() {
        let sample = RangeSample {
            radiation: Radiation::Infrared,
            field_of_view_rad: 0.5,
            limits_m: [0.25, 100.0],
            range_m: f64::NEG_INFINITY,
            variance_m2: 0.0,
        };
        let range = range_message(&sample, Header::new(SimTime::ZERO, "altimeter"));
        assert_eq!((range.radiation_type, range.range), (1, f32::NEG_INFINITY));
        assert_eq!([range.field_of_view, range.min_range, range.max_range], [0.5, 0.25, 100.0]);
        let sound = range_message(&RangeSample { radiation: Radiation::Ultrasound, ..sample }, range.header);
        assert_eq!(sound.radiation_type, 0);
    }
}

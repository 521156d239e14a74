//! The topics of ranging sensors that are no lidars: `radar_scan` of a radar, depth, amplitude and intensity images of a
//! time-of-flight camera with their calibrations, `range` of a sensor of one distance; `points` where one is asked for.
//! Where a sensor's file asks for the truth, the same topics are open once more under `ground_truth/`.

use std::collections::BTreeMap;

use selene_base::SimTime;
use selene_coherence::{NodeContext, NodeError, qos_of};
use selene_observe::{CameraCalibration, RangeSample, Ranged, RangingSample, SensorId};
use selene_ros::radar_msgs::{RadarReturn, RadarScan};
use selene_ros::sensor_msgs::{CameraInfo, Image, PointCloud2, Range, RegionOfInterest};
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Publisher, TransportError};
use selene_ros::{Message, Qos};
use selene_sensors::SensorSpec;
use selene_sensors::range_finder::Radiation;
use selene_sim::{EntityId, Model, RoverSetup};

use crate::message;

/// The topics of one sensor.
pub(crate) struct RangingPublishers {
    measured: Publishers,
    truth: Option<Publishers>,
}

/// Those of one kind.
enum Publishers {
    Radar { scan: Publisher<RadarScan>, points: Option<Publisher<PointCloud2>> },
    Depth(Box<DepthPublishers>),
    Range(Publisher<Range>),
}

struct DepthPublishers {
    depth: ImagePublisher,
    amplitude: ImagePublisher,
    intensity: ImagePublisher,
    points: Option<Publisher<PointCloud2>>,
}

/// An image and its calibration, side by side.
struct ImagePublisher {
    image: Publisher<Image>,
    info: Publisher<CameraInfo>,
}

/// What is needed to open the topics of a sensor.
struct Opening<'a> {
    context: &'a NodeContext,
    rover: &'a RoverSetup,
    /// What names begin with.
    prefix: String,
    qos: Qos,
}

/// Those of one rover's sensors.
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
    /// None for sensors of other kinds.
    fn open(context: &NodeContext, rover: &RoverSetup, spec: &SensorSpec) -> Result<Option<Self>, TransportError> {
        let header = spec.header();
        let under = |prefix: &str| {
            let prefix = format!("{prefix}{}", header.name);
            Publishers::open(&Opening { context, rover, prefix, qos: qos_of(header.qos) }, spec)
        };
        let Some(measured) = under("")? else { return Ok(None) };
        let truth = if spec.tells_truth() { under("ground_truth/")? } else { None };
        Ok(Some(Self { measured, truth }))
    }

    /// The name of the first of its topics.
    pub(crate) fn topic(&self) -> &str {
        match &self.measured {
            Publishers::Radar { scan, .. } => &scan.topic().name,
            Publishers::Depth(depth) => &depth.depth.image.topic().name,
            Publishers::Range(range) => &range.topic().name,
        }
    }

    /// Publishes all of a measurement.
    pub(crate) fn publish(&self, sample: RangingSample) -> Result<(), NodeError> {
        let RangingSample { frame, stamp, measured, truth, .. } = sample;
        self.measured.publish(measured, &frame, stamp)?;
        match (&self.truth, truth) {
            (Some(publishers), Some(truth)) => Ok(publishers.publish(truth, &frame, stamp)?),
            _ => Ok(()),
        }
    }
}

impl Publishers {
    fn open(of: &Opening<'_>, spec: &SensorSpec) -> Result<Option<Self>, TransportError> {
        Ok(match spec {
            SensorSpec::Radar(spec) => {
                Some(Self::Radar { scan: of.topic("radar_scan")?, points: of.points(spec.cloud)? })
            }
            SensorSpec::TofCamera(spec) => Some(Self::Depth(Box::new(DepthPublishers {
                depth: of.image("depth", "image_rect_raw")?,
                amplitude: of.image("amplitude", "image")?,
                intensity: of.image("intensity", "image")?,
                points: of.points(spec.cloud)?,
            }))),
            SensorSpec::RangeFinder(_) => Some(Self::Range(of.topic("range")?)),
            _ => None,
        })
    }

    fn publish(&self, ranged: Ranged, frame: &str, stamp: SimTime) -> Result<(), TransportError> {
        match (self, ranged) {
            (Self::Radar { scan, points }, Ranged::Radar(sample)) => {
                scan.publish(&radar_scan(&sample.returns, Header::new(stamp, frame)), stamp)?;
                publish_cloud(points.as_ref(), sample.cloud, frame, stamp)
            }
            (Self::Depth(publishers), Ranged::Depth(sample)) => {
                let sample = *sample;
                let info = camera_info(&sample.calibration, Header::new(stamp, frame));
                publishers.depth.publish(sample.depth, &info, frame, stamp)?;
                publishers.amplitude.publish(sample.amplitude, &info, frame, stamp)?;
                publishers.intensity.publish(sample.intensity, &info, frame, stamp)?;
                publish_cloud(publishers.points.as_ref(), sample.cloud, frame, stamp)
            }
            (Self::Range(range), Ranged::Range(sample)) => {
                range.publish(&range_message(&sample, Header::new(stamp, frame)), stamp)
            }
            _ => Ok(()),
        }
    }
}

impl Opening<'_> {
    fn topic<M: Message>(&self, end: &str) -> Result<Publisher<M>, TransportError> {
        let name = self.rover.topic(&format!("{}/{end}", self.prefix));
        Publisher::new(self.context.links.public.as_ref(), &name, self.qos)
    }

    fn points(&self, is_asked: bool) -> Result<Option<Publisher<PointCloud2>>, TransportError> {
        is_asked.then(|| self.topic("points")).transpose()
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
    let of = |told: &selene_sensors::RadarReturn| RadarReturn {
        range: told.range_m as f32,
        azimuth: told.azimuth_rad as f32,
        elevation: told.elevation_rad as f32,
        doppler_velocity: told.speed_m_s as f32,
        amplitude: told.amplitude_db() as f32,
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
    fn a_return_tells_metres_radians_and_decibels() {
        let told =
            RadarReturn { range_m: 12.5, azimuth_rad: 0.25, elevation_rad: -0.125, speed_m_s: -1.5, snr: 1000.0 };
        let scan = radar_scan(&[told], Header::new(SimTime::ZERO, "radar"));
        let got = &scan.returns[0];
        assert_eq!([got.range, got.azimuth, got.elevation, got.doppler_velocity], [12.5, 0.25, -0.125, -1.5]);
        assert!((got.amplitude - 30.0).abs() < 1e-5, "{}", got.amplitude);
    }

    #[test]
    fn a_distance_tells_what_was_sent_out_and_what_is_too_near() {
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

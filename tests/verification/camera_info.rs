//! Each image of a camera, including ground truth, comes with a calibration of its own projection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::sensor_msgs::{CameraInfo, Image};
use selene_ros::{Encoded, Message, decode};
use selene_sensors::{DepthUnit, LensName, SensorSpec};
use selene_sim::Model;
use selene_simulation::RunStart;
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, model, options, scenario};

/// Long enough for one image of each camera.
const SIMULATED: SimTime = SimTime::from_nanos(100_000_000);
const DISTORTION: [f64; 5] = [-0.1, 0.02, 0.001, 0.0005, 0.0];
const IDENTITY: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// The default scenario, with a lens that distorts and ground truth for the right camera.
fn world() -> Arc<Model> {
    let mut scenario = scenario("polar", None);
    let sensors = &mut scenario.rovers[0].sensors;
    let right = sensors.iter_mut().find(|sensor| sensor.spec.header().name == "navcam_right").expect("a camera");
    let SensorSpec::Camera(right) = &mut right.spec else { panic!("no camera") };
    right.lens.model = LensName::PlumbBob;
    right.lens.coefficients = DISTORTION.to_vec();
    right.truth.depth = Some(DepthUnit::Metres);
    (right.truth.segmentation, right.truth.normals) = (true, true);
    model(scenario)
}

fn published() -> Published {
    let (recording, stop) = (RecordingTransport::default(), AtomicBool::new(false));
    let context = context(Arc::new(recording.clone()), &world());
    std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        let options = options(SIMULATED, &["camera"]);
        selene_simulation::run(&context, RunStart::Start(None), &options, &stop).expect("simulation");
    });
    recording.take()
}

/// The first message of a topic.
fn first<M: Message>(published: &Published, topic: &str) -> M {
    let messages = published.get(topic).unwrap_or_else(|| panic!("{topic} is not among {:?}", published.keys()));
    decode(&Encoded::from_bytes(messages[0].1.clone())).unwrap_or_else(|error| panic!("{topic}: {error}"))
}

#[test]
fn every_image_has_its_calibration_beside_it_with_its_stamp_and_frame() {
    let published = published();
    let of_image: CameraInfo = first(&published, "/navcam_right/camera_info");
    assert_eq!(of_image.d, DISTORTION);
    assert!(of_image.p[3] < 0.0, "the right camera of a pair");
    let folders = [("", "image_raw"), ("depth/", "image_rect_raw"), ("segmentation/", "image"), ("normals/", "image")];
    for (folder, name) in folders {
        let topic = format!("/navcam_right/{folder}{name}");
        let image: Image = first(&published, &topic);
        let info: CameraInfo = first(&published, &format!("/navcam_right/{folder}camera_info"));
        assert_eq!(info.header, image.header, "{topic}");
        assert_eq!((info.width, info.height), (image.width, image.height), "{topic}");
        assert_eq!((&info.d, info.k), (&of_image.d, of_image.k), "{topic} has the raw image's pixels");
        if folder.is_empty() {
            continue;
        }
        let [fx, _, cx, _, fy, cy, ..] = info.k;
        let p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert_eq!((info.r, info.p), (IDENTITY, p), "{topic} is no image of a rectified pair");
    }
}

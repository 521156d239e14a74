//! Tests with bags that are sound, and bags with one fault each.

use std::fs;
use std::path::PathBuf;

use selene_base::SimTime;
use selene_ros::bag::{BagCompression, BagReader, RecordOptions};
use selene_ros::transport::{Publisher, Transport};
use selene_ros::{BagRecorder, Encoded, Qos, Topic, geometry_msgs, sensor_msgs, std_msgs, tf2_msgs};

use super::look;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("selene-verify-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn faults(&self) -> Vec<String> {
        look(&BagReader::open(&self.0).unwrap()).1
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn at(step: i64) -> SimTime {
    SimTime::from_nanos(step * 100_000_000)
}

fn frame(parent: &str, child: &str) -> geometry_msgs::TransformStamped {
    geometry_msgs::TransformStamped {
        header: std_msgs::Header::new(SimTime::ZERO, parent),
        child_frame_id: child.to_owned(),
        ..Default::default()
    }
}

fn image(step: i64, width: u32) -> sensor_msgs::Image {
    sensor_msgs::Image { header: std_msgs::Header::new(at(step), "eye"), width, height: 4, ..Default::default() }
}

/// A recorder with ten images, their camera_infos and a tree of frames, all without faults.
fn sound(scratch: &Scratch) -> BagRecorder {
    let options = RecordOptions { compression: BagCompression::None, ..RecordOptions::default() };
    let bag = BagRecorder::create(&scratch.0, options).unwrap();
    let tf = Publisher::new(&bag, "/tf", Qos::reliable()).unwrap();
    let images = Publisher::new(&bag, "/eye/image_raw", Qos::sensor_data()).unwrap();
    let infos = Publisher::new(&bag, "/eye/camera_info", Qos::sensor_data()).unwrap();
    tf.publish(&tf2_msgs::TFMessage { transforms: vec![frame("map", "base"), frame("base", "eye")] }, at(0)).unwrap();
    for step in 0..10 {
        let image = image(step, 8);
        let (header, width, height) = (image.header.clone(), image.width, image.height);
        images.publish(&image, at(step)).unwrap();
        infos.publish(&sensor_msgs::CameraInfo { header, width, height, ..Default::default() }, at(step)).unwrap();
    }
    bag
}

/// The faults of a sound bag after `add`.
fn with(name: &str, add: impl Fn(&BagRecorder)) -> Vec<String> {
    let scratch = Scratch::new(name);
    let bag = sound(&scratch);
    add(&bag);
    assert_eq!(bag.finish().fault, None);
    scratch.faults()
}

#[track_caller]
fn one(faults: &[String], parts: &[&str]) {
    assert!(faults.len() == 1 && parts.iter().all(|part| faults[0].contains(part)), "{parts:?} in {faults:?}");
}

#[test]
fn a_sound_bag_has_no_fault() {
    assert_eq!(with("sound", |_| {}), [""; 0]);
}

#[test]
fn a_message_that_is_not_of_its_type_is_found() {
    let faults = with("type", |bag| {
        let topic = Topic::new::<sensor_msgs::Imu>("/imu", Qos::sensor_data()).unwrap();
        let outlet = bag.advertise(&topic).unwrap();
        (0..3).for_each(|_| outlet.send(&Encoded::from_bytes([0_u8, 1, 0, 0, 7]), at(20)).unwrap());
    });
    one(&faults, &["/imu: 3 do not decode", "sensor_msgs/msg/Imu"]);
}

#[test]
fn stamps_that_go_back_are_found() {
    let faults = with("stamps", |bag| {
        let odd = Publisher::new(bag, "/odd/image_raw", Qos::sensor_data()).unwrap();
        for step in [5, 6, 3, 7] {
            odd.publish(&image(step, 8), at(step)).unwrap();
        }
    });
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults.iter().all(|fault| fault.contains("/odd/image_raw: 1 ") && fault.contains("0.3")), "{faults:?}");
}

#[test]
fn an_image_without_its_camera_info_is_found() {
    let faults = with("info", |bag| {
        let images = Publisher::new(bag, "/eye/image_raw", Qos::sensor_data()).unwrap();
        images.publish(&image(11, 8), at(11)).unwrap();
        let halves = Publisher::new(bag, "/eye/half", Qos::sensor_data()).unwrap();
        halves.publish(&image(3, 4), at(12)).unwrap();
    });
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("/eye/half: 1 images have no camera_info") && faults[0].contains("4 × 4 in eye"));
    assert!(faults[1].contains("/eye/image_raw: 1 images") && faults[1].contains("1.100000000 s"), "{faults:?}");
}

#[test]
fn transforms_that_are_no_tree_are_found() {
    let tree = |name: &str, transforms: Vec<geometry_msgs::TransformStamped>| {
        with(name, move |bag| {
            let tf = Publisher::new(bag, "/tf_static", Qos::latched()).unwrap();
            tf.publish(&tf2_msgs::TFMessage { transforms: transforms.clone() }, at(20)).unwrap();
        })
    };
    one(&tree("roots", vec![frame("world", "lander")]), &["2 trees, below map, world"]);
    one(&tree("parents", vec![frame("map", "eye")]), &["frame eye has the parents base and map"]);
    one(&tree("circle", vec![frame("eye", "map")]), &["is above itself"]);
}

#[test]
fn a_damaged_message_and_a_wrong_count_are_found() {
    let scratch = Scratch::new("damaged");
    drop(sound(&scratch).finish());
    let metadata = scratch.0.join("metadata.yaml");
    let reported = fs::read_to_string(&metadata).unwrap();
    fs::write(&metadata, reported.replacen("message_count: 10", "message_count: 11", 1)).unwrap();
    one(&scratch.faults(), &["metadata.yaml counts 11 messages on /eye/", "there are 10"]);
    fs::write(&metadata, reported).unwrap();
    let file = BagReader::open(&scratch.0).unwrap().files()[0].clone();
    let mut bytes = fs::read(&file).unwrap();
    let frame = bytes.windows(4).position(|window| window == b"base").unwrap();
    bytes[frame] = b'c';
    fs::write(&file, bytes).unwrap();
    let faults = scratch.faults();
    assert!(faults[0].contains("is damaged and left out"), "{faults:?}");
    assert!(faults.iter().any(|fault| fault.contains("metadata.yaml counts 21 messages, 0 can be read")), "{faults:?}");
}

#[test]
fn a_file_without_an_end_is_found() {
    let scratch = Scratch::new("cut");
    drop(sound(&scratch).finish());
    let file = BagReader::open(&scratch.0).unwrap().files()[0].clone();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 40]).unwrap();
    let faults = scratch.faults();
    assert!(faults.iter().any(|fault| fault.contains("is cut off")), "{faults:?}");
}

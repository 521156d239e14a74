//! Camera, lidar and navigation in a world that two simulation nodes share: every public byte is the same in every run,
//! and poses and images are those of a world in one node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::bag::is_internal;
use selene_ros::{Encoded, Message, decode, nav_msgs, sensor_msgs};
use selene_sensors::SensorSpec;
use selene_sim::{Model, Scenario};
use selene_simulation::{Pace, SimulationOptions};
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, model, options, scenario};

use crate::shared::{reported, run, sharing};

const SIMULATED: SimTime = SimTime::from_nanos(1_000_000_000);
const PARTICIPANTS: [&str; 3] = [selene_camera::PARTICIPANT, selene_lidar::PARTICIPANT, selene_navigation::PARTICIPANT];
/// Columns and rows of each camera's images.
const SIZE_PX: (u32, u32) = (96, 54);
const IMAGES: [&str; 3] = ["/viper/navcam_left/image_raw", "/ex1/ex1_side/image_raw", "/sorato/sorato_front/image_raw"];
/// Shortest path of each rover, m.
const WAY_MIN_M: f64 = 0.01;
/// Largest difference of a rover's position between two nodes and one, m; no rovers touch.
const POSE_M: f64 = 1e-6;
/// Largest share of an image's pixels that differ between two nodes and one: light rounded to another value.
const PIXELS_SHARE: f64 = 0.01;

/// The convoy with small images.
fn small_convoy() -> Scenario {
    let mut scenario = scenario("convoy", None);
    for sensor in scenario.rovers.iter_mut().flat_map(|rover| &mut rover.sensors) {
        if let SensorSpec::Camera(camera) = &mut sensor.spec {
            (camera.width, camera.height) = SIZE_PX;
        }
    }
    scenario
}

/// Options of a node that simulates these rovers and shares the world.
fn half(own: &[&str]) -> SimulationOptions {
    SimulationOptions { shared: sharing(own, &[], Pace::Fast).shared, ..options(SIMULATED, &PARTICIPANTS) }
}

/// Runs simulation nodes and all sensor nodes of one world; returns what they publish about it.
fn sensed(model: &Arc<Model>, simulations: &[SimulationOptions]) -> Published {
    let recording = &RecordingTransport::default();
    let (context, stop) = (context(Arc::new(recording.clone()), model), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        let running: Vec<_> =
            simulations.iter().map(|options| scope.spawn(move || run(recording, model, options))).collect();
        let ended: Vec<_> = running.into_iter().map(|node| node.join()).collect();
        // The sensor nodes of a failed run must be stopped.
        stop.store(!ended.iter().all(|ended| matches!(ended, Ok(Ok(_)))), Ordering::Relaxed);
        for ended in ended {
            assert_eq!(ended.expect("no panic").expect("runs").simulated, SIMULATED);
        }
    });
    let mut published = recording.take();
    published.retain(|topic, _| !is_internal(topic) && topic != "/diagnostics");
    published
}

fn decoded<M: Message>(published: &Published, topic: &str) -> Vec<M> {
    let messages = published.get(topic).unwrap_or_else(|| panic!("{topic} is missing"));
    messages.iter().map(|(_, bytes)| decode(&Encoded::from_bytes(bytes.clone())).expect("decodes")).collect()
}

/// Positions of a rover over time, map frame, m.
fn places_m(published: &Published, rover: &str) -> Vec<[f64; 3]> {
    let odometry: Vec<nav_msgs::Odometry> = decoded(published, &format!("/{rover}/ground_truth/odom"));
    let place = |at: &nav_msgs::Odometry| {
        let at = &at.pose.pose.position;
        [at.x, at.y, at.z]
    };
    odometry.iter().map(place).collect()
}

fn distance_m(from: &[f64; 3], to: &[f64; 3]) -> f64 {
    (0..3).map(|axis| (to[axis] - from[axis]).powi(2)).sum::<f64>().sqrt()
}

/// Share of the pixels that differ between two images of one size.
fn differing_share(ours: &sensor_msgs::Image, theirs: &sensor_msgs::Image) -> f64 {
    assert_eq!((ours.width, ours.height, ours.step), (SIZE_PX.0, SIZE_PX.1, theirs.step));
    assert_eq!((&ours.header, ours.data.len()), (&theirs.header, theirs.data.len()));
    let pixels = |of: &sensor_msgs::Image| (of.step / of.width) as usize;
    let pairs = ours.data.chunks_exact(pixels(ours)).zip(theirs.data.chunks_exact(pixels(theirs)));
    pairs.filter(|(ours, theirs)| ours != theirs).count() as f64 / f64::from(ours.width * ours.height)
}

#[test]
fn sensors_of_a_world_in_two_nodes_publish_the_same_every_time_and_see_what_they_see_in_one() {
    let model = model(small_convoy());
    let in_two = || sensed(&model, &[&["viper"][..], &["ex1", "sorato"]].map(half));
    let (published, again) = (in_two(), in_two());
    assert!(published.keys().eq(again.keys()), "{:?}, {:?}", published.keys(), again.keys());
    for topic in published.keys() {
        assert!(reported(&published, topic) == reported(&again, topic), "{topic} is another in another run");
    }
    for topic in ["/viper/lidar/points", "/viper/imu/data"] {
        assert!(published.get(topic).is_some_and(|messages| !messages.is_empty()), "{topic} is missing");
    }

    let alone = sensed(&model, &[options(SIMULATED, &PARTICIPANTS)]);
    for rover in ["viper", "ex1", "sorato"] {
        let [ours, theirs] = [&published, &alone].map(|of| places_m(of, rover));
        let way_m = ours.last().map_or(0.0, |last| distance_m(&ours[0], last));
        assert!(ours.len() == theirs.len() && way_m > WAY_MIN_M, "{rover}: {way_m} m");
        let off_m = ours.iter().zip(&theirs).map(|(ours, theirs)| distance_m(ours, theirs)).fold(0.0, f64::max);
        println!("{rover}: {off_m} m off");
        assert!(off_m < POSE_M, "{rover}: {off_m} m off");
    }
    for topic in IMAGES {
        let [ours, theirs] = [&published, &alone].map(|of| decoded::<sensor_msgs::Image>(of, topic));
        assert!(!ours.is_empty() && ours.len() == theirs.len(), "{topic}: {} and {}", ours.len(), theirs.len());
        let share = ours.iter().zip(&theirs).map(|(ours, theirs)| differing_share(ours, theirs)).fold(0.0, f64::max);
        println!("{topic}: {share} of the pixels differ");
        assert!(share < PIXELS_SHARE, "{topic}: {share} of the pixels differ");
    }
}

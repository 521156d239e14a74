//! Nodes that exchange messages: the same state as a world stepped alone, and every
//! sensor message the same from run to run, also for a node that joins late.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use selene_base::SimTime;
use selene_camera as camera;
use selene_lidar as lidar;
use selene_navigation as navigation;
use selene_observe::Device;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Subscription, subscribe};
use selene_ros::{Qos, rosgraph_msgs, sensor_msgs};
use selene_sim::Model;
use selene_simulation::{Begin, Pace, SimulationOptions};
use selene_tests::{context, options, scenario, world};

const SIMULATED: SimTime = SimTime::from_nanos(1_200_000_000);
/// When the late node joins.
const LATE: SimTime = SimTime::from_nanos(300_000_000);
const TOPICS: [&str; 2] = ["/navcam_left/image_raw", "/navcam_left/depth/image_rect_raw"];

/// Stamp and data of every message, by topic.
type Heard = BTreeMap<String, Vec<(SimTime, Vec<u8>)>>;

fn listen(bus: &InProcess, heard: &Arc<Mutex<Heard>>) -> Vec<Subscription> {
    let keep = |topic: &str| {
        let (heard, topic) = (Arc::clone(heard), topic.to_owned());
        move |stamp: SimTime, data: Vec<u8>| {
            heard.lock().expect("lock").entry(topic.clone()).or_default().push((stamp, data))
        }
    };
    let mut subscriptions: Vec<_> = TOPICS
        .iter()
        .map(|topic| {
            let keep = keep(topic);
            subscribe(bus, topic, Qos::sensor_data(), move |m: sensor_msgs::Image| keep(m.header.stamp.into(), m.data))
        })
        .collect::<Result<_, _>>()
        .expect("subscriptions");
    let points = keep("/lidar/points");
    let on_points = move |m: sensor_msgs::PointCloud2| points(m.header.stamp.into(), m.data);
    subscriptions.push(subscribe(bus, "/lidar/points", Qos::sensor_data(), on_points).expect("points"));
    let imu = keep("/imu/data");
    let on_imu = move |m: sensor_msgs::Imu| imu(m.header.stamp.into(), format!("{m:?}").into_bytes());
    subscriptions.push(subscribe(bus, "/imu/data", Qos::sensor_data(), on_imu).expect("imu"));
    subscriptions
}

/// Runs all nodes; the camera joins when simulated time has reached `camera_joins`.
fn run(model: &Arc<Model>, camera_joins: SimTime) -> (u64, Heard) {
    let bus = InProcess::new();
    let heard = Arc::new(Mutex::new(Heard::default()));
    let _ears = listen(&bus, &heard);
    let stop = AtomicBool::new(false);
    let options = if camera_joins == SimTime::ZERO {
        options(SIMULATED, &[lidar::PARTICIPANT, navigation::PARTICIPANT, camera::PARTICIPANT])
    } else {
        let real_time = options(SIMULATED, &[lidar::PARTICIPANT, navigation::PARTICIPANT]);
        SimulationOptions { pace: Pace::Times(1.0), ..real_time }
    };
    let context = context(Arc::new(bus.clone()), model);
    let hash = std::thread::scope(|scope| {
        scope.spawn(|| lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| navigation::run(&context, &stop).expect("navigation"));
        scope.spawn(|| {
            wait_until(&bus, camera_joins);
            camera::run(&context, Device::cpu(), &stop).expect("camera");
        });
        selene_simulation::run(&context, Begin::Start(None), &options, &stop).expect("simulation").state_hash
    });
    let heard = std::mem::take(&mut *heard.lock().expect("lock"));
    (hash, heard)
}

fn wait_until(bus: &InProcess, time: SimTime) {
    let reached = Arc::new(AtomicBool::new(time == SimTime::ZERO));
    let flag = Arc::clone(&reached);
    let _clock = subscribe(bus, "/clock", Qos::clock(), move |m: rosgraph_msgs::Clock| {
        flag.fetch_or(SimTime::from(m.clock) >= time, Ordering::Relaxed);
    });
    while !reached.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn nodes_and_a_world_stepped_alone_agree_and_every_sensor_byte_repeats() {
    let model = selene_tests::model(scenario("polar", None));
    let mut alone = world(&model);
    while alone.time() < SIMULATED {
        alone.heartbeat().expect("heartbeat");
    }
    let (first, heard) = run(&model, SimTime::ZERO);
    assert_eq!(first, alone.hash());
    let (second, again) = run(&model, SimTime::ZERO);
    assert_eq!(first, second);
    assert_eq!(heard.len(), 4, "{:?}", heard.keys());
    assert!(heard == again, "a sensor message differs between two runs");
    assert!(heard["/imu/data"].len() > 200, "IMU: {}", heard["/imu/data"].len());

    let (_, late) = run(&model, LATE);
    let late_images = &late[TOPICS[0]];
    assert!(!late_images.is_empty() && late_images.len() < heard[TOPICS[0]].len());
    for (topic, image) in TOPICS.iter().flat_map(|topic| late[*topic].iter().map(move |image| (topic, image))) {
        assert!(heard[*topic].contains(image), "{topic} at {}: a late node saw another world", image.0);
    }
}

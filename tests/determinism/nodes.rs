//! Nodes that exchange messages reach the same state as a world stepped alone, and every sensor message is the same in
//! every run, also from a node that joins late.

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
use selene_simulation::{Pace, RunStart, SimulationOptions};
use selene_tests::{context, options, scenario, world};

const SIMULATED: SimTime = SimTime::from_nanos(1_200_000_000);
/// Times at which camera, lidar and navigation join: all at the start, or at different times.
const AT_THE_START: [SimTime; 3] = [SimTime::ZERO; 3];
const LATE: [SimTime; 3] =
    [SimTime::from_nanos(300_000_000), SimTime::from_nanos(230_000_000), SimTime::from_nanos(150_000_000)];
const TOPICS: [&str; 2] = ["/navcam_left/image_raw", "/navcam_left/depth/image_rect_raw"];

/// Stamp and data of every message, by topic.
type ReceivedData = BTreeMap<String, Vec<(SimTime, Vec<u8>)>>;

fn listen(bus: &InProcess, received: &Arc<Mutex<ReceivedData>>) -> Vec<Subscription> {
    let keep = |topic: &str| {
        let (received, topic) = (Arc::clone(received), topic.to_owned());
        move |stamp: SimTime, data: Vec<u8>| {
            received.lock().expect("lock").entry(topic.clone()).or_default().push((stamp, data))
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

/// Runs all nodes; camera, lidar and navigation each join at their simulated time. The simulation waits for those that
/// join at the start.
fn run(model: &Arc<Model>, joins: [SimTime; 3]) -> (u64, ReceivedData) {
    let bus = InProcess::new();
    let received = Arc::new(Mutex::new(ReceivedData::default()));
    let _subscriptions = listen(&bus, &received);
    let stop = AtomicBool::new(false);
    let nodes = [camera::PARTICIPANT, lidar::PARTICIPANT, navigation::PARTICIPANT].into_iter().zip(joins);
    let there: Vec<_> = nodes.filter(|(_, joins)| *joins == SimTime::ZERO).map(|(name, _)| name).collect();
    let pace = if joins == AT_THE_START { Pace::Fast } else { Pace::Times(1.0) };
    let options = SimulationOptions { pace, ..options(SIMULATED, &there) };
    let context = context(Arc::new(bus.clone()), model);
    let hash = std::thread::scope(|scope| {
        let [camera_joins, lidar_joins, navigation_joins] = joins;
        let (bus, context, stop) = (&bus, &context, &stop);
        scope.spawn(move || {
            wait_until(bus, camera_joins);
            camera::run(context, Device::cpu(), stop).expect("camera");
        });
        scope.spawn(move || {
            wait_until(bus, lidar_joins);
            lidar::run(context, Device::cpu(), stop).expect("lidar");
        });
        scope.spawn(move || {
            wait_until(bus, navigation_joins);
            navigation::run(context, stop).expect("navigation");
        });
        selene_simulation::run(context, RunStart::Start(None), &options, stop).expect("simulation").state_hash
    });
    let received = std::mem::take(&mut *received.lock().expect("lock"));
    (hash, received)
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
    let (first, received) = run(&model, AT_THE_START);
    assert_eq!(first, alone.state().hash());
    let (second, again) = run(&model, AT_THE_START);
    assert_eq!(first, second);
    assert_eq!(received.len(), 4, "{:?}", received.keys());
    assert!(received == again, "a sensor message differs between two runs");
    assert!(received["/imu/data"].len() > 200, "IMU: {}", received["/imu/data"].len());

    let (_, late) = run(&model, LATE);
    assert_eq!(late.keys().collect::<Vec<_>>(), received.keys().collect::<Vec<_>>());
    for (topic, messages) in &late {
        assert!(messages.len() < received[topic].len(), "{topic}: {} of {}", messages.len(), received[topic].len());
        for message in messages {
            assert!(received[topic].contains(message), "{topic} at {}: who comes late has other data", message.0);
        }
    }
}

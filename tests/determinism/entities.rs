//! A rover, an object and a rock are added to a running world and removed again: every node follows at the same
//! heartbeat, so every byte repeats.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use selene_base::SimTime;
use selene_observe::Device;
use selene_ros::transport::{Transport, subscribe};
use selene_ros::{Qos, rosgraph_msgs};
use selene_sim::{Entity, LooseRockSpec, Model, Spawn, SpawnPlace};
use selene_simulation::{Answer, Change, Changes, RunStart};
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, model, options, repository_file, scenario};

const SIMULATED: SimTime = SimTime::from_nanos(1_300_000_000);
const ADDED: SimTime = SimTime::from_nanos(200_000_000);
const REMOVED: SimTime = SimTime::from_nanos(1_150_000_000);

fn spawned() -> [Spawn; 3] {
    let place = |x_m: f64, y_m: f64| SpawnPlace { x_m, y_m, z_m: 0.0, yaw_rad: 0.0 };
    let rover = Spawn::Rover {
        name: "second".to_owned(),
        namespace: "second".to_owned(),
        file: repository_file("config/rover/sorato.yaml"),
        sensors: ["sorato_front", "imu"].map(|name| repository_file(&format!("config/sensor/{name}.yaml"))).into(),
        place: place(3.0, 3.0),
    };
    let object = Spawn::Object {
        name: "other_lander".to_owned(),
        file: repository_file("urdf/lander/lander.urdf"),
        place: place(-9.0, 6.0),
    };
    let rock = serde_json::json!({"x_m": 4.0, "y_m": 3.1, "diameter_m": 0.2});
    let rock: LooseRockSpec = serde_json::from_value(rock).expect("a rock");
    [rover, object, Spawn::Rock { name: "stone".to_owned(), spec: rock }]
}

/// Sends the changes at fixed times, from the thread that publishes the clock: between the same two heartbeats in every
/// run.
fn request(
    changes: &Changes,
    clock: &dyn Transport,
) -> (selene_ros::transport::Subscription, Receiver<Receiver<Answer>>) {
    let (sender, answers) = channel();
    let (changes, added) = (changes.clone(), Mutex::new(Vec::<Receiver<Answer>>::new()));
    let on_clock = move |reported: rosgraph_msgs::Clock| {
        let mut added = added.lock().expect("no panic");
        match SimTime::from(reported.clock) {
            ADDED => added.extend(spawned().map(|spawn| changes.request(Change::Spawn(spawn)))),
            REMOVED => {
                let there = added.drain(..).map(|answer| answer.recv().expect("answered").expect("added"));
                let removed = there.map(|entity| changes.request(Change::Remove(entity.expect("an entity"))));
                removed.for_each(|answer| sender.send(answer).expect("the test waits"));
                sender.send(changes.request(Change::Remove(Entity::Rock(999)))).expect("the test waits");
            }
            _ => {}
        }
    };
    (subscribe(clock, "/clock", Qos::clock(), on_clock).expect("clock"), answers)
}

fn run(model: &Arc<Model>) -> (u64, Published) {
    let (recording, stop) = (RecordingTransport::default(), AtomicBool::new(false));
    let context = context(Arc::new(recording.clone()), model);
    let options = options(SIMULATED, &["camera", "lidar", "navigation"]);
    let (_clock, answers) = request(&options.changes, &recording);
    let hash = std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        selene_simulation::run(&context, RunStart::Start(None), &options, &stop).expect("simulation").state_hash
    });
    let answers: Vec<_> = answers.try_iter().map(|answer| answer.recv().expect("answered")).collect();
    assert_eq!(answers.len(), 4);
    assert!(answers[..3].iter().all(Result::is_ok), "{answers:?}");
    let refused = answers[3].as_ref().expect_err("there is no such rock").to_string();
    assert!(refused.contains("999"), "{refused}");
    let mut published = recording.take();
    published.retain(|topic, _| topic != "/diagnostics" && !topic.starts_with("/selene/"));
    (hash, published)
}

#[test]
fn what_is_added_to_a_running_world_is_sensed_and_published_until_it_is_taken_away() {
    let model = model(scenario("convoy", None));
    let (hash, published) = run(&model);
    for topic in ["/second/joint_states", "/second/imu/data", "/second/sorato_front/image_raw"] {
        let reported = published.get(topic).unwrap_or_else(|| panic!("{topic} is not among {:?}", published.keys()));
        assert!(reported.iter().all(|(stamp, _)| (ADDED..=REMOVED).contains(stamp)), "{topic}");
    }
    assert!(published["/second/imu/data"].len() > 50);
    let (again, published_again) = run(&model);
    assert_eq!(hash, again);
    assert!(published.keys().eq(published_again.keys()));
    for (topic, messages) in published.iter().filter(|(topic, _)| *topic != "/tf" && *topic != "/tf_static") {
        assert!(*messages == published_again[topic], "{topic} is another in another run");
    }
}

//! Replay of a recorded run: the same sensors publish every byte again, and other sensors publish other data at the
//! same times.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use selene_base::SimTime;
use selene_coherence::RUN_INFO;
use selene_observe::Device;
use selene_ros::bag::{BagReader, RecordOptions, TopicFilter, is_internal};
use selene_ros::fanout::Fanout;
use selene_ros::transport::Transport;
use selene_ros::{BagRecorder, decode, selene_msgs};
use selene_sensors::SensorSpec;
use selene_sim::{DrivenGround, LoadOptions, Model, Scenario};
use selene_simulation::{NodeError, RecordedRun, ReplayResult, RunStart, replay};
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, drive, model, options, repository_file, scenario, world};

const SIMULATED: SimTime = SimTime::from_nanos(600_000_000);
const PARTICIPANTS: [&str; 3] = ["camera", "lidar", "navigation"];
const IMAGE: &str = "/navcam_left/image_raw";

/// A recorded run, and all that was published during it.
struct Run {
    bag: PathBuf,
    published: Published,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.bag);
    }
}

fn record(name: &str, model: &Arc<Model>, driven: Option<DrivenGround>) -> Run {
    let bag = std::env::temp_dir().join(format!("selene-retold-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&bag);
    let topics = TopicFilter { internal: true, ..TopicFilter::default() };
    let recorder = BagRecorder::create(&bag, RecordOptions { topics, ..RecordOptions::default() }).expect("bag");
    let recording = RecordingTransport::default();
    let parts: Vec<Arc<dyn Transport>> = vec![Arc::new(recording.clone()), Arc::new(recorder.clone())];
    let (context, stop) = (context(Arc::new(Fanout::new(parts)), model), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        let options = options(SIMULATED, &PARTICIPANTS);
        selene_simulation::run(&context, RunStart::Start(driven), &options, &stop).expect("simulation");
    });
    assert_eq!(recorder.finish().fault, None);
    Run { bag, published: of_the_world(&recording) }
}

fn of_the_world(recording: &RecordingTransport) -> Published {
    let mut published = recording.take();
    published.retain(|topic, _| !is_internal(topic));
    published
}

/// The run's description of itself in a bag, checked against a model.
fn recorded(bag: &BagReader, model: &Model) -> Result<RecordedRun, NodeError> {
    let first = bag.messages().map(|message| message.expect("sound")).find(|message| message.topic.name == RUN_INFO);
    let info: selene_msgs::RunInfo = decode(&first.expect("published").encoded).expect("decodes");
    RecordedRun::new(&info, model)
}

fn send_again(run: &Run, model: &Arc<Model>) -> (ReplayResult, Published) {
    let bag = BagReader::open(&run.bag).expect("bag");
    let recorded = recorded(&bag, model).expect("the same world");
    let (recording, stop) = (RecordingTransport::default(), AtomicBool::new(false));
    let context = context(Arc::new(recording.clone()), model);
    let reported = bag.messages().filter_map(|message| {
        let message = message.expect("sound");
        recorded.reported(&message.topic.name, &message.encoded).transpose()
    });
    let replayed = std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        let replayed = replay(&context, &recorded, reported, &PARTICIPANTS.map(str::to_owned), &stop);
        // The nodes of a failed replay must be stopped.
        stop.store(replayed.is_err(), Ordering::Relaxed);
        replayed
    });
    (replayed.expect("replayed"), of_the_world(&recording))
}

/// Checks that all topics but those named are unchanged; `/diagnostics` describes the sensor nodes' own run.
fn assert_replayed(again: &Published, then: &Published, but: &[&str]) {
    for topic in ["/lidar/points", "/imu/data", "/gps/fix", "/clock", "/tf", "/joint_states", "/ground_truth/odom"] {
        assert!(again.get(topic).is_some_and(|messages| !messages.is_empty()), "{topic} is missing");
    }
    let is_compared = |topic: &str| topic != "/diagnostics" && !but.iter().any(|name| topic.contains(name));
    for (topic, messages) in again.iter().filter(|(topic, _)| is_compared(topic)) {
        assert_eq!(messages.len(), then[topic].len(), "{topic}");
        assert!(*messages == then[topic], "{topic} is another");
    }
}

/// A camera's file with fewer pixels and a higher rate.
fn small(sensor: &str, folder: &Path) -> PathBuf {
    let text = std::fs::read_to_string(repository_file(&format!("config/sensor/{sensor}.yaml"))).expect("text");
    let small = text.replace("width: 960", "width: 96").replace("height: 540", "height: 54");
    let small = small.replace("rate_hz: 1", "rate_hz: 10");
    assert_ne!(small, text);
    let file = folder.join(format!("{sensor}.yaml"));
    std::fs::write(&file, small).expect("written");
    file
}

#[test]
fn the_same_sensors_publish_every_byte_again_and_others_other_bytes_at_the_same_times() {
    let model = model(scenario("polar", None));
    let run = record("same", &model, None);
    let (replayed, again) = send_again(&run, &model);
    assert_eq!((replayed.heartbeats, replayed.until), (121, SIMULATED));
    assert!(!again[IMAGE].is_empty());
    assert_replayed(&again, &run.published, &[]);

    let mut half = scenario("polar", None);
    let SensorSpec::Camera(camera) = &mut half.rovers[0].sensors[0].spec else { panic!("a camera") };
    (camera.width, camera.height) = (320, 180);
    let (_, again) = send_again(&run, &selene_tests::model(half));
    let stamps = |of: &Published| of[IMAGE].iter().map(|(stamp, _)| stamp.nanos()).collect::<Vec<_>>();
    assert_eq!(stamps(&again), stamps(&run.published));
    assert!(again[IMAGE].iter().zip(&run.published[IMAGE]).all(|(ours, theirs)| ours.1.len() < theirs.1.len()));
    assert_replayed(&again, &run.published, &["/navcam_left"]);

    let folder = std::env::temp_dir().join(format!("selene-retold-sensors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let sensors = vec![small("viper_birdseye", &folder)];
    let with_another = Scenario::load(
        &repository_file("config/scenario/polar.yaml"),
        &LoadOptions { sensors, ..LoadOptions::default() },
    );
    std::fs::remove_dir_all(&folder).expect("clean");
    let (_, again) = send_again(&run, &selene_tests::model(with_another.expect("good")));
    assert!(!again["/viper_birdseye/image_raw"].is_empty(), "a camera with a frame of its own sees the drive");
    assert!(again["/tf_static"][0].1.len() > run.published["/tf_static"][0].1.len());
    assert_replayed(&again, &run.published, &["/viper_birdseye", "/tf_static"]);
}

#[test]
fn a_run_that_began_on_driven_ground_is_replayed_on_it() {
    let model = model(scenario("polar", None));
    let mut before = world(&model);
    drive(&mut before, 1.0, None);
    let run = record("driven", &model, Some(DrivenGround::of(before.state())));
    let (_, again) = send_again(&run, &model);
    assert_replayed(&again, &run.published, &[]);
}

#[test]
fn a_recording_of_another_world_is_refused_with_what_differs() {
    let run = record("other", &model(scenario("sorato", None)), None);
    let bag = BagReader::open(&run.bag).expect("bag");
    let mut elsewhere = scenario("sorato", None);
    elsewhere.gravity_m_s2 = 9.81;
    let refusal = recorded(&bag, &model(elsewhere)).expect_err("another world").to_string();
    assert!(refusal.contains("gravity_m_s2: here 9.81, there 1.62"), "{refusal}");
    assert!(refusal.contains("only its sensors may differ"), "{refusal}");
}

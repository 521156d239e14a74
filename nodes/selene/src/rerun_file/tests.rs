//! Tests with a file of messages that the test publishes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::SimTime;
use selene_ros::geometry_msgs::TransformStamped;
use selene_ros::selene_msgs::{RoverState, WheelState, WheelStates, WorldState};
use selene_ros::sensor_msgs::Image;
use selene_ros::std_msgs;
use selene_ros::tf2_msgs::TFMessage;
use selene_ros::transport::Publisher;
use selene_ros::{Message, Qos};
use selene_sim::{LoadOptions, Model, Scenario};
use selene_terrain::Ruts;

use super::RerunFile;

fn model() -> Arc<Model> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario/polar.yaml");
    let scenario = Scenario::load(&file, &LoadOptions::default()).expect("a scenario");
    Arc::new(Model::new(Arc::new(scenario)).expect("a world"))
}

fn file(name: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("selene-rerun-{name}-{}.rrd", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

fn publish<M: Message>(of: &RerunFile, topic: &str, message: &M, seconds: f64) {
    let publisher = Publisher::new(of.tap().as_ref(), topic, Qos::reliable()).expect("a topic");
    publisher.publish(message, SimTime::from_secs_f64(seconds)).expect("taken");
}

#[test]
fn what_can_be_shown_is_in_the_file_and_the_rest_is_reported() {
    let path = file("shown");
    let begun = RerunFile::begin(&path, &model(), Ruts::default()).expect("a file");
    let image = |encoding: &str, bytes: usize| Image {
        width: 2,
        height: 2,
        encoding: encoding.to_owned(),
        data: vec![9; bytes],
        ..Image::default()
    };
    let frame = TransformStamped { child_frame_id: "base_link".to_owned(), ..TransformStamped::default() };
    let wheel = WheelState { name: "front_left".to_owned(), slip_ratio: 0.1, ..WheelState::default() };
    let rover = RoverState { name: "viper".to_owned(), links: vec![Default::default()], ..RoverState::default() };
    publish(&begun, "/navcam/image_raw", &image("mono8", 4), 1.0);
    publish(&begun, "/tf", &TFMessage { transforms: vec![frame] }, 1.0);
    publish(&begun, "/ground_truth/wheels", &WheelStates { wheels: vec![wheel], ..WheelStates::default() }, 1.5);
    publish(&begun, "/selene/r1/world_state", &WorldState { rovers: vec![rover], ..WorldState::default() }, 2.0);
    publish(&begun, "/navcam/flow", &image("32FC2", 32), 2.0);
    publish(&begun, "/hazcam/image_raw", &image("mono8", 3), 2.0);
    publish(&begun, "/mast/command", &std_msgs::Float64 { data: 1.0 }, 2.0);
    let tap = begun.tap();
    let reported = begun.end().expect("a whole file");
    assert!(reported[0].1.contains(": 4 messages, "), "{reported:?}");
    let passed_over: Vec<_> = reported[1..].iter().map(|(_, why)| why.split(':').next().expect("a topic")).collect();
    assert_eq!(passed_over, ["/hazcam/image_raw", "/navcam/flow"]);
    // The mesh alone is larger than this.
    assert!(std::fs::metadata(&path).expect("a file").len() > 100_000);
    let late = Publisher::new(tap.as_ref(), "/navcam/image_raw", Qos::reliable()).expect("a topic");
    assert!(late.publish(&image("mono8", 4), SimTime::ZERO).is_err(), "the file has ended");
    std::fs::remove_file(path).expect("clean");
}

#[test]
fn a_file_that_exists_or_has_another_name_is_refused() {
    let path = file("exists");
    std::fs::write(&path, "mine").expect("written");
    for (refused, why) in [(path.as_path(), "exists already"), (Path::new("out/run.mcap"), ".rrd")] {
        let reported = RerunFile::check(refused).expect_err("refused").to_string();
        assert!(reported.contains(why) && reported.contains("--rerun"), "{reported}");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "mine");
    std::fs::remove_file(path).expect("clean");
}

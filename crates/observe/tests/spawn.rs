//! Observers of a rover that comes while a world runs: they tell nothing of the time before.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_base::SimTime;
use selene_observe::{Cameras, Device, Feed, Lidars};
use selene_sensors::OwnStages;
use selene_sim::{AllowedFolders, LoadOptions, Scenario, Spawn, SpawnPlace, World};

const SCENARIO: &str = "
name: test
utc: \"2026-11-21T12:00:00Z\"
seed: 1
gravity_m_s2: 1.62
step_s: 0.001
heartbeat_s: 0.01
site: ../site/test_yard.yaml
soil: ../soil/lunar.yaml
rover: { file: ../rover/rassor.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }
";
/// A scan's, and a little.
const WATCHED: SimTime = SimTime::from_nanos(250_000_000);

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

#[test]
fn what_began_before_a_rover_came_is_left_out() {
    let path = config().join("scenario/test.yaml");
    let scenario = Scenario::parse(SCENARIO, &path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(Arc::new(scenario)).unwrap_or_else(|e| panic!("{e}"));
    let mut feed = Feed::begin(&mut world).expect("begins");
    let (mut lidars, mut cameras) = (Lidars::new(Device::cpu()), Cameras::new(Device::cpu(), OwnStages::new()));
    let second = Spawn::Rover {
        name: "second".to_owned(),
        file: config().join("rover/viper.yaml"),
        sensors: ["sensor/lidar.yaml", "sensor/navcam_left.yaml"].map(|file| config().join(file)).into(),
        place: SpawnPlace { x_m: 4.0, y_m: 4.0, ..SpawnPlace::default() },
    };
    world.spawn(&second, &AllowedFolders::new([config()])).expect("room");
    while world.time() < WATCHED {
        let interval = feed.heartbeat(&mut world).expect("heartbeat");
        // The first snapshot lacks the rover, and scans and images begin with the scenario.
        assert!(lidars.take(&interval).expect("no fault").is_empty(), "a scan at {}", interval.next.time);
        assert!(cameras.take(&interval).expect("no fault").is_empty(), "an image at {}", interval.next.time);
    }
}

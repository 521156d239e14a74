//! Tests of observers of a rover that is spawned while a world runs: they return no data of the time before.

use crate::common;

use common::{config, world};
use selene_base::SimTime;
use selene_observe::{Cameras, Device, Feed, Lidars};
use selene_sensors::OwnStages;
use selene_sim::{AllowedFolders, Spawn, SpawnPlace};

const ROVER: &str = "rover: { file: ../rover/rassor.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }";
/// Watched time: slightly longer than a scan.
const WATCHED: SimTime = SimTime::from_nanos(250_000_000);

#[test]
fn what_began_before_a_rover_came_is_left_out() {
    let mut world = world(ROVER);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let (mut lidars, mut cameras) = (Lidars::new(Device::cpu()), Cameras::new(Device::cpu(), OwnStages::new()));
    let second = Spawn::Rover {
        name: "second".to_owned(),
        namespace: "second".to_owned(),
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

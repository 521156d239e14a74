//! Tests of observers of a world that is reset: they begin anew with it.

use crate::common;

use common::world;
use selene_base::SimTime;
use selene_observe::{Device, Feed, Instruments, LidarSample, Lidars, Reading};
use selene_sim::{ResetScope, World};

const ROVER: &str = "\
rover: { file: ../rover/rassor.yaml, namespace: \"\", x_m: 0, y_m: 0, yaw_deg: 0 }
sensors: [../sensor/imu.yaml, ../sensor/gps.yaml, ../sensor/lidar.yaml]
route: { speed_m_s: 0.2, waypoints_m: [[4, 0]] }
";
/// Number of heartbeats: longer than a scan.
const HEARTBEATS: usize = 30;

struct Observers {
    instruments: Instruments,
    lidars: Lidars,
}

type Observations = (Vec<Reading>, Vec<LidarSample>);

impl Observers {
    fn new() -> Self {
        Self { instruments: Instruments::default(), lidars: Lidars::new(Device::cpu()) }
    }

    fn watch(&mut self, world: &mut World, feed: &mut Feed, heartbeats: usize) -> Observations {
        let mut seen = Observations::default();
        for _ in 0..heartbeats {
            let interval = feed.heartbeat(world).expect("heartbeat");
            seen.0.extend(self.instruments.take(&interval));
            seen.1.extend(self.lidars.take(&interval).expect("traced"));
        }
        seen
    }
}

#[test]
fn what_is_measured_after_a_reset_is_what_was_measured_first() {
    let mut world = world(ROVER);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut observers = Observers::new();
    let first = observers.watch(&mut world, &mut feed, HEARTBEATS);
    let fixes = first.0.iter().filter(|reading| reading.sensor.name == "gps").count();
    assert!(first.0.len() > 52 && fixes == 2 && first.1.len() == 1, "{} readings", first.0.len());
    // Also after the shortest possible run.
    for heartbeats in [1, HEARTBEATS] {
        world.reset();
        let again = observers.watch(&mut world, &mut feed, heartbeats);
        assert_eq!(again.0[..], first.0[..again.0.len()]);
        assert!(again.1[..] == first.1[..again.1.len()], "another scan");
        assert!(heartbeats < HEARTBEATS || (again.0.len(), again.1.len()) == (first.0.len(), first.1.len()));
    }
}

#[test]
fn no_scan_is_half_of_before_and_half_of_after_the_state_went_back() {
    let mut world = world(ROVER);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut observers = Observers::new();
    let at = |time_s: f64| SimTime::from_secs_f64(time_s);
    observers.watch(&mut world, &mut feed, 30);
    assert_eq!(world.time(), at(0.3));
    world.reset_in(ResetScope { time: false, state: true, spawned: false }).expect("room");
    let (readings, scans) = observers.watch(&mut world, &mut feed, 40);
    let stamps: Vec<_> = scans.iter().map(|scan| scan.stamp).collect();
    assert_eq!(stamps, [at(0.4)], "the one of 0.2 s was under way");
    assert!(readings.iter().all(|sample| sample.stamp > at(0.3)), "time went on");
}

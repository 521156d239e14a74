//! Settings changed while a world runs: they apply to samples after their heartbeat and to none before, two runs with
//! the same settings at the same times give the same data, and a run resumed afterwards continues as the uninterrupted
//! run does.

use std::sync::{Arc, OnceLock};

use selene_base::SimTime;
use selene_observe::{
    CameraSample, Cameras, Device, Feed, Instruments, Interval, LidarSample, Lidars, Ranging, RangingSample, Reading,
    Recorder, recall_span,
};
use selene_sensors::{OwnStages, SensorSetting, SensorSpec};
use selene_sim::{AllowedFolders, Checkpoint, Fingerprint, LoadOptions, Model, Scenario, Settings, World};
use selene_tests::{ROVER, model, repository_file, world};

const CAMERA: &str = "navcam_left";
const RANGE_FINDER: &str = "altimeter";
/// Images per second, high enough to have some in a short run.
const IMAGES_HZ: f64 = 10.0;

fn ms(milliseconds: i64) -> SimTime {
    SimTime::from_nanos(1_000_000 * milliseconds)
}

/// The default scenario with one small camera and a range finder.
fn small() -> &'static Arc<Model> {
    static SMALL: OnceLock<Arc<Model>> = OnceLock::new();
    SMALL.get_or_init(|| {
        let sensors = vec![repository_file(&format!("config/sensor/{RANGE_FINDER}.yaml"))];
        let options = LoadOptions { sensors, ..LoadOptions::default() };
        let mut scenario = Scenario::load(&repository_file("config/scenario/polar.yaml"), &options).expect("good");
        let sensors = &mut scenario.rovers[0].sensors;
        sensors.retain(|sensor| sensor.spec.header().name != "navcam_right");
        for sensor in sensors.iter_mut() {
            if let SensorSpec::Camera(camera) = &mut sensor.spec {
                (camera.width, camera.height, camera.rate_hz, camera.rectified) = (64, 36, IMAGES_HZ, None);
            }
        }
        model(scenario)
    })
}

/// Data of the rover's sensors.
#[derive(Debug, Default, PartialEq)]
struct SensorData {
    images: Vec<CameraSample>,
    scans: Vec<LidarSample>,
    distances: Vec<RangingSample>,
    readings: Vec<Reading>,
}

struct Observers {
    cameras: Cameras,
    lidars: Lidars,
    ranging: Ranging,
    instruments: Instruments,
    reported: SensorData,
}

impl Observers {
    fn new() -> Self {
        Self {
            cameras: Cameras::new(Device::cpu(), OwnStages::new()),
            lidars: Lidars::new(Device::cpu()),
            ranging: Ranging::new(Device::cpu()),
            instruments: Instruments::default(),
            reported: SensorData::default(),
        }
    }

    fn take(&mut self, interval: &Interval) {
        self.reported.images.extend(self.cameras.take(interval).expect("images"));
        self.reported.scans.extend(self.lidars.take(interval).expect("scans"));
        self.reported.distances.extend(self.ranging.take(interval).expect("distances"));
        self.reported.readings.extend(self.instruments.take(interval));
    }
}

/// Steps until `until`, and applies each setting at its time.
fn go_on(world: &mut World, orders: &[(SimTime, Settings)], until: SimTime, mut step: impl FnMut(&mut World)) {
    while world.time() < until {
        let now = world.time();
        for (_, settings) in orders.iter().filter(|(at, _)| *at == now) {
            world.set(settings).expect("can be set");
        }
        step(world);
    }
}

fn run(orders: &[(SimTime, Settings)], until: SimTime) -> (SensorData, u64) {
    let (mut world, mut observers) = (world(small()), Observers::new());
    let mut feed = Feed::begin(&mut world).expect("begins");
    go_on(&mut world, orders, until, |world| observers.take(&feed.heartbeat(world).expect("a heartbeat")));
    (observers.reported, world.state().hash())
}

fn set(sensors: &[(&str, SensorSetting)]) -> Settings {
    let sensors = sensors.iter().map(|(name, setting)| ((ROVER, (*name).to_owned()), *setting)).collect();
    Settings { sensors, ..Settings::default() }
}

/// A short exposure and no noise from 205 ms on; from 405 ms on, the camera, the range finder and the inertial unit are
/// off.
fn orders() -> Vec<(SimTime, Settings)> {
    let quiet = SensorSetting { noise: false, ..SensorSetting::default() };
    let exposed = SensorSetting { exposure_s: Some(0.001), auto_exposure: Some(false), ..SensorSetting::default() };
    let off = SensorSetting { enabled: false, ..SensorSetting::default() };
    vec![
        (ms(205), set(&[(CAMERA, exposed), ("lidar", quiet), (RANGE_FINDER, quiet), ("imu", quiet)])),
        (ms(405), set(&[(CAMERA, off), ("lidar", quiet), (RANGE_FINDER, off), ("imu", off)])),
    ]
}

const UNTIL: SimTime = SimTime::from_nanos(700_000_000);

#[test]
fn what_is_set_is_that_of_samples_after_its_heartbeat_and_the_same_in_two_runs() {
    let ((plain, plain_hash), (reported, hash)) = (run(&[], UNTIL), run(&orders(), UNTIL));
    let (again, hash_again) = run(&orders(), UNTIL);
    assert!(again == reported && hash_again == hash && hash != plain_hash);

    let stamps: Vec<_> = reported.images.iter().map(|image| image.stamp).collect();
    assert_eq!(stamps, [0, 100, 200, 300, 400].map(ms));
    assert_eq!(plain.images.len(), 7);
    for (image, without) in reported.images.iter().zip(&plain.images) {
        let is_before = image.stamp <= ms(205);
        assert!((image == without) == is_before, "the image at {}", image.stamp);
        assert_eq!(image.exposure_s == 0.001, !is_before, "{} s at {}", image.exposure_s, image.stamp);
    }

    // The settings of a scan are those at its start.
    let starts: Vec<_> = reported.scans.iter().map(|scan| scan.stamp).collect();
    assert_eq!(starts, [0, 200, 400].map(ms));
    for (scan, without) in reported.scans.iter().zip(&plain.scans) {
        assert!((scan.cloud == without.cloud) == (scan.stamp <= ms(205)), "the scan at {}", scan.stamp);
    }

    let stamps: Vec<_> = reported.distances.iter().map(|distance| distance.stamp).collect();
    assert_eq!(stamps, (0..=20).map(|k| ms(20 * k)).collect::<Vec<_>>());
    let (before, after) = reported.distances.split_at(11);
    assert!(before == &plain.distances[..11] && after != &plain.distances[11..21]);

    let imu = |of: &SensorData| -> Vec<Reading> {
        of.readings.iter().filter(|reading| reading.sensor.name == "imu").cloned().collect()
    };
    let (readings, without) = (imu(&reported), imu(&plain));
    assert_eq!(readings.last().map(|reading| reading.stamp), Some(ms(405)));
    assert!(without.last().is_some_and(|reading| reading.stamp > ms(600)));
    for (reading, without) in readings.iter().zip(&without) {
        assert!((reading == without) == (reading.stamp <= ms(205)), "the reading at {}", reading.stamp);
    }
}

#[test]
fn the_sky_turns_with_the_heartbeat_at_which_it_is_set() {
    let half_a_month = SimTime::from_nanos(14 * 86_400 * 1_000_000_000);
    let orders = [(ms(105), Settings { sky_offset: half_a_month, ..Settings::default() })];
    let (plain, reported) = (run(&[], ms(330)).0, run(&orders, ms(330)).0);
    assert!(reported.images.len() >= 3 && reported.images.len() == plain.images.len());
    for (image, without) in reported.images.iter().zip(&plain.images) {
        assert!((image.image == without.image) == (image.stamp <= ms(105)), "the image at {}", image.stamp);
    }
    assert!(reported.readings == plain.readings, "an inertial unit and a receiver see no Sun");
}

#[test]
fn a_run_resumed_after_a_setting_publishes_what_the_uninterrupted_run_publishes() {
    let (model, half) = (small(), ms(300));
    let (whole, whole_hash) = run(&orders(), UNTIL);

    let (mut world, mut observers) = (world(model), Observers::new());
    let mut recorder = Recorder::new(world.state().ruts.clone());
    let mut feed = Feed::begin(&mut world).expect("begins");
    recorder.push(Arc::clone(feed.last()), recall_span(model));
    go_on(&mut world, &orders(), half, |world| {
        let interval = feed.heartbeat(world).expect("a heartbeat");
        recorder.push(Arc::clone(&interval.next), recall_span(model));
        observers.take(&interval);
    });
    let mut reported = observers.reported;
    let file = std::env::temp_dir().join(format!("selene-settings-{}.state", std::process::id()));
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let checkpoint = Checkpoint { state: world.state().clone(), recent: recorder.recent() };
    checkpoint.save(&file, &own).expect("saved");
    let Checkpoint { state, recent } = Checkpoint::load(&file, &own).expect("loaded");
    std::fs::remove_file(file).expect("clean");

    let mut world = World::resume(model, state, &AllowedFolders::default()).expect("resumed");
    let (mut feed, intervals) = Feed::resumed(&world, &recent);
    let mut observers = Observers::new();
    intervals.iter().for_each(|interval| observers.take(interval));
    go_on(&mut world, &orders(), UNTIL, |world| observers.take(&feed.heartbeat(world).expect("a heartbeat")));
    reported.images.append(&mut observers.reported.images);
    reported.scans.append(&mut observers.reported.scans);
    reported.distances.append(&mut observers.reported.distances);
    reported.readings.append(&mut observers.reported.readings);
    assert_eq!(world.state().hash(), whole_hash);
    assert!(reported.images == whole.images, "other images");
    assert!(reported.scans == whole.scans, "other scans");
    assert!(reported.distances == whole.distances, "other distances");
    assert!(reported.readings == whole.readings, "other readings");
}

//! A run that is saved and resumed: every bit of the state and every published byte equal those of an uninterrupted
//! run, for each shipped scenario, that is, every file in their folder.
//!
//! Each half of a short run lasts until every sensor has published twice in it, about a second. Images cost most, so
//! its cameras are smaller than the shipped ones, and faster if those take less than two images a second. Wheels move
//! granular soil in `granular`, and grains in `gravel`. In `rassor_dig` and `dozer`, where digging runs four to eight
//! times slower than real time, drum and blade reach the soil in long runs alone.
//!
//! With `SELENE_LONG_RUNS` sensors are as shipped and a half lasts 10 s, which takes minutes. Each scenario is a test
//! that can run alone: `SELENE_LONG_RUNS=1 cargo test --release -p selene-tests --test determinism in_two_parts::polar`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_dem::{Compression, Crs, Dem, GeoTransform, MOON_RADIUS_M, write_geotiff};
use selene_observe::Device;
use selene_sensors::{Schedule, SensorSpec};
use selene_sim::{Checkpoint, Fingerprint, Model, RouteSpec, Scenario, Start};
use selene_simulation::{CheckpointOptions, RunOutcome, RunStart, SimulationOptions, file_at};
use selene_terrain::{ElevationSpec, FileSpec};
use selene_tests::recording_transport::{Published, RecordingTransport};
use selene_tests::{context, data_dir, model, options, repository_file, scenario, skip_data};

/// Topics that describe the process and not the world, or are repeated to each new subscriber.
const OF_THE_RUN: [&str; 6] =
    ["/selene/", "/diagnostics", "/tf_static", "robot_description", "ground_truth/rocks", "/clock"];

/// Least number of samples that each sensor publishes in each half.
const SAMPLES_MIN: usize = 2;
/// Least distance that a rover with a route drives before it is saved, m.
const DRIVEN_MIN_M: f64 = 0.005;
/// Least rate of a camera in a short run, Hz.
const CAMERA_RATE_MIN_HZ: f64 = 2.0;

fn is_long() -> bool {
    std::env::var_os("SELENE_LONG_RUNS").is_some()
}

/// Duration of half a run: in a short one the least number of tenths of a second, from six on, in which each sensor
/// publishes often enough in both halves.
fn half_of(scenario: &Scenario) -> SimTime {
    if is_long() {
        return SimTime::from_secs_f64(10.0);
    }
    let specs = scenario.rovers.iter().flat_map(|rover| rover.sensors.iter().map(|sensor| &sensor.spec));
    // A sample that looks back beyond the start is not measured.
    let with_first = |spec: &SensorSpec| (spec.schedule(), SimTime::from_secs_f64(spec.looks_back_s()));
    let sensors: Vec<(Schedule, SimTime)> = specs.map(with_first).collect();
    let suffices = |after: SimTime, until: SimTime| {
        let count = |schedule: &Schedule, first: SimTime| {
            schedule.due_in(after, until).filter(|sample| sample.instant >= first).count()
        };
        sensors.iter().all(|(schedule, first)| count(schedule, *first) >= SAMPLES_MIN)
    };
    let before_start = SimTime::from_nanos(-1);
    let mut halves = (6..100).map(|tenths: i64| SimTime::from_nanos(tenths * 100_000_000));
    halves
        .find(|half| suffices(before_start, *half) && suffices(*half, *half * 2))
        .expect("no sensor is slower than 0.2 Hz")
}

/// Runs all nodes; returns how the run ended and all that was published about the world.
fn run(model: &Arc<Model>, begin: RunStart, options: &SimulationOptions) -> (RunOutcome, Published) {
    let (recording, stop) = (RecordingTransport::default(), AtomicBool::new(false));
    let mut context = context(Arc::new(recording.clone()), model);
    if let RunStart::Resume(checkpoint) = &begin {
        context.published_until = Some(checkpoint.state.time);
    }
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        selene_simulation::run(&context, begin, options, &stop).expect("simulation")
    });
    let mut published = recording.take();
    published.retain(|topic, _| OF_THE_RUN.iter().all(|name| !topic.contains(name)));
    (outcome, published)
}

fn lockstep(duration: SimTime) -> SimulationOptions {
    options(duration, &["camera", "lidar", "navigation"])
}

/// The same, with a checkpoint in `folder` at the end.
fn saved(duration: SimTime, folder: &Path) -> SimulationOptions {
    let checkpoints = Some(CheckpointOptions { every: duration, folder: folder.to_owned() });
    SimulationOptions { checkpoints, ..lockstep(duration) }
}

/// Names of the shipped scenarios.
fn shipped() -> Vec<String> {
    let files = std::fs::read_dir(repository_file("config/scenario")).expect("folder");
    let files = files.map(|entry| entry.expect("entry").path());
    let mut names: Vec<_> = files.map(|file| file.file_stem().expect("named").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A scenario that waits for no client (`closed_loop.rs` tests those that do): rovers that wait for commands drive
/// straight on. Short runs have smaller and faster cameras.
fn without_client(name: &str, data: Option<PathBuf>) -> Scenario {
    let mut scenario = scenario(name, data);
    scenario.lockstep.clear();
    for rover in &mut scenario.rovers {
        if rover.route.is_none() && rover.motions.is_empty() {
            rover.route = Some(straight_on(rover.start));
        }
        if !is_long() {
            rover.sensors.iter_mut().for_each(|sensor| make_cheap(&mut sensor.spec));
        }
    }
    scenario
}

/// A route that no run of 20 s drives to its end.
fn straight_on(Start { x_m, y_m, yaw_rad, .. }: Start) -> RouteSpec {
    RouteSpec { speed_m_s: 0.1, waypoints_m: vec![[x_m + 5.0 * yaw_rad.cos(), y_m + 5.0 * yaw_rad.sin()]] }
}

/// Gives a camera fewer pixels, which costs less, and at least two images a second, which shortens the run.
fn make_cheap(sensor: &mut SensorSpec) {
    if let SensorSpec::Camera(camera) = sensor {
        camera.rate_hz = camera.rate_hz.max(CAMERA_RATE_MIN_HZ);
        camera.width = (camera.width / 4).max(80);
        camera.height = (camera.height / 4).max(45);
    }
}

fn is_measured(name: &str) -> bool {
    matches!(scenario(name, None).site.elevation, ElevationSpec::File(_) | ElevationSpec::Raster(_))
}

/// Fails unless each sensor has published samples. Sun sensors and star trackers publish only what they see.
fn assert_all_sensors_published(scenario: &Scenario, published: &Published) {
    for rover in &scenario.rovers {
        let sensors = rover.sensors.iter().map(|sensor| &sensor.spec);
        for sensor in sensors.filter(|spec| !matches!(spec, SensorSpec::SunSensor(_) | SensorSpec::StarTracker(_))) {
            let prefix = format!("{}/", rover.topic(sensor.header().name));
            let of_sensor = published.iter().filter(|(topic, _)| topic.starts_with(&prefix));
            let count = of_sensor.map(|(_, messages)| messages.len()).max().unwrap_or(0);
            assert!(count >= SAMPLES_MIN, "{}: {count} samples on {prefix}", scenario.name);
        }
    }
}

/// Fails unless each rover with a route has driven.
fn assert_all_rovers_drove(scenario: &Scenario, outcome: &RunOutcome) {
    for rover in scenario.rovers.iter().filter(|rover| rover.route.is_some()) {
        let driven = outcome.distances_m.iter().find(|(name, _)| *name == rover.name);
        let driven_m = driven.map_or(0.0, |(_, driven_m)| *driven_m);
        assert!(driven_m > DRIVEN_MIN_M, "{}: {} drove {driven_m} m", scenario.name, rover.name);
    }
}

/// Compares a run of a scenario with two halves of it. `load` loads the scenario from its files.
fn scenario_is_the_same_in_two_runs(name: &str, load: impl Fn() -> Scenario) {
    let folder = std::env::temp_dir().join(format!("selene-resume-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let first = model(load());
    let half = half_of(first.scenario());
    let (whole_outcome, whole) = run(&first, RunStart::Start(None), &lockstep(half + half));
    let (first_outcome, mut halves) = run(&first, RunStart::Start(None), &saved(half, &folder));
    assert_all_rovers_drove(first.scenario(), &first_outcome);
    drop(first);
    // As in a new process: the second half has only the files and the checkpoint.
    let fresh = model(load());
    let own = Fingerprint::of(fresh.scenario(), fresh.terrain());
    let checkpoint = Checkpoint::load(&file_at(&folder, half), &own).expect("saved");
    let (outcome, second) = run(&fresh, RunStart::Resume(Box::new(checkpoint)), &lockstep(half));
    std::fs::remove_dir_all(&folder).expect("clean");
    assert_eq!(outcome.state_hash, whole_outcome.state_hash, "{name}: another state");
    assert_all_sensors_published(fresh.scenario(), &halves);
    assert_all_sensors_published(fresh.scenario(), &second);
    for (topic, messages) in second {
        halves.entry(topic).or_default().extend(messages);
    }
    assert_eq!(halves.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "{name}");
    for (topic, messages) in &whole {
        let halves = &halves[topic];
        let stamps = |of: &[(SimTime, Vec<u8>)]| of.iter().map(|(stamp, _)| stamp.nanos()).collect::<Vec<_>>();
        assert_eq!(stamps(halves), stamps(messages), "{name}: {topic}");
        let differs = halves.iter().zip(messages).find(|(ours, theirs)| ours != theirs);
        assert!(
            differs.is_none(),
            "{name}: {topic} at {} is another",
            differs.map_or(SimTime::ZERO, |(ours, _)| ours.0)
        );
    }
}

/// A scenario on measured ground, with generated hills in place of the data, level and as high as the site says at its
/// origin.
fn over_made_hills(name: &str) -> Scenario {
    let folder = std::env::temp_dir().join(format!("selene-resume-hills-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let mut scenario = without_client(name, Some(folder.clone()));
    let [latitude_rad, longitude_rad] = [scenario.site.latitude_deg, scenario.site.longitude_deg].map(f64::to_radians);
    let datum_m = scenario.site.datum_m;
    let crs = Crs::Orthographic { latitude_rad, longitude_rad, radius_m: MOON_RADIUS_M + datum_m };
    let hill = |post: usize| 4.0 * (1.0 - (0.1 * (post as f64 - 128.0)).cos());
    let height_m = |i: usize| (datum_m + hill(i % 257) + hill(i / 257)) as f32;
    let transform = GeoTransform::north_up(-257.0, 257.0, 2.0, 2.0);
    let dem = Dem::new([257, 257], transform, crs, (0..257 * 257).map(height_m).collect()).expect("a grid");
    write_geotiff(&dem, &folder.join("hills.tif"), Compression::None).expect("written");
    let file = FileSpec { file: "hills.tif".to_owned(), source: "made here".to_owned(), sha256: None, levels: 1 };
    scenario.site.elevation = ElevationSpec::File(file);
    scenario
}

/// Tests a scenario; one on measured ground without its data over generated hills.
fn shipped_scenario_is_the_same_in_two_runs(name: &str) {
    let data = data_dir();
    if !is_measured(name) {
        return scenario_is_the_same_in_two_runs(name, || without_client(name, None));
    }
    if data.is_none() {
        skip_data("real ground, made hills instead: SELENE_DATA names no folder with elevation files");
    }
    let real = || data.clone().map(|data| without_client(name, Some(data)));
    scenario_is_the_same_in_two_runs(name, || real().unwrap_or_else(|| over_made_hills(name)));
}

/// A checkpoint before the second reading of the encoders: those of the first half must count in the second one.
#[test]
fn joints_have_the_same_rates_after_a_checkpoint_soon_after_the_start() {
    let (heartbeat, whole) = (SimTime::from_nanos(5_000_000), SimTime::from_nanos(60_000_000));
    let folder = std::env::temp_dir().join(format!("selene-resume-early-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let load = || model(without_client("polar", None));
    let alone = |begin, options: &SimulationOptions| run(&load(), begin, options).1;
    let whole_run = alone(RunStart::Start(None), &lockstep(whole));
    let mut halves = alone(RunStart::Start(None), &saved(heartbeat, &folder));
    let model = load();
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let checkpoint = Checkpoint::load(&file_at(&folder, heartbeat), &own).expect("saved");
    std::fs::remove_dir_all(&folder).expect("clean");
    let second = alone(RunStart::Resume(Box::new(checkpoint)), &lockstep(whole - heartbeat));
    for topic in ["/joint_states", "/tf", "/ground_truth/odom"] {
        halves.entry(topic.to_owned()).or_default().extend(second[topic].iter().cloned());
        assert!(halves[topic] == whole_run[topic] && whole_run[topic].len() == 4, "{topic}");
    }
}

/// Generates a test of each scenario, and the list of their names.
macro_rules! tests_of {
    ($($name:ident)+) => {
        const TESTED: &[&str] = &[$(stringify!($name)),+];

        mod publishes_the_same_in_two_parts {
            $(#[test]
            fn $name() {
                super::shipped_scenario_is_the_same_in_two_runs(stringify!($name));
            })+
        }
    };
}

// In the order of their names.
tests_of! {
    convoy
    curiosity_rocks
    dozer
    ex1
    ex1_loop
    granular
    gravel
    hadley
    instruments
    learning_convoy
    learning_dig
    learning_hill
    learning_pair
    learning_plain
    learning_seen
    night
    pillars
    polar
    rassor_dig
    rassor_views
    sil
    sorato
    sorato_loop
    truck_dust
    two_rovers
    viper_dust
    viper_spotlight
    viper_views
}

#[test]
fn every_shipped_scenario_has_a_test_here() {
    assert_eq!(shipped(), TESTED);
}

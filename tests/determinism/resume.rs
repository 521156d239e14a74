//! A run that is saved and gone on with: every bit of the state and every byte that is published are those of
//! the run in one, for each scenario that is shipped.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_dem::{Compression, Crs, Dem, GeoTransform, MOON_RADIUS_M, write_geotiff};
use selene_observe::Device;
use selene_sim::{Checkpoint, Fingerprint, LoadOptions, Model, Scenario};
use selene_simulation::{Begin, CheckpointOptions, SimulationOptions, file_at};
use selene_terrain::{ElevationSpec, FileSpec};
use selene_tests::witness::{Published, Witness};
use selene_tests::{context, data_dir, model, options, repository_file, scenario, skip_data};

/// Topics that tell of the process and not of the world, or are told to every newcomer.
const OF_THE_RUN: [&str; 6] =
    ["/selene/", "/diagnostics", "/tf_static", "robot_description", "ground_truth/rocks", "/clock"];

/// Half of a run; `SELENE_LONG_RUNS` makes it 10 s, which takes minutes.
fn half() -> SimTime {
    SimTime::from_secs_f64(if std::env::var_os("SELENE_LONG_RUNS").is_some() { 10.0 } else { 0.6 })
}

/// Runs all nodes; the state's hash at the end and all that was published of the world.
fn run(model: &Arc<Model>, begin: Begin, options: &SimulationOptions) -> (u64, Published) {
    let (witness, stop) = (Witness::default(), AtomicBool::new(false));
    let mut context = context(Arc::new(witness.clone()), model);
    if let Begin::Resume(checkpoint) = &begin {
        context.told_until = Some(checkpoint.state.time);
    }
    let hash = std::thread::scope(|scope| {
        scope.spawn(|| selene_camera::run(&context, Device::cpu(), &stop).expect("camera"));
        scope.spawn(|| selene_lidar::run(&context, Device::cpu(), &stop).expect("lidar"));
        scope.spawn(|| selene_navigation::run(&context, &stop).expect("navigation"));
        selene_simulation::run(&context, begin, options, &stop).expect("simulation").state_hash
    });
    let mut published = witness.take();
    published.retain(|topic, _| OF_THE_RUN.iter().all(|name| !topic.contains(name)));
    (hash, published)
}

fn lockstep(duration: SimTime, folder: Option<&Path>) -> SimulationOptions {
    let options = options(duration, &["camera", "lidar", "navigation"]);
    let checkpoints = folder.map(|folder| CheckpointOptions { every: half(), folder: folder.to_owned() });
    SimulationOptions { checkpoints, ..options }
}

fn is_the_same_in_two_runs(name: &str) {
    scenario_is_the_same_in_two_runs(name, scenario(name, None));
}

fn scenario_is_the_same_in_two_runs(name: &str, scenario: Scenario) {
    let folder = std::env::temp_dir().join(format!("selene-resume-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let model = model(scenario);
    let (whole_hash, whole) = run(&model, Begin::Start(None), &lockstep(half() + half(), None));
    let (_, mut halves) = run(&model, Begin::Start(None), &lockstep(half(), Some(&folder)));
    let own = Fingerprint::of(model.scenario(), model.terrain());
    let checkpoint = Checkpoint::load(&file_at(&folder, half()), &own).expect("saved");
    let (hash, second) = run(&model, Begin::Resume(Box::new(checkpoint)), &lockstep(half(), None));
    std::fs::remove_dir_all(&folder).expect("clean");
    assert_eq!(hash, whole_hash, "{name}: another state");
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

#[test]
fn a_run_in_two_parts_tells_what_a_run_in_one_tells_in_every_scenario_without_data() {
    for name in ["polar", "night", "curiosity_rocks", "ex1", "sorato", "sorato_loop", "convoy", "two_rovers"] {
        is_the_same_in_two_runs(name);
    }
}

#[test]
fn so_it_does_where_cameras_fly_along() {
    for name in ["viper_views", "rassor_views", "viper_spotlight"] {
        is_the_same_in_two_runs(name);
    }
}

#[test]
fn so_it_does_with_sensors_that_count_and_integrate() {
    let file = |name: &str| repository_file(&format!("config/sensor/{name}.yaml"));
    let names = ["lunanet", "wheel_encoders", "wheel_odometry", "drive_torques", "battery", "deck"];
    let options = LoadOptions { sensors: names.map(file).to_vec(), ..LoadOptions::default() };
    let polar = repository_file("config/scenario/polar.yaml");
    scenario_is_the_same_in_two_runs("polar_body", Scenario::load(&polar, &options).expect("scenario"));
}

#[test]
fn so_it_does_with_sensors_of_sky_and_loads() {
    let names = ["sun_sensor", "star_tracker", "contact_front_left", "hub_front_left"];
    let sensors = names.map(|name| repository_file(&format!("config/sensor/{name}.yaml"))).into();
    let options = LoadOptions { sensors, ..LoadOptions::default() };
    let scenario = Scenario::load(&repository_file("config/scenario/polar.yaml"), &options).expect("good");
    scenario_is_the_same_in_two_runs("sky-and-loads", scenario);
}

/// Hadley's scenario over hills that are made here, level and as high as the site says at its origin.
fn over_made_hills() -> Scenario {
    let folder = std::env::temp_dir().join(format!("selene-resume-hills-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let mut scenario = scenario("hadley", Some(folder.clone()));
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

#[test]
fn so_it_does_on_measured_ground() {
    let real = data_dir().map(|data| scenario("hadley", Some(data)));
    if real.is_none() {
        skip_data("real ground, made hills instead: SELENE_DATA names no folder with the Hadley terrain model");
    }
    scenario_is_the_same_in_two_runs("hadley", real.unwrap_or_else(over_made_hills));
}

/// Each scenario of the repository is in one of the tests above.
#[test]
fn no_scenario_is_left_out() {
    let names =
        ["convoy", "curiosity_rocks", "ex1", "hadley", "night", "polar", "rassor_views", "sorato", "sorato_loop"];
    // `sil` waits for a client: `closed_loop.rs` and tests/peers drive it.
    let others = ["sil", "two_rovers", "viper_spotlight", "viper_views"];
    let mut expected: Vec<_> = names.into_iter().chain(others).collect();
    expected.sort_unstable();
    let folder = repository_file("config/scenario");
    let files = std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path());
    let mut there: Vec<_> = files.map(|file| file.file_stem().expect("named").to_string_lossy().into_owned()).collect();
    there.sort();
    assert_eq!(there, expected);
}

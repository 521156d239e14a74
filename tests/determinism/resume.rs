//! A run that is saved and gone on with: every bit of the state and every byte that is published are those of
//! the run in one, for each scenario that is shipped: whatever is in their folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_dem::{Compression, Crs, Dem, GeoTransform, MOON_RADIUS_M, write_geotiff};
use selene_observe::Device;
use selene_sim::{Checkpoint, Fingerprint, Model, Scenario};
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

/// The scenarios that are shipped, by name.
fn shipped() -> Vec<String> {
    let files = std::fs::read_dir(repository_file("config/scenario")).expect("folder");
    let files = files.map(|entry| entry.expect("entry").path());
    let mut names: Vec<_> = files.map(|file| file.file_stem().expect("named").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A scenario with nobody to wait for: with a client, `closed_loop.rs` drives those that wait for one.
fn without_client(name: &str, data: Option<PathBuf>) -> Scenario {
    let mut scenario = scenario(name, data);
    scenario.lockstep.clear();
    scenario
}

fn is_measured(name: &str) -> bool {
    matches!(scenario(name, None).site.elevation, ElevationSpec::File(_) | ElevationSpec::Raster(_))
}

/// Every second scenario on made-up ground, from the first or from the second one on.
fn every_second_is_the_same_in_two_runs(from: usize) {
    let on_made_up_ground: Vec<_> = shipped().into_iter().filter(|name| !is_measured(name)).collect();
    assert!(on_made_up_ground.len() > from, "there are scenarios: {on_made_up_ground:?}");
    for name in on_made_up_ground.iter().skip(from).step_by(2) {
        scenario_is_the_same_in_two_runs(name, without_client(name, None));
    }
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

// In two tests, which run at the same time.
#[test]
fn a_run_in_two_parts_tells_what_a_run_in_one_tells_in_every_scenario_without_data() {
    every_second_is_the_same_in_two_runs(0);
}

#[test]
fn so_it_does_in_the_other_half_of_them() {
    every_second_is_the_same_in_two_runs(1);
}

/// A scenario on measured ground over hills that are made here, level and as high as the site says at its origin.
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

#[test]
fn so_it_does_on_measured_ground() {
    let data = data_dir();
    if data.is_none() {
        skip_data("real ground, made hills instead: SELENE_DATA names no folder with elevation files");
    }
    let measured: Vec<_> = shipped().into_iter().filter(|name| is_measured(name)).collect();
    assert!(!measured.is_empty(), "there are scenarios on measured ground");
    for name in measured {
        let real = data.clone().map(|data| without_client(&name, Some(data)));
        scenario_is_the_same_in_two_runs(&name, real.unwrap_or_else(|| over_made_hills(&name)));
    }
}

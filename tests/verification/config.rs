//! Every file in config/ loads, and invalid ones are refused.

/// SPICE kernels that the tests write.
#[path = "../../crates/sky/tests/sky/common/mod.rs"]
mod made_kernels;

use std::mem::discriminant;
use std::path::PathBuf;
use std::sync::Arc;

use selene_base::SimTime;
use selene_base::input::{load_yaml, parse_yaml};
use selene_learn::Course;
use selene_sensors::SensorSpec;
use selene_sim::{LoadOptions, Model, Scenario, ScenarioError};
use selene_sky::{Ephemeris, Kernels, SiteSky};
use selene_soil::SoilSpec;
use selene_terrain::SiteSpec;
use selene_tests::repository_file;
use selene_vehicle::RoverModel;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = repository_file(&format!("config/{folder}"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn every_file_of_config_loads() {
    let reported = |error: &dyn std::fmt::Display| -> ! { panic!("{error}") };
    files("site").iter().for_each(|file| drop(load_yaml::<SiteSpec>(file).unwrap_or_else(|e| reported(&e))));
    files("soil").iter().for_each(|file| drop(load_yaml::<SoilSpec>(file).unwrap_or_else(|e| reported(&e))));
    let sensors = [files("sensor"), files("sensor/lidar")].concat();
    sensors.iter().for_each(|file| drop(SensorSpec::load(file).unwrap_or_else(|e| reported(&e))));
    files("rover").iter().for_each(|file| drop(RoverModel::load(file).unwrap_or_else(|e| reported(&e))));
    let options = LoadOptions::default();
    files("scenario").iter().for_each(|file| drop(Scenario::load(file, &options).unwrap_or_else(|e| reported(&e))));
    files("learning").iter().for_each(|file| drop(Course::load(file, &options).unwrap_or_else(|e| reported(&e))));
}

#[test]
fn the_scenario_of_instruments_has_every_kind_but_cameras_and_lidars() {
    let file = repository_file("config/scenario/instruments.yaml");
    let scenario = Scenario::load(&file, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let carried: Vec<_> = scenario.rovers[0].sensors.iter().map(|sensor| discriminant(&sensor.spec)).collect();
    for file in files("sensor") {
        let spec = SensorSpec::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let is_other = matches!(spec, SensorSpec::Camera(_) | SensorSpec::TofCamera(_) | SensorSpec::Lidar(_));
        assert!(is_other || carried.contains(&discriminant(&spec)), "{}: its kind is missing", file.display());
    }
}

#[test]
fn every_inertia_of_urdf_has_all_six_numbers() {
    let folders = std::fs::read_dir(repository_file("urdf")).expect("folder").map(|entry| entry.expect("entry").path());
    let mut inertias = 0;
    for folder in folders {
        let file = folder.join(folder.file_name().expect("a name")).with_extension("urdf");
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for inertia in text.split("<inertia ").skip(1).filter_map(|rest| rest.split('>').next()) {
            let has = |name: &str| inertia.contains(&format!("{name}=\""));
            let has_all = ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"].iter().all(|name| has(name));
            assert!(has_all, "{}: <inertia {inertia}>", file.display());
            inertias += 1;
        }
    }
    assert!(inertias > 50, "{inertias} inertias were looked at");
}

/// A scenario whose paths are made absolute, so that changed copies load from another folder.
struct Changed {
    folder: PathBuf,
    good: String,
}

impl Changed {
    fn new(scenario: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("selene-{scenario}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let file = repository_file(&format!("config/scenario/{scenario}.yaml"));
        let config = repository_file("config").canonicalize().expect("config");
        let good = std::fs::read_to_string(file).expect("scenario");
        Self { folder, good: good.replace("../", &format!("{}/", config.display())) }
    }

    fn load(&self, from: &str, to: &str) -> Result<Scenario, ScenarioError> {
        self.load_with(None, from, to)
    }

    fn load_with(&self, data_dir: Option<PathBuf>, from: &str, to: &str) -> Result<Scenario, ScenarioError> {
        assert_eq!(self.good.matches(from).count(), 1, "{from}");
        let file = self.folder.join("scenario.yaml");
        std::fs::write(&file, self.good.replace(from, to)).expect("write");
        Scenario::load(&file, &LoadOptions { data_dir, ..LoadOptions::default() })
    }

    fn is_refused(&self, from: &str, to: &str, parts: &[&str]) {
        let error = self.load(from, to).expect_err(to).to_string();
        for part in parts {
            assert!(error.contains(part), "'{part}' is missing in: {error}");
        }
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

#[test]
fn a_scenario_that_names_what_is_not_there_is_reported() {
    let polar = Changed::new("polar");
    polar.is_refused("soil/lunar.yaml", "soil/cheese.yaml", &["line ", "soil: there is no soil", "cheese.yaml"]);
    polar.is_refused("step_s: 0.0005", "step_s: 5", &["step_s", "5", "0.01", "line"]);
    polar.is_refused("heartbeat_s: 0.005", "heartbeat_s: 0.0052", &["heartbeat_s", "0.0052", "whole number"]);
    polar.is_refused("seed: 1 ", "sead: 1 ", &["sead", "line"]);
    polar.is_refused("utc: \"2026-11-21", "utc: \"2026-13-21", &["2026-13-21", "line"]);
    polar.is_refused("namespace: \"\"", "namespace: \"9 lives\"", &["namespace", "9 lives"]);
    polar.is_refused("sensor/imu.yaml", "sensor/gps.yaml", &["gps", "two sensors"]);
    let views = Changed::new("viper_views");
    views.is_refused("sensor/viper_birdseye.yaml", "sensor/viper_wheel.yaml", &["viper_wheel_optical", "already"]);
    views.is_refused("sensor/hazcam.yaml", "sensor/sorato_front.yaml", &["camera_front_optical", "no link"]);
}

/// Loads a scenario of config/ with another rover of config/, as the command line does.
fn with_rover(scenario: &str, rover: &str) -> Result<Scenario, ScenarioError> {
    let options =
        LoadOptions { rover: Some(repository_file(&format!("config/rover/{rover}.yaml"))), ..LoadOptions::default() };
    Scenario::load(&repository_file(&format!("config/scenario/{scenario}.yaml")), &options)
}

#[test]
fn any_rover_can_drive_a_scenario_of_one_rover_with_the_sensors_of_its_own_file() {
    for file in files("rover") {
        let name = file.file_stem().expect("named").to_string_lossy().into_owned();
        let scenario = with_rover("night", &name).unwrap_or_else(|error| panic!("{error}"));
        let rover = &scenario.rovers[0];
        assert_eq!((&rover.name, rover.file.is_file()), (&name, true));
        let own = selene_sim::load_rover(&file).unwrap_or_else(|error| panic!("{error}")).1;
        let names = |sensors: &[selene_sim::MountedSensor]| -> Vec<String> {
            sensors.iter().map(|sensor| sensor.spec.header().name.to_owned()).collect()
        };
        assert_eq!(names(&rover.sensors), names(&own), "{name}");
        assert!(rover.imus().next().is_some() && rover.cameras().next().is_some(), "{name} senses little");
        let model = Model::new(Arc::new(scenario)).unwrap_or_else(|error| panic!("{error}"));
        assert!(model.start(None).is_ok(), "{name} cannot start");
    }
}

#[test]
fn the_rover_that_a_scenario_has_already_keeps_what_it_carries_there() {
    let views = with_rover("viper_views", "viper").expect("loads");
    let names: Vec<_> = views.rovers[0].cameras().map(|camera| camera.spec.name.clone()).collect();
    assert_eq!(names, ["viper_wheel", "viper_birdseye", "hazcam", "aftcam"]);
    let lit = with_rover("night", "viper").expect("loads");
    assert!(lit.rovers[0].model.lamps().iter().all(|lamp| lamp.spec.level == 1.0), "its lamps are on");
    let reported = with_rover("convoy", "viper").expect_err("three rovers").to_string();
    assert!(
        reported.contains("rovers: there are 3") && reported.contains("a rover, start, namespace or sensor"),
        "{reported}"
    );
}

#[test]
fn a_scenario_lights_lamps_that_the_rover_has_within_their_range() {
    let night = Changed::new("night");
    let lit = night.load("name: headlight_left, level: 1", "name: headlight_left, level: 0.25").expect("loads");
    let levels: Vec<_> = lit.rovers[0].model.lamps().iter().map(|lamp| lamp.spec.level).collect();
    assert_eq!(levels, [0.25, 1.0]);
    night.is_refused(
        "name: headlight_left",
        "name: tail_light",
        &["line ", "lamps: 'tail_light'", "headlight_left, headlight_right"],
    );
    night.is_refused("headlight_left, level: 1", "headlight_left, level: 1.5", &["line", "1.5", "0 to 1"]);
}

#[test]
fn loose_rocks_that_cannot_be_are_refused() {
    let rocks = Changed::new("curiosity_rocks");
    let size = "diameter_m: 0.15";
    rocks.is_refused(size, "diameter_m: -0.15", &["line", "-0.15", "0.02 to 10"]);
    rocks.is_refused(size, "diameter_m: 0.15, density_kg_m3: 0", &["line", "0", "100 to 20000"]);
    let far = rocks.load("x_m: -1.0", "x_m: 400").expect("ground has no end");
    assert_eq!(Model::new(far.into()).expect("laid").rocks().len(), 6);
    let backwards = "loose_from_site: {diameter_min_m: 0.4, diameter_max_m: 0.1}\nloose_rocks: ";
    rocks.is_refused("loose_rocks: ", backwards, &["line", "0.1", "diameter_min_m (0.4)"]);
    let scenario = rocks.load(size, "diameter_m: 0.15, shape: 99").expect("loads");
    let error = Model::new(scenario.into()).expect_err("no such shape").to_string();
    assert!(
        error.contains("line ")
            && error.contains("loose_rocks[0]: a rock")
            && error.contains("shape 99")
            && error.contains("0 to 7"),
        "{error}"
    );
}

#[test]
fn a_sky_is_taken_from_kernels_and_a_catalogue_or_refused_with_what_is_missing() {
    let hadley = Changed::new("hadley");
    let refused = |sky: &str, parts: &[&str]| {
        hadley.is_refused("gravity_m_s2", &format!("sky: {sky}\ngravity_m_s2"), parts);
    };
    refused("{kernels: [spice/a.bsp]}", &["line ", "sky.kernels", "spice/a.bsp", "SELENE_DATA"]);
    refused("{stars: no/stars.json}", &["line ", "sky.stars", "no/stars.json", "--data"]);
    refused("{kernel: []}", &["kernel", "line"]);
    let made = made_kernels::KernelFolder::new("scenario");
    let place = r#"{"coordinates": [101.287, -16.716]}"#;
    let sirius = format!(r#"{{"features": [{{"id": 32349, "properties": {{"mag": -1.44}}, "geometry": {place}}}]}}"#);
    std::fs::write(made.folder().join("stars.json"), sirius).expect("written");
    let sky = "sky: {kernels: [frames.tf, bodies.bsp, moon.bpc], stars: stars.json}\ngravity_m_s2";
    let scenario = hadley.load_with(Some(made.folder().to_owned()), "gravity_m_s2", sky).expect("loads");
    assert_eq!((scenario.stars.len(), scenario.stars[0].id), (1, 32349));
    let kernels = Arc::new(Kernels::load(&made.files()).expect("good"));
    let site = SiteSky::new(scenario.site.latitude_deg, scenario.site.longitude_deg).at_height(scenario.site.datum_m);
    let reported = scenario.sun(SimTime::ZERO).expect("covered");
    assert_eq!(reported, site.clone().with(Ephemeris::Kernels(kernels)).sun(scenario.utc).expect("covered"));
    // The made-up kernels place the bodies elsewhere than the analytic series do.
    assert!(reported.unit_enu.angle(&site.sun(scenario.utc).expect("series").unit_enu) > 0.1);
}

#[test]
fn a_value_deep_in_a_site_is_reported_with_its_own_line() {
    for (site, from, to) in [
        ("polar", "at_m: [0, 0], height_m: 160", "at_m: [0, 0], height_m: 99999"),
        ("hadley", "relief_m: 49", "relief_m: -49"),
        ("polar", "from_m: [2300, 500]", "from_m: [1e300, 500]"),
        ("polar", "to_m: [500, -1900]", "to_m: [500, .inf]"),
        ("polar", "radius_m: 1500", "radius_m: 1e300"),
        ("polar", "width_m: 420", "width_m: 0"),
        ("polar", "at_m: [1650, -350]", "at_m: [-1e300, -350]"),
        // Without a lower or an upper size limit, generating craters or rocks would never end.
        ("polar", "diameter_min_m: 0.3", "diameter_min_m: 0"),
        ("polar", "diameter_max_m: 500", "diameter_max_m: .inf"),
        ("polar", "diameter_min_m: 0.08", "diameter_min_m: 0"),
        ("polar", "diameter_max_m: 5\n", "diameter_max_m: .inf\n"),
        ("polar", "clear_radius_m: 2", "clear_radius_m: 1e300"),
    ] {
        let file = repository_file(&format!("config/site/{site}.yaml"));
        let good = std::fs::read_to_string(&file).expect("site");
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let line = 1 + good[..good.find(from).expect("found")].matches('\n').count();
        let error = parse_yaml::<SiteSpec>(&good.replace(from, to), &file).expect_err(to).to_string();
        assert!(error.contains(&format!("line {line} ")), "{error}");
    }
}

#[test]
fn a_site_with_rocks_which_it_does_not_show_is_refused() {
    let file = repository_file("config/site/polar.yaml");
    let good = std::fs::read_to_string(&file).expect("site");
    let laws = "law: { preset: viper }\n  around_craters:\n    law: { preset: haworth }";
    let sparse = "law: { power: { density_1m_m2: 1.0e-12, slope: 1.75 } }";
    let sparse = format!("{sparse}\n  around_craters:\n    {sparse}");
    let tiny = |text: &str| text.replace("diameter_min_m: 0.08", "diameter_min_m: 0.02");
    for (text, parts) in [
        (good.replace("count_max: 2500", "count_max: 1000"), ["count_max 1000", "diameter_min_m (0.08)"]),
        (good.replace("diameter_min_m: 0.08", "diameter_min_m: 0.06"), ["below 0.082 m", "diameter_min_m (0.06)"]),
        // Few rocks, but kilometres of half-metre cells, each of which might have one.
        (tiny(&good.replace(laws, &sparse)), ["cells would be drawn", "raise diameter_min_m"]),
    ] {
        assert_ne!(text, good, "the test changes the site");
        let error = parse_yaml::<SiteSpec>(&text, &file).expect_err(parts[0]).to_string();
        for part in parts.iter().chain(&["polar.yaml", "line", "rocks"]) {
            assert!(error.contains(part), "'{part}' is missing in: {error}");
        }
    }
    // With a count of zero, no rocks are generated or shown.
    parse_yaml::<SiteSpec>(&good.replace("count_max: 2500", "count_max: 0"), &file).expect("no rocks");
}

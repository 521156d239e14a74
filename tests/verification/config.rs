//! Every file in config/ loads.

use std::path::PathBuf;

use selene_base::input::{load_yaml, parse_yaml};
use selene_sensors::SensorSpec;
use selene_sim::{LoadOptions, Scenario};
use selene_soil::SoilSpec;
use selene_terrain::SiteSpec;
use selene_tests::repository_file;
use selene_vehicle::RoverModel;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = repository_file(&format!("config/{folder}"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn every_file_of_config_loads() {
    let told = |error: &dyn std::fmt::Display| -> ! { panic!("{error}") };
    files("site").iter().for_each(|file| drop(load_yaml::<SiteSpec>(file).unwrap_or_else(|e| told(&e))));
    files("soil").iter().for_each(|file| drop(load_yaml::<SoilSpec>(file).unwrap_or_else(|e| told(&e))));
    files("sensor").iter().for_each(|file| drop(SensorSpec::load(file).unwrap_or_else(|e| told(&e))));
    files("rover").iter().for_each(|file| drop(RoverModel::load(file).unwrap_or_else(|e| told(&e))));
    let options = LoadOptions::default();
    files("scenario").iter().for_each(|file| drop(Scenario::load(file, &options).unwrap_or_else(|e| told(&e))));
}

#[test]
fn a_scenario_that_names_what_is_not_there_is_told() {
    let folder = std::env::temp_dir().join(format!("selene-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let good = std::fs::read_to_string(repository_file("config/scenario/polar.yaml")).expect("scenario");
    let config = repository_file("config").canonicalize().expect("config");
    let good = good.replace("../", &format!("{}/", config.display()));
    for (from, to, parts) in [
        ("soil/lunar.yaml", "soil/cheese.yaml", vec!["cheese.yaml", "cannot be read"]),
        ("step_s: 0.0005", "step_s: 5", vec!["step_s", "5", "0.01", "line"]),
        ("heartbeat_s: 0.005", "heartbeat_s: 0.0052", vec!["heartbeat_s", "0.0052", "whole number"]),
        ("seed: 1 ", "sead: 1 ", vec!["sead", "line"]),
        ("utc: \"2026-11-21", "utc: \"2026-13-21", vec!["2026-13-21", "line"]),
        ("namespace: \"\"", "namespace: \"9 lives\"", vec!["namespace", "9 lives"]),
        ("sensor/imu.yaml", "sensor/gps.yaml", vec!["gps", "two sensors"]),
    ] {
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let file = folder.join("scenario.yaml");
        std::fs::write(&file, good.replace(from, to)).expect("write");
        let error = Scenario::load(&file, &LoadOptions::default()).expect_err(to).to_string();
        for part in parts {
            assert!(error.contains(part), "'{part}' is missing in: {error}");
        }
    }
    std::fs::remove_dir_all(&folder).expect("clean");
}

#[test]
fn loose_rocks_that_cannot_be_are_refused() {
    let folder = std::env::temp_dir().join(format!("selene-loose-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let good = std::fs::read_to_string(repository_file("config/scenario/curiosity_rocks.yaml")).expect("scenario");
    let config = repository_file("config").canonicalize().expect("config");
    let good = good.replace("../", &format!("{}/", config.display()));
    for (from, to, parts) in [
        ("diameter_m: 0.15", "diameter_m: -0.15", ["line", "-0.15", "0.02 to 10"]),
        ("diameter_m: 0.15", "diameter_m: 0.15, density_kg_m3: 0", ["line", "0", "100 to 20000"]),
        ("x_m: -1.0", "x_m: 400", ["loose rock", "400", "detailed ground"]),
        (
            "loose_rocks: ",
            "loose_from_site: {diameter_min_m: 0.4, diameter_max_m: 0.1}\nloose_rocks: ",
            ["line", "0.1", "diameter_min_m (0.4)"],
        ),
    ] {
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let file = folder.join("scenario.yaml");
        std::fs::write(&file, good.replace(from, to)).expect("write");
        let error = Scenario::load(&file, &LoadOptions::default()).expect_err(to).to_string();
        for part in parts {
            assert!(error.contains(part), "'{part}' is missing in: {error}");
        }
    }
    let file = folder.join("shape.yaml");
    std::fs::write(&file, good.replace("diameter_m: 0.15", "diameter_m: 0.15, shape: 99")).expect("write");
    let scenario = Scenario::load(&file, &LoadOptions::default()).expect("loads");
    let error = scenario.generate_ground().expect_err("no such shape").to_string();
    assert!(error.contains("shape 99") && error.contains("0 to 7"), "{error}");
    std::fs::remove_dir_all(&folder).expect("clean");
}

#[test]
fn a_value_deep_in_a_site_is_told_with_its_own_line() {
    for (site, from, to) in [
        ("polar", "at_m: [0, 0], height_m: 160", "at_m: [0, 0], height_m: 99999"),
        ("hadley", "relief_m: 49", "relief_m: -49"),
    ] {
        let file = repository_file(&format!("config/site/{site}.yaml"));
        let good = std::fs::read_to_string(&file).expect("site");
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let line = 1 + good[..good.find(from).expect("found")].matches('\n').count();
        let error = parse_yaml::<SiteSpec>(&good.replace(from, to), &file).expect_err(to).to_string();
        assert!(error.contains(&format!("line {line} ")), "{error}");
    }
}

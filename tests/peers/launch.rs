//! The launch file, run by Python with stand-ins for ROS 2's `launch`: what `robot:=` refuses is what the scenario lacks.

use std::path::Path;
use std::process::Command;

use selene_sim::{LoadOptions, Scenario};
use selene_tests::{repository_file, skip_peer};
use serde_json::Value;

use crate::program::{folder, succeeded, text};

/// What the launch file makes of these arguments; none (said) where there is no Python.
fn launched(world: &Path, robot: &str) -> Option<Value> {
    let python = std::env::var_os("SELENE_PEERS_PYTHON").unwrap_or_else(|| "python3".into());
    let [script, file] = ["tests/peers/launch.py", "launch/viper.launch.py"].map(repository_file);
    let mut command = Command::new(python);
    command.args([script, file]).arg(format!("world:={}", text(world))).arg(format!("robot:={robot}"));
    // Nothing is started: any program will do.
    command.arg(format!("executable:={}", text(&std::env::current_exe().expect("this test"))));
    let Ok(output) = command.output() else {
        skip_peer("no python3");
        return None;
    };
    Some(serde_json::from_str(&succeeded("launch.py", &output)).expect("JSON"))
}

fn files(of: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(repository_file(of)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn stem(file: &Path) -> String {
    file.file_stem().expect("named").to_string_lossy().into_owned()
}

#[test]
fn a_robot_is_taken_just_where_the_scenario_has_it() {
    let robots: Vec<_> = files("config/rover").iter().map(|file| stem(file)).collect();
    for file in files("config/scenario") {
        let scenario = Scenario::load(&file, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let has = |robot: &str| scenario.rovers.iter().any(|rover| rover.model.spec().name == robot);
        for robot in &robots {
            let Some(made) = launched(&file, robot) else { return };
            if has(robot) {
                assert_eq!(made["started"].as_array().map(Vec::len), Some(4), "{robot} in {}: {made}", file.display());
                continue;
            }
            let told = made["refused"].as_str().unwrap_or_else(|| panic!("{robot} in {}: {made}", file.display()));
            assert!(told.contains(&format!("has no {robot}; it has ")), "{told}");
            assert!(robots.iter().filter(|robot| has(robot)).all(|robot| told.contains(&robot[..])), "{told}");
        }
    }
}

#[test]
fn a_rover_is_found_in_a_scenario_however_its_yaml_is_set() {
    let out = folder("launch");
    let file = out.join("scenario.yaml");
    for (yaml, robot, is_there) in [
        ("rover: {file: ../rover/viper.yaml, x_m: 0}", "viper", true),
        ("rovers: [{name: a, file: \"/my/rover/my-own.yaml\"}]", "my-own", true),
        ("rovers:\n  - name: a\n    file: '../rover/ex1.yaml'   # not ../rover/viper.yaml", "ex1", true),
        ("rovers:\n  - name: a\n    file: ../rover/ex1.yaml     # file: ../rover/viper.yaml", "viper", false),
        ("soil: ../soil/viper.yaml\nobjects: [{file: ../../urdf/viper.yaml}]", "viper", false),
    ] {
        std::fs::write(&file, yaml).expect("written");
        let Some(made) = launched(&file, robot) else { return };
        assert_eq!(made["started"].is_array(), is_there, "{robot} in {yaml}: {made}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}

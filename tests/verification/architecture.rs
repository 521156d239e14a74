//! Checks the dependency rules of ARCHITECTURE.md: dependencies point down only, one crate depends on ROS, one on wgpu,
//! and libraries read neither the wall clock nor a global random source. It reads `cargo metadata` and the sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use selene_tests::root;

/// Each library and the libraries that it may depend on.
const ARROWS: [(&str, &[&str]); 15] = [
    ("base", &[]),
    ("dem", &["base"]),
    ("sky", &["base"]),
    ("terrain", &["base", "dem"]),
    ("soil", &["base", "terrain", "crm", "spheres"]),
    ("crm", &["base"]),
    ("spheres", &["base", "crm"]),
    ("vehicle", &["base", "terrain"]),
    ("scene", &["base", "terrain"]),
    ("gpu", &["base", "crm", "spheres", "scene"]),
    ("sensors", &["base", "dem", "sky", "scene"]),
    ("sim", &["base", "sky", "terrain", "crm", "soil", "vehicle", "sensors"]),
    ("observe", &["base", "dem", "sky", "terrain", "vehicle", "scene", "sensors", "sim"]),
    ("learn", &["base", "terrain", "soil", "vehicle", "sensors", "sim", "observe"]),
    ("ros", &["base"]),
];
/// Packages that only the command line and tests may depend on: they serve work that is started by hand.
const TOOLS: [&str; 6] =
    ["selene-pictures", "selene-validation", "selene-studies", "selene-bench", "selene-conformance", "selene-campaign"];
/// Crates that only `ros` may depend on.
const ROS_CRATES: [&str; 5] = ["ros2-client", "rustdds", "r2r", "cdr-encoding", "mcap"];
/// Calls that make the result of a library depend on when or where it runs.
const UNREPEATABLE: [&str; 6] =
    ["Instant::now", "SystemTime", "Timestamp::now", "rand::rng()", "thread_rng", "from_os_rng"];
/// Transport adapters communicate with other processes: they may wait, use DDS's time stamps, and delay messages for
/// tests. `dropped` limits lines of the log to one a second.
const MAY_WAIT: [&str; 5] = [
    "crates/ros/src/dds",
    "crates/ros/src/r2r",
    "crates/ros/src/bag",
    "crates/ros/src/impaired",
    "crates/ros/src/dropped.rs",
];

struct Package {
    name: String,
    folder: PathBuf,
    /// Dependencies of the library itself, without those of tests and build scripts.
    dependencies: Vec<String>,
}

fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = metadata["packages"].as_array().expect("packages");
    list.iter().map(package).map(|package| (package.name.clone(), package)).collect()
}

fn package(value: &serde_json::Value) -> Package {
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let dependencies = value["dependencies"].as_array().expect("dependencies");
    Package {
        name: text(&value["name"]),
        folder: Path::new(&text(&value["manifest_path"])).parent().expect("folder").to_owned(),
        dependencies: dependencies.iter().filter(|d| d["kind"].is_null()).map(|d| text(&d["name"])).collect(),
    }
}

fn is_library(package: &Package) -> bool {
    package.folder.parent().and_then(Path::file_name).is_some_and(|folder| folder == "crates")
}

#[test]
fn arrows_point_down_only() {
    let packages = packages();
    let libraries: Vec<_> = packages.values().filter(|package| is_library(package)).collect();
    assert_eq!(libraries.len(), ARROWS.len(), "a library was added or removed: say so in ARROWS");
    for (library, allowed) in ARROWS {
        let package = &packages[&format!("selene-{library}")];
        for dependency in package.dependencies.iter().filter_map(|name| name.strip_prefix("selene-")) {
            assert!(allowed.contains(&dependency), "selene-{library} must not name selene-{dependency}");
        }
    }
}

#[test]
fn nodes_do_not_name_one_another() {
    let packages = packages();
    let sensing = ["selene-camera", "selene-lidar", "selene-navigation", "selene-simulation"];
    for node in sensing {
        for dependency in &packages[node].dependencies {
            assert!(!sensing.contains(&dependency.as_str()), "{node} must not name {dependency}");
        }
    }
}

/// Nodes of sensors turn values into messages: what rays, soil or vehicles do is behind `observe`.
#[test]
fn nodes_of_sensors_only_convert_and_publish() {
    let packages = packages();
    let shared = ["base", "sensors", "sim", "observe", "ros", "coherence"];
    // `scene` has the types of an image's rays that `camera` publishes.
    for (node, more) in [("selene-camera", &["scene"][..]), ("selene-lidar", &[]), ("selene-navigation", &[])] {
        let dependencies = &packages[node].dependencies;
        for dependency in dependencies.iter().filter_map(|name| name.strip_prefix("selene-")) {
            let may = shared.contains(&dependency) || more.contains(&dependency);
            assert!(may, "{node} must not name selene-{dependency}");
        }
    }
}

/// Pictures and golden images come from plain values, not from messages.
#[test]
fn pictures_without_ros_name_no_ros() {
    let golden = sources(&root().join("tests/golden"));
    let render = root().join("nodes/selene/src/commands/render.rs");
    assert!(golden.len() > 2, "the golden tests are somewhere else");
    for file in golden.into_iter().chain([render]) {
        let text = std::fs::read_to_string(&file).expect("source");
        assert!(!text.contains("selene_ros"), "{} names ROS", file.display());
    }
}

/// Whether a source calls the step of a wheel on soil, by its path or by its imported name.
fn presses_soil(text: &str) -> bool {
    let imported = text.split("use selene_soil::{").skip(1).filter_map(|rest| rest.split('}').next());
    let is_step = |item: &str| item.trim() == "step";
    text.contains("selene_soil::step") || imported.flat_map(|items| items.split(',')).any(is_step)
}

/// Rovers press soil in one place, in a world, on a rig and in tests. The soil's own tests press single wheels.
#[test]
fn rovers_press_soil_in_one_place() {
    let folders = ["crates/sim", "crates/vehicle", "crates/learn", "crates/observe", "nodes", "tools", "python"];
    let all = folders.iter().flat_map(|folder| sources(&root().join(folder)));
    let callers: Vec<_> = all.filter(|file| presses_soil(&std::fs::read_to_string(file).expect("source"))).collect();
    assert_eq!(callers, [root().join("crates/sim/src/wheels.rs")]);
    assert!(presses_soil("use selene_soil::{\n    WheelShape, step,\n};") && !presses_soil("use selene_soil::Law;"));
}

#[test]
fn no_library_and_no_node_names_a_tool_and_no_test_names_the_command_line() {
    let packages = packages();
    for package in packages.values() {
        let is_tool = TOOLS.contains(&package.name.as_str());
        let may = is_tool || ["selene", "selene-tests"].contains(&package.name.as_str());
        let named = package.dependencies.iter().find(|name| TOOLS.contains(&name.as_str()));
        assert!(may || named.is_none(), "{} must not name {named:?}", package.name);
        assert!(package.dependencies.iter().all(|name| name != "selene"), "{} names the command line", package.name);
    }
}

/// The console uses topics and services only, so that it can run inside a simulation's process or beside one.
#[test]
fn the_console_knows_nothing_of_the_simulation() {
    let packages = packages();
    let mut ours = packages["selene-console"].dependencies.iter().filter(|name| name.starts_with("selene"));
    let other = ours.find(|name| !["selene-base", "selene-ros"].contains(&name.as_str()));
    assert_eq!(other, None, "selene-console names more than messages");
    let users = packages.values().filter(|package| package.dependencies.iter().any(|name| name == "selene-console"));
    assert_eq!(users.map(|package| package.name.as_str()).collect::<Vec<_>>(), ["selene"]);
}

/// The tool that checks a live Selene from outside must not share the simulation's code.
#[test]
fn the_conformance_test_knows_nothing_of_the_simulation() {
    let packages = packages();
    let mut ours = packages["selene-conformance"].dependencies.iter().filter(|name| name.starts_with("selene"));
    let other = ours.find(|name| !["selene-base", "selene-ros"].contains(&name.as_str()));
    assert_eq!(other, None, "selene-conformance names more than messages");
}

#[test]
fn only_ros_names_ros_and_only_gpu_names_wgpu() {
    for package in packages().values() {
        for dependency in &package.dependencies {
            let is_ros = ROS_CRATES.contains(&dependency.as_str());
            assert!(!is_ros || package.name == "selene-ros", "{} must not name {dependency}", package.name);
            assert!(dependency != "wgpu" || package.name == "selene-gpu", "{} must not name wgpu", package.name);
        }
    }
}

/// The Python module depends on the simulation itself, not on messages or nodes, and no other package on Python.
#[test]
fn only_the_python_module_names_python_and_it_names_no_ros() {
    for package in packages().values() {
        for dependency in &package.dependencies {
            let is_python = ["pyo3", "numpy"].contains(&dependency.as_str());
            assert!(!is_python || package.name == "selene-python", "{} must not name {dependency}", package.name);
        }
    }
    let python = &packages()["selene-python"];
    let libraries = ["base", "learn", "observe", "sensors", "sim", "vehicle"];
    for dependency in python.dependencies.iter().filter_map(|name| name.strip_prefix("selene-")) {
        assert!(libraries.contains(&dependency), "selene-python must not name selene-{dependency}");
    }
}

#[test]
fn libraries_read_neither_the_wall_clock_nor_global_chance() {
    for package in packages().values().filter(|package| is_library(package)) {
        for file in sources(&package.folder.join("src")) {
            let exempt = MAY_WAIT.iter().any(|prefix| file.to_string_lossy().contains(prefix));
            let text = std::fs::read_to_string(&file).expect("source");
            let named = UNREPEATABLE.iter().find(|call| text.contains(**call));
            assert!(exempt || named.is_none(), "{} names {}", file.display(), named.unwrap_or(&""));
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        match path.is_dir() {
            true => files.extend(sources(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
            false => {}
        }
    }
    files
}

//! `colcon build` on a machine with ament_cmake (Debian has both): the files that it installs, and a run from there.

use std::path::{Path, PathBuf};
use std::process::Command;

use selene_tests::{repository_file, skip_peer};

use crate::program::{alone, folder, selene, succeeded, text};

/// Folders of the repository that must be installed.
const SHARED: [&str; 3] = ["config", "launch", "urdf"];

/// `colcon build` of the package selene into a workspace, with the program built for the tests.
fn build(workspace: &Path) -> Option<Command> {
    if cfg!(debug_assertions) || Command::new("colcon").arg("--help").output().is_err() {
        skip_peer("colcon and ament-cmake are not here, or the tests are not built by --release");
        return None;
    }
    let program = PathBuf::from(selene().get_program());
    let target = program.ancestors().nth(2).expect("target/release/selene");
    let mut command = Command::new("colcon");
    // Debian's ament packages belong to Debian's own Python.
    let path = std::env::var("PATH").unwrap_or_default();
    command.current_dir(workspace).env("PATH", format!("/usr/bin:{path}")).env_remove("AMENT_PREFIX_PATH");
    // Without msgs: Debian lacks some of ROS 2's generators.
    command.args(["build", "--base-paths"]).arg(repository_file("nodes/selene").canonicalize().expect("a folder"));
    command.args(["--event-handlers", "console_direct+", "--cmake-args"]);
    command.arg(format!("-DSELENE_TARGET_DIR={}", text(target))).arg(format!("-DCARGO={}", env!("CARGO")));
    Some(command)
}

/// All files below a folder, as relative paths, except those that Python generates.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if !path.is_dir() {
                found.push(path.strip_prefix(folder).expect("below").to_owned());
            } else if !path.ends_with("__pycache__") {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn colcon_installs_the_program_with_all_that_it_reads_and_it_is_launched_from_there() {
    let _turn = alone();
    let workspace = folder("colcon");
    let Some(mut command) = build(&workspace) else { return };
    succeeded("colcon build", &command.arg("-DSELENE_MIDDLEWARE=dds").output().expect("colcon"));
    let prefix = workspace.join("install/selene");
    for shared in SHARED {
        let (here, there) = (repository_file(shared), prefix.join("share/selene").join(shared));
        assert_eq!(files(&there), files(&here), "{shared}");
    }
    let python = std::env::var_os("SELENE_PEERS_PYTHON").unwrap_or_else(|| "python3".into());
    let mut launch = Command::new(python);
    launch.arg(repository_file("tests/peers/run_launch.py").canonicalize().expect("a script"));
    launch.arg(prefix.join("share/selene/launch/viper.launch.py")).current_dir(&workspace);
    launch.args(["processes:=one", "duration:=0.5", "pace:=fast", "device:=cpu", "robot:=ex1", "domain_id:=97"]);
    // The installed copy must not reach the repository by its own path.
    launch.env("PATH", "/usr/bin:/bin").env("ROS_LOG_DIR", workspace.join("log")).env_remove("SELENE_DATA");
    let printed = succeeded("the installed launch file", &launch.output().expect("python"));
    assert!(
        printed.contains("scenario          ex1, seed 1") && printed.contains("the requested time is over"),
        "{printed}"
    );
    std::fs::remove_dir_all(workspace).expect("clean");
}

#[test]
fn a_build_for_ros_2s_middleware_says_which_message_packages_are_not_there() {
    let workspace = folder("colcon-r2r");
    let Some(mut command) = build(&workspace) else { return };
    let output = command.output().expect("colcon");
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(!output.status.success(), "{printed}");
    for part in ["selene_msgs", "grid_map_msgs", "rosdep install", "-DSELENE_MIDDLEWARE=dds"] {
        assert!(printed.contains(part), "{part:?} is missing in: {printed}");
    }
    std::fs::remove_dir_all(workspace).expect("clean");
}

//! A node of a real ROS 2 (Jazzy, rclpy on Fast DDS, its default) hears everything and drives.

use std::process::Command;

use selene_tests::{repository_file, skip_peer};

use crate::program::{Running, alone, folder, selene, succeeded, text};

const DOMAIN: &str = "92";

/// A script run by the ROS 2 that is here; none (said) where there is none.
fn ros2(script: &str) -> Option<Command> {
    let Some(python) = std::env::var_os("SELENE_ROS2_PYTHON") else {
        skip_peer("SELENE_ROS2_PYTHON names no Python with rclpy; tests/run.sh does");
        return None;
    };
    let mut command = Command::new(python);
    command.arg(repository_file(&format!("tests/peers/{script}")));
    Some(command)
}

#[test]
fn a_real_ros_2_node_hears_everything_and_drives() {
    let _turn = alone();
    let Some(mut node) = ros2("ros2_node.py") else { return };
    let out = folder("ros2");
    let run = ["run", "--for", "120", "--pace", "real-time", "--device", "cpu", "--out", &text(&out)];
    let child = selene().args(run).env("ROS_DOMAIN_ID", DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let heard = node.env("ROS_DOMAIN_ID", DOMAIN).output().expect("python");
    let complained = String::from_utf8_lossy(&heard.stderr).into_owned();
    println!("{}", succeeded("ros2_node.py", &heard));
    assert!(!complained.contains("type hash"), "{complained}");
    std::fs::remove_dir_all(out).expect("clean");
}

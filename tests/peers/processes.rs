//! The nodes as separate processes over DDS: in lockstep they leave the state that one
//! process leaves, and a sensor that was killed and started again sees the ruts.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::program::{Running, alone, folder, selene, succeeded};

const SCENARIO: &str = "config/scenario/polar.yaml";
const SIMULATED_S: &str = "2";

fn node(name: &str, domain: &str) -> Command {
    let mut command = selene();
    command.args([name, "--scenario", SCENARIO]).env("ROS_DOMAIN_ID", domain);
    if matches!(name, "camera" | "lidar") {
        command.args(["--device", "cpu"]);
    }
    command
}

fn hash_in(said: &str) -> &str {
    let hash = said.split_whitespace().find(|word| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit()));
    hash.unwrap_or_else(|| panic!("no state hash in: {said}"))
}

#[test]
fn several_processes_in_lockstep_leave_the_same_state_as_one() {
    let _turn = alone();
    let domain = "88";
    let alone = selene().args(["hash", SCENARIO, "--for", SIMULATED_S, "--threads", "2"]).output().expect("hash");
    let alone = succeeded("selene hash", &alone);
    let _sensors: Vec<_> =
        ["camera", "lidar", "navigation"].map(|name| Running(node(name, domain).spawn().expect(name))).into();
    let lockstep = ["--pace", "fast", "--for", SIMULATED_S, "--participants", "camera,lidar,navigation"];
    let together = node("simulation", domain).args(lockstep).output().expect("simulation");
    let together = succeeded("selene simulation", &together);
    assert_eq!(hash_in(&together), hash_in(&alone));
}

#[test]
fn a_camera_killed_and_started_again_gets_the_ruts_it_missed_and_the_run_goes_on() {
    let _turn = alone();
    let domain = "89";
    let out = folder("again");
    let mut first = Running(node("camera", domain).spawn().expect("camera"));
    let lockstep = ["--pace", "real-time", "--for", "8", "--participants", "camera"];
    let simulation = node("simulation", domain).args(lockstep).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut simulation = Running(simulation.expect("simulation"));
    // In real time: ruts have been made by then, and most of the run is still to come.
    std::thread::sleep(Duration::from_secs(3));
    first.0.kill().expect("kill");
    first.0.wait().expect("dead");
    assert!(simulation.0.try_wait().expect("state").is_none(), "the run ended before the camera was killed");
    let log = std::fs::File::create(out.join("camera.log")).expect("log");
    let second =
        node("camera", domain).env("RUST_LOG", "info").stdout(log.try_clone().expect("log")).stderr(log).spawn();
    let mut second = Running(second.expect("camera"));
    let status = simulation.0.wait().expect("simulation");
    assert!(status.success(), "simulation: {status}");
    assert!(second.0.wait().expect("camera").success());
    let log = std::fs::read_to_string(out.join("camera.log")).expect("log");
    assert!(log.contains("asks for the terrain it missed"), "{log}");
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn processes_that_were_not_given_the_ruts_of_an_earlier_run_ask_for_them_and_leave_the_same_state() {
    let _turn = alone();
    let domain = "90";
    let out = folder("ruts");
    let ruts = out.join("day1.ruts");
    let mut before = selene();
    before.args([
        "run",
        SCENARIO,
        "--no-dds",
        "--device",
        "cpu",
        "--pace",
        "fast",
        "--for",
        SIMULATED_S,
        "--x",
        "-1.5",
    ]);
    succeeded("selene run", &before.arg("--out").arg(&out).arg("--save-ruts").arg(&ruts).output().expect("run"));
    let alone = selene().args(["hash", SCENARIO, "--for", "1", "--ruts"]).arg(&ruts).output().expect("hash");
    let alone = succeeded("selene hash", &alone);
    let plain = selene().args(["hash", SCENARIO, "--for", "1"]).output().expect("hash");
    assert_ne!(succeeded("selene hash", &plain), alone, "the ruts are part of the state");
    let log = std::fs::File::create(out.join("camera.log")).expect("log");
    let mut camera = node("camera", domain);
    camera.env("RUST_LOG", "info").stdout(log.try_clone().expect("log")).stderr(log);
    let mut camera = Running(camera.spawn().expect("camera"));
    let lockstep = ["--pace", "fast", "--for", "1", "--participants", "camera", "--ruts"];
    let together = node("simulation", domain).args(lockstep).arg(&ruts).output().expect("simulation");
    let together = succeeded("selene simulation", &together);
    assert_eq!(hash_in(&together), hash_in(&alone));
    assert!(camera.0.wait().expect("camera").success());
    let log = std::fs::read_to_string(out.join("camera.log")).expect("log");
    assert!(log.contains("asks for the terrain it missed"), "{log}");
    std::fs::remove_dir_all(out).expect("clean");
}

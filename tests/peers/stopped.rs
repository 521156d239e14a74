//! A simulation that is stopped for a while (Ctrl-Z, a debugger) and continued goes on, and so do its subscribers and
//! the nodes that it waits for.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::logged::{Logged, check, peer_succeeds};
use crate::processes::hash_in;
use crate::program::{alone, folder, peer, selene, succeeded};

/// A domain that no other program on the machine is likely to use.
const DOMAIN: &str = "85";
const LOCKSTEP_DOMAIN: &str = "67";
const SCENARIO: &str = "config/scenario/polar.yaml";
const SIMULATED_S: &str = "8";
const STOPPED: Duration = Duration::from_secs(2);
/// Longer than all waits of `stopped.py`.
const RECEIVES_WITHIN: Duration = Duration::from_secs(90);
const ENDS_WITHIN: Duration = Duration::from_secs(150);

/// Stops the processes for `STOPPED`, then continues them.
fn stop(processes: &[&Logged]) {
    for signal in ["STOP", "CONT"] {
        let ids = processes.iter().map(|process| process.id().to_string());
        let kill = Command::new("sh").args(["-c", "kill -s \"$0\" \"$@\"", signal]).args(ids).status();
        assert!(kill.expect("sh").success(), "SIG{signal}");
        if signal == "STOP" {
            thread::sleep(STOPPED);
        }
    }
}

#[test]
fn a_simulation_and_its_subscriber_go_on_after_they_were_stopped_and_answer_who_is_new() {
    let _turn = alone();
    let folder = folder("stopped");
    let (Some(mut listener), Some(mut newcomer)) = (peer("stopped.py"), peer("stopped.py")) else { return };
    let mut simulation = selene();
    simulation.args(["simulation", "--for", "1000", "--pace", "real-time"]).env("ROS_DOMAIN_ID", DOMAIN);
    let mut simulation = Logged::start("simulation", &folder, &mut simulation);
    let mut listener = Logged::start("listener", &folder, listener.args(["listen", DOMAIN, "2"]));
    let hears = listener.prints_within("receives", 0, RECEIVES_WITHIN).is_some();
    check(hears, "nothing is received", &[&listener, &simulation]);
    stop(&[&simulation]);
    let hears = listener.prints_within("receives again", 0, RECEIVES_WITHIN).is_some();
    check(hears, "nothing is received after the simulation was stopped", &[&listener, &simulation]);
    stop(&[&simulation, &listener]);
    peer_succeeds(&mut listener, ENDS_WITHIN, &mut simulation);
    let mut newcomer = Logged::start("newcomer", &folder, newcomer.args(["join", DOMAIN]));
    peer_succeeds(&mut newcomer, ENDS_WITHIN, &mut simulation);
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn simulated_time_waits_for_a_camera_that_was_stopped_and_the_run_ends_complete() {
    let _turn = alone();
    let folder = folder("stopped-camera");
    let Some(mut listener) = peer("stopped.py") else { return };
    let (mut camera, mut simulation) = (selene(), selene());
    camera.args(["camera", "--scenario", SCENARIO, "--device", "cpu"]).env("ROS_DOMAIN_ID", LOCKSTEP_DOMAIN);
    let lockstep = ["--pace", "real-time", "--for", SIMULATED_S, "--participants", "camera"];
    simulation.args(["simulation", "--scenario", SCENARIO]).args(lockstep).env("ROS_DOMAIN_ID", LOCKSTEP_DOMAIN);
    let mut listener = Logged::start("listener", &folder, listener.args(["listen", LOCKSTEP_DOMAIN, "1"]));
    let mut camera = Logged::start("camera", &folder, &mut camera);
    let mut simulation = Logged::start("simulation", &folder, &mut simulation);
    let hears = listener.prints_within("receives", 0, RECEIVES_WITHIN).is_some();
    check(hears, "nothing is received", &[&listener, &camera, &simulation]);
    stop(&[&camera]);
    // The listener sees that the clock stops with the camera, and goes on with it.
    for program in [&mut listener, &mut simulation, &mut camera] {
        let ended = program.ends_within(ENDS_WITHIN);
        check(ended.is_some_and(|status| status.success()), "it does not end well", &[&*program]);
    }
    let undisturbed = selene().args(["hash", SCENARIO, "--for", SIMULATED_S]).output().expect("hash");
    assert_eq!(hash_in(&simulation.printed()), hash_in(&succeeded("selene hash", &undisturbed)));
    std::fs::remove_dir_all(folder).expect("clean");
}

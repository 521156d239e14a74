//! A Cyclone DDS participant hears every topic with the right type and QoS, and drives.

use crate::program::{Running, alone, folder, peer, selene, succeeded, text};

/// Domains that nobody else on the machine is likely to use; one a test.
const DOMAIN: &str = "87";
const COMMANDS_DOMAIN: &str = "88";
/// How long the peer listens before it drives, wall s.
const LISTEN_S: &str = "6";

#[test]
fn a_foreign_participant_hears_every_topic_and_drives_the_rover() {
    let _turn = alone();
    let Some(mut listener) = peer("listen_and_drive.py") else { return };
    let out = folder("dds");
    let run = ["run", "--for", "120", "--pace", "real-time", "--device", "cpu", "--out", &text(&out)];
    let child = selene().args(run).env("ROS_DOMAIN_ID", DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let heard = listener.args([DOMAIN, LISTEN_S]).output().expect("python");
    println!("{}", succeeded("listen_and_drive.py", &heard));
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn a_foreign_participant_drives_sideways_as_a_car_by_joints_and_along_a_trajectory() {
    let _turn = alone();
    let Some(mut driver) = peer("command_joints.py") else { return };
    let run = ["simulation", "--for", "300", "--pace", "real-time"];
    let child = selene().args(run).env("ROS_DOMAIN_ID", COMMANDS_DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let driven = driver.arg(COMMANDS_DOMAIN).output().expect("python");
    println!("{}", succeeded("command_joints.py", &driven));
}

//! A Cyclone DDS participant receives every topic with the right type and QoS, drives the rover, and calls services.

use crate::program::{Running, alone, folder, peer, selene, succeeded, text};

/// Domains that no other program on the machine is likely to use; one per test.
const DOMAIN: &str = "87";
const COMMANDS_DOMAIN: &str = "88";
const SERVICES_DOMAIN: &str = "66";
const GARBAGE_DOMAIN: &str = "65";
const LISTS_DOMAIN: &str = "64";
/// Heartbeat of the default scenario, s.
const HEARTBEAT_S: &str = "0.005";
/// How long the peer listens before it drives, s of wall time.
const LISTEN_S: &str = "6";

#[test]
fn a_foreign_participant_receives_every_topic_and_drives_the_rover() {
    let _turn = alone();
    let Some(mut listener) = peer("listen_and_drive.py") else { return };
    let out = folder("dds");
    let run = ["run", "--for", "120", "--pace", "real-time", "--device", "cpu", "--out", &text(&out)];
    let child = selene().args(run).env("ROS_DOMAIN_ID", DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let received = listener.args([DOMAIN, LISTEN_S]).output().expect("python");
    println!("{}", succeeded("listen_and_drive.py", &received));
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

#[test]
fn a_foreign_client_pauses_steps_and_resets_the_simulation_and_lists_its_entities() {
    let _turn = alone();
    let Some(mut client) = peer("simulation_services.py") else { return };
    let run = ["simulation", "--for", "3000", "--pace", "real-time"];
    // Nobody tells Selene that its clients use Cyclone DDS.
    let environment = [("ROS_DOMAIN_ID", SERVICES_DOMAIN)];
    let child = selene().args(run).envs(environment).spawn().expect("selene");
    let _running = Running(child);
    let called = client.args([SERVICES_DOMAIN, "/selene_simulation", HEARTBEAT_S]).output().expect("python");
    println!("{}", succeeded("simulation_services.py", &called));
}

/// Humble's nodes read nonsense from the list of later distributions: on Fast DDS they took all memory.
#[test]
fn nodes_of_humble_and_of_later_distributions_get_the_list_of_nodes_in_their_own_form() {
    let _turn = alone();
    let Some(mut listen) = peer("node_lists.py") else { return };
    let run = ["simulation", "--for", "3000", "--pace", "real-time"];
    let child = selene().args(run).env("ROS_DOMAIN_ID", LISTS_DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let heard = listen.arg(LISTS_DOMAIN).output().expect("python");
    println!("{}", succeeded("node_lists.py", &heard));
}

#[test]
fn messages_that_do_not_decode_are_counted_and_the_rover_obeys_the_others() {
    let _turn = alone();
    let Some(mut garbage) = peer("garbage.py") else { return };
    let run = ["simulation", "--for", "3000", "--pace", "real-time"];
    let child = selene().args(run).env("ROS_DOMAIN_ID", GARBAGE_DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let sent = garbage.arg(GARBAGE_DOMAIN).output().expect("python");
    println!("{}", succeeded("garbage.py", &sent));
}

//! `selene conformance` passes for a live Selene and fails on an empty domain.

use std::process::Stdio;

use crate::program::{Running, alone, folder, selene, succeeded, text};

/// Domains that no other program on the machine is likely to use; one per test.
const DOMAIN: &str = "97";
const EMPTY_DOMAIN: &str = "98";
const INSTRUMENTS_DOMAIN: &str = "81";

#[test]
fn a_live_run_keeps_the_contract() {
    let _turn = alone();
    let checked =
        ["/clock", "/tf_static latched", "/robot_description links", "/imu/data rate", "/lidar/points stamps"];
    keeps_the_contract("polar", DOMAIN, &checked);
}

/// Checks that a run of a scenario passes, and that the report contains `checked`.
fn keeps_the_contract(scenario: &str, domain: &str, checked: &[&str]) {
    let out = folder(&format!("conformance-{scenario}"));
    let file = format!("config/scenario/{scenario}.yaml");
    let run = ["run", &file, "--for", "600", "--pace", "real-time", "--device", "cpu", "--out", &text(&out)];
    let child = selene().args(run).env("ROS_DOMAIN_ID", domain).stderr(Stdio::null()).spawn().expect("selene");
    let _running = Running(child);
    let found =
        selene().args(["conformance", "--for", "5"]).env("ROS_DOMAIN_ID", domain).output().expect("conformance");
    let printed = succeeded("selene conformance", &found);
    for checked in checked {
        assert!(printed.contains(&format!("ok   {checked}")), "{checked} in: {printed}");
    }
    std::fs::remove_dir_all(out).expect("clean");
}

#[test]
fn so_does_one_with_every_instrument() {
    let _turn = alone();
    let checked = [
        "/adis16495/data rate",
        "/icm20948_mag/mag:",
        "/ground_truth/icm20948_mag/mag beside its sensor",
        "/inclinometer/tilt rate",
        "/gps/fix:",
        "/lunanet/vel:",
        "/altimeter/range rate",
        "/ars408_near/radar_scan rate",
        "/ars408_near/points:",
        "/sun_sensor/direction:",
        "/star_tracker/attitude:",
        "/star_tracker/attitude_in_map:",
        "/wheel_encoders/joint_states rate",
        "/ground_truth/wheel_encoders/joint_states beside its sensor",
        "/wheel_odometry/odom rate",
        "/drive_torques/joint_torques rate",
        "/contact_rear_right/contact rate",
        "/hub_front_left/wrench rate",
        "/battery/state:",
        "/deck/temperature:",
        "/ground_truth/wheels rate",
    ];
    keeps_the_contract("instruments", INSTRUMENTS_DOMAIN, &checked);
}

#[test]
fn an_empty_domain_fails() {
    let _turn = alone();
    let found = selene().args(["conformance", "--for", "1", "--json"]).env("ROS_DOMAIN_ID", EMPTY_DOMAIN).output();
    let found = found.expect("conformance");
    assert_eq!(found.status.code(), Some(1));
    let printed: serde_json::Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let failed = |what: &str| {
        let findings = printed.as_array().expect("a list");
        findings.iter().any(|finding| finding["what"] == what && finding["outcome"] == "failed")
    };
    for what in ["/clock", "/tf_static latched", "/robot_description", "/joint_states", "/ground_truth/odom"] {
        assert!(failed(what), "{what} in: {printed}");
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for bad in [["--rover", "1 viper"], ["--for", "-1"], ["--for", "soon"]] {
        let refused =
            selene().arg("conformance").args(bad).env("ROS_DOMAIN_ID", EMPTY_DOMAIN).output().expect("selene");
        assert_eq!(refused.status.code(), Some(2), "{bad:?}");
    }
}

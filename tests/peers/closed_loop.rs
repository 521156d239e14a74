//! A stack that uses topics only drives EX1 round a rock to a waypoint, and two such runs leave the same bags.

use std::path::Path;
use std::process::Stdio;

use crate::program::{Running, alone, folder, peer, selene, succeeded};

/// A domain that no other program on the machine is likely to use.
const DOMAIN: &str = "95";
const SIMULATED_S: &str = "40";
const HOLDS: usize = 400;
/// The waypoint, and the position of the rock in its way, as config/scenario/sil.yaml has them, m.
const WAYPOINT_AND_ROCK: [&str; 4] = ["6", "0", "3", "0.1"];

/// Runs the scenario with its client, recorded; `None` if the client cannot run here.
fn run(out: &Path) -> Option<()> {
    let mut client = peer("closed_loop.py")?;
    let mut run = selene();
    let client = client.arg(DOMAIN).args(WAYPOINT_AND_ROCK).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = Running(client.spawn().expect("python"));
    run.args(["run", "config/scenario/sil.yaml", "--for", SIMULATED_S, "--pace", "fast", "--device", "cpu", "--out"]);
    run.arg(out).arg("--record").arg(out.join("bag")).env("ROS_DOMAIN_ID", DOMAIN);
    let printed = succeeded("selene run", &run.output().expect("selene"));
    let driven = client.output();
    println!("{}", succeeded("closed_loop.py", &driven));
    let held = format!("/cmd_vel: {HOLDS} holds, 0 in vain");
    assert!(printed.contains(&held), "'{held}' is missing in:\n{printed}");
    Some(())
}

#[test]
fn a_client_that_is_waited_for_drives_round_a_rock_to_its_waypoint_and_every_run_leaves_the_same_bag() {
    let _turn = alone();
    let out = folder("closed_loop");
    let runs = ["first", "second"].map(|name| out.join(name));
    for out in &runs {
        if run(out).is_none() {
            return;
        }
    }
    let Some(mut compare) = peer("closed_loop.py") else { return };
    let compared = compare.arg("--same").args(runs.map(|out| out.join("bag"))).output().expect("python");
    println!("{}", succeeded("closed_loop.py --same", &compared));
    std::fs::remove_dir_all(out).expect("clean");
}

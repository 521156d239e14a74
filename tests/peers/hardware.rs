//! A simulation and a stack in separate network namespaces, joined by a link that delays and loses frames, goes down
//! and comes back: every command arrives, nothing is later than the link makes it, and all data flow again.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::link::{Frames, Link, LinkEnd};
use crate::logged::{Logged, check, peer_succeeds};
use crate::program::{alone, folder, peer, selene};

/// DDS domain; a network namespace has domains of its own.
const DOMAIN: &str = "86";
/// Time for which the link is down, as `over_link.py` expects.
const DOWN: Duration = Duration::from_secs(5);
/// Longer than everything that `over_link.py` does before and after the link is down.
const DRIVES_WITHIN: Duration = Duration::from_secs(180);
const ENDS_WITHIN: Duration = Duration::from_secs(180);

fn simulation(link: &Link, folder: &Path) -> Logged {
    let mut simulation = selene();
    // With this clock, stamps can be converted to UTC.
    simulation.args(["simulation", "--for", "1000", "--pace", "real-time", "--clock-authority", "wall"]);
    simulation.env("ROS_DOMAIN_ID", DOMAIN);
    Logged::start("simulation", folder, &mut link.at(LinkEnd::Simulation, &simulation))
}

/// Drives over a link that delays each frame by `delay_ms` and loses 1 % of them.
fn drive_over_a_link(name: &str, delay_ms: &str, delay_s: &str) {
    let _turn = alone();
    let folder = folder(name);
    let (Some(mut link), Some(mut stack)) = (Link::make(&folder, delay_ms, "0.01", None), peer("over_link.py")) else {
        return;
    };
    let mut simulation = simulation(&link, &folder);
    stack.args([DOMAIN, delay_s]);
    let mut stack = Logged::start("stack", &folder, &mut link.at(LinkEnd::Stack, &stack));
    let is_ready = stack.prints_within("take the link down", 0, DRIVES_WITHIN).is_some();
    check(is_ready, "the stack does not get as far as the link's end", &[&stack, &simulation]);
    link.order("down");
    thread::sleep(DOWN);
    link.order("up");
    peer_succeeds(&mut stack, ENDS_WITHIN, &mut simulation);
    let Frames { carried, lost, .. } = link.end();
    assert!(carried > 0 && lost > 0, "{lost} frames were lost, {carried} were carried");
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn commands_arrive_over_a_link_of_1_ms_that_loses_frames_and_goes_down() {
    drive_over_a_link("link-1-ms", "1", "0.001");
}

#[test]
fn commands_arrive_over_a_link_of_30_ms_that_loses_frames_and_goes_down() {
    drive_over_a_link("link-30-ms", "30", "0.03");
}

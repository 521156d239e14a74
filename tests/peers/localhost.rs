//! What leaves a machine by the network: nothing of a simulation that is kept on its machine, although the link carries
//! multicast, and no samples if all who listen are on the same machine.

use std::process::Command;
use std::time::Duration;

use crate::link::{Link, LinkEnd};
use crate::logged::{Logged, check};
use crate::program::{alone, folder, selene};

/// DDS domain; a network namespace has domains of its own.
const DOMAIN: &str = "86";
/// Simulated and, at this pace, wall time: several announcements of a participant.
const SIMULATED_S: &str = "2";
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// Two processes announce themselves in some 200 frames; the run sends about 1200 samples to the other node.
const ANNOUNCEMENTS_MAX: u64 = 600;

/// Runs a simulation at one end of a link, beside another node; returns the number of UDP frames that left it. `None`,
/// with a message, if this machine has no namespaces.
fn udp_frames(name: &str, beside: Option<&str>, with: impl FnOnce(&mut Command)) -> Option<u64> {
    let folder = folder(name);
    let link = Link::make(&folder, "1", "0", None)?;
    let mut simulation = selene();
    simulation.args(["simulation", "--for", SIMULATED_S, "--pace", "real-time"]).env("ROS_DOMAIN_ID", DOMAIN);
    for variable in ["ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"] {
        simulation.env_remove(variable);
    }
    with(&mut simulation);
    let mut other = selene();
    other.args(beside).env("ROS_DOMAIN_ID", DOMAIN);
    let other = beside.map(|node| Logged::start(node, &folder, &mut link.at(LinkEnd::Simulation, &other)));
    let mut simulation = Logged::start("simulation", &folder, &mut link.at(LinkEnd::Simulation, &simulation));
    let ended = simulation.ends_within(ENDS_WITHIN);
    check(ended.is_some_and(|status| status.success()), "the simulation does not end well", &[&simulation]);
    if let Some(other) = other {
        // Its readings follow from the samples that it got.
        let took_part = other.says_within("/imu/data", ENDS_WITHIN).is_some();
        check(took_part, "the other node got no samples", &[&other, &simulation]);
    }
    let frames = link.end();
    std::fs::remove_dir_all(folder).expect("clean");
    Some(frames.udp)
}

#[test]
fn no_frame_leaves_a_machine_on_which_discovery_is_local() {
    let _turn = alone();
    // Without a restriction it announces itself: the frames are counted.
    let Some(announced) = udp_frames("subnet", None, |_| ()) else { return };
    assert!(announced > 0, "a simulation announces itself to the subnet");
    let option = udp_frames("localhost-option", None, |simulation| _ = simulation.arg("--localhost-only"));
    assert_eq!(option, Some(0), "--localhost-only");
    for (variable, value) in [("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), ("ROS_LOCALHOST_ONLY", "1")] {
        let frames = udp_frames("localhost-variable", None, |simulation| _ = simulation.env(variable, value));
        assert_eq!(frames, Some(0), "{variable}={value}");
    }
}

#[test]
fn samples_for_nodes_on_the_same_machine_do_not_leave_it() {
    let _turn = alone();
    let Some(frames) = udp_frames("same-machine", Some("navigation"), |_| ()) else { return };
    assert!(frames < ANNOUNCEMENTS_MAX, "{frames} frames left the machine");
}

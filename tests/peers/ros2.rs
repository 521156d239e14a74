//! A node of a real ROS 2 (Jazzy, rclpy on Fast DDS, its default) receives all topics and drives, calls services, and
//! discovers Selene on the same machine and by static peers.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use selene_tests::{repository_file, skip_peer};

use crate::link::{Link, LinkEnd};
use crate::logged::{Logged, check, peer_succeeds};
use crate::program::{Running, alone, folder, selene, succeeded, text};

/// Domains that no other program on the machine is likely to use; one per test.
const DOMAIN: &str = "92";
const SERVICES_DOMAIN: &str = "82";
const LOCALHOST_DOMAIN: &str = "83";
const STATIC_PEERS_DOMAIN: &str = "84";
const TWIST_DOMAIN: &str = "76";
/// Longer than all waits of the scripts together.
const SERVICES_WITHIN: Duration = Duration::from_secs(600);
const FOUND_WITHIN: Duration = Duration::from_secs(400);
/// How long a node must not discover any other, s.
const NOBODY_S: &str = "8";

/// A script run by this machine's ROS 2; `None`, with a message, if there is none.
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
fn a_real_ros_2_node_receives_everything_and_drives() {
    let _turn = alone();
    let Some(mut node) = ros2("ros2_node.py") else { return };
    let out = folder("ros2");
    // Slow enough for the listener to keep up on a small machine.
    let run = ["run", "--for", "120", "--pace", "0.4", "--device", "cpu", "--out", &text(&out)];
    let child = selene().args(run).env("ROS_DOMAIN_ID", DOMAIN).spawn().expect("selene");
    let _running = Running(child);
    let received = node.env("ROS_DOMAIN_ID", DOMAIN).output().expect("python");
    let complained = String::from_utf8_lossy(&received.stderr).into_owned();
    println!("{}", succeeded("ros2_node.py", &received));
    assert!(!complained.contains("type hash"), "{complained}");
    std::fs::remove_dir_all(out).expect("clean");
}

/// A simulation without an end, on a domain and with these options.
fn simulation(domain: &str, options: &[&str]) -> Command {
    let mut simulation = selene();
    simulation.args(["simulation", "--for", "3000", "--pace", "real-time"]).args(options);
    on_domain(&mut simulation, domain);
    simulation
}

/// Sets the domain, and clears all other discovery settings of the environment.
fn on_domain(program: &mut Command, domain: &str) {
    program.env("ROS_DOMAIN_ID", domain).env("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp");
    for name in ["ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"] {
        program.env_remove(name);
    }
}

#[test]
fn a_real_ros_2_client_reads_parameters_and_sets_the_pace() {
    let _turn = alone();
    let Some(mut client) = ros2("ros2_services.py") else { return };
    let folder = folder("ros2-services");
    let mut simulation = Logged::start("simulation", &folder, &mut simulation(SERVICES_DOMAIN, &[]));
    on_domain(&mut client, SERVICES_DOMAIN);
    peer_succeeds(&mut Logged::start("client", &folder, &mut client), SERVICES_WITHIN, &mut simulation);
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn a_node_that_publishes_a_plain_twist_is_named_with_what_to_do() {
    let _turn = alone();
    let Some(mut node) = ros2("ros2_twist.py") else { return };
    let folder = folder("ros2-twist");
    let simulation = Logged::start("simulation", &folder, &mut simulation(TWIST_DOMAIN, &[]));
    on_domain(&mut node, TWIST_DOMAIN);
    let _node = Logged::start("node", &folder, &mut node);
    let warning = simulation.says_within("messages of node /lab/teleop are not received", FOUND_WITHIN);
    check(warning.is_some(), "the warning is missing", &[&simulation]);
    let warning = warning.unwrap_or_default();
    for part in
        ["topic /cmd_vel", "geometry_msgs/msg/Twist and not geometry_msgs/msg/TwistStamped", "--twist-unstamped"]
    {
        assert!(warning.contains(part), "{part} is missing in: {warning}");
    }
    drop(simulation);
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn a_real_ros_2_node_and_selene_meet_on_this_machine_alone() {
    let _turn = alone();
    let Some(mut node) = ros2("ros2_discovery.py") else { return };
    let folder = folder("ros2-localhost");
    let mut simulation = simulation(LOCALHOST_DOMAIN, &["--localhost-only"]);
    let mut simulation = Logged::start("simulation", &folder, &mut simulation);
    on_domain(&mut node, LOCALHOST_DOMAIN);
    node.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    peer_succeeds(&mut Logged::start("node", &folder, &mut node), FOUND_WITHIN, &mut simulation);
    std::fs::remove_dir_all(folder).expect("clean");
}

/// A node at the stack's end of a link, which looks for others on its own machine and at the addresses `peers`.
fn at_the_other_end(link: &Link, folder: &Path, name: &str, arguments: &[&str], peers: Option<&str>) -> Option<Logged> {
    let mut node = ros2("ros2_discovery.py")?;
    on_domain(node.args(arguments), STATIC_PEERS_DOMAIN);
    node.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    if let Some(peers) = peers {
        node.env("ROS_STATIC_PEERS", peers);
    }
    Some(Logged::start(name, folder, &mut link.at(LinkEnd::Stack, &node)))
}

#[test]
fn a_real_ros_2_node_and_selene_meet_by_static_peers_where_there_is_no_multicast() {
    let _turn = alone();
    let folder = folder("ros2-static-peers");
    let Some(link) = Link::make(&folder, "1", "0", Some("unicast")) else { return };
    let mut calling = simulation(STATIC_PEERS_DOMAIN, &[]);
    calling.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env("ROS_STATIC_PEERS", LinkEnd::Stack.address());
    let mut calling = Logged::start("simulation", &folder, &mut link.at(LinkEnd::Simulation, &calling));
    let peers = Some(LinkEnd::Simulation.address());
    let Some(mut node) = at_the_other_end(&link, &folder, "node", &[], peers) else { return };
    peer_succeeds(&mut node, FOUND_WITHIN, &mut calling);
    drop(calling);
    // If neither addresses the other, they do not meet: the link itself announces nobody.
    let mut silent = simulation(STATIC_PEERS_DOMAIN, &[]);
    silent.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    let mut silent = Logged::start("silent", &folder, &mut link.at(LinkEnd::Simulation, &silent));
    let Some(mut alone) = at_the_other_end(&link, &folder, "alone", &["nobody", NOBODY_S], None) else { return };
    peer_succeeds(&mut alone, FOUND_WITHIN, &mut silent);
    std::fs::remove_dir_all(folder).expect("clean");
}

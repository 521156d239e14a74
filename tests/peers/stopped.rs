//! A simulation that is stopped for a while (Ctrl-Z, a debugger) and continued goes on, and so does who listens.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::logged::{Logged, check, peer_succeeds};
use crate::program::{alone, folder, peer, selene};

/// A domain that nobody else on the machine is likely to use.
const DOMAIN: &str = "85";
const STOPPED: Duration = Duration::from_secs(2);
/// Longer than `stopped.py` waits for anything.
const HEARS_WITHIN: Duration = Duration::from_secs(90);
const ENDS_WITHIN: Duration = Duration::from_secs(150);

/// Stops the processes for a while.
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
    let hears = listener.says_within("hears", 0, HEARS_WITHIN).is_some();
    check(hears, "nothing is heard", &[&listener, &simulation]);
    stop(&[&simulation]);
    let hears = listener.says_within("hears again", 0, HEARS_WITHIN).is_some();
    check(hears, "nothing is heard after the simulation was stopped", &[&listener, &simulation]);
    stop(&[&simulation, &listener]);
    peer_succeeds(&mut listener, ENDS_WITHIN, &mut simulation);
    let mut newcomer = Logged::start("newcomer", &folder, newcomer.args(["join", DOMAIN]));
    peer_succeeds(&mut newcomer, ENDS_WITHIN, &mut simulation);
    std::fs::remove_dir_all(folder).expect("clean");
}

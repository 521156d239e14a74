//! Conformance test: does a live Selene fulfil its contract with ROS 2 (docs/topics.md)? The test joins the domain as a
//! peer and subscribes; it knows topics, types, quality of service and message definitions, but nothing of the
//! simulation itself.
//!
//! [`check`] first finds the topics (`topics`), subscribes to them (`subscriptions`), and then checks what it received: the clock
//! (`clock`), stamps and rates (`stream`), the frames (`tree`), the content of messages (`image`, `cloud`, `motion`,
//! `instrument`), the rover against its description (`rover`), and services (`services`). Each check is a function of
//! messages or of data kept from them, and is tested with valid and invalid ones.

mod clock;
mod cloud;
mod finding;
mod image;
mod instrument;
mod kind;
mod motion;
mod ranging;
mod rover;
mod sample;
mod services;
mod stream;
mod subscriptions;
mod topics;
mod tree;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use selene_ros::transport::{Transport, TransportError};

pub use finding::{Finding, Outcome};

/// Time to wait for the first message of a simulation, and then for its topics, in wall time.
const FIRST_WORD_MAX: Duration = Duration::from_secs(30);
const LOOK_ROUND: Duration = Duration::from_secs(3);
/// Time for which clock and frames are received after everything else, so that all stamps have their clock, in wall
/// time.
const LAST_WORD: Duration = Duration::from_secs(1);
/// Time to look for services, in wall time.
const SERVED_MAX: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// What to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Time to receive messages, in wall time.
    pub duration: Duration,
    /// Prefix of one rover's topics, such as `/viper`, or empty for none; `None` for all rovers.
    pub rover: Option<String>,
}

/// Receives messages and checks them; `stop` ends the reception early.
///
/// # Errors
/// When a topic cannot be subscribed to.
pub fn check(
    transport: &dyn Transport,
    requested: &CheckOptions,
    stop: &AtomicBool,
) -> Result<Vec<Finding>, TransportError> {
    let subscriptions = subscriptions::Subscriptions::new(transport);
    let _world = subscriptions.follow_world()?;
    wait(FIRST_WORD_MAX, || stop.load(Ordering::Relaxed) || !subscriptions.received().ticks.is_empty());
    let until_stopped = || stop.load(Ordering::Relaxed);
    wait(LOOK_ROUND, until_stopped);
    let (rovers, wanted) = {
        let received = subscriptions.received();
        let rovers = topics::rovers(&received.reported, requested.rover.as_deref());
        let frames: Vec<&str> = received.tree.children().collect();
        let wanted = topics::wanted(&received.reported, &rovers, frames.into_iter());
        (rovers, wanted)
    };
    let mut topics = Vec::new();
    for rover in &rovers {
        topics.push(subscriptions.follow_description(rover)?);
    }
    for (topic, wanted) in &wanted {
        topics.push(subscriptions.follow(topic, wanted.kind)?);
    }
    wait(requested.duration, until_stopped);
    drop(topics);
    wait(LAST_WORD, until_stopped);
    let mut findings = subscriptions.received().check(&wanted, &rovers);
    findings.extend(services::check(transport, SERVED_MAX));
    Ok(findings)
}

/// Waits for a duration, or until `holds` is true.
fn wait(duration: Duration, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < duration && !holds() {
        thread::sleep(POLL);
    }
}

//! Does a live Selene keep its contract with ROS 2 (docs/topics.md)? This joins the domain as a peer and listens; it
//! knows topics, types, quality of service and message definitions, and nothing of how the simulation works.
//!
//! [`check`] first hears which topics there are (`topics`), listens to them (`ear`), and judges what was
//! heard: the clock (`clock`), stamps and rates (`stream`), the frames (`tree`), what messages say (`image`, `cloud`,
//! `motion`, `instrument`), the rover as its description has it (`rover`), and services (`services`). Each judgement is a function
//! of messages, or of what is kept of them, and is tested with good and broken ones.

mod clock;
mod cloud;
mod ear;
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
mod topics;
mod tree;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use selene_ros::transport::{Transport, TransportError};

pub use finding::{Finding, Outcome};

/// How long the first word of a simulation is awaited, and topics are looked for after it (wall time).
const FIRST_WORD_MAX: Duration = Duration::from_secs(30);
const LOOK_ROUND: Duration = Duration::from_secs(3);
/// How long clock and frames are heard after everything else, so that its stamps have their clock (wall time).
const LAST_WORD: Duration = Duration::from_secs(1);
/// How long servers are looked for (wall time).
const SERVED_MAX: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// What to listen to.
#[derive(Clone, Debug)]
pub struct Asked {
    /// For how long (wall time).
    pub duration: Duration,
    /// The prefix of one rover's topics, as in `/viper`, or empty for none; without it, all rovers.
    pub rover: Option<String>,
}

/// Listens and judges; `stop` ends the listening early.
///
/// # Errors
/// When a topic cannot be subscribed to.
pub fn check(transport: &dyn Transport, asked: &Asked, stop: &AtomicBool) -> Result<Vec<Finding>, TransportError> {
    let ear = ear::Ear::new(transport);
    let _world = ear.follow_world()?;
    wait(FIRST_WORD_MAX, || stop.load(Ordering::Relaxed) || !ear.heard().ticks.is_empty());
    let until_stopped = || stop.load(Ordering::Relaxed);
    wait(LOOK_ROUND, until_stopped);
    let (rovers, wanted) = {
        let heard = ear.heard();
        let rovers = topics::rovers(&heard.told, asked.rover.as_deref());
        let frames: Vec<&str> = heard.tree.children().collect();
        let wanted = topics::wanted(&heard.told, &rovers, frames.into_iter());
        (rovers, wanted)
    };
    let mut topics = Vec::new();
    for rover in &rovers {
        topics.push(ear.follow_description(rover)?);
    }
    for (topic, wanted) in &wanted {
        topics.push(ear.follow(topic, wanted.kind)?);
    }
    wait(asked.duration, until_stopped);
    drop(topics);
    wait(LAST_WORD, until_stopped);
    let mut findings = ear.heard().check(&wanted, &rovers);
    findings.extend(services::check(transport, SERVED_MAX));
    Ok(findings)
}

/// Waits so long, or until it holds.
fn wait(duration: Duration, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < duration && !holds() {
        thread::sleep(POLL);
    }
}

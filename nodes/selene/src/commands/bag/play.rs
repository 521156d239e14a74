//! `selene bag play`: publishes recorded messages with the same time between them. Topics between Selene's own nodes
//! are never played, so that no node takes a bag for a run.

mod player;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selene_ros::bag::{BagContents, BagReader, TopicFilter};
use selene_ros::{Qos, Topic};

use self::player::{CLOCK, Player};
use super::{open, seconds};
use crate::args::BagPlayArgs;
use crate::fault::Fault;
use crate::interrupt;
use crate::meter::Meter;
use crate::middleware::Network;
use crate::output::print_line;
use crate::remap::Names;
use crate::verbosity::Verbosity;

/// Name of the player's ROS node.
const NODE: &str = "selene_bag";
/// Greatest interval between checks of the stop flag, s.
const SLEEP_MAX_S: f64 = 0.1;

/// Plays a bag to its end or, with `--loop`, until it is stopped.
pub(super) fn play(args: &BagPlayArgs, verbosity: Verbosity) -> Result<(), Fault> {
    let stop = interrupt::watch()?;
    let bag = open(&args.bag)?;
    let contents = bag.contents();
    let begin_ns = begin_ns(args, &contents)?;
    let topics = chosen(args, &contents)?;
    let meter = Arc::new(Meter::new(Network::requested(&args.network)?.join(&Names::plain(NODE))?));
    let player = Player::open(meter.as_ref(), &topics, args.clock).map_err(Fault::run)?;
    let (bag_file, span_s) = (args.bag.display(), span_s(&contents, begin_ns));
    verbosity.note(format_args!("{bag_file} · {} topics, {span_s:.1} s", topics.len()));
    Pace::new(1.0, &stop).sleep_s(args.delay.secs_f64());
    let played = play_through(args, &bag, &player, begin_ns, &stop).map_err(Fault::run)?;
    print_line(format_args!("played {played} messages on {} topics", topics.len()));
    let refused: u64 = meter.counts().values().map(|count| count.refused).sum();
    match refused {
        0 => Ok(()),
        _ => Err(Fault::run(format!("{refused} messages could not be handed over: see the messages above"))),
    }
}

fn play_through(
    args: &BagPlayArgs,
    bag: &BagReader,
    player: &Player,
    begin_ns: u64,
    stop: &AtomicBool,
) -> Result<u64, selene_ros::transport::TransportError> {
    let mut played = 0;
    loop {
        let mut pace = Pace::new(args.rate, stop);
        played += player.play(bag.messages_around(begin_ns), begin_ns, |log_ns| pace.wait_until(log_ns))?;
        if !args.looped || stop.load(Ordering::Relaxed) {
            return Ok(played);
        }
    }
}

/// The log time at which playing begins, ns.
fn begin_ns(args: &BagPlayArgs, contents: &BagContents) -> Result<u64, Fault> {
    let (first_ns, last_ns) =
        contents.span_ns().ok_or_else(|| Fault::input(format!("{}: has no message", args.bag.display())))?;
    let begin_ns = first_ns.saturating_add(args.start_at.nanos().unsigned_abs());
    let (start_s, span_s) = (args.start_at.secs_f64(), seconds(last_ns - first_ns));
    let beyond = || Fault::input(format!("--start-at {start_s}: the bag has {span_s:.3} s"));
    (begin_ns <= last_ns).then_some(begin_ns).ok_or_else(beyond)
}

fn span_s(contents: &BagContents, begin_ns: u64) -> f64 {
    contents.span_ns().map_or(0.0, |(_, last_ns)| seconds(last_ns - begin_ns))
}

/// The topics to play; prints a warning for those of unknown types.
fn chosen(args: &BagPlayArgs, contents: &BagContents) -> Result<Vec<Topic>, Fault> {
    let filter = TopicFilter { include: args.topics.clone(), ..TopicFilter::default() };
    let mut chosen = Vec::new();
    for (name, count) in contents.topics() {
        if !filter.admits(name) || (args.clock && name == CLOCK) {
            continue;
        }
        let qos = count.topic.qos.unwrap_or(Qos::reliable());
        match Topic::of_type(name, &count.topic.type_name, qos).map_err(Fault::input)? {
            Some(topic) => chosen.push(topic),
            // A warning is printed even with `--quiet`.
            None => Verbosity::Usual
                .note(format_args!("{name} is not played: Selene knows no type {}", count.topic.type_name)),
        }
    }
    let none = || Fault::input(format!("{}: has no topic that is to be played", args.bag.display()));
    if chosen.is_empty() && !args.clock { Err(none()) } else { Ok(chosen) }
}

/// Waits for log times, on the machine's clock.
struct Pace<'a> {
    rate: f64,
    /// An instant and its log time, ns.
    begun: Option<(Instant, u64)>,
    stop: &'a AtomicBool,
}

impl<'a> Pace<'a> {
    fn new(rate: f64, stop: &'a AtomicBool) -> Self {
        Self { rate, begun: None, stop }
    }

    /// Waits until a log time is due. Returns false if the stop flag was set.
    fn wait_until(&mut self, log_ns: u64) -> bool {
        let (begun, from_ns) = *self.begun.get_or_insert_with(|| (Instant::now(), log_ns));
        let due_s = seconds(log_ns.saturating_sub(from_ns)) / self.rate;
        self.sleep_s(due_s - begun.elapsed().as_secs_f64())
    }

    /// Sleeps for a span. Returns false if the stop flag was set.
    fn sleep_s(&self, span_s: f64) -> bool {
        let begun = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let left_s = span_s - begun.elapsed().as_secs_f64();
            if left_s <= 0.0 {
                return true;
            }
            std::thread::sleep(Duration::from_secs_f64(left_s.min(SLEEP_MAX_S)));
        }
        false
    }
}

//! When simulated time holds for programs outside. At the first heartbeat at or after every multiple of a topic's
//! period it holds until the topic has a message that answers, or until a timeout is over, which is counted.
//!
//! - A message with a stamp answers if its stamp is at or after the held instant less the topic's lag. The lag is
//!   shorter than the period, so a message answers one hold only.
//! - A message without a stamp (its type has no header, or the stamp is zero) answers if it arrives after the held
//!   heartbeat has begun to be told. So does one that is stamped more than `AHEAD_MAX` after it: its sender does not
//!   follow `/clock`.
//! - Before a topic's first message one hold waits for it, for `start_timeout`; then the topic is not held for until it
//!   has one. So who starts slowly is waited for, and who needs time to pass before it says anything is not waited
//!   for without end.
//! - Commands on such a topic are taken at its holds alone: at the held instant, whenever they came.
//!
//! Wall time is passed in; nothing here reads a clock.

use std::time::Duration;

use selene_base::SimTime;
use selene_sim::AwaitedTopic;

/// A stamp farther ahead of simulated time is of another clock.
const AHEAD_MAX: SimTime = SimTime::from_nanos(60_000_000_000);

/// The topics that simulated time waits for.
pub(crate) struct Holds {
    topics: Vec<Held>,
    /// The latest heartbeat.
    now: SimTime,
    held: Duration,
    longest: Duration,
}

struct Held {
    of: AwaitedTopic,
    phase: Phase,
    /// Whether somebody here listens to it: the topics of a rover that went are closed.
    is_open: bool,
    heard: Heard,
    /// The latest stamp.
    newest: Option<SimTime>,
    counts: HoldCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Time passes.
    Passes,
    /// Held until there is a message stamped so.
    Held { from: SimTime },
    /// Held at this heartbeat, but not any longer.
    Over,
}

/// Whether a topic has ever had a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    NotYet,
    /// Nor within the time that was granted.
    WaitedInVain,
    Yes,
}

/// What came of the holds of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldCounts {
    /// The topic.
    pub topic: String,
    /// How often simulated time held for it.
    pub holds: u64,
    /// How often in vain.
    pub timeouts: u64,
    /// Messages whose stamps are far ahead of simulated time: their sender does not follow `/clock`.
    pub of_another_clock: u64,
}

/// What came of all holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HoldReport {
    /// By topic.
    pub topics: Vec<HoldCounts>,
    /// Wall time of all holds together, s.
    pub held_s: f64,
    /// Wall time of the longest hold, s.
    pub longest_s: f64,
}

impl Holds {
    /// Of a world at `now`.
    pub(crate) fn new(topics: &[AwaitedTopic], now: SimTime) -> Self {
        let held = |of: &AwaitedTopic| Held {
            phase: Phase::Passes,
            is_open: true,
            heard: Heard::NotYet,
            newest: None,
            counts: HoldCounts { topic: of.name.clone(), ..HoldCounts::default() },
            of: of.clone(),
        };
        Self { topics: topics.iter().map(held).collect(), now, held: Duration::ZERO, longest: Duration::ZERO }
    }

    /// Whether there are any topics.
    pub(crate) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Says which topics somebody listens to here.
    pub(crate) fn open(&mut self, is_open: impl Fn(&str) -> bool) {
        for topic in &mut self.topics {
            topic.is_open = is_open(&topic.of.name);
        }
    }

    /// Begins anew in a world that was reset to `now`: what was said before is no answer in it.
    pub(crate) fn begin_anew(&mut self, now: SimTime) {
        self.now = now;
        for topic in &mut self.topics {
            (topic.phase, topic.newest) = (Phase::Passes, None);
        }
    }

    /// A heartbeat at `now` is about to be told: whether simulated time holds at it.
    pub(crate) fn begin(&mut self, now: SimTime) -> bool {
        let last = std::mem::replace(&mut self.now, now);
        for topic in &mut self.topics {
            topic.begin(last, now);
        }
        self.has_begun()
    }

    /// A message has come.
    pub(crate) fn note(&mut self, topic: &str, stamp: Option<SimTime>) {
        let now = self.now;
        if let Some(topic) = self.topics.iter_mut().find(|held| held.of.name == topic) {
            topic.note(stamp, now);
        }
    }

    /// Whether simulated time was held at this heartbeat, or still is.
    pub(crate) fn has_begun(&self) -> bool {
        self.topics.iter().any(|topic| topic.phase != Phase::Passes)
    }

    /// Whether a message is waited for.
    pub(crate) fn is_waiting(&self) -> bool {
        self.topics.iter().any(|topic| matches!(topic.phase, Phase::Held { .. }))
    }

    /// Waits no longer for topics whose timeout is over after waiting so long (wall time); tells which.
    pub(crate) fn give_up(&mut self, waited: Duration) -> Vec<String> {
        self.topics.iter_mut().filter_map(|topic| topic.give_up(waited)).collect()
    }

    /// How long it is until the next timeout after waiting so long (wall time); none where nothing is waited for.
    pub(crate) fn left(&self, waited: Duration) -> Option<Duration> {
        let held = self.topics.iter().filter(|topic| matches!(topic.phase, Phase::Held { .. }));
        held.map(|topic| topic.timeout().saturating_sub(waited)).min()
    }

    /// Whether commands on a topic may be taken now: time holds for it or does not wait for it at all.
    pub(crate) fn takes(&self, topic: &str) -> bool {
        self.topics.iter().find(|held| held.of.name == topic).is_none_or(|held| held.phase == Phase::Over)
    }

    /// Time passes again after a hold of so long (wall time).
    pub(crate) fn end(&mut self, waited: Duration) {
        self.held += waited;
        self.longest = self.longest.max(waited);
        // Who stopped the run does not wait: nothing is held at any longer.
        for topic in self.topics.iter_mut().filter(|topic| topic.phase != Phase::Passes) {
            topic.phase = Phase::Over;
        }
    }

    /// The commands of this heartbeat's holds are taken.
    pub(crate) fn pass(&mut self) {
        self.topics.iter_mut().for_each(|topic| topic.phase = Phase::Passes);
    }

    /// What came of all holds so far.
    pub(crate) fn report(&self) -> HoldReport {
        HoldReport {
            topics: self.topics.iter().map(|topic| topic.counts.clone()).collect(),
            held_s: self.held.as_secs_f64(),
            longest_s: self.longest.as_secs_f64(),
        }
    }
}

impl Held {
    fn begin(&mut self, last: SimTime, now: SimTime) {
        let is_multiple = now / self.of.period > last / self.of.period;
        if !is_multiple || !self.is_open || self.heard == Heard::WaitedInVain {
            return;
        }
        let from = now - self.of.lag;
        self.counts.holds += 1;
        let is_answered = self.newest.is_some_and(|newest| newest >= from);
        self.phase = if is_answered { Phase::Over } else { Phase::Held { from } };
    }

    fn note(&mut self, stamp: Option<SimTime>, now: SimTime) {
        self.heard = Heard::Yes;
        let is_of_another_clock = stamp.is_some_and(|stamp| stamp - now > AHEAD_MAX);
        self.counts.of_another_clock += u64::from(is_of_another_clock);
        let stamp = stamp.filter(|stamp| *stamp != SimTime::ZERO && !is_of_another_clock);
        if let Some(stamp) = stamp {
            self.newest = self.newest.max(Some(stamp));
        }
        if let Phase::Held { from } = self.phase
            && stamp.is_none_or(|stamp| stamp >= from)
        {
            self.phase = Phase::Over;
        }
    }

    fn give_up(&mut self, waited: Duration) -> Option<String> {
        if !matches!(self.phase, Phase::Held { .. }) || waited < self.timeout() {
            return None;
        }
        self.phase = Phase::Over;
        self.counts.timeouts += 1;
        if self.heard == Heard::NotYet {
            self.heard = Heard::WaitedInVain;
        }
        Some(self.of.name.clone())
    }

    /// How long a hold waits (wall time).
    fn timeout(&self) -> Duration {
        if self.heard == Heard::Yes { self.of.timeout } else { self.of.start_timeout }
    }
}

#[cfg(test)]
mod tests;

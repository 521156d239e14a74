//! Holds of simulated time for programs outside the simulator. At the first heartbeat at or after every multiple of a
//! topic's period, time holds until the topic has a message that answers, or until a timeout, which is counted.
//!
//! - A message with a stamp answers if its stamp is at or after the held time minus the topic's lag. The lag is
//!   shorter than the period, so that a message answers one hold only.
//! - A message without a stamp (its type has no header, or the stamp is zero) answers if it arrives after the held
//!   heartbeat has begun to be published. So does one that is stamped more than `AHEAD_MAX` after it: its sender
//!   does not follow `/clock`.
//! - Before a topic's first message one hold waits for it, for `start_timeout`; later holds skip the topic until it has
//!   a message. So a slow starter is waited for, and a program that needs time to pass before its first message does
//!   not block the run for ever.
//! - Commands on such a topic are taken only at its holds: at the held time, whenever they arrived.
//!
//! Wall time is passed in as an argument; nothing here reads a clock.

use std::time::Duration;

use selene_base::SimTime;
use selene_sim::AwaitedTopic;

/// A stamp farther ahead of simulated time belongs to another clock.
const AHEAD_MAX: SimTime = SimTime::from_nanos(60_000_000_000);

/// The topics for which simulated time holds.
pub(crate) struct Holds {
    topics: Vec<HeldTopic>,
    /// Simulated time of the latest heartbeat.
    now: SimTime,
    held: Duration,
    longest: Duration,
}

struct HeldTopic {
    of: AwaitedTopic,
    phase: Phase,
    /// Whether this process subscribes to it: the topics of a removed rover are closed.
    is_open: bool,
    received: FirstMessage,
    /// The latest stamp of a message.
    newest: Option<SimTime>,
    counts: HoldCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Time does not hold for the topic.
    Passes,
    /// Time holds until there is a message stamped at or after `from`.
    Held { from: SimTime },
    /// The hold at this heartbeat has ended.
    Over,
}

/// Whether a topic has ever had a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstMessage {
    NotYet,
    /// The hold before the first message has timed out.
    WaitedInVain,
    Yes,
}

/// Statistics of the holds for one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldCounts {
    /// Name of the topic.
    pub topic: String,
    /// How often simulated time held for it.
    pub holds: u64,
    /// How often a hold ended by timeout.
    pub timeouts: u64,
    /// Messages whose stamps are far ahead of simulated time: their sender does not follow `/clock`.
    pub of_another_clock: u64,
}

/// Statistics of all holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HoldReport {
    /// Statistics by topic.
    pub topics: Vec<HoldCounts>,
    /// Total wall time of all holds, s.
    pub held_s: f64,
    /// Wall time of the longest hold, s.
    pub longest_s: f64,
}

impl Holds {
    /// Holds of a world at simulated time `now`.
    pub(crate) fn new(topics: &[AwaitedTopic], now: SimTime) -> Self {
        let held = |of: &AwaitedTopic| HeldTopic {
            phase: Phase::Passes,
            is_open: true,
            received: FirstMessage::NotYet,
            newest: None,
            counts: HoldCounts { topic: of.name.clone(), ..HoldCounts::default() },
            of: of.clone(),
        };
        Self { topics: topics.iter().map(held).collect(), now, held: Duration::ZERO, longest: Duration::ZERO }
    }

    /// Whether no topic is awaited.
    pub(crate) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Sets which topics are subscribed to.
    pub(crate) fn open(&mut self, is_open: impl Fn(&str) -> bool) {
        for topic in &mut self.topics {
            topic.is_open = is_open(&topic.of.name);
        }
    }

    /// Begins anew after a reset to simulated time `now`: earlier stamps answer no later hold.
    pub(crate) fn begin_anew(&mut self, now: SimTime) {
        self.now = now;
        for topic in &mut self.topics {
            (topic.phase, topic.newest) = (Phase::Passes, None);
        }
    }

    /// Called before a heartbeat at `now` is published; returns whether simulated time holds at it.
    pub(crate) fn begin(&mut self, now: SimTime) -> bool {
        let last = std::mem::replace(&mut self.now, now);
        for topic in &mut self.topics {
            topic.begin(last, now);
        }
        self.has_begun()
    }

    /// Takes note of a message.
    pub(crate) fn note(&mut self, topic: &str, stamp: Option<SimTime>) {
        let now = self.now;
        if let Some(topic) = self.topics.iter_mut().find(|held| held.of.name == topic) {
            topic.note(stamp, now);
        }
    }

    /// Whether simulated time held at this heartbeat, or still holds.
    pub(crate) fn has_begun(&self) -> bool {
        self.topics.iter().any(|topic| topic.phase != Phase::Passes)
    }

    /// Whether any topic's message is still missing.
    pub(crate) fn is_waiting(&self) -> bool {
        self.topics.iter().any(|topic| matches!(topic.phase, Phase::Held { .. }))
    }

    /// Ends the holds whose timeout is over after `waited` (wall time); returns their topics.
    pub(crate) fn give_up(&mut self, waited: Duration) -> Vec<String> {
        self.topics.iter_mut().filter_map(|topic| topic.give_up(waited)).collect()
    }

    /// Time until the next timeout after `waited` (wall time); `None` if no message is missing.
    pub(crate) fn left(&self, waited: Duration) -> Option<Duration> {
        let held = self.topics.iter().filter(|topic| matches!(topic.phase, Phase::Held { .. }));
        held.map(|topic| topic.timeout().saturating_sub(waited)).min()
    }

    /// Whether commands on a topic may be taken now: its hold has just ended, or time never holds for it.
    pub(crate) fn takes(&self, topic: &str) -> bool {
        self.topics.iter().find(|held| held.of.name == topic).is_none_or(|held| held.phase == Phase::Over)
    }

    /// Ends a hold that lasted `waited` (wall time).
    pub(crate) fn end(&mut self, waited: Duration) {
        self.held += waited;
        self.longest = self.longest.max(waited);
        // If the run was stopped during the hold, some topics may still be unanswered.
        for topic in self.topics.iter_mut().filter(|topic| topic.phase != Phase::Passes) {
            topic.phase = Phase::Over;
        }
    }

    /// Called when the commands of this heartbeat's holds have been taken.
    pub(crate) fn pass(&mut self) {
        self.topics.iter_mut().for_each(|topic| topic.phase = Phase::Passes);
    }

    /// Statistics of all holds so far.
    pub(crate) fn report(&self) -> HoldReport {
        HoldReport {
            topics: self.topics.iter().map(|topic| topic.counts.clone()).collect(),
            held_s: self.held.as_secs_f64(),
            longest_s: self.longest.as_secs_f64(),
        }
    }
}

impl HeldTopic {
    fn begin(&mut self, last: SimTime, now: SimTime) {
        let is_multiple = now / self.of.period > last / self.of.period;
        if !is_multiple || !self.is_open || self.received == FirstMessage::WaitedInVain {
            return;
        }
        let from = now - self.of.lag;
        self.counts.holds += 1;
        let is_answered = self.newest.is_some_and(|newest| newest >= from);
        self.phase = if is_answered { Phase::Over } else { Phase::Held { from } };
    }

    fn note(&mut self, stamp: Option<SimTime>, now: SimTime) {
        self.received = FirstMessage::Yes;
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
        if self.received == FirstMessage::NotYet {
            self.received = FirstMessage::WaitedInVain;
        }
        Some(self.of.name.clone())
    }

    /// Timeout of a hold (wall time).
    fn timeout(&self) -> Duration {
        if self.received == FirstMessage::Yes { self.of.timeout } else { self.of.start_timeout }
    }
}

#[cfg(test)]
mod tests;

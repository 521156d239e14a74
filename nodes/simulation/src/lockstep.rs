//! Lockstep: heartbeat k + K does not start before every declared participant has acknowledged heartbeat k. The window
//! K lets slow sensors overlap with the physics.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use selene_coherence::{Links, NodeError};
use selene_ros::transport::{Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};

/// Heartbeats that the simulation may be ahead of the slowest participant: half a second in the default scenario.
const WINDOW: u64 = 100;
/// Wall time after which the latest snapshot is published again: soon for a participant that has never answered, later
/// for one that is merely slow.
const REPEAT_TO_NEW: Duration = Duration::from_millis(50);
const REPEAT_TO_SLOW: Duration = Duration::from_secs(1);
/// How often it is reported for whom the simulation waits (wall time).
const REPORT_EVERY: Duration = Duration::from_secs(5);

pub(crate) struct Lockstep {
    /// The latest heartbeat that each participant has acknowledged.
    acknowledged: BTreeMap<String, Option<u64>>,
    /// Number of resets of the world: acknowledgements from before the last one do not count.
    epoch: u32,
    arrived: Receiver<selene_msgs::Acknowledge>,
    /// When any participant last sent a message.
    received: Instant,
    /// Since when the simulation waits, and when that was last reported.
    waiting_since: Option<Instant>,
    reported: Instant,
    /// When any participant last acknowledged something new.
    advanced: Instant,
    /// When the latest snapshot was last published again, or when nobody had to be waited for.
    repeated: Instant,
    _subscription: Subscription,
}

impl Lockstep {
    pub(crate) fn new(links: &Links, participants: &[String]) -> Result<Self, NodeError> {
        let (sender, arrived) = channel();
        let take = move |message| drop(sender.send(message));
        let subscription = subscribe(links.internal.as_ref(), &links.acknowledge(), Qos::state(), take)?;
        Ok(Self {
            acknowledged: participants.iter().map(|name| (name.clone(), None)).collect(),
            epoch: 0,
            arrived,
            received: Instant::now(),
            waiting_since: None,
            reported: Instant::now(),
            advanced: Instant::now(),
            repeated: Instant::now(),
            _subscription: subscription,
        })
    }

    /// Begins anew after a reset of the world.
    pub(crate) fn begin_anew(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.acknowledged.values_mut().for_each(|latest| *latest = None);
    }

    /// Whether heartbeat `sequence + 1` must not start yet; with `to_the_last`, every participant must have
    /// acknowledged `sequence` itself.
    pub(crate) fn must_wait(&mut self, sequence: u64, to_the_last: bool) -> bool {
        while let Ok(message) = self.arrived.try_recv() {
            self.note(&message);
        }
        let oldest_allowed = if to_the_last { sequence } else { sequence.saturating_sub(WINDOW) };
        let must_wait = self.acknowledged.values().any(|latest| latest.is_none_or(|latest| latest < oldest_allowed));
        if must_wait {
            self.waiting_since.get_or_insert_with(Instant::now);
        } else {
            self.repeated = Instant::now();
            self.waiting_since = None;
        }
        must_wait
    }

    /// Heartbeats that the slowest participant is behind `sequence`; `None` without participants.
    pub(crate) fn behind(&self, sequence: u64) -> Option<u64> {
        self.acknowledged.values().map(|latest| sequence.saturating_sub(latest.unwrap_or(0))).max()
    }

    /// Waits at most `longest` for an acknowledgement; returns true if the latest snapshot should be published again,
    /// because none arrived for a while.
    pub(crate) fn wait_for(&mut self, longest: Duration) -> bool {
        let all_known = self.acknowledged.values().all(Option::is_some);
        let timeout = if all_known { REPEAT_TO_SLOW } else { REPEAT_TO_NEW };
        match self.arrived.recv_timeout(longest.min(timeout)) {
            Ok(message) => self.note(&message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.report_slowest();
        let is_due = self.repeated.max(self.received).elapsed() >= timeout;
        if is_due {
            self.repeated = Instant::now();
        }
        is_due
    }

    /// How long no participant has acknowledged anything new, counted from `begun` at the earliest.
    pub(crate) fn silent_since(&self, begun: Instant) -> Duration {
        self.advanced.max(begun).elapsed()
    }

    /// Waits for an acknowledgement; returns true if none arrived for a while.
    pub(crate) fn wait(&mut self) -> bool {
        self.wait_for(REPEAT_TO_SLOW)
    }

    fn note(&mut self, message: &selene_msgs::Acknowledge) {
        self.received = Instant::now();
        if message.epoch != self.epoch {
            return;
        }
        if let Some(latest) = self.acknowledged.get_mut(&message.participant)
            && *latest < Some(message.sequence)
        {
            *latest = Some(message.sequence);
            self.advanced = Instant::now();
        }
    }

    /// Reports the participants that are farthest behind, after a while of waiting.
    fn report_slowest(&mut self) {
        let Some(since) = self.waiting_since else { return };
        if since.max(self.reported).elapsed() < REPORT_EVERY {
            return;
        }
        self.reported = Instant::now();
        let slowest = self.acknowledged.values().min().copied().flatten();
        for (name, _) in self.acknowledged.iter().filter(|(_, latest)| **latest == slowest) {
            let seconds = since.elapsed().as_secs();
            tracing::warn!("the simulation has waited for the participant {name} for {seconds} s");
        }
    }
}

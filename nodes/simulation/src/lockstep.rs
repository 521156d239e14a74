//! Lockstep: heartbeat k + K is not started before every declared participant has
//! acknowledged k. K lets slow sensors overlap with the physics.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use selene_coherence::{Links, NodeError};
use selene_ros::transport::{Subscription, subscribe};
use selene_ros::{Qos, selene_msgs};

/// Heartbeats the simulation may be ahead of the slowest participant: half a second
/// of the default scenario.
const WINDOW: u64 = 100;
/// How long to wait before the latest snapshot is said again (wall time): soon while
/// somebody has not been heard at all, patiently for one that is merely slow.
const SAY_AGAIN_TO_NEW: Duration = Duration::from_millis(50);
const SAY_AGAIN_TO_SLOW: Duration = Duration::from_secs(1);
/// How often a silent participant is reported (wall time).
const REPORT_EVERY: Duration = Duration::from_secs(5);

pub(crate) struct Lockstep {
    /// The latest heartbeat that each participant has acknowledged.
    acknowledged: BTreeMap<String, Option<u64>>,
    /// How many times the world was reset: what was acknowledged before does not count.
    epoch: u32,
    arrived: Receiver<selene_msgs::Acknowledge>,
    /// When somebody was last heard, and when that was last waited for in vain so long that it was reported.
    heard: Instant,
    reported: Instant,
    /// When somebody last dealt with something new.
    advanced: Instant,
    /// When the latest snapshot was last said again, or nobody was waited for.
    said_again: Instant,
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
            heard: Instant::now(),
            reported: Instant::now(),
            advanced: Instant::now(),
            said_again: Instant::now(),
            _subscription: subscription,
        })
    }

    /// Begins anew with a world that was reset.
    pub(crate) fn begin_anew(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.acknowledged.values_mut().for_each(|latest| *latest = None);
    }

    /// Whether heartbeat `sequence + 1` may not start yet; `to_the_last` asks that
    /// everybody has dealt with `sequence` itself.
    pub(crate) fn must_wait(&mut self, sequence: u64, to_the_last: bool) -> bool {
        while let Ok(message) = self.arrived.try_recv() {
            self.note(&message);
        }
        let oldest_allowed = if to_the_last { sequence } else { sequence.saturating_sub(WINDOW) };
        let must_wait = self.acknowledged.values().any(|latest| latest.is_none_or(|latest| latest < oldest_allowed));
        if !must_wait {
            self.said_again = Instant::now();
        }
        must_wait
    }

    /// Heartbeats that the slowest participant is behind `sequence`; none where nobody is waited for.
    pub(crate) fn behind(&self, sequence: u64) -> Option<u64> {
        self.acknowledged.values().map(|latest| sequence.saturating_sub(latest.unwrap_or(0))).max()
    }

    /// Waits for an acknowledgement, `longest` at most; true when none came for a while, so that the latest snapshot
    /// is to be said again.
    pub(crate) fn wait_for(&mut self, longest: Duration) -> bool {
        let all_known = self.acknowledged.values().all(Option::is_some);
        let patience = if all_known { SAY_AGAIN_TO_SLOW } else { SAY_AGAIN_TO_NEW };
        match self.arrived.recv_timeout(longest.min(patience)) {
            Ok(message) => self.note(&message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => self.report_silent(),
        }
        let is_due = self.said_again.max(self.heard).elapsed() >= patience;
        if is_due {
            self.said_again = Instant::now();
        }
        is_due
    }

    /// For how long nobody dealt with anything new, counted from `begun` at the earliest.
    pub(crate) fn silent_since(&self, begun: Instant) -> Duration {
        self.advanced.max(begun).elapsed()
    }

    /// Waits for an acknowledgement; true when none came for a while.
    pub(crate) fn wait(&mut self) -> bool {
        self.wait_for(SAY_AGAIN_TO_SLOW)
    }

    fn note(&mut self, message: &selene_msgs::Acknowledge) {
        self.heard = Instant::now();
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

    fn report_silent(&mut self) {
        if self.heard.max(self.reported).elapsed() < REPORT_EVERY {
            return;
        }
        self.reported = Instant::now();
        for (participant, latest) in &self.acknowledged {
            tracing::warn!(participant, ?latest, "the simulation waits for its participants");
        }
    }
}

//! Paced sending of fragmented samples.
//!
//! UDP has no flow control: a receiver with a socket buffer of a few hundred
//! kilobytes (the usual kernel default is 212 992 bytes, bookkeeping included)
//! loses what arrives while its thread is not scheduled. A sample of some
//! hundred kilobytes must therefore not leave in one burst.
//!
//! Each destination has a lane: a queue and a token bucket. What does not fit
//! the bucket waits in the queue, in order, and is released by the event loop as
//! tokens come in. Small samples and control messages do not pass through here,
//! so a large sample under way does not delay them.
//!
//! The rate follows what the lane was asked to carry: half as much again as in the
//! busier one of the last two quarters of a second, and enough to empty the queue within
//! [`DRAIN`], within [`RATE_MIN`] and [`RATE_MAX`].

use std::{
  collections::{BTreeMap, VecDeque},
  net::SocketAddr,
  time::{Duration, Instant},
};

use crate::rtps::outbound::{Datagram, SocketId};

/// Bytes a second that a lane sends at least: 213 kB buffers then last 6 ms.
const RATE_MIN: f64 = 32.0e6;
/// Bytes a second that a lane sends at most.
const RATE_MAX: f64 = 120.0e6;
/// Rate over demand: a sample is gone in two thirds of its period.
const HEADROOM: f64 = 1.5;
/// The most that leaves a lane at once, bytes: a third of the usual buffer.
const BURST: f64 = 64.0 * 1024.0;
/// What waits is gone after this, where the highest rate allows it.
const DRAIN: Duration = Duration::from_millis(20);
/// How long demand is summed up for an estimate.
const DEMAND_WINDOW: Duration = Duration::from_millis(250);
/// How long the event loop waits at least before it sends on: some 30 kB at the
/// highest rate.
const TICK: Duration = Duration::from_micros(250);
/// A lane that has been idle for so long is forgotten.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// Writers that have more than this many bytes waiting hold back further large
/// samples.
pub(crate) const PACED_BACKLOG_MAX: usize = 8 * 1024 * 1024;
/// The largest paced datagram: receivers' buffers fill by whole datagrams.
pub(crate) const PACED_DATAGRAM_MAX: usize = 15_000;

/// One destination.
#[derive(Debug)]
struct Lane {
  queue: VecDeque<Datagram>,
  queued_bytes: usize,
  tokens: f64,
  refilled: Instant,
  window_began: Instant,
  window_bytes: usize,
  last_window_bytes: usize,
}

impl Lane {
  fn new(now: Instant) -> Self {
    Self {
      queue: VecDeque::new(),
      queued_bytes: 0,
      tokens: BURST,
      refilled: now,
      window_began: now,
      window_bytes: 0,
      last_window_bytes: 0,
    }
  }

  fn rate(&self) -> f64 {
    let demand = self.window_bytes.max(self.last_window_bytes) as f64;
    let steady = HEADROOM * demand / DEMAND_WINDOW.as_secs_f64();
    let catching_up = self.queued_bytes as f64 / DRAIN.as_secs_f64();
    steady.max(catching_up).clamp(RATE_MIN, RATE_MAX)
  }

  fn refill(&mut self, now: Instant) {
    let passed = now.saturating_duration_since(self.refilled).as_secs_f64();
    self.tokens = (self.tokens + passed * self.rate()).min(BURST);
    self.refilled = now;
  }

  fn note_demand(&mut self, bytes: usize, now: Instant) {
    let passed = now.saturating_duration_since(self.window_began);
    if passed >= DEMAND_WINDOW {
      let is_next = passed < 2 * DEMAND_WINDOW;
      self.last_window_bytes = if is_next { self.window_bytes } else { 0 };
      self.window_bytes = 0;
      self.window_began = now;
    }
    self.window_bytes += bytes;
  }

  fn take(&mut self, bytes: usize) -> bool {
    let bytes = bytes as f64;
    let is_enough = self.tokens >= bytes;
    if is_enough {
      self.tokens -= bytes;
    }
    is_enough
  }

  /// How long until the first one waiting may go.
  fn due(&self) -> Option<Duration> {
    let first = self.queue.front()?;
    let missing = (first.bytes.len() as f64 - self.tokens).max(0.0);
    Some(Duration::from_secs_f64(missing / self.rate()).max(TICK))
  }
}

/// All lanes of a sender.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
  lanes: BTreeMap<(SocketId, SocketAddr), Lane>,
  queued_bytes: usize,
}

impl Pacer {
  /// Whether `bytes` may leave now; otherwise they are queued.
  pub(crate) fn admit(&mut self, id: SocketId, addr: SocketAddr, bytes: &[u8], now: Instant) -> bool {
    let lane = self.lanes.entry((id, addr)).or_insert_with(|| Lane::new(now));
    lane.refill(now);
    lane.note_demand(bytes.len(), now);
    if lane.queue.is_empty() && lane.take(bytes.len()) {
      return true;
    }
    lane.queued_bytes += bytes.len();
    self.queued_bytes += bytes.len();
    lane.queue.push_back(Datagram {
      addr,
      bytes: bytes.to_vec(),
    });
    false
  }

  /// Takes out everything whose time has come, in order.
  pub(crate) fn release(&mut self, now: Instant) -> Vec<(SocketId, Datagram)> {
    let mut released = Vec::new();
    for ((id, _), lane) in &mut self.lanes {
      lane.refill(now);
      while let Some(first) = lane.queue.front() {
        let length = first.bytes.len();
        if !lane.take(length) {
          break;
        }
        lane.queued_bytes -= length;
        self.queued_bytes -= length;
        released.extend(lane.queue.pop_front().map(|datagram| (*id, datagram)));
      }
    }
    self
      .lanes
      .retain(|_, lane| !lane.queue.is_empty() || now.saturating_duration_since(lane.window_began) < IDLE_MAX);
    released
  }

  /// Bytes that wait.
  pub(crate) fn backlog_bytes(&self) -> usize {
    self.queued_bytes
  }

  /// How long until something may leave.
  pub(crate) fn due(&self) -> Option<Duration> {
    self.lanes.values().filter_map(Lane::due).min()
  }
}

#[cfg(test)]
mod tests {
  use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
  };

  use super::{Pacer, BURST, RATE_MAX, RATE_MIN};
  use crate::rtps::outbound::SocketId;

  const SIZE: usize = 14_000;

  fn addr(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
  }

  #[test]
  fn a_burst_leaves_at_once_and_the_rest_at_the_rate_in_order() {
    let mut pacer = Pacer::default();
    let began = Instant::now();
    let datagrams: Vec<Vec<u8>> = (0..40u8).map(|n| vec![n; SIZE]).collect();
    let at_once = datagrams
      .iter()
      .filter(|d| pacer.admit(SocketId::Unicast, addr(1), d, began))
      .count();
    assert_eq!(at_once, BURST as usize / SIZE);
    let mut order = Vec::new();
    let mut now = began;
    while pacer.backlog_bytes() > 0 {
      now += pacer.due().expect("something waits");
      let released = pacer.release(now);
      assert!(released.len() * SIZE <= BURST as usize);
      order.extend(released.iter().map(|(_, d)| d.bytes[0]));
    }
    let waited: Vec<u8> = (at_once as u8..40).collect();
    assert_eq!(order, waited);
    let took = (now - began).as_secs_f64();
    let expected = (40 * SIZE) as f64 / RATE_MIN;
    assert!(took > 0.7 * expected && took < 1.3 * expected, "{took} {expected}");
    assert_eq!(pacer.due(), None);
  }

  #[test]
  fn destinations_do_not_wait_for_one_another_and_demand_raises_the_rate() {
    let mut pacer = Pacer::default();
    let mut now = Instant::now();
    assert!(!(0..10).all(|_| pacer.admit(SocketId::Unicast, addr(1), &[0; SIZE], now)));
    assert!(pacer.admit(SocketId::Unicast, addr(2), &[0; SIZE], now));
    // 60 MB in two seconds.
    for _ in 0..2000 {
      for _ in 0..3 {
        pacer.admit(SocketId::Unicast, addr(1), &[0; 10_000], now);
      }
      pacer.release(now);
      now += Duration::from_millis(1);
    }
    let rate = pacer.lanes[&(SocketId::Unicast, addr(1))].rate();
    assert!(rate > 55.0e6 && rate < RATE_MAX, "{rate}");
    assert!(pacer.backlog_bytes() < 200_000);
  }
}

//! The sequence of losses and delays of one link.

use std::time::Duration;

use selene_base::random::{RngExt, stream_at};

use super::Effect;

/// The impairment of one link's messages, in order.
pub(super) struct LinkEffects {
    effect: Effect,
    /// Name of the link's random number streams.
    name: String,
    /// Number of the next message.
    number: u64,
    /// Index of the next loss, and the message that it takes; `None` if no message is lost.
    loss: Option<(u64, u64)>,
    /// When the last message arrives.
    last: Duration,
}

impl LinkEffects {
    pub(super) fn new(effect: Effect, name: &str) -> Self {
        let mut effects = Self { effect, name: name.to_owned(), number: 0, loss: None, last: Duration::ZERO };
        effects.loss = (effect.loss > 0.0).then(|| (0, effects.lost_message(0)));
        effects
    }

    /// Delay of the next message; `None` if it is lost.
    pub(super) fn next(&mut self) -> Option<Duration> {
        let number = self.number;
        self.number += 1;
        match self.loss {
            Some((k, lost)) if lost == number => {
                self.loss = Some((k + 1, self.lost_message(k + 1)));
                None
            }
            _ => Some(self.delay(number)),
        }
    }

    /// Arrival time of a message that is due at `due`: not before that of the previous one.
    pub(super) fn in_order(&mut self, due: Duration) -> Duration {
        self.last = self.last.max(due);
        self.last
    }

    /// The message lost by loss `k`: one of those from k/p up to (k + 1)/p.
    fn lost_message(&self, k: u64) -> u64 {
        let first = |k: u64| (k as f64 / self.effect.loss).ceil() as u64;
        let (from, to) = (first(k), first(k + 1));
        stream_at(self.effect.seed, &format!("{} loss", self.name), k).random_range(from..to.max(from + 1))
    }

    fn delay(&self, number: u64) -> Duration {
        let Effect { delay, jitter, seed, .. } = self.effect;
        if jitter.is_zero() {
            return delay;
        }
        delay + jitter.mul_f64(stream_at(seed, &self.name, number).random_range(0.0..1.0))
    }
}

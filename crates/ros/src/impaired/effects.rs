//! What happens to message after message of one link: lost, or late by so much.

use std::time::Duration;

use selene_base::random::{RngExt, stream_at};

use super::Effect;

/// The messages of one link, in order.
pub(super) struct LinkEffects {
    effect: Effect,
    /// Name of the link's random streams.
    name: String,
    /// The next message's number.
    number: u64,
    /// Which of the losses comes next, and the message that it takes; none where none is lost.
    loss: Option<(u64, u64)>,
    /// When the last message comes out.
    last: Duration,
}

impl LinkEffects {
    pub(super) fn new(effect: Effect, name: &str) -> Self {
        let mut effects = Self { effect, name: name.to_owned(), number: 0, loss: None, last: Duration::ZERO };
        effects.loss = (effect.loss > 0.0).then(|| (0, effects.lost_message(0)));
        effects
    }

    /// By how much the next message is late; none if it is lost.
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

    /// When a message comes out that would come out at `due`: not before the one before it.
    pub(super) fn in_order(&mut self, due: Duration) -> Duration {
        self.last = self.last.max(due);
        self.last
    }

    /// The message that loss `k` takes: one of those from k/p up to (k + 1)/p.
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

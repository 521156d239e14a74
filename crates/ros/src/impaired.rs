//! A deliberately impaired link for tests of a user's software: messages of chosen topics are delayed or lost, in both
//! directions. The effect on a message follows from the rule's seed, the topic, the direction and the message's number,
//! so that two runs lose the same messages.
//!
//! - Losses are stratified: of every 1/p messages in a row exactly one is lost, drawn uniformly. So the first k/p
//!   messages contain exactly k losses, and no run is luckier than another.
//! - A delay is `delay` plus a uniform random part of `jitter` (wall time). Messages of one link do not overtake each
//!   other, as on a DDS topic with one writer.
//! - Topics under `/selene/`, by which Selene's own nodes share one world, are not affected.
//!
//! Messages still under way when the transport is dropped are lost. Services are not affected.

mod delay;
mod effects;

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regex_lite::Regex;
use selene_base::SimTime;

use self::delay::{DelayLine, Job};
use self::effects::LinkEffects;
use crate::bag::is_internal;
use crate::cdr::Encoded;
use crate::layer::Layer;
use crate::qos::Topic;
use crate::transport::{Outlet, Sink, Subscription, Transport, TransportError};

/// Maximum delay and maximum jitter, ms.
const DELAY_MAX_MS: f64 = 60_000.0;

/// A rule: which topics are impaired, and how.
#[derive(Clone, Debug)]
pub struct Impairment {
    topics: Regex,
    effect: Effect,
}

/// The impairment of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Effect {
    delay: Duration,
    jitter: Duration,
    /// Fraction of messages that is lost, 0 to 1.
    loss: f64,
    seed: u64,
}

/// A text that is not a valid impairment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; an impairment reads like '/cmd_vel|/tf:delay_ms=30,jitter_ms=5,loss=0.01,seed=1'")]
pub struct ImpairmentError {
    what: String,
}

impl Impairment {
    /// Whether the rule applies to a topic: its expression matches anywhere in the name.
    fn is_about(&self, topic: &str) -> bool {
        !is_internal(topic) && self.topics.is_match(topic)
    }
}

impl FromStr for Impairment {
    type Err = ImpairmentError;

    /// Parses `EXPRESSION:key=value,…`, where EXPRESSION is a regular expression.
    fn from_str(text: &str) -> Result<Self, ImpairmentError> {
        let refuse = |what: String| ImpairmentError { what };
        let parts = text.rsplit_once(':').filter(|(topics, _)| !topics.is_empty());
        let (topics, keys) = parts.ok_or_else(|| refuse(format!("'{text}' has no topics before a colon")))?;
        let topics = Regex::new(topics).map_err(|error| refuse(format!("'{topics}' is no expression: {error}")))?;
        let mut effect = Effect::default();
        keys.split(',').try_for_each(|key| effect.set(key).map_err(refuse))?;
        Ok(Self { topics, effect })
    }
}

impl Effect {
    /// Parses one `key=value`; the error says what is wrong with it.
    fn set(&mut self, text: &str) -> Result<(), String> {
        let (key, value) = text.split_once('=').ok_or_else(|| format!("'{text}' is no key=value"))?;
        match key.trim() {
            "delay_ms" => self.delay = milliseconds(text, value)?,
            "jitter_ms" => self.jitter = milliseconds(text, value)?,
            "loss" => self.loss = number(text, value, 1.0)?,
            "seed" => {
                self.seed = value.trim().parse().map_err(|_| format!("'{text}': must be a whole number, 0 or more"))?;
            }
            other => return Err(format!("'{other}': must be delay_ms, jitter_ms, loss or seed")),
        }
        Ok(())
    }
}

fn milliseconds(text: &str, value: &str) -> Result<Duration, String> {
    number(text, value, DELAY_MAX_MS).map(|ms| Duration::from_secs_f64(ms * 1e-3))
}

fn number(text: &str, value: &str, max: f64) -> Result<f64, String> {
    let number = value.trim().parse().ok().filter(|number| (0.0..=max).contains(number));
    number.ok_or_else(|| format!("'{text}': must be 0 to {max}"))
}

/// A transport that delays or loses messages.
pub struct Impaired {
    inner: Arc<dyn Transport>,
    rules: Vec<Impairment>,
    line: DelayLine,
}

impl Impaired {
    /// Impairs `inner`; if several rules apply to a topic, the first one counts.
    ///
    /// # Errors
    /// When the thread for delayed messages cannot be started.
    pub fn new(inner: Arc<dyn Transport>, rules: Vec<Impairment>) -> Result<Self, TransportError> {
        let refused = |error: std::io::Error| TransportError::Open {
            middleware: "impaired wire".to_owned(),
            what: error.to_string(),
        };
        Ok(Self { inner, rules, line: DelayLine::start().map_err(refused)? })
    }

    /// The impairment of one direction of a topic; `None` if no rule applies.
    fn link(&self, topic: &Topic, direction: &str) -> Option<Link> {
        let rule = self.rules.iter().find(|rule| rule.is_about(&topic.name))?;
        let effects = LinkEffects::new(rule.effect, &format!("impaired {direction} {}", topic.name));
        Some(Link { effects: Mutex::new(effects), line: self.line.clone() })
    }
}

/// The impairment of one direction of a topic.
struct Link {
    effects: Mutex<LinkEffects>,
    line: DelayLine,
}

impl Link {
    /// Runs `job` when the message arrives at the other end; never if it is lost.
    fn pass(&self, job: Job) {
        let mut effects = self.effects.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that messages sent at the same time keep the order of their numbers.
        if let Some(delay) = effects.next() {
            let due = effects.in_order(self.line.now() + delay);
            self.line.put(due, job);
        }
    }
}

impl Layer for Impaired {
    fn inner(&self) -> &dyn Transport {
        self.inner.as_ref()
    }

    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let outlet = self.inner.advertise(topic)?;
        let Some(link) = self.link(topic, "out") else { return Ok(outlet) };
        Ok(Box::new(ImpairedOutlet { outlet: Arc::from(outlet), link, failed: Arc::default() }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        let Some(link) = self.link(topic, "in") else { return self.inner.subscribe(topic, sink) };
        let sink = Arc::new(sink);
        let late = move |message: &Encoded| {
            let (sink, message) = (Arc::clone(&sink), message.clone());
            link.pass(Box::new(move || sink(&message)));
        };
        self.inner.subscribe(topic, Box::new(late))
    }
}

struct ImpairedOutlet {
    outlet: Arc<dyn Outlet>,
    link: Link,
    /// Whether a delayed message could not be sent; only the first failure is logged.
    failed: Arc<AtomicBool>,
}

impl ImpairedOutlet {
    fn later(&self, hand_over: impl FnOnce(&dyn Outlet) -> Result<(), TransportError> + Send + 'static) {
        let (outlet, failed) = (Arc::clone(&self.outlet), Arc::clone(&self.failed));
        self.link.pass(Box::new(move || {
            if let Err(error) = hand_over(outlet.as_ref())
                && !failed.swap(true, Ordering::Relaxed)
            {
                tracing::warn!("{error}; the run goes on");
            }
        }));
    }
}

impl Outlet for ImpairedOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let message = message.clone();
        self.later(move |outlet| outlet.send(&message, stamp));
        Ok(())
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let message = message.clone();
        self.later(move |outlet| outlet.repeat(&message, stamp));
        Ok(())
    }

    fn subscribers(&self) -> Option<usize> {
        self.outlet.subscribers()
    }
}

#[cfg(test)]
mod tests;

//! Stages of a sensor's row that other processes do. What such a stage is given leaves on `SENSOR/stages/NAME/in`; what
//! the other process makes of it comes back on `SENSOR/stages/NAME/out`, of the same type and with the same stamp.
//! Both topics are reliable.
//!
//! The node waits for each answer, so that where the simulation waits for the node, simulated time is held. First
//! answers are waited for until `START_TIMEOUT` after the first question of this process, whichever stage asks it, for
//! the other processes may only just begin; every later one up to the stage's own timeout. A sample without an answer
//! is lost and counted. Who missed one, or was silent from the start, is asked on but not waited for until he answers
//! again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::{Augmented, augment};
use selene_ros::stamp::header_stamp;
use selene_ros::transport::{Publisher, Subscription, Transport, TransportError};
use selene_ros::{Encoded, Message, Qos, Topic, decode};
use selene_sensors::{AugmentSpec, OwnTopicSpec, StageRow};

/// How long first answers are waited for, from the first question on (wall time).
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How often, until the first answer, it is looked whether there are new subscribers (wall time).
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// How often, until the first answer, a message is said again where there are none, or that is not known: an answer
/// may have been lost (wall time). Over DDS each is a new sample; within `START_TIMEOUT` fewer than the ten that a queue
/// has by default.
const SAY_AGAIN: Duration = Duration::from_secs(5);
/// How many answers are kept that nobody has looked at yet; only one is asked for at a time.
const KEPT: usize = 8;

/// When this process stops waiting for first answers; set by its first question.
static START_ENDS: OnceLock<Instant> = OnceLock::new();

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was published.
    Published,
    /// Its sensor saw nothing to measure.
    Nothing,
    /// Another process, whose stage it was to pass, did not answer in time.
    Unanswered,
    /// What another process made of it is not of its type.
    Misfit,
}

/// The stages of other processes in a sensor's row, whose data are messages `M` with a header.
pub struct OwnStages<M> {
    row: StageRow,
    stages: Vec<OwnStage<M>>,
}

struct OwnStage<M> {
    /// Its place in the row.
    at: usize,
    timeout: Duration,
    to: Publisher<M>,
    answers: Receiver<(SimTime, M)>,
    start_ends: &'static OnceLock<Instant>,
    standing: Standing,
    _subscription: Subscription,
}

/// What is known of who does a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// He never answered, and is still waited for.
    New,
    /// He answered last.
    Answers,
    /// He missed a sample, and has not answered since.
    Silent,
}

/// Whether a topic is the one on which a stage of another process is asked.
#[must_use]
pub fn is_question(topic: &str) -> bool {
    let mut ends = topic.rsplit('/');
    ends.next() == Some("in") && ends.nth(1) == Some("stages")
}

impl<M: Message> OwnStages<M> {
    /// Those of a row; `sensor` is what the sensor's topics begin with.
    ///
    /// # Errors
    /// When a topic cannot be opened.
    pub fn open(transport: &dyn Transport, sensor: &str, row: StageRow) -> Result<Self, TransportError> {
        let open = |(at, stage): (usize, &AugmentSpec)| match stage {
            AugmentSpec::Own(own) => Some(OwnStage::open(transport, sensor, at, own)),
            _ => None,
        };
        let stages = row.stages().iter().enumerate().filter_map(open).collect::<Result<_, _>>()?;
        Ok(Self { row, stages })
    }

    /// The row.
    #[must_use]
    pub fn row(&self) -> &StageRow {
        &self.row
    }

    /// Takes a datum, which came to the first of them, through the rest of its row: `told` makes a message of it,
    /// `take` takes in what came back and says whether that fits.
    ///
    /// # Errors
    /// When a message cannot be sent.
    pub fn finish<D: Augmented>(
        &mut self,
        datum: &mut D,
        stamp: SimTime,
        told: impl Fn(&D) -> M,
        take: impl Fn(&mut D, M) -> bool,
        stop: &AtomicBool,
    ) -> Result<Outcome, TransportError> {
        for stage in &mut self.stages {
            let Some(answer) = stage.ask(&told(datum), stamp, stop)? else { return Ok(Outcome::Unanswered) };
            if !take(datum, answer) {
                return Ok(Outcome::Misfit);
            }
            augment(datum, &self.row, stage.at + 1);
        }
        Ok(Outcome::Published)
    }

    /// Has all of them change a message; none where one did not answer.
    ///
    /// # Errors
    /// When a message cannot be sent.
    pub fn pass(&mut self, message: M, stamp: SimTime, stop: &AtomicBool) -> Result<Option<M>, TransportError> {
        let mut message = message;
        for stage in &mut self.stages {
            let Some(answer) = stage.ask(&message, stamp, stop)? else { return Ok(None) };
            message = answer;
        }
        Ok(Some(message))
    }
}

impl<M: Message> OwnStage<M> {
    fn open(transport: &dyn Transport, sensor: &str, at: usize, own: &OwnTopicSpec) -> Result<Self, TransportError> {
        let name = |end: &str| format!("{sensor}/stages/{}/{end}", own.name);
        let (sender, answers) = sync_channel(KEPT);
        // Bytes that do not decode or have no stamp are no answer. A full channel holds what nobody asked for, a closed
        // one means that nobody asks any more.
        let sink = move |encoded: &Encoded| {
            if let (Some(stamp), Ok(message)) = (header_stamp(encoded), decode::<M>(encoded)) {
                drop(sender.try_send((stamp, message)));
            }
        };
        let out = Topic::new::<M>(&name("out"), Qos::reliable())?;
        Ok(Self {
            at,
            timeout: Duration::from_secs_f64(own.timeout_s),
            to: Publisher::new(transport, &name("in"), Qos::reliable())?,
            answers,
            start_ends: &START_ENDS,
            standing: Standing::New,
            _subscription: transport.subscribe(&out, Box::new(sink))?,
        })
    }

    /// What the other process makes of a message; none where it does not answer in time.
    fn ask(&mut self, message: &M, stamp: SimTime, stop: &AtomicBool) -> Result<Option<M>, TransportError> {
        // What came too late for its own sample.
        if self.answers.try_iter().take(KEPT).count() > 0 {
            self.standing = Standing::Answers;
        }
        let until = Instant::now() + self.patience();
        let (mut subscribers, mut said) = (self.to.subscribers(), Instant::now());
        self.to.publish(message, stamp)?;
        // Both are looked at each time round: others may publish answers without end.
        while !stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.missed(stamp);
                break;
            }
            match self.answers.recv_timeout(left.min(LOOK_AGAIN)) {
                Ok((told, answer)) => {
                    self.standing = Standing::Answers;
                    if told == stamp {
                        return Ok(Some(answer));
                    }
                }
                Err(_) if self.standing == Standing::New => {
                    let before = std::mem::replace(&mut subscribers, self.to.subscribers());
                    if subscribers > before || said.elapsed() >= SAY_AGAIN {
                        self.to.repeat(message, stamp)?;
                        said = Instant::now();
                    }
                }
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// How long the next answer is waited for.
    fn patience(&self) -> Duration {
        match self.standing {
            Standing::New => {
                let now = Instant::now();
                self.start_ends.get_or_init(|| now + START_TIMEOUT).saturating_duration_since(now)
            }
            Standing::Answers => self.timeout,
            Standing::Silent => Duration::ZERO,
        }
    }

    /// Nobody answered to a sample; said once until somebody does again.
    fn missed(&mut self, stamp: SimTime) {
        if std::mem::replace(&mut self.standing, Standing::Silent) != Standing::Silent {
            let topic = &self.to.topic().name;
            let then = "samples are lost, without waiting, until one is answered again";
            tracing::warn!("{topic}: no answer in time to the sample of {stamp}; {then}");
        }
    }
}

#[cfg(test)]
mod tests;

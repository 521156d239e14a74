//! Augmentation stages that other processes carry out. The input of such a stage is published on
//! `SENSOR/stages/NAME/in`; the other process publishes its output on `SENSOR/stages/NAME/out`, with the same type and
//! the same stamp. Both topics are reliable.
//!
//! The node waits for each answer; if the simulation waits for the node, this holds simulated time. First answers are
//! waited for until `START_TIMEOUT` after the first request of this process, whichever stage sends it, since the other
//! processes may only just be starting. Every later answer is waited for up to the stage's own timeout. A sample
//! without an answer is lost and counted. A stage that missed an answer, or never gave one, still gets requests, but is
//! not waited for until it answers again.

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

/// How long first answers are waited for, counted from the first request (wall time).
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How often new subscribers are looked for until the first answer (wall time).
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// How often a request is repeated until the first answer, without new subscribers or if the transport does not know
/// them: an answer may have been lost (wall time). Over DDS each repetition is a new sample; within `START_TIMEOUT`
/// there are fewer than ten, the default queue depth.
const REPEAT_EVERY: Duration = Duration::from_secs(5);
/// Number of unread answers that are kept; there is only one open request at a time.
const KEPT: usize = 8;

/// When this process stops waiting for first answers; set by its first request.
static START_ENDS: OnceLock<Instant> = OnceLock::new();

/// What happened to a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleOutcome {
    /// It was published.
    Published,
    /// The sensor had nothing to measure.
    Nothing,
    /// A stage in another process did not answer in time.
    Unanswered,
    /// The answer of another process has another layout than the sample.
    Misfit,
}

/// The stages of a sensor that other processes carry out. Its data are messages `M` with a header.
pub struct RemoteStages<M> {
    row: StageRow,
    stages: Vec<OwnStage<M>>,
}

struct OwnStage<M> {
    /// Index of the stage in the row.
    at: usize,
    timeout: Duration,
    to: Publisher<M>,
    answers: Receiver<(SimTime, M)>,
    start_ends: &'static OnceLock<Instant>,
    standing: StageState,
    _subscription: Subscription,
}

/// What is known about the process that carries out a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StageState {
    /// It has never answered, and is still waited for.
    New,
    /// It has answered the latest request or a late one.
    Answers,
    /// It missed a request and has not answered since.
    Silent,
}

/// Whether a topic is the input of a stage in another process.
#[must_use]
pub fn is_question(topic: &str) -> bool {
    let mut ends = topic.rsplit('/');
    ends.next() == Some("in") && ends.nth(1) == Some("stages")
}

impl<M: Message> RemoteStages<M> {
    /// Opens the topics of a row's stages; `sensor` is the prefix of the sensor's topics.
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

    /// All stages of the sensor.
    #[must_use]
    pub fn row(&self) -> &StageRow {
        &self.row
    }

    /// Takes a datum that has reached the first of these stages through the rest of its row. `reported` converts it to a
    /// message; `take` takes over an answer and returns whether its layout fits.
    ///
    /// # Errors
    /// When a message cannot be sent.
    pub fn finish<D: Augmented>(
        &mut self,
        datum: &mut D,
        stamp: SimTime,
        reported: impl Fn(&D) -> M,
        take: impl Fn(&mut D, M) -> bool,
        stop: &AtomicBool,
    ) -> Result<SampleOutcome, TransportError> {
        for stage in &mut self.stages {
            let Some(answer) = stage.request(&reported(datum), stamp, stop)? else {
                return Ok(SampleOutcome::Unanswered);
            };
            if !take(datum, answer) {
                return Ok(SampleOutcome::Misfit);
            }
            augment(datum, &self.row, stage.at + 1);
        }
        Ok(SampleOutcome::Published)
    }

    /// Sends a message through all of these stages; `None` if one did not answer.
    ///
    /// # Errors
    /// When a message cannot be sent.
    pub fn pass(&mut self, message: M, stamp: SimTime, stop: &AtomicBool) -> Result<Option<M>, TransportError> {
        let mut message = message;
        for stage in &mut self.stages {
            let Some(answer) = stage.request(&message, stamp, stop)? else { return Ok(None) };
            message = answer;
        }
        Ok(Some(message))
    }
}

impl<M: Message> OwnStage<M> {
    fn open(transport: &dyn Transport, sensor: &str, at: usize, own: &OwnTopicSpec) -> Result<Self, TransportError> {
        let name = |end: &str| format!("{sensor}/stages/{}/{end}", own.name);
        let (sender, answers) = sync_channel(KEPT);
        // Bytes that do not decode or have no stamp are no answer. A full channel holds unrequested messages; a closed
        // one has no reader any more.
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
            standing: StageState::New,
            _subscription: transport.subscribe(&out, Box::new(sink))?,
        })
    }

    /// The answer to a message; `None` if none arrives in time.
    fn request(&mut self, message: &M, stamp: SimTime, stop: &AtomicBool) -> Result<Option<M>, TransportError> {
        // Answers that came too late for their own sample.
        if self.answers.try_iter().take(KEPT).count() > 0 {
            self.standing = StageState::Answers;
        }
        let until = Instant::now() + self.wait_max();
        let (mut subscribers, mut sent) = (self.to.subscribers(), Instant::now());
        self.to.publish(message, stamp)?;
        // Stop flag and time are checked in every round, since others may publish answers without end.
        while !stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.missed(stamp);
                break;
            }
            match self.answers.recv_timeout(left.min(LOOK_AGAIN)) {
                Ok((reported, answer)) => {
                    self.standing = StageState::Answers;
                    if reported == stamp {
                        return Ok(Some(answer));
                    }
                }
                Err(_) if self.standing == StageState::New => {
                    let before = std::mem::replace(&mut subscribers, self.to.subscribers());
                    if subscribers > before || sent.elapsed() >= REPEAT_EVERY {
                        self.to.repeat(message, stamp)?;
                        sent = Instant::now();
                    }
                }
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// How long to wait for the next answer.
    fn wait_max(&self) -> Duration {
        match self.standing {
            StageState::New => {
                let now = Instant::now();
                self.start_ends.get_or_init(|| now + START_TIMEOUT).saturating_duration_since(now)
            }
            StageState::Answers => self.timeout,
            StageState::Silent => Duration::ZERO,
        }
    }

    /// Notes that a sample was not answered; logged once until there is an answer again.
    fn missed(&mut self, stamp: SimTime) {
        if std::mem::replace(&mut self.standing, StageState::Silent) != StageState::Silent {
            let topic = &self.to.topic().name;
            let then = "samples are lost, without waiting, until one is answered again";
            tracing::warn!("{topic}: no answer in time to the sample of {stamp}; {then}");
        }
    }
}

#[cfg(test)]
mod tests;

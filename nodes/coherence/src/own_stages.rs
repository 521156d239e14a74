//! Stages of a sensor's row that other processes do. What such a stage is given leaves on `SENSOR/stages/NAME/in`; what
//! the other process makes of it comes back on `SENSOR/stages/NAME/out`, of the same type and with the same stamp.
//! Both topics are reliable.
//!
//! The node waits for each answer, so that where the simulation waits for the node, simulated time is held. The first
//! answer is waited for up to `START_TIMEOUT`, for the other process may only just begin; every later one up to the
//! stage's own timeout. A sample without an answer is lost and counted. Nobody is waited for who never answered in
//! time to begin with, until he does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_observe::{Augmented, augment};
use selene_ros::stamp::header_stamp;
use selene_ros::transport::{Publisher, Subscription, Transport, TransportError};
use selene_ros::{Encoded, Message, Qos, Topic, decode};
use selene_sensors::{AugmentSpec, OwnTopicSpec, StageRow};

/// How long the first answer is waited for (wall time).
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How often, until the first answer, a message is said again to who may have missed it (wall time).
const SAY_AGAIN: Duration = Duration::from_millis(200);

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
    has_answered: bool,
    has_been_asked: bool,
    _subscription: Subscription,
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
        let (sender, answers) = channel();
        // Bytes that do not decode or have no stamp are no answer; a closed channel means that nobody asks any more.
        let sink = move |encoded: &Encoded| {
            if let (Some(stamp), Ok(message)) = (header_stamp(encoded), decode::<M>(encoded)) {
                drop(sender.send((stamp, message)));
            }
        };
        let out = Topic::new::<M>(&name("out"), Qos::reliable())?;
        Ok(Self {
            at,
            timeout: Duration::from_secs_f64(own.timeout_s),
            to: Publisher::new(transport, &name("in"), Qos::reliable())?,
            answers,
            has_answered: false,
            has_been_asked: false,
            _subscription: transport.subscribe(&out, Box::new(sink))?,
        })
    }

    /// What the other process makes of a message; none where it does not answer in time.
    fn ask(&mut self, message: &M, stamp: SimTime, stop: &AtomicBool) -> Result<Option<M>, TransportError> {
        // What came too late for its own sample.
        while self.answers.try_recv().is_ok() {
            self.has_answered = true;
        }
        let until = Instant::now() + self.patience();
        self.has_been_asked = true;
        self.to.publish(message, stamp)?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(SAY_AGAIN)) {
                Ok((told, answer)) => {
                    self.has_answered = true;
                    if told == stamp {
                        return Ok(Some(answer));
                    }
                }
                Err(_) if left.is_zero() || stop.load(Ordering::Relaxed) => {
                    let topic = &self.to.topic().name;
                    tracing::warn!("{topic}: no answer in time to the sample of {stamp}; it is lost");
                    return Ok(None);
                }
                Err(_) if !self.has_answered => self.to.repeat(message, stamp)?,
                Err(_) => {}
            }
        }
    }

    /// How long the next answer is waited for.
    fn patience(&self) -> Duration {
        match (self.has_answered, self.has_been_asked) {
            (true, _) => self.timeout,
            (false, false) => START_TIMEOUT,
            (false, true) => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OwnStages;
    use selene_base::SimTime;
    use selene_ros::in_process::InProcess;
    use selene_ros::std_msgs::Header;
    use selene_ros::transport::{Publisher, subscribe};
    use selene_ros::{Qos, sensor_msgs::Temperature};
    use selene_sensors::{AugmentSpec, Augments, OwnTopicSpec, StageRow};
    use std::sync::atomic::AtomicBool;

    fn reading(second: i32, temperature: f64) -> Temperature {
        let header = Header::new(SimTime::from_sec_nanosec(second, 0), "plate");
        Temperature { header, temperature, variance: 0.0 }
    }

    /// Halves the temperatures of even seconds; of odd ones it tells those of the second before.
    fn answer(bus: &InProcess) -> selene_ros::transport::Subscription {
        let out = Publisher::new(bus, "/plate/stages/halve/out", Qos::reliable()).expect("out");
        let halve = move |given: Temperature| {
            let second = given.header.stamp.sec / 2 * 2;
            out.publish(&reading(second, 0.5 * given.temperature), SimTime::ZERO).expect("told");
        };
        subscribe(bus, "/plate/stages/halve/in", Qos::reliable(), halve).expect("in")
    }

    #[test]
    fn what_comes_back_with_the_same_stamp_goes_on_and_what_does_not_is_lost() {
        let bus = InProcess::new();
        let _other = answer(&bus);
        let own = AugmentSpec::Own(OwnTopicSpec { name: "halve".to_owned(), timeout_s: 0.02 });
        let row = StageRow::new("plate", Augments(vec![own]), 1);
        let mut stages = OwnStages::<Temperature>::open(&bus, "/plate", row).expect("topics");
        let mut pass = |second: i32| {
            let stamp = SimTime::from_sec_nanosec(second, 0);
            stages.pass(reading(second, 10.0), stamp, &AtomicBool::new(false)).expect("sent")
        };
        let temperatures = [0, 1, 2].map(|second| pass(second).map(|told| told.temperature));
        assert_eq!(temperatures, [Some(5.0), None, Some(5.0)]);
    }
}

//! Incremental encoders on joints. An encoder counts ticks: the angle in whole ticks, rounded down, minus the ticks
//! that it missed. Each tick between two samples is missed with the same probability, in either direction; missed
//! ticks are never recovered. Motion back and forth between two samples counts only by its net result.
//!
//! The rate is that of a tachometer: the ticks in a window divided by its length. The shortest window is one sampling
//! period.

use std::f64::consts::TAU;

use garde::Validate;
use rand_distr::{Binomial, Distribution};
use schemars::JsonSchema;
use selene_base::input::within;
use selene_base::random::{Stream, stream_at};
use serde::Deserialize;

use super::{BodyError, BodyHeartbeat, BodyPlan, BodyReading, BodySample, JointAngles};
use crate::augment::{Augments, DataType, fits};
use crate::spec::{count_within, lag, rate, ros_name};
use crate::{Sample, SensorQos};

/// The finest encoder allowed, ticks per turn: 24 bits.
const TICKS_MAX: usize = 1 << 24;
/// The longest window allowed, samples: its counts are part of the world's state.
const WINDOW_MAX: f64 = 100.0;

/// Encoders on joints.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct EncoderSpec {
    /// Prefix of its topics and name of its random streams.
    #[garde(custom(ros_name))]
    pub name: String,
    /// The link that it belongs to; its readings do not depend on it.
    #[garde(custom(ros_name))]
    pub link: String,
    /// Sampling rate, Hz.
    #[garde(custom(rate))]
    pub rate_hz: f64,
    /// Delay from measurement to publication, s.
    #[garde(custom(lag))]
    pub lag_s: f64,
    /// Quality of service of its topic.
    #[garde(skip)]
    pub qos: SensorQos,
    /// Stages that the readings pass before publication, in order.
    #[serde(default)]
    #[garde(dive, custom(fits(DataType::Joints, self.rate_hz)))]
    pub stages: Augments,
    /// Names of the joints; left out, the joints that drive wheels.
    #[garde(skip)]
    #[serde(default)]
    pub joints: Vec<String>,
    /// Ticks per turn of the joint.
    #[garde(custom(ticks))]
    pub ticks_per_turn: u32,
    /// Probability that a tick is missed, 0 to 1.
    #[garde(custom(within(0.0, 1.0)))]
    #[serde(default)]
    pub missed_tick_probability: f64,
    /// Window of the tachometer, s; one sampling period when left out.
    #[garde(custom(holds_samples_of(self.rate_hz)))]
    #[serde(default)]
    pub rate_window_s: Option<f64>,
    /// Whether the truth is published beside its readings.
    #[garde(skip)]
    #[serde(default)]
    pub truth: bool,
}

/// A garde check: ticks per turn, 1 to `TICKS_MAX`.
pub(super) fn ticks(count: &u32, (): &()) -> garde::Result {
    count_within(1, TICKS_MAX, *count as usize)
}

fn holds_samples_of(rate_hz: f64) -> impl FnOnce(&Option<f64>, &()) -> garde::Result {
    move |window_s, ()| {
        let Some(window_s) = window_s else { return Ok(()) };
        if (0.5..=WINDOW_MAX).contains(&(window_s * rate_hz)) {
            return Ok(());
        }
        let allowed = format!("that of 1 to {WINDOW_MAX} samples at rate_hz ({rate_hz})");
        Err(garde::Error::new(format!("value {window_s} is not allowed: must be {allowed}")))
    }
}

/// State of one tick counter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counter {
    /// Net ticks passed: forward minus backward.
    passed: i64,
    /// Net ticks missed.
    missed: i64,
}

impl Counter {
    /// A counter switched on with its joint at this angle, without missed ticks.
    pub(super) fn at(angle_rad: f64, ticks_per_turn: u32) -> Self {
        Self { passed: whole_ticks(angle_rad, ticks_per_turn), missed: 0 }
    }

    /// Updates the counter with the joint's next angle.
    pub(super) fn take(&mut self, angle_rad: f64, ticks_per_turn: u32, missed_probability: f64, rng: &mut Stream) {
        let passed = whole_ticks(angle_rad, ticks_per_turn);
        let step = passed - self.passed;
        self.passed = passed;
        if missed_probability > 0.0 && step != 0 {
            // `Binomial::new` cannot fail: validation checked the probability.
            let missed = Binomial::new(step.unsigned_abs(), missed_probability).map_or(0, |law| law.sample(rng));
            self.missed += step.signum() * missed as i64;
        }
    }

    /// The count that it outputs.
    pub(super) fn count(&self) -> i64 {
        self.passed - self.missed
    }

    pub(super) fn numbers(&self) -> [f64; 2] {
        [self.passed as f64, self.missed as f64]
    }

    pub(super) fn of_numbers([passed, missed]: [f64; 2]) -> Self {
        Self { passed: passed as i64, missed: missed as i64 }
    }
}

fn whole_ticks(angle_rad: f64, ticks_per_turn: u32) -> i64 {
    (angle_rad * f64::from(ticks_per_turn) / TAU).floor() as i64
}

/// Encoders on a rover's joints.
#[derive(Clone, Debug)]
pub(super) struct Encoders {
    spec: EncoderSpec,
    joints: Vec<usize>,
    names: Vec<String>,
    seed: u64,
}

/// Memory of the encoders: a counter for each joint, and the counts of the window's samples, the latest first.
struct Memory {
    counters: Vec<Counter>,
    past: Vec<Vec<f64>>,
}

impl Encoders {
    pub(super) fn new(spec: EncoderSpec, plan: &BodyPlan, seed: u64) -> Result<Self, BodyError> {
        let joints = plan.places(&spec.joints)?;
        let names = joints.iter().filter_map(|&joint| plan.joints.get(joint).cloned()).collect();
        Ok(Self { spec, joints, names, seed })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Length of the tachometer's window, samples.
    fn window(&self) -> usize {
        let samples = self.spec.rate_window_s.map_or(1.0, |window_s| (window_s * self.spec.rate_hz).round());
        samples.max(1.0) as usize
    }

    pub(super) fn take(
        &self,
        known: Option<&[f64]>,
        beat: &BodyHeartbeat,
        samples: impl Iterator<Item = Sample>,
        mut reported: impl FnMut(BodySample),
    ) -> Vec<f64> {
        let mut memory = known.and_then(|numbers| self.remembered(numbers)).unwrap_or_else(|| self.begun(beat));
        for sample in samples {
            let angles = self.of_joints(&beat.positions(sample.instant));
            let rates = self.of_joints(&beat.at(sample.instant, |posture| posture.velocity));
            let reading = self.read(&mut memory, &angles, sample);
            let truth = JointAngles { position: angles, velocity: rates };
            reported(BodySample {
                sample,
                reported: BodyReading::Encoders(reading),
                truth: Some(BodyReading::Encoders(truth)),
            });
        }
        self.numbers(&memory)
    }

    fn of_joints(&self, all: &[f64]) -> Vec<f64> {
        self.joints.iter().map(|&joint| all.get(joint).copied().unwrap_or_default()).collect()
    }

    fn begun(&self, beat: &BodyHeartbeat) -> Memory {
        let counter = |angle_rad: f64| Counter::at(angle_rad, self.spec.ticks_per_turn);
        let counters = self.of_joints(beat.before.position).into_iter().map(counter).collect();
        Memory { counters, past: Vec::new() }
    }

    fn read(&self, memory: &mut Memory, angles_rad: &[f64], sample: Sample) -> JointAngles {
        let mut rng = stream_at(self.seed, &self.spec.name, sample.index);
        for (counter, angle_rad) in memory.counters.iter_mut().zip(angles_rad) {
            counter.take(*angle_rad, self.spec.ticks_per_turn, self.spec.missed_tick_probability, &mut rng);
        }
        let counts: Vec<f64> = memory.counters.iter().map(|counter| counter.count() as f64).collect();
        let tick_rad = TAU / f64::from(self.spec.ticks_per_turn);
        let rate = |(i, count): (usize, &f64)| {
            let Some(oldest) = memory.past.last() else { return 0.0 };
            (count - oldest[i]) * tick_rad * self.spec.rate_hz / memory.past.len() as f64
        };
        let velocity = counts.iter().enumerate().map(rate).collect();
        let position = counts.iter().map(|count| count * tick_rad).collect();
        memory.past.insert(0, counts);
        memory.past.truncate(self.window());
        JointAngles { position, velocity }
    }

    /// The memory as numbers: the counters, then the counts of each sample of the window.
    fn numbers(&self, memory: &Memory) -> Vec<f64> {
        let counters = memory.counters.iter().flat_map(Counter::numbers);
        counters.chain(memory.past.iter().flatten().copied()).collect()
    }

    fn remembered(&self, numbers: &[f64]) -> Option<Memory> {
        let joints = self.joints.len();
        if joints == 0 || !numbers.len().is_multiple_of(joints) || numbers.len() > (2 + self.window()) * joints {
            return None;
        }
        let (counters, past) = numbers.split_at_checked(2 * joints)?;
        let counters = counters.chunks_exact(2).map(|pair| Counter::of_numbers([pair[0], pair[1]])).collect();
        Some(Memory { counters, past: past.chunks_exact(joints).map(<[f64]>::to_vec).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, EncoderSpec, Encoders};
    use crate::body::{BodyHeartbeat, BodyPlan, BodyReading, JointAngles, Posture};
    use crate::{Sample, SensorQos};
    use nalgebra::Vector3;
    use selene_base::SimTime;
    use selene_base::random::stream_at;
    use std::f64::consts::TAU;

    fn encoders(ticks_per_turn: u32, rate_window_s: Option<f64>) -> Encoders {
        let spec = EncoderSpec {
            name: "wheels".into(),
            link: "base_link".into(),
            rate_hz: 100.0,
            lag_s: 0.0,
            qos: SensorQos::SensorData,
            stages: crate::Augments::default(),
            joints: vec!["left".into()],
            ticks_per_turn,
            missed_tick_probability: 0.0,
            rate_window_s,
            truth: false,
        };
        let plan = BodyPlan { joints: vec!["mast".into(), "left".into()], wheels: Vec::new(), motors: Vec::new() };
        Encoders::new(spec, &plan, 1).expect("a joint")
    }

    /// The last of `samples` readings at 100 Hz of a joint with this angle over time; the memory is passed on as
    /// numbers.
    fn last(encoders: &Encoders, samples: u64, angle: impl Fn(f64) -> f64) -> JointAngles {
        let (mut numbers, mut reading) = (None, JointAngles::default());
        for index in 1..=samples {
            let time = |index: u64| SimTime::from_nanos(10_000_000 * index as i64);
            let (from, until) = (time(index - 1), time(index));
            let [before, now] = [from, until].map(|at| [0.3, angle(at.secs_f64())]);
            let posture =
                |position| Posture { world_from_links: &[], position, velocity: &[0.0; 2], effort: &[0.0; 2] };
            let beat = BodyHeartbeat {
                after: from,
                from,
                until,
                before: posture(&before),
                now: posture(&now),
                sun: Vector3::z(),
            };
            let sample = std::iter::once(Sample { index, instant: until });
            let next = encoders.take(numbers.as_deref(), &beat, sample, |read| {
                if let BodyReading::Encoders(reported) = read.reported {
                    reading = reported;
                }
            });
            numbers = Some(next);
        }
        reading
    }

    #[test]
    fn angles_come_in_whole_ticks_and_rates_within_a_tick_of_the_window() {
        let (rate, tick) = (0.8, TAU / 500.0);
        for (window_s, length_s) in [(None, 0.01), (Some(0.2), 0.2)] {
            let reported = last(&encoders(500, window_s), 150, |t| rate * t);
            let true_angle = rate * 1.5;
            assert!((0.0..tick).contains(&(true_angle - reported.position[0])), "{reported:?}");
            assert!((reported.position[0] / tick - (reported.position[0] / tick).round()).abs() < 1e-9);
            assert!(
                (reported.velocity[0] - rate).abs() <= tick / length_s * (1.0 + 1e-9),
                "{reported:?} in {length_s} s"
            );
        }
    }

    #[test]
    fn a_standing_joint_has_no_rate_and_a_back_turning_one_a_negative_rate() {
        assert_eq!(last(&encoders(500, Some(0.1)), 30, |_| 1.0).velocity, [0.0]);
        assert!(last(&encoders(5000, Some(0.1)), 30, |t| -t).velocity[0] < -0.9);
    }

    #[test]
    fn ticks_are_missed_as_often_as_they_should_and_never_found_again() {
        // 100 000 ticks at 2 %: 2000 missed, one sigma 44; five sigma.
        let (probability, ticks) = (0.02, 100_000_u64);
        let mut counter = Counter::at(0.0, 1000);
        for index in 1..=ticks / 50 {
            let angle = (index * 50) as f64 * TAU / 1000.0 + 1e-6;
            counter.take(angle, 1000, probability, &mut stream_at(5, "wheels", index));
        }
        let missed = ticks as i64 - counter.count();
        assert!((missed - 2000).abs() < 220, "{missed}");
        counter.take(1e-6, 1000, 0.0, &mut stream_at(5, "wheels", 0));
        assert_eq!(counter.count(), -missed, "back where it began, it is off by what it missed");
    }

    #[test]
    fn a_joint_that_is_not_there_is_reported_with_those_that_are() {
        let plan = BodyPlan { joints: vec!["left".into(), "right".into()], wheels: Vec::new(), motors: Vec::new() };
        let refusal = plan.places(&["middle".into()]).expect_err("refused").to_string();
        assert!(refusal.contains("'middle'") && refusal.contains("left, right"), "{refusal}");
    }
}

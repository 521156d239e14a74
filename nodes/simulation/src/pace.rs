//! Paces simulated time by a clock. Each heartbeat is due at a time computed from the first one, so that errors do not
//! add up. If a run falls behind, the clock decides: the simulation's own clock forgives a long lag, so that a robot's
//! computer never sees time rush; with any other clock the run catches up, so that the offset between simulated time
//! and that clock stays constant.
//!
//! The pace can be changed while the world runs ([`Timeline::request`]). It affects only when a heartbeat is made, so that
//! state and data do not depend on it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use selene_base::SimTime;
use selene_coherence::NodeError;

use crate::clock::{Clock, ClockAuthority};
use crate::histogram::Histogram;

/// The requested pace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as the machine allows.
    #[default]
    Fast,
    /// Simulated seconds per wall second: 1 is real time.
    Times(f64),
}

/// Lag above which the simulation's own clock starts a new line instead of catching up.
const LAG_FORGIVEN: Duration = Duration::from_millis(100);
/// Longest sleep at a slow pace; between sleeps, this process reports to the others that it is alive.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// The relation between a clock's reading and simulated time. All clones share it.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    clock: Clock,
    line: Arc<Mutex<Option<Line>>>,
    /// A requested pace that the pacer has not taken yet.
    requested: Arc<Mutex<Option<Pace>>>,
}

/// A linear relation between a clock's reading and simulated time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    /// A clock reading and the simulated time that corresponds to it.
    clock: Duration,
    simulated: SimTime,
    /// Simulated seconds per second of the clock.
    factor: f64,
}

impl Line {
    /// The clock reading at which `time` is due; for times before the line's beginning, the beginning.
    fn due(&self, time: SimTime) -> Duration {
        let after_s = (time - self.simulated).secs_f64() / self.factor;
        self.clock + Duration::try_from_secs_f64(after_s).unwrap_or_default()
    }
}

impl Timeline {
    /// A timeline that follows an authority's clock.
    ///
    /// # Errors
    /// When the clock cannot be read.
    pub fn new(authority: &ClockAuthority) -> Result<Self, NodeError> {
        Ok(Self { clock: Clock::open(authority)?, line: Arc::default(), requested: Arc::default() })
    }

    /// Requests another pace. The pacer takes the latest request at its next heartbeat.
    pub fn request(&self, pace: Pace) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = Some(pace);
    }

    /// Whether the pace may differ from real time: only the simulation's own clock allows that.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self.clock, Clock::Monotonic)
    }

    /// How long data stamped `stamp` (simulated time) have been due; `None` while simulated time follows no clock.
    #[must_use]
    pub fn lateness(&self, stamp: SimTime) -> Option<Duration> {
        let line = (*self.line())?;
        Some(self.clock.now().ok()?.saturating_sub(line.due(stamp)))
    }

    fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self) -> Option<Pace> {
        self.requested.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How well a run kept its pace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaceReport {
    /// Delays, after their due times, of heartbeats that were waited for.
    pub jitter: Histogram,
    /// Lateness of heartbeats that were already overdue.
    pub missed: Histogram,
    /// How often a lag was forgiven.
    pub forgiven: u64,
    /// Clock reading at simulated time zero, s since the clock's epoch: added to a stamp it gives the clock's time.
    /// `None` for the simulation's own clock, which has no epoch.
    pub clock_at_zero_s: Option<f64>,
}

/// Whether a heartbeat came on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeartbeatTiming {
    /// Heartbeats are made as fast as the machine allows.
    Unpaced,
    /// It was waited for, and came this much after its due time.
    OnTime(Duration),
    /// It was already overdue by this much.
    Late(Duration),
}

/// What to do before a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitPlan {
    Wait { due: Duration },
    GoOn { late: Duration },
}

/// Waits for heartbeats to become due, and reports how well that succeeds.
pub struct Pacer {
    pace: Pace,
    timeline: Timeline,
    /// Simulated time of the last heartbeat that was waited for.
    last: Option<SimTime>,
    report: PaceReport,
}

impl Pacer {
    /// A pacer whose line begins with the first heartbeat that it waits for.
    #[must_use]
    pub fn new(pace: Pace, timeline: &Timeline) -> Self {
        Self { pace, timeline: timeline.clone(), last: None, report: PaceReport::default() }
    }

    /// How well the pace was kept so far.
    #[must_use]
    pub fn report(&self) -> &PaceReport {
        &self.report
    }

    /// Ends the current line; a new one begins with the next heartbeat that is waited for. Until then simulated time
    /// follows no clock: it is paused, stepped or set back.
    pub(crate) fn begin_anew(&mut self) {
        self.last = None;
        *self.timeline.line() = None;
    }

    /// Waits until `time` is due; calls `meanwhile` at least every `SLEEP_MAX` during the wait.
    ///
    /// # Errors
    /// When the clock cannot be read any longer.
    pub fn wait_for(&mut self, time: SimTime, mut meanwhile: impl FnMut()) -> Result<HeartbeatTiming, NodeError> {
        self.take_pace();
        let Pace::Times(factor) = self.pace else { return Ok(HeartbeatTiming::Unpaced) };
        let clock = self.timeline.clock.clone();
        let due = match self.plan(clock.now()?, time, factor) {
            WaitPlan::GoOn { late } => return Ok(HeartbeatTiming::Late(late)),
            WaitPlan::Wait { due } => due,
        };
        loop {
            let now = clock.now()?;
            if due.saturating_sub(now) <= SLEEP_MAX {
                break;
            }
            clock.wait_until(now + SLEEP_MAX)?;
            meanwhile();
        }
        clock.wait_until(due)?;
        let off = clock.now()?.abs_diff(due);
        self.report.jitter.add(off);
        Ok(HeartbeatTiming::OnTime(off))
    }

    /// Takes a requested pace; its line begins with the next heartbeat.
    fn take_pace(&mut self) {
        if let Some(pace) = self.timeline.taken() {
            self.pace = pace;
            self.begin_anew();
        }
    }

    /// What to do at clock reading `now` about the heartbeat of simulated time `time`.
    fn plan(&mut self, now: Duration, time: SimTime, factor: f64) -> WaitPlan {
        let forgives = self.timeline.is_own();
        let begins = Line { clock: now, simulated: time, factor };
        let last = self.last.replace(time);
        let mut line = self.timeline.line();
        // A world that was set back starts a new line.
        let current = (*line).filter(|_| last.is_some_and(|last| last <= time));
        let Some(current) = current else {
            *line = Some(begins);
            let at_zero_s = now.as_secs_f64() - time.secs_f64() / factor;
            self.report.clock_at_zero_s = (!forgives).then_some(at_zero_s);
            return WaitPlan::Wait { due: now };
        };
        let due = current.due(time);
        if due >= now {
            return WaitPlan::Wait { due };
        }
        let late = now - due;
        self.report.missed.add(late);
        if forgives && late > LAG_FORGIVEN {
            *line = Some(begins);
            self.report.forgiven += 1;
        }
        WaitPlan::GoOn { late }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockAuthority, HeartbeatTiming, Line, Pace, Pacer, SimTime, Timeline, WaitPlan};
    use std::time::Duration;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn sim_ms(ms: i64) -> SimTime {
        SimTime::from_nanos(ms * 1_000_000)
    }

    /// A pacer after a first heartbeat at 1000 ms of the clock and 5 ms of simulated time.
    fn begun(authority: &ClockAuthority, factor: f64) -> Pacer {
        let timeline = Timeline::new(authority).expect("a clock");
        let mut pacer = Pacer::new(Pace::Times(factor), &timeline);
        assert_eq!(pacer.plan(ms(1000), sim_ms(5), factor), WaitPlan::Wait { due: ms(1000) });
        pacer
    }

    #[test]
    fn instants_follow_from_the_first_alone_and_do_not_drift() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        for tick in 1..2000 {
            // Each wait begins a little late; the next heartbeat is still due at its exact time.
            let requested = ms(1000 + 5 * tick) - Duration::from_micros(900 + tick % 7);
            let plan = pacer.plan(requested, sim_ms(5 + 5 * tick as i64), 1.0);
            assert_eq!(plan, WaitPlan::Wait { due: ms(1000 + 5 * tick) });
        }
        let day = SimTime::from_secs_f64(86_400.0);
        let line = Line { clock: Duration::ZERO, simulated: SimTime::ZERO, factor: 1.0 };
        assert_eq!(line.due(day + SimTime::from_nanos(5_000_000)), Duration::from_secs(86_400) + ms(5));
    }

    #[test]
    fn a_factor_stretches_the_instants() {
        assert_eq!(
            begun(&ClockAuthority::Simulation, 4.0).plan(ms(1000), sim_ms(45), 4.0),
            WaitPlan::Wait { due: ms(1010) }
        );
        assert_eq!(
            begun(&ClockAuthority::Simulation, 0.5).plan(ms(1000), sim_ms(45), 0.5),
            WaitPlan::Wait { due: ms(1080) }
        );
    }

    #[test]
    fn a_short_lag_is_made_up_and_a_long_one_forgiven() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        assert_eq!(pacer.plan(ms(1085), sim_ms(10), 1.0), WaitPlan::GoOn { late: ms(80) });
        assert_eq!(pacer.plan(ms(1090), sim_ms(105), 1.0), WaitPlan::Wait { due: ms(1100) });
        assert_eq!(pacer.plan(ms(1300), sim_ms(110), 1.0), WaitPlan::GoOn { late: ms(195) });
        // A new line starts here.
        assert_eq!(pacer.plan(ms(1301), sim_ms(115), 1.0), WaitPlan::Wait { due: ms(1305) });
        let report = pacer.report();
        assert_eq!((report.forgiven, report.missed.count(), report.missed.longest()), (1, 2, ms(195)));
        assert_eq!(report.clock_at_zero_s, None);
    }

    #[test]
    fn behind_another_clock_nothing_is_forgiven() {
        let mut pacer = begun(&ClockAuthority::Wall, 1.0);
        assert_eq!(pacer.plan(ms(9000), sim_ms(10), 1.0), WaitPlan::GoOn { late: ms(7995) });
        assert_eq!(pacer.plan(ms(9001), sim_ms(15), 1.0), WaitPlan::GoOn { late: ms(7991) });
        assert_eq!(pacer.plan(ms(9002), sim_ms(8010), 1.0), WaitPlan::Wait { due: ms(9005) });
        let report = pacer.report();
        assert_eq!((report.forgiven, report.missed.count()), (0, 2));
        assert!(report.clock_at_zero_s.is_some_and(|at_s| (at_s - 0.995).abs() < 1e-9), "{report:?}");
    }

    #[test]
    fn a_world_that_was_set_back_begins_a_line_of_its_own() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        pacer.plan(ms(1200), sim_ms(205), 1.0);
        assert_eq!(pacer.plan(ms(1210), SimTime::ZERO, 1.0), WaitPlan::Wait { due: ms(1210) });
        assert_eq!(pacer.plan(ms(1211), sim_ms(5), 1.0), WaitPlan::Wait { due: ms(1215) });
    }

    #[test]
    fn time_that_stood_is_not_made_up() {
        let mut pacer = begun(&ClockAuthority::Wall, 1.0);
        pacer.begin_anew();
        assert_eq!(pacer.timeline.lateness(SimTime::ZERO), None);
        assert_eq!(pacer.plan(ms(9000), sim_ms(10), 1.0), WaitPlan::Wait { due: ms(9000) });
        assert_eq!(pacer.plan(ms(9001), sim_ms(15), 1.0), WaitPlan::Wait { due: ms(9005) });
        assert_eq!(pacer.report().missed.count(), 0);
    }

    #[test]
    fn lateness_is_reported_of_stamps_once_there_is_a_line() {
        let timeline = Timeline::default();
        assert_eq!(timeline.lateness(SimTime::ZERO), None);
        let mut pacer = Pacer::new(Pace::Times(1.0), &timeline);
        assert!(matches!(pacer.wait_for(SimTime::ZERO, || {}), Ok(HeartbeatTiming::OnTime(_))));
        assert!(matches!(pacer.wait_for(sim_ms(2), || {}), Ok(HeartbeatTiming::OnTime(_) | HeartbeatTiming::Late(_))));
        assert!(timeline.lateness(SimTime::ZERO).is_some_and(|late| late >= ms(2)));
        assert_eq!(timeline.lateness(SimTime::from_secs_f64(1e6)), Some(Duration::ZERO));
        let mut fast = Pacer::new(Pace::Fast, &timeline);
        assert!(matches!(fast.wait_for(sim_ms(9), || {}), Ok(HeartbeatTiming::Unpaced)));
    }

    #[test]
    fn another_pace_counts_from_the_heartbeat_on_that_takes_it() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        pacer.timeline.request(Pace::Times(0.5));
        pacer.timeline.request(Pace::Times(2.0));
        // The pace does not change before it is taken.
        assert_eq!(pacer.plan(ms(1001), sim_ms(10), 1.0), WaitPlan::Wait { due: ms(1005) });
        pacer.take_pace();
        assert_eq!(pacer.pace, Pace::Times(2.0));
        assert_eq!(pacer.plan(ms(1020), sim_ms(15), 2.0), WaitPlan::Wait { due: ms(1020) });
        assert_eq!(pacer.plan(ms(1021), sim_ms(115), 2.0), WaitPlan::Wait { due: ms(1070) });
        assert_eq!(pacer.report().missed.count(), 0);
    }

    #[test]
    fn a_run_that_goes_on_as_fast_as_it_can_has_no_lateness() {
        let timeline = Timeline::default();
        let mut pacer = Pacer::new(Pace::Times(1.0), &timeline);
        assert!(matches!(pacer.wait_for(SimTime::ZERO, || {}), Ok(HeartbeatTiming::OnTime(_))));
        timeline.request(Pace::Fast);
        assert!(matches!(pacer.wait_for(sim_ms(5), || {}), Ok(HeartbeatTiming::Unpaced)));
        assert_eq!(timeline.lateness(SimTime::ZERO), None);
        timeline.request(Pace::Times(4.0));
        assert!(matches!(pacer.wait_for(sim_ms(10), || {}), Ok(HeartbeatTiming::OnTime(_))));
        assert_eq!(timeline.lateness(SimTime::from_secs_f64(1e6)), Some(Duration::ZERO));
    }
}

//! How fast simulated time passes against a clock. Every heartbeat is due at an instant that follows from the first
//! one alone, so errors do not add up. A run that falls behind is treated by whose clock it is: the simulation's own
//! forgives a long lag, so that a robot's computer never sees time rush; behind any other clock it catches up, so that
//! simulated time and that clock stay the same constant apart.
//!
//! The pace can be changed while the world runs ([`Timeline::ask`]). It says when a heartbeat is made and nothing of
//! what it does, so state and data stay the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use selene_base::SimTime;
use selene_coherence::NodeError;

use crate::clock::{Clock, ClockAuthority};
use crate::histogram::Histogram;

/// The asked pace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as the machine can.
    #[default]
    Fast,
    /// Simulated seconds a wall second: 1 is real time.
    Times(f64),
}

/// A lag beyond which the simulation's own clock begins anew.
const LAG_FORGIVEN: Duration = Duration::from_millis(100);
/// At a slow pace a heartbeat takes seconds of sleep; others hear of the process meanwhile.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Which reading of which clock belongs to which simulated time. Copies are one.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    clock: Clock,
    line: Arc<Mutex<Option<Line>>>,
    /// The pace that somebody asks for and the pacer has not taken yet.
    asked: Arc<Mutex<Option<Pace>>>,
}

/// Simulated time against a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    /// The reading and the simulated time that belong together.
    clock: Duration,
    simulated: SimTime,
    /// Simulated seconds a second of the clock.
    factor: f64,
}

impl Line {
    /// What the clock reads when `time` is due; for what was before the line began, its beginning.
    fn due(&self, time: SimTime) -> Duration {
        let after_s = (time - self.simulated).secs_f64() / self.factor;
        self.clock + Duration::try_from_secs_f64(after_s).unwrap_or_default()
    }
}

impl Timeline {
    /// By the clock of an authority.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn new(authority: &ClockAuthority) -> Result<Self, NodeError> {
        Ok(Self { clock: Clock::open(authority)?, line: Arc::default(), asked: Arc::default() })
    }

    /// Asks for another pace; the pacer takes it with its next heartbeat. The last one asked for counts.
    pub fn ask(&self, pace: Pace) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(pace);
    }

    /// Whether the pace may be another than real time: only the simulation's own clock allows that.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self.clock, Clock::Monotonic)
    }

    /// How long a datum of simulated time `stamp` has been due; none where simulated time follows no clock.
    #[must_use]
    pub fn lateness(&self, stamp: SimTime) -> Option<Duration> {
        let line = (*self.line())?;
        Some(self.clock.now().ok()?.saturating_sub(line.due(stamp)))
    }

    fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self) -> Option<Pace> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How well a run kept its pace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaceReport {
    /// How far from their instants heartbeats were that were waited for.
    pub jitter: Histogram,
    /// How late heartbeats were whose instants had passed.
    pub missed: Histogram,
    /// How often a lag was forgiven.
    pub forgiven: u64,
    /// What the clock read at simulated time zero, s since the clock's epoch: a stamp and this are the clock's time.
    /// None for the simulation's own clock, which has no epoch.
    pub clock_at_zero_s: Option<f64>,
}

/// When a heartbeat came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// As fast as the machine can.
    Unpaced,
    /// It was waited for and came so far from its instant.
    OnTime(Duration),
    /// Its instant had passed by so much.
    Late(Duration),
}

/// What is to be done about a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Wait { due: Duration },
    GoOn { late: Duration },
}

/// Holds the pace.
pub struct Pacer {
    pace: Pace,
    timeline: Timeline,
    /// The heartbeat that was waited for last.
    last: Option<SimTime>,
    report: PaceReport,
}

impl Pacer {
    /// Begins with the first heartbeat that it waits for.
    #[must_use]
    pub fn new(pace: Pace, timeline: &Timeline) -> Self {
        Self { pace, timeline: timeline.clone(), last: None, report: PaceReport::default() }
    }

    /// How well the pace was kept so far.
    #[must_use]
    pub fn report(&self) -> &PaceReport {
        &self.report
    }

    /// Begins anew with the next heartbeat that is waited for, until which simulated time follows no clock: it
    /// stands, is made in steps or goes back.
    pub(crate) fn begin_anew(&mut self) {
        self.last = None;
        *self.timeline.line() = None;
    }

    /// Waits until `time` is due, and does something every while meanwhile.
    ///
    /// # Errors
    /// When the clock cannot be read any longer.
    pub fn wait_for(&mut self, time: SimTime, mut meanwhile: impl FnMut()) -> Result<Tick, NodeError> {
        self.take_pace();
        let Pace::Times(factor) = self.pace else { return Ok(Tick::Unpaced) };
        let clock = self.timeline.clock.clone();
        let due = match self.plan(clock.now()?, time, factor) {
            Plan::GoOn { late } => return Ok(Tick::Late(late)),
            Plan::Wait { due } => due,
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
        Ok(Tick::OnTime(off))
    }

    /// Takes the pace that was asked for; its line begins with the heartbeat that is waited for next.
    fn take_pace(&mut self) {
        if let Some(pace) = self.timeline.taken() {
            self.pace = pace;
            self.begin_anew();
        }
    }

    /// What to do at `now` of the clock about the heartbeat of `time`.
    fn plan(&mut self, now: Duration, time: SimTime, factor: f64) -> Plan {
        let forgives = self.timeline.is_own();
        let begins = Line { clock: now, simulated: time, factor };
        let last = self.last.replace(time);
        let mut line = self.timeline.line();
        // A world that was set back begins a line of its own.
        let current = (*line).filter(|_| last.is_some_and(|last| last <= time));
        let Some(current) = current else {
            *line = Some(begins);
            let at_zero_s = now.as_secs_f64() - time.secs_f64() / factor;
            self.report.clock_at_zero_s = (!forgives).then_some(at_zero_s);
            return Plan::Wait { due: now };
        };
        let due = current.due(time);
        if due >= now {
            return Plan::Wait { due };
        }
        let late = now - due;
        self.report.missed.add(late);
        if forgives && late > LAG_FORGIVEN {
            *line = Some(begins);
            self.report.forgiven += 1;
        }
        Plan::GoOn { late }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockAuthority, Line, Pace, Pacer, Plan, SimTime, Tick, Timeline};
    use std::time::Duration;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn sim_ms(ms: i64) -> SimTime {
        SimTime::from_nanos(ms * 1_000_000)
    }

    /// After a first heartbeat at 1000 ms of the clock and 5 ms of simulated time.
    fn begun(authority: &ClockAuthority, factor: f64) -> Pacer {
        let timeline = Timeline::new(authority).expect("a clock");
        let mut pacer = Pacer::new(Pace::Times(factor), &timeline);
        assert_eq!(pacer.plan(ms(1000), sim_ms(5), factor), Plan::Wait { due: ms(1000) });
        pacer
    }

    #[test]
    fn instants_follow_from_the_first_alone_and_do_not_drift() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        for tick in 1..2000 {
            // Each is asked for a little late; the next one is due all the same.
            let asked = ms(1000 + 5 * tick) - Duration::from_micros(900 + tick % 7);
            let plan = pacer.plan(asked, sim_ms(5 + 5 * tick as i64), 1.0);
            assert_eq!(plan, Plan::Wait { due: ms(1000 + 5 * tick) });
        }
        let day = SimTime::from_secs_f64(86_400.0);
        let line = Line { clock: Duration::ZERO, simulated: SimTime::ZERO, factor: 1.0 };
        assert_eq!(line.due(day + SimTime::from_nanos(5_000_000)), Duration::from_secs(86_400) + ms(5));
    }

    #[test]
    fn a_factor_stretches_the_instants() {
        assert_eq!(
            begun(&ClockAuthority::Simulation, 4.0).plan(ms(1000), sim_ms(45), 4.0),
            Plan::Wait { due: ms(1010) }
        );
        assert_eq!(
            begun(&ClockAuthority::Simulation, 0.5).plan(ms(1000), sim_ms(45), 0.5),
            Plan::Wait { due: ms(1080) }
        );
    }

    #[test]
    fn a_short_lag_is_made_up_and_a_long_one_forgiven() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        assert_eq!(pacer.plan(ms(1085), sim_ms(10), 1.0), Plan::GoOn { late: ms(80) });
        assert_eq!(pacer.plan(ms(1090), sim_ms(105), 1.0), Plan::Wait { due: ms(1100) });
        assert_eq!(pacer.plan(ms(1300), sim_ms(110), 1.0), Plan::GoOn { late: ms(195) });
        // From there on anew.
        assert_eq!(pacer.plan(ms(1301), sim_ms(115), 1.0), Plan::Wait { due: ms(1305) });
        let report = pacer.report();
        assert_eq!((report.forgiven, report.missed.count(), report.missed.longest()), (1, 2, ms(195)));
        assert_eq!(report.clock_at_zero_s, None);
    }

    #[test]
    fn behind_another_clock_nothing_is_forgiven() {
        let mut pacer = begun(&ClockAuthority::Wall, 1.0);
        assert_eq!(pacer.plan(ms(9000), sim_ms(10), 1.0), Plan::GoOn { late: ms(7995) });
        assert_eq!(pacer.plan(ms(9001), sim_ms(15), 1.0), Plan::GoOn { late: ms(7991) });
        assert_eq!(pacer.plan(ms(9002), sim_ms(8010), 1.0), Plan::Wait { due: ms(9005) });
        let report = pacer.report();
        assert_eq!((report.forgiven, report.missed.count()), (0, 2));
        assert!(report.clock_at_zero_s.is_some_and(|at_s| (at_s - 0.995).abs() < 1e-9), "{report:?}");
    }

    #[test]
    fn a_world_that_was_set_back_begins_a_line_of_its_own() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        pacer.plan(ms(1200), sim_ms(205), 1.0);
        assert_eq!(pacer.plan(ms(1210), SimTime::ZERO, 1.0), Plan::Wait { due: ms(1210) });
        assert_eq!(pacer.plan(ms(1211), sim_ms(5), 1.0), Plan::Wait { due: ms(1215) });
    }

    #[test]
    fn time_that_stood_is_not_made_up() {
        let mut pacer = begun(&ClockAuthority::Wall, 1.0);
        pacer.begin_anew();
        assert_eq!(pacer.timeline.lateness(SimTime::ZERO), None);
        assert_eq!(pacer.plan(ms(9000), sim_ms(10), 1.0), Plan::Wait { due: ms(9000) });
        assert_eq!(pacer.plan(ms(9001), sim_ms(15), 1.0), Plan::Wait { due: ms(9005) });
        assert_eq!(pacer.report().missed.count(), 0);
    }

    #[test]
    fn lateness_is_told_of_stamps_once_there_is_a_line() {
        let timeline = Timeline::default();
        assert_eq!(timeline.lateness(SimTime::ZERO), None);
        let mut pacer = Pacer::new(Pace::Times(1.0), &timeline);
        assert!(matches!(pacer.wait_for(SimTime::ZERO, || {}), Ok(Tick::OnTime(_))));
        assert!(matches!(pacer.wait_for(sim_ms(2), || {}), Ok(Tick::OnTime(_) | Tick::Late(_))));
        assert!(timeline.lateness(SimTime::ZERO).is_some_and(|late| late >= ms(2)));
        assert_eq!(timeline.lateness(SimTime::from_secs_f64(1e6)), Some(Duration::ZERO));
        let mut fast = Pacer::new(Pace::Fast, &timeline);
        assert!(matches!(fast.wait_for(sim_ms(9), || {}), Ok(Tick::Unpaced)));
    }

    #[test]
    fn another_pace_counts_from_the_heartbeat_on_that_takes_it() {
        let mut pacer = begun(&ClockAuthority::Simulation, 1.0);
        pacer.timeline.ask(Pace::Times(0.5));
        pacer.timeline.ask(Pace::Times(2.0));
        // Not before it is taken.
        assert_eq!(pacer.plan(ms(1001), sim_ms(10), 1.0), Plan::Wait { due: ms(1005) });
        pacer.take_pace();
        assert_eq!(pacer.pace, Pace::Times(2.0));
        assert_eq!(pacer.plan(ms(1020), sim_ms(15), 2.0), Plan::Wait { due: ms(1020) });
        assert_eq!(pacer.plan(ms(1021), sim_ms(115), 2.0), Plan::Wait { due: ms(1070) });
        assert_eq!(pacer.report().missed.count(), 0);
    }

    #[test]
    fn a_run_that_goes_on_as_fast_as_it_can_has_no_lateness() {
        let timeline = Timeline::default();
        let mut pacer = Pacer::new(Pace::Times(1.0), &timeline);
        assert!(matches!(pacer.wait_for(SimTime::ZERO, || {}), Ok(Tick::OnTime(_))));
        timeline.ask(Pace::Fast);
        assert!(matches!(pacer.wait_for(sim_ms(5), || {}), Ok(Tick::Unpaced)));
        assert_eq!(timeline.lateness(SimTime::ZERO), None);
        timeline.ask(Pace::Times(4.0));
        assert!(matches!(pacer.wait_for(sim_ms(10), || {}), Ok(Tick::OnTime(_))));
        assert_eq!(timeline.lateness(SimTime::from_secs_f64(1e6)), Some(Duration::ZERO));
    }
}

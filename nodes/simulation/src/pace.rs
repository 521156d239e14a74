//! How fast simulated time passes against wall time.

use std::time::{Duration, Instant};

use selene_base::SimTime;

/// The asked pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the machine can.
    Fast,
    /// Simulated seconds a wall second: 1 is real time.
    Times(f64),
}

/// Holds the pace. A run that falls behind is not hurried afterwards: what was lost
/// stays lost, so that a robot's computer never sees time rush.
pub(crate) struct Pacer {
    pace: Pace,
    /// The wall instant and the simulated time that belong together.
    anchor: Option<(Instant, SimTime)>,
    overruns: u64,
}

/// A lag beyond which the pace is anchored anew.
const LAG_FORGIVEN: Duration = Duration::from_millis(100);
/// At a slow pace a heartbeat takes seconds of sleep; others hear of the process meanwhile.
const SLEEP_MAX: Duration = Duration::from_millis(100);

impl Pacer {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, anchor: None, overruns: 0 }
    }

    /// How often the run fell behind so far that the lag was forgiven.
    pub(crate) fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Sleeps until the wall clock reaches `time` at the pace, and does something every while meanwhile.
    pub(crate) fn wait_for(&mut self, time: SimTime, mut meanwhile: impl FnMut()) {
        let Pace::Times(factor) = self.pace else { return };
        let now = Instant::now();
        let (wall, simulated) = *self.anchor.get_or_insert((now, time));
        let due = wall + Duration::from_secs_f64((time - simulated).secs_f64() / factor);
        match due.checked_duration_since(now) {
            Some(mut early) => {
                while early > SLEEP_MAX {
                    std::thread::sleep(SLEEP_MAX);
                    meanwhile();
                    early = due.saturating_duration_since(Instant::now());
                }
                std::thread::sleep(early);
            }
            None if now - due > LAG_FORGIVEN => {
                self.anchor = Some((now, time));
                self.overruns += 1;
            }
            None => {}
        }
    }
}

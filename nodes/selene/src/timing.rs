//! Selects the clock that simulated time follows, from the command line.

use selene_simulation::{ClockAuthority, Timeline};

use crate::args::{PaceArg, PacingArgs};
use crate::fault::Fault;

/// The timeline of `--clock-authority`. Refused if the pace does not follow that clock, if the clock cannot be read, or
/// if a real-time thread would never wait.
pub(crate) fn timeline(pacing: &PacingArgs) -> Result<Timeline, Fault> {
    let follows = matches!(pacing.pace, PaceArg::RealTime);
    if pacing.clock_authority != ClockAuthority::Simulation && !follows {
        return Err(Fault::input(
            "--clock-authority: a clock that is not the simulation's is followed in real time alone: leave out --pace",
        ));
    }
    if pacing.realtime_priority.is_some() && matches!(pacing.pace, PaceArg::Fast) {
        return Err(Fault::input(
            "--realtime-priority: at --pace fast the thread would never wait, and take a core from all others",
        ));
    }
    Timeline::new(&pacing.clock_authority).map_err(|error| Fault::input(format!("--clock-authority {error}")))
}

//! By whose clock simulated time passes, as the command line says.

use selene_simulation::{ClockAuthority, Timeline};

use crate::args::{PaceArg, PacingArgs};
use crate::fault::Fault;

/// The clock that was asked for; refused where the pace does not follow it, it cannot be read, or a thread of real time would not wait.
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

//! By whose clock simulated time passes, as the command line says.

use selene_simulation::{ClockAuthority, Timeline};

use crate::args::{PaceArg, PacingArgs};
use crate::fault::Fault;

/// The clock that was asked for; refused where the pace does not follow it or it cannot be read.
pub(crate) fn timeline(pacing: &PacingArgs) -> Result<Timeline, Fault> {
    let follows = matches!(pacing.pace, PaceArg::RealTime);
    if pacing.clock_authority != ClockAuthority::Simulation && !follows {
        return Err(Fault::input(
            "--clock-authority: a clock that is not the simulation's is followed in real time alone: leave out --pace",
        ));
    }
    Timeline::new(&pacing.clock_authority).map_err(|error| Fault::input(format!("--clock-authority {error}")))
}

//! Who drives: commands from outside are obeyed at once and hold for half a second
//! of simulated time; then the rover stops. Until the first command comes the
//! scenario's route is followed; once somebody has driven, the follower stays off,
//! so that the rover never starts by itself under an operator's hands.

use selene_base::SimTime;

/// How long a command holds, simulated time.
const COMMAND_HOLD: SimTime = SimTime::from_nanos(500_000_000);

/// A planar velocity command in `base_link`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Forward speed, m/s.
    pub forward_m_s: f64,
    /// Turn rate, rad/s, counter-clockwise positive.
    pub turn_rad_s: f64,
}

impl Command {
    /// Stand still.
    pub const STOP: Self = Self { forward_m_s: 0.0, turn_rad_s: 0.0 };

    fn is_finite(self) -> bool {
        self.forward_m_s.is_finite() && self.turn_rad_s.is_finite()
    }
}

/// The latest command from outside and when it came.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Driver {
    latest: Option<(SimTime, Command)>,
    refused: u64,
}

impl Driver {
    /// Takes a command that arrived at `now`. One that is not finite is ignored and
    /// counted.
    pub fn take(&mut self, command: Command, now: SimTime) {
        if command.is_finite() {
            self.latest = Some((now, command));
        } else {
            self.refused += 1;
        }
    }

    /// How many commands were not finite.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// What the driver wants at `now`: nothing before the first command, a stop when
    /// the driver has fallen silent.
    #[must_use]
    pub fn wants(&self, now: SimTime) -> Option<Command> {
        let (since, command) = self.latest?;
        Some(if now - since < COMMAND_HOLD { command } else { Command::STOP })
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Driver};
    use selene_base::SimTime;

    const GO: Command = Command { forward_m_s: 0.2, turn_rad_s: 0.1 };

    fn at(secs: f64) -> SimTime {
        SimTime::from_secs_f64(secs)
    }

    #[test]
    fn a_command_holds_for_half_a_second_and_then_the_rover_stops() {
        let mut driver = Driver::default();
        assert_eq!(driver.wants(at(1.0)), None);
        driver.take(GO, at(1.0));
        assert_eq!(driver.wants(at(1.0)), Some(GO));
        assert_eq!(driver.wants(at(1.499)), Some(GO));
        assert_eq!(driver.wants(at(1.5)), Some(Command::STOP));
    }

    #[test]
    fn commands_that_are_not_finite_are_ignored_and_counted() {
        let mut driver = Driver::default();
        driver.take(GO, at(0.0));
        driver.take(Command { forward_m_s: f64::NAN, ..GO }, at(0.1));
        driver.take(Command { turn_rad_s: f64::INFINITY, ..GO }, at(0.1));
        assert_eq!(driver.refused(), 2);
        assert_eq!(driver.wants(at(0.2)), Some(GO));
    }
}

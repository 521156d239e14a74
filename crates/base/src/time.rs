//! Simulated time: whole nanoseconds, so that sums are exact and equal on every
//! machine. One type serves for instants (since the scenario's start) and spans.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub};

use serde::{Deserialize, Serialize};

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// An instant since the scenario's start, or a span, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SimTime(i64);

impl SimTime {
    /// The scenario's start; also the empty span.
    pub const ZERO: Self = Self(0);

    /// From whole nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From seconds, rounded to the nearest nanosecond.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * NANOS_PER_SEC as f64).round() as i64)
    }

    /// The period of `rate_hz`, rounded to the nearest nanosecond.
    #[must_use]
    pub fn period(rate_hz: f64) -> Self {
        Self::from_secs_f64(1.0 / rate_hz)
    }

    /// Whole nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Seconds as a float: for equations, never for bookkeeping.
    #[must_use]
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Seconds and the nanoseconds within the second, as ROS stamps have them.
    #[must_use]
    pub fn sec_nanosec(self) -> (i32, u32) {
        let sec = self.0.div_euclid(NANOS_PER_SEC);
        let nanosec = self.0.rem_euclid(NANOS_PER_SEC);
        (sec as i32, nanosec as u32)
    }

    /// From a ROS stamp.
    #[must_use]
    pub fn from_sec_nanosec(sec: i32, nanosec: u32) -> Self {
        Self(i64::from(sec) * NANOS_PER_SEC + i64::from(nanosec))
    }
}

impl Add for SimTime {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for SimTime {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for SimTime {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<i64> for SimTime {
    type Output = Self;
    fn mul(self, rhs: i64) -> Self {
        Self(self.0 * rhs)
    }
}

/// Number of whole spans of `rhs` in `self`; `rhs` must not be zero.
impl Div for SimTime {
    type Output = i64;
    fn div(self, rhs: Self) -> i64 {
        self.0.div_euclid(rhs.0)
    }
}

/// Remainder after whole spans of `rhs`, 0 or more; `rhs` must not be zero.
impl Rem for SimTime {
    type Output = Self;
    fn rem(self, rhs: Self) -> Self {
        Self(self.0.rem_euclid(rhs.0))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::SimTime;

    #[test]
    fn stamps_round_trip_before_and_after_zero() {
        for nanos in [-1, 0, 1, 999_999_999, 1_000_000_000, 1_234_567_890_123] {
            let t = SimTime::from_nanos(nanos);
            let (sec, nanosec) = t.sec_nanosec();
            assert!(nanosec < 1_000_000_000);
            assert_eq!(SimTime::from_sec_nanosec(sec, nanosec), t);
        }
    }

    #[test]
    fn a_rate_divides_time_exactly() {
        let period = SimTime::period(200.0);
        assert_eq!(period.nanos(), 5_000_000);
        assert_eq!(SimTime::from_secs_f64(20.0) / period, 4000);
        assert_eq!(SimTime::from_secs_f64(20.0) % period, SimTime::ZERO);
    }
}

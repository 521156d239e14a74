//! Values of the command line that need reading: each refusal says what is
//! allowed.

use std::str::FromStr;

use selene_base::SimTime;

/// The longest run taken, s: a year.
const SECONDS_MAX: f64 = 31_557_600.0;
/// The slowest and the fastest pace that can be held; faster is `fast`.
const PACE_MIN: f64 = 0.001;
const PACE_MAX: f64 = 1000.0;
/// More threads than this only cost.
const THREADS_MAX: usize = 256;

/// How simulated time follows wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PaceArg {
    /// One simulated second a second.
    RealTime,
    /// As fast as it goes.
    Fast,
    /// So many simulated seconds a second.
    Times(f64),
}

impl FromStr for PaceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "real-time" => Ok(Self::RealTime),
            "fast" => Ok(Self::Fast),
            factor => {
                let fits = factor.trim().parse().ok().filter(|factor| (PACE_MIN..=PACE_MAX).contains(factor));
                fits.map(Self::Times).ok_or_else(|| {
                    format!(
                        "must be real-time, fast or a factor from {PACE_MIN} to {PACE_MAX} (4: four times real time)"
                    )
                })
            }
        }
    }
}

/// Length and width, m, as `0.2x0.1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size(pub(crate) [f64; 2]);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be length x width in metres, both above 0, such as 0.2x0.1".to_owned();
        let (length, width) = text.split_once('x').ok_or_else(wrong)?;
        let side = |text: &str| positive(text).map_err(|_| wrong());
        Ok(Self([side(length)?, side(width)?]))
    }
}

/// A finite number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| "must be a number".to_owned())?;
    let fits = number.is_finite() && number > 0.0;
    if fits { Ok(number) } else { Err("must be a finite number above 0".to_owned()) }
}

/// Seconds of simulated time.
pub(super) fn seconds(text: &str) -> Result<SimTime, String> {
    let wrong = || format!("must be seconds from 0 to {SECONDS_MAX} (a year)");
    let seconds: f64 = text.trim().parse().map_err(|_| wrong())?;
    let fits = (0.0..=SECONDS_MAX).contains(&seconds);
    if fits { Ok(SimTime::from_secs_f64(seconds)) } else { Err(wrong()) }
}

/// A number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    let fits = text.parse().ok().filter(|count| (1..=THREADS_MAX).contains(count));
    fits.ok_or_else(|| format!("must be a whole number from 1 to {THREADS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::{PaceArg, Size, positive, seconds, threads};

    #[test]
    fn a_pace_is_a_word_or_a_factor_within_its_bounds() {
        assert_eq!("real-time".parse(), Ok(PaceArg::RealTime));
        assert_eq!("fast".parse(), Ok(PaceArg::Fast));
        assert_eq!("0.5".parse(), Ok(PaceArg::Times(0.5)));
        assert_eq!("0.001".parse(), Ok(PaceArg::Times(0.001)));
        assert_eq!("1000".parse(), Ok(PaceArg::Times(1000.0)));
        for bad in ["", "0", "-1", "NaN", "inf", "quick", "1e-300", "0.0009", "1000.1"] {
            let refusal = bad.parse::<PaceArg>().expect_err(bad);
            assert!(refusal.contains("real-time, fast or a factor from 0.001 to 1000"), "{bad}: {refusal}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_or_out_of_range_are_refused() {
        for bad in ["", "x", "NaN", "inf", "-1", "0"] {
            assert!(positive(bad).is_err(), "{bad}");
        }
        for bad in ["", "x", "NaN", "inf", "-1", "1e30"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        for bad in ["", "0", "-1", "1.5", "100000"] {
            assert!(threads(bad).is_err(), "{bad}");
        }
        assert_eq!(seconds("2.5").map(|t| t.nanos()), Ok(2_500_000_000));
    }

    #[test]
    fn a_plate_has_two_sides() {
        assert_eq!("0.2x0.1".parse(), Ok(Size([0.2, 0.1])));
        for bad in ["0.2", "0.2x", "x", "0.2x0", "0.2x0.1x0.1", "NaNx1"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }
}

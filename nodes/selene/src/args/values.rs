//! Parsers for values of the command line. Each error message says what is allowed.

use std::str::FromStr;

use selene_base::SimTime;

/// Greatest duration of a run, s: a year.
const SECONDS_MAX: f64 = 31_557_600.0;
/// Greatest span of time, s: a hundred years.
const SPAN_SECONDS_MAX: f64 = 100.0 * SECONDS_MAX;
/// Least and greatest factor of the pace; for more there is `fast`.
pub(crate) const PACE_MIN: f64 = 0.001;
pub(crate) const PACE_MAX: f64 = 1000.0;
/// Greatest number of threads: more of them have no benefit.
const THREADS_MAX: usize = 256;
/// Greatest number of steps in a range.
const SWEEP_MAX: usize = 10_000;
/// Describes the syntax of a sweep in error messages.
const SWEEP: &str = "must be one number, a list (0.1,0.2,0.5) or a range with its step (0:0.8:0.1)";

/// The pace of simulated time relative to wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PaceArg {
    /// One simulated second per second.
    RealTime,
    /// As fast as possible.
    Fast,
    /// This many simulated seconds per second.
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

/// Length and width, m, written as `0.2x0.1`.
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

/// Values of a sweep: one number, a list, or a range with its step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sweep(pub(crate) Vec<f64>);

impl Sweep {
    /// Parses `text`. Refuses values for which `fits` is false; `allowed` describes the others in the error message.
    fn parse(text: &str, fits: impl Fn(f64) -> bool, allowed: &str) -> Result<Self, String> {
        let values: Vec<f64> = match text.split(':').collect::<Vec<_>>()[..] {
            [_] => text.split(',').map(number).collect::<Result<_, _>>()?,
            [from, to, step] => range(number(from)?, number(to)?, number(step)?)?,
            _ => return Err(SWEEP.to_owned()),
        };
        match values.iter().find(|value| !fits(**value)) {
            Some(value) => Err(format!("{value} is not allowed: must be {allowed}")),
            None => Ok(Self(values)),
        }
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no number: {SWEEP}"))
}

/// Values from `from` to `to` inclusive, rounded to twelve digits so that they print as decimal fractions.
fn range(from: f64, to: f64, step: f64) -> Result<Vec<f64>, String> {
    let steps = (to - from) / step;
    if !(step.is_finite() && steps >= 0.0 && steps < SWEEP_MAX as f64) {
        return Err(format!("a range must go from:to:step in at most {SWEEP_MAX} steps toward its end"));
    }
    let count = (steps + 1e-9).floor() as usize;
    let value = |i: usize| format!("{:.11e}", from + i as f64 * step).parse().map_err(|_| SWEEP.to_owned());
    (0..=count).map(value).collect()
}

/// Names of soils, or files, separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Names(pub(crate) Vec<String>);

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) {
            return Err("must be names or files, separated by commas".to_owned());
        }
        Ok(Self(names))
    }
}

/// Parses a sweep of numbers above zero.
pub(super) fn positives(text: &str) -> Result<Sweep, String> {
    Sweep::parse(text, |value| value.is_finite() && value > 0.0, "a finite number above 0")
}

/// Parses a sweep of slip ratios, above −1 and at most 1.
pub(super) fn slips(text: &str) -> Result<Sweep, String> {
    Sweep::parse(text, |slip| slip > -1.0 && slip <= 1.0, "above -1 and at most 1")
}

/// Parses a sweep of slip angles, degrees, −80 to 80.
pub(super) fn slip_angles(text: &str) -> Result<Sweep, String> {
    Sweep::parse(text, |angle| (-80.0..=80.0).contains(&angle), "-80 to 80")
}

/// Parses a sweep of slopes, degrees, −45 to 45.
pub(super) fn slopes(text: &str) -> Result<Sweep, String> {
    Sweep::parse(text, |slope| (-45.0..=45.0).contains(&slope), "-45 to 45")
}

/// Parses a wheel's grip, 0 to 1.
pub(super) fn grip(text: &str) -> Result<f64, String> {
    let grip = text.trim().parse().ok().filter(|grip| (0.0..=1.0).contains(grip));
    grip.ok_or_else(|| "must be 0 to 1".to_owned())
}

/// Parses a number of grousers, 1 to 1000.
pub(super) fn whole(text: &str) -> Result<u32, String> {
    let count = text.trim().parse().ok().filter(|count| (1..=1000).contains(count));
    count.ok_or_else(|| "must be a whole number from 1 to 1000".to_owned())
}

/// Parses a finite number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().parse().map_err(|_| "must be a number".to_owned())?;
    let fits = number.is_finite() && number > 0.0;
    if fits { Ok(number) } else { Err("must be a finite number above 0".to_owned()) }
}

/// Parses a finite number.
pub(super) fn number_of(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "must be a finite number".to_owned())
}

/// Parses a latitude, degrees.
pub(super) fn latitude(text: &str) -> Result<f64, String> {
    number_of(text)
        .ok()
        .filter(|deg| (-90.0..=90.0).contains(deg))
        .ok_or_else(|| "must be degrees from -90 to 90".to_owned())
}

/// Parses an east longitude, degrees from −180 to 360.
pub(super) fn degrees_east(text: &str) -> Result<f64, String> {
    let fits = number_of(text).ok().filter(|deg| (-180.0..=360.0).contains(deg));
    fits.ok_or_else(|| "must be degrees east from -180 to 360".to_owned())
}

/// Parses two map coordinates, `X,Y`.
pub(super) fn map_point(text: &str) -> Result<[f64; 2], String> {
    let parts: Vec<_> = text.split(',').map(number_of).collect();
    match &parts[..] {
        [Ok(x), Ok(y)] => Ok([*x, *y]),
        _ => Err("must be two finite numbers, X,Y".to_owned()),
    }
}

/// Parses a duration in seconds of simulated time.
pub(super) fn seconds(text: &str) -> Result<SimTime, String> {
    let wrong = || format!("must be seconds from 0 to {SECONDS_MAX} (a year)");
    let seconds: f64 = text.trim().parse().map_err(|_| wrong())?;
    let fits = (0.0..=SECONDS_MAX).contains(&seconds);
    if fits { Ok(SimTime::from_secs_f64(seconds)) } else { Err(wrong()) }
}

/// Parses a span of time with its unit, such as 30d.
pub(super) fn span(text: &str) -> Result<SimTime, String> {
    let wrong = || "must be a number above 0 with d, h, m or s, such as 30d, 12h or 90m, 100 years at most".to_owned();
    let unit_s = match text.trim().chars().last() {
        Some('d') => 86_400.0,
        Some('h') => 3600.0,
        Some('m') => 60.0,
        Some('s') => 1.0,
        _ => return Err(wrong()),
    };
    let number = text.trim().strip_suffix(['d', 'h', 'm', 's']).unwrap_or_default().parse().map_err(|_| wrong());
    let seconds = number.map(|number: f64| number * unit_s)?;
    let fits = (1e-3..=SPAN_SECONDS_MAX).contains(&seconds);
    if fits { Ok(SimTime::from_secs_f64(seconds)) } else { Err(wrong()) }
}

/// Parses a number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    let fits = text.parse().ok().filter(|count| (1..=THREADS_MAX).contains(count));
    fits.ok_or_else(|| format!("must be a whole number from 1 to {THREADS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::{
        Names, PaceArg, Size, Sweep, degrees_east, grip, latitude, map_point, positive, positives, seconds, slips,
        span, threads, whole,
    };
    use selene_base::SimTime;

    #[test]
    fn a_sweep_is_a_number_a_list_or_a_range_with_both_its_ends() {
        let values = |text| slips(text).map(|Sweep(values)| values);
        assert_eq!(values("0.2"), Ok(vec![0.2]));
        assert_eq!(values("0.5, -0.1"), Ok(vec![0.5, -0.1]));
        assert_eq!(values("-0.2:0.4:0.2"), Ok(vec![-0.2, 0.0, 0.2, 0.4]));
        assert_eq!(values("0.3:0.1:-0.1"), Ok(vec![0.3, 0.2, 0.1]));
        assert_eq!(values("0:0.5:0.2"), Ok(vec![0.0, 0.2, 0.4]));
        for bad in ["", "a", "0.1,", "0.1,NaN", "2", "0:2:0.5", "0:1", "0:1:0", "0:1:-0.1", "0:1:1e-9", "0:1:0.1:2"] {
            assert!(values(bad).is_err(), "{bad}");
        }
        assert!(values("0.1,-1").is_err_and(|refusal| refusal.contains("-1 is not allowed: must be above -1")));
        assert!(positives("1,0").is_err() && positives("inf").is_err());
    }

    #[test]
    fn soils_grips_and_grousers_are_checked() {
        assert_eq!("lunar, soft".parse(), Ok(Names(vec!["lunar".to_owned(), "soft".to_owned()])));
        assert!("lunar,".parse::<Names>().is_err());
        assert_eq!((grip("0.85"), whole("24")), (Ok(0.85), Ok(24)));
        assert!(["-0.1", "1.1", "NaN"].iter().all(|bad| grip(bad).is_err()));
        assert!(["0", "1.5", "-3", "2000"].iter().all(|bad| whole(bad).is_err()));
    }

    #[test]
    fn places_are_checked() {
        assert_eq!((latitude("-89.67"), degrees_east("359.5")), (Ok(-89.67), Ok(359.5)));
        assert!(["90.1", "NaN", "south"].iter().all(|bad| latitude(bad).is_err()));
        assert!(["-181", "361", "inf"].iter().all(|bad| degrees_east(bad).is_err()));
        assert_eq!(map_point("-5e3, 20.5"), Ok([-5000.0, 20.5]));
        assert!(["1", "1,2,3", "1,inf", "a,b"].iter().all(|bad| map_point(bad).is_err()));
    }

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
    fn a_span_has_a_unit() {
        let seconds = |text| span(text).map(SimTime::secs_f64);
        assert_eq!(["30d", "12h", "90m", "1.5s"].map(seconds), [2_592_000.0, 43_200.0, 5400.0, 1.5].map(Ok));
        for bad in ["", "30", "d", "0h", "-1d", "NaNd", "infd", "1e9d", "3 weeks", "3dh"] {
            assert!(span(bad).is_err_and(|refusal| refusal.contains("such as 30d")), "{bad}");
        }
    }

    #[test]
    fn a_plate_has_two_sides() {
        assert_eq!("0.2x0.1".parse(), Ok(Size([0.2, 0.1])));
        for bad in ["0.2", "0.2x", "x", "0.2x0", "0.2x0.1x0.1", "NaNx1"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }
}

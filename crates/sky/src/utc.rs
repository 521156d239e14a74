//! UTC instants as text (ISO 8601, "2026-11-21T12:00:00Z") and as the dynamical time
//! that ephemerides use: TT = UTC + leap seconds + 32.184 s, taken as TDB, from which it
//! differs by less than 2 ms. Leap seconds are those announced up to 2017 (IERS Bulletin C 52;
//! none since); before 1972, when UTC had none, the 10 s of that year are used.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use selene_base::SimTime;
use serde::{Deserialize, Serialize};

const SECS_PER_DAY: i64 = 86_400;
const NANOS_PER_SEC: i64 = 1_000_000_000;
/// 2000-01-01T12:00:00 counted from 1970-01-01T00:00:00.
const J2000_UNIX_S: i64 = 946_728_000;
/// TT − TAI, s.
const TT_MINUS_TAI_S: f64 = 32.184;
/// TAI − UTC before the first leap second, s.
const TAI_MINUS_UTC_BEFORE_S: i64 = 10;

/// A step of TAI − UTC: its instant in seconds since 1970, and the difference from then on, s.
pub(crate) type LeapSecond = (i64, i64);

/// All steps of TAI − UTC up to the last one, in 2017.
pub(crate) const LEAP_SECONDS: [LeapSecond; 28] = [
    (63_072_000, 10),
    (78_796_800, 11),
    (94_694_400, 12),
    (126_230_400, 13),
    (157_766_400, 14),
    (189_302_400, 15),
    (220_924_800, 16),
    (252_460_800, 17),
    (283_996_800, 18),
    (315_532_800, 19),
    (362_793_600, 20),
    (394_329_600, 21),
    (425_865_600, 22),
    (489_024_000, 23),
    (567_993_600, 24),
    (631_152_000, 25),
    (662_688_000, 26),
    (709_948_800, 27),
    (741_484_800, 28),
    (773_020_800, 29),
    (820_454_400, 30),
    (867_715_200, 31),
    (915_148_800, 32),
    (1_136_073_600, 33),
    (1_230_768_000, 34),
    (1_341_100_800, 35),
    (1_435_708_800, 36),
    (1_483_228_800, 37),
];

/// An instant of UTC, from 1900 to 2099, in whole nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Utc {
    unix_ns: i64,
}

/// A text that is no UTC instant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is no UTC instant: {why}; write YYYY-MM-DDTHH:MM:SSZ between 1900 and 2099, such as 2026-11-21T12:00:00Z"
)]
pub struct UtcError {
    text: String,
    why: &'static str,
}

impl Utc {
    /// The instant `span` later.
    #[must_use]
    pub fn after(self, span: SimTime) -> Self {
        Self { unix_ns: self.unix_ns.saturating_add(span.nanos()) }
    }

    /// Span from `earlier` to this instant.
    #[must_use]
    pub fn since(self, earlier: Self) -> SimTime {
        SimTime::from_nanos(self.unix_ns.saturating_sub(earlier.unix_ns))
    }

    /// Days of dynamical time (TT, taken as TDB) since J2000.0.
    #[must_use]
    pub fn tdb_days(self) -> f64 {
        self.tdb_s(&LEAP_SECONDS) / SECS_PER_DAY as f64
    }

    /// Seconds of dynamical time since J2000.0 with the leap seconds of a kernel.
    pub(crate) fn tdb_s(self, leap_seconds: &[LeapSecond]) -> f64 {
        let unix_s = self.unix_ns.div_euclid(NANOS_PER_SEC);
        let step = leap_seconds.iter().rev().find(|(from_s, _)| *from_s <= unix_s);
        let tai_minus_utc_s = step.map_or(TAI_MINUS_UTC_BEFORE_S, |(_, seconds)| *seconds);
        let since_j2000_ns = self.unix_ns - J2000_UNIX_S * NANOS_PER_SEC;
        since_j2000_ns as f64 / NANOS_PER_SEC as f64 + tai_minus_utc_s as f64 + TT_MINUS_TAI_S
    }
}

impl FromStr for Utc {
    type Err = UtcError;

    fn from_str(text: &str) -> Result<Self, UtcError> {
        parse(text).map_err(|why| UtcError { text: text.to_owned(), why })
    }
}

impl TryFrom<String> for Utc {
    type Error = UtcError;

    fn try_from(text: String) -> Result<Self, UtcError> {
        text.parse()
    }
}

impl From<Utc> for String {
    fn from(utc: Utc) -> Self {
        utc.to_string()
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secs = self.unix_ns.div_euclid(NANOS_PER_SEC);
        let (year, month, day) = civil_from_days(secs.div_euclid(SECS_PER_DAY));
        let s = secs.rem_euclid(SECS_PER_DAY);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)?;
        let fraction = format!("{:09}", self.unix_ns.rem_euclid(NANOS_PER_SEC));
        match fraction.trim_end_matches('0') {
            "" => f.write_str("Z"),
            digits => write!(f, ".{digits}Z"),
        }
    }
}

/// The day, YYYY-MM-DD, of an instant of dynamical time, s since J2000.0. It ignores the minute
/// between dynamical time and UTC: it is for the ends of spans of years.
pub(crate) fn day_of(tdb_s: f64) -> String {
    let (year, month, day) = civil_from_days((tdb_s as i64 + J2000_UNIX_S).div_euclid(SECS_PER_DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Seconds from 1970 to the beginning of a day of the calendar; `None` if there is no such day.
pub(crate) fn unix_s_of_day(year: i64, month: i64, day: i64) -> Option<i64> {
    let days = days_from_civil(year, month, day);
    (civil_from_days(days) == (year, month, day)).then_some(days * SECS_PER_DAY)
}

fn parse(text: &str) -> Result<Utc, &'static str> {
    let body = text.strip_suffix('Z').ok_or("the final Z is missing")?;
    let (date, time) = body.split_once('T').ok_or("there is no T between date and time")?;
    let days = parse_date(date)?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let secs = days * SECS_PER_DAY + parse_clock(clock)?;
    Ok(Utc { unix_ns: secs * NANOS_PER_SEC + parse_fraction_ns(fraction)? })
}

fn parse_date(text: &str) -> Result<i64, &'static str> {
    let [year, month, day] = numbers(text, '-', [4, 2, 2]).ok_or("the date is not YYYY-MM-DD")?;
    if !(1900..=2099).contains(&year) {
        return Err("the year is outside 1900 to 2099");
    }
    let days = days_from_civil(year, month, day);
    if !(1..=12).contains(&month) || civil_from_days(days) != (year, month, day) {
        return Err("there is no such day");
    }
    Ok(days)
}

fn parse_clock(text: &str) -> Result<i64, &'static str> {
    let [hour, minute, second] = numbers(text, ':', [2, 2, 2]).ok_or("the time is not HH:MM:SS")?;
    if hour > 23 || minute > 59 || second > 59 {
        return Err("the time of day is outside 00:00:00 to 23:59:59");
    }
    Ok(hour * 3600 + minute * 60 + second)
}

fn parse_fraction_ns(digits: &str) -> Result<i64, &'static str> {
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("the fraction of the second is not 1 to 9 digits");
    }
    format!("{digits:0<9}").parse().map_err(|_| "the fraction of the second is not a number")
}

/// Three numbers of exactly `widths` digits between `separator`s.
fn numbers(text: &str, separator: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut values = [0; 3];
    for (value, width) in values.iter_mut().zip(widths) {
        let part = parts.next().filter(|p| p.len() == width && p.bytes().all(|b| b.is_ascii_digit()))?;
        *value = part.parse().ok()?;
    }
    parts.next().is_none().then_some(values)
}

/// Days from 1970-01-01 in the Gregorian calendar (H. Hinnant, "chrono-compatible
/// low-level date algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let year_of_era = y.rem_euclid(400);
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month, day of a day counted from 1970-01-01 (same source).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    (z.div_euclid(146_097) * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::Utc;
    use selene_base::SimTime;

    fn utc(text: &str) -> Utc {
        text.parse().expect("good")
    }

    #[test]
    fn text_round_trips_and_counts_unix_nanoseconds() {
        for (text, unix_s) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-21T12:00:00Z", 1_795_262_400),
            ("1900-03-01T00:00:00Z", -2_203_891_200),
        ] {
            assert_eq!(utc(text).unix_ns, unix_s * 1_000_000_000, "{text}");
            assert_eq!(utc(text).to_string(), text);
        }
        assert_eq!(utc("2026-11-21T12:00:00.25Z").to_string(), "2026-11-21T12:00:00.25Z");
    }

    #[test]
    fn j2000_is_day_zero_of_dynamical_time() {
        // TAI − UTC was 32 s then and is 37 s since 2017 (IERS Bulletin C).
        let day = utc("2000-01-01T12:00:00Z").tdb_days();
        assert!((day - 64.184 / 86_400.0).abs() < 1e-12);
        let later = utc("2026-11-21T12:00:00Z").tdb_days();
        assert!((later - (9821.0 + 69.184 / 86_400.0)).abs() < 1e-10);
    }

    #[test]
    fn a_leap_second_begins_at_its_midnight() {
        let step_s = |before: &str, after: &str| (utc(after).tdb_days() - utc(before).tdb_days()) * 86_400.0;
        assert!((step_s("2016-12-31T23:59:59Z", "2017-01-01T00:00:00Z") - 2.0).abs() < 1e-3);
        assert!((step_s("2016-12-31T23:59:58Z", "2016-12-31T23:59:59Z") - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_span_of_simulated_time_carries_over_midnight() {
        let later = utc("2026-12-31T23:59:59Z").after(SimTime::from_secs_f64(1.5));
        assert_eq!(later.to_string(), "2027-01-01T00:00:00.5Z");
    }

    #[test]
    fn what_is_no_instant_is_refused_with_the_text_and_the_form() {
        for bad in [
            "",
            "now",
            "2026-11-21",
            "2026-11-21T12:00:00",
            "2026-02-29T12:00:00Z",
            "2026-13-01T12:00:00Z",
            "2026-00-01T12:00:00Z",
            "2026-11-31T12:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T12:00:60Z",
            "1899-11-21T12:00:00Z",
            "2026-1-21T12:00:00Z",
            "2026-11-21T12:00:00.Z",
            "2026-11-21T12:00:00.0000000001Z",
            "+026-11-21T12:00:00Z",
            "２026-11-21T12:00:00Z",
        ] {
            let message = bad.parse::<Utc>().expect_err(bad).to_string();
            assert!(message.contains(&format!("'{bad}'")) && message.contains("YYYY-MM-DD"), "{message}");
        }
    }
}

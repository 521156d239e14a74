//! Outages of a service: in given windows, and at random. Random outages begin as a Poisson process of a given mean
//! interval and last between zero and twice their mean, uniformly; they may overlap. So the share of time without
//! service is 1 − e^{−mean duration/mean interval} (that of the M/G/∞ queue).
//!
//! Beginnings are drawn for slots of time, each as long as the mean interval, each slot from its own random stream:
//! whether an instant is in an outage is a function of that instant alone.

use garde::Validate;
use schemars::JsonSchema;
use selene_base::SimTime;
use selene_base::input::positive;
use selene_base::random::{RngExt, stream_at};
use serde::Deserialize;

/// The largest ratio of mean duration to mean interval: far below it, no service is left anyway.
const REACH_MAX: f64 = 100.0;

/// When a service is out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct OutageSpec {
    /// Beginning and end of each scheduled outage, s since the start of the scenario; ascending.
    #[garde(custom(ascending))]
    #[serde(default)]
    pub windows_s: Vec<[f64; 2]>,
    /// Random outages.
    #[garde(dive)]
    #[serde(default)]
    pub random: Option<RandomOutageSpec>,
}

/// Random outages.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct RandomOutageSpec {
    /// Mean time from the beginning of one outage to that of the next, s.
    #[garde(custom(positive))]
    pub mean_interval_s: f64,
    /// Mean duration of an outage, s; at most 100 times `mean_interval_s`.
    #[garde(custom(positive), custom(at_most_in(REACH_MAX, self.mean_interval_s)))]
    pub mean_duration_s: f64,
}

impl OutageSpec {
    /// Whether the service is out at `instant`; `seed` and `name` select the random streams.
    #[must_use]
    pub fn is_out(&self, instant: SimTime, seed: u64, name: &str) -> bool {
        let at_s = instant.secs_f64();
        let is_in_window = self.windows_s.iter().any(|[begins, ends]| (*begins..*ends).contains(&at_s));
        is_in_window || self.random.is_some_and(|random| random.is_out(at_s, seed, name))
    }
}

impl RandomOutageSpec {
    fn is_out(&self, at_s: f64, seed: u64, name: &str) -> bool {
        let slot_s = self.mean_interval_s;
        let latest = (at_s / slot_s).floor().max(0.0) as u64;
        let reach = (2.0 * self.mean_duration_s / slot_s).ceil() as u64;
        (latest.saturating_sub(reach)..=latest).any(|slot| self.covers(slot, at_s, seed, name))
    }

    /// Whether an outage that begins in a slot still lasts at `at_s`.
    fn covers(&self, slot: u64, at_s: f64, seed: u64, name: &str) -> bool {
        let mut rng = stream_at(seed, &format!("{name}/outages"), slot);
        let slot_s = self.mean_interval_s;
        let mut begins_s = slot as f64 * slot_s;
        let end_s = begins_s + slot_s;
        loop {
            begins_s -= slot_s * (1.0 - rng.random_range(0.0..1.0_f64)).ln();
            if begins_s >= end_s {
                return false;
            }
            let lasts_s = 2.0 * self.mean_duration_s * rng.random_range(0.0..1.0_f64);
            if (begins_s..begins_s + lasts_s).contains(&at_s) {
                return true;
            }
        }
    }
}

fn ascending(windows_s: &[[f64; 2]], (): &()) -> garde::Result {
    let mut after_s = 0.0;
    for [begins_s, ends_s] in windows_s {
        if !(begins_s.is_finite() && ends_s.is_finite() && *begins_s >= after_s && ends_s > begins_s) {
            let allowed = format!("from {after_s} s on, and to end after it begins");
            let what = format!("value [{begins_s}, {ends_s}] is not allowed: must be {allowed}");
            return Err(garde::Error::new(what));
        }
        after_s = *ends_s;
    }
    Ok(())
}

fn at_most_in(reach: f64, mean_interval_s: f64) -> impl FnOnce(&f64, &()) -> garde::Result {
    move |value, ()| {
        let most_s = reach * mean_interval_s;
        if *value <= most_s {
            return Ok(());
        }
        let what = format!("value {value} is not allowed: must be at most {reach} mean_interval_s ({most_s})");
        Err(garde::Error::new(what))
    }
}

#[cfg(test)]
mod tests {
    use super::{OutageSpec, RandomOutageSpec};
    use selene_base::SimTime;

    #[test]
    fn windows_have_their_beginning_and_not_their_end() {
        let outages = OutageSpec { windows_s: vec![[10.0, 20.0], [30.0, 31.0]], random: None };
        let out = |at_s| outages.is_out(SimTime::from_secs_f64(at_s), 1, "gps");
        assert_eq!([9.9, 10.0, 19.9, 20.0, 30.5, 31.0].map(out), [false, true, true, false, true, false]);
    }

    #[test]
    fn random_outages_take_their_share_of_time_and_are_each_a_function_of_the_instant() {
        // 20 000 s hold about 333 beginnings. The indicator's covariance e^{-2 rho} (e^{rho (1 - t/2D)^2} - 1),
        // rho = 1/3, integrates to 2.5 s: one sigma of the share is sqrt(2 * 2.5 s/20 000 s) = 1.6 %; five sigma.
        let (mean_interval_s, mean_duration_s) = (60.0, 20.0);
        let outages =
            OutageSpec { windows_s: Vec::new(), random: Some(RandomOutageSpec { mean_interval_s, mean_duration_s }) };
        let out = |second: i32, seed: u64| outages.is_out(SimTime::from_sec_nanosec(second, 0), seed, "gps");
        let share = (0..20_000).filter(|second| out(*second, 7)).count() as f64 / 20_000.0;
        let expected = 1.0 - (-mean_duration_s / mean_interval_s).exp();
        assert!((share - expected).abs() < 0.08, "{share}, not {expected}");
        assert!((0..20_000).any(|second| out(second, 7) != out(second, 8)), "another seed has other outages");
    }
}

//! Results of checks.

use std::fmt;

use serde::Serialize;

/// The most faults of a topic that are listed in full.
const REPORTED_MAX: usize = 3;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The measured value is as expected.
    Ok,
    /// The measured value is not as expected.
    Failed,
    /// There was too little data to measure, or an optional topic or service is missing.
    NotMeasured,
}

/// Result of one check: the measured and the expected value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Subject of the check.
    pub what: String,
    /// Outcome of the check.
    pub outcome: Outcome,
    /// The measured value.
    pub measured: String,
    /// The expected value.
    pub expected: String,
}

impl Finding {
    pub(crate) fn new(
        what: impl Into<String>,
        holds: bool,
        measured: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let outcome = if holds { Outcome::Ok } else { Outcome::Failed };
        Self { what: what.into(), outcome, measured: measured.into(), expected: expected.into() }
    }

    pub(crate) fn not_measured(
        what: impl Into<String>,
        measured: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self { outcome: Outcome::NotMeasured, ..Self::new(what, true, measured, expected) }
    }

    /// Whether the check failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.outcome == Outcome::Failed
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.outcome {
            Outcome::Ok => "ok  ",
            Outcome::Failed => "FAIL",
            Outcome::NotMeasured => "-   ",
        };
        write!(f, "{mark} {}: {}; expected {}", self.what, self.measured, self.expected)
    }
}

/// Faults of many messages: their number and the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    count: usize,
    first: Vec<String>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: String) {
        self.count += 1;
        if self.first.len() < REPORTED_MAX && !self.first.contains(&fault) {
            self.first.push(fault);
        }
    }

    /// The finding from these faults; `good` is its measured value if there are none.
    pub(crate) fn finding(&self, what: impl Into<String>, good: String, expected: &str) -> Finding {
        let reported = format!("{} faults: {}", self.count, self.first.join("; "));
        let holds = self.count == 0;
        Finding::new(what, holds, if holds { good } else { reported }, expected)
    }
}

impl Extend<String> for Faults {
    fn extend<T: IntoIterator<Item = String>>(&mut self, faults: T) {
        faults.into_iter().for_each(|fault| self.add(fault));
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Finding};

    #[test]
    fn faults_are_counted_and_the_first_few_are_reported() {
        let mut faults = Faults::default();
        assert_eq!(
            faults.finding("x", "7 messages".to_owned(), "good").to_string(),
            "ok   x: 7 messages; expected good"
        );
        faults.extend((0..9).map(|i| format!("fault {}", i % 5)));
        let reported = faults.finding("x", String::new(), "good").to_string();
        assert_eq!(reported, "FAIL x: 9 faults: fault 0; fault 1; fault 2; expected good");
    }

    #[test]
    fn what_is_not_measured_is_no_failure() {
        let finding = Finding::not_measured("rate", "1 message", "two");
        assert!(!finding.is_failure() && finding.to_string().starts_with("-    rate"), "{finding}");
    }
}

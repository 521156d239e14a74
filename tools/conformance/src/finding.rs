//! What a check found.

use std::fmt;

use serde::Serialize;

/// How many faults of one topic are told word by word.
const TOLD_MAX: usize = 3;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As expected.
    Ok,
    /// Not as expected.
    Failed,
    /// There was too little to measure, or nobody offers it and nobody has to.
    NotMeasured,
}

/// One check: what was measured and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    pub what: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What was measured.
    pub measured: String,
    /// What is expected.
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

    /// Whether it is a failure.
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

/// Faults of many messages: how many there are and the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    count: usize,
    first: Vec<String>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: String) {
        self.count += 1;
        if self.first.len() < TOLD_MAX && !self.first.contains(&fault) {
            self.first.push(fault);
        }
    }

    /// The finding: `good` is what is said of no faults.
    pub(crate) fn finding(&self, what: impl Into<String>, good: String, expected: &str) -> Finding {
        let told = format!("{} faults: {}", self.count, self.first.join("; "));
        let holds = self.count == 0;
        Finding::new(what, holds, if holds { good } else { told }, expected)
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
    fn faults_are_counted_and_the_first_few_are_told() {
        let mut faults = Faults::default();
        assert_eq!(
            faults.finding("x", "7 messages".to_owned(), "good").to_string(),
            "ok   x: 7 messages; expected good"
        );
        faults.extend((0..9).map(|i| format!("fault {}", i % 5)));
        let told = faults.finding("x", String::new(), "good").to_string();
        assert_eq!(told, "FAIL x: 9 faults: fault 0; fault 1; fault 2; expected good");
    }

    #[test]
    fn what_is_not_measured_is_no_failure() {
        let finding = Finding::not_measured("rate", "1 message", "two");
        assert!(!finding.is_failure() && finding.to_string().starts_with("-    rate"), "{finding}");
    }
}

//! Diagnostics that a node publishes on `/diagnostics` once each simulated second: a status with keys and values. A
//! status has the level of the worst problem raised in it, and its message lists all of them.

use std::fmt::Display;

use selene_base::SimTime;
use selene_ros::Qos;
use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus, KeyValue};
use selene_ros::std_msgs::Header;
use selene_ros::transport::Publisher;
use selene_sensors::Schedule;

use crate::NodeError;
use crate::links::Links;
use crate::run::RunId;

/// Rate of statuses in simulated time, Hz.
const RATE_HZ: f64 = 1.0;
/// Queue depth: enough that a subscriber that is killed does not block the others before DDS gives it up.
const DEPTH: usize = 100;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something to look at, such as refused requests or a few dropped data; the published data are correct.
    Warning,
    /// The data are wrong, or more of them are dropped than published.
    Error,
}

impl Severity {
    fn level(self) -> u8 {
        match self {
            Self::Warning => DiagnosticStatus::WARN,
            Self::Error => DiagnosticStatus::ERROR,
        }
    }
}

/// A status that is being filled.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    status: DiagnosticStatus,
    raised: Vec<String>,
}

impl Diagnostics {
    /// A status `name` of a run, with no problem so far.
    #[must_use]
    pub fn new(name: &str, run: &RunId) -> Self {
        let status = DiagnosticStatus {
            level: DiagnosticStatus::OK,
            name: format!("selene: {name}"),
            hardware_id: run.to_string(),
            ..DiagnosticStatus::default()
        };
        Self { status, raised: Vec::new() }
    }

    /// Adds a value under a key.
    pub fn value(&mut self, key: impl Into<String>, value: impl Display) -> &mut Self {
        self.status.values.push(KeyValue { key: key.into(), value: value.to_string() });
        self
    }

    /// Adds a problem.
    pub fn raise(&mut self, severity: Severity, what: impl Into<String>) -> &mut Self {
        self.status.level = self.status.level.max(severity.level());
        self.raised.push(what.into());
        self
    }

    /// The status as a message.
    #[must_use]
    pub fn finish(mut self) -> DiagnosticStatus {
        self.status.message = if self.raised.is_empty() { "running".to_owned() } else { self.raised.join("; ") };
        self.status
    }
}

/// The topic `/diagnostics` of a node.
pub struct DiagnosticsTopic {
    publisher: Publisher<DiagnosticArray>,
    due: Schedule,
    run: RunId,
}

impl DiagnosticsTopic {
    /// Opens the topic.
    ///
    /// # Errors
    /// When the topic cannot be opened.
    pub fn open(links: &Links) -> Result<Self, NodeError> {
        let qos = Qos { depth: DEPTH, ..Qos::reliable() };
        Ok(Self {
            publisher: Publisher::new(links.public.as_ref(), "/diagnostics", qos)?,
            due: Schedule::new(RATE_HZ, SimTime::ZERO, SimTime::ZERO),
            run: links.run.clone(),
        })
    }

    /// Whether statuses are due in the span (after, until] of simulated time.
    #[must_use]
    pub fn is_due(&self, after: SimTime, until: SimTime) -> bool {
        self.due.measured_in(after, until).next().is_some()
    }

    /// An empty status `name`, to be filled and published here.
    #[must_use]
    pub fn status(&self, name: &str) -> Diagnostics {
        Diagnostics::new(name, &self.run)
    }

    /// Publishes statuses.
    ///
    /// # Errors
    /// When they cannot be sent.
    pub fn publish(&self, statuses: Vec<Diagnostics>, time: SimTime) -> Result<(), NodeError> {
        let status = statuses.into_iter().map(Diagnostics::finish).collect();
        Ok(self.publisher.publish(&DiagnosticArray { header: Header::new(time, ""), status }, time)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostics, Severity};
    use selene_ros::diagnostic_msgs::DiagnosticStatus;

    fn status(raised: &[(Severity, &str)]) -> DiagnosticStatus {
        let mut status = Diagnostics::new("camera", &"polar".parse().expect("an id"));
        status.value("frames_published", 7);
        for (severity, what) in raised {
            status.raise(*severity, *what);
        }
        status.finish()
    }

    #[test]
    fn a_status_is_as_bad_as_the_worst_and_says_everything() {
        let good = status(&[]);
        assert_eq!((good.level, good.message.as_str()), (DiagnosticStatus::OK, "running"));
        assert_eq!((good.name.as_str(), good.hardware_id.as_str()), ("selene: camera", "polar"));
        assert_eq!((good.values[0].key.as_str(), good.values[0].value.as_str()), ("frames_published", "7"));
        let bad = status(&[(Severity::Warning, "slow"), (Severity::Error, "deaf"), (Severity::Warning, "hot")]);
        assert_eq!((bad.level, bad.message.as_str()), (DiagnosticStatus::ERROR, "slow; deaf; hot"));
    }
}

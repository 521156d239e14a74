//! Reports the bandwidth of each topic in `/diagnostics`, once a second of wall time, with a warning before a limited
//! link is full. It also reports as soon as a topic carries its first message, since viewers list topics from it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use selene_coherence::{Diagnostics, DiagnosticsTopic, Links, NodeError, Severity};

use crate::meter::{Count, Meter};
use crate::wire::{DroppedFrames, Wire};

/// Interval between reports, and between checks for the end of the run (wall time).
const REPORT_EVERY: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(100);
/// Name of the status of a run's or a simulation's process.
pub(crate) const BANDWIDTH: &str = "bandwidth";
/// Share of the limit above which a link is nearly full.
const NEARLY_FULL: f64 = 0.8;

/// Measures the traffic of a process.
pub(crate) struct Traffic {
    /// Name of the status: each process of a run has its own.
    pub(crate) status: String,
    /// Counts all messages of the process.
    pub(crate) meter: Arc<Meter>,
    /// The connection to other processes, if any.
    pub(crate) wire: Option<Arc<Wire>>,
    /// Greatest rate on the wire, bytes/s.
    pub(crate) limit_bytes_s: Option<f64>,
}

impl Traffic {
    /// Frames that were dropped on the wire, by topic.
    pub(crate) fn left_out(&self) -> BTreeMap<String, DroppedFrames> {
        self.wire.as_ref().map(|wire| wire.left_out()).unwrap_or_default()
    }

    /// Reports until `ended` is set.
    pub(crate) fn report(&self, links: &Links, ended: &AtomicBool) {
        if let Err(error) = self.try_report(links, ended) {
            tracing::warn!("bandwidths are not published: {error}");
        }
    }

    fn try_report(&self, links: &Links, ended: &AtomicBool) -> Result<(), NodeError> {
        let topic = DiagnosticsTopic::open(links)?;
        let (mut before, mut since, mut was_nearly_full) = (self.meter.counts(), Instant::now(), false);
        let mut carrying = 0;
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(POLL);
            let (counts, passed) = (self.meter.counts(), since.elapsed());
            let carry = counts.values().filter(|count| count.bytes > 0).count();
            if passed < REPORT_EVERY && carry == carrying {
                continue;
            }
            carrying = carry;
            // In less than a second, the bytes so far count as those of a whole second: a burst is no rate.
            let rates = Rates::between(&before, &counts, passed.max(REPORT_EVERY).as_secs_f64());
            if passed >= REPORT_EVERY {
                (before, since) = (counts, Instant::now());
            }
            let is_nearly_full = self.limit_bytes_s.is_some_and(|limit| rates.total() > NEARLY_FULL * limit);
            if is_nearly_full && !was_nearly_full {
                tracing::warn!("the wire is nearly full: {:.0} bytes/s are offered", rates.total());
            }
            was_nearly_full = is_nearly_full;
            let status = rates.reported(topic.status(&self.status), self.limit_bytes_s, &self.left_out());
            topic.publish(vec![status], self.meter.simulated())?;
        }
        Ok(())
    }
}

/// Bytes per second of each topic that has carried any so far: 0 for one that is silent now.
struct Rates(BTreeMap<String, f64>);

impl Rates {
    fn between(before: &BTreeMap<String, Count>, now: &BTreeMap<String, Count>, span_s: f64) -> Self {
        let rate = |(topic, count): (&String, &Count)| {
            let bytes = count.bytes - before.get(topic).map_or(0, |count| count.bytes);
            (count.bytes > 0).then(|| (topic.clone(), bytes as f64 / span_s))
        };
        Self(now.iter().filter_map(rate).collect())
    }

    fn total(&self) -> f64 {
        self.0.values().sum()
    }

    fn reported(
        &self,
        mut status: Diagnostics,
        limit_bytes_s: Option<f64>,
        left_out: &BTreeMap<String, DroppedFrames>,
    ) -> Diagnostics {
        status.value("bytes_per_s", format_args!("{:.0}", self.total()));
        if let Some(limit) = limit_bytes_s {
            status.value("limit_bytes_per_s", format_args!("{limit:.0}"));
            if self.total() > NEARLY_FULL * limit {
                status.raise(Severity::Warning, "the wire is nearly full");
            }
        }
        for (topic, rate) in &self.0 {
            status.value(format!("bytes_per_s {topic}"), format_args!("{rate:.0}"));
        }
        for (topic, DroppedFrames { late, over_limit }) in left_out {
            status.value(format!("frames_late {topic}"), late).value(format!("frames_over_limit {topic}"), over_limit);
        }
        if !left_out.is_empty() {
            status.raise(Severity::Warning, "frames were left out: see frames_late and frames_over_limit");
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Diagnostics, DroppedFrames, Rates};
    use selene_ros::diagnostic_msgs::DiagnosticStatus;
    use std::collections::BTreeMap;

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, Count> {
        let count = |bytes| Count { messages: 1, bytes, refused: 0 };
        of.iter().map(|(topic, bytes)| ((*topic).to_owned(), count(*bytes))).collect()
    }

    fn rates() -> Rates {
        let before = counts(&[("/tf", 100), ("/silent", 7)]);
        let now = counts(&[("/tf", 300), ("/silent", 7), ("/lidar/points", 1400), ("/never", 0)]);
        Rates::between(&before, &now, 2.0)
    }

    fn reported(limit_bytes_s: Option<f64>, left_out: &BTreeMap<String, DroppedFrames>) -> DiagnosticStatus {
        let status = Diagnostics::new("bandwidth", &"polar".parse().expect("an id"));
        rates().reported(status, limit_bytes_s, left_out).finish()
    }

    fn value<'a>(status: &'a DiagnosticStatus, key: &str) -> Option<&'a str> {
        status.values.iter().find(|pair| pair.key == key).map(|pair| pair.value.as_str())
    }

    #[test]
    fn rates_are_of_the_last_span_and_topics_without_any_message_are_left_out() {
        let status = reported(None, &BTreeMap::new());
        assert_eq!(status.level, DiagnosticStatus::OK);
        assert_eq!(value(&status, "bytes_per_s"), Some("800"));
        assert_eq!(value(&status, "bytes_per_s /lidar/points"), Some("700"));
        assert_eq!(value(&status, "bytes_per_s /silent"), Some("0"));
        assert_eq!(value(&status, "bytes_per_s /never"), None);
    }

    #[test]
    fn a_link_that_is_nearly_full_and_frames_left_out_are_warned_of() {
        let none = BTreeMap::new();
        assert_eq!(reported(Some(1001.0), &none).level, DiagnosticStatus::OK);
        assert_eq!(reported(Some(999.0), &none).level, DiagnosticStatus::WARN);
        let left_out = BTreeMap::from([("/lidar/points".to_owned(), DroppedFrames { late: 3, over_limit: 0 })]);
        let status = reported(None, &left_out);
        assert_eq!((status.level, value(&status, "frames_late /lidar/points")), (DiagnosticStatus::WARN, Some("3")));
    }
}

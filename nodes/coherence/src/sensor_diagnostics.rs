//! Diagnostics of a sensor node: how many data it published and dropped, how far it is behind the world, and on which
//! device it traces rays. Data are numbered from the scenario's start, so that a gap in the numbers counts as dropped
//! data, except for numbers that the sensor's stages leave out and times in which it was switched off.

use std::collections::BTreeMap;

use selene_observe::{Device, Interval, SensorId};
use selene_sensors::StageRow;

use crate::NodeError;
use crate::diagnostics::{Diagnostics, DiagnosticsTopic, Severity};
use crate::links::Links;
use crate::remote_stages::SampleOutcome;
use crate::watcher::WorldWatcher;

/// The diagnostics of one sensor node.
pub struct SensorDiagnostics {
    topic: DiagnosticsTopic,
    node: &'static str,
    sensors: BTreeMap<SensorId, Count>,
    off: BTreeMap<SensorId, SwitchedOff>,
    /// Numbers of data published and dropped until the last status.
    before: [u64; 2],
}

/// Data of one sensor.
#[derive(Clone, Debug, Default)]
struct Count {
    topic: String,
    published: u64,
    dropped: u64,
    /// Data without an answer from a stage in another process.
    unanswered: u64,
    misfits: u64,
    latest: Option<u64>,
}

/// Numbers of the data that a sensor did not measure because it was switched off.
#[derive(Clone, Debug, Default)]
struct SwitchedOff {
    /// First and last number of each span.
    spans: Vec<[u64; 2]>,
}

impl Count {
    /// Counts datum `index`; `is_due` tells for an earlier number whether that datum should have come.
    fn take(&mut self, index: u64, outcome: SampleOutcome, is_due: impl Fn(u64) -> bool) {
        match outcome {
            SampleOutcome::Published => self.published += 1,
            SampleOutcome::Nothing => {}
            SampleOutcome::Unanswered => self.unanswered += 1,
            SampleOutcome::Misfit => self.misfits += 1,
        }
        if let Some(latest) = self.latest {
            self.dropped += (latest + 1..index).filter(|index| is_due(*index)).count() as u64;
        }
        self.latest = Some(index);
    }
}

impl SwitchedOff {
    /// Adds a number, which must be higher than those before; a lower one means that the world was reset.
    fn add(&mut self, index: u64) {
        match self.spans.last_mut() {
            Some([_, last]) if index <= *last => self.spans = vec![[index, index]],
            Some([_, last]) if index == *last + 1 => *last = index,
            _ => self.spans.push([index, index]),
        }
    }

    fn has(&self, index: u64) -> bool {
        self.spans.iter().any(|[first, last]| (*first..=*last).contains(&index))
    }

    /// Drops the numbers before a published datum.
    fn forget_before(&mut self, index: u64) {
        self.spans.retain(|[_, last]| *last >= index);
    }
}

impl SensorDiagnostics {
    /// Opens the diagnostics of the node `node`.
    ///
    /// # Errors
    /// When the topic cannot be opened.
    pub fn open(links: &Links, node: &'static str) -> Result<Self, NodeError> {
        Ok(Self {
            topic: DiagnosticsTopic::open(links)?,
            node,
            sensors: BTreeMap::new(),
            off: BTreeMap::new(),
            before: [0; 2],
        })
    }

    /// Counts datum `index` of a sensor with the stages `row` and the first topic `topic`.
    pub fn count(&mut self, sensor: &SensorId, topic: &str, index: u64, outcome: SampleOutcome, row: &StageRow) {
        let new = || Count { topic: topic.to_owned(), ..Count::default() };
        let count = self.sensors.entry(sensor.clone()).or_insert_with(new);
        let Some(off) = self.off.get_mut(sensor) else {
            return count.take(index, outcome, |index| row.keeps(index));
        };
        count.take(index, outcome, |index| row.keeps(index) && !off.has(index));
        off.forget_before(index);
    }

    /// Notes the data that are not measured in an interval. Data are published some time after they are measured, so
    /// their numbers decide, not the setting when they are published.
    fn note_off(&mut self, interval: &Interval) {
        for rover in &interval.next.rovers {
            let Some(kind) = interval.model.rovers().get(&rover.id) else { continue };
            for (name, _) in rover.settings.iter().filter(|(_, setting)| !setting.enabled) {
                let setup = kind.setup();
                let mut sensors = setup.sensors.iter();
                let Some(sensor) = sensors.find(|sensor| sensor.spec.header().name == name) else { continue };
                let off = self.off.entry(SensorId { rover: rover.id, name: name.clone() }).or_default();
                let schedule = sensor.spec.row(setup.sensor_seed).schedule(sensor.spec.schedule());
                for sample in schedule.measured_in(interval.after(), interval.next.time) {
                    off.add(sample.index);
                }
            }
        }
    }

    /// Takes in an interval and publishes the node's status if it is due in it; `device` is the one that traces rays.
    /// Must be called for each interval.
    ///
    /// # Errors
    /// When the status cannot be published.
    pub fn report(
        &mut self,
        interval: &Interval,
        watcher: &WorldWatcher,
        device: Option<&Device>,
    ) -> Result<(), NodeError> {
        self.note_off(interval);
        let (after, until) = (interval.previous.time, interval.next.time);
        if interval.was_reported(until) || !self.topic.is_due(after, until) {
            return Ok(());
        }
        let mut status = self.topic.status(self.node);
        self.report_counts(&mut status);
        status.value("heartbeats_waiting", watcher.waiting()).value("heartbeats_left_out", watcher.left_out());
        if let Some(device) = device {
            status.value("device", device.name());
        }
        if let Some(bytes) = device.and_then(Device::memory_bytes) {
            status.value("device_memory_bytes", bytes);
        }
        self.topic.publish(vec![status], until)
    }

    fn report_counts(&mut self, status: &mut Diagnostics) {
        let total = |of: fn(&Count) -> u64| self.sensors.values().map(of).sum::<u64>();
        let [published, dropped] = [total(|count| count.published), total(|count| count.dropped)];
        status.value("frames_published", published).value("frames_dropped", dropped);
        for count in self.sensors.values().filter(|count| count.dropped > 0) {
            status.value(format!("frames_dropped {}", count.topic), count.dropped);
        }
        for count in self.sensors.values().filter(|count| count.unanswered + count.misfits > 0) {
            let Count { topic, unanswered, misfits, .. } = count;
            status.value(format!("frames_unanswered {topic}"), unanswered);
            status.value(format!("frames_misfit {topic}"), misfits);
            let what = "samples were lost in stages of other processes";
            status.raise(Severity::Warning, format!("{topic}: {} {what}", unanswered + misfits));
        }
        let [published_before, dropped_before] = std::mem::replace(&mut self.before, [published, dropped]);
        let (new, left_out) = (published - published_before, dropped - dropped_before);
        if left_out > 0 {
            let severity = if left_out > new { Severity::Error } else { Severity::Warning };
            let what = format!("too slow for this pace: {left_out} frames were left out, {new} published");
            status.raise(severity, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, SwitchedOff};
    use crate::remote_stages::SampleOutcome;

    #[test]
    fn a_gap_in_the_numbers_is_what_was_left_out() {
        let mut count = Count::default();
        // A node that joins late has dropped nothing.
        [7, 8, 11, 12].into_iter().for_each(|index| count.take(index, SampleOutcome::Published, |_| true));
        assert_eq!((count.published, count.dropped), (4, 2));
    }

    #[test]
    fn what_the_row_leaves_out_and_what_others_lose_is_not_left_out_here() {
        let mut count = Count::default();
        count.take(0, SampleOutcome::Published, |index| index % 3 == 0);
        count.take(3, SampleOutcome::Unanswered, |index| index % 3 == 0);
        count.take(9, SampleOutcome::Misfit, |index| index % 3 == 0);
        assert_eq!((count.published, count.dropped, count.unanswered, count.misfits), (1, 1, 1, 1));
    }

    #[test]
    fn what_a_sensor_does_not_measure_because_it_is_set_so_is_not_left_out() {
        let (mut count, mut off) = (Count::default(), SwitchedOff::default());
        count.take(3, SampleOutcome::Published, |_| true);
        (5..=9).for_each(|index| off.add(index));
        // It was measured before and is published later.
        count.take(4, SampleOutcome::Published, |index| !off.has(index));
        off.forget_before(4);
        (12..=13).for_each(|index| off.add(index));
        count.take(15, SampleOutcome::Published, |index| !off.has(index));
        assert_eq!((count.published, count.dropped), (3, 3), "10, 11 and 14");
        off.forget_before(15);
        assert!(off.spans.is_empty());
        // After a reset the numbers begin anew.
        off.add(20);
        off.add(2);
        assert!(off.has(2) && !off.has(20));
    }

    #[test]
    fn a_sensor_that_saw_nothing_left_nothing_out() {
        let mut count = Count::default();
        count.take(3, SampleOutcome::Published, |_| true);
        [4, 5, 6].into_iter().for_each(|index| count.take(index, SampleOutcome::Nothing, |_| true));
        count.take(7, SampleOutcome::Published, |_| true);
        assert_eq!((count.published, count.dropped), (2, 0));
    }
}

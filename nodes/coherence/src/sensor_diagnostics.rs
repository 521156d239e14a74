//! What a sensor node tells of itself: how many data it published and left out, how far it is behind the world, and
//! what it traces on. Data are numbered from the scenario's start on, so a gap in their numbers is what was left out,
//! but for what the sensor's row of stages leaves out and for the time in which it was set not to measure.

use std::collections::BTreeMap;

use selene_observe::{Device, Interval, SensorId};
use selene_sensors::StageRow;

use crate::NodeError;
use crate::diagnostics::{Diagnostics, DiagnosticsTopic, Severity};
use crate::links::Links;
use crate::own_stages::Outcome;
use crate::watcher::WorldWatcher;

/// The diagnostics of one sensor node.
pub struct SensorDiagnostics {
    topic: DiagnosticsTopic,
    node: &'static str,
    sensors: BTreeMap<SensorId, Count>,
    off: BTreeMap<SensorId, Off>,
    /// Data that were published and left out until the last status.
    before: [u64; 2],
}

/// Data of one sensor.
#[derive(Clone, Debug, Default)]
struct Count {
    topic: String,
    published: u64,
    dropped: u64,
    /// Without an answer of the process whose stage they were to pass, and answered by what did not fit.
    unanswered: u64,
    misfits: u64,
    latest: Option<u64>,
}

/// Data that a sensor does not measure because it is set so.
#[derive(Clone, Debug, Default)]
struct Off {
    /// The first and the last of each span.
    spans: Vec<[u64; 2]>,
}

impl Count {
    /// Takes in datum `index`; `is_due` says of a datum before it whether it should have come.
    fn take(&mut self, index: u64, outcome: Outcome, is_due: impl Fn(u64) -> bool) {
        match outcome {
            Outcome::Published => self.published += 1,
            Outcome::Nothing => {}
            Outcome::Unanswered => self.unanswered += 1,
            Outcome::Misfit => self.misfits += 1,
        }
        if let Some(latest) = self.latest {
            self.dropped += (latest + 1..index).filter(|index| is_due(*index)).count() as u64;
        }
        self.latest = Some(index);
    }
}

impl Off {
    /// Adds a datum, later than those before. An earlier one is of a world that was reset.
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

    /// Forgets what is before a datum that came.
    fn forget_before(&mut self, index: u64) {
        self.spans.retain(|[_, last]| *last >= index);
    }
}

impl SensorDiagnostics {
    /// Those of the node of this name.
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

    /// Counts datum `index` of a sensor with this row, whose first topic is `topic`.
    pub fn count(&mut self, sensor: &SensorId, topic: &str, index: u64, outcome: Outcome, row: &StageRow) {
        let new = || Count { topic: topic.to_owned(), ..Count::default() };
        let count = self.sensors.entry(sensor.clone()).or_insert_with(new);
        let Some(off) = self.off.get_mut(sensor) else {
            return count.take(index, outcome, |index| row.keeps(index));
        };
        count.take(index, outcome, |index| row.keeps(index) && !off.has(index));
        off.forget_before(index);
    }

    /// Notes what is not measured in an interval. Data leave after they were measured, so this is by number and not by
    /// what is set when they leave.
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

    /// Takes in the interval and tells how the node does, if that is due in it; `device` is what it traces on. To be
    /// called for each interval.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn tell(
        &mut self,
        interval: &Interval,
        watcher: &WorldWatcher,
        device: Option<&Device>,
    ) -> Result<(), NodeError> {
        self.note_off(interval);
        let (after, until) = (interval.previous.time, interval.next.time);
        if interval.was_told(until) || !self.topic.is_due(after, until) {
            return Ok(());
        }
        let mut status = self.topic.status(self.node);
        self.tell_counts(&mut status);
        status.value("heartbeats_waiting", watcher.waiting()).value("heartbeats_left_out", watcher.left_out());
        if let Some(device) = device {
            status.value("device", device.name());
        }
        if let Some(bytes) = device.and_then(Device::memory_bytes) {
            status.value("device_memory_bytes", bytes);
        }
        self.topic.publish(vec![status], until)
    }

    fn tell_counts(&mut self, status: &mut Diagnostics) {
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
    use super::{Count, Off};
    use crate::own_stages::Outcome;

    #[test]
    fn a_gap_in_the_numbers_is_what_was_left_out() {
        let mut count = Count::default();
        // One that joins late left nothing out.
        [7, 8, 11, 12].into_iter().for_each(|index| count.take(index, Outcome::Published, |_| true));
        assert_eq!((count.published, count.dropped), (4, 2));
    }

    #[test]
    fn what_the_row_leaves_out_and_what_others_lose_is_not_left_out_here() {
        let mut count = Count::default();
        count.take(0, Outcome::Published, |index| index % 3 == 0);
        count.take(3, Outcome::Unanswered, |index| index % 3 == 0);
        count.take(9, Outcome::Misfit, |index| index % 3 == 0);
        assert_eq!((count.published, count.dropped, count.unanswered, count.misfits), (1, 1, 1, 1));
    }

    #[test]
    fn what_a_sensor_does_not_measure_because_it_is_set_so_is_not_left_out() {
        let (mut count, mut off) = (Count::default(), Off::default());
        count.take(3, Outcome::Published, |_| true);
        (5..=9).for_each(|index| off.add(index));
        // It was measured before and leaves later.
        count.take(4, Outcome::Published, |index| !off.has(index));
        off.forget_before(4);
        (12..=13).for_each(|index| off.add(index));
        count.take(15, Outcome::Published, |index| !off.has(index));
        assert_eq!((count.published, count.dropped), (3, 3), "10, 11 and 14");
        off.forget_before(15);
        assert!(off.spans.is_empty());
        // After a reset numbers begin anew.
        off.add(20);
        off.add(2);
        assert!(off.has(2) && !off.has(20));
    }

    #[test]
    fn a_sensor_that_saw_nothing_left_nothing_out() {
        let mut count = Count::default();
        count.take(3, Outcome::Published, |_| true);
        [4, 5, 6].into_iter().for_each(|index| count.take(index, Outcome::Nothing, |_| true));
        count.take(7, Outcome::Published, |_| true);
        assert_eq!((count.published, count.dropped), (2, 0));
    }
}

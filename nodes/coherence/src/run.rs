//! Finds the run in which a node takes part. Every simulation announces its run on one common topic. A node takes part
//! in the run that its options name, or in the first one whose world equals its own.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use selene_base::SimTime;
use selene_ros::bag::INTERNAL_TOPICS;
use selene_ros::transport::{Subscription, Transport, subscribe};
use selene_ros::{Qos, selene_msgs};
use selene_sim::{Fingerprint, Scenario};

use crate::NodeError;

/// Topic on which every simulation of a domain announces its run and the run's end.
pub const RUN_INFO: &str = "/selene/run_info";

/// How often the stop flag is checked while no message arrives (wall time).
const STOP_POLL: Duration = Duration::from_millis(100);
/// Maximum length of an id, characters.
const LENGTH_MAX: usize = 40;

/// A run's id, which is part of the names of its topics.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

/// A text that is not a valid run id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no run's id: 1 to {LENGTH_MAX} letters, digits and _ are allowed, not beginning with a digit")]
pub struct RunIdError(String);

impl RunId {
    /// A new random id.
    #[must_use]
    pub fn random() -> Self {
        // The hasher's random state differs between processes, also if two runs begin at the same time.
        let random =
            std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), std::process::id());
        Self(format!("r{random:016x}"))
    }

    /// The topic `name` between the nodes of this run.
    #[must_use]
    pub fn topic(&self, name: &str) -> String {
        format!("{INTERNAL_TOPICS}{}/{name}", self.0)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        let begins_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let is_name = text.len() <= LENGTH_MAX && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if begins_well && is_name { Ok(Self(text.to_owned())) } else { Err(RunIdError(text.to_owned())) }
    }
}

/// Announcement of a run; `end` is the hash of the world's final state if the run has ended.
#[must_use]
pub fn run_info(
    run: &RunId,
    process: &str,
    scenario: &Scenario,
    fingerprint: &Fingerprint,
    published_until: Option<SimTime>,
    end: Option<u64>,
) -> selene_msgs::RunInfo {
    selene_msgs::RunInfo {
        run: run.to_string(),
        process: process.to_owned(),
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        parts: fingerprint.parts.keys().cloned().collect(),
        values: fingerprint.parts.values().cloned().collect(),
        heights: fingerprint.heights_m.clone(),
        told_until: published_until.unwrap_or(SimTime::ZERO).into(),
        finished: end.is_some(),
        state_hash: end.map(|hash| format!("{hash:016x}")).unwrap_or_default(),
    }
}

/// The fingerprint of a run's world, as the run announced it.
#[must_use]
pub fn fingerprint_of(info: &selene_msgs::RunInfo) -> Fingerprint {
    let parts = info.parts.iter().cloned().zip(info.values.iter().cloned()).collect();
    Fingerprint { parts, heights_m: info.heights.clone() }
}

/// A run that a node can take part in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRun {
    /// The run's id.
    pub run: RunId,
    /// Simulated time up to which data were published before the run was resumed.
    pub published_until: Option<SimTime>,
}

/// Listens for announcements of runs.
pub struct RunFinder {
    reported: Receiver<selene_msgs::RunInfo>,
    /// Runs of other worlds that were already logged.
    passed: BTreeSet<String>,
    _subscription: Subscription,
}

impl RunFinder {
    /// Subscribes to announcements.
    ///
    /// # Errors
    /// When the topic cannot be opened.
    pub fn new(transport: &dyn Transport) -> Result<Self, NodeError> {
        let (sender, reported) = channel();
        let subscription = subscribe(transport, RUN_INFO, Qos::latched(), move |info| drop(sender.send(info)))?;
        Ok(Self { reported, passed: BTreeSet::new(), _subscription: subscription })
    }

    /// Waits for the run `wanted`, or for the first one whose world is that of `own`; `None` when `stop` is set. Runs
    /// of other worlds are skipped and logged with the difference.
    ///
    /// # Errors
    /// When the wanted run is of another world.
    pub fn find(
        &mut self,
        wanted: Option<&RunId>,
        own: &Fingerprint,
        stop: &AtomicBool,
    ) -> Result<Option<FoundRun>, NodeError> {
        while !stop.load(Ordering::Relaxed) {
            match self.reported.recv_timeout(STOP_POLL) {
                Ok(info) => {
                    if let Some(found) = self.consider(&info, wanted, own)? {
                        return Ok(Some(found));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        Ok(None)
    }

    fn consider(
        &mut self,
        info: &selene_msgs::RunInfo,
        wanted: Option<&RunId>,
        own: &Fingerprint,
    ) -> Result<Option<FoundRun>, NodeError> {
        let Ok(run) = info.run.parse::<RunId>() else { return Ok(None) };
        if info.finished || wanted.is_some_and(|wanted| *wanted != run) {
            return Ok(None);
        }
        match own.difference(&fingerprint_of(info)) {
            None => {
                let published_until = SimTime::from(info.told_until);
                Ok(Some(FoundRun {
                    run,
                    published_until: (published_until > SimTime::ZERO).then_some(published_until),
                }))
            }
            Some(difference) if wanted.is_some() => Err(NodeError::OtherWorld { run, difference }),
            Some(difference) => {
                if self.passed.insert(info.run.clone()) {
                    let scenario = &info.scenario;
                    tracing::warn!("run {run} ({scenario}) is of another world: {difference}; waiting for another run");
                }
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RUN_INFO, RunFinder, RunId};
    use crate::NodeError;
    use selene_base::SimTime;
    use selene_ros::in_process::InProcess;
    use selene_ros::transport::Publisher;
    use selene_ros::{Qos, selene_msgs};
    use selene_sim::Fingerprint;
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicBool;

    fn of_seed(seed: u64) -> Fingerprint {
        Fingerprint { parts: BTreeMap::from([("seed".to_owned(), seed.to_string())]), heights_m: vec![1.0] }
    }

    fn info(run: &str, seed: u64, finished: bool) -> selene_msgs::RunInfo {
        let fingerprint = of_seed(seed);
        selene_msgs::RunInfo {
            run: run.to_owned(),
            parts: fingerprint.parts.keys().cloned().collect(),
            values: fingerprint.parts.values().cloned().collect(),
            heights: fingerprint.heights_m,
            finished,
            ..Default::default()
        }
    }

    #[test]
    fn ids_are_parts_of_topic_names_and_differ() {
        assert_ne!(RunId::random(), RunId::random());
        assert!(RunId::random().to_string().parse::<RunId>().is_ok());
        for bad in ["", "1st", "a b", "a/b", "é", &"a".repeat(41)] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_node_takes_part_in_the_run_of_its_own_world_that_has_not_ended() {
        let bus = InProcess::new();
        let publish_one = |info| {
            let publisher = Publisher::new(&bus, RUN_INFO, Qos::latched()).expect("topic");
            publisher.publish(&info, SimTime::ZERO).expect("published");
            publisher
        };
        let _reported = [info("ended", 1, true), info("other", 2, false), info("ours", 1, false)].map(publish_one);
        let find = |wanted: Option<&str>, seed| {
            let wanted = wanted.map(|run| run.parse::<RunId>().expect("an id"));
            let mut finder = RunFinder::new(&bus).expect("topic");
            finder.find(wanted.as_ref(), &of_seed(seed), &AtomicBool::new(false))
        };
        assert_eq!(find(None, 1).expect("found").expect("there").run.to_string(), "ours");
        assert_eq!(find(Some("other"), 2).expect("found").expect("there").run.to_string(), "other");
        let reported = find(Some("other"), 1).expect_err("another world").to_string();
        assert!(reported.contains("seed: here 1, there 2"), "{reported}");
        assert!(matches!(find(Some("ours"), 3), Err(NodeError::OtherWorld { .. })));
        let stop = AtomicBool::new(true);
        assert_eq!(RunFinder::new(&bus).expect("topic").find(None, &of_seed(1), &stop).expect("requested"), None);
    }
}

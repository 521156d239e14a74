//! The world over the last while, for sensors whose one datum takes longer than a
//! heartbeat: a spinning lidar looks up where it was at each beam's own instant.

use std::collections::VecDeque;

use selene_base::{Pose, SimTime};
use selene_sim::WorldState;

/// Snapshots of the last `span`.
#[derive(Debug)]
pub struct History {
    span: SimTime,
    states: VecDeque<WorldState>,
}

impl History {
    /// Keeps at least the last `span`.
    #[must_use]
    pub fn new(span: SimTime) -> Self {
        Self { span, states: VecDeque::new() }
    }

    /// Adds the next snapshot and forgets those that are no longer needed.
    pub fn push(&mut self, state: WorldState) {
        let oldest = state.time - self.span;
        self.states.push_back(state);
        while self.states.get(1).is_some_and(|second| second.time <= oldest) {
            self.states.pop_front();
        }
    }

    /// Whether everything from `time` to the latest snapshot is known.
    #[must_use]
    pub fn reaches_back_to(&self, time: SimTime) -> bool {
        self.states.front().is_some_and(|first| first.time <= time)
    }

    /// Pose of link `link` in the map frame at `time`, interpolated; the nearest
    /// known one outside. None before the first snapshot.
    #[must_use]
    pub fn link_at(&self, link: usize, time: SimTime) -> Option<Pose> {
        let (previous, next) = self.around(time)?;
        Some(previous.link_at(next, link, time))
    }

    /// Pose of the loose rock at place `rock` in the map frame at `time`, as `link_at`; none
    /// also where the snapshots do not tell it.
    #[must_use]
    pub fn rock_at(&self, rock: usize, time: SimTime) -> Option<Pose> {
        let (previous, next) = self.around(time)?;
        previous.rock_at(next, rock, time)
    }

    /// The snapshots before and after an instant, or the nearest twice.
    pub(crate) fn around(&self, time: SimTime) -> Option<(&WorldState, &WorldState)> {
        let after = self.states.partition_point(|state| state.time < time);
        let next = self.states.get(after).or(self.states.back())?;
        Some((self.states.get(after.saturating_sub(1))?, next))
    }
}

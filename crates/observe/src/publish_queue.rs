//! Lag: data are published some time after the instant at which they were measured, and stamped with that instant
//! (models §3.3 of Chrono::Sensor). Times are simulated.

use std::collections::VecDeque;

use selene_base::SimTime;

/// Data that wait for publication, in the order of measurement.
#[derive(Debug)]
pub(crate) struct PublishQueue<T> {
    waiting: VecDeque<(SimTime, T)>,
}

impl<T> Default for PublishQueue<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new() }
    }
}

impl<T> PublishQueue<T> {
    /// Adds a datum that is due at `due`.
    pub(crate) fn put(&mut self, due: SimTime, datum: T) {
        self.waiting.push_back((due, datum));
    }

    /// Removes and returns the data that are due at `now`.
    pub(crate) fn due(&mut self, now: SimTime) -> impl Iterator<Item = T> + use<'_, T> {
        let count = self.waiting.iter().take_while(|(due, _)| *due <= now).count();
        self.waiting.drain(..count).map(|(_, datum)| datum)
    }
}

#[cfg(test)]
mod tests {
    use super::PublishQueue;
    use selene_base::SimTime;

    #[test]
    fn data_leave_in_order_and_not_before_they_are_due() {
        let at = SimTime::from_nanos;
        let mut outbox = PublishQueue::default();
        outbox.put(at(10), 'a');
        outbox.put(at(20), 'b');
        assert_eq!(outbox.due(at(9)).collect::<String>(), "");
        assert_eq!(outbox.due(at(10)).collect::<String>(), "a");
        assert_eq!(outbox.due(at(50)).collect::<String>(), "b");
        assert_eq!(outbox.due(at(99)).collect::<String>(), "");
    }
}

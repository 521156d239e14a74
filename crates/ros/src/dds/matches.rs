//! Which endpoints of other participants are matched with ours, as the
//! participant tells it. A client asks only where a server would hear and answer,
//! and a server answers only when the client would hear: both sides are
//! discovered one after the other, and what is written to a volatile reader
//! before it is matched is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustdds::{DomainParticipantStatusEvent, GUID};

use super::services::Replies;

pub(super) struct Matches {
    own: GUID,
    /// By endpoint of ours, those of others.
    known: Mutex<BTreeMap<GUID, BTreeSet<GUID>>>,
    /// By writer of ours, the replies that wait for new readers of it.
    waiting: Mutex<BTreeMap<GUID, Weak<Replies>>>,
}

impl Matches {
    /// Of participant `own`; its endpoints' matches with one another do not count.
    pub(super) fn new(own: GUID) -> Self {
        Self { own, known: Mutex::default(), waiting: Mutex::default() }
    }

    pub(super) fn learn(&self, event: &DomainParticipantStatusEvent) {
        match event {
            DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, remote_reader } => {
                self.add(*local_writer, *remote_reader);
                self.release(*local_writer);
            }
            DomainParticipantStatusEvent::RemoteWriterMatched { local_reader, remote_writer } => {
                self.add(*local_reader, *remote_writer);
            }
            DomainParticipantStatusEvent::ReaderLost { guid, .. }
            | DomainParticipantStatusEvent::WriterLost { guid, .. } => self.keep(|other| other != guid),
            DomainParticipantStatusEvent::ParticipantLost { id, .. } => self.keep(|other| other.prefix != *id),
            _ => {}
        }
    }

    /// An endpoint of ours is gone.
    pub(super) fn forget(&self, ours: GUID) {
        lock(&self.known).remove(&ours);
        lock(&self.waiting).remove(&ours);
    }

    /// The endpoints of others that are matched with `ours`.
    pub(super) fn of(&self, ours: GUID) -> Vec<GUID> {
        lock(&self.known).get(&ours).into_iter().flatten().copied().collect()
    }

    /// How many endpoints of others are matched with `ours`.
    pub(super) fn count(&self, ours: GUID) -> usize {
        lock(&self.known).get(&ours).map_or(0, BTreeSet::len)
    }

    /// Whether some participant is matched with both of `ours`.
    pub(super) fn one_has_both(&self, ours: [GUID; 2]) -> bool {
        let [asking, hearing] = ours.map(|guid| self.of(guid));
        asking.iter().any(|one| hearing.iter().any(|other| one.prefix == other.prefix))
    }

    /// Lets `replies` go whenever its writer has a new reader.
    pub(super) fn watch(&self, writer: GUID, replies: &Arc<Replies>) {
        lock(&self.waiting).insert(writer, Arc::downgrade(replies));
    }

    fn add(&self, ours: GUID, other: GUID) {
        if other.prefix != self.own.prefix {
            lock(&self.known).entry(ours).or_default().insert(other);
        }
    }

    fn keep(&self, is_left: impl Fn(&GUID) -> bool) {
        lock(&self.known).values_mut().for_each(|others| others.retain(&is_left));
    }

    fn release(&self, writer: GUID) {
        let replies = lock(&self.waiting).get(&writer).and_then(Weak::upgrade);
        if let Some(replies) = replies {
            replies.release();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

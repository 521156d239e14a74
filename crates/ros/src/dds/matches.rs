//! Tracks which endpoints of other participants are matched with ours, from the participant's events. A client sends a
//! request only if a server would receive it and could answer, and a server answers only if the client would receive
//! that: the two endpoints of each side are discovered one after the other, and what is written to a volatile reader
//! before it is matched is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustdds::{DomainParticipantStatusEvent, GUID};

use super::services::Replies;

pub(super) struct Matches {
    own: GUID,
    /// The matched endpoints of others, by our endpoint.
    known: Mutex<BTreeMap<GUID, BTreeSet<GUID>>>,
    /// Replies that wait for new readers, by our writer.
    waiting: Mutex<BTreeMap<GUID, Weak<Replies>>>,
}

impl Matches {
    /// Matches of participant `own`; those between its own endpoints do not count.
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

    /// Removes an endpoint of ours.
    pub(super) fn forget(&self, ours: GUID) {
        lock(&self.known).remove(&ours);
        lock(&self.waiting).remove(&ours);
    }

    /// The endpoints of others that are matched with `ours`.
    pub(super) fn of(&self, ours: GUID) -> Vec<GUID> {
        lock(&self.known).get(&ours).into_iter().flatten().copied().collect()
    }

    /// Number of endpoints of others that are matched with `ours`.
    pub(super) fn count(&self, ours: GUID) -> usize {
        lock(&self.known).get(&ours).map_or(0, BTreeSet::len)
    }

    /// The endpoint that is matched with the first of `ours`, of a participant that is matched with both.
    pub(super) fn of_one_with_both(&self, ours: [GUID; 2]) -> Option<GUID> {
        let [firsts, seconds] = ours.map(|guid| self.of(guid));
        firsts.into_iter().find(|one| seconds.iter().any(|other| one.prefix == other.prefix))
    }

    /// Releases waiting `replies` whenever `writer` has a new reader.
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

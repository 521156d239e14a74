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
    /// Of these, the readers that have matched our writer too.
    mutual: Mutex<BTreeMap<GUID, BTreeSet<GUID>>>,
    /// Replies that wait for new readers, by our writer.
    waiting: Mutex<BTreeMap<GUID, Weak<Replies>>>,
}

impl Matches {
    /// Matches of participant `own`; those between its own endpoints do not count.
    pub(super) fn new(own: GUID) -> Self {
        Self { own, known: Mutex::default(), mutual: Mutex::default(), waiting: Mutex::default() }
    }

    pub(super) fn learn(&self, event: &DomainParticipantStatusEvent) {
        match event {
            DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, remote_reader } => {
                self.add(*local_writer, *remote_reader);
                self.release(*local_writer);
            }
            DomainParticipantStatusEvent::RemoteReaderAnswered { local_writer, remote_reader } => {
                lock(&self.mutual).entry(*local_writer).or_default().insert(*remote_reader);
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
        lock(&self.mutual).remove(&ours);
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

    /// A reader that is matched with our writer, both ways, of a participant that has a writer for our reader.
    pub(super) fn server(&self, writer: GUID, reader: GUID) -> Option<GUID> {
        let (readers, writers) = (self.of(writer), self.of(reader));
        let has_answered = |one: &GUID| lock(&self.mutual).get(&writer).is_some_and(|known| known.contains(one));
        let mut servers = readers.into_iter().filter(|one| writers.iter().any(|other| one.prefix == other.prefix));
        servers.find(has_answered)
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
        for matches in [&self.known, &self.mutual] {
            lock(matches).values_mut().for_each(|others| others.retain(&is_left));
        }
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

//! The thread that takes samples from all our readers and calls their sinks, and that learns which endpoints of peers
//! are matched with ours. It sleeps until there is something to do; no lock is held while a sink runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::{io, thread};

use rustdds::mio1::event::Source;
use rustdds::mio1::{Events, Interest, Poll, Token, Waker};
use rustdds::no_key::{DeserializedCacheChange, SimpleDataReader};
use rustdds::{
    DomainParticipant, DomainParticipantStatusListener, GUID, RTPSEntity, SampleIdentity, SequenceNumber, StatusEvented,
};

use super::matches::Matches;
use super::raw::Raw;
use crate::cdr::Encoded;

const WAKE: Token = Token(0);
/// The participant has a status event.
const STATUS: Token = Token(1);
const EVENTS_AT_ONCE: usize = 64;

pub(super) type Reader = SimpleDataReader<Encoded, Raw>;

/// A received message, with the identifiers by which requests and replies are matched.
pub(super) struct Sample {
    pub(super) writer: GUID,
    /// The writer's sequence number of this sample.
    pub(super) number: SequenceNumber,
    /// The request that its inline QoS refers to.
    pub(super) related: Option<SampleIdentity>,
    pub(super) message: Encoded,
}

/// The purpose of a reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Topic,
    /// A service, whose sink must know of every match that preceded a sample.
    Service,
}

/// Receives each sample of a reader.
pub(super) type SampleSink = Box<dyn Fn(Sample) + Send + Sync>;

impl From<DeserializedCacheChange<Encoded>> for Sample {
    fn from(change: DeserializedCacheChange<Encoded>) -> Self {
        let (writer, related) = (change.writer_guid(), change.related_sample_identity());
        Self { writer, number: change.sequence_number, related, message: change.into_value() }
    }
}

enum Request {
    Add(Token, Box<ReaderEntry>),
    Remove(Token),
    Stop,
}

/// A reader and its sink.
struct ReaderEntry {
    reader: Reader,
    purpose: Purpose,
    topic: String,
    sink: SampleSink,
}

/// The sending end of requests to the thread, shared by all clones.
#[derive(Clone)]
pub(super) struct Requests {
    sender: Sender<Request>,
    waker: Arc<Waker>,
    last_token: Arc<AtomicUsize>,
}

impl Requests {
    pub(super) fn add(&self, reader: Reader, purpose: Purpose, topic: String, sink: SampleSink) -> Token {
        let token = Token(self.last_token.fetch_add(1, Ordering::Relaxed) + 1);
        self.send(Request::Add(token, Box::new(ReaderEntry { reader, purpose, topic, sink })));
        token
    }

    pub(super) fn remove(&self, token: Token) {
        self.send(Request::Remove(token));
    }

    /// After the thread's end there is nothing to do, so that a failure is no error.
    fn send(&self, request: Request) {
        if self.sender.send(request).is_ok()
            && let Err(error) = self.waker.wake()
        {
            tracing::warn!("the DDS listener cannot be woken: {error}");
        }
    }
}

/// Handle of the thread; dropping it ends and joins it.
pub(super) struct Listener {
    requests: Requests,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts listening; samples of the `own` participant's writers are ignored.
    pub(super) fn start(own: &DomainParticipant, matches: Arc<Matches>) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        let mut status = own.status_listener();
        poll.registry().register(&mut status, STATUS, Interest::READABLE)?;
        let (sender, receiver) = channel();
        let entries = ListenerState { own: own.guid(), poll, status, matches, receiver, entries: BTreeMap::new() };
        let thread = thread::Builder::new().name("dds listener".to_owned()).spawn(move || entries.run())?;
        let requests = Requests { sender, waker, last_token: Arc::new(AtomicUsize::new(STATUS.0)) };
        Ok(Self { requests, thread: Some(thread) })
    }

    pub(super) fn requests(&self) -> &Requests {
        &self.requests
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.requests.send(Request::Stop);
        let Some(thread) = self.thread.take() else { return };
        let inside_a_sink = thread.thread().id() == thread::current().id();
        if !inside_a_sink && thread.join().is_err() {
            tracing::warn!("the DDS listener ended by a panic in a subscriber");
        }
    }
}

/// The state of the thread.
struct ListenerState {
    own: GUID,
    poll: Poll,
    status: DomainParticipantStatusListener,
    matches: Arc<Matches>,
    receiver: Receiver<Request>,
    entries: BTreeMap<Token, Box<ReaderEntry>>,
}

impl ListenerState {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        self.learn(); // events from before this thread listened
        loop {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::error!("DDS subscriptions end: cannot wait for samples: {error}");
                    return;
                }
                _ => {}
            }
            for event in &events {
                match event.token() {
                    STATUS => self.learn(),
                    token => self.receive(token),
                }
            }
            if !self.obey() {
                return;
            }
        }
    }

    /// Carries out the waiting requests; returns false when the thread must stop.
    fn obey(&mut self) -> bool {
        while let Ok(request) = self.receiver.try_recv() {
            match request {
                Request::Add(token, entry) => self.enter(token, entry),
                Request::Remove(token) => _ = self.entries.remove(&token),
                Request::Stop => return false,
            }
        }
        true
    }

    fn enter(&mut self, token: Token, mut entry: Box<ReaderEntry>) {
        if let Err(error) = entry.reader.register(self.poll.registry(), token, Interest::READABLE) {
            tracing::error!(topic = entry.topic, "nothing will be received: {error}");
            return;
        }
        self.entries.insert(token, entry);
        self.receive(token); // samples from before this thread listened
    }

    fn learn(&self) {
        while let Some(event) = self.status.try_recv_status() {
            self.matches.learn(&event);
        }
    }

    fn receive(&self, token: Token) {
        let Some(entry) = self.entries.get(&token) else { return };
        entry.reader.drain_read_notifications();
        loop {
            match entry.reader.try_take_one() {
                Ok(Some(sample)) if sample.writer_guid().prefix == self.own.prefix => {}
                Ok(Some(sample)) => {
                    if entry.purpose == Purpose::Service {
                        self.learn();
                    }
                    (entry.sink)(sample.into());
                }
                Ok(None) => return,
                Err(error) => tracing::warn!(topic = entry.topic, "a sample was dropped: {error}"),
            }
        }
    }
}

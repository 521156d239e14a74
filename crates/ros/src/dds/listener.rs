//! The one thread that takes samples from all our readers and calls their sinks.
//! It sleeps until a reader has something; no lock is held while a sink runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::{io, thread};

use rustdds::GUID;
use rustdds::mio1::event::Source;
use rustdds::mio1::{Events, Interest, Poll, Token, Waker};
use rustdds::no_key::SimpleDataReader;

use super::raw::Raw;
use crate::cdr::Encoded;
use crate::transport::Sink;

const WAKE: Token = Token(0);
const EVENTS_AT_ONCE: usize = 64;

pub(super) type Reader = SimpleDataReader<Encoded, Raw>;

enum Request {
    Add(Token, Box<Ear>),
    Remove(Token),
    Stop,
}

/// A reader and who listens.
struct Ear {
    reader: Reader,
    topic: String,
    sink: Sink,
}

/// The sending side of the thread's requests; clones reach the same thread.
#[derive(Clone)]
pub(super) struct Requests {
    sender: Sender<Request>,
    waker: Arc<Waker>,
    last_token: Arc<AtomicUsize>,
}

impl Requests {
    pub(super) fn add(&self, reader: Reader, topic: String, sink: Sink) -> Token {
        let token = Token(self.last_token.fetch_add(1, Ordering::Relaxed) + 1);
        self.send(Request::Add(token, Box::new(Ear { reader, topic, sink })));
        token
    }

    pub(super) fn remove(&self, token: Token) {
        self.send(Request::Remove(token));
    }

    /// After the thread's end there is nothing to ask for: then it is not an error.
    fn send(&self, request: Request) {
        if self.sender.send(request).is_ok()
            && let Err(error) = self.waker.wake()
        {
            tracing::warn!("the DDS listener cannot be woken: {error}");
        }
    }
}

/// The thread; dropping it ends and joins it.
pub(super) struct Listener {
    requests: Requests,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Starts listening; samples of `own` writers are passed over.
    pub(super) fn start(own: GUID) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        let (sender, receiver) = channel();
        let ears = Ears { own, poll, receiver, ears: BTreeMap::new() };
        let thread = thread::Builder::new().name("dds listener".to_owned()).spawn(move || ears.run())?;
        let requests = Requests { sender, waker, last_token: Arc::new(AtomicUsize::new(WAKE.0)) };
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

/// What the thread owns.
struct Ears {
    own: GUID,
    poll: Poll,
    receiver: Receiver<Request>,
    ears: BTreeMap<Token, Box<Ear>>,
}

impl Ears {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        loop {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::error!("DDS subscriptions end: cannot wait for samples: {error}");
                    return;
                }
                _ => {}
            }
            for event in &events {
                self.hear(event.token());
            }
            if !self.obey() {
                return;
            }
        }
    }

    /// Carries out what was asked for; false when told to stop.
    fn obey(&mut self) -> bool {
        while let Ok(request) = self.receiver.try_recv() {
            match request {
                Request::Add(token, ear) => self.enter(token, ear),
                Request::Remove(token) => _ = self.ears.remove(&token),
                Request::Stop => return false,
            }
        }
        true
    }

    fn enter(&mut self, token: Token, mut ear: Box<Ear>) {
        if let Err(error) = ear.reader.register(self.poll.registry(), token, Interest::READABLE) {
            tracing::error!(topic = ear.topic, "nothing will be heard: {error}");
            return;
        }
        self.ears.insert(token, ear);
        self.hear(token); // what came before we listened
    }

    fn hear(&self, token: Token) {
        let Some(ear) = self.ears.get(&token) else { return };
        ear.reader.drain_read_notifications();
        loop {
            match ear.reader.try_take_one() {
                Ok(Some(sample)) if sample.writer_guid().prefix == self.own.prefix => {}
                Ok(Some(sample)) => (ear.sink)(&sample.into_value()),
                Ok(None) => return,
                Err(error) => tracing::warn!(topic = ear.topic, "a sample was dropped: {error}"),
            }
        }
    }
}

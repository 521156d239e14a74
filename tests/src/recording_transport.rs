//! A transport within the process that records all that is published and passes it on to subscribers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use selene_base::SimTime;
use selene_ros::in_process::InProcess;
use selene_ros::transport::{Caller, Outlet, RequestSink, Sink, Subscription, Transport, TransportError};
use selene_ros::{Encoded, ServiceName, Topic};

/// Stamp and bytes of every message, by topic, in the order of publishing.
pub type Published = BTreeMap<String, Vec<(SimTime, Vec<u8>)>>;

/// A transport that records all published messages.
#[derive(Clone, Default)]
pub struct RecordingTransport {
    bus: InProcess,
    published: Arc<Mutex<Published>>,
}

struct RecordingOutlet {
    inner: Box<dyn Outlet>,
    topic: String,
    published: Arc<Mutex<Published>>,
}

impl RecordingTransport {
    /// Returns all messages published so far, and clears the record.
    #[must_use]
    pub fn take(&self) -> Published {
        std::mem::take(&mut *self.published.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Transport for RecordingTransport {
    fn advertise(&self, topic: &Topic) -> Result<Box<dyn Outlet>, TransportError> {
        let (inner, published) = (self.bus.advertise(topic)?, Arc::clone(&self.published));
        Ok(Box::new(RecordingOutlet { inner, topic: topic.name.clone(), published }))
    }

    fn subscribe(&self, topic: &Topic, sink: Sink) -> Result<Subscription, TransportError> {
        self.bus.subscribe(topic, sink)
    }

    fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        self.bus.serve(service, sink)
    }

    fn client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        self.bus.client(service)
    }
}

impl Outlet for RecordingOutlet {
    fn send(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        published.entry(self.topic.clone()).or_default().push((stamp, message.bytes().to_vec()));
        drop(published);
        self.inner.send(message, stamp)
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.inner.repeat(message, stamp)
    }
}

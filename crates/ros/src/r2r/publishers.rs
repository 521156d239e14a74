//! Publishers over `r2r`.

use std::sync::{Arc, Mutex, Weak};

use selene_base::SimTime;

use super::types::TypedPublisher;
use super::{Shared, lock};
use crate::cdr::Encoded;
use crate::qos::Topic;
use crate::transport::{Outlet, TransportError};

pub(super) struct R2rOutlet {
    topic: String,
    /// `None` once it is dropped.
    publisher: Mutex<Option<Box<dyn TypedPublisher>>>,
    shared: Weak<Shared>,
}

impl R2rOutlet {
    pub(super) fn new(topic: &Topic, publisher: Box<dyn TypedPublisher>, shared: &Arc<Shared>) -> Self {
        Self { topic: topic.name.clone(), publisher: Mutex::new(Some(publisher)), shared: Arc::downgrade(shared) }
    }
}

impl Outlet for R2rOutlet {
    fn send(&self, message: &Encoded, _stamp: SimTime) -> Result<(), TransportError> {
        let Some(shared) = self.shared.upgrade() else { return Ok(()) };
        shared.expect_echo(&self.topic, message);
        let sent = lock(&self.publisher).as_ref().map_or(Ok(()), |publisher| publisher.send_message(message));
        sent.map_err(|error| TransportError::Send { topic: self.topic.clone(), what: error.to_string() })
    }

    fn repeat(&self, message: &Encoded, stamp: SimTime) -> Result<(), TransportError> {
        self.send(message, stamp)
    }
}

impl Drop for R2rOutlet {
    fn drop(&mut self) {
        let Some(publisher) = lock(&self.publisher).take() else { return };
        if let Some(shared) = self.shared.upgrade() {
            shared.with_node(|node| node.as_mut().map(|node| publisher.end(node)));
        }
    }
}

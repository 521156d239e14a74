//! Services within the process: a request goes to the server's sink on the caller's thread. A name has one server at a
//! time; a second one is refused, so that two parts of a program never answer for each other by accident. No lock is
//! held while a sink runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cdr::Encoded;
use crate::service::ServiceName;
use crate::transport::{Answer, Caller, RequestSink, ResponseSink, Subscription, TransportError};

/// The servers by service name, shared by all clones.
#[derive(Clone, Default)]
pub(super) struct Services {
    servers: Arc<Mutex<BTreeMap<String, Arc<Server>>>>,
}

struct Server {
    type_name: &'static str,
    sink: RequestSink,
}

impl Services {
    pub(super) fn serve(&self, service: &ServiceName, sink: RequestSink) -> Result<Subscription, TransportError> {
        let mut servers = self.lock();
        if servers.contains_key(&service.name) {
            return Err(service.refused("it is served in this process already; give one of the two another name"));
        }
        let server = Arc::new(Server { type_name: service.type_name, sink });
        servers.insert(service.name.clone(), server);
        Ok(Subscription::guarded_by(ServerRegistration { services: self.clone(), name: service.name.clone() }))
    }

    pub(super) fn client(&self, service: &ServiceName) -> Box<dyn Caller> {
        Box::new(InProcessCaller { services: self.clone(), service: service.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> Option<Arc<Server>> {
        self.lock().get(name).cloned()
    }
}

/// Registration of a server; dropping it removes the server.
struct ServerRegistration {
    services: Services,
    name: String,
}

impl Drop for ServerRegistration {
    fn drop(&mut self) {
        let removed = self.services.lock().remove(&self.name);
        drop(removed); // outside the lock: the sink may own clients and servers
    }
}

struct InProcessCaller {
    services: Services,
    service: ServiceName,
}

impl Caller for InProcessCaller {
    fn is_served(&self) -> bool {
        self.services.find(&self.service.name).is_some()
    }

    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError> {
        let Some(server) = self.services.find(&self.service.name) else {
            return Err(TransportError::NotServed { service: self.service.name.clone() });
        };
        if server.type_name != self.service.type_name {
            let (served, requested) = (server.type_name, self.service.type_name);
            return Err(self.service.refused(format!("it is served as {served}, not as {requested}")));
        }
        let back: Answer = Box::new(move |response: &Encoded| {
            on(response);
            Ok(())
        });
        (server.sink)(request, back);
        Ok(())
    }
}

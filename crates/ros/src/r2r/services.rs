//! Services over `r2r`, which keeps a client until the node ends, and a service until the first request after its drop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};

use super::types::{Requests, Response, ServiceType, TypedClient, TypedRequest};
use super::{PollRegistration, Polled, Shared, keep, lock, profile};
use crate::cdr::Encoded;
use crate::dropped::Dropped;
use crate::qos::Qos;
use crate::service::ServiceName;
use crate::transport::{Answer, Caller, RequestSink, ResponseSink, Subscription, TransportError};

/// Quality of service of requests and responses (`rmw_qos_profile_services_default`).
const QOS: Qos = Qos::reliable();
/// Maximum number of calls of one client that wait for responses; beyond it the oldest is given up.
const WAITING_MAX: usize = 1024;

pub(super) fn serve(
    shared: &Arc<Shared>,
    service: &ServiceName,
    sink: RequestSink,
) -> Result<Subscription, TransportError> {
    let of_type = of_type(service)?;
    let make = |node: &mut r2r::Node| (of_type.serve)(node, &service.name, profile(QOS));
    let requests = Mutex::new(shared.act(|what| service.refused(what), make)?);
    let undecodable = Dropped::new(&service.name);
    let served = PolledService { service: service.clone(), requests, sink, undecodable };
    Ok(Subscription::guarded_by(keep(shared, Arc::new(served))))
}

pub(super) fn client(shared: &Arc<Shared>, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
    let of_type = of_type(service)?;
    let make = |node: &mut r2r::Node| (of_type.client)(node, &service.name, profile(QOS));
    let client = shared.act(|what| service.refused(what), make)?;
    let calls = Arc::new(Calls {
        client,
        is_served: AtomicBool::new(false),
        will_be_served: Mutex::default(),
        waiting: Mutex::default(),
    });
    let kept = keep(shared, Arc::clone(&calls) as _);
    Ok(Box::new(R2rCaller { service: service.clone(), calls, _kept: kept }))
}

fn of_type(service: &ServiceName) -> Result<ServiceType, TransportError> {
    let missing = || {
        let package = service.type_name.split('/').next().unwrap_or_default();
        service.refused(format!(
            "{package} was not sourced when this program was built; if this ROS 2 has it, source it and build again"
        ))
    };
    ServiceType::named(service.type_name).ok_or_else(missing)
}

/// A service and its sink.
struct PolledService {
    service: ServiceName,
    requests: Mutex<Requests>,
    sink: RequestSink,
    undecodable: Dropped,
}

impl Polled for PolledService {
    fn attend(&self) {
        while let Some(requested) = self.next() {
            match requested {
                Ok((request, respond)) => (self.sink)(&request, self.answer(respond)),
                Err(error) => _ = self.undecodable.add(error),
            }
        }
    }
}

impl PolledService {
    fn next(&self) -> Option<r2r::Result<TypedRequest>> {
        lock(&self.requests).next().now_or_never()?
    }

    fn answer(&self, respond: impl FnOnce(&Encoded) -> r2r::Result<()> + Send + 'static) -> Answer {
        let service = self.service.clone();
        Box::new(move |response: &Encoded| respond(response).map_err(|error| service.refused(error)))
    }
}

/// The client end of a service.
struct R2rCaller {
    service: ServiceName,
    calls: Arc<Calls>,
    _kept: PollRegistration,
}

struct Calls {
    client: Box<dyn TypedClient>,
    is_served: AtomicBool,
    /// Becomes ready if somebody served the service during the spin after it was created.
    will_be_served: Mutex<Option<BoxFuture<'static, r2r::Result<()>>>>,
    /// Waiting calls, oldest first.
    waiting: Mutex<VecDeque<(Response, ResponseSink)>>,
}

impl Polled for Calls {
    fn attend(&self) {
        self.look();
        self.receive();
    }
}

impl Calls {
    /// Notes whether the service was served in the last spin, and asks for the next one.
    fn look(&self) {
        let mut will_be_served = lock(&self.will_be_served);
        let seen = will_be_served.as_mut().and_then(FutureExt::now_or_never);
        self.is_served.store(matches!(seen, Some(Ok(()))), Ordering::Relaxed);
        if will_be_served.is_none() || seen.is_some() {
            *will_be_served = self.client.served().ok();
        }
    }

    /// Passes on the responses that have arrived, with no lock held.
    fn receive(&self) {
        let mut come = Vec::new();
        let mut waiting = lock(&self.waiting);
        for (mut response, on) in std::mem::take(&mut *waiting) {
            match (&mut response).now_or_never() {
                Some(response) => come.push((response, on)),
                None => waiting.push_back((response, on)),
            }
        }
        drop(waiting);
        for (response, on) in come {
            // If no response will come, the sink is dropped, which tells the caller.
            if let Ok(response) = response {
                on(&response);
            }
        }
    }
}

impl Caller for R2rCaller {
    fn is_served(&self) -> bool {
        self.calls.is_served.load(Ordering::Relaxed)
    }

    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError> {
        if !self.is_served() {
            return Err(TransportError::NotServed { service: self.service.name.clone() });
        }
        let response = self.calls.client.call(request).map_err(|error| self.service.refused(error))?;
        let mut waiting = lock(&self.calls.waiting);
        waiting.push_back((response, on));
        if waiting.len() > WAITING_MAX {
            waiting.pop_front();
        }
        Ok(())
    }
}

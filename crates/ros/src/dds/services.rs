//! Services over DDS (design.ros2.org, "Topic and Service name mapping to DDS"): a service is two topics,
//! `rq/NAMERequest` and `rr/NAMEReply`, with two types, `…::srv::dds_::NAME_Request_` and `…_Response_`. Every client
//! of a service receives all its replies and picks its own by the [`ServiceMapping`].
//!
//! Nothing is written to a peer that cannot receive it yet. A call is refused until the server is matched and has
//! acknowledged that it matched the client: what Cyclone DDS gets from a writer that it does not know is lost. A reply
//! waits until the client's reader is matched: `ros2 service call` sends its request as soon as it discovers us, which
//! may be before we discover it. What waits for others is limited in number; the oldest is dropped first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustdds::dds::{CreateError, CreateResult};
use rustdds::no_key::DataWriter;
use rustdds::{GUID, RTPSEntity, SampleIdentity, Timestamp, TopicKind, WriteOptionsBuilder};

use super::graph::Endpoint;
use super::listener::{Purpose, Reader, SampleSink};
use super::mapping::{ClientIds, OutgoingSample, RequestOrigin, ServiceMapping};
use super::matches::Matches;
use super::raw::Raw;
use super::{Dds, RegisteredReader, Registration, dds_qos, dds_type_name, refusal, with_type_hash, writer_qos};
use crate::cdr::{CDR_LE, Encoded};
use crate::dropped::Dropped;
use crate::qos::Qos;
use crate::service::ServiceName;
use crate::transport::{Answer, Caller, RequestSink, ResponseSink, Subscription, TransportError};

/// Quality of service of both topics (`rmw_qos_profile_services_default`).
const QOS: Qos = Qos::reliable();
/// Maximum number of replies of one service that wait for unmatched clients.
const HELD_MAX: usize = 64;
/// Maximum number of calls of one client that wait for their responses.
const WAITING_MAX: usize = 1024;

/// One of the two topics of a service.
#[derive(Clone, Copy)]
enum ServiceTopic {
    Request,
    Reply,
}

impl Dds {
    pub(super) fn serve_service(
        &self,
        service: &ServiceName,
        sink: RequestSink,
    ) -> Result<Subscription, TransportError> {
        let refused = |error: CreateError| service.refused(error);
        let writer = self.service_writer(service, ServiceTopic::Reply).map_err(refused)?;
        let reader = self.service_reader(service, ServiceTopic::Request).map_err(refused)?;
        let replies = Arc::new(Replies::new(self, service, writer, reader.guid()));
        self.matches.watch(replies.writer.guid(), &replies);
        let topic = topic_name(service, ServiceTopic::Request);
        let presence = self.presence(Endpoint::reader(reader.guid()), reader.guid(), None);
        let received = self.received(reader, Purpose::Service, topic, requests(replies, sink), presence);
        Ok(Subscription::guarded_by(received))
    }

    pub(super) fn service_client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        let refused = |error: CreateError| service.refused(error);
        let writer = self.service_writer(service, ServiceTopic::Request).map_err(refused)?;
        let reader = self.service_reader(service, ServiceTopic::Reply).map_err(refused)?;
        let ids = ClientIds { writer: writer.guid(), reader: reader.guid() };
        let waiting = Arc::new(PendingCalls::default());
        let sink = responses(self.mapping, ids, Arc::clone(&waiting));
        let presence = self.presence(Endpoint::writer(ids.writer), ids.writer, None);
        let receives = self.presence(Endpoint::reader(reader.guid()), reader.guid(), None);
        let received =
            self.received(reader, Purpose::Service, topic_name(service, ServiceTopic::Reply), sink, receives);
        let (service, mapping, matches) = (service.clone(), self.mapping, Arc::clone(&self.matches));
        Ok(Box::new(DdsCaller { service, mapping, ids, matches, waiting, writer, _endpoints: (received, presence) }))
    }

    fn service_topic(&self, service: &ServiceName, side: ServiceTopic) -> CreateResult<rustdds::Topic> {
        let suffix = match side {
            ServiceTopic::Request => "_Request",
            ServiceTopic::Reply => "_Response",
        };
        let type_name = dds_type_name(&format!("{}{suffix}", service.type_name));
        self.participant.create_topic(topic_name(service, side), type_name, &dds_qos(QOS).build(), TopicKind::NoKey)
    }

    fn service_writer(&self, service: &ServiceName, side: ServiceTopic) -> CreateResult<DataWriter<Encoded, Raw>> {
        let qos = with_type_hash(writer_qos(QOS), type_hash(service, side));
        self.publisher.create_datawriter_no_key(&self.service_topic(service, side)?, Some(qos))
    }

    fn service_reader(&self, service: &ServiceName, side: ServiceTopic) -> CreateResult<Reader> {
        let qos = with_type_hash(dds_qos(QOS).build(), type_hash(service, side));
        self.subscriber.create_simple_datareader_no_key(&self.service_topic(service, side)?, Some(qos))
    }
}

fn topic_name(service: &ServiceName, side: ServiceTopic) -> String {
    match side {
        ServiceTopic::Request => format!("rq{}Request", service.name),
        ServiceTopic::Reply => format!("rr{}Reply", service.name),
    }
}

/// The type hash that the endpoints of a side announce: that of the message alone, as in both middlewares of ROS 2.
fn type_hash(service: &ServiceName, side: ServiceTopic) -> &'static str {
    match side {
        ServiceTopic::Request => service.request_hash,
        ServiceTopic::Reply => service.response_hash,
    }
}

/// The sink of a server's request reader.
fn requests(replies: Arc<Replies>, sink: RequestSink) -> SampleSink {
    let cut = Dropped::new(&replies.service.name);
    Box::new(move |sample| match replies.mapping.with(sample.writer).request(sample) {
        Some((requested, request)) => sink(&request, answer(&replies, requested)),
        None => _ = cut.add("a request without the header that names its client"),
    })
}

fn answer(replies: &Arc<Replies>, requested: RequestOrigin) -> Answer {
    let replies = Arc::clone(replies);
    Box::new(move |response: &Encoded| replies.send(requested, response))
}

/// The sink of a client's reply reader.
fn responses(mapping: ServiceMapping, client: ClientIds, waiting: Arc<PendingCalls>) -> SampleSink {
    Box::new(move |sample| {
        let Some((number, response)) = mapping.with(sample.writer).response(client, sample) else { return };
        let on = waiting.lock().sinks.remove(&number);
        if let Some(on) = on {
            on(&response);
        }
    })
}

/// The server end of a service; it stays until the last reply is sent.
pub(super) struct Replies {
    service: ServiceName,
    mapping: ServiceMapping,
    matches: Arc<Matches>,
    writer: DataWriter<Encoded, Raw>,
    /// The request reader.
    reader: GUID,
    /// Replies to clients whose reader is not matched yet.
    held: Mutex<VecDeque<(RequestOrigin, Encoded)>>,
    _presence: Registration,
}

impl Replies {
    fn new(dds: &Dds, service: &ServiceName, writer: DataWriter<Encoded, Raw>, reader: GUID) -> Self {
        Self {
            service: service.clone(),
            mapping: dds.mapping,
            matches: Arc::clone(&dds.matches),
            _presence: dds.presence(Endpoint::writer(writer.guid()), writer.guid(), None),
            writer,
            reader,
            held: Mutex::default(),
        }
    }

    /// Whether a client's reader is matched. If the request did not give the reader: whether as many readers of the
    /// client's participant are matched as writers, since a client has one of each.
    fn can_receive(&self, client: GUID) -> bool {
        let readers = self.matches.of(self.writer.guid());
        if client.entity_id.kind().is_reader() {
            return readers.contains(&client);
        }
        let of_participant = |guids: &[GUID]| guids.iter().filter(|guid| guid.prefix == client.prefix).count();
        let readers_of_client = of_participant(&readers);
        readers_of_client > 0 && readers_of_client >= of_participant(&self.matches.of(self.reader))
    }

    fn held(&self) -> MutexGuard<'_, VecDeque<(RequestOrigin, Encoded)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a reply, or keeps it until the client can receive it. The lock is taken before that is checked, so that a
    /// match in between is not missed.
    fn send(&self, requested: RequestOrigin, response: &Encoded) -> Result<(), TransportError> {
        let mut held = self.held();
        if self.can_receive(requested.client) {
            drop(held);
            return self.write(requested, response);
        }
        held.push_back((requested, response.clone()));
        if held.len() > HELD_MAX && held.pop_front().is_some() {
            tracing::warn!(service = self.service.name, "a reply is given up: its client is not discovered");
        }
        Ok(())
    }

    /// Sends the kept replies to clients that can receive them now.
    pub(super) fn release(&self) {
        let mut held = self.held();
        let (ready, left): (VecDeque<_>, _) =
            held.drain(..).partition(|(requested, _)| self.can_receive(requested.client));
        *held = left;
        drop(held);
        for (requested, response) in ready {
            if let Err(error) = self.write(requested, &response) {
                tracing::warn!("{error}");
            }
        }
    }

    fn write(&self, requested: RequestOrigin, response: &Encoded) -> Result<(), TransportError> {
        write(&self.writer, &self.service, response, |response| requested.answer(response)).map(|_| ())
    }
}

/// The client end of a service.
struct DdsCaller {
    service: ServiceName,
    mapping: ServiceMapping,
    ids: ClientIds,
    matches: Arc<Matches>,
    waiting: Arc<PendingCalls>,
    writer: DataWriter<Encoded, Raw>,
    _endpoints: (RegisteredReader, Registration),
}

/// Calls without a response so far.
#[derive(Default)]
struct PendingCalls(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    last: i64,
    sinks: BTreeMap<i64, ResponseSink>,
}

impl PendingCalls {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DdsCaller {
    /// The request reader of a server that would receive a request and could answer.
    fn server(&self) -> Option<GUID> {
        self.matches.server(self.ids.writer, self.ids.reader)
    }
}

impl Caller for DdsCaller {
    fn is_served(&self) -> bool {
        self.server().is_some()
    }

    /// The lock is held while the request is written, since its response may arrive at once.
    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError> {
        let Some(server) = self.server() else {
            return Err(TransportError::NotServed { service: self.service.name.clone() });
        };
        let mapping = self.mapping.with(server);
        let mut calls = self.waiting.lock();
        let last = calls.last + 1;
        let written =
            write(&self.writer, &self.service, request, |request| mapping.wrap_request(self.ids, last, request))?;
        calls.last = last;
        calls.sinks.insert(mapping.number(written, last), on);
        if calls.sinks.len() > WAITING_MAX {
            calls.sinks.pop_first();
        }
        Ok(())
    }
}

fn write(
    writer: &DataWriter<Encoded, Raw>,
    service: &ServiceName,
    message: &Encoded,
    wire: impl FnOnce(&Encoded) -> OutgoingSample,
) -> Result<SampleIdentity, TransportError> {
    if message.representation() != Some(CDR_LE) {
        return Err(service.refused("only little-endian plain CDR is sent"));
    }
    let OutgoingSample { message, related } = wire(message);
    let options = WriteOptionsBuilder::new().source_timestamp(Timestamp::now()).related_sample_identity_opt(related);
    writer.write_with_options(message, options.build()).map_err(|error| service.refused(refusal(error)))
}

#[cfg(test)]
mod tests;

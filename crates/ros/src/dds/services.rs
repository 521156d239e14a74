//! Services over DDS (design.ros2.org, "Topic and Service name mapping to DDS"): a
//! service is two topics, `rq/NAMERequest` and `rr/NAMEReply`, and two types,
//! `…::srv::dds_::NAME_Request_` and `…_Response_`. Every client of a service hears
//! all its replies and takes its own; [`ServiceMapping`] says how it tells them.
//!
//! Nothing is written to who cannot hear it yet: a call before the server is
//! matched is refused, and a reply waits until the client's reader is matched, for
//! `ros2 service call` asks as soon as it sees us, which may be sooner than we see
//! it. What is kept for others is bounded; the oldest goes first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustdds::dds::{CreateError, CreateResult};
use rustdds::no_key::DataWriter;
use rustdds::{GUID, RTPSEntity, SampleIdentity, Timestamp, TopicKind, WriteOptionsBuilder};

use super::graph::Endpoint;
use super::listener::{Purpose, Reader, SampleSink};
use super::mapping::{Asked, ClientIds, ServiceMapping, Wire};
use super::matches::Matches;
use super::raw::Raw;
use super::{Dds, Heard, Presence, dds_qos, dds_type_name, refusal, with_type_hash, writer_qos};
use crate::cdr::{CDR_LE, Encoded};
use crate::dropped::Dropped;
use crate::qos::Qos;
use crate::service::ServiceName;
use crate::transport::{Answer, Caller, RequestSink, ResponseSink, Subscription, TransportError};

/// Quality of service of both topics (`rmw_qos_profile_services_default`).
const QOS: Qos = Qos::reliable();
/// Replies of one service that wait for clients not matched yet.
const HELD_MAX: usize = 64;
/// Calls of one client that wait for their responses.
const WAITING_MAX: usize = 1024;

/// One of the two topics of a service.
#[derive(Clone, Copy)]
enum Side {
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
        let writer = self.service_writer(service, Side::Reply).map_err(refused)?;
        let reader = self.service_reader(service, Side::Request).map_err(refused)?;
        let replies = Arc::new(Replies::new(self, service, writer, reader.guid()));
        self.matches.watch(replies.writer.guid(), &replies);
        let topic = topic_name(service, Side::Request);
        let presence = self.presence(Endpoint::reader(reader.guid()), reader.guid(), None);
        let heard = self.heard(reader, Purpose::Service, topic, requests(replies, sink), presence);
        Ok(Subscription::guarded_by(heard))
    }

    pub(super) fn service_client(&self, service: &ServiceName) -> Result<Box<dyn Caller>, TransportError> {
        let refused = |error: CreateError| service.refused(error);
        let writer = self.service_writer(service, Side::Request).map_err(refused)?;
        let reader = self.service_reader(service, Side::Reply).map_err(refused)?;
        let ids = ClientIds { writer: writer.guid(), reader: reader.guid() };
        let waiting = Arc::new(Waiting::default());
        let sink = responses(self.mapping, ids, Arc::clone(&waiting));
        let presence = self.presence(Endpoint::writer(ids.writer), ids.writer, None);
        let hears = self.presence(Endpoint::reader(reader.guid()), reader.guid(), None);
        let heard = self.heard(reader, Purpose::Service, topic_name(service, Side::Reply), sink, hears);
        let (service, mapping, matches) = (service.clone(), self.mapping, Arc::clone(&self.matches));
        Ok(Box::new(DdsCaller { service, mapping, ids, matches, waiting, writer, _endpoints: (heard, presence) }))
    }

    fn service_topic(&self, service: &ServiceName, side: Side) -> CreateResult<rustdds::Topic> {
        let suffix = match side {
            Side::Request => "_Request",
            Side::Reply => "_Response",
        };
        let type_name = dds_type_name(&format!("{}{suffix}", service.type_name));
        self.participant.create_topic(topic_name(service, side), type_name, &dds_qos(QOS).build(), TopicKind::NoKey)
    }

    fn service_writer(&self, service: &ServiceName, side: Side) -> CreateResult<DataWriter<Encoded, Raw>> {
        let qos = with_type_hash(writer_qos(QOS), type_hash(service, side));
        self.publisher.create_datawriter_no_key(&self.service_topic(service, side)?, Some(qos))
    }

    fn service_reader(&self, service: &ServiceName, side: Side) -> CreateResult<Reader> {
        let qos = with_type_hash(dds_qos(QOS).build(), type_hash(service, side));
        self.subscriber.create_simple_datareader_no_key(&self.service_topic(service, side)?, Some(qos))
    }
}

fn topic_name(service: &ServiceName, side: Side) -> String {
    match side {
        Side::Request => format!("rq{}Request", service.name),
        Side::Reply => format!("rr{}Reply", service.name),
    }
}

/// The hash that the endpoints of a side tell: that of the message alone, as both middlewares of ROS 2 do.
fn type_hash(service: &ServiceName, side: Side) -> &'static str {
    match side {
        Side::Request => service.request_hash,
        Side::Reply => service.response_hash,
    }
}

/// What a server does with the samples of its request reader.
fn requests(replies: Arc<Replies>, sink: RequestSink) -> SampleSink {
    let cut = Dropped::new(&replies.service.name);
    Box::new(move |sample| match replies.mapping.request(sample) {
        Some((asked, request)) => sink(&request, answer(&replies, asked)),
        None => _ = cut.add("a request without the header that names its client"),
    })
}

fn answer(replies: &Arc<Replies>, asked: Asked) -> Answer {
    let replies = Arc::clone(replies);
    Box::new(move |response: &Encoded| replies.send(asked, response))
}

/// What a client does with the samples of its reply reader.
fn responses(mapping: ServiceMapping, client: ClientIds, waiting: Arc<Waiting>) -> SampleSink {
    Box::new(move |sample| {
        let Some((number, response)) = mapping.response(client, sample) else { return };
        let on = waiting.lock().sinks.remove(&number);
        if let Some(on) = on {
            on(&response);
        }
    })
}

/// The answering end of a service; it stays until the last reply is sent.
pub(super) struct Replies {
    service: ServiceName,
    mapping: ServiceMapping,
    matches: Arc<Matches>,
    writer: DataWriter<Encoded, Raw>,
    /// The request reader.
    reader: GUID,
    /// For clients whose reader is not matched yet.
    held: Mutex<VecDeque<(Asked, Encoded)>>,
    _presence: Presence,
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

    /// Whether a client's reader is matched. Where the request did not name it: when
    /// as many readers of the client's participant are matched as writers, for a
    /// client has one of each.
    fn can_hear(&self, client: GUID) -> bool {
        let readers = self.matches.of(self.writer.guid());
        if client.entity_id.kind().is_reader() {
            return readers.contains(&client);
        }
        let of_participant = |guids: &[GUID]| guids.iter().filter(|guid| guid.prefix == client.prefix).count();
        let hearing = of_participant(&readers);
        hearing > 0 && hearing >= of_participant(&self.matches.of(self.reader))
    }

    fn held(&self) -> MutexGuard<'_, VecDeque<(Asked, Encoded)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends, or keeps until the client can hear. The lock is taken before the
    /// question whether it can, so that a match in between is not missed.
    fn send(&self, asked: Asked, response: &Encoded) -> Result<(), TransportError> {
        let mut held = self.held();
        if self.can_hear(asked.client) {
            drop(held);
            return self.write(asked, response);
        }
        held.push_back((asked, response.clone()));
        if held.len() > HELD_MAX && held.pop_front().is_some() {
            tracing::warn!(service = self.service.name, "a reply is given up: its client cannot be heard of");
        }
        Ok(())
    }

    /// Sends what was kept for clients that can hear now.
    pub(super) fn release(&self) {
        let mut held = self.held();
        let (ready, left): (VecDeque<_>, _) = held.drain(..).partition(|(asked, _)| self.can_hear(asked.client));
        *held = left;
        drop(held);
        for (asked, response) in ready {
            if let Err(error) = self.write(asked, &response) {
                tracing::warn!("{error}");
            }
        }
    }

    fn write(&self, asked: Asked, response: &Encoded) -> Result<(), TransportError> {
        write(&self.writer, &self.service, response, |response| asked.answer(response)).map(|_| ())
    }
}

/// The asking end of a service.
struct DdsCaller {
    service: ServiceName,
    mapping: ServiceMapping,
    ids: ClientIds,
    matches: Arc<Matches>,
    waiting: Arc<Waiting>,
    writer: DataWriter<Encoded, Raw>,
    _endpoints: (Heard, Presence),
}

/// Calls without a response yet.
#[derive(Default)]
struct Waiting(Mutex<Calls>);

#[derive(Default)]
struct Calls {
    last: i64,
    sinks: BTreeMap<i64, ResponseSink>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for DdsCaller {
    fn is_served(&self) -> bool {
        self.matches.one_has_both([self.ids.writer, self.ids.reader])
    }

    /// The lock is held while the request is written: its response may come at once.
    fn call(&self, request: &Encoded, on: ResponseSink) -> Result<(), TransportError> {
        if !self.is_served() {
            return Err(TransportError::NotServed { service: self.service.name.clone() });
        }
        let mut calls = self.waiting.lock();
        let last = calls.last + 1;
        let written = write(&self.writer, &self.service, request, |request| self.mapping.ask(self.ids, last, request))?;
        calls.last = last;
        calls.sinks.insert(self.mapping.number(written, last), on);
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
    wire: impl FnOnce(&Encoded) -> Wire,
) -> Result<SampleIdentity, TransportError> {
    if message.representation() != Some(CDR_LE) {
        return Err(service.refused("only little-endian plain CDR is sent"));
    }
    let Wire { message, related } = wire(message);
    let options = WriteOptionsBuilder::new().source_timestamp(Timestamp::now()).related_sample_identity_opt(related);
    writer.write_with_options(message, options.build()).map_err(|error| service.refused(refusal(error)))
}

#[cfg(test)]
mod tests;

//! Tests of services between two participants in this process, over the loopback interface. Skipped with a message if
//! no socket can be opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustdds::{DomainParticipantStatusEvent, GUID, LostReason, RTPSEntity, SequenceNumber};

use super::{HELD_MAX, Replies, ServiceMapping, ServiceTopic};
use crate::action::{GoalHandle, serve_action};
use crate::action_msgs::{GoalStatus, GoalStatusArray};
use crate::cdr::{Encoded, encode};
use crate::dds::listener::Sample;
use crate::dds::tests::skip::skip_peer;
use crate::dds::{Dds, DdsOptions, Discovery};
use crate::qos::Qos;
use crate::service::{Client, Reply, Service, ServiceName, serve};
use crate::simulation_interfaces::action::{
    SimulateSteps, SimulateStepsGetResult, SimulateStepsGetResultRequest, SimulateStepsGoal, SimulateStepsResult,
    SimulateStepsSendGoal, SimulateStepsSendGoalRequest,
};
use crate::std_msgs;
use crate::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse, Trigger, TriggerRequest, TriggerResponse};
use crate::transport::{Subscription, Transport, subscribe};
use crate::unique_identifier_msgs::UUID;

/// A domain for these tests only, away from the user's nodes and the other tests.
const DOMAIN: u16 = 88;
/// Timeout: peers find each other within seconds, but a slow machine may need much longer.
const TIMEOUT: Duration = Duration::from_secs(30);
const BETWEEN_TRIES: Duration = Duration::from_millis(20);
const CALLS: usize = 50;
const BOTH: [ServiceMapping; 2] = [ServiceMapping::Enhanced, ServiceMapping::Cyclone];

fn open(node_name: &str, service_mapping: ServiceMapping) -> Option<Dds> {
    let (node_name, namespace) = (node_name.to_owned(), "/".to_owned());
    let discovery = Discovery::default();
    match Dds::open(DdsOptions { domain_id: DOMAIN, node_name, namespace, discovery, service_mapping }) {
        Ok(dds) => Some(dds),
        Err(error) => {
            skip_peer(&error.to_string());
            None
        }
    }
}

fn pair(name: &str, mapping: ServiceMapping) -> Option<(Dds, Dds)> {
    Some((open(&format!("{name}_serves"), mapping)?, open(&format!("{name}_asks"), mapping)?))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(BETWEEN_TRIES);
    }
}

/// A client that has discovered its server.
fn client<S: Service>(dds: &Dds, name: &str) -> Client<S> {
    let client = Client::new(dds, name).unwrap();
    until("the service is not found", || client.is_served());
    client
}

fn call<S: Service>(client: &Client<S>, request: &S::Request) -> S::Response {
    client.call(request).unwrap().recv_timeout(TIMEOUT).unwrap()
}

/// A server that answers with the request's value and counts requests.
fn echo(dds: &Dds, name: &str) -> (Subscription, Arc<AtomicUsize>) {
    let requested = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requested);
    let answer = move |request: SetBoolRequest, reply: Reply<SetBool>| {
        count.fetch_add(1, Ordering::SeqCst);
        reply.send(&SetBoolResponse { success: request.data, message: request.data.to_string() }).unwrap();
    };
    (serve::<SetBool>(dds, name, answer).unwrap(), requested)
}

#[test]
fn two_clients_get_the_answers_to_their_own_requests_in_both_mappings() {
    for mapping in BOTH {
        let Some((serving, calling)) = pair("own", mapping) else { return };
        let (_served, requested) = echo(&serving, "/test/own");
        let clients = [true, false].map(|data| (data, client::<SetBool>(&calling, "/test/own")));
        std::thread::scope(|scope| {
            for (data, client) in &clients {
                scope.spawn(move || {
                    for _ in 0..CALLS {
                        assert_eq!(call(client, &SetBoolRequest { data: *data }).success, *data, "{mapping:?}");
                    }
                });
            }
        });
        assert_eq!(requested.load(Ordering::SeqCst), 2 * CALLS);
    }
}

#[test]
fn a_reply_that_comes_later_finds_its_request() {
    for mapping in BOTH {
        let Some((serving, calling)) = pair("later", mapping) else { return };
        let (sender, replies) = channel();
        let answer = move |_: TriggerRequest, reply: Reply<Trigger>| sender.send(reply).unwrap();
        let _served = serve::<Trigger>(&serving, "/test/later", answer).unwrap();
        let client = client::<Trigger>(&calling, "/test/later");
        let waiting = [(); 3].map(|()| client.call(&TriggerRequest::default()).unwrap());
        let replies: Vec<Reply<Trigger>> = waiting.iter().map(|_| replies.recv_timeout(TIMEOUT).unwrap()).collect();
        for (number, reply) in replies.into_iter().enumerate().rev() {
            reply.send(&TriggerResponse { success: true, message: number.to_string() }).unwrap();
        }
        let answers = waiting.map(|response| response.recv_timeout(TIMEOUT).unwrap().message);
        assert_eq!(answers, ["0", "1", "2"], "{mapping:?}");
    }
}

#[test]
fn garbage_requests_are_dropped_without_an_answer_and_the_service_lives() {
    for mapping in BOTH {
        let Some((serving, calling)) = pair("garbage", mapping) else { return };
        let (_served, requested) = echo(&serving, "/test/garbage");
        let caller = calling.client(&ServiceName::new::<SetBool>("/test/garbage").unwrap()).unwrap();
        until("the service is not found", || caller.is_served());
        let (sender, answers) = channel();
        let text = encode(&std_msgs::String { data: "on".to_owned() }).unwrap();
        for garbage in [Encoded::from_bytes([0, 1, 0, 0, 7]), Encoded::from_parts([0, 1], &[9; 60]), text] {
            let sender = sender.clone();
            caller.call(&garbage, Box::new(move |_: &Encoded| sender.send("garbage").unwrap())).unwrap();
        }
        let good = encode(&SetBoolRequest { data: true }).unwrap();
        caller.call(&good, Box::new(move |_: &Encoded| sender.send("good").unwrap())).unwrap();
        assert_eq!(answers.recv_timeout(TIMEOUT), Ok("good"), "requests of one client come in their order");
        assert_eq!((requested.load(Ordering::SeqCst), answers.try_recv().is_err()), (1, true), "{mapping:?}");
    }
}

/// The header of one mapping is invalid in the other: there is no answer, and no harm.
#[test]
fn a_client_of_the_other_mapping_gets_no_answer_and_does_no_harm() {
    let (Some(serving), Some(calling)) =
        (open("mapped_serves", ServiceMapping::Cyclone), open("mapped_asks", ServiceMapping::Enhanced))
    else {
        return;
    };
    let (_served, requested) = echo(&serving, "/test/mapped");
    let stranger = client::<SetBool>(&calling, "/test/mapped");
    let unanswered = stranger.call(&SetBoolRequest { data: true }).unwrap();
    let Some(fitting) = open("mapped_fits", ServiceMapping::Cyclone) else { return };
    assert!(call(&client::<SetBool>(&fitting, "/test/mapped"), &SetBoolRequest { data: true }).success);
    assert!(unanswered.try_recv().is_err());
    assert_eq!(requested.load(Ordering::SeqCst), 1);
}

#[test]
fn a_service_that_ends_is_no_longer_served() {
    let Some((serving, calling)) = pair("ends", ServiceMapping::Enhanced) else { return };
    let (served, _) = echo(&serving, "/test/ends");
    let client = client::<SetBool>(&calling, "/test/ends");
    drop(served);
    until("the service is still there", || !client.is_served());
    assert!(client.call(&SetBoolRequest { data: true }).is_err());
}

#[test]
fn topics_and_types_are_named_as_ros_2_names_them() {
    let Some((serving, looking)) = pair("names", ServiceMapping::Enhanced) else { return };
    let (_served, _) = echo(&serving, "/test/names");
    let request = || {
        let found = looking.participant.discovered_readers();
        found
            .iter()
            .find(|found| found.subscription_topic_data.topic_name() == "rq/test/namesRequest")
            .map(|found| found.subscription_topic_data.type_name().to_owned())
    };
    until("the request reader is not seen", || request().is_some());
    assert_eq!(request().as_deref(), Some("std_srvs::srv::dds_::SetBool_Request_"));
    let reply = || {
        let found = looking.participant.discovered_writers();
        let ours = found.iter().find(|found| found.publication_topic_data.topic_name == "rr/test/namesReply");
        ours.map(|found| found.publication_topic_data.type_name.clone())
    };
    until("the reply writer is not seen", || reply().is_some());
    assert_eq!(reply().as_deref(), Some("std_srvs::srv::dds_::SetBool_Response_"));
}

#[test]
fn a_goal_is_sent_watched_and_ends_over_the_wire() {
    for mapping in BOTH {
        let Some((serving, calling)) = pair("action", mapping) else { return };
        let (sender, begun) = channel();
        let begin = move |goal: SimulateStepsGoal, handle| sender.send((goal.steps, handle)).unwrap();
        let _served = serve_action::<SimulateSteps>(&serving, "/test/action", |_| true, begin).unwrap();
        let send = client::<SimulateStepsSendGoal>(&calling, "/test/action/_action/send_goal");
        let (goal_id, goal) = (UUID { uuid: [3; 16] }, SimulateStepsGoal { steps: 4 });
        assert!(call(&send, &SimulateStepsSendGoalRequest { goal_id, goal }).accepted);
        let (steps, handle): (u64, GoalHandle<SimulateSteps>) = begun.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(steps, 4);
        let result = client::<SimulateStepsGetResult>(&calling, "/test/action/_action/get_result");
        let waiting = result.call(&SimulateStepsGetResultRequest { goal_id }).unwrap();
        handle.succeed(SimulateStepsResult::default());
        assert_eq!(waiting.recv_timeout(TIMEOUT).unwrap().status, GoalStatus::STATUS_SUCCEEDED, "{mapping:?}");
        let (_received, statuses) = statuses(&calling);
        let latest = statuses.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(latest.status_list[0].status, GoalStatus::STATUS_SUCCEEDED, "a late subscriber receives the latest");
    }
}

fn statuses(dds: &Dds) -> (Subscription, Receiver<GoalStatusArray>) {
    let (sender, receiver) = channel();
    let on = move |status: GoalStatusArray| _ = sender.send(status);
    (subscribe(dds, "/test/action/_action/status", Qos::latched(), on).unwrap(), receiver)
}

const WRITER: u8 = 0x03;
const READER: u8 = 0x04;

/// An endpoint of client `number` in a participant that does not exist.
fn stranger(number: u8, kind: u8) -> GUID {
    let mut bytes = [0xee; 16];
    bytes[12..].copy_from_slice(&[0, 0, number, kind]);
    GUID::from_bytes(bytes)
}

/// A request of client `number`, which gives its reply reader only in the enhanced mapping.
fn requested_by(number: u8, mapping: ServiceMapping) -> super::RequestOrigin {
    let ids = super::ClientIds { writer: stranger(number, WRITER), reader: stranger(number, READER) };
    let super::OutgoingSample { message, related } =
        mapping.wrap_request(ids, 1, &encode(&TriggerRequest::default()).unwrap());
    mapping.request(Sample { writer: ids.writer, number: SequenceNumber::new(1), related, message }).unwrap().0
}

/// The server end of a service, without a server.
fn replies(mapping: ServiceMapping) -> Option<(Dds, Arc<Replies>)> {
    let dds = open("held", mapping)?;
    let service = ServiceName::new::<Trigger>("/test/held").unwrap();
    let writer = dds.service_writer(&service, ServiceTopic::Reply).unwrap();
    let reader = dds.service_reader(&service, ServiceTopic::Request).unwrap();
    let replies = Arc::new(Replies::new(&dds, &service, writer, reader.guid()));
    dds.matches.watch(replies.writer.guid(), &replies);
    Some((dds, replies))
}

#[test]
fn a_reply_waits_until_its_client_can_receive() {
    for mapping in BOTH {
        let Some((dds, replies)) = replies(mapping) else { return };
        let (local_writer, local_reader) = (replies.writer.guid(), replies.reader);
        let response = encode(&TriggerResponse::default()).unwrap();
        for number in [1, 2] {
            let remote_writer = stranger(number, WRITER);
            dds.matches.learn(&DomainParticipantStatusEvent::RemoteWriterMatched { local_reader, remote_writer });
            replies.send(requested_by(number, mapping), &response).unwrap();
        }
        assert_eq!(replies.held().len(), 2, "{mapping:?}");
        let left = [1, 2].map(|number| {
            let remote_reader = stranger(number, READER);
            dds.matches.learn(&DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, remote_reader });
            replies.held().len()
        });
        // Cyclone's requests do not give their reader: both replies wait for both clients.
        assert_eq!(left, if mapping == ServiceMapping::Enhanced { [1, 0] } else { [2, 0] });
        replies.send(requested_by(1, mapping), &response).unwrap();
        assert!(replies.held().is_empty(), "a client that can receive is answered at once");
    }
}

/// A server is there once its reader has acknowledged our writer: before that, what we write may be lost.
#[test]
fn a_server_is_there_when_the_match_is_mutual_and_gone_when_its_reader_is() {
    let Some((dds, replies)) = replies(ServiceMapping::Enhanced) else { return };
    // The two endpoints of a client, whichever these are.
    let (local_writer, local_reader) = (replies.writer.guid(), replies.reader);
    let (remote_writer, remote_reader) = (stranger(1, WRITER), stranger(1, READER));
    let events = [
        DomainParticipantStatusEvent::RemoteWriterMatched { local_reader, remote_writer },
        DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, remote_reader },
        DomainParticipantStatusEvent::RemoteReaderAnswered { local_writer, remote_reader },
        DomainParticipantStatusEvent::ReaderLost { guid: remote_reader, reason: LostReason::Disposed },
        // A reader that comes back has to acknowledge anew.
        DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, remote_reader },
    ];
    let found = events.map(|event| {
        dds.matches.learn(&event);
        dds.matches.server(local_writer, local_reader)
    });
    assert_eq!(found, [None, None, Some(remote_reader), None, None]);
}

#[test]
fn no_more_replies_wait_than_are_kept() {
    let Some((_dds, replies)) = replies(ServiceMapping::Enhanced) else { return };
    let response = encode(&TriggerResponse::default()).unwrap();
    for _ in 0..2 * HELD_MAX {
        replies.send(requested_by(3, ServiceMapping::Enhanced), &response).unwrap();
    }
    assert_eq!(replies.held().len(), HELD_MAX);
}

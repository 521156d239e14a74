//! Tests of services within one process.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use super::{Client, Reply, ServiceName, serve};
use crate::cdr::{Encoded, encode};
use crate::in_process::InProcess;
use crate::std_msgs;
use crate::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse, Trigger, TriggerRequest, TriggerResponse};
use crate::transport::{Subscription, Transport, TransportError};

const NAME: &str = "/selene/lamp";
/// Far longer than an answer within the process takes.
const TIMEOUT: Duration = Duration::from_secs(30);
const CALLS: usize = 200;

fn requested(data: bool) -> SetBoolRequest {
    SetBoolRequest { data }
}

fn answered(success: bool) -> SetBoolResponse {
    SetBoolResponse { success, message: success.to_string() }
}

/// A server that answers each request with its own value.
fn echo(transport: &InProcess) -> Subscription {
    let answer = |request: SetBoolRequest, reply: Reply<SetBool>| reply.send(&answered(request.data)).unwrap();
    serve::<SetBool>(transport, NAME, answer).unwrap()
}

/// A server that passes its requests and replies to the test.
fn passed_out(transport: &InProcess) -> (Subscription, Receiver<(bool, Reply<SetBool>)>) {
    let (sender, receiver) = channel();
    let answer = move |request: SetBoolRequest, reply| sender.send((request.data, reply)).unwrap();
    (serve::<SetBool>(transport, NAME, answer).unwrap(), receiver)
}

#[test]
fn a_response_is_there_when_the_server_answers_at_once() {
    let transport = InProcess::new();
    let client = Client::<SetBool>::new(&transport, NAME).unwrap();
    let _served = echo(&transport);
    for data in [true, false] {
        assert_eq!(client.call(&requested(data)).unwrap().try_recv(), Ok(answered(data)));
    }
}

#[test]
fn a_reply_may_be_sent_later_from_another_thread_and_in_any_order() {
    let transport = InProcess::new();
    let (_served, replies) = passed_out(&transport);
    let client = Client::<SetBool>::new(&transport, NAME).unwrap();
    let (first, second) = (client.call(&requested(true)).unwrap(), client.call(&requested(false)).unwrap());
    assert_eq!(first.try_recv(), Err(TryRecvError::Empty), "the server has not answered yet");
    let later = thread::spawn(move || {
        let waiting: Vec<_> = replies.try_iter().collect();
        for (data, reply) in waiting.into_iter().rev() {
            reply.send(&answered(data)).unwrap();
        }
    });
    later.join().unwrap();
    assert_eq!((first.try_recv(), second.try_recv()), (Ok(answered(true)), Ok(answered(false))));
}

#[test]
fn each_of_many_clients_gets_the_answers_to_its_own_requests() {
    let transport = InProcess::new();
    let _served = echo(&transport);
    thread::scope(|scope| {
        for data in [true, false, true, false] {
            let client = Client::<SetBool>::new(&transport, NAME).unwrap();
            scope.spawn(move || {
                for _ in 0..CALLS {
                    assert_eq!(client.call(&requested(data)).unwrap().recv_timeout(TIMEOUT), Ok(answered(data)));
                }
            });
        }
    });
}

#[test]
fn a_dropped_reply_ends_the_wait_without_a_response() {
    let transport = InProcess::new();
    let _served = serve::<SetBool>(&transport, NAME, |_, reply| drop(reply)).unwrap();
    let client = Client::<SetBool>::new(&transport, NAME).unwrap();
    let response = client.call(&requested(true)).unwrap();
    assert_eq!(response.recv_timeout(TIMEOUT), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_reply_outlives_its_server_and_its_client() {
    let transport = InProcess::new();
    let (served, replies) = passed_out(&transport);
    let client = Client::<SetBool>::new(&transport, NAME).unwrap();
    let (kept, given_up) = (client.call(&requested(true)).unwrap(), client.call(&requested(false)).unwrap());
    drop((served, given_up));
    replies.try_iter().for_each(|(data, reply)| reply.send(&answered(data)).unwrap());
    assert_eq!(kept.try_recv(), Ok(answered(true)));
}

#[test]
fn a_service_without_a_server_is_refused_until_it_has_one() {
    let transport = InProcess::new();
    let client = Client::<SetBool>::new(&transport, NAME).unwrap();
    let refused = client.call(&requested(true)).expect_err("nobody serves");
    assert!(matches!(refused, TransportError::NotServed { .. }) && refused.to_string().contains(NAME), "{refused}");
    let served = echo(&transport);
    assert!(client.is_served() && client.call(&requested(true)).is_ok());
    drop(served);
    assert!(!client.is_served() && client.call(&requested(true)).is_err());
}

#[test]
fn a_second_server_another_type_and_a_bad_name_are_refused_with_the_reason() {
    let transport = InProcess::new();
    let _served = echo(&transport);
    let second = serve::<SetBool>(&transport, NAME, |_, _| ()).err().expect("taken").to_string();
    assert!(second.contains(NAME) && second.contains("already"), "{second}");
    let other = Client::<Trigger>::new(&transport, NAME).unwrap();
    let other = other.call(&TriggerRequest::default()).expect_err("another type").to_string();
    assert!(other.contains("std_srvs/srv/SetBool") && other.contains("std_srvs/srv/Trigger"), "{other}");
    let name = serve::<SetBool>(&transport, "lamp", |_, _| ()).err().expect("no full name").to_string();
    assert!(name.contains("\"lamp\"") && name.contains("begin"), "{name}");
}

/// Invalid bytes and a valid message of another type: neither reaches the server or is answered, and the service goes
/// on.
#[test]
fn garbage_requests_are_dropped_without_an_answer() {
    let transport = InProcess::new();
    let (_served, replies) = passed_out(&transport);
    let caller = transport.client(&ServiceName::new::<SetBool>(NAME).unwrap()).unwrap();
    let text = encode(&std_msgs::String { data: "on".to_owned() }).unwrap();
    for garbage in
        [Encoded::from_bytes([0_u8; 0]), Encoded::from_bytes([0, 1, 0, 0]), Encoded::from_bytes([9; 40]), text]
    {
        let (sender, receiver) = channel();
        caller.call(&garbage, Box::new(move |response: &Encoded| sender.send(response.clone()).unwrap())).unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected), "{garbage:?}");
    }
    assert!(replies.try_recv().is_err());
    let response = Client::<SetBool>::new(&transport, NAME).unwrap().call(&requested(true)).unwrap();
    let (data, reply) = replies.try_recv().unwrap();
    reply.send(&answered(data)).unwrap();
    assert_eq!(response.try_recv(), Ok(answered(true)));
}

#[test]
fn a_server_may_call_and_end_services_from_inside() {
    let transport = InProcess::new();
    let _lamp = echo(&transport);
    let lamp = Client::<SetBool>::new(&transport, NAME).unwrap();
    let relay = move |_: TriggerRequest, reply: Reply<Trigger>| {
        let SetBoolResponse { success, message } = lamp.call(&requested(true)).unwrap().try_recv().unwrap();
        reply.send(&TriggerResponse { success, message }).unwrap();
    };
    let _relay = serve::<Trigger>(&transport, "/selene/relay", relay).unwrap();
    let client = Client::<Trigger>::new(&transport, "/selene/relay").unwrap();
    let response = client.call(&TriggerRequest::default()).unwrap().try_recv().unwrap();
    assert_eq!((response.success, response.message.as_str()), (true, "true"));
}

/// The bytes that ROS 2 sends for a request without fields.
#[test]
fn a_request_without_fields_takes_one_byte() {
    assert_eq!(encode(&TriggerRequest::default()).unwrap().bytes(), [0, 1, 0, 0, 0]);
}

//! Tests of Foxglove's protocol over real sockets of this machine.

use std::io::{Read, Write};
use std::net::TcpStream as PlainStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use selene_base::SimTime;
use selene_ros::rosgraph_msgs::Clock;
use selene_ros::sensor_msgs::Image;
use selene_ros::tf2_msgs::TFMessage;
use selene_ros::transport::{Publisher, Transport};
use selene_ros::{Encoded, Message as RosMessage, Qos, decode, std_msgs};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::client_queue::BYTES_MAX;
use super::{CLIENTS_MAX, Foxglove, is_local};
use crate::{ListeningSocket, RefusalReason};

/// Time limit for anything that a test waits for, ample on a busy machine.
const SOON: Duration = Duration::from_secs(20);
const CAMERA: &str = "/navcam/image_raw";

/// A fake run, whose messages the test publishes, and its server.
struct Site {
    foxglove: Foxglove,
    tap: Arc<dyn Transport>,
    clock: Publisher<Clock>,
    images: Publisher<Image>,
    frames: Publisher<TFMessage>,
}

fn at(seconds: f64) -> SimTime {
    SimTime::from_secs_f64(seconds)
}

impl Site {
    fn new() -> Self {
        let listening_socket = ListeningSocket::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let foxglove =
            Foxglove::serve(listening_socket, "polar-1", vec!["https://lichtblick.example".to_owned()]).unwrap();
        let tap = foxglove.tap();
        let clock = Publisher::new(tap.as_ref(), "/clock", Qos::clock()).unwrap();
        let images = Publisher::new(tap.as_ref(), CAMERA, Qos::sensor_data()).unwrap();
        let frames = Publisher::new(tap.as_ref(), "/tf_static", Qos::latched()).unwrap();
        Self { foxglove, tap, clock, images, frames }
    }

    fn tick(&self, seconds: f64) {
        self.clock.publish(&Clock { clock: at(seconds).into() }, at(seconds)).unwrap();
    }

    fn refused(&self, refusal: RefusalReason) -> u64 {
        self.foxglove.refused().iter().find(|(of, _)| *of == refusal).map_or(0, |(_, count)| *count)
    }

    /// Waits until the count of `refusal` reaches `times`.
    fn await_refused(&self, refusal: RefusalReason, times: u64) {
        let begun = Instant::now();
        while self.refused(refusal) < times {
            assert!(begun.elapsed() < SOON, "{refusal:?} was counted {} times, not {times}", self.refused(refusal));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends `request` as it is, with `HOST` replaced, and returns all that arrives until the connection ends.
    fn send_http(&self, request: &str) -> String {
        let mut stream = PlainStream::connect(self.foxglove.address()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut reported = Vec::new();
        let _ = stream.write_all(request.replace("HOST", &self.foxglove.address().to_string()).as_bytes());
        let _ = stream.read_to_end(&mut reported);
        String::from_utf8_lossy(&reported).into_owned()
    }
}

/// A message that a client received.
#[derive(Debug)]
enum Received {
    Text(Value),
    Time(u64),
    Data { subscription: u32, stamp_ns: u64, message: Encoded },
}

impl Received {
    fn read(message: Message) -> Option<Self> {
        match message {
            Message::Text(text) => Some(Self::Text(serde_json::from_str(text.as_str()).unwrap())),
            Message::Binary(frame) => Some(Self::frame(&frame)),
            _ => None,
        }
    }

    fn frame(frame: &[u8]) -> Self {
        let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().unwrap());
        match frame[0] {
            1 => Self::Data {
                subscription: u32::from_le_bytes(*frame[1..].first_chunk().unwrap()),
                stamp_ns: number(&frame[5..]),
                message: Encoded::from_bytes(&frame[13..]),
            },
            2 => Self::Time(number(&frame[1..])),
            other => panic!("opcode {other}"),
        }
    }
}

/// A client that follows the protocol as Foxglove does.
struct Client(WebSocketStream<TcpStream>);

impl Client {
    /// Connects. Returns the client and the channels that the server announces.
    async fn new(site: &Site) -> (Self, Vec<Value>) {
        let mut client = Self::connecting(site, "foxglove.websocket.v1", "file://").await.expect("a seat");
        let info = client.text().await;
        assert_eq!((&info["op"], &info["sessionId"]), (&json!("serverInfo"), &json!("polar-1")));
        assert_eq!(info["capabilities"], json!(["time"]));
        let advertised = client.text().await;
        assert_eq!(advertised["op"], "advertise");
        (client, advertised["channels"].as_array().unwrap().clone())
    }

    async fn connecting(site: &Site, protocol: &str, origin: &str) -> Option<Self> {
        let address = site.foxglove.address();
        let mut request = format!("ws://{address}/").into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, response) = client_async(request, stream).await.ok()?;
        assert!(protocol.contains(response.headers()["sec-websocket-protocol"].to_str().unwrap()));
        Some(Self(socket))
    }

    async fn send_json(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message; `None` when the connection has ended.
    async fn next(&mut self) -> Option<Received> {
        loop {
            let message = timeout(SOON, self.0.next()).await.expect("a message")?.ok()?;
            if let Some(received) = Received::read(message) {
                return Some(received);
            }
        }
    }

    async fn text(&mut self) -> Value {
        loop {
            if let Received::Text(text) = self.next().await.expect("a connection") {
                return text;
            }
        }
    }

    /// The next message of a topic: subscription, stamp and content.
    async fn data<M: RosMessage>(&mut self) -> (u32, u64, M) {
        loop {
            if let Received::Data { subscription, stamp_ns, message } = self.next().await.expect("a connection") {
                return (subscription, stamp_ns, decode(&message).unwrap());
            }
        }
    }

    async fn subscribe(&mut self, channels: &[Value], wanted: &[(u32, &str)]) {
        let of = |(id, topic): &(u32, &str)| json!({ "id": id, "channelId": channel(channels, topic)["id"] });
        let subscriptions: Vec<_> = wanted.iter().map(of).collect();
        self.send_json(json!({ "op": "subscribe", "subscriptions": subscriptions })).await;
    }
}

fn channel<'a>(channels: &'a [Value], topic: &str) -> &'a Value {
    channels.iter().find(|channel| channel["topic"] == topic).unwrap_or_else(|| panic!("no {topic} in {channels:?}"))
}

fn with_clients<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn image(bytes: usize) -> Image {
    Image { width: bytes as u32, height: 1, step: bytes as u32, data: vec![7; bytes], ..Image::default() }
}

#[test]
fn a_client_gets_topics_as_a_bag_has_them_and_what_it_subscribes_to() {
    let site = Site::new();
    site.frames.publish(&TFMessage::default(), at(0.5)).unwrap();
    let _internal = Publisher::<std_msgs::Float64>::new(site.tap.as_ref(), "/selene/r1/x", Qos::state()).unwrap();
    with_clients(async {
        let (mut client, channels) = Client::new(&site).await;
        assert_eq!(channels.len(), 3, "{channels:?}");
        let camera = channel(&channels, CAMERA);
        assert_eq!((&camera["encoding"], &camera["schemaEncoding"]), (&json!("cdr"), &json!("ros2msg")));
        assert_eq!((&camera["schemaName"], &camera["schema"]), (&json!(Image::TYPE_NAME), &json!(Image::DEFINITION)));
        client.subscribe(&channels, &[(70, CAMERA), (71, "/tf_static"), (72, "/clock")]).await;
        // A later subscriber gets latched messages, with their original stamps.
        let (subscription, stamp_ns, frames) = client.data::<TFMessage>().await;
        assert_eq!((subscription, stamp_ns, frames), (71, 500_000_000, TFMessage::default()));
        site.tick(2.0);
        loop {
            if let Received::Time(time_ns) = client.next().await.unwrap() {
                assert_eq!(time_ns, 2_000_000_000);
                break;
            }
        }
        assert_eq!(client.data::<Clock>().await, (72, 2_000_000_000, Clock { clock: at(2.0).into() }));
        let picture = image(1000);
        site.images.publish(&picture, at(2.5)).unwrap();
        assert_eq!(client.data::<Image>().await, (70, 2_500_000_000, picture));
    });
    assert!(site.foxglove.refused().is_empty(), "{:?}", site.foxglove.refused());
}

#[test]
fn topics_come_and_go_and_a_subscription_that_ended_receives_no_more() {
    let site = Site::new();
    with_clients(async {
        let (mut client, channels) = Client::new(&site).await;
        let added = Publisher::<std_msgs::Float64>::new(site.tap.as_ref(), "/depth", Qos::reliable()).unwrap();
        let reported = client.text().await;
        let id = &channel(reported["channels"].as_array().unwrap(), "/depth")["id"];
        drop(added);
        assert_eq!(client.text().await, json!({ "op": "unadvertise", "channelIds": [id] }));
        client.subscribe(&channels, &[(1, CAMERA)]).await;
        client.send_json(json!({ "op": "unsubscribe", "subscriptionIds": [1] })).await;
        client.subscribe(&channels, &[(2, "/clock")]).await;
        // Requests are answered in order: this answer shows that the earlier ones are done.
        client.send_json(json!({ "op": "unsubscribe", "subscriptionIds": [9] })).await;
        assert_eq!(client.text().await["level"], 1);
        site.images.publish(&image(10), at(1.0)).unwrap();
        site.tick(1.5);
        assert_eq!(client.data::<Clock>().await.0, 2);
    });
}

#[test]
fn a_slow_client_holds_up_neither_the_sender_nor_others_and_what_it_misses_is_counted() {
    let site = Site::new();
    with_clients(async {
        let (mut slow, channels) = Client::new(&site).await;
        slow.subscribe(&channels, &[(1, CAMERA)]).await;
        slow.send_json(json!({ "op": "unsubscribe", "subscriptionIds": [9] })).await;
        slow.text().await;
        let (mut good, channels) = Client::new(&site).await;
        good.subscribe(&channels, &[(1, "/clock")]).await;
        good.send_json(json!({ "op": "unsubscribe", "subscriptionIds": [9] })).await;
        good.text().await;
        let picture = image(BYTES_MAX / 16);
        for _ in 0..64 {
            site.images.publish(&picture, at(1.0)).unwrap();
        }
        assert!(site.foxglove.dropped() > 0, "a client that does not read missed nothing");
        site.tick(3.0);
        assert_eq!(good.data::<Clock>().await.1, 3_000_000_000);
        assert_eq!(slow.data::<Image>().await.2, picture, "what the slow one gets is whole");
        // All that happened before the server gave up on the slow one: it still answers.
        slow.send_json(json!({ "op": "unsubscribe", "subscriptionIds": [9] })).await;
        assert_eq!(slow.text().await["level"], 1);
    });
}

#[test]
fn strangers_are_refused_and_counted() {
    let site = Site::new();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let known = "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n";
    let requested = |host: &str, rest: &str| format!("GET / HTTP/1.1\r\nHost: {host}\r\n{upgrade}{rest}\r\n");
    for (request, status, refusal) in [
        (requested("HOST", &format!("{known}Origin: http://evil.example\r\n")), "403", RefusalReason::Origin),
        (requested("HOST", &format!("{known}Origin: null\r\n")), "403", RefusalReason::Origin),
        (requested("evil.example", known), "421", RefusalReason::Host),
        (requested("HOST", ""), "400", RefusalReason::Message),
        (requested("HOST", "Sec-WebSocket-Protocol: mqtt\r\n"), "400", RefusalReason::Message),
        ("GET /index.html HTTP/1.1\r\nHost: HOST\r\n\r\n".to_owned(), "426", RefusalReason::Address),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999999\r\n\r\n".to_owned(), "413", RefusalReason::Body),
    ] {
        let before = site.refused(refusal);
        let reported = site.send_http(&request);
        assert!(reported.starts_with(&format!("HTTP/1.1 {status}")), "{request:?}: {reported}");
        assert_eq!(site.refused(refusal), before + 1, "{request:?}");
    }
}

#[test]
fn foxglove_lichtblick_and_pages_of_this_machine_are_let_in() {
    let site = Site::new();
    with_clients(async {
        for (protocol, origin) in [
            ("foxglove.sdk.v1, foxglove.websocket.v1", "https://app.foxglove.dev"),
            ("foxglove.websocket.v1", "http://localhost:8080"),
            ("foxglove.sdk.v1", "https://lichtblick.example"),
        ] {
            assert!(Client::connecting(&site, protocol, origin).await.is_some(), "{origin}");
        }
    });
    for other in
        ["http://localhost.evil.example", "http://127.0.0.1.evil.example", "ftp://localhost", "http://localhost:"]
    {
        assert!(!is_local(other.as_bytes()), "{other}");
    }
}

#[test]
fn broken_messages_and_floods_end_their_connection_and_the_run_goes_on() {
    let site = Site::new();
    with_clients(async {
        let (mut client, channels) = Client::new(&site).await;
        client.send_json(json!({ "op": "getParameters", "parameterNames": [] })).await;
        assert_eq!(client.text().await["level"], 1, "what is not offered is no fault");
        client.0.send(Message::binary(vec![1, 0, 0, 0, 0])).await.unwrap();
        assert_eq!(client.text().await["level"], 2);
        for _ in 1..8 {
            client.send_json(json!({ "op": "subscribe", "subscriptions": "all" })).await;
        }
        while client.next().await.is_some() {}
        let (mut long, _) = Client::new(&site).await;
        long.send_json(json!({ "op": "x".repeat(70_000) })).await;
        while long.next().await.is_some() {}
        let (mut flood, _) = Client::new(&site).await;
        let question = Message::text(json!({ "op": "subscribe", "subscriptions": [] }).to_string());
        for _ in 0..100_000 {
            if flood.0.send(question.clone()).await.is_err() {
                break;
            }
        }
        let (mut good, _) = Client::new(&site).await;
        good.subscribe(&channels, &[(1, "/clock")]).await;
        good.subscribe(&channels, &[(2, "/clock")]).await;
        assert!(good.text().await["message"].as_str().unwrap().contains("already"));
        site.tick(4.0);
        assert_eq!(good.data::<Clock>().await.0, 1);
    });
    site.await_refused(RefusalReason::Flood, 1);
    assert_eq!(site.refused(RefusalReason::Message), 9);
}

#[test]
fn frames_that_break_the_protocol_end_the_connection() {
    let site = Site::new();
    let reported = site.send_http(
        "GET / HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n~~~ this is no frame of a WebSocket ~~~",
    );
    assert!(reported.starts_with("HTTP/1.1 101"), "{reported}");
    site.await_refused(RefusalReason::Message, 1);
}

#[test]
fn there_are_so_many_seats_and_one_that_is_left_is_free() {
    let site = Site::new();
    with_clients(async {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS_MAX {
            clients.push(Client::new(&site).await.0);
        }
        let again = || Client::connecting(&site, "foxglove.sdk.v1", "file://");
        assert!(again().await.is_none());
        assert_eq!(site.refused(RefusalReason::Crowd), 1);
        drop(clients.pop());
        let begun = Instant::now();
        while again().await.is_none() {
            assert!(begun.elapsed() < SOON, "the seat is not free");
        }
    });
}

//! Tests of the console over real sockets of this machine.

use std::io::{Read, Write};
use std::net::TcpStream as PlainStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use selene_base::SimTime;
use selene_ros::diagnostic_msgs::{DiagnosticArray, DiagnosticStatus, KeyValue};
use selene_ros::geometry_msgs::TwistStamped;
use selene_ros::in_process::InProcess;
use selene_ros::nav_msgs::Odometry;
use selene_ros::sensor_msgs::Image;
use selene_ros::service::{Reply, serve};
use selene_ros::simulation_interfaces::srv::{
    GetAvailableWorlds, GetAvailableWorldsRequest, GetAvailableWorldsResponse, GetSimulationState,
    GetSimulationStateRequest, GetSimulationStateResponse, GetSpawnables, GetSpawnablesRequest, GetSpawnablesResponse,
    LoadWorld, LoadWorldRequest, LoadWorldResponse, SetSimulationState, SetSimulationStateRequest,
    SetSimulationStateResponse, SpawnEntity, SpawnEntityRequest, SpawnEntityResponse,
};
use selene_ros::simulation_interfaces::{Resource, Result as Outcome, SimulationState, Spawnable, WorldResource};
use selene_ros::transport::{Publisher, Subscription, subscribe};
use selene_ros::{Message as RosMessage, Qos};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::admission::CONNECTIONS_MAX;
use crate::server::CLIENTS_MAX;
use crate::{Console, ConsoleOptions, ListeningSocket, RefusalReason, Token};

/// Time limit for anything that a test waits for, ample on a busy machine.
const SOON: Duration = Duration::from_secs(20);
const CAMERA: &str = "/viper/navcam/image_raw";
const MARE: &str = "file:///config/scenario/mare.yaml";

/// A fake run of one rover, whose messages the test publishes, and its console.
struct Site {
    bus: InProcess,
    console: Console,
    images: Publisher<Image>,
    odometry: Publisher<Odometry>,
    diagnostics: Publisher<DiagnosticArray>,
}

impl Site {
    fn new(has_control: bool) -> Self {
        let bus = InProcess::new();
        let listening_socket = ListeningSocket::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let options = options(has_control.then(|| Token::random().unwrap()));
        let console = Console::serve(listening_socket, Arc::new(bus.clone()), &options).unwrap();
        let odometry = Publisher::new(&bus, "/viper/ground_truth/odom", Qos::reliable()).unwrap();
        let diagnostics = Publisher::new(&bus, "/diagnostics", Qos::reliable()).unwrap();
        let images = Publisher::new(&bus, CAMERA, Qos::sensor_data()).unwrap();
        Self { bus, console, images, odometry, diagnostics }
    }

    /// Publishes the list of topics, and where the rover is.
    fn publish_all(&self) {
        let reported = ["/viper/ground_truth/odom", CAMERA];
        let value = |topic: &str| KeyValue { key: format!("bytes_per_s {topic}"), value: "1".to_owned() };
        let status = DiagnosticStatus { values: reported.map(value).into(), ..DiagnosticStatus::default() };
        let diagnostics = DiagnosticArray { status: vec![status], ..DiagnosticArray::default() };
        self.diagnostics.publish(&diagnostics, SimTime::ZERO).unwrap();
        let mut odometry = Odometry { child_frame_id: "viper/base_link".to_owned(), ..Odometry::default() };
        odometry.pose.pose.orientation.w = 1.0;
        self.odometry.publish(&odometry, SimTime::ZERO).unwrap();
    }

    fn show(&self, brightness: u8) {
        self.images.publish(&image(brightness), SimTime::ZERO).unwrap();
    }

    fn token(&self) -> &str {
        self.console.token().expect("control")
    }

    fn refused(&self, refusal: RefusalReason) -> u64 {
        self.console.refused().iter().find(|(of, _)| *of == refusal).map_or(0, |(_, count)| *count)
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
        let mut stream = PlainStream::connect(self.console.address()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut reported = Vec::new();
        // A refused connection may fail while writing or while reading.
        let _ = stream.write_all(request.replace("HOST", &self.console.address().to_string()).as_bytes());
        let _ = stream.read_to_end(&mut reported);
        String::from_utf8_lossy(&reported).into_owned()
    }
}

fn options(token: Option<Token>) -> ConsoleOptions {
    // The second one serves, and the first does not.
    let nodes = vec!["/another".to_owned(), "/selene".to_owned()];
    ConsoleOptions { token, control_nodes: nodes.clone(), parameters_nodes: nodes, twist_unstamped: false }
}

fn image(brightness: u8) -> Image {
    let (width, height) = (640, 480);
    let data = vec![brightness; 640 * 480];
    Image { width, height, step: width, encoding: "mono8".to_owned(), data, ..Image::default() }
}

/// An image of noise, which cannot be compressed.
fn noise() -> Image {
    let (width, height) = (1920, 1200);
    let step = |state: u32| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    let states = std::iter::successors(Some(1), |state| Some(step(*state)));
    let data = states.take(1920 * 1200).map(|state| (state >> 24) as u8).collect();
    Image { width, height, step: width, encoding: "mono8".to_owned(), data, ..Image::default() }
}

/// A client that connects as a browser does.
struct Client(WebSocketStream<TcpStream>);

impl Client {
    async fn new(site: &Site) -> Self {
        Self::try_new(site).await.expect("a seat")
    }

    async fn try_new(site: &Site) -> Option<Self> {
        let address = site.console.address();
        let mut request = format!("ws://{address}/socket").into_client_request().unwrap();
        request.headers_mut().insert("origin", format!("http://{address}").parse().unwrap());
        let stream = TcpStream::connect(address).await.unwrap();
        Some(Self(client_async(request, stream).await.ok()?.0))
    }

    /// A client that knows the rover.
    async fn watching(site: &Site) -> Self {
        let mut client = Self::new(site).await;
        let mut after = 0;
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < SOON, "the rover gets no command");
            site.publish_all();
            let state = client.answer(json!({ "do": "state", "after": after })).await;
            after = state["number"].as_u64().unwrap();
            if state["rovers"][0]["rover"] == "/viper" && state["images"][0] == CAMERA {
                return client;
            }
        }
    }

    /// A client that has sent the token.
    async fn driving(site: &Site) -> Self {
        let mut client = Self::watching(site).await;
        let response = client.answer(json!({ "do": "token", "token": site.token() })).await;
        assert_eq!(response["ok"], true, "{response}");
        client
    }

    async fn send_json(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message; `None` when the connection has ended.
    async fn next(&mut self) -> Option<Message> {
        let next = timeout(SOON, self.0.next()).await.expect("an answer");
        next?.ok().filter(|message| !message.is_close())
    }

    async fn answer(&mut self, question: Value) -> Value {
        self.send_json(question).await;
        let Some(Message::Text(text)) = self.next().await else { panic!("no answer") };
        serde_json::from_str(text.as_str()).unwrap()
    }

    /// The number of the next picture, and the brightness of its centre.
    async fn picture(&mut self) -> (u64, u8) {
        let Some(Message::Binary(frame)) = self.next().await else { panic!("no picture") };
        let length = u32::from_le_bytes(*frame.first_chunk().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&frame[4..4 + length]).unwrap();
        let picture = image::load_from_memory(&frame[4 + length..]).unwrap().into_luma8();
        (header["number"].as_u64().unwrap(), picture.get_pixel(160, 120).0[0])
    }

    async fn request_picture(&mut self, after: u64) {
        self.send_json(json!({ "do": "image", "topic": CAMERA, "after": after, "look": "small" })).await;
    }
}

/// Runs a test's clients.
fn with_clients<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

fn received<M: RosMessage>(bus: &InProcess, topic: &str) -> (Subscription, mpsc::Receiver<(Instant, M)>) {
    let (sender, received) = mpsc::channel();
    let on = move |message: M| _ = sender.send((Instant::now(), message));
    (subscribe(bus, topic, Qos::reliable(), on).unwrap(), received)
}

#[test]
fn the_page_is_served_with_a_policy_that_keeps_it_to_itself() {
    let site = Site::new(false);
    let page = site.send_http("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n").to_lowercase();
    assert!(page.starts_with("http/1.1 200") && page.contains("<!doctype html>"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'") && page.contains("nosniff"), "{page}");
    assert!(site.console.refused().is_empty(), "{:?}", site.console.refused());
}

#[test]
fn the_page_comes_compressed_to_who_takes_that() {
    let site = Site::new(false);
    let head = |encodings: &str| {
        let reported =
            site.send_http(&format!("GET /three.js HTTP/1.1\r\nHost: HOST\r\n{encodings}Connection: close\r\n\r\n"));
        reported.split("\r\n\r\n").next().unwrap_or_default().to_lowercase()
    };
    let length = |head: &str| {
        let reported = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        reported.and_then(|bytes| bytes.parse::<usize>().ok()).expect("a length")
    };
    let (plain, compressed) = (head(""), head("Accept-Encoding: gzip, br\r\n"));
    assert!(
        compressed.contains("content-encoding: gzip") && !plain.contains("content-encoding"),
        "{plain}\n{compressed}"
    );
    assert!(3 * length(&compressed) < length(&plain), "{plain}\n{compressed}");
}

#[test]
fn strangers_bodies_and_other_addresses_are_refused_and_counted() {
    let site = Site::new(true);
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let foreign = format!("GET /socket HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\n{upgrade}\r\n");
    let rebound = format!("GET /socket HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n{upgrade}\r\n");
    for (request, status, refusal) in [
        (foreign.as_str(), "403", RefusalReason::Origin),
        (rebound.as_str(), "421", RefusalReason::Host),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999999\r\n\r\n", "413", RefusalReason::Body),
        ("POST /socket HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n", "413", RefusalReason::Body),
        ("DELETE / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", "405", RefusalReason::Address),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", "404", RefusalReason::Address),
        (
            "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
            "404",
            RefusalReason::Address,
        ),
        (
            "GET /console.js/../../Cargo.toml HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
            "404",
            RefusalReason::Address,
        ),
    ] {
        let before = site.refused(refusal);
        let reported = site.send_http(request);
        assert!(reported.starts_with(&format!("HTTP/1.1 {status}")), "{request:?}: {reported}");
        assert_eq!(site.refused(refusal), before + 1, "{request:?}");
    }
}

#[test]
fn the_token_is_needed_and_a_wrong_one_ends_the_connection() {
    let site = Site::new(true);
    let (_subscription, commands) = received::<TwistStamped>(&site.bus, "/viper/cmd_vel");
    with_clients(async {
        let mut client = Client::watching(&site).await;
        let drive = json!({ "do": "drive", "rover": "/viper", "forward_m_s": 0.1, "turn_rad_s": 0.0 });
        let refused = client.answer(drive.clone()).await;
        assert!(refused["ok"] == false && refused["text"].as_str().unwrap().contains("token"), "{refused}");
        client.send_json(json!({ "do": "token", "token": "0123456789abcdef0123456789abcdef" })).await;
        assert!(client.next().await.is_none(), "the connection goes on");
        assert_eq!(site.refused(RefusalReason::Token), 2);
        assert!(commands.try_recv().is_err(), "a rover was driven without the token");
        Client::driving(&site).await.send_json(drive).await;
    });
    let (_, command) = commands.recv_timeout(SOON).expect("a command");
    assert_eq!(command.twist.linear.x, 0.1);
}

#[test]
fn without_control_there_is_no_token_to_show() {
    let site = Site::new(false);
    assert!(site.console.token().is_none() && !site.console.url().contains("token"));
    with_clients(async {
        let mut client = Client::new(&site).await;
        let response = client.answer(json!({ "do": "token", "token": "" })).await;
        assert!(
            response["ok"] == false && response["text"].as_str().unwrap().contains("--console-control"),
            "{response}"
        );
        let response = client.answer(json!({ "do": "reset" })).await;
        assert_eq!(response["ok"], false);
        let response = client.answer(json!({ "do": "load", "uri": MARE })).await;
        assert_eq!(response["ok"], false);
    });
}

#[test]
fn the_newest_picture_is_sent_and_those_before_it_are_not() {
    let site = Site::new(false);
    with_clients(async {
        let mut client = Client::watching(&site).await;
        // The console subscribes to the topic at the first request.
        client.request_picture(0).await;
        while site.images.sent() == 0 || timeout(Duration::from_millis(20), client.0.next()).await.is_err() {
            site.show(10);
        }
        [40, 80, 120, 200].iter().for_each(|brightness| site.show(*brightness));
        client.request_picture(0).await;
        let (number, brightness) = client.picture().await;
        assert!(brightness.abs_diff(200) < 4, "{brightness}");
        client.request_picture(number).await;
        assert!(timeout(Duration::from_millis(300), client.0.next()).await.is_err(), "an old picture was sent again");
        site.show(30);
        let (next, brightness) = client.picture().await;
        assert!(next == number + 1 && brightness.abs_diff(30) < 4, "{next} after {number}: {brightness}");
    });
}

#[test]
fn a_client_that_does_not_read_holds_up_neither_the_sender_nor_others() {
    let site = Site::new(false);
    with_clients(async {
        let mut idle = Client::watching(&site).await;
        let mut good = Client::watching(&site).await;
        for _ in 0..20 {
            idle.send_json(json!({ "do": "image", "topic": CAMERA, "after": 0, "look": "full" })).await;
        }
        good.request_picture(0).await;
        let noise = noise();
        for _ in 0..100 {
            site.images.publish(&noise, SimTime::ZERO).unwrap();
            std::thread::sleep(Duration::from_millis(3));
        }
        good.picture().await;
        // A hundred images went out and the other client has one before the console gave up on this one, which requested
        // more than the system buffers: all that it requested still comes.
        let mut requested = 0;
        for _ in 0..20 {
            requested += idle.next().await.expect("nobody gave up on it").len();
        }
        assert!(requested > 10_000_000, "{requested} bytes hold nothing up");
    });
}

#[test]
fn topics_that_nobody_reported_are_not_subscribed_to() {
    let site = Site::new(false);
    with_clients(async {
        let mut client = Client::watching(&site).await;
        for topic in ["/selene/r1/world_state", "/viper/other/image_raw", "../etc", ""] {
            let response = client.answer(json!({ "do": "image", "topic": topic, "after": 0, "look": "small" })).await;
            assert_eq!((&response["is"], &response["ok"]), (&json!("answer"), &json!(false)), "{topic}");
            assert_eq!((&response["about"], &response["to"]), (&json!("image"), &json!(topic)));
        }
    });
}

#[test]
fn messages_that_are_none_or_too_long_are_counted_and_too_many_end_the_connection() {
    let site = Site::new(false);
    with_clients(async {
        let mut client = Client::new(&site).await;
        for broken in 1..8 {
            let response = client.answer(json!({ "do": "format_disk", "number": broken })).await;
            assert_eq!(response["ok"], false);
        }
        client.send_json(json!(null)).await;
        while client.next().await.is_some() {}
        let mut long = Client::new(&site).await;
        long.send_json(json!({ "do": "sun", "utc": "x".repeat(5000) })).await;
        while long.next().await.is_some() {}
    });
    site.await_refused(RefusalReason::Message, 9);
    assert_eq!(site.refused(RefusalReason::Message), 9);
}

#[test]
fn frames_that_break_the_protocol_end_the_connection() {
    let site = Site::new(false);
    let long_ping = [&[0x89_u8, 0xfe, 0x01, 0x00, 0, 0, 0, 0][..], &[0; 256]].concat();
    let broken: [(&str, &[u8]); 8] = [
        ("noise", b"~~~ this is no frame of a WebSocket ~~~"),
        ("a reserved bit", &[0xc1, 0x80, 0, 0, 0, 0]),
        ("a reserved kind", &[0x83, 0x80, 0, 0, 0, 0]),
        ("an unmasked frame", &[0x81, 0x02, b'{', b'}']),
        ("text that is no UTF-8", &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]),
        ("a length of 2^62 bytes", &[0x81, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("a long ping", &long_ping),
        ("a rest without a beginning", &[0x80, 0x80, 0, 0, 0, 0]),
    ];
    for (count, (what, bytes)) in (1..).zip(broken) {
        let mut stream = PlainStream::connect(site.console.address()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let upgrade = "GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(&[upgrade.as_bytes(), bytes].concat()).unwrap();
        let mut reported = Vec::new();
        // The connection may end with a reset, since unread bytes were left.
        let _ = stream.read_to_end(&mut reported);
        assert!(reported.starts_with(b"HTTP/1.1 101"), "{what}: {}", String::from_utf8_lossy(&reported));
        site.await_refused(RefusalReason::Message, count);
        assert_eq!(site.refused(RefusalReason::Message), count, "{what}");
    }
    with_clients(async { drop(Client::watching(&site).await) });
}

#[test]
fn a_client_that_says_farewell_is_answered() {
    let site = Site::new(false);
    with_clients(async {
        let mut client = Client::new(&site).await;
        client.0.send(Message::Close(None)).await.unwrap();
        let answer = timeout(SOON, client.0.next()).await.expect("an answer");
        assert!(matches!(answer, Some(Ok(Message::Close(_)))), "{answer:?}");
    });
}

#[test]
fn no_other_site_is_given_leave_and_heads_without_end_are_cut_off() {
    let site = Site::new(true);
    let preflight = "OPTIONS /socket HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\n\
                     Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n";
    let reported = site.send_http(preflight).to_lowercase();
    assert!(reported.starts_with("http/1.1 403") && !reported.contains("access-control-allow"), "{reported}");
    let page = site.send_http("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n").to_lowercase();
    assert!(!page.contains("access-control-allow"), "{page}");
    let long = format!("GET / HTTP/1.1\r\nHost: HOST\r\nCookie: {}\r\n\r\n", "x".repeat(2_000_000));
    let reported = site.send_http(&long);
    assert!(reported.is_empty() || reported.starts_with("HTTP/1.1 431"), "{reported}");
    with_clients(async { drop(Client::watching(&site).await) });
}

#[test]
fn ten_clients_see_the_newest_picture_beside_one_that_reads_nothing() {
    let site = Site::new(false);
    with_clients(async {
        let mut idle = Client::watching(&site).await;
        let mut clients = Vec::new();
        for _ in 0..10 {
            clients.push(Client::watching(&site).await);
        }
        for _ in 0..20 {
            idle.send_json(json!({ "do": "image", "topic": CAMERA, "after": 0, "look": "full" })).await;
        }
        for client in &mut clients {
            client.request_picture(0).await;
        }
        // The console subscribes to the topic at the first request.
        while timeout(Duration::from_millis(20), clients[0].0.next()).await.is_err() {
            site.show(10);
        }
        for client in &mut clients[1..] {
            client.picture().await;
        }
        for brightness in [60, 120, 200] {
            site.show(brightness);
            for client in &mut clients {
                client.request_picture(0).await;
            }
            for client in &mut clients {
                let (_, seen) = client.picture().await;
                assert!(seen.abs_diff(brightness) < 4, "{seen}, not {brightness}");
            }
        }
    });
}

#[test]
fn a_flood_ends_its_connection() {
    let site = Site::new(false);
    with_clients(async {
        let mut client = Client::new(&site).await;
        let question = Message::text(json!({ "do": "frames" }).to_string());
        for _ in 0..100_000 {
            if client.0.send(question.clone()).await.is_err() {
                break;
            }
        }
        Client::watching(&site).await;
    });
    site.await_refused(RefusalReason::Flood, 1);
}

#[test]
fn a_thousand_connections_are_turned_away_beyond_the_places_and_an_earlier_client_gets_its_pictures() {
    let site = Site::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut earlier = runtime.block_on(Client::watching(&site));
    let connect = || PlainStream::connect(site.console.address()).unwrap();
    let held: Vec<_> = (0..200).map(|_| connect()).collect();
    let places = CONNECTIONS_MAX as u64 - 1;
    site.await_refused(RefusalReason::Crowd, 200 - places);
    (0..800).for_each(|_| drop(connect()));
    site.await_refused(RefusalReason::Crowd, 1000 - places);
    runtime.block_on(async {
        earlier.request_picture(0).await;
        let begun = Instant::now();
        // The first images come before the console subscribes.
        let message = loop {
            if let Ok(message) = timeout(Duration::from_millis(20), earlier.0.next()).await {
                break message;
            }
            assert!(begun.elapsed() < SOON, "the crowd keeps the pictures from it");
            site.show(90);
        };
        assert!(matches!(message, Some(Ok(Message::Binary(_)))), "it was thrown out: {message:?}");
    });
    drop(held);
    let begun = Instant::now();
    while !site.send_http("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 200") {
        assert!(begun.elapsed() < SOON, "no place became free");
    }
}

#[test]
fn there_are_so_many_seats_and_one_that_is_left_is_free() {
    let site = Site::new(false);
    with_clients(async {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS_MAX {
            clients.push(Client::new(&site).await);
        }
        assert!(Client::try_new(&site).await.is_none());
        assert_eq!(site.refused(RefusalReason::Crowd), 1);
        drop(clients.pop());
        let begun = Instant::now();
        while Client::try_new(&site).await.is_none() {
            assert!(begun.elapsed() < SOON, "the seat is not free");
        }
    });
}

#[test]
fn a_rover_whose_driver_falls_silent_or_leaves_stops() {
    let site = Site::new(true);
    let (_subscription, commands) = received::<TwistStamped>(&site.bus, "/viper/cmd_vel");
    let next = || {
        let (at, command) = commands.recv_timeout(SOON).expect("a command");
        (at, command.twist.linear.x)
    };
    let drive = json!({ "do": "drive", "rover": "/viper", "forward_m_s": 0.2, "turn_rad_s": 0.1 });
    with_clients(async {
        let mut client = Client::driving(&site).await;
        client.send_json(drive.clone()).await;
        let ((begun, speed), (ended, stopped)) = (next(), next());
        assert_eq!((speed, stopped), (0.2, 0.0));
        let held = ended - begun;
        assert!(held < SOON, "{held:?}");
        client.send_json(drive.clone()).await;
        assert_eq!(next().1, 0.2);
        let left = Instant::now();
        drop(client);
        let (ended, stopped) = next();
        assert_eq!(stopped, 0.0);
        println!("a rover stops {:?} after its driver left", ended - left);
    });
}

#[test]
fn each_key_s_command_is_on_the_topic() {
    let site = Site::new(true);
    let (_subscription, commands) = received::<TwistStamped>(&site.bus, "/viper/cmd_vel");
    let mut delays: Vec<Duration> = with_clients(async {
        let mut client = Client::driving(&site).await;
        let mut delays = Vec::new();
        for press in 1..=41 {
            let pressed = Instant::now();
            let forward_m_s = 0.001 * f64::from(press);
            client
                .send_json(json!({ "do": "drive", "rover": "/viper", "forward_m_s": forward_m_s, "turn_rad_s": 0.0 }))
                .await;
            let at = loop {
                let (at, command) = commands.recv_timeout(SOON).expect("a command");
                // A number read from JSON may differ in its last digit.
                if (command.twist.linear.x - forward_m_s).abs() < 1e-9 {
                    break at;
                }
            };
            delays.push(at - pressed);
        }
        delays
    });
    // Its figure is `console_key_to_wheel_s` of the bench: a test does not depend on the machine's speed.
    delays.sort_unstable();
    println!("from socket to cmd_vel: median {:?}, longest {:?}", delays[20], delays[40]);
}

#[test]
fn a_waypoint_drives_the_rover_toward_it() {
    let site = Site::new(true);
    let (_subscription, commands) = received::<TwistStamped>(&site.bus, "/viper/cmd_vel");
    with_clients(async {
        let mut client = Client::driving(&site).await;
        client.send_json(json!({ "do": "go_to", "rover": "/viper", "x_m": 4.0, "y_m": 0.0, "speed_m_s": 0.15 })).await;
        assert_eq!(commands.recv_timeout(SOON).expect("a command").1.twist.linear.x, 0.15);
        let there = json!({ "do": "go_to", "rover": "/viper", "x_m": 0.1, "y_m": 0.0, "speed_m_s": 0.15 });
        let response = client.answer(there).await;
        assert_eq!(response["text"], "arrived at x 0.100 m, y 0.000 m");
        let far = json!({ "do": "go_to", "rover": "/nobody", "x_m": 0.1, "y_m": 0.0, "speed_m_s": 0.15 });
        assert_eq!(client.answer(far).await["ok"], false);
        let away = json!({ "do": "go_to", "rover": "/viper", "x_m": 4.0, "y_m": 0.0, "speed_m_s": -0.1 });
        assert_eq!(client.answer(away).await["text"], "-0.1 m/s: must be above 0");
    });
}

#[test]
fn what_the_run_offers_can_be_spawned_and_nothing_else() {
    let site = Site::new(true);
    let uri = "file:///config/rover/sorato.yaml";
    let offered = move |_: GetSpawnablesRequest, reply: Reply<GetSpawnables>| {
        let of = |uri: &str| Resource { uri: uri.to_owned(), ..Resource::default() };
        let resources = [of(uri), of("selene:rock?diameter_m=0.3")];
        let spawnables = resources.map(|entity_resource| Spawnable { entity_resource, ..Spawnable::default() }).into();
        let result = Outcome { result: Outcome::RESULT_OK, error_message: String::new() };
        reply.send(&GetSpawnablesResponse { result, spawnables }).unwrap();
    };
    let (sender, spawned) = mpsc::channel();
    let spawn = move |request: SpawnEntityRequest, reply: Reply<SpawnEntity>| {
        sender.send((request.entity_resource.uri, request.initial_pose.pose.position.x)).unwrap();
        let result = Outcome { result: Outcome::RESULT_OK, error_message: String::new() };
        reply.send(&SpawnEntityResponse { result, entity_name: "sorato_1".to_owned() }).unwrap();
    };
    let state = |_: GetSimulationStateRequest, reply: Reply<GetSimulationState>| {
        let result = Outcome { result: Outcome::RESULT_OK, error_message: String::new() };
        reply.send(&GetSimulationStateResponse { result, ..GetSimulationStateResponse::default() }).unwrap();
    };
    let _served = (
        serve::<GetSpawnables>(&site.bus, "/selene/get_spawnables", offered).unwrap(),
        serve::<SpawnEntity>(&site.bus, "/selene/spawn_entity", spawn).unwrap(),
        serve::<GetSimulationState>(&site.bus, "/selene/get_simulation_state", state).unwrap(),
    );
    with_clients(async {
        let mut client = Client::driving(&site).await;
        let begun = Instant::now();
        let offered = loop {
            let paths = client.answer(json!({ "do": "paths" })).await;
            if paths["spawnables"].as_array().is_some_and(|offered| !offered.is_empty()) {
                break paths["spawnables"].clone();
            }
            assert!(begun.elapsed() < SOON, "nothing is offered: {paths}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(offered, json!([{ "uri": uri, "name": "sorato" }]));
        let response = client.answer(json!({ "do": "spawn", "uri": uri, "x_m": 3.0, "y_m": 1.0 })).await;
        assert_eq!(response["text"], "sorato_1 is there");
        let other = client.answer(json!({ "do": "spawn", "uri": "file:///etc/passwd", "x_m": 3.0, "y_m": 1.0 })).await;
        assert!(other["ok"] == false && other["text"].as_str().unwrap().contains("/etc/passwd"), "{other}");
    });
    assert_eq!(spawned.try_iter().collect::<Vec<_>>(), [(uri.to_owned(), 3.0)]);
}

#[test]
fn pause_calls_the_service_and_reports_its_answer() {
    let site = Site::new(true);
    let (sender, states) = mpsc::channel();
    let on = move |request: SetSimulationStateRequest, reply: Reply<SetSimulationState>| {
        sender.send(request.state.state).unwrap();
        let refuses = request.state.state == SimulationState::STATE_PLAYING;
        let result = if refuses { Outcome::RESULT_INCORRECT_STATE } else { Outcome::RESULT_OK };
        let error_message = if refuses { "not now".to_owned() } else { String::new() };
        reply.send(&SetSimulationStateResponse { result: Outcome { result, error_message } }).unwrap();
    };
    let _served = serve::<SetSimulationState>(&site.bus, "/selene/set_simulation_state", on).unwrap();
    with_clients(async {
        let mut client = Client::driving(&site).await;
        let paused = client.answer(json!({ "do": "pause" })).await;
        assert_eq!((&paused["to"], &paused["ok"]), (&json!("pause"), &json!(true)));
        let refused = client.answer(json!({ "do": "play" })).await;
        assert_eq!((&refused["ok"], &refused["text"]), (&json!(false), &json!("not now")));
        let unserved = client.answer(json!({ "do": "reset" })).await;
        assert!(unserved["text"].as_str().unwrap().contains("/selene/reset_simulation"), "{unserved}");
    });
    let expected = [SimulationState::STATE_PAUSED, SimulationState::STATE_PLAYING];
    assert_eq!(states.try_iter().collect::<Vec<_>>(), expected);
}

fn answered(result: u8, why: &str) -> Outcome {
    Outcome { result, error_message: why.to_owned() }
}

/// Serves what a console needs to offer scenario mare; refuses to load it the first time. Returns the URIs of the
/// requests to load.
fn offers_mare(bus: &InProcess) -> (Vec<Subscription>, mpsc::Receiver<String>) {
    let state = |_: GetSimulationStateRequest, reply: Reply<GetSimulationState>| {
        let result = answered(Outcome::RESULT_OK, "");
        reply.send(&GetSimulationStateResponse { result, ..GetSimulationStateResponse::default() }).unwrap();
    };
    let offered = |request: GetAvailableWorldsRequest, reply: Reply<GetAvailableWorlds>| {
        assert_eq!(request.filter.tags, ["scenario"]);
        let world_resource = Resource { uri: MARE.to_owned(), ..Resource::default() };
        let world = WorldResource { name: "mare".to_owned(), world_resource, ..WorldResource::default() };
        let result = answered(Outcome::RESULT_OK, "");
        reply.send(&GetAvailableWorldsResponse { result, worlds: vec![world] }).unwrap();
    };
    let (sender, loaded) = mpsc::channel();
    let was_refused = AtomicBool::new(false);
    let load = move |request: LoadWorldRequest, reply: Reply<LoadWorld>| {
        sender.send(request.world_resource.uri).unwrap();
        let result = match was_refused.swap(true, Ordering::Relaxed) {
            false => answered(LoadWorldResponse::RESOURCE_PARSE_ERROR, "line 3: no such rover"),
            true => answered(Outcome::RESULT_OK, ""),
        };
        reply.send(&LoadWorldResponse { result, ..LoadWorldResponse::default() }).unwrap();
    };
    let served = vec![
        serve::<GetSimulationState>(bus, "/selene/get_simulation_state", state).unwrap(),
        serve::<GetAvailableWorlds>(bus, "/selene/get_available_worlds", offered).unwrap(),
        serve::<LoadWorld>(bus, "/selene/load_world", load).unwrap(),
    ];
    (served, loaded)
}

#[test]
fn a_scenario_that_the_run_offers_is_loaded_only_with_the_token() {
    let site = Site::new(true);
    let (_served, loaded) = offers_mare(&site.bus);
    with_clients(async {
        let load = json!({ "do": "load", "uri": MARE });
        let mut stranger = Client::watching(&site).await;
        assert!(stranger.answer(load.clone()).await["text"].as_str().unwrap().contains("token"));
        let mut client = Client::driving(&site).await;
        let begun = Instant::now();
        while client.answer(json!({ "do": "paths" })).await["scenarios"][0]["uri"] != MARE {
            assert!(begun.elapsed() < SOON, "no scenario is offered");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let other = client.answer(json!({ "do": "load", "uri": "file:///etc/passwd" })).await;
        assert!(other["ok"] == false && other["text"].as_str().unwrap().contains("/etc/passwd"), "{other}");
        let refused = client.answer(load.clone()).await;
        assert_eq!((&refused["ok"], &refused["text"]), (&json!(false), &json!("line 3: no such rover")));
        let taken = client.answer(load).await;
        assert_eq!((&taken["ok"], &taken["text"]), (&json!(true), &json!("the run switches to mare")));
    });
    assert_eq!(loaded.try_iter().collect::<Vec<_>>(), [MARE, MARE]);
}

#[test]
fn a_console_that_ends_with_its_world_begins_again_at_its_address_with_its_token() {
    let listening_socket = ListeningSocket::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let token = Token::random().unwrap();
    let begin = || {
        let bus = InProcess::new();
        Console::serve(listening_socket.again().unwrap(), Arc::new(bus), &options(Some(token.clone()))).unwrap()
    };
    let first = begin();
    let (url, address) = (first.url(), first.address());
    drop(first);
    // Between two worlds no console serves, and connections wait.
    let mut waiting = PlainStream::connect(address).unwrap();
    let second = begin();
    assert_eq!(second.url(), url);
    waiting.set_read_timeout(Some(SOON)).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    waiting.write_all(request.as_bytes()).unwrap();
    let mut page = String::new();
    waiting.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}

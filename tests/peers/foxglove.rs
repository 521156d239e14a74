//! Foxglove's protocol on a real run: a client receives what the bag of the same run holds, and clients that break the
//! protocol do not end the run.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use selene_ros::bag::BagReader;
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::program::{Running, alone, folder, selene, succeeded, text};

/// The longest that the run may take to print its address, and that a client may take to receive enough messages.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Topics to which the client subscribes.
const TOPICS: [&str; 4] = ["/clock", "/tf", "/tf_static", "/navcam_left/image_raw"];
/// Number of messages of each topic that suffice; a latched topic sends only one.
const ENOUGH: usize = 3;

/// A message's stamp, ns, and its bytes.
type Content = (u64, Vec<u8>);
type Socket = WebSocket<TcpStream>;

/// A client that connects as Lichtblick does; `None` if the server refuses it.
fn client(address: &str, origin: &str) -> Option<Socket> {
    let mut request = format!("ws://{address}/").into_client_request().expect("a request");
    request.headers_mut().insert("sec-websocket-protocol", "foxglove.websocket.v1".parse().expect("a header"));
    request.headers_mut().insert("origin", origin.parse().expect("a header"));
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a limit");
    tungstenite::client(request, stream).ok().map(|(socket, _)| socket)
}

fn next_text(socket: &mut Socket) -> Value {
    loop {
        if let Message::Text(reported) = socket.read().expect("a message") {
            return serde_json::from_str(reported.as_str()).expect("JSON");
        }
    }
}

fn send_json(socket: &mut Socket, message: &Value) {
    socket.send(Message::text(message.to_string())).expect("sent");
}

/// Waits until a run prints its address.
fn address(log: &Path) -> String {
    let begun = Instant::now();
    loop {
        let reported = std::fs::read_to_string(log).expect("log");
        if let Some(address) = reported.lines().find_map(|line| line.strip_prefix("foxglove: ws://")) {
            return address.to_owned();
        }
        assert!(begun.elapsed() < TIMEOUT, "no address in: {reported}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The channels advertised to a client, by topic, once all of `TOPICS` are there.
fn channels(socket: &mut Socket) -> BTreeMap<String, Value> {
    assert_eq!(next_text(socket)["op"], "serverInfo");
    let mut channels = BTreeMap::new();
    while !TOPICS.iter().all(|topic| channels.contains_key(*topic)) {
        take_channels(&mut channels, &next_text(socket));
    }
    channels
}

fn take_channels(channels: &mut BTreeMap<String, Value>, reported: &Value) {
    for channel in reported["channels"].as_array().into_iter().flatten() {
        channels.insert(channel["topic"].as_str().expect("a name").to_owned(), channel.clone());
    }
}

fn is_enough(of: &[Content], topic: &str) -> bool {
    of.len() >= if topic == "/tf_static" { 1 } else { ENOUGH }
}

/// Stamps and bytes of some messages of each topic, in the order of `TOPICS`. Channels that are advertised meanwhile
/// are added to `channels`.
fn some_messages(socket: &mut Socket, channels: &mut BTreeMap<String, Value>) -> Vec<Vec<Content>> {
    let mut seen: Vec<Vec<Content>> = vec![Vec::new(); TOPICS.len()];
    let mut times = 0_usize;
    let begun = Instant::now();
    while times == 0 || !seen.iter().zip(TOPICS).all(|(of, topic)| is_enough(of, topic)) {
        assert!(begun.elapsed() < TIMEOUT, "seen {:?}", seen.iter().map(Vec::len).collect::<Vec<_>>());
        match socket.read().expect("a message") {
            Message::Text(reported) => take_channels(channels, &serde_json::from_str(reported.as_str()).expect("JSON")),
            Message::Binary(frame) if frame[0] == 1 => {
                let subscription = u32::from_le_bytes(*frame[1..].first_chunk().expect("a number"));
                let stamp_ns = u64::from_le_bytes(*frame[5..].first_chunk().expect("a stamp"));
                seen[subscription as usize].push((stamp_ns, frame[13..].to_vec()));
            }
            Message::Binary(frame) => times += usize::from(frame[0] == 2),
            _ => {}
        }
    }
    seen
}

/// Checks that the bag has every received message, with its stamp and bytes, and describes the topics in the same way.
fn compare(bag: &Path, channels: &BTreeMap<String, Value>, seen: &[Vec<Content>]) {
    let mut held: BTreeMap<String, Vec<Content>> = BTreeMap::new();
    for message in BagReader::open(bag).expect("a bag").messages() {
        let message = message.expect("a message");
        let topic = &message.topic;
        let channel = channels.get(&topic.name).unwrap_or_else(|| panic!("{} was not advertised", topic.name));
        let described = [&channel["schemaName"], &channel["schema"], &channel["encoding"]];
        assert_eq!(described, [&topic.type_name, &topic.definition, &topic.encoding], "{}", topic.name);
        let content = (message.publish_ns, message.encoded.bytes().to_vec());
        held.entry(topic.name.clone()).or_default().push(content);
    }
    for (topic, seen) in TOPICS.iter().zip(seen) {
        let held = &held[*topic];
        let missing = seen.iter().filter(|message| !held.contains(message)).count();
        assert_eq!(missing, 0, "{topic}: of {} messages shown so many are not in the bag", seen.len());
    }
}

/// Connects clients that break the protocol.
fn disturb(address: &str) {
    assert!(client(address, "http://evil.example").is_none(), "a foreign page is let in");
    let mut broken = client(address, "file://").expect("a seat");
    for _ in 0..20 {
        // The server closes the connection at the eighth message.
        let _ = broken.send(Message::text("no JSON"));
    }
    let mut flood = client(address, "file://").expect("a seat");
    let question = json!({ "op": "unsubscribe", "subscriptionIds": [] }).to_string();
    for _ in 0..100_000 {
        if flood.send(Message::text(question.clone())).is_err() {
            break;
        }
    }
}

#[test]
fn what_foxglove_is_shown_is_what_the_bag_holds() {
    let _turn = alone();
    let out = folder("foxglove");
    let (bag, log) = (out.join("bag"), out.join("run.log"));
    let mut run = selene();
    run.args(["run", "--for", "8", "--device", "cpu", "--no-dds", "--foxglove=127.0.0.1:0"]);
    run.args(["--record", &text(&bag), "--out", &text(&out)]);
    let reported = std::fs::File::create(&log).expect("log");
    let mut running = Running(run.stdout(Stdio::piped()).stderr(reported).spawn().expect("selene"));
    let address = address(&log);
    let mut socket = client(&address, "https://app.foxglove.dev").expect("a seat");
    let mut channels = channels(&mut socket);
    let wanted = TOPICS.iter().enumerate().map(|(id, topic)| json!({ "id": id, "channelId": channels[*topic]["id"] }));
    send_json(&mut socket, &json!({ "op": "subscribe", "subscriptions": wanted.collect::<Vec<_>>() }));
    let seen = some_messages(&mut socket, &mut channels);
    disturb(&address);
    drop(socket);
    let summary = succeeded("selene run", &running.output());
    let refused = summary.lines().find(|line| line.contains("foxglove refused")).expect("what was refused");
    assert!(refused.contains("1 origin") && refused.contains("1 flood") && refused.contains("8 message"), "{refused}");
    compare(&bag, &channels, &seen);
    std::fs::remove_dir_all(out).expect("clean");
}

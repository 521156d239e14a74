//! Clients that break every rule of the console during a run, and one that requests images and does not read them, change
//! nothing of it: the bag is that of an undisturbed run, but for frames that a machine without time drops.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use selene_ros::bag::BagReader;
use serde_json::json;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::logged::Logged;
use crate::program::{alone, folder, selene, text};

/// The longest that the run may take to print its address, and to end.
const TIMEOUT: Duration = Duration::from_secs(300);
const CAMERA: &str = "/navcam_left/image_raw";
/// Topics about the process itself.
const OF_PROCESS: [&str; 3] = ["/diagnostics", "/rosout", "/parameter_events"];

/// Starts a run in real time that records a bag; the same run each time but for `more`.
fn start(folder: &Path, name: &str, more: &[&str]) -> Logged {
    let (out, bag) = (folder.join(name), folder.join(name).join("bag"));
    let mut run = selene();
    run.args(["run", "polar", "--for", "6", "--pace", "0.5", "--run", "disturbed", "--device", "cpu", "--no-dds"]);
    run.args(["--record", &text(&bag), "--out", &text(&out)]).args(more).stdin(Stdio::null());
    Logged::start(name, folder, &mut run)
}

/// Topic, stamp and bytes of a message.
type Recorded = (String, u64, Vec<u8>);

/// Everything in a run's bag that is not about the process.
fn recorded(folder: &Path, name: &str) -> Vec<Recorded> {
    let bag = BagReader::open(&folder.join(name).join("bag")).expect("a bag");
    let messages = bag.messages().map(|message| message.expect("a message"));
    let of_world = messages.filter(|message| !OF_PROCESS.contains(&message.topic.name.as_str()));
    let mut all: Vec<_> = of_world
        .map(|message| (message.topic.name.clone(), message.publish_ns, message.encoded.bytes().to_vec()))
        .collect();
    all.sort_unstable();
    all
}

/// A client of the console; `None` if it is refused.
fn client(address: &str, origin: &str) -> Option<WebSocket<TcpStream>> {
    let mut request = format!("ws://{address}/socket").into_client_request().expect("a request");
    request.headers_mut().insert("origin", origin.parse().expect("a header"));
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a limit");
    stream.set_write_timeout(Some(TIMEOUT)).expect("a limit");
    tungstenite::client(request, stream).ok().map(|(socket, _)| socket)
}

/// The start of the answer to an HTTP request.
fn answered(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a limit");
    let mut start = [0; 12];
    let _ = stream.write_all(request.replace("HOST", address).as_bytes());
    let read = stream.read(&mut start).unwrap_or_default();
    String::from_utf8_lossy(&start[..read]).into_owned()
}

/// Breaks each rule, and returns the connections that are to stay open.
fn disturb(address: &str) -> Vec<WebSocket<TcpStream>> {
    let own = format!("http://{address}");
    assert!(client(address, "http://evil.example").is_none(), "a foreign page is let in");
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", "421"),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n", "404"),
        ("POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 9999999\r\nConnection: close\r\n\r\nx", "4"),
    ] {
        let start = answered(address, request);
        assert!(start.contains(&format!(" {status}")), "{request}: {start}");
    }
    let mut broken = client(address, &own).expect("a seat");
    for _ in 0..20 {
        let _ = broken.send(Message::text("no JSON"));
    }
    let mut flood = client(address, &own).expect("a seat");
    let question = json!({ "do": "image", "topic": CAMERA, "after": 0, "look": "small" }).to_string();
    (0..100_000).try_for_each(|_| flood.send(Message::text(question.clone()))).expect_err("the flood is cut off");
    for _ in 0..500 {
        drop(TcpStream::connect(address));
    }
    let mut unread = client(address, &own).expect("a seat");
    for _ in 0..20 {
        let full = json!({ "do": "image", "topic": CAMERA, "after": 0, "look": "full" }).to_string();
        unread.send(Message::text(full)).expect("sent");
    }
    vec![unread]
}

#[test]
fn a_run_that_clients_of_the_console_disturb_is_that_which_nobody_disturbs() {
    let _turn = alone();
    let folder = folder("disturbed");
    let mut left_alone = start(&folder, "alone", &[]);
    assert!(left_alone.ends_within(TIMEOUT).is_some_and(|status| status.success()), "{}", left_alone.printed());
    let mut disturbed = start(&folder, "disturbed", &["--console=127.0.0.1:0"]);
    let line = disturbed.prints_within("console: http://", 0, TIMEOUT).expect("an address");
    let address = line.split(['/', ' ']).next().expect("an address").to_owned();
    let open = disturb(&address);
    let begun = Instant::now();
    assert!(disturbed.ended().is_none(), "it was disturbed after its end");
    assert!(disturbed.ends_within(TIMEOUT).is_some_and(|status| status.success()), "{}", disturbed.printed());
    println!("it went on for {:?} after that", begun.elapsed());
    drop(open);
    let printed = disturbed.printed();
    let refused = printed.lines().find(|line| line.contains("console refused")).expect("what was refused");
    for reason in ["origin", "host", "address", "body", "message", "flood"] {
        assert!(refused.contains(reason), "{reason} is missing in: {refused}");
    }
    let (quiet, loud) = (recorded(&folder, "alone"), recorded(&folder, "disturbed"));
    assert!(quiet.iter().any(|(topic, ..)| topic == CAMERA) && quiet.len() > 1000, "{} messages", quiet.len());
    // A machine without time for both may drop frames, in either run; all else is complete.
    let missing = |of: &[Recorded], from: &[Recorded]| -> Vec<String> {
        of.iter().filter(|message| from.binary_search(message).is_err()).map(|(topic, ..)| topic.clone()).collect()
    };
    let of_camera = |topic: &String| topic.starts_with("/navcam");
    for (of, from) in [(&quiet, &loud), (&loud, &quiet)] {
        let lost = missing(of, from);
        assert!(lost.iter().all(of_camera), "{lost:?}");
        assert!(lost.len() < of.iter().filter(|(topic, ..)| of_camera(topic)).count() / 2, "{lost:?}");
    }
    std::fs::remove_dir_all(folder).expect("clean");
}

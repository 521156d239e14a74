//! Tests of replacing the scenario of a running process, requested as a page of the console does.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::{folder, selene};

/// Time limit for anything that a test waits for, ample on a busy machine.
const SOON: Duration = Duration::from_secs(120);
/// Headers of an upgrade to a WebSocket; any key will do.
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A run that is killed when the test ends, also on a panic.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A minimal page of the console: text messages over a WebSocket.
struct Page(TcpStream);

impl Page {
    fn open(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).expect("a console");
        stream.set_read_timeout(Some(SOON)).expect("a time limit");
        stream
            .write_all(format!("GET /socket HTTP/1.1\r\nHost: {address}\r\n{UPGRADE}").as_bytes())
            .expect("requested");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("an answer");
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Self(stream)
    }

    fn send_json(&mut self, message: &Value) {
        let text = message.to_string();
        let length = u16::try_from(text.len()).expect("a short message");
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend(length.to_be_bytes());
        // A mask of zeros leaves the text unchanged.
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write_all(&frame).expect("sent");
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    /// The next message; `None` when the connection has ended.
    fn receive(&mut self) -> Option<Value> {
        loop {
            let head = self.bytes(2)?;
            let length = match head[1] {
                126 => u64::from(u16::from_be_bytes(self.bytes(2)?.try_into().ok()?)),
                127 => u64::from_be_bytes(self.bytes(8)?.try_into().ok()?),
                short => u64::from(short),
            };
            let body = self.bytes(usize::try_from(length).ok()?)?;
            match head[0] {
                0x81 => return Some(serde_json::from_slice(&body).expect("JSON")),
                0x88 => return None,
                _ => {}
            }
        }
    }

    fn request(&mut self, question: &Value) -> Value {
        self.send_json(question);
        self.receive().expect("an answer")
    }

    /// Repeats a request until `is_so` holds for the answer.
    fn until(&mut self, question: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.request(question);
            if is_so(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < SOON, "{answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for the state of a run with a known id whose first rover has this name.
    fn state_with(&mut self, rover: &str) -> Value {
        let state = json!({ "do": "state", "after": 0 });
        self.until(&state, |state| state["rovers"][0]["rover"] == rover && state["run_id"].is_string())
    }
}

/// Writes scenarios of one rover each, and one with an unknown rover.
fn scenarios(folder: &Path) {
    for (name, rover) in [("one", "sorato"), ("two", "ex1"), ("bad", "nobody")] {
        let text = format!("site: test_yard\nrover:\n  file: {rover}\n  namespace: {rover}\n");
        fs::write(folder.join(format!("{name}.yaml")), text).expect("written");
    }
}

/// The address and the token of a run's console, from its log.
fn console(log: &Path) -> (String, String) {
    let begun = Instant::now();
    loop {
        let reported = fs::read_to_string(log).expect("a log");
        let line = reported.lines().find_map(|line| line.strip_prefix("console: http://"));
        if let Some((address, rest)) = line.and_then(|line| line.split_once("/#token=")) {
            return (address.to_owned(), rest.split(' ').next().expect("a token").to_owned());
        }
        assert!(begun.elapsed() < SOON, "no address in: {reported}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(unix)]
#[test]
fn a_run_switches_to_another_scenario_and_one_that_does_not_load_leaves_it_as_it_is() {
    let folder = folder("worlds");
    scenarios(&folder);
    let (log, summary) = (folder.join("log"), folder.join("summary"));
    let arguments = ["run", "--no-dds", "--no-sensors", "--no-pictures", "--device", "cpu", "--console=127.0.0.1:0"];
    let mut command = selene(&arguments);
    command.args(["--console-control", "--record"]).arg(folder.join("bag")).arg(folder.join("one.yaml"));
    command.stdout(File::create(&summary).expect("a file")).stderr(File::create(&log).expect("a file"));
    let mut running = Running(command.stdin(Stdio::null()).spawn().expect("starts"));
    let (address, token) = console(&log);

    let mut page = Page::open(&address);
    let before = page.state_with("/sorato");
    let paths = page.until(&json!({ "do": "paths" }), |paths| paths["scenarios"].is_array());
    let uri = |name: &str| {
        let offered = paths["scenarios"].as_array().expect("a list").iter().find(|offered| offered["name"] == name);
        offered.unwrap_or_else(|| panic!("{name} is not offered: {paths}"))["uri"].clone()
    };
    let load = |name: &str| json!({ "do": "load", "uri": uri(name) });
    let stranger = page.request(&load("two"));
    assert!(stranger["ok"] == false && stranger["text"].as_str().is_some_and(|text| text.contains("token")));
    let token = json!({ "do": "token", "token": token });
    assert_eq!(page.request(&token)["ok"], true);
    let refused = page.request(&load("bad"));
    assert!(
        refused["ok"] == false && refused["text"].as_str().is_some_and(|text| text.contains("nobody")),
        "{refused}"
    );
    let number = page.state_with("/sorato")["number"].clone();
    let after = page.request(&json!({ "do": "state", "after": number }));
    assert!(after["run_id"] == before["run_id"] && after["time_s"].as_f64() > before["time_s"].as_f64(), "{after}");

    let taken = page.request(&load("two"));
    assert_eq!(taken["ok"], true, "{taken}");
    while page.receive().is_some() {}
    let mut page = Page::open(&address);
    assert_eq!(page.request(&token)["ok"], true, "the token is that of before");
    let there = page.state_with("/ex1");
    assert_ne!(there["run_id"], before["run_id"]);
    assert_eq!(there["rovers"].as_array().map(Vec::len), Some(1));

    let interrupt = Command::new("kill").args(["-INT", &running.0.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    assert!(running.0.wait().expect("ends").success());
    let reported = fs::read_to_string(&summary).expect("a summary");
    assert_eq!((reported.matches("switches to").count(), reported.matches("state hash").count()), (1, 2), "{reported}");
    for bag in ["bag", "bag_2"] {
        assert!(folder.join(bag).join("metadata.yaml").is_file(), "{bag} is not whole");
    }
}

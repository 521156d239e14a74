//! Going over to another scenario while a run goes on, asked for as a page of the console asks.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::common::{folder, selene};

/// What is waited for comes within this, also on a busy machine.
const SOON: Duration = Duration::from_secs(120);
/// An upgrade to a WebSocket; which key is given does not matter.
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// A run that is killed when the test ends, however it ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A page of the console: text of a WebSocket and no more.
struct Page(TcpStream);

impl Page {
    fn open(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).expect("a console");
        stream.set_read_timeout(Some(SOON)).expect("a time limit");
        stream.write_all(format!("GET /socket HTTP/1.1\r\nHost: {address}\r\n{UPGRADE}").as_bytes()).expect("asked");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("an answer");
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Self(stream)
    }

    fn say(&mut self, message: &Value) {
        let text = message.to_string();
        let length = u16::try_from(text.len()).expect("a short message");
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend(length.to_be_bytes());
        // A mask of zeros leaves the text as it is.
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write_all(&frame).expect("said");
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    /// The next message; none when the connection has ended.
    fn hear(&mut self) -> Option<Value> {
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

    fn ask(&mut self, question: &Value) -> Value {
        self.say(question);
        self.hear().expect("an answer")
    }

    /// Asks until the answer is as it should be.
    fn until(&mut self, question: &Value, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let answer = self.ask(question);
            if is_so(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < SOON, "{answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The state once a rover of this name is told of, in a run that is known.
    fn state_with(&mut self, rover: &str) -> Value {
        let state = json!({ "do": "state", "after": 0 });
        self.until(&state, |state| state["rovers"][0]["rover"] == rover && state["run_id"].is_string())
    }
}

/// Scenarios of one rover each, and one that names a rover which is not there.
fn scenarios(folder: &Path) {
    for (name, rover) in [("one", "sorato"), ("two", "ex1"), ("bad", "nobody")] {
        let text = format!("site: test_yard\nrover:\n  file: {rover}\n  namespace: {rover}\n");
        fs::write(folder.join(format!("{name}.yaml")), text).expect("written");
    }
}

/// The address and the token of the console of a run that tells them in a file.
fn console(log: &Path) -> (String, String) {
    let begun = Instant::now();
    loop {
        let told = fs::read_to_string(log).expect("a log");
        let line = told.lines().find_map(|line| line.strip_prefix("console: http://"));
        if let Some((address, rest)) = line.and_then(|line| line.split_once("/#token=")) {
            return (address.to_owned(), rest.split(' ').next().expect("a token").to_owned());
        }
        assert!(begun.elapsed() < SOON, "no address in: {told}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(unix)]
#[test]
fn a_run_goes_over_to_another_scenario_and_one_that_does_not_load_leaves_it_where_it_is() {
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
    let stranger = page.ask(&load("two"));
    assert!(stranger["ok"] == false && stranger["text"].as_str().is_some_and(|text| text.contains("token")));
    let token = json!({ "do": "token", "token": token });
    assert_eq!(page.ask(&token)["ok"], true);
    let refused = page.ask(&load("bad"));
    assert!(
        refused["ok"] == false && refused["text"].as_str().is_some_and(|text| text.contains("nobody")),
        "{refused}"
    );
    let number = page.state_with("/sorato")["number"].clone();
    let after = page.ask(&json!({ "do": "state", "after": number }));
    assert!(after["run_id"] == before["run_id"] && after["time_s"].as_f64() > before["time_s"].as_f64(), "{after}");

    let taken = page.ask(&load("two"));
    assert_eq!(taken["ok"], true, "{taken}");
    while page.hear().is_some() {}
    let mut page = Page::open(&address);
    assert_eq!(page.ask(&token)["ok"], true, "the token is that of before");
    let there = page.state_with("/ex1");
    assert_ne!(there["run_id"], before["run_id"]);
    assert_eq!(there["rovers"].as_array().map(Vec::len), Some(1));

    let interrupt = Command::new("kill").args(["-INT", &running.0.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    assert!(running.0.wait().expect("ends").success());
    let told = fs::read_to_string(&summary).expect("a summary");
    assert_eq!((told.matches("goes over to").count(), told.matches("state hash").count()), (1, 2), "{told}");
    for bag in ["bag", "bag_2"] {
        assert!(folder.join(bag).join("metadata.yaml").is_file(), "{bag} is not whole");
    }
}

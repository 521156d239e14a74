//! `selene console` beside a run in another process, or in several, over DDS: a client sees the rover and a camera's
//! pictures, and its orders take effect.

use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use crate::logged::Logged;
use crate::program::{alone, folder, selene};

/// A domain that no other test uses.
const DOMAIN: &str = "77";
const TIMEOUT: Duration = Duration::from_secs(300);
const CAMERA: &str = "/navcam_left/image_raw";
/// Truth of that camera, which only `/diagnostics` tells of.
const DEPTH: &str = "/navcam_left/depth/image_rect_raw";

/// A client of the console.
struct Client(WebSocket<TcpStream>);

impl Client {
    fn new(address: &str) -> Self {
        let mut request = format!("ws://{address}/socket").into_client_request().expect("a request");
        request.headers_mut().insert("origin", format!("http://{address}").parse().expect("a header"));
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a limit");
        Self(tungstenite::client(request, stream).expect("a seat").0)
    }

    /// The answer to a request: JSON, or the header of a binary frame.
    fn answer(&mut self, request: &Value) -> Value {
        self.0.send(Message::text(request.to_string())).expect("sent");
        loop {
            match self.0.read().expect("a message") {
                Message::Text(text) => return serde_json::from_str(text.as_str()).expect("JSON"),
                Message::Binary(frame) => {
                    let length = u32::from_le_bytes(*frame.first_chunk().expect("a length")) as usize;
                    return serde_json::from_slice(&frame[4..4 + length]).expect("JSON");
                }
                _ => {}
            }
        }
    }

    /// The newest states until one is as it should be.
    fn await_state(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let state = self.answer(&json!({ "do": "state", "after": 0 }));
            if is_so(&state) {
                return state;
            }
            assert!(begun.elapsed() < TIMEOUT, "{what}: {state:#}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The time once it stands, s: the clock comes on another way than the state.
    fn standing_s(&mut self) -> f64 {
        let mut times = Vec::new();
        loop {
            times.push(time_s(&self.answer(&json!({ "do": "state", "after": 0 }))));
            if let [.., first, _, _, _, _, _, _, _, _, last] = times[..]
                && first == last
            {
                return last;
            }
            assert!(times.len() < 1000, "time does not stand: {times:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn order(&mut self, order: &Value) {
        let answer = self.answer(order);
        assert_eq!(answer["ok"], true, "{order}: {answer}");
    }
}

fn time_s(state: &Value) -> f64 {
    state["time_s"].as_f64().unwrap_or(-1.0)
}

#[test]
fn a_console_beside_a_run_shows_and_controls_it() {
    let run = ["run", "polar", "--for", "3000", "--pace", "0.5", "--device", "cpu", "--no-pictures", "--start-paused"];
    shows_and_controls("run", &[&run]);
}

#[test]
fn a_console_beside_nodes_in_processes_of_their_own_shows_and_controls_the_run() {
    let simulation = ["simulation", "--scenario", "polar", "--for", "3000", "--pace", "0.5", "--start-paused"];
    let camera = ["camera", "--scenario", "polar", "--device", "cpu"];
    shows_and_controls("nodes", &[&simulation, &camera]);
}

/// A console beside these processes of a run that begins paused.
fn shows_and_controls(name: &str, run: &[&[&str]]) {
    let _turn = alone();
    let folder = folder(&format!("console-beside-{name}"));
    let start = |name: &str, arguments: &[&str]| {
        let mut program = selene();
        program.args(arguments).env("ROS_DOMAIN_ID", DOMAIN).stdin(Stdio::null());
        Logged::start(name, &folder, &mut program)
    };
    let mut run: Vec<_> = run.iter().map(|arguments| start(arguments[0], arguments)).collect();
    let mut console = start("console", &["console", "127.0.0.1:0", "--control"]);
    let line = console.prints_within("console: http://", 0, TIMEOUT).expect("an address");
    let (address, token) = line.split_once("/#token=").expect("a token");
    let token = token.split(' ').next().expect("a token");
    let mut client = Client::new(address);
    client.await_state("no rover is shown while time is paused", |state| {
        state["run"] == "paused" && state["rovers"][0]["wheels"].as_array().is_some_and(|wheels| wheels.len() == 4)
    });
    let refused = client.answer(&json!({ "do": "play" }));
    assert_eq!(refused["ok"], false, "an order without the token");
    client.order(&json!({ "do": "token", "token": token }));
    client.order(&json!({ "do": "play" }));
    client.await_state("no rover drives", |state| {
        state["rovers"][0]["speed_m_s"].as_f64().is_some_and(|speed_m_s| speed_m_s > 0.05)
    });
    client.await_state("not every image is listed", |state| {
        let images = state["images"].to_string();
        images.contains(CAMERA) && images.contains(DEPTH)
    });
    let picture = client.answer(&json!({ "do": "image", "topic": CAMERA, "after": 0, "look": "small" }));
    assert!(picture["number"].as_u64().is_some_and(|number| number > 0), "{picture}");
    client.order(&json!({ "do": "pause" }));
    client.await_state("it does not pause", |state| state["run"] == "paused");
    let paused_s = client.standing_s();
    client.order(&json!({ "do": "step", "heartbeats": 100 }));
    client.await_state("it does not step", |state| time_s(state) > paused_s);
    let stepped_s = client.standing_s();
    assert!((stepped_s - paused_s - 0.5).abs() < 1e-6, "from {paused_s} to {stepped_s} s");
    client.order(&json!({ "do": "reset" }));
    client.await_state("it does not go back", |state| {
        time_s(state) == 0.0 && state["rovers"][0]["at_m"][0].as_f64().is_some_and(|x_m| x_m.abs() < 0.005)
    });
    client.order(&json!({ "do": "play" }));
    client.await_state("it does not go on", |state| time_s(state) > 0.2);
    for process in &mut run {
        assert!(process.ended().is_none(), "{}", process.printed());
    }
    drop((console, run));
    std::fs::remove_dir_all(folder).expect("clean");
}

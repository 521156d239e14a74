//! What whoever opens the console of a run meets: when the first image comes, what the page weighs, and how long a key
//! takes to turn a wheel. The run is the default scenario in a process of its own, as `selene run --console
//! --console-control` begins it: in real time, DDS on. The client is on the same machine and asks as the page does.
//!
//! A key's time ends when the run tells that a wheel turns, which its truth of wheels does each 20 ms (50 Hz), so it has
//! up to that much in it beside the way to the wheel.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::BenchError;
use crate::client::{CAMERA, Client, ConsoleAddress};
use crate::latency::percentile_s;
use crate::run_line::RunLine;
use crate::setting::Setting;

/// Simulated seconds after which the run ends if the bench did not end it before.
const DURATION_S: &str = "300";
/// What is waited for comes within this (wall time), or the figure is not measured.
const SOON: Duration = Duration::from_secs(30);
/// Presses of the key, and the speed that it stands for.
const PRESSES: usize = 40;
const SPEED_M_S: f64 = 0.1;
/// A wheel that is slower than this stands. At [`SPEED_M_S`] those of VIPER turn eight times as fast.
const TURNS_RAD_S: f64 = 0.05;
/// A press that turns no wheel within this is lost.
const TURN_MAX: Duration = Duration::from_secs(2);
/// How long wheels stand between two presses: other parts of a truth's period each time.
const REST_MS: u64 = 150;
const REST_STEP_MS: u64 = 7;
const TRUTH_PERIOD_MS: u64 = 20;
/// Of the presses, so many of a hundred are at most as slow as the figure.
const PERCENT: usize = 95;

/// What the page of a run comes to.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    /// From the start of the process to the first image at a client, s.
    pub(crate) first_image_s: f64,
    /// Of all files of the page, as the server sends them to who takes them compressed.
    pub(crate) bytes: f64,
    /// The 95th percentile from a key's message to the wheel that turns, s.
    pub(crate) key_to_wheel_s: f64,
}

/// Opens the page of a run, looks and drives.
pub(crate) fn measure(setting: &Setting) -> Result<Page, BenchError> {
    let begun = Instant::now();
    let run = Run::start(setting)?;
    let place = run.places.recv_timeout(SOON).map_err(|_| BenchError::new("a run told of no console"))?;
    let of_console = |error: io::Error| BenchError::new(format!("the console of a run: {error}"));
    let mut client = Client::open(&place.address).map_err(of_console)?;
    await_image(&mut client).map_err(of_console)?;
    let first_image_s = begun.elapsed().as_secs_f64();
    let bytes = page_bytes(&place.address).map_err(of_console)? as f64;
    let rover = take_control(&mut client, &place).map_err(of_console)?;
    let key_to_wheel_s = keys(&mut client, &rover, &run.wheels).map_err(of_console)?;
    Ok(Page { first_image_s, bytes, key_to_wheel_s })
}

/// A run in a process of its own, which ends with it.
struct Run {
    child: Child,
    /// Where its console is.
    places: Receiver<ConsoleAddress>,
    wheels: Receiver<Turn>,
}

/// How fast the fastest wheel turns, and when that was told.
struct Turn {
    at: Instant,
    rate_rad_s: f64,
}

impl Run {
    fn start(setting: &Setting) -> Result<Self, BenchError> {
        let mut command = Command::new(&setting.program);
        command.args(["run", "--quiet", "--report", "--no-pictures", "--for", DURATION_S]);
        command.args(["--console=127.0.0.1:0", "--console-control"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| BenchError::new(format!("a run cannot be started: {error}")))?;
        let ((to_places, places), (to_wheels, wheels)) = (channel(), channel());
        if let Some(errors) = child.stderr.take() {
            thread::spawn(move || hear_places(errors, &to_places));
        }
        if let Some(lines) = child.stdout.take() {
            thread::spawn(move || hear_wheels(lines, &to_wheels));
        }
        Ok(Self { child, places, wheels })
    }
}

impl Drop for Run {
    /// It has nothing to leave. A process that has ended already needs no end.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hear_places(errors: impl Read, places: &Sender<ConsoleAddress>) {
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        match ConsoleAddress::parse(&line) {
            // Whoever waits for it may have given up.
            Some(place) => _ = places.send(place),
            // Where nobody reads it, the figure is still measured.
            None => _ = writeln!(io::stderr(), "{line}"),
        }
    }
}

fn hear_wheels(lines: impl Read, wheels: &Sender<Turn>) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        if let Some(RunLine::Wheels { fastest_rad_s: rate_rad_s }) = RunLine::parse(&line) {
            // Who has measured listens no more.
            let _ = wheels.send(Turn { at: Instant::now(), rate_rad_s });
        }
    }
}

/// Looks, as the page does: follows the state until it tells of the camera, then asks for its picture.
fn await_image(client: &mut Client) -> io::Result<()> {
    let mut is_asked = false;
    client.ask_state(&json!(0))?;
    loop {
        let told = client.told()?;
        match told["is"].as_str() {
            Some("image") => return Ok(()),
            Some("answer") => return Err(refused(&told)),
            Some("state") => {
                let is_there = told["images"].as_array().is_some_and(|images| images.iter().any(|name| name == CAMERA));
                if is_there && !is_asked {
                    client.ask_picture(&json!(0))?;
                    is_asked = true;
                }
                client.ask_state(&told["number"])?;
            }
            _ => {}
        }
    }
}

fn refused(told: &Value) -> io::Error {
    io::Error::other(told["text"].as_str().unwrap_or("refused").to_owned())
}

/// Shows the token; the name of the first rover.
fn take_control(client: &mut Client, place: &ConsoleAddress) -> io::Result<String> {
    client.ask(&json!({ "do": "token", "token": place.token }))?;
    client.ask_state(&json!(0))?;
    let (mut rover, mut has_control) = (None, false);
    loop {
        let told = client.told()?;
        match told["is"].as_str() {
            Some("answer") if told["ok"] == true => has_control = true,
            Some("answer") => return Err(refused(&told)),
            Some("state") => {
                rover = told["rovers"][0]["rover"].as_str().map(str::to_owned);
                client.ask_state(&told["number"])?;
            }
            _ => {}
        }
        if let Some(rover) = rover.take_if(|_| has_control) {
            return Ok(rover);
        }
    }
}

/// Presses the key that drives ahead, again and again; the 95th percentile of what it took, s.
fn keys(client: &mut Client, rover: &str, wheels: &Receiver<Turn>) -> io::Result<f64> {
    let mut nanos = Vec::new();
    for press in 0..PRESSES as u64 {
        stand(client, rover, wheels)?;
        thread::sleep(Duration::from_millis(REST_MS + press * REST_STEP_MS % TRUTH_PERIOD_MS));
        let pressed = Instant::now();
        client.ask(&drive(rover, SPEED_M_S))?;
        let turned = turn_after(wheels, pressed, TURN_MAX, |rate_rad_s| rate_rad_s > TURNS_RAD_S);
        nanos.extend(turned.map(|at| (at - pressed).as_nanos() as i64));
    }
    client.ask(&drive(rover, 0.0))?;
    let median_s = percentile_s(nanos.clone(), PRESSES, 50);
    // Where nobody reads it, the figure is still measured.
    let _ = writeln!(io::stderr(), "  {PRESSES} presses, half of them within {median_s:.4} s");
    Ok(percentile_s(nanos, PRESSES, PERCENT))
}

fn drive(rover: &str, forward_m_s: f64) -> Value {
    json!({ "do": "drive", "rover": rover, "forward_m_s": forward_m_s, "turn_rad_s": 0.0 })
}

/// Stops the rover and waits until its wheels stand.
fn stand(client: &mut Client, rover: &str, wheels: &Receiver<Turn>) -> io::Result<()> {
    let asked = Instant::now();
    client.ask(&drive(rover, 0.0))?;
    let stands = turn_after(wheels, asked, SOON, |rate_rad_s| rate_rad_s < TURNS_RAD_S);
    stands.map(drop).ok_or_else(|| io::Error::other("the rover does not stop"))
}

/// When the run first told after `since`, and at most `patience` later, that wheels turn like that.
fn turn_after(
    wheels: &Receiver<Turn>,
    since: Instant,
    patience: Duration,
    is: impl Fn(f64) -> bool,
) -> Option<Instant> {
    loop {
        let left = patience.checked_sub(since.elapsed())?;
        let Turn { at, rate_rad_s } = wheels.recv_timeout(left).ok()?;
        if at >= since && is(rate_rad_s) {
            return Some(at);
        }
    }
}

/// What the page's files weigh together as they are sent.
fn page_bytes(address: &str) -> io::Result<usize> {
    let mut files = BTreeSet::from(["/".to_owned()]);
    let (mut weighed, mut bytes) = (BTreeSet::new(), 0);
    while let Some(file) = files.pop_first() {
        let text = get(address, &file, "identity")?;
        bytes += get(address, &file, "gzip, deflate, br, zstd")?.len();
        weighed.insert(file);
        files.extend(named(&String::from_utf8_lossy(&text)).filter(|name| !weighed.contains(name)));
    }
    Ok(bytes)
}

/// The style sheets and scripts that a file names.
fn named(text: &str) -> impl Iterator<Item = String> {
    let quoted = text.split(['"', '\'']).filter(|part| part.starts_with('/') && !part.contains(char::is_whitespace));
    quoted.filter(|part| part.ends_with(".js") || part.ends_with(".css")).map(str::to_owned)
}

/// A file of the console, as it is sent to who takes these encodings.
fn get(address: &str, file: &str, encodings: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(SOON))?;
    let request =
        format!("GET {file} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: {encodings}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    body(&response).map(<[u8]>::to_vec).ok_or_else(|| io::Error::other(format!("{file} is not sent")))
}

/// What follows the head of a response that gives what was asked for.
fn body(response: &[u8]) -> Option<&[u8]> {
    const END: &[u8] = b"\r\n\r\n";
    let head = response.windows(END.len()).position(|bytes| bytes == END)?;
    response.starts_with(b"HTTP/1.1 200 ").then(|| &response[head + END.len()..])
}

#[cfg(test)]
mod tests {
    use super::{Turn, body, named, turn_after};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    #[test]
    fn a_page_s_files_are_those_that_it_names() {
        let page = r#"<link href="data:,"><link href="/a.css"><a href="https://else.where/b.js"></a>
                      <script src="/c.js"></script>import { D } from "/d.js"; const topic = "/viper/cmd_vel";"#;
        assert_eq!(named(page).collect::<Vec<_>>(), ["/a.css", "/c.js", "/d.js"]);
    }

    #[test]
    fn the_body_follows_the_head_of_a_good_response() {
        assert_eq!(body(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n\r\n\r\nx"), Some(&b"\r\n\r\nx"[..]));
        assert_eq!(body(b"HTTP/1.1 404 Not Found\r\n\r\nnothing"), None);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\n"), None);
    }

    #[test]
    fn turns_of_before_a_press_do_not_count_and_none_is_waited_for_for_ever() {
        let (sender, wheels) = channel();
        let pressed = Instant::now() + Duration::from_millis(50);
        let after = |ms| pressed + Duration::from_millis(ms);
        for (at, rate_rad_s) in [(Instant::now(), 0.4), (after(1), 0.001), (after(2), 0.3), (after(3), 0.4)] {
            sender.send(Turn { at, rate_rad_s }).expect("a listener");
        }
        let turns = |rate_rad_s| rate_rad_s > 0.05;
        assert_eq!(turn_after(&wheels, pressed, Duration::from_secs(1), turns), Some(after(2)));
        assert_eq!(turn_after(&wheels, pressed, Duration::from_millis(1), |rate_rad_s| rate_rad_s > 9.0), None);
    }
}

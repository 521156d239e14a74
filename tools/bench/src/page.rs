//! The experience of a console user: time to the first image, size of the page, and time from a key to a turning wheel.
//! The run is the default scenario in a separate process, started as by `selene run --console --console-control`: in
//! real time, with DDS. The client is on the same machine and sends the same requests as the page.
//!
//! A key's time ends when the run reports that a wheel turns. It reports the true state of wheels every 20 ms (50 Hz),
//! so the figure includes up to that time in addition to the way to the wheel.

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

/// Simulated seconds after which the run ends unless the benchmark ended it before.
const DURATION_S: &str = "300";
/// Timeout of each wait, in wall time; after it the figure is not measured.
const SOON: Duration = Duration::from_secs(30);
/// Number of key presses, and the speed that a key commands.
const PRESSES: usize = 40;
const SPEED_M_S: f64 = 0.1;
/// A wheel slower than this is at rest. At [`SPEED_M_S`] the wheels of VIPER turn eight times as fast.
const TURNS_RAD_S: f64 = 0.05;
/// A press that turns no wheel within this time counts as lost.
const TURN_MAX: Duration = Duration::from_secs(2);
/// Rest between two presses; it varies so that presses meet different phases of the reports' period.
const REST_MS: u64 = 150;
const REST_STEP_MS: u64 = 7;
const TRUTH_PERIOD_MS: u64 = 20;
/// Percentile of the presses that the figure gives.
const PERCENT: usize = 95;

/// Figures of a run's console page.
#[derive(Clone, Copy)]
pub(crate) struct Page {
    /// Time from the start of the process to the first image at a client, s.
    pub(crate) first_image_s: f64,
    /// Size of all files of the page, as the server sends them compressed, bytes.
    pub(crate) bytes: f64,
    /// The 95th percentile of the time from a key's message to a turning wheel, s.
    pub(crate) key_to_wheel_s: f64,
}

/// Opens the page of a run, watches and drives.
pub(crate) fn measure(setting: &Setting) -> Result<Page, BenchError> {
    let begun = Instant::now();
    let run = Run::start(setting)?;
    let place = run.places.recv_timeout(SOON).map_err(|_| BenchError::new("a run announced no console"))?;
    let of_console = |error: io::Error| BenchError::new(format!("the console of a run: {error}"));
    let mut client = Client::open(&place.address).map_err(of_console)?;
    await_image(&mut client).map_err(of_console)?;
    let first_image_s = begun.elapsed().as_secs_f64();
    let bytes = page_bytes(&place.address).map_err(of_console)? as f64;
    let rover = take_control(&mut client, &place).map_err(of_console)?;
    let key_to_wheel_s = keys(&mut client, &rover, &run.wheels).map_err(of_console)?;
    Ok(Page { first_image_s, bytes, key_to_wheel_s })
}

/// A run in a separate process, which ends when this is dropped.
struct Run {
    child: Child,
    /// Address of its console, once printed.
    places: Receiver<ConsoleAddress>,
    wheels: Receiver<Turn>,
}

/// Rate of the fastest wheel, and the time at which it was reported.
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
            thread::spawn(move || receive_places(errors, &to_places));
        }
        if let Some(lines) = child.stdout.take() {
            thread::spawn(move || receive_wheels(lines, &to_wheels));
        }
        Ok(Self { child, places, wheels })
    }
}

impl Drop for Run {
    /// The run has nothing to save. Errors are ignored: the process may have ended already.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn receive_places(errors: impl Read, places: &Sender<ConsoleAddress>) {
    for line in BufReader::new(errors).lines().map_while(Result::ok) {
        match ConsoleAddress::parse(&line) {
            // Ignores a closed channel: the receiver may have given up.
            Some(place) => _ = places.send(place),
            // A closed standard error must not end the measurement.
            None => _ = writeln!(io::stderr(), "{line}"),
        }
    }
}

fn receive_wheels(lines: impl Read, wheels: &Sender<Turn>) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        if let Some(RunLine::Wheels { fastest_rad_s: rate_rad_s }) = RunLine::parse(&line) {
            // Ignores a closed channel: the measurement may be over.
            let _ = wheels.send(Turn { at: Instant::now(), rate_rad_s });
        }
    }
}

/// Behaves like the page: follows the state until it lists the camera, then requests its image.
fn await_image(client: &mut Client) -> io::Result<()> {
    let mut is_requested = false;
    client.request_state(&json!(0))?;
    loop {
        let reported = client.reported()?;
        match reported["is"].as_str() {
            Some("image") => return Ok(()),
            Some("answer") => return Err(refused(&reported)),
            Some("state") => {
                let is_there =
                    reported["images"].as_array().is_some_and(|images| images.iter().any(|name| name == CAMERA));
                if is_there && !is_requested {
                    client.request_picture(&json!(0))?;
                    is_requested = true;
                }
                client.request_state(&reported["number"])?;
            }
            _ => {}
        }
    }
}

fn refused(reported: &Value) -> io::Error {
    io::Error::other(reported["text"].as_str().unwrap_or("refused").to_owned())
}

/// Sends the token; returns the name of the first rover.
fn take_control(client: &mut Client, place: &ConsoleAddress) -> io::Result<String> {
    client.request(&json!({ "do": "token", "token": place.token }))?;
    client.request_state(&json!(0))?;
    let (mut rover, mut has_control) = (None, false);
    loop {
        let reported = client.reported()?;
        match reported["is"].as_str() {
            Some("answer") if reported["ok"] == true => has_control = true,
            Some("answer") => return Err(refused(&reported)),
            Some("state") => {
                rover = reported["rovers"][0]["rover"].as_str().map(str::to_owned);
                client.request_state(&reported["number"])?;
            }
            _ => {}
        }
        if let Some(rover) = rover.take_if(|_| has_control) {
            return Ok(rover);
        }
    }
}

/// Presses the key for driving ahead repeatedly; returns the 95th percentile of its times, s.
fn keys(client: &mut Client, rover: &str, wheels: &Receiver<Turn>) -> io::Result<f64> {
    let mut nanos = Vec::new();
    for press in 0..PRESSES as u64 {
        stand(client, rover, wheels)?;
        thread::sleep(Duration::from_millis(REST_MS + press * REST_STEP_MS % TRUTH_PERIOD_MS));
        let pressed = Instant::now();
        client.request(&drive(rover, SPEED_M_S))?;
        let turned = turn_after(wheels, pressed, TURN_MAX, |rate_rad_s| rate_rad_s > TURNS_RAD_S);
        nanos.extend(turned.map(|at| (at - pressed).as_nanos() as i64));
    }
    client.request(&drive(rover, 0.0))?;
    let median_s = percentile_s(nanos.clone(), PRESSES, 50);
    // A closed standard error must not end the measurement.
    let _ = writeln!(io::stderr(), "  {PRESSES} presses, half of them within {median_s:.4} s");
    Ok(percentile_s(nanos, PRESSES, PERCENT))
}

fn drive(rover: &str, forward_m_s: f64) -> Value {
    json!({ "do": "drive", "rover": rover, "forward_m_s": forward_m_s, "turn_rad_s": 0.0 })
}

/// Stops the rover and waits until its wheels are at rest.
fn stand(client: &mut Client, rover: &str, wheels: &Receiver<Turn>) -> io::Result<()> {
    let requested = Instant::now();
    client.request(&drive(rover, 0.0))?;
    let stands = turn_after(wheels, requested, SOON, |rate_rad_s| rate_rad_s < TURNS_RAD_S);
    stands.map(drop).ok_or_else(|| io::Error::other("the rover does not stop"))
}

/// Time of the first report after `since`, and within `timeout`, of a rate for which `is` is true.
fn turn_after(wheels: &Receiver<Turn>, since: Instant, timeout: Duration, is: impl Fn(f64) -> bool) -> Option<Instant> {
    loop {
        let left = timeout.checked_sub(since.elapsed())?;
        let Turn { at, rate_rad_s } = wheels.recv_timeout(left).ok()?;
        if at >= since && is(rate_rad_s) {
            return Some(at);
        }
    }
}

/// Total size of the page's files as they are sent, bytes.
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

/// The style sheets and scripts named in a file.
fn named(text: &str) -> impl Iterator<Item = String> {
    let quoted = text.split(['"', '\'']).filter(|part| part.starts_with('/') && !part.contains(char::is_whitespace));
    quoted.filter(|part| part.ends_with(".js") || part.ends_with(".css")).map(str::to_owned)
}

/// A file of the console, in the form sent to a client that accepts these encodings.
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

/// The body of a successful response.
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

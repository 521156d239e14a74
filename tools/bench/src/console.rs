//! Ten pages at the console of a run, each of which asks for the state and for the newest picture of a camera again and
//! again, as the page does. The clients run here, on the machine of the run, so reading is a part of what they cost.
//! Their side of a WebSocket (RFC 6455) is small: text out, whole frames in, a mask of zeros, which changes no byte.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::ChildStderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

/// Pages.
const CLIENTS: usize = 10;
/// The camera that they look at.
const CAMERA: &str = "/navcam_left/image_raw";
/// What a run says of its console.
const TOLD: &str = "console: http://";
/// Before a topic that nobody has told yet is asked for again.
const AGAIN: Duration = Duration::from_millis(100);
/// Opcodes of frames.
const TEXT: u8 = 1;
const BINARY: u8 = 2;

/// Looks at the run that tells its console on `errors`, to its end; gives how many pictures came.
pub(crate) fn watch(errors: ChildStderr) -> JoinHandle<u64> {
    thread::spawn(move || {
        let pictures = Arc::new(AtomicU64::new(0));
        let mut clients = Vec::new();
        for line in BufReader::new(errors).lines().map_while(Result::ok) {
            match line.strip_prefix(TOLD).and_then(|rest| rest.split('/').next()) {
                Some(address) => clients.extend((0..CLIENTS).map(|_| client(address.to_owned(), &pictures))),
                // Where nobody reads it, the figure is still measured.
                None => _ = writeln!(io::stderr(), "{line}"),
            }
        }
        clients.into_iter().for_each(|client| _ = client.join());
        pictures.load(Ordering::Relaxed)
    })
}

fn client(address: String, pictures: &Arc<AtomicU64>) -> JoinHandle<()> {
    let pictures = Arc::clone(pictures);
    // A client ends with the run that it looks at, by an error of its connection.
    thread::spawn(move || _ = Client::open(&address).and_then(|mut client| client.look(&pictures)))
}

struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn open(address: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        let request = format!(
            "GET /socket HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line)? > 2 {
            line.clear();
        }
        Ok(Self { stream })
    }

    fn ask(&mut self, question: &Value) -> io::Result<()> {
        let text = question.to_string();
        let length = u16::try_from(text.len()).map_err(io::Error::other)?;
        let head = [0x80 | TEXT, 0x80 | 126, length.to_be_bytes()[0], length.to_be_bytes()[1], 0, 0, 0, 0];
        self.stream.get_mut().write_all(&[&head[..], text.as_bytes()].concat())
    }

    fn ask_state(&mut self, after: &Value) -> io::Result<()> {
        self.ask(&json!({ "do": "state", "after": after }))
    }

    fn ask_picture(&mut self, after: &Value) -> io::Result<()> {
        self.ask(&json!({ "do": "image", "topic": CAMERA, "after": after, "look": "medium" }))
    }

    /// Asks again and again, until the run ends.
    fn look(&mut self, pictures: &AtomicU64) -> io::Result<()> {
        self.ask_state(&json!(0))?;
        self.ask_picture(&json!(0))?;
        loop {
            let (opcode, frame) = self.next()?;
            let header = header(opcode, &frame).unwrap_or_default();
            match header["is"].as_str() {
                Some("state") => self.ask_state(&header["number"])?,
                Some("image") => {
                    pictures.fetch_add(1, Ordering::Relaxed);
                    self.ask_picture(&header["number"])?;
                }
                Some("answer") => {
                    thread::sleep(AGAIN);
                    self.ask_picture(&json!(0))?;
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let [first, short] = self.bytes()?;
        let length = match short & 0x7f {
            126 => u64::from(u16::from_be_bytes(self.bytes()?)),
            127 => u64::from_be_bytes(self.bytes()?),
            length => u64::from(length),
        };
        let mut frame = Vec::new();
        self.stream.by_ref().take(length).read_to_end(&mut frame)?;
        Ok((first & 0x0f, frame))
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// What a message says of itself.
fn header(opcode: u8, frame: &[u8]) -> Option<Value> {
    let json = match opcode {
        TEXT => frame,
        BINARY => {
            let length = u32::from_le_bytes(*frame.first_chunk()?) as usize;
            frame.get(4..)?.get(..length)?
        }
        _ => return None,
    };
    serde_json::from_slice(json).ok()
}

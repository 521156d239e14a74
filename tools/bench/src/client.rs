//! A client of a run's console that behaves like the page. It implements only the part of WebSocket (RFC 6455) that it
//! needs: sends text, receives whole frames, and masks with zeros, which changes no byte.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// The camera whose images the client requests.
pub(crate) const CAMERA: &str = "/navcam_left/image_raw";
/// Beginning of the line in which a run prints its console's address.
const REPORTED: &str = "console: http://";
/// Text before the token in the console's address.
const TOKEN: &str = "#token=";
/// Timeout of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Opcodes of WebSocket frames.
const TEXT: u8 = 1;
const BINARY: u8 = 2;

/// Address of a console, and the token that gives control, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConsoleAddress {
    pub(crate) address: String,
    pub(crate) token: Option<String>,
}

impl ConsoleAddress {
    /// Parses the address from a line of a run's output, if it has one.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let url = line.strip_prefix(REPORTED)?.split_whitespace().next()?;
        let (address, path) = url.split_once('/')?;
        let token = path.strip_prefix(TOKEN).map(str::to_owned);
        Some(Self { address: address.to_owned(), token })
    }
}

/// A connection to the console.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects to the console at `address`.
    pub(crate) fn open(address: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        // As browsers do: messages of keys are sent without delay.
        stream.set_nodelay(true)?;
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

    /// Sends a request.
    pub(crate) fn request(&mut self, question: &Value) -> io::Result<()> {
        let text = question.to_string();
        let length = u16::try_from(text.len()).map_err(io::Error::other)?;
        let head = [0x80 | TEXT, 0x80 | 126, length.to_be_bytes()[0], length.to_be_bytes()[1], 0, 0, 0, 0];
        self.stream.get_mut().write_all(&[&head[..], text.as_bytes()].concat())
    }

    /// Requests a state of the run newer than number `after`.
    pub(crate) fn request_state(&mut self, after: &Value) -> io::Result<()> {
        self.request(&json!({ "do": "state", "after": after }))
    }

    /// Requests an image of the camera newer than number `after`.
    pub(crate) fn request_picture(&mut self, after: &Value) -> io::Result<()> {
        self.request(&json!({ "do": "image", "topic": CAMERA, "after": after, "look": "medium" }))
    }

    /// The description in the next message; null if it has none.
    pub(crate) fn reported(&mut self) -> io::Result<Value> {
        let (opcode, frame) = self.frame()?;
        Ok(header(opcode, &frame).unwrap_or_default())
    }

    fn frame(&mut self) -> io::Result<(u8, Vec<u8>)> {
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

#[cfg(test)]
mod tests {
    use super::ConsoleAddress;

    #[test]
    fn a_run_s_line_reports_where_its_console_is() {
        let place = |address: &str, token: Option<&str>| {
            Some(ConsoleAddress { address: address.to_owned(), token: token.map(str::to_owned) })
        };
        let controlled = "console: http://127.0.0.1:8470/#token=0a1b (this address gives control: keep it)";
        assert_eq!(ConsoleAddress::parse(controlled), place("127.0.0.1:8470", Some("0a1b")));
        assert_eq!(ConsoleAddress::parse("console: http://127.0.0.1:8470/"), place("127.0.0.1:8470", None));
        assert_eq!(ConsoleAddress::parse("polar: viper at polar"), None);
    }
}

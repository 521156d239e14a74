//! The messages between a client and the server over one WebSocket (docs/console.md).
//!
//! A request is JSON, `{"do": …}`. The server answers each request once: in JSON, `{"is": …}`, or with a binary frame:
//! the length of a JSON header (u32, little-endian), the header, and the payload. The messages of each topic are
//! numbered from 1; a request names the number that the client has and is answered when there is a greater one.

use axum::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::picture::PictureSize;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// The state of the run, newer than number `after`.
    State { after: u64 },
    /// The pose of each TF frame in `map`.
    Frames,
    /// The tracks driven so far, named places of the scenario, what can be spawned, and the scenarios that can be
    /// loaded.
    Paths,
    /// The image of a topic, as JPEG.
    Image { topic: String, after: u64, look: PictureSize },
    /// The bounding boxes of a camera's image.
    Boxes { topic: String, after: u64 },
    /// The points of a point cloud, in `map`.
    Points { topic: String, after: u64 },
    /// The heights of the ground around a rover.
    Ground { rover: String, span: Span, after: u64 },
    /// The rocks around a rover.
    Rocks { rover: String, after: u64 },
    /// Sends the token, once for a connection.
    Token { token: String },
    /// An order; needs the token.
    #[serde(untagged)]
    Command(RunCommand),
}

/// A request that changes the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum RunCommand {
    /// Starts simulated time.
    Play,
    /// Pauses simulated time.
    Pause,
    /// Makes this many heartbeats while the run is paused.
    Step { heartbeats: u64 },
    /// Resets the world to the start of the run.
    Reset,
    /// Sets the pace, simulated seconds per second of wall time; 0 is as fast as possible.
    Pace { times: f64 },
    /// Sets the instant of simulated time zero, which decides where Sun, Earth and stars are.
    Sun { utc: String },
    /// Sets a lamp by the name of its parameter; `level` is 0 to 1.
    Lamp { lamp: String, level: f64 },
    /// Spawns a loose rock at a place in `map`.
    Rock { x_m: f64, y_m: f64, diameter_m: f64 },
    /// Spawns a rover or an object of the configuration, by its URI, at a place in `map`.
    Spawn { uri: String, x_m: f64, y_m: f64 },
    /// Drives a rover until the next command, or until the dead-man rule stops it.
    Drive { rover: String, forward_m_s: f64, turn_rad_s: f64 },
    /// Drives a rover toward a place in `map`, until the dead-man rule stops it.
    GoTo { rover: String, x_m: f64, y_m: f64, speed_m_s: f64 },
    /// Stops a rover.
    Halt { rover: String },
    /// Replaces the world by the scenario of this URI.
    Load { uri: String },
}

impl RunCommand {
    /// Its name in the protocol, the value of `do`.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Play => "play",
            Self::Pause => "pause",
            Self::Step { .. } => "step",
            Self::Reset => "reset",
            Self::Pace { .. } => "pace",
            Self::Sun { .. } => "sun",
            Self::Lamp { .. } => "lamp",
            Self::Rock { .. } => "rock",
            Self::Spawn { .. } => "spawn",
            Self::Drive { .. } => "drive",
            Self::GoTo { .. } => "go_to",
            Self::Halt { .. } => "halt",
            Self::Load { .. } => "load",
        }
    }
}

/// The size of a map of the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Span {
    /// 12 m: shows ruts.
    Near,
    /// 40 m.
    Around,
    /// 160 m.
    Far,
}

impl Span {
    /// Side of the square, m.
    pub(crate) fn side_m(self) -> f64 {
        match self {
            Self::Near => 12.0,
            Self::Around => 40.0,
            Self::Far => 160.0,
        }
    }
}

/// The outcome of an order, or of a request that has no other answer.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    is: &'static str,
    /// What the client requested, such as `image` or `pause`.
    about: &'static str,
    /// The topic or rover that the request named, or else the same word as `about`.
    to: &'a str,
    ok: bool,
    text: &'a str,
}

impl<'a> Answer<'a> {
    /// The answer that reports `outcome` for request `about` of topic or rover `to`.
    pub(crate) fn of(about: &'static str, to: &'a str, outcome: Result<&'a str, &'a str>) -> Self {
        let (Ok(text) | Err(text)) = outcome;
        Self { is: "answer", about, to, ok: outcome.is_ok(), text }
    }
}

/// A binary frame: length of the header (u32, little-endian), header as JSON, payload.
pub(crate) fn frame(header: &impl Serialize, payload: &[u8]) -> Result<Bytes, String> {
    let header = serde_json::to_vec(header).map_err(|error| error.to_string())?;
    let length = u32::try_from(header.len()).map_err(|error| error.to_string())?;
    Ok(Bytes::from([&length.to_le_bytes()[..], &header[..], payload].concat()))
}

#[cfg(test)]
mod tests {
    use super::{Request, RunCommand, Span};
    use crate::picture::PictureSize;

    fn read(text: &str) -> Result<Request, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn questions_and_commands_are_read() {
        let image = r#"{"do": "image", "topic": "/navcam/image_raw", "after": 3, "look": "small"}"#;
        let expected = Request::Image { topic: "/navcam/image_raw".to_owned(), after: 3, look: PictureSize::Small };
        assert_eq!(read(image), Ok(expected));
        let ground = r#"{"do": "ground", "rover": "/viper", "span": "near", "after": 0}"#;
        assert_eq!(read(ground), Ok(Request::Ground { rover: "/viper".to_owned(), span: Span::Near, after: 0 }));
        assert_eq!(read(r#"{"do": "pause"}"#), Ok(Request::Command(RunCommand::Pause)));
        let spawn = RunCommand::Spawn { uri: "file:///a/viper.yaml".to_owned(), x_m: 1.5, y_m: -2.0 };
        let requested = r#"{"do": "spawn", "uri": "file:///a/viper.yaml", "x_m": 1.5, "y_m": -2.0}"#;
        assert_eq!(read(requested), Ok(Request::Command(spawn)));
        let load = RunCommand::Load { uri: "file:///a/mare.yaml".to_owned() };
        assert_eq!(read(r#"{"do": "load", "uri": "file:///a/mare.yaml"}"#), Ok(Request::Command(load)));
        assert_eq!(read(r#"{"do": "pace", "times": 2}"#), Ok(Request::Command(RunCommand::Pace { times: 2.0 })));
    }

    #[test]
    fn what_is_no_question_is_refused() {
        for broken in [
            "",
            "[]",
            "{}",
            r#"{"do": "format_disk"}"#,
            r#"{"do": "pace"}"#,
            r#"{"do": "state", "after": -1}"#,
            r#"{"do": "state", "after": 1, "more": 2}"#,
            r#"{"do": "image", "topic": "/a", "after": 1, "look": "huge"}"#,
        ] {
            assert!(read(broken).is_err(), "{broken}");
        }
    }
}

//! What a client and the server say to each other over one WebSocket (docs/console.md).
//!
//! A client asks in JSON, `{"do": …}`. The server answers each question once: in JSON, `{"is": …}`, or with a binary
//! frame: the length of a JSON header (u32, little-endian), the header, and bytes. Numbers of messages count from 1
//! for each topic; a client that says the number that it has gets a newer one or waits for it.

use axum::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::picture::Look;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// The state of the run, newer than number `after`.
    State { after: u64 },
    /// Where each frame stands.
    Frames,
    /// The ways driven so far, the places that the scenario names, what can be spawned, and which scenarios there are.
    Paths,
    /// A picture of an image topic.
    Image { topic: String, after: u64, look: Look },
    /// What a camera's image shows, in boxes.
    Boxes { topic: String, after: u64 },
    /// The points of a cloud, in `map`.
    Points { topic: String, after: u64 },
    /// The ground around a rover.
    Ground { rover: String, span: Span, after: u64 },
    /// The rocks around a rover.
    Rocks { rover: String, after: u64 },
    /// Shows the token, once.
    Token { token: String },
    /// Changes the run; needs the token.
    #[serde(untagged)]
    Order(Order),
}

/// What changes the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Order {
    /// Lets time pass.
    Play,
    /// Holds time.
    Pause,
    /// So many heartbeats while time stands.
    Step { heartbeats: u64 },
    /// Back to where the run began.
    Reset,
    /// Simulated seconds a second; 0 is as fast as it goes.
    Pace { times: f64 },
    /// Where Sun, Earth and stars stand at simulated time zero.
    Sun { utc: String },
    /// A lamp by the name of its parameter.
    Lamp { lamp: String, level: f64 },
    /// A loose rock at a place in `map`.
    Rock { x_m: f64, y_m: f64, diameter_m: f64 },
    /// A rover or an object of the configuration at a place in `map`, by its URI.
    Spawn { uri: String, x_m: f64, y_m: f64 },
    /// Drives a rover until told otherwise or for as long as the dead-man rule allows.
    Drive { rover: String, forward_m_s: f64, turn_rad_s: f64 },
    /// Drives a rover toward a place in `map`, for as long as the dead-man rule allows.
    GoTo { rover: String, x_m: f64, y_m: f64, speed_m_s: f64 },
    /// Stops a rover.
    Halt { rover: String },
    /// Goes over to a scenario by its URI: this world ends, and that one begins.
    Load { uri: String },
}

impl Order {
    /// As the client calls it.
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

/// How much ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Span {
    /// 12 m: ruts.
    Near,
    /// 40 m.
    Around,
    /// 160 m.
    Far,
}

impl Span {
    /// Its side, m.
    pub(crate) fn side_m(self) -> f64 {
        match self {
            Self::Near => 12.0,
            Self::Around => 40.0,
            Self::Far => 160.0,
        }
    }
}

/// What came of a question that has no other answer, or of an order.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    is: &'static str,
    /// What the client asked for: `image`, `pause`.
    about: &'static str,
    /// Its topic or rover, where it named one.
    to: &'a str,
    ok: bool,
    text: &'a str,
}

impl<'a> Answer<'a> {
    /// That what `about` asks of `to` was done, or why not.
    pub(crate) fn of(about: &'static str, to: &'a str, outcome: Result<&'a str, &'a str>) -> Self {
        let (Ok(text) | Err(text)) = outcome;
        Self { is: "answer", about, to, ok: outcome.is_ok(), text }
    }
}

/// A binary frame.
pub(crate) fn frame(header: &impl Serialize, payload: &[u8]) -> Result<Bytes, String> {
    let header = serde_json::to_vec(header).map_err(|error| error.to_string())?;
    let length = u32::try_from(header.len()).map_err(|error| error.to_string())?;
    Ok(Bytes::from([&length.to_le_bytes()[..], &header[..], payload].concat()))
}

#[cfg(test)]
mod tests {
    use super::{Order, Request, Span};
    use crate::picture::Look;

    fn read(text: &str) -> Result<Request, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn questions_and_orders_are_read() {
        let image = r#"{"do": "image", "topic": "/navcam/image_raw", "after": 3, "look": "small"}"#;
        let expected = Request::Image { topic: "/navcam/image_raw".to_owned(), after: 3, look: Look::Small };
        assert_eq!(read(image), Ok(expected));
        let ground = r#"{"do": "ground", "rover": "/viper", "span": "near", "after": 0}"#;
        assert_eq!(read(ground), Ok(Request::Ground { rover: "/viper".to_owned(), span: Span::Near, after: 0 }));
        assert_eq!(read(r#"{"do": "pause"}"#), Ok(Request::Order(Order::Pause)));
        let spawn = Order::Spawn { uri: "file:///a/viper.yaml".to_owned(), x_m: 1.5, y_m: -2.0 };
        let asked = r#"{"do": "spawn", "uri": "file:///a/viper.yaml", "x_m": 1.5, "y_m": -2.0}"#;
        assert_eq!(read(asked), Ok(Request::Order(spawn)));
        let load = Order::Load { uri: "file:///a/mare.yaml".to_owned() };
        assert_eq!(read(r#"{"do": "load", "uri": "file:///a/mare.yaml"}"#), Ok(Request::Order(load)));
        assert_eq!(read(r#"{"do": "pace", "times": 2}"#), Ok(Request::Order(Order::Pace { times: 2.0 })));
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

//! The connection of one client. One task reads and writes concurrently; each request is answered on a task of its own,
//! so that waiting for a picture delays nothing else. The number of open requests of a client is limited, and so is the
//! queue of answers to write: a client that stops reading is given up, and its connection ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use selene_base::Pose;
use selene_ros::grid_map_msgs::GridMap;
use selene_ros::selene_msgs::Rocks;
use selene_ros::sensor_msgs::{Image, PointCloud2};
use selene_ros::vision_msgs::{Detection2DArray, Point2D};
use selene_ros::{Message as RosMessage, Qos, decode};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::catalogue::Kind;
use crate::control::Setting;
use crate::counts::RefusalReason;
use crate::drive::Motion;
use crate::feed::{Newest, TopicFeed};
use crate::picture::PictureSize;
use crate::protocol::{Answer, Request, RunCommand, Span};
use crate::server::Server;
use crate::{cloud, ground};

/// Greatest number of open requests, and of answers in the queue to be written.
const OPEN_MAX: usize = 32;
/// Greatest number of topics that a client watches at once.
const WATCHED_MAX: usize = 32;
/// Time limit for writing one answer; after it the client counts as gone.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Time limit for closing a connection.
const CLOSE_MAX: Duration = Duration::from_secs(1);
/// Greatest mean rate of messages from a client, and how many messages it may be ahead of that rate.
const RATE_MAX_HZ: f64 = 300.0;
const BURST_MAX: f64 = 600.0;
/// Name of the request for the ground in answers to it.
const GROUND: &str = "ground";
/// Number of invalid messages after which the connection ends.
const BROKEN_MAX: u32 = 8;

/// Serves a client until it leaves or is given up; then stops the rovers that it drives.
pub(crate) async fn run(server: Arc<Server>, client: u64, socket: WebSocket, seat: OwnedSemaphorePermit) {
    let (mut to_client, from_client) = socket.split();
    let (answers, outbox) = mpsc::channel(OPEN_MAX);
    let mut session = Session {
        client,
        answers,
        open: JoinSet::new(),
        watched: BTreeMap::new(),
        is_trusted: false,
        broken: 0,
        flow: Flow::new(Instant::now()),
        server: Arc::clone(&server),
    };
    tokio::select! {
        () = session.read(from_client) => {}
        () = write(outbox, &mut to_client) => {}
    }
    server.drives.release(client, server.time());
    close(&mut to_client).await;
    drop(seat);
}

/// Answers a client's farewell, or says it; one that does not read is not waited for.
pub(crate) async fn close(to_client: &mut SplitSink<WebSocket, Message>) {
    let _ = timeout(CLOSE_MAX, to_client.close()).await;
}

async fn write(mut outbox: mpsc::Receiver<Message>, to_client: &mut SplitSink<WebSocket, Message>) {
    while let Some(message) = outbox.recv().await {
        if !matches!(timeout(WRITE_MAX, to_client.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// Limits the rate of a client's messages by a leaky bucket.
pub(crate) struct Flow {
    level: f64,
    since: Instant,
}

impl Flow {
    pub(crate) fn new(now: Instant) -> Self {
        Self { level: 0.0, since: now }
    }

    /// Counts a message. Returns whether the client exceeds its rate.
    pub(crate) fn is_flood(&mut self, now: Instant) -> bool {
        let passed_s = now.duration_since(self.since).as_secs_f64();
        self.level = (self.level - RATE_MAX_HZ * passed_s).max(0.0) + 1.0;
        self.since = now;
        self.level > BURST_MAX
    }
}

struct Session {
    server: Arc<Server>,
    client: u64,
    answers: mpsc::Sender<Message>,
    open: JoinSet<()>,
    /// The topics that the client watches, by name: the console subscribes to them until the client leaves.
    watched: BTreeMap<String, Arc<TopicFeed>>,
    /// Whether the client sent the right token.
    is_trusted: bool,
    broken: u32,
    flow: Flow,
}

/// The client is to be disconnected.
struct Disconnected;

impl Session {
    async fn read(&mut self, mut from_client: SplitStream<WebSocket>) {
        while let Some(message) = from_client.next().await {
            let message = match message {
                Ok(message) => message,
                Err(error) => return self.lost(error),
            };
            if self.flow.is_flood(Instant::now()) {
                self.server.counts.add(RefusalReason::Flood);
                return;
            }
            while self.open.try_join_next().is_some() {}
            let taken = match message {
                Message::Text(text) => self.take(text.as_str()),
                Message::Binary(_) => self.refuse("messages are text"),
                // The library answers pings.
                Message::Ping(_) | Message::Pong(_) => Ok(()),
                Message::Close(_) => return,
            };
            if taken.is_err() {
                return;
            }
        }
    }

    /// Counts a lost connection as a refusal if the client broke the protocol, and not if it just left.
    fn lost(&self, error: axum::Error) {
        if breaks_protocol(error) {
            self.server.counts.add(RefusalReason::Message);
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Disconnected> {
        match serde_json::from_str(text) {
            Ok(Request::Token { token }) => self.trust(&token),
            Ok(Request::Command(command)) => self.obey(command),
            Ok(question) => self.answer(question),
            Err(_) => self.refuse("no message that the console knows"),
        }
    }

    /// Counts an invalid message; too many end the connection.
    fn refuse(&mut self, why: &str) -> Result<(), Disconnected> {
        self.server.counts.add(RefusalReason::Message);
        self.broken += 1;
        self.send_status("message", "message", Err(why));
        if self.broken < BROKEN_MAX { Ok(()) } else { Err(Disconnected) }
    }

    /// Reports an outcome to the client, unless its queue is full because it does not read.
    fn send_status(&self, about: &'static str, to: &str, outcome: Result<&str, &str>) {
        if let Some(text) = answer(about, to, outcome) {
            let _ = self.answers.try_send(text);
        }
    }

    /// Checks a token; a wrong one ends the connection.
    fn trust(&mut self, token: &str) -> Result<(), Disconnected> {
        match self.server.check(token) {
            None => self.send_status("token", "token", Err("control is off: start Selene with --console-control")),
            Some(true) => {
                self.is_trusted = true;
                self.send_status("token", "token", Ok("you have control"));
            }
            Some(false) => {
                self.server.counts.add(RefusalReason::Token);
                return Err(Disconnected);
            }
        }
        Ok(())
    }

    /// Starts to answer a request.
    fn answer(&mut self, question: Request) -> Result<(), Disconnected> {
        match question {
            Request::State { after } => self.state(after),
            Request::Frames => self.reply(|server| server.known().frames()),
            Request::Paths => self.reply(|server| server.known().paths()),
            Request::Image { topic, after, look } => {
                self.show::<Image>(MessageForm::Picture(look), Kind::Image, topic, after)
            }
            Request::Points { topic, after } => {
                self.show::<PointCloud2>(MessageForm::Points, Kind::Points, topic, after)
            }
            Request::Boxes { topic, after } => {
                self.show::<Detection2DArray>(MessageForm::Boxes, Kind::Boxes, topic, after)
            }
            Request::Ground { rover, span, after } => self.ground(rover, span, after),
            Request::Rocks { rover, after } => self.rocks(rover, after),
            Request::Token { .. } | Request::Command(_) => Ok(()),
        }
    }

    /// Answers on a task of its own; too many open requests end the connection.
    fn spawn(&mut self, made: impl Future<Output = Option<Message>> + Send + 'static) -> Result<(), Disconnected> {
        if self.open.len() >= OPEN_MAX {
            self.server.counts.add(RefusalReason::Flood);
            return Err(Disconnected);
        }
        let answers = self.answers.clone();
        self.open.spawn(async move {
            if let Some(message) = made.await {
                // The client may have left.
                let _ = answers.send(message).await;
            }
        });
        Ok(())
    }

    fn state(&mut self, after: u64) -> Result<(), Disconnected> {
        let mut reported = self.server.reported.clone();
        self.spawn(async move {
            let reported = reported.wait_for(|reported| reported.number > after).await.ok()?;
            Some(Message::Text(reported.state.clone()))
        })
    }

    fn reply(&mut self, text: fn(&Server) -> Result<String, serde_json::Error>) -> Result<(), Disconnected> {
        let server = Arc::clone(&self.server);
        self.spawn(async move { text(&server).ok().map(Message::from) })
    }

    /// Answers with the newest message of a topic after number `after`, or with an error if there is no such topic.
    fn show<M: RosMessage>(
        &mut self,
        view: MessageForm,
        kind: Kind,
        topic: String,
        after: u64,
    ) -> Result<(), Disconnected> {
        if !self.server.known().catalogue.has(&topic, kind) {
            self.send_status(view.word(), &topic, Err("there is no such topic"));
            return Ok(());
        }
        let feed = self.watched::<M>(&topic, Qos::sensor_data());
        self.show_feed(view, topic, feed, after)
    }

    fn show_feed(
        &mut self,
        view: MessageForm,
        name: String,
        feed: Result<Arc<TopicFeed>, String>,
        after: u64,
    ) -> Result<(), Disconnected> {
        let feed = match feed {
            Ok(feed) => feed,
            Err(why) => {
                self.send_status(view.word(), &name, Err(&why));
                return Ok(());
            }
        };
        let server = Arc::clone(&self.server);
        self.spawn(async move {
            let newest = feed.after(after).await?;
            match view.of(&server, &name, &feed, newest).await {
                Ok(message) => Some(message),
                Err(why) => answer(view.word(), &name, Err(&why)),
            }
        })
    }

    /// The feed of a topic, which the console subscribes to until the client leaves.
    fn watched<M: RosMessage>(&mut self, topic: &str, qos: Qos) -> Result<Arc<TopicFeed>, String> {
        if let Some(feed) = self.watched.get(topic) {
            return Ok(Arc::clone(feed));
        }
        if self.watched.len() >= WATCHED_MAX {
            return Err(format!("a page watches at most {WATCHED_MAX} topics; load it again"));
        }
        let feed = self.server.feeds.get::<M>(topic, qos).map_err(|error| error.to_string())?;
        self.watched.insert(topic.to_owned(), Arc::clone(&feed));
        Ok(feed)
    }

    /// Answers with the ground around a rover, and repeats the request to the run until a map of this size arrives:
    /// maps of other sizes on the same topic answer other requests.
    fn ground(&mut self, rover: String, span: Span, mut after: u64) -> Result<(), Disconnected> {
        let Some(frame) = self.server.known().rovers.get(&rover).map(|of| of.frame.clone()) else {
            self.send_status(GROUND, &rover, Err("there is no such rover"));
            return Ok(());
        };
        let feed = match self.watched::<GridMap>(&format!("{rover}/ground_truth/map"), Qos::latched()) {
            Ok(feed) => feed,
            Err(why) => {
                self.send_status(GROUND, &rover, Err(&why));
                return Ok(());
            }
        };
        let server = Arc::clone(&self.server);
        self.spawn(async move {
            loop {
                if let Err(error) = server.maps.request(&rover, &frame, span, server.time()) {
                    return answer(GROUND, &rover, Err(&error.to_string()));
                }
                let Ok(newest) = timeout(ground::REQUEST_EVERY, feed.after(after)).await else { continue };
                let newest = newest?;
                after = newest.number;
                match read(&newest).map(|map: GridMap| ground::frame(&rover, newest.number, &map, span)) {
                    Ok(Some(Ok(frame))) => return Some(Message::Binary(frame)),
                    Ok(Some(Err(why))) | Err(why) => return answer(GROUND, &rover, Err(&why)),
                    Ok(None) => {}
                }
            }
        })
    }

    fn rocks(&mut self, rover: String, after: u64) -> Result<(), Disconnected> {
        if !self.server.known().rovers.contains_key(&rover) {
            self.send_status(MessageForm::Rocks.word(), &rover, Err("there is no such rover"));
            return Ok(());
        }
        let feed = self.watched::<Rocks>(&format!("{rover}/ground_truth/rocks"), Qos::latched());
        self.show_feed(MessageForm::Rocks, rover, feed, after)
    }

    /// Carries out an order if the client has sent the token.
    fn obey(&mut self, command: RunCommand) -> Result<(), Disconnected> {
        let word = command.word();
        if !self.is_trusted {
            self.server.counts.add(RefusalReason::Token);
            self.send_status(word, word, Err("this needs the token that Selene printed when it began"));
            return Ok(());
        }
        let driven = match command {
            RunCommand::Drive { rover, forward_m_s, turn_rad_s } => {
                self.drive(&rover, |_| Motion { forward_m_s, turn_rad_s }).map(|_| String::new())
            }
            RunCommand::Halt { rover } => self.drive(&rover, |_| Motion::default()).map(|_| "stopped".to_owned()),
            RunCommand::GoTo { speed_m_s, .. } if speed_m_s <= 0.0 => Err(format!("{speed_m_s} m/s: must be above 0")),
            RunCommand::GoTo { rover, x_m, y_m, speed_m_s } => {
                let motion = self.drive(&rover, |pose| Motion::toward(pose, [x_m, y_m], speed_m_s));
                let has_arrived = |motion: &Motion| *motion == Motion::default();
                let reported = || format!("arrived at x {x_m:.3} m, y {y_m:.3} m");
                motion.map(|motion| has_arrived(&motion).then(reported).unwrap_or_default())
            }
            other => {
                let server = Arc::clone(&self.server);
                return self.spawn(async move {
                    let outcome = carry_out(&server, other).await;
                    answer(word, word, outcome.as_deref().map_err(String::as_str))
                });
            }
        };
        match driven {
            // A page repeats its drive commands ten times a second: without news they are not answered.
            Ok(reported) if reported.is_empty() => {}
            Ok(reported) => self.send_status(word, word, Ok(&reported)),
            Err(why) => self.send_status(word, word, Err(&why)),
        }
        Ok(())
    }

    /// Sends a rover the motion that `motion` computes from its pose in `map`.
    fn drive(&self, rover: &str, motion: impl Fn(&Pose) -> Motion) -> Result<Motion, String> {
        let (pose, time) = {
            let known = self.server.known();
            (known.rovers.get(rover).map(|of| of.pose), known.time)
        };
        let motion = motion(&pose.ok_or_else(|| format!("there is no rover {rover:?}"))?);
        self.server.drives.drive(self.client, rover, motion, (Instant::now(), time)).map(|()| motion)
    }
}

/// Whether an error means that the client broke the WebSocket protocol, and not that it just left.
pub(crate) fn breaks_protocol(error: axum::Error) -> bool {
    use tungstenite::Error;
    use tungstenite::error::ProtocolError;
    match error.into_inner().downcast_ref::<Error>() {
        Some(Error::Protocol(fault)) => *fault != ProtocolError::ResetWithoutClosingHandshake,
        Some(Error::Capacity(_) | Error::Utf8(_) | Error::AttackAttempt) => true,
        _ => false,
    }
}

/// The form in which a client gets a message.
#[derive(Clone, Copy)]
enum MessageForm {
    Picture(PictureSize),
    Points,
    Boxes,
    Rocks,
}

impl MessageForm {
    /// Its name in requests and answers.
    fn word(self) -> &'static str {
        match self {
            Self::Picture(_) => "image",
            Self::Points => "points",
            Self::Boxes => "boxes",
            Self::Rocks => "rocks",
        }
    }

    /// The newest message of topic or rover `name` in this form.
    async fn of(self, server: &Server, name: &str, feed: &TopicFeed, newest: Newest) -> Result<Message, String> {
        match self {
            Self::Picture(look) => feed.compressed.picture(name, newest, look).await.map(Message::Binary),
            Self::Points => points(server, name, &newest).map(Message::Binary),
            Self::Boxes => boxes(name, &newest).map(Message::from),
            Self::Rocks => ground::rocks(name, newest.number, &read(&newest)?).map(Message::Binary),
        }
    }
}

fn read<M: RosMessage>(newest: &Newest) -> Result<M, String> {
    decode(&newest.message).map_err(|error| error.to_string())
}

fn points(server: &Server, topic: &str, newest: &Newest) -> Result<Bytes, String> {
    let points: PointCloud2 = read(newest)?;
    let frame = &points.header.frame_id;
    let map_from_sensor = server.known().tree.map_from(frame);
    let map_from_sensor = map_from_sensor.ok_or_else(|| format!("TF does not contain {frame}"))?;
    cloud::frame(topic, newest.number, &points, &map_from_sensor)
}

/// The bounding boxes of an image as JSON: class, centre (x, y) and size, px.
fn boxes(topic: &str, newest: &Newest) -> Result<String, String> {
    let message: Detection2DArray = read(newest)?;
    let boxes = message.detections.iter().map(|detection| {
        let what = detection.results.first().map(|result| result.hypothesis.class_id.as_str());
        let Point2D { x, y } = detection.bbox.center.position;
        (what.unwrap_or("unknown"), [x, y], [detection.bbox.size_x, detection.bbox.size_y])
    });
    let boxes: Vec<_> = boxes.collect();
    let reported = json!({ "is": "boxes", "topic": topic, "number": newest.number, "boxes": boxes });
    Ok(reported.to_string())
}

/// An answer as a message, if it can be serialized.
fn answer(about: &'static str, to: &str, outcome: Result<&str, &str>) -> Option<Message> {
    serde_json::to_string(&Answer::of(about, to, outcome)).ok().map(Message::from)
}

/// Carries out an order through the simulation's services; the result in words, for the user.
async fn carry_out(server: &Server, command: RunCommand) -> Result<String, String> {
    let control = &server.control;
    let done = |what: &str| what.to_owned();
    match command {
        RunCommand::Play => control.play(true).await.map(|()| done("time passes")),
        RunCommand::Pause => control.play(false).await.map(|()| done("time stands")),
        RunCommand::Step { heartbeats } => {
            control.step(heartbeats).await.map(|()| format!("{heartbeats} heartbeats made"))
        }
        RunCommand::Reset => control.reset().await.map(|()| done("back at the beginning")),
        RunCommand::Pace { times } => {
            control.set("pace", Setting::Number(times)).await.map(|()| format!("pace {times}"))
        }
        RunCommand::Sun { utc } => {
            control.set("utc", Setting::Text(&utc)).await.map(|()| format!("the sky is that of {utc}"))
        }
        RunCommand::Lamp { lamp, level } => control.light(&lamp, level).await.map(|()| format!("{lamp} {level}")),
        RunCommand::Rock { x_m, y_m, diameter_m } => {
            control.rock([x_m, y_m], diameter_m).await.map(|name| format!("{name} is there"))
        }
        RunCommand::Spawn { uri, x_m, y_m } => {
            if !server.known().spawnables.iter().any(|known| known.uri == uri) {
                return Err(format!("{uri:?} is none of the rovers and objects that the run offers"));
            }
            control.spawn(&uri, [x_m, y_m]).await.map(|name| format!("{name} is there"))
        }
        RunCommand::Load { uri } => {
            let name = server.known().name_of_scenario(&uri);
            let name = name.ok_or_else(|| format!("{uri:?} is none of the scenarios that the run offers"))?;
            control.load(&uri).await.map(|()| format!("the run switches to {name}"))
        }
        // `obey` deals with them.
        RunCommand::Drive { .. } | RunCommand::GoTo { .. } | RunCommand::Halt { .. } => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::{BURST_MAX, Flow, RATE_MAX_HZ};
    use std::time::{Duration, Instant};

    #[test]
    fn a_burst_is_no_flood_and_a_flood_is() {
        let begun = Instant::now();
        let mut flow = Flow::new(begun);
        assert!((0..BURST_MAX as u32).all(|_| !flow.is_flood(begun)));
        assert!(flow.is_flood(begun));
        let mut steady = Flow::new(begun);
        let at = |message: u32| begun + Duration::from_secs_f64(f64::from(message) / (0.9 * RATE_MAX_HZ));
        assert!((0..10_000).all(|message| !steady.is_flood(at(message))));
    }
}

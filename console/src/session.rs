//! One client. Reading and writing go on beside each other on one task; a question is answered on a task of its own, so
//! that a picture that is waited for keeps nothing else waiting. A client has a few questions open at most, and the
//! answers that wait to be written are bounded by them: a client that does not read is written no more, and its
//! connection ends.

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
use crate::counts::Refusal;
use crate::drive::Motion;
use crate::feed::{Feed, Newest};
use crate::picture::Look;
use crate::protocol::{Answer, Order, Request, Span};
use crate::server::Server;
use crate::{cloud, ground};

/// Questions that are open at once, and answers that wait to be written.
const OPEN_MAX: usize = 32;
/// Topics that a client watches at once.
const WATCHED_MAX: usize = 32;
/// How long an answer is written before the client counts as gone.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// Messages a second that a client sends in the long run, and that it may be ahead of that.
const RATE_MAX_HZ: f64 = 300.0;
const BURST_MAX: f64 = 600.0;
/// What a client calls the ground.
const GROUND: &str = "ground";
/// Messages that are none, before a client is given up.
const BROKEN_MAX: u32 = 8;

/// Serves a client until it goes or is given up; what it drives stops.
pub(crate) async fn run(server: Arc<Server>, client: u64, socket: WebSocket, seat: OwnedSemaphorePermit) {
    let (to_client, from_client) = socket.split();
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
        () = write(outbox, to_client) => {}
    }
    server.drives.release(client, server.time());
    drop(seat);
}

async fn write(mut outbox: mpsc::Receiver<Message>, mut to_client: SplitSink<WebSocket, Message>) {
    while let Some(message) = outbox.recv().await {
        if !matches!(timeout(WRITE_MAX, to_client.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// How many messages came: a bucket that runs out at a rate.
pub(crate) struct Flow {
    level: f64,
    since: Instant,
}

impl Flow {
    pub(crate) fn new(now: Instant) -> Self {
        Self { level: 0.0, since: now }
    }

    /// Counts a message; whether that is too fast.
    pub(crate) fn is_flood(&mut self, now: Instant) -> bool {
        let passed_s = now.duration_since(self.since).as_secs_f64();
        self.level = (self.level - RATE_MAX_HZ * passed_s).max(0.0) + 1.0;
        self.since = now;
        self.level > BURST_MAX
    }
}

/// A client.
struct Session {
    server: Arc<Server>,
    client: u64,
    answers: mpsc::Sender<Message>,
    open: JoinSet<()>,
    /// Topics that it watches: they are heard as long as it is there.
    watched: BTreeMap<String, Arc<Feed>>,
    /// Whether it showed the token.
    is_trusted: bool,
    broken: u32,
    flow: Flow,
}

/// Why a client is given up.
struct Ended;

impl Session {
    async fn read(&mut self, mut from_client: SplitStream<WebSocket>) {
        while let Some(message) = from_client.next().await {
            let message = match message {
                Ok(message) => message,
                Err(error) => return self.lost(error),
            };
            if self.flow.is_flood(Instant::now()) {
                self.server.counts.add(Refusal::Flood);
                return;
            }
            while self.open.try_join_next().is_some() {}
            let taken = match message {
                Message::Text(text) => self.take(text.as_str()),
                Message::Binary(_) => self.refuse("messages are text"),
                // Answered by the library.
                Message::Ping(_) | Message::Pong(_) => Ok(()),
                Message::Close(_) => return,
            };
            if taken.is_err() {
                return;
            }
        }
    }

    /// A client that has just gone broke nothing.
    fn lost(&self, error: axum::Error) {
        if breaks_protocol(error) {
            self.server.counts.add(Refusal::Message);
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Ended> {
        match serde_json::from_str(text) {
            Ok(Request::Token { token }) => self.trust(&token),
            Ok(Request::Order(order)) => self.obey(order),
            Ok(question) => self.answer(question),
            Err(_) => self.refuse("no message that the console knows"),
        }
    }

    /// Counts a message that is none; too many end the connection.
    fn refuse(&mut self, why: &str) -> Result<(), Ended> {
        self.server.counts.add(Refusal::Message);
        self.broken += 1;
        self.say("message", "message", Err(why));
        if self.broken < BROKEN_MAX { Ok(()) } else { Err(Ended) }
    }

    /// Says what came of something; a client that does not read its answers gets none.
    fn say(&self, about: &'static str, to: &str, outcome: Result<&str, &str>) {
        if let Some(text) = answer(about, to, outcome) {
            let _ = self.answers.try_send(text);
        }
    }

    /// Takes a token; a wrong one ends the connection.
    fn trust(&mut self, token: &str) -> Result<(), Ended> {
        match self.server.check(token) {
            None => self.say("token", "token", Err("control is off: start Selene with --console-control")),
            Some(true) => {
                self.is_trusted = true;
                self.say("token", "token", Ok("you have control"));
            }
            Some(false) => {
                self.server.counts.add(Refusal::Token);
                return Err(Ended);
            }
        }
        Ok(())
    }

    /// Begins to answer.
    fn answer(&mut self, question: Request) -> Result<(), Ended> {
        match question {
            Request::State { after } => self.state(after),
            Request::Frames => self.tell(|server| server.known().frames()),
            Request::Paths => self.tell(|server| server.known().paths()),
            Request::Image { topic, after, look } => self.show::<Image>(View::Picture(look), Kind::Image, topic, after),
            Request::Points { topic, after } => self.show::<PointCloud2>(View::Points, Kind::Points, topic, after),
            Request::Boxes { topic, after } => self.show::<Detection2DArray>(View::Boxes, Kind::Boxes, topic, after),
            Request::Ground { rover, span, after } => self.ground(rover, span, after),
            Request::Rocks { rover, after } => self.rocks(rover, after),
            Request::Token { .. } | Request::Order(_) => Ok(()),
        }
    }

    /// Answers on a task of its own; with too many open the connection ends.
    fn spawn(&mut self, made: impl Future<Output = Option<Message>> + Send + 'static) -> Result<(), Ended> {
        if self.open.len() >= OPEN_MAX {
            self.server.counts.add(Refusal::Flood);
            return Err(Ended);
        }
        let answers = self.answers.clone();
        self.open.spawn(async move {
            if let Some(message) = made.await {
                // Who asked may be gone.
                let _ = answers.send(message).await;
            }
        });
        Ok(())
    }

    fn state(&mut self, after: u64) -> Result<(), Ended> {
        let mut told = self.server.told.clone();
        self.spawn(async move {
            let told = told.wait_for(|told| told.number > after).await.ok()?;
            Some(Message::Text(told.state.clone()))
        })
    }

    fn tell(&mut self, text: fn(&Server) -> Result<String, serde_json::Error>) -> Result<(), Ended> {
        let server = Arc::clone(&self.server);
        self.spawn(async move { text(&server).ok().map(Message::from) })
    }

    /// Shows the newest message of a topic, if there is such a topic.
    fn show<M: RosMessage>(&mut self, view: View, kind: Kind, topic: String, after: u64) -> Result<(), Ended> {
        if !self.server.known().catalogue.has(&topic, kind) {
            self.say(view.word(), &topic, Err("there is no such topic"));
            return Ok(());
        }
        let feed = self.watched::<M>(&topic, Qos::sensor_data());
        self.show_feed(view, topic, feed, after)
    }

    fn show_feed(
        &mut self,
        view: View,
        name: String,
        feed: Result<Arc<Feed>, String>,
        after: u64,
    ) -> Result<(), Ended> {
        let feed = match feed {
            Ok(feed) => feed,
            Err(why) => {
                self.say(view.word(), &name, Err(&why));
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

    /// A topic, heard from now on.
    fn watched<M: RosMessage>(&mut self, topic: &str, qos: Qos) -> Result<Arc<Feed>, String> {
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

    /// The ground around a rover, which is asked for again until it comes. Maps of other sizes are answers to others.
    fn ground(&mut self, rover: String, span: Span, mut after: u64) -> Result<(), Ended> {
        let Some(frame) = self.server.known().rovers.get(&rover).map(|of| of.frame.clone()) else {
            self.say(GROUND, &rover, Err("there is no such rover"));
            return Ok(());
        };
        let feed = match self.watched::<GridMap>(&format!("{rover}/ground_truth/map"), Qos::latched()) {
            Ok(feed) => feed,
            Err(why) => {
                self.say(GROUND, &rover, Err(&why));
                return Ok(());
            }
        };
        let server = Arc::clone(&self.server);
        self.spawn(async move {
            loop {
                if let Err(error) = server.maps.ask(&rover, &frame, span, server.time()) {
                    return answer(GROUND, &rover, Err(&error.to_string()));
                }
                let Ok(newest) = timeout(ground::ASK_EVERY, feed.after(after)).await else { continue };
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

    fn rocks(&mut self, rover: String, after: u64) -> Result<(), Ended> {
        if !self.server.known().rovers.contains_key(&rover) {
            self.say(View::Rocks.word(), &rover, Err("there is no such rover"));
            return Ok(());
        }
        let feed = self.watched::<Rocks>(&format!("{rover}/ground_truth/rocks"), Qos::latched());
        self.show_feed(View::Rocks, rover, feed, after)
    }

    /// Carries out an order of who showed the token.
    fn obey(&mut self, order: Order) -> Result<(), Ended> {
        let word = order.word();
        if !self.is_trusted {
            self.server.counts.add(Refusal::Token);
            self.say(word, word, Err("this needs the token that Selene printed when it began"));
            return Ok(());
        }
        let driven = match order {
            Order::Drive { rover, forward_m_s, turn_rad_s } => {
                self.drive(&rover, |_| Motion { forward_m_s, turn_rad_s }).map(|_| String::new())
            }
            Order::Halt { rover } => self.drive(&rover, |_| Motion::default()).map(|_| "stopped".to_owned()),
            Order::GoTo { speed_m_s, .. } if speed_m_s <= 0.0 => Err(format!("{speed_m_s} m/s: must be above 0")),
            Order::GoTo { rover, x_m, y_m, speed_m_s } => {
                let motion = self.drive(&rover, |pose| Motion::toward(pose, [x_m, y_m], speed_m_s));
                let has_arrived = |motion: &Motion| *motion == Motion::default();
                let told = || format!("arrived at x {x_m:.3} m, y {y_m:.3} m");
                motion.map(|motion| has_arrived(&motion).then(told).unwrap_or_default())
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
            // What goes on is not told ten times a second.
            Ok(told) if told.is_empty() => {}
            Ok(told) => self.say(word, word, Ok(&told)),
            Err(why) => self.say(word, word, Err(&why)),
        }
        Ok(())
    }

    /// Moves a rover by where it is.
    fn drive(&self, rover: &str, motion: impl Fn(&Pose) -> Motion) -> Result<Motion, String> {
        let (pose, time) = {
            let known = self.server.known();
            (known.rovers.get(rover).map(|of| of.pose), known.time)
        };
        let motion = motion(&pose.ok_or_else(|| format!("there is no rover {rover:?}"))?);
        self.server.drives.drive(self.client, rover, motion, (Instant::now(), time)).map(|()| motion)
    }
}

/// Whether a client said what no client may say, or has just gone.
pub(crate) fn breaks_protocol(error: axum::Error) -> bool {
    use tungstenite::Error;
    use tungstenite::error::ProtocolError;
    match error.into_inner().downcast_ref::<Error>() {
        Some(Error::Protocol(fault)) => *fault != ProtocolError::ResetWithoutClosingHandshake,
        Some(Error::Capacity(_) | Error::Utf8(_) | Error::AttackAttempt) => true,
        _ => false,
    }
}

/// What a client sees of a message.
#[derive(Clone, Copy)]
enum View {
    Picture(Look),
    Points,
    Boxes,
    Rocks,
}

impl View {
    /// As the client calls it.
    fn word(self) -> &'static str {
        match self {
            Self::Picture(_) => "image",
            Self::Points => "points",
            Self::Boxes => "boxes",
            Self::Rocks => "rocks",
        }
    }

    /// A message of topic or rover `name`.
    async fn of(self, server: &Server, name: &str, feed: &Feed, newest: Newest) -> Result<Message, String> {
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
    let map_from_sensor = map_from_sensor.ok_or_else(|| format!("TF does not tell where {frame} is"))?;
    cloud::frame(topic, newest.number, &points, &map_from_sensor)
}

/// The boxes of an image as JSON: what, middle and size, px.
fn boxes(topic: &str, newest: &Newest) -> Result<String, String> {
    let message: Detection2DArray = read(newest)?;
    let boxes = message.detections.iter().map(|detection| {
        let what = detection.results.first().map(|result| result.hypothesis.class_id.as_str());
        let Point2D { x, y } = detection.bbox.center.position;
        (what.unwrap_or("unknown"), [x, y], [detection.bbox.size_x, detection.bbox.size_y])
    });
    let boxes: Vec<_> = boxes.collect();
    let told = json!({ "is": "boxes", "topic": topic, "number": newest.number, "boxes": boxes });
    Ok(told.to_string())
}

/// An answer, if it can be written.
fn answer(about: &'static str, to: &str, outcome: Result<&str, &str>) -> Option<Message> {
    serde_json::to_string(&Answer::of(about, to, outcome)).ok().map(Message::from)
}

/// What the simulation makes of an order, in words.
async fn carry_out(server: &Server, order: Order) -> Result<String, String> {
    let control = &server.control;
    let done = |what: &str| what.to_owned();
    match order {
        Order::Play => control.play(true).await.map(|()| done("time passes")),
        Order::Pause => control.play(false).await.map(|()| done("time stands")),
        Order::Step { heartbeats } => control.step(heartbeats).await.map(|()| format!("{heartbeats} heartbeats made")),
        Order::Reset => control.reset().await.map(|()| done("back at the beginning")),
        Order::Pace { times } => control.set("pace", Setting::Number(times)).await.map(|()| format!("pace {times}")),
        Order::Sun { utc } => {
            control.set("utc", Setting::Text(&utc)).await.map(|()| format!("the sky is that of {utc}"))
        }
        Order::Lamp { lamp, level } => control.light(&lamp, level).await.map(|()| format!("{lamp} {level}")),
        Order::Rock { x_m, y_m, diameter_m } => {
            control.rock([x_m, y_m], diameter_m).await.map(|name| format!("{name} is there"))
        }
        Order::Spawn { uri, x_m, y_m } => {
            if !server.known().spawnables.iter().any(|known| known.uri == uri) {
                return Err(format!("{uri:?} is none of the rovers and objects that the run tells of"));
            }
            control.spawn(&uri, [x_m, y_m]).await.map(|name| format!("{name} is there"))
        }
        Order::Load { uri } => {
            let name = server.known().name_of_scenario(&uri);
            let name = name.ok_or_else(|| format!("{uri:?} is none of the scenarios that the run tells of"))?;
            control.load(&uri).await.map(|()| format!("the run goes over to {name}"))
        }
        // They are dealt with at once.
        Order::Drive { .. } | Order::GoTo { .. } | Order::Halt { .. } => Ok(String::new()),
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

//! Collects the state that every client gets, twenty times a second: time, rovers, wheels, batteries, frames and
//! diagnostics. Of fast topics only the newest message is decoded. Statuses and static frames come from several nodes,
//! so all their messages are decoded, from a short queue that drops what exceeds it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use selene_base::SimTime;
use selene_ros::diagnostic_msgs::DiagnosticArray;
use selene_ros::nav_msgs::Odometry;
use selene_ros::rosgraph_msgs::Clock;
use selene_ros::selene_msgs::WheelStates;
use selene_ros::sensor_msgs::BatteryState;
use selene_ros::tf2_msgs::TFMessage;
use selene_ros::transport::{Subscription, Transport, TransportError};
use selene_ros::{Encoded, Message, Qos, Topic, decode};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use crate::catalogue::{Kind, ODOMETRY};
use crate::feed::TopicFeed;
use crate::server::{PublishedState, Server};

/// Period of the state messages (wall time).
const TICK: Duration = Duration::from_millis(50);
/// Time over which the pace is averaged (wall time).
const PACE_SPAN: Duration = Duration::from_secs(2);
/// Greatest number of messages that wait for the next tick.
const QUEUE: usize = 64;
/// Greatest number of rovers, and of batteries, that are followed.
const FOLLOWED_MAX: usize = 256;

/// Subscribes to the topics of the state, and gives their values to the server.
pub(crate) struct StateCollector {
    server: Arc<Server>,
    reported: watch::Sender<PublishedState>,
    number: u64,
    /// Value of `RunStatus::runs` at the last tick.
    runs: u64,
    clock: FeedReader,
    frames: FeedReader,
    fixed_frames: Queue,
    diagnostics: Queue,
    odometry: BTreeMap<String, FeedReader>,
    wheels: BTreeMap<String, FeedReader>,
    batteries: BTreeMap<String, FeedReader>,
    times: VecDeque<(Instant, SimTime)>,
}

/// A feed, and the number of its last message that was read.
struct FeedReader {
    feed: Arc<TopicFeed>,
    seen: u64,
}

impl FeedReader {
    fn new(feed: Arc<TopicFeed>) -> Self {
        Self { feed, seen: 0 }
    }

    /// The newest message, if it is new since the last call and can be decoded.
    fn take<M: Message>(&mut self) -> Option<M> {
        let newest = self.feed.newest().filter(|newest| newest.number > self.seen)?;
        self.seen = newest.number;
        decode(&newest.message).ok()
    }
}

/// A subscription that queues all messages in order of arrival.
struct Queue {
    messages: mpsc::Receiver<Encoded>,
    _subscription: Subscription,
}

impl Queue {
    fn open<M: Message>(transport: &dyn Transport, name: &str, qos: Qos) -> Result<Self, TransportError> {
        let (sender, messages) = mpsc::channel(QUEUE);
        // The publisher never waits: messages that exceed the queue are dropped.
        let sink = move |message: &Encoded| _ = sender.try_send(message.clone());
        let subscription = transport.subscribe(&Topic::new::<M>(name, qos)?, Box::new(sink))?;
        Ok(Self { messages, _subscription: subscription })
    }

    fn next<M: Message>(&mut self) -> Option<M> {
        loop {
            if let Ok(message) = decode(&self.messages.try_recv().ok()?) {
                return Some(message);
            }
        }
    }
}

fn fixed_frames(transport: &dyn Transport) -> Result<Queue, TransportError> {
    Queue::open::<TFMessage>(transport, "/tf_static", Qos::latched())
}

impl StateCollector {
    /// Subscribes on `transport`.
    pub(crate) fn open(
        transport: &dyn Transport,
        server: Arc<Server>,
        reported: watch::Sender<PublishedState>,
    ) -> Result<Self, TransportError> {
        let feeds = &server.feeds;
        Ok(Self {
            clock: FeedReader::new(feeds.get::<Clock>("/clock", Qos::clock())?),
            frames: FeedReader::new(feeds.get::<TFMessage>("/tf", Qos::reliable())?),
            fixed_frames: fixed_frames(transport)?,
            diagnostics: Queue::open::<DiagnosticArray>(transport, "/diagnostics", Qos::reliable())?,
            odometry: BTreeMap::new(),
            wheels: BTreeMap::new(),
            batteries: BTreeMap::new(),
            times: VecDeque::new(),
            number: 0,
            runs: 0,
            server,
            reported,
        })
    }

    /// Collects the state until the console is dropped.
    pub(crate) async fn run(mut self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.tick();
        }
    }

    fn tick(&mut self) {
        self.follow_the_run();
        self.listen_to_world();
        self.listen_to_rovers();
        self.follow();
        // Without clients the message would be for nobody.
        if self.server.clients() > 0 {
            self.publish();
        }
    }

    /// When the run has changed, discards its topics and subscribes to the static frames again: they are latched, so a
    /// new subscription gets them.
    fn follow_the_run(&mut self) {
        let runs = self.server.known().runs;
        if std::mem::replace(&mut self.runs, runs) == runs {
            return;
        }
        [&mut self.odometry, &mut self.wheels, &mut self.batteries].into_iter().for_each(BTreeMap::clear);
        self.times.clear();
        match fixed_frames(self.server.feeds.transport()) {
            Ok(frames) => self.fixed_frames = frames,
            Err(error) => tracing::warn!("the console does not receive the fixed frames of the new world: {error}"),
        }
    }

    fn publish(&mut self) {
        self.number += 1;
        let state = self.server.known().state(self.number, &self.server.own());
        match state {
            Ok(state) => drop(self.reported.send_replace(PublishedState { number: self.number, state: state.into() })),
            Err(error) => tracing::warn!("the console's state is not published: {error}"),
        }
    }

    fn listen_to_world(&mut self) {
        let clock = self.clock.take::<Clock>().map(|clock| SimTime::from(clock.clock));
        let frames = self.frames.take::<TFMessage>();
        let pace = clock.and_then(|time| self.pace(time));
        let mut known = self.server.known();
        if let Some(time) = clock {
            known.take_time(time);
            known.pace = pace;
        } else if self.times.back().is_some_and(|(at, _)| at.elapsed() > PACE_SPAN) {
            known.pace = Some(0.0);
        }
        frames.into_iter().for_each(|frames| known.tree.take(frames));
        while let Some(frames) = self.fixed_frames.next::<TFMessage>() {
            known.tree.take(frames);
        }
        while let Some(message) = self.diagnostics.next::<DiagnosticArray>() {
            known.take_diagnostics(message);
        }
    }

    /// Simulated seconds per second of wall time.
    fn pace(&mut self, time: SimTime) -> Option<f64> {
        if self.times.back().is_some_and(|(_, last)| time < *last) {
            self.times.clear();
        }
        self.times.push_back((Instant::now(), time));
        while self.times.len() > 2 && self.times[1].0.elapsed() > PACE_SPAN {
            self.times.pop_front();
        }
        let (since, from) = *self.times.front()?;
        let passed_s = since.elapsed().as_secs_f64();
        (self.times.len() > 1 && passed_s > 0.0).then(|| (time - from).secs_f64() / passed_s)
    }

    fn listen_to_rovers(&mut self) {
        let mut known = self.server.known();
        for (rover, feed) in &mut self.odometry {
            feed.take::<Odometry>().into_iter().for_each(|message| known.take_odometry(rover, &message));
        }
        for (rover, feed) in &mut self.wheels {
            feed.take::<WheelStates>().into_iter().for_each(|message| known.take_wheels(rover, message));
        }
        for (topic, feed) in &mut self.batteries {
            feed.take::<BatteryState>().into_iter().for_each(|message| known.take_battery(topic, &message));
        }
    }

    /// Subscribes to the topics of new rovers and batteries.
    fn follow(&mut self) {
        let (rovers, batteries) = {
            let known = self.server.known();
            let new = |of: &BTreeMap<String, FeedReader>, name: &&str| !of.contains_key(*name);
            let rovers = known.catalogue.rovers().filter(|rover| new(&self.odometry, rover)).map(str::to_owned);
            let batteries = known.catalogue.of(Kind::Battery).filter(|name| new(&self.batteries, name));
            (rovers.collect::<Vec<_>>(), batteries.map(str::to_owned).collect::<Vec<_>>())
        };
        let feeds = &self.server.feeds;
        for rover in rovers.into_iter().take(FOLLOWED_MAX.saturating_sub(self.odometry.len())) {
            let odometry = feeds.get::<Odometry>(&format!("{rover}{ODOMETRY}"), Qos::reliable());
            let wheels = feeds.get::<WheelStates>(&format!("{rover}/ground_truth/wheels"), Qos::reliable());
            if let (Ok(odometry), Ok(wheels)) = (odometry, wheels) {
                self.odometry.insert(rover.clone(), FeedReader::new(odometry));
                self.wheels.insert(rover, FeedReader::new(wheels));
            }
        }
        for topic in batteries.into_iter().take(FOLLOWED_MAX.saturating_sub(self.batteries.len())) {
            // A topic of this name may have another type.
            if let Ok(feed) = feeds.get::<BatteryState>(&topic, Qos::sensor_data()) {
                self.batteries.insert(topic, FeedReader::new(feed));
            }
        }
    }
}

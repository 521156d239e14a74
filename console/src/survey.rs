//! Listens to what every client may want to know, twenty times a second: time, rovers, wheels, batteries, frames and
//! diagnostics. Of fast topics only the newest message is decoded; statuses and fixed frames come from several nodes,
//! so all of theirs are, from a short queue that leaves out what it has no room for.

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
use crate::feed::Feed;
use crate::server::{Server, Told};

/// How often the state is made (wall time).
const TICK: Duration = Duration::from_millis(50);
/// The pace is measured over the last so much (wall time).
const PACE_SPAN: Duration = Duration::from_secs(2);
/// Ticks with a clock after which topics that nobody told are guessed from frames.
const UNTOLD_TICKS: u32 = 60;
/// Messages that wait for the next tick.
const QUEUE: usize = 64;
/// Rovers and batteries that are followed, at most.
const FOLLOWED_MAX: usize = 256;

/// Listens, and tells the server.
pub(crate) struct Survey {
    server: Arc<Server>,
    told: watch::Sender<Told>,
    number: u64,
    /// Which run is listened to.
    runs: u64,
    /// Ticks in which the clock was heard.
    heard: u32,
    clock: Newer,
    frames: Newer,
    fixed_frames: Queue,
    diagnostics: Queue,
    odometry: BTreeMap<String, Newer>,
    wheels: BTreeMap<String, Newer>,
    batteries: BTreeMap<String, Newer>,
    times: VecDeque<(Instant, SimTime)>,
}

/// A feed, and which message of it was seen last.
struct Newer {
    feed: Arc<Feed>,
    seen: u64,
}

impl Newer {
    fn new(feed: Arc<Feed>) -> Self {
        Self { feed, seen: 0 }
    }

    /// The newest message, if it is another than the last time and can be read.
    fn take<M: Message>(&mut self) -> Option<M> {
        let newest = self.feed.newest().filter(|newest| newest.number > self.seen)?;
        self.seen = newest.number;
        decode(&newest.message).ok()
    }
}

/// Messages in the order in which they came.
struct Queue {
    messages: mpsc::Receiver<Encoded>,
    _subscription: Subscription,
}

impl Queue {
    fn open<M: Message>(transport: &dyn Transport, name: &str, qos: Qos) -> Result<Self, TransportError> {
        let (sender, messages) = mpsc::channel(QUEUE);
        // The sender never waits: what there is no room for is left out.
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

impl Survey {
    /// Listens on `transport`.
    pub(crate) fn open(
        transport: &dyn Transport,
        server: Arc<Server>,
        told: watch::Sender<Told>,
    ) -> Result<Self, TransportError> {
        let feeds = &server.feeds;
        Ok(Self {
            clock: Newer::new(feeds.get::<Clock>("/clock", Qos::clock())?),
            frames: Newer::new(feeds.get::<TFMessage>("/tf", Qos::reliable())?),
            fixed_frames: fixed_frames(transport)?,
            diagnostics: Queue::open::<DiagnosticArray>(transport, "/diagnostics", Qos::reliable())?,
            odometry: BTreeMap::new(),
            wheels: BTreeMap::new(),
            batteries: BTreeMap::new(),
            times: VecDeque::new(),
            number: 0,
            runs: 0,
            heard: 0,
            server,
            told,
        })
    }

    /// Listens as long as the console is there.
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
        // Nobody reads it where nobody is connected.
        if self.server.clients() > 0 {
            self.tell();
        }
    }

    /// With another run its topics are listened to anew; fixed frames, which are told once, are told again to who asks.
    fn follow_the_run(&mut self) {
        let runs = self.server.known().runs;
        if std::mem::replace(&mut self.runs, runs) == runs {
            return;
        }
        [&mut self.odometry, &mut self.wheels, &mut self.batteries].into_iter().for_each(BTreeMap::clear);
        self.times.clear();
        self.heard = 0;
        match fixed_frames(self.server.feeds.transport()) {
            Ok(frames) => self.fixed_frames = frames,
            Err(error) => tracing::warn!("the console does not hear the fixed frames of the new world: {error}"),
        }
    }

    fn tell(&mut self) {
        self.number += 1;
        let state = self.server.known().state(self.number, &self.server.own());
        match state {
            Ok(state) => drop(self.told.send_replace(Told { number: self.number, state: state.into() })),
            Err(error) => tracing::warn!("the console's state is not told: {error}"),
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
            self.heard += 1;
            if self.heard.is_multiple_of(UNTOLD_TICKS) && known.catalogue.rovers().next().is_none() {
                known.take_frames();
            }
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

    /// Simulated seconds a second.
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

    /// Begins to listen to rovers and batteries that are new.
    fn follow(&mut self) {
        let (rovers, batteries) = {
            let known = self.server.known();
            let new = |of: &BTreeMap<String, Newer>, name: &&str| !of.contains_key(*name);
            let rovers = known.catalogue.rovers().filter(|rover| new(&self.odometry, rover)).map(str::to_owned);
            let batteries = known.catalogue.of(Kind::Battery).filter(|name| new(&self.batteries, name));
            (rovers.collect::<Vec<_>>(), batteries.map(str::to_owned).collect::<Vec<_>>())
        };
        let feeds = &self.server.feeds;
        for rover in rovers.into_iter().take(FOLLOWED_MAX.saturating_sub(self.odometry.len())) {
            let odometry = feeds.get::<Odometry>(&format!("{rover}{ODOMETRY}"), Qos::reliable());
            let wheels = feeds.get::<WheelStates>(&format!("{rover}/ground_truth/wheels"), Qos::reliable());
            if let (Ok(odometry), Ok(wheels)) = (odometry, wheels) {
                self.odometry.insert(rover.clone(), Newer::new(odometry));
                self.wheels.insert(rover, Newer::new(wheels));
            }
        }
        for topic in batteries.into_iter().take(FOLLOWED_MAX.saturating_sub(self.batteries.len())) {
            // A topic of this name may be of another type.
            if let Ok(feed) = feeds.get::<BatteryState>(&topic, Qos::sensor_data()) {
                self.batteries.insert(topic, Newer::new(feed));
            }
        }
    }
}

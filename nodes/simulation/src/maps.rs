//! Ground-truth maps for testing mapping software: a grid map and an occupancy grid on request, with ruts, and the list
//! of rocks around each rover. A thread of its own makes them, so that no heartbeat waits for them. A few requests wait
//! for it (`queue`), more are refused.

mod messages;
mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use selene_coherence::NodeError;
use selene_observe::{GroundTruth, Interval};
use selene_ros::transport::{Publisher, Subscription, Transport, subscribe};
use selene_ros::{Qos, grid_map_msgs, nav_msgs, selene_msgs};
use selene_sim::{EntityId, RoverKind, Snapshot};

pub(crate) use queue::RequestCounts;
use queue::{MapQueue, Work};

/// How often a waiting caller checks that the thread still runs.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Handle of the thread that makes maps.
pub(crate) struct Maps {
    transport: Arc<dyn Transport>,
    queue: Arc<MapQueue>,
    thread: Option<JoinHandle<Result<(), NodeError>>>,
}

/// The state of the thread that makes maps.
struct MapMaker {
    transport: Arc<dyn Transport>,
    queue: Arc<MapQueue>,
    truth: GroundTruth,
    topics: BTreeMap<EntityId, MapTopics>,
}

/// The topics of one rover.
struct MapTopics {
    maps: Publisher<grid_map_msgs::GridMap>,
    occupancy: Publisher<nav_msgs::OccupancyGrid>,
    rocks: Publisher<selene_msgs::Rocks>,
    /// The rover's kind, by which a new rover with the same number is distinguished.
    kind: Arc<RoverKind>,
    /// The rover's root frame.
    base_frame: String,
    _subscription: Subscription,
}

impl Maps {
    /// Starts the thread.
    pub(crate) fn start(transport: &Arc<dyn Transport>) -> Result<Self, NodeError> {
        let queue = Arc::new(MapQueue::default());
        let mut maker = MapMaker {
            transport: Arc::clone(transport),
            queue: Arc::clone(&queue),
            truth: GroundTruth::default(),
            topics: BTreeMap::new(),
        };
        let thread = Builder::new().name("maps".into()).spawn(move || maker.work());
        let thread = thread.map_err(|error| NodeError::Thread { what: "maps", error })?;
        Ok(Self { transport: Arc::clone(transport), queue, thread: Some(thread) })
    }

    /// Closes all topics and restarts the thread with an empty world.
    pub(crate) fn begin_anew(&mut self) -> Result<(), NodeError> {
        self.end()?;
        *self = Self::start(&self.transport)?;
        Ok(())
    }

    /// Passes the world's next interval to the thread.
    pub(crate) fn take(&mut self, interval: Interval) -> Result<(), NodeError> {
        // The thread ends early only if it failed; joining it returns the error.
        if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            return self.end();
        }
        self.queue.follow(interval);
        Ok(())
    }

    /// Waits until the thread has processed all intervals: afterwards it publishes nothing older.
    pub(crate) fn catch_up(&self) {
        // A thread that has failed processes nothing any more.
        let is_at_work = || self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        while is_at_work() && !self.queue.await_followed(LOOK_EVERY) {}
    }

    /// The number of requests that wait and of those that were refused.
    pub(crate) fn requests(&self) -> RequestCounts {
        self.queue.counts()
    }

    /// Waits until all intervals are processed; maps that are not begun yet are dropped.
    pub(crate) fn end(&mut self) -> Result<(), NodeError> {
        self.queue.close();
        // A panic was already reported.
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
    }
}

impl Drop for Maps {
    /// Ends the thread, however the node ends.
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl MapMaker {
    fn work(&mut self) -> Result<(), NodeError> {
        let mut latest: Option<Arc<Snapshot>> = None;
        loop {
            match self.queue.next() {
                Work::Follow(interval) => {
                    self.take(&interval)?;
                    latest = Some(interval.next);
                }
                Work::Answer(rover, request) => {
                    if let Some(latest) = &latest {
                        self.answer(rover, &request, latest)?;
                    }
                }
                Work::End => return Ok(()),
            }
        }
    }

    fn take(&mut self, interval: &Interval) -> Result<(), NodeError> {
        // After a reset, a new rover may have the number of a removed one.
        let is_same = |id: &EntityId, was: &Arc<RoverKind>| {
            interval.next.rover(*id).is_some() && interval.model.rovers().get(id).is_some_and(|is| Arc::ptr_eq(is, was))
        };
        self.topics.retain(|id, topics| is_same(id, &topics.kind));
        for rover in &interval.next.rovers {
            let kind = interval.model.rovers().get(&rover.id).filter(|_| !self.topics.contains_key(&rover.id));
            if let Some(kind) = kind {
                let topics = MapTopics::open(self.transport.as_ref(), rover.id, kind, &self.queue)?;
                self.topics.insert(rover.id, topics);
            }
        }
        for around in self.truth.take(interval) {
            if let Some(topics) = self.topics.get(&around.rover) {
                topics.rocks.publish(&messages::rocks(&around), around.stamp)?;
            }
        }
        Ok(())
    }

    /// Publishes the maps of a request, or refuses it and says why.
    fn answer(&self, rover: EntityId, request: &selene_msgs::MapRequest, latest: &Snapshot) -> Result<(), NodeError> {
        let Some(topics) = self.topics.get(&rover) else { return Ok(()) };
        let requested = messages::window(request, &topics.base_frame, latest, rover)
            .and_then(|window| Ok((window, messages::limits(request)?)));
        let (window, limits) = match requested {
            Ok(requested) => requested,
            Err(what) => {
                self.queue.refuse(&what);
                return Ok(());
            }
        };
        let layers = self.truth.layers(rover, &window);
        let costs = self.truth.occupancy(rover, &window, &limits);
        let (Some(layers), Some(costs)) = (layers, costs) else { return Ok(()) };
        let layers = [layers.elevation_m, layers.slope_rad, layers.rock_cover, layers.rock_density];
        topics.maps.publish(&messages::grid_map(&window, layers, latest.time), latest.time)?;
        Ok(topics.occupancy.publish(&messages::occupancy_grid(&window, costs, latest.time), latest.time)?)
    }
}

impl MapTopics {
    fn open(
        transport: &dyn Transport,
        rover: EntityId,
        kind: &Arc<RoverKind>,
        queue: &Arc<MapQueue>,
    ) -> Result<Self, NodeError> {
        let setup = kind.setup();
        let topic = |name: &str| setup.topic(&format!("ground_truth/{name}"));
        let queue = Arc::clone(queue);
        let take = move |request| queue.request(rover, request);
        Ok(Self {
            maps: Publisher::new(transport, &topic("map"), Qos::latched())?,
            occupancy: Publisher::new(transport, &topic("occupancy"), Qos::latched())?,
            rocks: Publisher::new(transport, &topic("rocks"), Qos::latched())?,
            kind: Arc::clone(kind),
            base_frame: setup.base_frame(),
            _subscription: subscribe(transport, &topic("map_request"), Qos::reliable(), take)?,
        })
    }
}

//! The ground as it truly is, for those who build maps of it: a grid map and an occupancy grid
//! on request, with ruts, and the list of rocks around each rover. They are made in a thread of their own: no
//! heartbeat waits for them.
//!
//! A grid map's first cell lies at greatest x and y; rows go along −x, columns along −y, and
//! data go column by column, as grid_map has it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use nalgebra::Vector3;
use selene_base::{SimTime, frames};
use selene_coherence::{NodeError, to_pose};
use selene_observe::{GroundTruth, Interval, MAP_CELLS_MAX, MapWindow, OccupancyLimits, RocksAround, instance_of_rock};
use selene_ros::transport::{Publisher, Subscription, Transport, subscribe};
use selene_ros::{Qos, geometry_msgs, grid_map_msgs, nav_msgs, selene_msgs, std_msgs};
use selene_sim::{EntityId, RockPose, RoverSetup, Snapshot};
use selene_terrain::Rock;

/// Layers, in the order of the message.
const LAYERS: [&str; 4] = ["elevation", "slope", "rock_cover", "rock_density"];

/// The thread that makes maps.
pub(crate) struct Maps {
    work: Sender<Work>,
    thread: Option<JoinHandle<Result<(), NodeError>>>,
}

enum Work {
    Interval(Box<Interval>),
    Request(EntityId, selene_msgs::MapRequest),
    End,
}

/// What the thread works with.
struct MapMaker {
    transport: Arc<dyn Transport>,
    requests: Sender<Work>,
    truth: GroundTruth,
    topics: BTreeMap<EntityId, MapTopics>,
}

/// The topics of one rover.
struct MapTopics {
    maps: Publisher<grid_map_msgs::GridMap>,
    occupancy: Publisher<nav_msgs::OccupancyGrid>,
    rocks: Publisher<selene_msgs::Rocks>,
    /// The rover's frame.
    base_link: String,
    _subscription: Subscription,
}

impl Maps {
    /// Starts the thread.
    pub(crate) fn start(transport: &Arc<dyn Transport>) -> Result<Self, NodeError> {
        let (work, arrived) = channel();
        let mut maker = MapMaker {
            transport: Arc::clone(transport),
            requests: work.clone(),
            truth: GroundTruth::default(),
            topics: BTreeMap::new(),
        };
        let thread = Builder::new().name("maps".into()).spawn(move || maker.work(&arrived));
        let thread = thread.map_err(|error| NodeError::Thread { what: "maps", error })?;
        Ok(Self { work, thread: Some(thread) })
    }

    /// Hands on the world's next interval.
    pub(crate) fn take(&mut self, interval: Interval) -> Result<(), NodeError> {
        // Only a thread that has failed takes nothing: it says why at its end.
        if self.work.send(Work::Interval(Box::new(interval))).is_err() { self.end() } else { Ok(()) }
    }

    /// Waits until all intervals are dealt with.
    pub(crate) fn end(&mut self) -> Result<(), NodeError> {
        // A thread that is gone needs not be told.
        let _ = self.work.send(Work::End);
        // One that panicked has said so.
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
    }
}

impl MapMaker {
    fn work(&mut self, arrived: &Receiver<Work>) -> Result<(), NodeError> {
        let mut latest: Option<Arc<Snapshot>> = None;
        while let Ok(work) = arrived.recv() {
            match work {
                Work::Interval(interval) => {
                    self.take(&interval)?;
                    latest = Some(interval.next);
                }
                Work::Request(rover, request) => {
                    if let Some(latest) = &latest {
                        self.answer(rover, &request, latest)?;
                    }
                }
                Work::End => break,
            }
        }
        Ok(())
    }

    fn take(&mut self, interval: &Interval) -> Result<(), NodeError> {
        self.topics.retain(|id, _| interval.next.rover(*id).is_some());
        for rover in &interval.next.rovers {
            let kind = interval.model.rovers().get(&rover.id).filter(|_| !self.topics.contains_key(&rover.id));
            if let Some(kind) = kind {
                let topics = MapTopics::open(self.transport.as_ref(), rover.id, kind.setup(), &self.requests)?;
                self.topics.insert(rover.id, topics);
            }
        }
        for around in self.truth.take(interval) {
            if let Some(topics) = self.topics.get(&around.rover) {
                topics.rocks.publish(&rocks(&around), around.stamp)?;
            }
        }
        Ok(())
    }

    /// Answers a request, or says why it is refused.
    fn answer(&self, rover: EntityId, request: &selene_msgs::MapRequest, latest: &Snapshot) -> Result<(), NodeError> {
        let Some(topics) = self.topics.get(&rover) else { return Ok(()) };
        let asked = window(request, &topics.base_link, latest, rover).and_then(|window| Ok((window, limits(request)?)));
        let (window, limits) = match asked {
            Ok(asked) => asked,
            Err(what) => {
                tracing::warn!("map_request refused: {what}");
                return Ok(());
            }
        };
        let layers = self.truth.layers(rover, &window);
        let costs = self.truth.occupancy(rover, &window, &limits);
        let (Some(layers), Some(costs)) = (layers, costs) else { return Ok(()) };
        let layers = [layers.elevation_m, layers.slope_rad, layers.rock_cover, layers.rock_density];
        topics.maps.publish(&grid_map(&window, layers, latest.time), latest.time)?;
        Ok(topics.occupancy.publish(&occupancy_grid(&window, costs, latest.time), latest.time)?)
    }
}

impl MapTopics {
    fn open(
        transport: &dyn Transport,
        rover: EntityId,
        setup: &RoverSetup,
        requests: &Sender<Work>,
    ) -> Result<Self, NodeError> {
        let topic = |name: &str| setup.topic(&format!("ground_truth/{name}"));
        let requests = requests.clone();
        // The thread ends with the node: nobody is then left to answer.
        let take = move |request| drop(requests.send(Work::Request(rover, request)));
        Ok(Self {
            maps: Publisher::new(transport, &topic("map"), Qos::latched())?,
            occupancy: Publisher::new(transport, &topic("occupancy"), Qos::latched())?,
            rocks: Publisher::new(transport, &topic("rocks"), Qos::latched())?,
            base_link: setup.frame(frames::BASE_LINK),
            _subscription: subscribe(transport, &topic("map_request"), Qos::reliable(), take)?,
        })
    }
}

/// The limits of a request.
fn limits(request: &selene_msgs::MapRequest) -> Result<OccupancyLimits, String> {
    let (slope_rad, rock_m) = (request.slope_limit, request.rock_limit);
    if slope_rad > 0.0 && slope_rad <= std::f64::consts::FRAC_PI_2 && rock_m > 0.0 {
        return Ok(OccupancyLimits { slope_rad, rock_m });
    }
    Err(format!("slope_limit {slope_rad} rad, rock_limit {rock_m} m; must be above 0, the slope at most a right angle"))
}

/// The cells of a request.
fn window(
    request: &selene_msgs::MapRequest,
    base_link: &str,
    latest: &Snapshot,
    rover: EntityId,
) -> Result<MapWindow, String> {
    let lengths_m = [request.length_x, request.length_y];
    let cells = lengths_m.map(|length_m| (length_m / request.resolution).round());
    let is_map = request.resolution > 0.0 && cells.iter().all(|&n| n >= 1.0) && cells[0] * cells[1] <= MAP_CELLS_MAX;
    if !(is_map && request.center_x.is_finite() && request.center_y.is_finite()) {
        return Err(format!(
            "{} × {} m in cells of {} m; a map has 1 to {MAP_CELLS_MAX:.0} cells",
            lengths_m[0], lengths_m[1], request.resolution
        ));
    }
    let from_m = match request.header.frame_id.as_str() {
        "" | frames::MAP => Vector3::zeros(),
        frame if frame == base_link => {
            latest.rover(rover).map_or(Vector3::zeros(), |rover| rover.world_from_base().translation.vector)
        }
        other => return Err(format!("frame {other}; must be {} or {base_link}", frames::MAP)),
    };
    let middle_m = [request.center_x + from_m.x, request.center_y + from_m.y];
    Ok(MapWindow { middle_m, resolution_m: request.resolution, cells: cells.map(|n| n as usize) })
}

fn grid_map(window: &MapWindow, layers: [Vec<f32>; 4], time: SimTime) -> grid_map_msgs::GridMap {
    let [x, y] = window.middle_m;
    let [length_x, length_y] = window.cells.map(|n| n as f64 * window.resolution_m);
    let position = geometry_msgs::Point { x, y, z: 0.0 };
    let orientation = geometry_msgs::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
    let [rows, columns] = window.cells.map(|n| n as u32);
    let dimension = |label: &str, size, stride| std_msgs::MultiArrayDimension { label: label.into(), size, stride };
    let layout = || {
        let dim = vec![dimension("column_index", columns, rows * columns), dimension("row_index", rows, rows)];
        std_msgs::MultiArrayLayout { dim, data_offset: 0 }
    };
    grid_map_msgs::GridMap {
        header: std_msgs::Header::new(time, frames::MAP),
        info: grid_map_msgs::GridMapInfo {
            resolution: window.resolution_m,
            length_x,
            length_y,
            pose: geometry_msgs::Pose { position, orientation },
        },
        layers: LAYERS.map(str::to_owned).into(),
        basic_layers: vec![LAYERS[0].to_owned()],
        data: layers.into_iter().map(|data| std_msgs::Float32MultiArray { layout: layout(), data }).collect(),
        outer_start_index: 0,
        inner_start_index: 0,
    }
}

fn occupancy_grid(window: &MapWindow, costs: Vec<i8>, time: SimTime) -> nav_msgs::OccupancyGrid {
    let [x, y] = window.corner_m();
    let position = geometry_msgs::Point { x, y, z: 0.0 };
    let orientation = geometry_msgs::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
    nav_msgs::OccupancyGrid {
        header: std_msgs::Header::new(time, frames::MAP),
        info: nav_msgs::MapMetaData {
            map_load_time: time.into(),
            resolution: window.resolution_m as f32,
            width: window.cells[0] as u32,
            height: window.cells[1] as u32,
            origin: geometry_msgs::Pose { position, orientation },
        },
        data: costs,
    }
}

fn rocks(around: &RocksAround) -> selene_msgs::Rocks {
    let fixed = around.fixed.iter().map(|rock: &Rock| selene_msgs::Rock {
        id: rock.id,
        instance: instance_of_rock(rock.id),
        is_loose: false,
        diameter: 2.0 * rock.radius_m,
        pose: to_pose(&rock.world_from_rock),
    });
    let loose = around.loose.iter().map(|rock: &RockPose| selene_msgs::Rock {
        id: rock.id,
        instance: instance_of_rock(rock.id),
        is_loose: true,
        diameter: 2.0 * rock.radius_m,
        pose: to_pose(&rock.world_from_rock),
    });
    selene_msgs::Rocks { header: std_msgs::Header::new(around.stamp, frames::MAP), rocks: fixed.chain(loose).collect() }
}

#[cfg(test)]
mod tests {
    use super::{LAYERS, grid_map};
    use selene_base::SimTime;
    use selene_observe::MapWindow;

    #[test]
    fn a_grid_map_goes_column_by_column() {
        let window = MapWindow { middle_m: [2.0, -1.0], resolution_m: 0.5, cells: [6, 4] };
        let map = grid_map(&window, std::array::from_fn(|_| vec![0.0; 24]), SimTime::ZERO);
        assert_eq!(map.layers, LAYERS);
        let dimensions: Vec<_> = map.data[0].layout.dim.iter().map(|dim| (dim.size, dim.stride)).collect();
        assert_eq!(dimensions, [(4, 24), (6, 6)]);
        assert_eq!((map.info.length_x, map.info.length_y), (3.0, 2.0));
    }
}

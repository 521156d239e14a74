//! Maps of the ground and of rocks around a rover, for the page's map and 3-D view. Maps of the ground, which show
//! ruts, are requested on `ground_truth/map_request`, as any ROS 2 node does, while a client looks at them, and at most
//! every two seconds for each rover and size.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use selene_base::SimTime;
use selene_ros::Qos;
use selene_ros::grid_map_msgs::GridMap;
use selene_ros::selene_msgs::{MapRequest, Rocks};
use selene_ros::std_msgs::Header;
use selene_ros::transport::{Publisher, Transport, TransportError};
use serde::Serialize;

use crate::protocol::{self, Span};

/// Least interval between two requests for the same rover and size (wall time).
pub(crate) const REQUEST_EVERY: Duration = Duration::from_secs(2);
/// Cells along each side of a map.
const CELLS: f64 = 160.0;
/// The layer of the grid map that clients get.
const ELEVATION: &str = "elevation";
/// Greatest number of rocks that a client gets.
const ROCKS_MAX: usize = 4000;

/// Requests maps of the ground.
pub(crate) struct Maps {
    transport: Arc<dyn Transport>,
    rovers: Mutex<BTreeMap<String, MapRequests>>,
}

struct MapRequests {
    requests: Publisher<MapRequest>,
    last: BTreeMap<Span, Instant>,
}

impl Maps {
    /// No requests yet.
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, rovers: Mutex::default() }
    }

    /// Requests the ground around `rover`, whose frame is `frame`, at most once in [`REQUEST_EVERY`] for each size.
    pub(crate) fn request(&self, rover: &str, frame: &str, span: Span, time: SimTime) -> Result<(), TransportError> {
        let now = Instant::now();
        let mut rovers = self.rovers.lock().unwrap_or_else(PoisonError::into_inner);
        let requested = match rovers.entry(rover.to_owned()) {
            Entry::Occupied(requested) => requested.into_mut(),
            Entry::Vacant(new) => {
                let topic = format!("{rover}/ground_truth/map_request");
                let requests = Publisher::new(self.transport.as_ref(), &topic, Qos::reliable())?;
                new.insert(MapRequests { requests, last: BTreeMap::new() })
            }
        };
        if requested.last.get(&span).is_some_and(|last| now.duration_since(*last) < REQUEST_EVERY) {
            return Ok(());
        }
        requested.last.insert(span, now);
        let side_m = span.side_m();
        let request = MapRequest {
            header: Header::new(time, frame),
            length_x: side_m,
            length_y: side_m,
            resolution: side_m / CELLS,
            ..MapRequest::default()
        };
        requested.requests.publish(&request, time)
    }
}

#[derive(Serialize)]
struct GroundHeader<'a> {
    is: &'static str,
    rover: &'a str,
    number: u64,
    /// Centre of the map, m in `map`.
    middle_m: [f64; 2],
    resolution_m: f64,
    /// Cells along x and along y; the first cell is at the greatest x and y, and the next ones are at lesser x.
    cells: [u32; 2],
}

/// The binary frame of a map of size `span`: heights in `map`, m, f32. `None` if the map has another size.
pub(crate) fn frame(rover: &str, number: u64, map: &GridMap, span: Span) -> Option<Result<Bytes, String>> {
    let info = &map.info;
    let is_span = [info.length_x, info.length_y].iter().all(|side_m| (side_m - span.side_m()).abs() < info.resolution);
    is_span.then(|| reported(rover, number, map))
}

fn reported(rover: &str, number: u64, map: &GridMap) -> Result<Bytes, String> {
    let layer = map.layers.iter().position(|layer| layer == ELEVATION);
    let heights = layer.and_then(|layer| map.data.get(layer)).ok_or("the map has no elevation")?;
    let [columns, rows] = match &heights.layout.dim[..] {
        [columns, rows] => [columns.size, rows.size],
        _ => return Err("the map's elevation is no grid".to_owned()),
    };
    if u64::from(rows) * u64::from(columns) != heights.data.len() as u64 {
        return Err(format!("the map has {} heights for {rows} x {columns} cells", heights.data.len()));
    }
    let middle = &map.info.pose.position;
    let header = GroundHeader {
        is: "ground",
        rover,
        number,
        middle_m: [middle.x, middle.y],
        resolution_m: map.info.resolution,
        cells: [rows, columns],
    };
    let payload: Vec<u8> = heights.data.iter().flat_map(|height| height.to_le_bytes()).collect();
    protocol::frame(&header, &payload)
}

#[derive(Serialize)]
struct RocksHeader<'a> {
    is: &'static str,
    rover: &'a str,
    number: u64,
    rocks: usize,
}

/// The binary frame of rocks: x y z in `map` and diameter, m, f32. Of too many, the largest ones.
pub(crate) fn rocks(rover: &str, number: u64, message: &Rocks) -> Result<Bytes, String> {
    let mut rocks: Vec<_> = message.rocks.iter().filter(|rock| rock.diameter.is_finite()).collect();
    rocks.sort_by(|a, b| b.diameter.total_cmp(&a.diameter));
    rocks.truncate(ROCKS_MAX);
    let place = |rock: &&selene_ros::selene_msgs::Rock| {
        let at = rock.pose.position;
        [at.x, at.y, at.z, rock.diameter].map(|value| value as f32)
    };
    let payload: Vec<u8> = rocks.iter().flat_map(place).flat_map(f32::to_le_bytes).collect();
    protocol::frame(&RocksHeader { is: "rocks", rover, number, rocks: rocks.len() }, &payload)
}

#[cfg(test)]
mod tests {
    use super::{Maps, frame};
    use crate::protocol::Span;
    use selene_base::SimTime;
    use selene_ros::Qos;
    use selene_ros::grid_map_msgs::{GridMap, GridMapInfo};
    use selene_ros::in_process::InProcess;
    use selene_ros::selene_msgs::MapRequest;
    use selene_ros::std_msgs::{Float32MultiArray, MultiArrayDimension};
    use selene_ros::transport::subscribe;
    use std::sync::{Arc, mpsc};

    fn map(rows: u32, columns: u32, heights: usize) -> GridMap {
        let dimension = |size| MultiArrayDimension { size, ..MultiArrayDimension::default() };
        let mut data = Float32MultiArray { data: vec![1.5; heights], ..Float32MultiArray::default() };
        data.layout.dim = vec![dimension(columns), dimension(rows)];
        let info = GridMapInfo { resolution: 0.25, length_x: 40.0, length_y: 40.0, ..GridMapInfo::default() };
        GridMap { info, layers: vec!["elevation".to_owned()], data: vec![data], ..GridMap::default() }
    }

    #[test]
    fn a_map_is_reported_whole_or_not_at_all() {
        let framed = |map: &GridMap, span| frame("/viper", 1, map, span);
        let reported = framed(&map(2, 3, 6), Span::Around).expect("of this size").expect("a map");
        assert!(reported.ends_with(&[1.5_f32.to_le_bytes(); 6].concat()));
        assert!(framed(&map(2, 3, 6), Span::Near).is_none(), "a map that another client requested");
        assert!(framed(&map(2, 3, 5), Span::Around).expect("of this size").is_err());
        let empty = GridMap { layers: Vec::new(), ..map(2, 3, 6) };
        assert!(framed(&empty, Span::Around).expect("of this size").is_err());
    }

    #[test]
    fn ten_viewers_request_once() {
        let bus = InProcess::new();
        let (sender, requests) = mpsc::channel();
        let on = move |request: MapRequest| sender.send(request).unwrap();
        let _received = subscribe(&bus, "/viper/ground_truth/map_request", Qos::reliable(), on).unwrap();
        let maps = Maps::new(Arc::new(bus));
        for _ in 0..10 {
            maps.request("/viper", "viper/base_link", Span::Around, SimTime::ZERO).unwrap();
        }
        let received: Vec<_> = requests.try_iter().collect();
        assert_eq!(received.len(), 1);
        maps.request("/viper", "viper/base_link", Span::Near, SimTime::ZERO).unwrap();
        assert_eq!(requests.try_iter().count(), 1, "another size is another map");
        assert_eq!((received[0].length_x, received[0].resolution), (40.0, 0.25));
    }
}

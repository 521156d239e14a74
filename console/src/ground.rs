//! The ground around a rover, with its ruts, for the map and the view in three dimensions: maps are asked for on
//! `ground_truth/map_request`, as any ROS 2 node does, while a client looks at them and not more often than every two
//! seconds for each rover.

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

/// Between two requests for one rover (wall time).
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(2);
/// Cells along a side.
const CELLS: f64 = 160.0;
/// The layer that is drawn.
const ELEVATION: &str = "elevation";
/// Rocks that a client gets, at most.
const ROCKS_MAX: usize = 4000;

/// Asks for maps.
pub(crate) struct Maps {
    transport: Arc<dyn Transport>,
    rovers: Mutex<BTreeMap<String, Asked>>,
}

struct Asked {
    requests: Publisher<MapRequest>,
    last: BTreeMap<Span, Instant>,
}

impl Maps {
    /// None asked for yet.
    pub(crate) fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport, rovers: Mutex::default() }
    }

    /// Asks for the ground around `rover`, whose frame is `frame`, unless that was done just now.
    pub(crate) fn ask(&self, rover: &str, frame: &str, span: Span, time: SimTime) -> Result<(), TransportError> {
        let now = Instant::now();
        let mut rovers = self.rovers.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = match rovers.entry(rover.to_owned()) {
            Entry::Occupied(asked) => asked.into_mut(),
            Entry::Vacant(new) => {
                let topic = format!("{rover}/ground_truth/map_request");
                let requests = Publisher::new(self.transport.as_ref(), &topic, Qos::reliable())?;
                new.insert(Asked { requests, last: BTreeMap::new() })
            }
        };
        if asked.last.get(&span).is_some_and(|last| now.duration_since(*last) < ASK_EVERY) {
            return Ok(());
        }
        asked.last.insert(span, now);
        let side_m = span.side_m();
        let request = MapRequest {
            header: Header::new(time, frame),
            length_x: side_m,
            length_y: side_m,
            resolution: side_m / CELLS,
            ..MapRequest::default()
        };
        asked.requests.publish(&request, time)
    }
}

#[derive(Serialize)]
struct GroundHeader<'a> {
    is: &'static str,
    rover: &'a str,
    number: u64,
    /// Of the map's middle, m in `map`.
    middle_m: [f64; 2],
    resolution_m: f64,
    /// Cells along x and along y; the first cell is at the greatest x and y, and the next ones are at lesser x.
    cells: [u32; 2],
}

/// A map of `span` as a client draws it: heights in `map`, m, f32. None of a map of another size.
pub(crate) fn frame(rover: &str, number: u64, map: &GridMap, span: Span) -> Option<Result<Bytes, String>> {
    let info = &map.info;
    let is_span = [info.length_x, info.length_y].iter().all(|side_m| (side_m - span.side_m()).abs() < info.resolution);
    is_span.then(|| told(rover, number, map))
}

fn told(rover: &str, number: u64, map: &GridMap) -> Result<Bytes, String> {
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

/// Rocks as a client draws them: x y z in `map` and diameter, m, f32; the largest ones where there are many.
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
    fn a_map_is_told_whole_or_not_at_all() {
        let framed = |map: &GridMap, span| frame("/viper", 1, map, span);
        let told = framed(&map(2, 3, 6), Span::Around).expect("of this size").expect("a map");
        assert!(told.ends_with(&[1.5_f32.to_le_bytes(); 6].concat()));
        assert!(framed(&map(2, 3, 6), Span::Near).is_none(), "a map that another client asked for");
        assert!(framed(&map(2, 3, 5), Span::Around).expect("of this size").is_err());
        let empty = GridMap { layers: Vec::new(), ..map(2, 3, 6) };
        assert!(framed(&empty, Span::Around).expect("of this size").is_err());
    }

    #[test]
    fn ten_who_look_ask_once() {
        let bus = InProcess::new();
        let (sender, requests) = mpsc::channel();
        let on = move |request: MapRequest| sender.send(request).unwrap();
        let _heard = subscribe(&bus, "/viper/ground_truth/map_request", Qos::reliable(), on).unwrap();
        let maps = Maps::new(Arc::new(bus));
        for _ in 0..10 {
            maps.ask("/viper", "viper/base_link", Span::Around, SimTime::ZERO).unwrap();
        }
        let heard: Vec<_> = requests.try_iter().collect();
        assert_eq!(heard.len(), 1);
        maps.ask("/viper", "viper/base_link", Span::Near, SimTime::ZERO).unwrap();
        assert_eq!(requests.try_iter().count(), 1, "another size is another map");
        assert_eq!((heard[0].length_x, heard[0].resolution), (40.0, 0.25));
    }
}

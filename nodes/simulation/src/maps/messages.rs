//! Parses requests for maps, and writes maps and rocks as messages.
//!
//! In a grid map the first cell has the greatest x and y, rows run along −x and columns along −y, and data are stored
//! column by column, as grid_map defines it.

use nalgebra::Vector3;
use selene_base::{SimTime, frames};
use selene_coherence::to_pose;
use selene_observe::{MAP_CELLS_MAX, MapWindow, OccupancyLimits, RocksAround, instance_of_rock};
use selene_ros::{geometry_msgs, grid_map_msgs, nav_msgs, selene_msgs, std_msgs};
use selene_sim::{EntityId, RockPose, Snapshot};
use selene_terrain::Rock;

/// Names of the layers, in the order of the message.
const LAYERS: [&str; 4] = ["elevation", "slope", "rock_cover", "rock_density"];

/// The slope limit, rad, and rock limit, m, of a request for an occupancy grid.
pub(super) fn limits(request: &selene_msgs::MapRequest) -> Result<OccupancyLimits, String> {
    let (slope_rad, rock_m) = (request.slope_limit, request.rock_limit);
    if slope_rad > 0.0 && slope_rad <= std::f64::consts::FRAC_PI_2 && rock_m > 0.0 {
        return Ok(OccupancyLimits { slope_rad, rock_m });
    }
    Err(format!("slope_limit {slope_rad} rad, rock_limit {rock_m} m; must be above 0, the slope at most a right angle"))
}

/// The window of cells of a request, in the map frame.
pub(super) fn window(
    request: &selene_msgs::MapRequest,
    base_frame: &str,
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
        frame if frame == base_frame => {
            latest.rover(rover).map_or(Vector3::zeros(), |rover| rover.world_from_base().translation.vector)
        }
        other => return Err(format!("frame {other}; must be {} or {base_frame}", frames::MAP)),
    };
    let middle_m = [request.center_x + from_m.x, request.center_y + from_m.y];
    Ok(MapWindow { middle_m, resolution_m: request.resolution, cells: cells.map(|n| n as usize) })
}

pub(super) fn grid_map(window: &MapWindow, layers: [Vec<f32>; 4], time: SimTime) -> grid_map_msgs::GridMap {
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

pub(super) fn occupancy_grid(window: &MapWindow, costs: Vec<i8>, time: SimTime) -> nav_msgs::OccupancyGrid {
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

pub(super) fn rocks(around: &RocksAround) -> selene_msgs::Rocks {
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

//! The ground as it truly is, for those who build maps of it: a grid map and an occupancy grid
//! on request, with ruts, and the list of rocks around the rover.
//!
//! A grid map's first cell lies at greatest x and y; rows go along −x, columns along −y, and
//! data go column by column, as grid_map has it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use nalgebra::{Vector2, Vector3};
use selene_base::frames;
use selene_coherence::{NodeError, instance_of_loose_rock, to_pose};
use selene_ros::transport::{Publisher, Subscription, Transport, subscribe};
use selene_ros::{Qos, geometry_msgs, grid_map_msgs, nav_msgs, selene_msgs, std_msgs};
use selene_sim::{Scenario, World};
use selene_terrain::{Ground, Place, Rock};

use crate::occupancy::Limits;

/// Cells that one map may have.
const CELLS_MAX: f64 = 4e6;
/// Layers, in the order of the message.
const LAYERS: [&str; 4] = ["elevation", "slope", "rock_cover", "rock_density"];
/// Radius of the circle in which rocks are counted, m.
const DENSITY_RADIUS_M: f64 = 2.0;

/// Answers requests for maps and tells of rocks.
pub(crate) struct Maps {
    requests: Receiver<selene_msgs::MapRequest>,
    maps: Publisher<grid_map_msgs::GridMap>,
    occupancy: Publisher<nav_msgs::OccupancyGrid>,
    rocks: Publisher<selene_msgs::Rocks>,
    scenario: Arc<Scenario>,
    /// Windows for which rocks were told.
    told: Option<Place>,
    _subscription: Subscription,
}

impl Maps {
    pub(crate) fn new(transport: &dyn Transport, scenario: &Arc<Scenario>) -> Result<Self, NodeError> {
        let (sender, requests) = channel();
        let topic = scenario.topic("ground_truth/map_request");
        let take = move |request| drop(sender.send(request));
        Ok(Self {
            requests,
            maps: Publisher::new(transport, &scenario.topic("ground_truth/map"), Qos::latched())?,
            occupancy: Publisher::new(transport, &scenario.topic("ground_truth/occupancy"), Qos::latched())?,
            rocks: Publisher::new(transport, &scenario.topic("ground_truth/rocks"), Qos::latched())?,
            scenario: Arc::clone(scenario),
            told: None,
            _subscription: subscribe(transport, &topic, Qos::reliable(), take)?,
        })
    }

    /// Answers every request that waits and tells rocks that have come.
    pub(crate) fn tell(&mut self, world: &World) -> Result<(), NodeError> {
        while let Ok(request) = self.requests.try_recv() {
            match Window::of(&request, world).and_then(|window| Ok((window, limits(&request)?))) {
                Ok((window, limits)) => {
                    self.maps.publish(&window.map(world), world.time())?;
                    self.occupancy.publish(&window.occupancy(world, &limits), world.time())?;
                }
                Err(what) => tracing::warn!("map_request refused: {what}"),
            }
        }
        if self.told != Some(world.ground().place()) {
            self.told = Some(world.ground().place());
            self.rocks.publish(&rocks(world, &self.scenario), world.time())?;
        }
        Ok(())
    }
}

/// The limits of a request.
fn limits(request: &selene_msgs::MapRequest) -> Result<Limits, String> {
    let (slope_rad, rock_m) = (request.slope_limit, request.rock_limit);
    if slope_rad > 0.0 && slope_rad <= std::f64::consts::FRAC_PI_2 && rock_m > 0.0 {
        return Ok(Limits { slope_rad, rock_m });
    }
    Err(format!("slope_limit {slope_rad} rad, rock_limit {rock_m} m; must be above 0, the slope at most a right angle"))
}

/// The cells of a map.
pub(crate) struct Window {
    pub(crate) middle_m: [f64; 2],
    pub(crate) resolution_m: f64,
    /// Along x and along y.
    pub(crate) cells: [usize; 2],
}

impl Window {
    fn of(request: &selene_msgs::MapRequest, world: &World) -> Result<Self, String> {
        let lengths_m = [request.length_x, request.length_y];
        let cells = lengths_m.map(|length_m| (length_m / request.resolution).round());
        let is_map = request.resolution > 0.0 && cells.iter().all(|&n| n >= 1.0) && cells[0] * cells[1] <= CELLS_MAX;
        if !(is_map && request.center_x.is_finite() && request.center_y.is_finite()) {
            return Err(format!(
                "{} × {} m in cells of {} m; a map has 1 to {CELLS_MAX:.0} cells",
                lengths_m[0], lengths_m[1], request.resolution
            ));
        }
        let from_m = match request.header.frame_id.as_str() {
            "" | frames::MAP => Vector3::zeros(),
            frames::BASE_LINK => world.world_from_base().translation.vector,
            other => return Err(format!("frame {other}; must be {} or {}", frames::MAP, frames::BASE_LINK)),
        };
        let middle_m = [request.center_x + from_m.x, request.center_y + from_m.y];
        Ok(Self { middle_m, resolution_m: request.resolution, cells: cells.map(|n| n as usize) })
    }

    fn map(&self, world: &World) -> grid_map_msgs::GridMap {
        let [x, y] = self.middle_m;
        let [length_x, length_y] = self.cells.map(|n| n as f64 * self.resolution_m);
        let position = geometry_msgs::Point { x, y, z: 0.0 };
        let orientation = geometry_msgs::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
        grid_map_msgs::GridMap {
            header: std_msgs::Header::new(world.time(), frames::MAP),
            info: grid_map_msgs::GridMapInfo {
                resolution: self.resolution_m,
                length_x,
                length_y,
                pose: geometry_msgs::Pose { position, orientation },
            },
            layers: LAYERS.map(str::to_owned).into(),
            basic_layers: vec![LAYERS[0].to_owned()],
            data: self.layers(world.ground()),
            outer_start_index: 0,
            inner_start_index: 0,
        }
    }

    fn layers(&self, ground: &Ground) -> Vec<std_msgs::Float32MultiArray> {
        let mut layers = LAYERS.map(|_| Vec::with_capacity(self.cells[0] * self.cells[1]));
        for column in 0..self.cells[1] {
            for row in 0..self.cells[0] {
                let [x, y] = [self.along(0, row), self.along(1, column)];
                layers.iter_mut().zip(cell(ground, x, y)).for_each(|(layer, value)| layer.push(value));
            }
        }
        layers.map(|data| std_msgs::Float32MultiArray { layout: self.layout(), data }).into()
    }

    fn along(&self, axis: usize, index: usize) -> f64 {
        self.middle_m[axis] + (0.5 * self.cells[axis] as f64 - index as f64 - 0.5) * self.resolution_m
    }

    fn layout(&self) -> std_msgs::MultiArrayLayout {
        let [rows, columns] = self.cells.map(|n| n as u32);
        let dimension = |label: &str, size, stride| std_msgs::MultiArrayDimension { label: label.into(), size, stride };
        let dim = vec![dimension("column_index", columns, rows * columns), dimension("row_index", rows, rows)];
        std_msgs::MultiArrayLayout { dim, data_offset: 0 }
    }
}

/// The layers' values at a place; not a number off the ground.
fn cell(ground: &Ground, x: f64, y: f64) -> [f32; 4] {
    let elevation = ground.height_m(x, y).map_or(f32::NAN, |m| m as f32);
    let slope = ground.normal(x, y).map_or(f32::NAN, |normal| normal.z.clamp(-1.0, 1.0).acos() as f32);
    let apart_m = |rock: &Rock| (rock.world_from_rock.translation.vector.xy() - Vector2::new(x, y)).norm();
    let covered = ground.rocks_near(x, y, 0.0).any(|rock| apart_m(rock) <= rock.radius_m);
    let count = ground.rocks_near(x, y, DENSITY_RADIUS_M).filter(|rock| apart_m(rock) <= DENSITY_RADIUS_M).count();
    let density = count as f64 / (std::f64::consts::PI * DENSITY_RADIUS_M.powi(2));
    [elevation, slope, f32::from(u8::from(covered)), density as f32]
}

fn rocks(world: &World, scenario: &Scenario) -> selene_msgs::Rocks {
    let fixed = world.ground().rocks().iter().zip(1..).map(|(rock, instance)| selene_msgs::Rock {
        id: rock.id,
        instance,
        is_loose: false,
        diameter: 2.0 * rock.radius_m,
        pose: to_pose(&rock.world_from_rock),
    });
    let loose = world.loose_rocks().rocks().iter().enumerate().map(|(index, rock)| selene_msgs::Rock {
        id: rock.id,
        instance: instance_of_loose_rock(scenario, index),
        is_loose: true,
        diameter: 2.0 * rock.radius_m,
        pose: to_pose(&rock.world_from_rock),
    });
    selene_msgs::Rocks { header: std_msgs::Header::new(world.time(), frames::MAP), rocks: fixed.chain(loose).collect() }
}

#[cfg(test)]
mod tests {
    use super::{LAYERS, Window};
    use selene_terrain::{Ground, Node};

    #[test]
    fn a_cell_has_the_height_and_slope_of_its_middle_rows_go_west_and_columns_south() {
        let mut ground = Ground::flat(0.1, 20.0);
        for row in 0..=200 {
            for column in 0..=200 {
                let [x, y] = ground.finest().post_xy_m(column, row);
                ground.set_node_height(Node { column: column as u32, row: row as u32 }, 0.1 * x + 0.02 * y);
            }
        }
        let window = Window { middle_m: [2.0, -1.0], resolution_m: 0.5, cells: [6, 4] };
        let layers = window.layers(&ground);
        assert_eq!(layers.len(), LAYERS.len());
        let [elevation, slope] = [&layers[0], &layers[1]];
        assert_eq!(
            elevation.layout.dim.iter().map(|dim| (dim.size, dim.stride)).collect::<Vec<_>>(),
            [(4, 24), (6, 6)]
        );
        for column in 0..4 {
            for row in 0..6 {
                let (x, y) = (2.0 + 1.5 - 0.5 * (row as f64 + 0.5), -1.0 + 1.0 - 0.5 * (column as f64 + 0.5));
                let at = column * 6 + row;
                assert!((f64::from(elevation.data[at]) - (0.1 * x + 0.02 * y)).abs() < 1e-6, "{row}, {column}");
                assert!((f64::from(slope.data[at]).tan() - 0.1_f64.hypot(0.02)).abs() < 1e-5);
            }
        }
        assert!(layers[2].data.iter().chain(&layers[3].data).all(|&value| value == 0.0), "no rocks");
    }
}

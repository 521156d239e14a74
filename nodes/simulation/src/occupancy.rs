//! The occupancy grid of a map request, for planners that take costs: 0 level to 99 just below
//! the request's slope limit, 100 from there on and where a rock stands higher over the soil
//! than its rock limit, −1 off the ground.
//!
//! A cell's slope is that of the plane through its corners' heights, so that it is the
//! slope of a cell's length and not of a clod. Rocks count with the circle about them, fixed ones
//! that the windows show and loose ones where they are now; beyond the finest level small
//! rocks are not shown.

use nalgebra::Vector3;
use selene_base::{Pose, frames};
use selene_ros::{geometry_msgs, nav_msgs, std_msgs};
use selene_sim::World;
use selene_terrain::{Ground, RockShape};

use crate::map::Window;

const UNKNOWN: i8 = -1;
const OCCUPIED: i8 = 100;

/// From when on a cell is occupied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) slope_rad: f64,
    pub(crate) rock_m: f64,
}

/// A rock that stands too high: its middle and how far it reaches on the map, m.
#[derive(Clone, Copy, Debug)]
struct Obstacle {
    at_m: [f64; 2],
    reach_m: f64,
}

impl Window {
    /// The costs of its cells.
    pub(crate) fn occupancy(&self, world: &World, limits: &Limits) -> nav_msgs::OccupancyGrid {
        let [west_m, south_m] = self.corner_m();
        let position = geometry_msgs::Point { x: west_m, y: south_m, z: 0.0 };
        let orientation = geometry_msgs::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 };
        let mut data = self.slopes(world.ground(), limits.slope_rad);
        obstacles(world, limits.rock_m).for_each(|obstacle| self.mark(&obstacle, &mut data));
        nav_msgs::OccupancyGrid {
            header: std_msgs::Header::new(world.time(), frames::MAP),
            info: nav_msgs::MapMetaData {
                map_load_time: world.time().into(),
                resolution: self.resolution_m as f32,
                width: self.cells[0] as u32,
                height: self.cells[1] as u32,
                origin: geometry_msgs::Pose { position, orientation },
            },
            data,
        }
    }

    /// Least x and y, m.
    fn corner_m(&self) -> [f64; 2] {
        [0, 1].map(|axis| self.middle_m[axis] - 0.5 * self.cells[axis] as f64 * self.resolution_m)
    }

    fn slopes(&self, ground: &Ground, limit_rad: f64) -> Vec<i8> {
        let [west_m, south_m] = self.corner_m();
        let [columns, rows] = self.cells;
        let line = |row: usize| -> Vec<Option<f64>> {
            let y = south_m + row as f64 * self.resolution_m;
            (0..=columns).map(|column| ground.height_m(west_m + column as f64 * self.resolution_m, y)).collect()
        };
        let mut data = Vec::with_capacity(columns * rows);
        let mut low = line(0);
        for row in 1..=rows {
            let high = line(row);
            let pairs = low.windows(2).zip(high.windows(2));
            data.extend(pairs.map(|(low, high)| self.cost([low[0], low[1], high[0], high[1]], limit_rad)));
            low = high;
        }
        data
    }

    /// Of a cell with these heights at its south-west, south-east, north-west and north-east corners.
    fn cost(&self, corners_m: [Option<f64>; 4], limit_rad: f64) -> i8 {
        let [Some(a), Some(b), Some(c), Some(d)] = corners_m else { return UNKNOWN };
        let rise = [(b + d - a - c) / 2.0, (c + d - a - b) / 2.0].map(|rise_m| rise_m / self.resolution_m);
        let share = rise[0].hypot(rise[1]).atan() / limit_rad;
        if share >= 1.0 { OCCUPIED } else { (100.0 * share).floor() as i8 }
    }

    /// Marks the cells that an obstacle's circle meets and that are known.
    fn mark(&self, obstacle: &Obstacle, data: &mut [i8]) {
        let corner_m = self.corner_m();
        let span = |axis: usize| {
            let cell = |m: f64| ((m - corner_m[axis]) / self.resolution_m).floor().max(0.0) as usize;
            let (low, high) = (obstacle.at_m[axis] - obstacle.reach_m, obstacle.at_m[axis] + obstacle.reach_m);
            if high < corner_m[axis] { 0..0 } else { cell(low)..(cell(high) + 1).min(self.cells[axis]) }
        };
        for row in span(1) {
            for column in span(0) {
                // From the obstacle's middle to the nearest point of the cell.
                let off = [column, row].map(|i| i as f64 * self.resolution_m);
                let apart = [0, 1].map(|axis| {
                    let low_m = corner_m[axis] + off[axis];
                    (low_m - obstacle.at_m[axis]).max(obstacle.at_m[axis] - low_m - self.resolution_m).max(0.0)
                });
                let cell = &mut data[row * self.cells[0] + column];
                if *cell != UNKNOWN && apart[0].hypot(apart[1]) <= obstacle.reach_m {
                    *cell = OCCUPIED;
                }
            }
        }
    }
}

/// The rocks that stand higher than a limit over the soil at their middle.
fn obstacles(world: &World, limit_m: f64) -> impl Iterator<Item = Obstacle> {
    let ground = world.ground();
    let fixed = ground.rocks().iter().map(|rock| (rock.shape, rock.radius_m, rock.world_from_rock));
    let loose = world.loose_rocks().rocks().iter().map(|rock| (rock.shape, rock.radius_m, rock.world_from_rock));
    fixed.chain(loose).filter_map(move |(shape, radius_m, pose)| {
        let (top_m, reach_m) = extent_m(ground.rock_shapes().get(shape)?, radius_m, &pose);
        let at_m = [pose.translation.x, pose.translation.y];
        (top_m - ground.height_m(at_m[0], at_m[1])? >= limit_m).then_some(Obstacle { at_m, reach_m })
    })
}

/// Height of a rock's top and the radius of the circle about it on the map, m.
fn extent_m(shape: &RockShape, radius_m: f64, pose: &Pose) -> (f64, f64) {
    let arms = shape.vertices.iter().map(|corner| pose.rotation * Vector3::from(*corner).cast::<f64>() * radius_m);
    arms.fold((f64::NEG_INFINITY, 0.0), |(top_m, reach_m), arm| {
        (top_m.max(pose.translation.z + arm.z), reach_m.max(arm.xy().norm()))
    })
}

#[cfg(test)]
mod tests {
    use super::{OCCUPIED, Obstacle, UNKNOWN, Window};
    use selene_terrain::{Ground, Level};

    fn plane(x: f64, y: f64) -> f64 {
        0.1 * x + 0.2 * y
    }

    #[test]
    fn cells_cost_their_slope_against_the_limit_and_beyond_the_ground_are_unknown() {
        let ground = Ground::new(vec![Level::sample([-5.0, -5.0], 0.1, 101, plane)], Vec::new(), Vec::new());
        let window = Window { middle_m: [4.0, 0.0], resolution_m: 0.5, cells: [6, 4] };
        let slope_rad = 0.1_f64.hypot(0.2).atan();
        let costs = window.slopes(&ground, slope_rad / 0.425);
        // x from 2.5 to 5.5 m: the last column is half off the ground.
        assert_eq!(costs[..6], [42, 42, 42, 42, 42, UNKNOWN]);
        assert_eq!(costs.len(), 24);
        assert!(window.slopes(&ground, 0.999 * slope_rad).iter().all(|&cost| cost == OCCUPIED || cost == UNKNOWN));
    }

    #[test]
    fn an_obstacle_marks_the_cells_that_its_circle_meets() {
        let window = Window { middle_m: [0.0, 0.0], resolution_m: 1.0, cells: [5, 4] };
        let marked = |at_m: [f64; 2], reach_m: f64| -> Vec<usize> {
            let mut data = vec![0; 20];
            window.mark(&Obstacle { at_m, reach_m }, &mut data);
            data.iter().enumerate().filter(|(_, cost)| **cost == OCCUPIED).map(|(cell, _)| cell).collect()
        };
        // Cells reach from x -2.5 and y -2.
        assert_eq!(marked([0.0, -1.5], 0.4), [2]);
        assert_eq!(marked([0.0, -1.5], 0.6), [1, 2, 3, 7]);
        assert_eq!(marked([-2.9, -1.5], 0.5), [0]);
        assert!(marked([-2.9, -2.5], 0.55).is_empty());
        assert!(marked([9.0, 9.0], 1.0).is_empty());
    }
}

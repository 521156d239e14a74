//! Ground truth for mapping: layers over a window of cells, including ruts, an occupancy grid, and the rocks around
//! each rover.

use std::convert::Infallible;

use nalgebra::{Vector2, Vector3};
use selene_base::{Pose, SimTime};
use selene_sim::{EntityId, Model, RockPose, Snapshot};
use selene_terrain::{Clipmap, Rock, RockShape, Ruts};

use crate::interval::Interval;
use crate::per_rover::PerRover;
use crate::prefetch::WindowPrefetch;

/// The largest number of cells of one map.
pub const MAP_CELLS_MAX: f64 = 4e6;
/// Radius of the circle in which rocks are counted, m.
const DENSITY_RADIUS_M: f64 = 2.0;

/// Cost of a cell outside the known ground.
const UNKNOWN: i8 = -1;
/// Cost of an impassable cell.
const OCCUPIED: i8 = 100;

/// A window of square cells on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapWindow {
    /// Centre, map x and y, m.
    pub middle_m: [f64; 2],
    /// Side of a cell, m.
    pub resolution_m: f64,
    /// Numbers of cells along x and along y.
    pub cells: [usize; 2],
}

/// Limits at which a cell counts as occupied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OccupancyLimits {
    /// Slope, rad.
    pub slope_rad: f64,
    /// Height of a rock over the soil, m.
    pub rock_m: f64,
}

/// Layers of a map, each with a value at every cell's centre. Cells start at the greatest x and y and run along −x
/// first, then along −y; values are NaN outside the known ground.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundLayers {
    /// Height, m.
    pub elevation_m: Vec<f32>,
    /// Slope, rad.
    pub slope_rad: Vec<f32>,
    /// 1 where a rock covers the cell's centre, otherwise 0.
    pub rock_cover: Vec<f32>,
    /// Density of rocks within 2 m, 1/m².
    pub rock_density: Vec<f32>,
}

/// The rocks around a rover.
#[derive(Clone, Debug, PartialEq)]
pub struct RocksAround {
    /// The rover.
    pub rover: EntityId,
    /// Instant of the loose rocks' poses.
    pub stamp: SimTime,
    /// Fixed rocks, sorted by number.
    pub fixed: Vec<Rock>,
    /// Loose rocks, which rovers can push, sorted by number.
    pub loose: Vec<RockPose>,
}

/// The ground around every rover.
#[derive(Debug)]
pub struct GroundTruth {
    rovers: PerRover<RoverGround>,
    /// Current poses of the loose rocks.
    loose: Vec<RockPose>,
}

/// The ground around one rover.
#[derive(Debug)]
struct RoverGround {
    rover: EntityId,
    /// The ground without ruts; its windows are shared with cameras and lidars.
    undriven: Clipmap,
    ruts: Ruts,
    prefetch: WindowPrefetch,
    /// Whether its rocks were reported since its windows moved.
    reported: bool,
}

/// A rock above the height limit: its centre and its radius on the map, m.
#[derive(Clone, Copy, Debug)]
struct HighRock {
    at_m: [f64; 2],
    reach_m: f64,
}

impl Default for GroundTruth {
    fn default() -> Self {
        Self { rovers: PerRover::on_ground(), loose: Vec::new() }
    }
}

impl GroundTruth {
    /// Processes the world's next interval and returns the rocks around new rovers and those whose windows of ground
    /// moved; around all rovers when loose rocks were added or removed.
    pub fn take(&mut self, interval: &Interval) -> Vec<RocksAround> {
        let Interval { model, next, edits, .. } = interval;
        let Ok(()) =
            self.rovers.follow(interval, |rover, ruts| Ok::<_, Infallible>(RoverGround::new(model, rover, next, ruts)));
        let are_same = self.loose.iter().map(|rock| rock.id).eq(next.loose_rocks.iter().map(|rock| rock.id));
        self.loose.clone_from(&next.loose_rocks);
        let mut come = Vec::new();
        for around in self.rovers.values_mut() {
            around.reported &= are_same;
            around.ruts.apply(edits);
            around.follow(model, next);
            if !std::mem::replace(&mut around.reported, true) {
                let (fixed, loose) = (around.undriven.rocks().to_vec(), self.loose.clone());
                come.push(RocksAround { rover: around.rover, stamp: next.time, fixed, loose });
            }
        }
        come
    }

    /// The layers of a window around a rover; `None` if there is no such rover.
    #[must_use]
    pub fn layers(&self, rover: EntityId, window: &MapWindow) -> Option<GroundLayers> {
        self.rovers.get(rover).map(|around| window.layers(&around.driven()))
    }

    /// The costs of a window's cells, row by row from the least x and y: 0 for level ground to 99 just below the
    /// slope limit, 100 from the limit on and where a rock's height over the soil reaches its limit, −1 outside the
    /// known ground. `None` if there is no such rover.
    ///
    /// A cell's slope is that of the plane through its corners' heights, so that it is the slope over a cell's length
    /// and not that of a clod. Rocks count with the circle around them: the fixed ones that the windows show, and the
    /// loose ones at their current positions; beyond the finest level small rocks are not shown.
    #[must_use]
    pub fn occupancy(&self, rover: EntityId, window: &MapWindow, limits: &OccupancyLimits) -> Option<Vec<i8>> {
        self.rovers.get(rover).map(|around| window.occupancy(&around.driven(), &self.loose, limits))
    }
}

impl RoverGround {
    fn new(model: &Model, rover: EntityId, snapshot: &Snapshot, ruts: &Ruts) -> Self {
        let centre = snapshot.rover(rover).map_or([0, 0], |rover| rover.clipmap_centre);
        let undriven = Clipmap::at(model.terrain(), centre);
        Self { rover, undriven, ruts: ruts.clone(), prefetch: WindowPrefetch::default(), reported: false }
    }

    /// The ground with its ruts. It is computed on demand, because most runs never need a map and a copy of the finest
    /// window
    /// takes 38 MB.
    fn driven(&self) -> Clipmap {
        let mut clipmap = self.undriven.clone();
        clipmap.take_ruts(&self.ruts);
        clipmap
    }

    fn follow(&mut self, model: &Model, snapshot: &Snapshot) {
        let Some(rover) = snapshot.rover(self.rover) else { return };
        let centre = rover.clipmap_centre;
        if centre != self.undriven.centre()
            && let Some(windows) = self.prefetch.windows(model.terrain(), centre)
        {
            self.undriven.enter(windows);
            self.reported = false;
        }
        let (at_m, velocity_m_s) = (rover.world_from_base().translation.vector.xy(), rover.base_twist.linear.xy());
        self.prefetch.look_ahead(model.terrain(), centre, at_m, velocity_m_s);
    }
}

impl MapWindow {
    fn layers(&self, clipmap: &Clipmap) -> GroundLayers {
        let count = self.cells[0] * self.cells[1];
        let mut layers: [Vec<f32>; 4] = std::array::from_fn(|_| Vec::with_capacity(count));
        for column in 0..self.cells[1] {
            for row in 0..self.cells[0] {
                let [x, y] = [self.along(0, row), self.along(1, column)];
                layers.iter_mut().zip(cell(clipmap, x, y)).for_each(|(layer, value)| layer.push(value));
            }
        }
        let [elevation_m, slope_rad, rock_cover, rock_density] = layers;
        GroundLayers { elevation_m, slope_rad, rock_cover, rock_density }
    }

    fn along(&self, axis: usize, index: usize) -> f64 {
        self.middle_m[axis] + (0.5 * self.cells[axis] as f64 - index as f64 - 0.5) * self.resolution_m
    }

    /// Least x and y, m.
    #[must_use]
    pub fn corner_m(&self) -> [f64; 2] {
        [0, 1].map(|axis| self.middle_m[axis] - 0.5 * self.cells[axis] as f64 * self.resolution_m)
    }

    fn occupancy(&self, clipmap: &Clipmap, loose: &[RockPose], limits: &OccupancyLimits) -> Vec<i8> {
        let mut costs = self.slopes(clipmap, limits.slope_rad);
        high_rocks(clipmap, loose, limits.rock_m).for_each(|rock| self.mark(&rock, &mut costs));
        costs
    }

    fn slopes(&self, clipmap: &Clipmap, limit_rad: f64) -> Vec<i8> {
        let [west_m, south_m] = self.corner_m();
        let [columns, rows] = self.cells;
        let line = |row: usize| -> Vec<Option<f64>> {
            let y = south_m + row as f64 * self.resolution_m;
            (0..=columns).map(|column| clipmap.height_m(west_m + column as f64 * self.resolution_m, y)).collect()
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

    /// The cost of a cell with these heights at its south-west, south-east, north-west and north-east corners.
    fn cost(&self, corners_m: [Option<f64>; 4], limit_rad: f64) -> i8 {
        let [Some(a), Some(b), Some(c), Some(d)] = corners_m else { return UNKNOWN };
        let rise = [(b + d - a - c) / 2.0, (c + d - a - b) / 2.0].map(|rise_m| rise_m / self.resolution_m);
        let share = rise[0].hypot(rise[1]).atan() / limit_rad;
        if share >= 1.0 { OCCUPIED } else { (100.0 * share).floor() as i8 }
    }

    /// Marks the known cells that a rock's circle touches.
    fn mark(&self, rock: &HighRock, data: &mut [i8]) {
        let corner_m = self.corner_m();
        let span = |axis: usize| {
            let cell = |m: f64| ((m - corner_m[axis]) / self.resolution_m).floor().max(0.0) as usize;
            let (low, high) = (rock.at_m[axis] - rock.reach_m, rock.at_m[axis] + rock.reach_m);
            if high < corner_m[axis] { 0..0 } else { cell(low)..(cell(high) + 1).min(self.cells[axis]) }
        };
        for row in span(1) {
            for column in span(0) {
                // The distance from the rock's centre to the nearest point of the cell.
                let off = [column, row].map(|i| i as f64 * self.resolution_m);
                let apart = [0, 1].map(|axis| {
                    let low_m = corner_m[axis] + off[axis];
                    (low_m - rock.at_m[axis]).max(rock.at_m[axis] - low_m - self.resolution_m).max(0.0)
                });
                let cell = &mut data[row * self.cells[0] + column];
                if *cell != UNKNOWN && apart[0].hypot(apart[1]) <= rock.reach_m {
                    *cell = OCCUPIED;
                }
            }
        }
    }
}

/// The layers' values at a position; NaN outside the known ground.
fn cell(clipmap: &Clipmap, x: f64, y: f64) -> [f32; 4] {
    let elevation = clipmap.height_m(x, y).map_or(f32::NAN, |m| m as f32);
    let slope = clipmap.normal(x, y).map_or(f32::NAN, |normal| normal.z.clamp(-1.0, 1.0).acos() as f32);
    let apart_m = |rock: &Rock| (rock.world_from_rock.translation.vector.xy() - Vector2::new(x, y)).norm();
    let covered = clipmap.rocks_near(x, y, 0.0).any(|rock| apart_m(rock) <= rock.radius_m);
    let count = clipmap.rocks_near(x, y, DENSITY_RADIUS_M).filter(|rock| apart_m(rock) <= DENSITY_RADIUS_M).count();
    let density = count as f64 / (std::f64::consts::PI * DENSITY_RADIUS_M.powi(2));
    [elevation, slope, f32::from(u8::from(covered)), density as f32]
}

/// The rocks whose top is at least `limit_m` above the soil at their centre.
fn high_rocks<'a>(clipmap: &'a Clipmap, loose: &'a [RockPose], limit_m: f64) -> impl Iterator<Item = HighRock> + 'a {
    let fixed = clipmap.rocks().iter().map(|rock| (rock.shape, rock.radius_m, rock.world_from_rock));
    let loose = loose.iter().map(|rock| (rock.shape as usize, rock.radius_m, rock.world_from_rock));
    fixed.chain(loose).filter_map(move |(shape, radius_m, pose)| {
        let (top_m, reach_m) = extent_m(clipmap.rock_shapes().get(shape)?, radius_m, &pose);
        let at_m = [pose.translation.x, pose.translation.y];
        (top_m - clipmap.height_m(at_m[0], at_m[1])? >= limit_m).then_some(HighRock { at_m, reach_m })
    })
}

/// Height of a rock's top and radius of its circle on the map, m.
fn extent_m(shape: &RockShape, radius_m: f64, pose: &Pose) -> (f64, f64) {
    let arms = shape.vertices.iter().map(|corner| pose.rotation * Vector3::from(*corner).cast::<f64>() * radius_m);
    arms.fold((f64::NEG_INFINITY, 0.0), |(top_m, reach_m), arm| {
        (top_m.max(pose.translation.z + arm.z), reach_m.max(arm.xy().norm()))
    })
}

#[cfg(test)]
mod tests {
    use super::{HighRock, MapWindow, OCCUPIED, UNKNOWN};
    use selene_terrain::{Clipmap, Level};

    #[test]
    fn a_cell_has_the_height_and_slope_of_its_middle_rows_go_west_and_columns_south() {
        let plane = Level::sample([-10.0, -10.0], 0.1, 201, |x, y| 0.1 * x + 0.02 * y);
        let clipmap = Clipmap::new(vec![plane], Vec::new(), Vec::new());
        let window = MapWindow { middle_m: [2.0, -1.0], resolution_m: 0.5, cells: [6, 4] };
        let layers = window.layers(&clipmap);
        for column in 0..4 {
            for row in 0..6 {
                let (x, y) = (2.0 + 1.5 - 0.5 * (row as f64 + 0.5), -1.0 + 1.0 - 0.5 * (column as f64 + 0.5));
                let at = column * 6 + row;
                assert!((f64::from(layers.elevation_m[at]) - (0.1 * x + 0.02 * y)).abs() < 1e-6, "{row}, {column}");
                assert!((f64::from(layers.slope_rad[at]).tan() - 0.1_f64.hypot(0.02)).abs() < 1e-5);
            }
        }
        assert!(layers.rock_cover.iter().chain(&layers.rock_density).all(|&value| value == 0.0), "no rocks");
    }

    #[test]
    fn cells_cost_their_slope_against_the_limit_and_beyond_the_ground_are_unknown() {
        let plane = |x: f64, y: f64| 0.1 * x + 0.2 * y;
        let clipmap = Clipmap::new(vec![Level::sample([-5.0, -5.0], 0.1, 101, plane)], Vec::new(), Vec::new());
        let window = MapWindow { middle_m: [4.0, 0.0], resolution_m: 0.5, cells: [6, 4] };
        let slope_rad = 0.1_f64.hypot(0.2).atan();
        let costs = window.slopes(&clipmap, slope_rad / 0.425);
        // x from 2.5 to 5.5 m: half of the last column is outside the ground.
        assert_eq!(costs[..6], [42, 42, 42, 42, 42, UNKNOWN]);
        assert_eq!(costs.len(), 24);
        assert!(window.slopes(&clipmap, 0.999 * slope_rad).iter().all(|&cost| cost == OCCUPIED || cost == UNKNOWN));
    }

    #[test]
    fn a_high_rock_marks_the_cells_that_its_circle_meets() {
        let window = MapWindow { middle_m: [0.0, 0.0], resolution_m: 1.0, cells: [5, 4] };
        let marked = |at_m: [f64; 2], reach_m: f64| -> Vec<usize> {
            let mut data = vec![0; 20];
            window.mark(&HighRock { at_m, reach_m }, &mut data);
            data.iter().enumerate().filter(|(_, cost)| **cost == OCCUPIED).map(|(cell, _)| cell).collect()
        };
        // The cells begin at x −2.5 and y −2.
        assert_eq!(marked([0.0, -1.5], 0.4), [2]);
        assert_eq!(marked([0.0, -1.5], 0.6), [1, 2, 3, 7]);
        assert_eq!(marked([-2.9, -1.5], 0.5), [0]);
        assert!(marked([-2.9, -2.5], 0.55).is_empty());
        assert!(marked([9.0, 9.0], 1.0).is_empty());
    }
}

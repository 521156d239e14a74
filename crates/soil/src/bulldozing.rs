//! Ruts written to the ground, and soil that moves aside: the volume that leaves the
//! ground's posts is laid on the posts beside the contact (all around it where the
//! wheel sinks on the spot), then posts steeper than the angle of repose give half of the excess to their
//! lower neighbour, in a few passes over a few rings around the contact (after Krenn
//! and Hirzinger 2009). With flow 1 no volume is lost: heights are stored as `f32`,
//! so what rounding keeps back is carried to the next post.
//!
//! Moved soil is loose: it is plastic sinkage given back, and carries nothing until
//! it is pressed down to the height the post had when it was untouched: another wheel
//! sinks through a berm, which does not yet resist it.

use nalgebra::Vector3;
use selene_terrain::{Ground, Node};

use crate::memory::SoilMemory;
use crate::press::{Scratch, Touch};
use crate::scm::{Bulldozing, Scm};

/// Below this speed a wheel sinks on the spot.
const TRAVEL_MIN_M_S: f64 = 1e-3;
/// The outer part of the border's width that is its side.
const SIDE_SHARE: f64 = 0.1;

/// Working arrays of bulldozing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    border: Vec<Node>,
    heights_m: Vec<f64>,
    fixed: Vec<bool>,
    column: usize,
    row: usize,
    columns: usize,
    rows: usize,
}

/// Writes the ruts under a wheel to the ground and moves their soil aside.
pub(crate) fn settle(
    scm: &Scm,
    travel_m_s: Vector3<f64>,
    ground: &mut Ground,
    memory: &mut SoilMemory,
    scratch: &mut Scratch,
) {
    let sunk_m3 = write_ruts(ground, memory, scratch);
    if let Some(bulldozing) = &scm.bulldozing {
        scratch.gather_border();
        let Scratch { bulldozing: work, .. } = scratch;
        work.keep_sides(travel_m_s);
        work.deposit(sunk_m3 * bulldozing.flow, ground, memory);
        scratch.load_domain(bulldozing.rings, ground);
        let Scratch { bulldozing: work, .. } = scratch;
        work.erode(bulldozing, ground.finest().spacing_m);
        work.store(ground, memory);
    }
}

/// Gives pressed posts their heights; the volume they lost.
fn write_ruts(ground: &mut Ground, memory: &SoilMemory, scratch: &Scratch) -> f64 {
    let mut sunk_m = 0.0;
    for hit in scratch.hits.iter().filter(|hit| hit.plastic_m != 0.0) {
        let Some(node) = memory.node(hit.node) else { continue };
        sunk_m += ground.node_height_m(hit.node) - set_height(ground, hit.node, node.initial_m - node.plastic_m);
    }
    sunk_m * cell_m2(ground)
}

/// Sets a post that differs; its height afterwards.
fn set_height(ground: &mut Ground, node: Node, height_m: f32) -> f64 {
    let height_m = f64::from(height_m);
    if ground.node_height_m(node) != height_m {
        ground.set_node_height(node, height_m);
    }
    height_m
}

fn cell_m2(ground: &Ground) -> f64 {
    ground.finest().spacing_m.powi(2)
}

/// Raises (or lowers) a post that nothing presses, as loose soil in its memory; the
/// height that was really gained.
fn raise(ground: &mut Ground, memory: &mut SoilMemory, node: Node, by_m: f64) -> f64 {
    let before = ground.node_height_m(node);
    let touched = memory.touch(node, before as f32);
    touched.plastic_m = (f64::from(touched.initial_m) - before - by_m) as f32;
    let height_m = touched.initial_m - touched.plastic_m;
    set_height(ground, node, height_m) - before
}

impl Scratch {
    /// Posts beside the contact: neighbours of pressed posts that are not pressed.
    fn gather_border(&mut self) {
        let Self { window, hits, patches, bulldozing: work, .. } = self;
        work.border.clear();
        for hit in hits.iter().filter(|hit| matches!(hit.touch, Touch::Soil | Touch::Loose)) {
            let (column, row) = ((hit.at % window.columns) as i64, (hit.at / window.columns) as i64);
            for (c, r) in [(column - 1, row), (column + 1, row), (column, row - 1), (column, row + 1)] {
                let inside = c >= 0 && r >= 0 && (c as usize) < window.columns && (r as usize) < window.rows;
                if inside && patches.touches(r as usize * window.columns + c as usize) {
                    continue;
                }
                let [column, row] = [window.column as i64 + c, window.row as i64 + r];
                work.border.push(Node { column: column as u32, row: row as u32 });
            }
        }
        work.border.sort_unstable();
        work.border.dedup();
    }

    /// Reads the posts within `rings` of the window.
    fn load_domain(&mut self, rings: usize, ground: &Ground) {
        let Self { hits, bulldozing: work, .. } = self;
        let posts = ground.finest().posts;
        let soil = || hits.iter().filter(|hit| hit.touch != Touch::Free);
        let span = |along: &dyn Fn(Node) -> u32| {
            let least = soil().map(|hit| along(hit.node)).min().unwrap_or(0) as usize;
            let greatest = soil().map(|hit| along(hit.node)).max().unwrap_or(0) as usize;
            (least.saturating_sub(rings), (greatest + rings).min(posts - 1))
        };
        let (columns, rows) = (span(&|node| node.column), span(&|node| node.row));
        (work.column, work.columns) = (columns.0, columns.1 - columns.0 + 1);
        (work.row, work.rows) = (rows.0, rows.1 - rows.0 + 1);
        work.heights_m.clear();
        for row in rows.0..=rows.1 {
            let line = &ground.finest().heights_m[row * posts + columns.0..=row * posts + columns.1];
            work.heights_m.extend(line.iter().map(|&h| f64::from(h)));
        }
        work.fixed.clear();
        work.fixed.resize(work.heights_m.len(), false);
        for node in soil().map(|hit| hit.node) {
            work.fixed[(node.row as usize - work.row) * work.columns + node.column as usize - work.column] = true;
        }
    }
}

impl Work {
    /// Keeps the border's posts to the left and right of the wheel's way.
    fn keep_sides(&mut self, travel_m_s: Vector3<f64>) {
        if travel_m_s.x.hypot(travel_m_s.y) < TRAVEL_MIN_M_S {
            return;
        }
        let left = |node: &Node| f64::from(node.row) * travel_m_s.x - f64::from(node.column) * travel_m_s.y;
        let least = self.border.iter().map(left).fold(f64::INFINITY, f64::min);
        let greatest = self.border.iter().map(left).fold(f64::NEG_INFINITY, f64::max);
        let margin = SIDE_SHARE * (greatest - least);
        self.border.retain(|node| left(node) <= least + margin || left(node) >= greatest - margin);
    }

    /// Lays a volume on the border.
    fn deposit(&mut self, volume_m3: f64, ground: &mut Ground, memory: &mut SoilMemory) {
        let cell_m2 = cell_m2(ground);
        let total_m = volume_m3 / cell_m2;
        let share_m = total_m / self.border.len().max(1) as f64;
        let mut left_m = total_m + memory.crumbs_m3 / cell_m2;
        for (i, &node) in self.border.iter().enumerate() {
            let last = i + 1 == self.border.len();
            left_m -= raise(ground, memory, node, if last { left_m } else { share_m });
        }
        memory.crumbs_m3 = left_m * cell_m2;
    }

    fn erode(&mut self, bulldozing: &Bulldozing, spacing_m: f64) {
        let drop_m = spacing_m * bulldozing.repose_tan;
        for _ in 0..bulldozing.passes {
            for row in 0..self.rows {
                for column in 0..self.columns {
                    let at = row * self.columns + column;
                    if column + 1 < self.columns {
                        self.slide(at, at + 1, drop_m);
                    }
                    if row + 1 < self.rows {
                        self.slide(at, at + self.columns, drop_m);
                    }
                }
            }
        }
    }

    /// Moves half of what is too steep between two posts.
    fn slide(&mut self, a: usize, b: usize, drop_m: f64) {
        let difference = self.heights_m[a] - self.heights_m[b];
        let excess = difference.abs() - drop_m;
        if excess > 0.0 && !self.fixed[a] && !self.fixed[b] {
            let moved = 0.25 * excess * difference.signum();
            self.heights_m[a] -= moved;
            self.heights_m[b] += moved;
        }
    }

    /// Writes the posts that changed.
    fn store(&self, ground: &mut Ground, memory: &mut SoilMemory) {
        let mut left_m = memory.crumbs_m3 / cell_m2(ground);
        for (i, &height_m) in self.heights_m.iter().enumerate() {
            let [column, row] = [self.column + i % self.columns, self.row + i / self.columns];
            let node = Node { column: column as u32, row: row as u32 };
            let change_m = height_m - ground.node_height_m(node);
            if change_m != 0.0 {
                left_m += change_m - raise(ground, memory, node, change_m + left_m);
            }
        }
        memory.crumbs_m3 = left_m * cell_m2(ground);
    }
}

//! Soil slides until it rests: between a post and each of its eight neighbours the
//! ground is nowhere steeper than the angle of repose, beside a solid that presses it
//! (which holds the posts under it) and wherever the slide runs to. Ground that was
//! steeper before anything pressed it stands as it stood. A slope gives way when it is
//! 1 % too steep and slides back to repose, so that every slide ends.
//!
//! Eight neighbours make of a cone an octagon, at most 8 % steeper between them.

use std::collections::VecDeque;
use std::f64::consts::SQRT_2;

use selene_terrain::{GroundPatch, Node};

use crate::memory::MemoryPatch;

/// Slopes hold this multiple of the tangent of the angle of repose before they slide.
const HOLDS: f64 = 1.01;
/// Posts around the contact that are looked at first.
const MARGIN_POSTS: i32 = 2;
/// Neighbours of a post, columns and rows.
const AROUND: [(i64, i64); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// A rectangle of posts, and those of it that wait to be looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Erosion {
    first: Node,
    columns: usize,
    rows: usize,
    heights_m: Vec<f64>,
    /// Heights before anything pressed or buried them.
    natural_m: Vec<f32>,
    /// Of the row that is being read.
    plastic_m: Vec<f32>,
    held: Vec<bool>,
    waiting: VecDeque<usize>,
    waits: Vec<bool>,
}

impl Erosion {
    /// Lets the soil around `held` posts slide to rest.
    pub(crate) fn settle(
        &mut self,
        repose_tan: f64,
        held: &[Node],
        ground: &mut GroundPatch,
        memory: &mut MemoryPatch,
    ) {
        let mut margin = MARGIN_POSTS;
        while !held.is_empty() {
            self.load(held, margin, ground, memory);
            let all = ground.nodes();
            let whole = self.columns == all.columns && self.rows == all.rows;
            let over_rim = self.slide(repose_tan * ground.spacing_m());
            self.store(ground, memory);
            if whole || !over_rim {
                return;
            }
            margin *= 2;
        }
    }

    /// Reads the posts within `margin` of the held ones.
    fn load(&mut self, held: &[Node], margin: i32, ground: &GroundPatch, memory: &MemoryPatch) {
        let all = ground.nodes();
        let span = |along: fn(&Node) -> i32, count: usize| {
            let (first, end) = (along(&all.first), along(&all.first) + count as i32);
            let least = held.iter().map(along).min().unwrap_or(first) - margin;
            let greatest = held.iter().map(along).max().unwrap_or(first) + margin;
            (least.max(first), greatest.min(end - 1))
        };
        let (columns, rows) = (span(|node| node.column, all.columns), span(|node| node.row, all.rows));
        self.first = Node { column: columns.0, row: rows.0 };
        self.columns = (columns.1 - columns.0 + 1) as usize;
        self.rows = (rows.1 - rows.0 + 1) as usize;
        let count = self.columns * self.rows;
        self.heights_m.clear();
        self.natural_m.clear();
        for row in rows.0..=rows.1 {
            let (first, from) = (Node { column: columns.0, row }, self.natural_m.len());
            self.natural_m.resize(from + self.columns, 0.0);
            ground.copy_row(first, &mut self.natural_m[from..]);
            self.heights_m.extend(self.natural_m[from..].iter().map(|&h| f64::from(h)));
            self.plastic_m.resize(self.columns, 0.0);
            memory.overlay(first, &mut self.natural_m[from..], &mut self.plastic_m);
        }
        self.held.clear();
        self.held.resize(count, false);
        for node in held {
            let [column, row] = [node.column - self.first.column, node.row - self.first.row];
            self.held[row as usize * self.columns + column as usize] = true;
        }
        self.waiting.clear();
        self.waiting.extend(0..count);
        self.waits.clear();
        self.waits.resize(count, true);
    }

    /// Slides until nothing is too steep; whether a post on the rim moved.
    fn slide(&mut self, drop_m: f64) -> bool {
        let mut over_rim = false;
        while let Some(at) = self.waiting.pop_front() {
            self.waits[at] = false;
            let (column, row) = ((at % self.columns) as i64, (at / self.columns) as i64);
            for (c, r) in AROUND {
                let Some(to) = self.at(column + c, row + r) else { continue };
                let far = if c != 0 && r != 0 { SQRT_2 } else { 1.0 };
                if self.level_out(at, to, far * drop_m) {
                    self.wake(at);
                    self.wake(to);
                    over_rim |= self.on_rim(at) || self.on_rim(to);
                }
            }
        }
        over_rim
    }

    /// Moves what is too steep between two posts; whether anything was.
    fn level_out(&mut self, a: usize, b: usize, drop_m: f64) -> bool {
        if self.held[a] || self.held[b] {
            return false;
        }
        let (high, low) = if self.heights_m[a] > self.heights_m[b] { (a, b) } else { (b, a) };
        let natural_m = f64::from(self.natural_m[high]) - f64::from(self.natural_m[low]);
        let rests_m = drop_m.max(natural_m);
        let steep_m = self.heights_m[high] - self.heights_m[low];
        let gives_way = steep_m.is_finite() && steep_m > HOLDS * rests_m;
        if !gives_way {
            return false;
        }
        let moved_m = 0.5 * (steep_m - rests_m);
        self.heights_m[high] -= moved_m;
        self.heights_m[low] += moved_m;
        true
    }

    fn wake(&mut self, at: usize) {
        if !std::mem::replace(&mut self.waits[at], true) {
            self.waiting.push_back(at);
        }
    }

    fn at(&self, column: i64, row: i64) -> Option<usize> {
        let inside = column >= 0 && row >= 0 && (column as usize) < self.columns && (row as usize) < self.rows;
        inside.then(|| row as usize * self.columns + column as usize)
    }

    fn on_rim(&self, at: usize) -> bool {
        let (column, row) = (at % self.columns, at / self.columns);
        column == 0 || row == 0 || column + 1 == self.columns || row + 1 == self.rows
    }

    /// Writes the posts that changed.
    fn store(&self, ground: &mut GroundPatch, memory: &mut MemoryPatch) {
        for (i, &height_m) in self.heights_m.iter().enumerate() {
            let [column, row] = [i % self.columns, i / self.columns].map(|at| at as i32);
            let node = Node { column: self.first.column + column, row: self.first.row + row };
            let change_m = height_m - ground.node_height_m(node);
            if change_m != 0.0 {
                memory.raise(node, change_m, ground);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Erosion;
    use crate::memory::MemoryPatch;
    use selene_terrain::{GroundPatch, Level, Node, NodeRect};

    const REPOSE_TAN: f64 = 0.7;
    const HELD: [Node; 1] = [Node { column: 20, row: 20 }];
    const HEAP: Node = Node { column: 22, row: 20 };

    /// A slope of 45°.
    fn slope() -> (GroundPatch, MemoryPatch) {
        let level = Level::sample([0.0, 0.0], 0.02, 41, |x, _| x);
        let ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
        let memory = MemoryPatch::new(&ground);
        (ground, memory)
    }

    fn total_m(ground: &GroundPatch) -> f64 {
        heights_m(ground).iter().sum()
    }

    fn heights_m(ground: &GroundPatch) -> Vec<f64> {
        let NodeRect { columns, rows, .. } = ground.nodes();
        let node = |i: usize| Node { column: (i % columns) as i32, row: (i / columns) as i32 };
        (0..columns * rows).map(|i| ground.node_height_m(node(i))).collect()
    }

    #[test]
    fn ground_steeper_than_repose_stands_as_it_stood() {
        let (mut ground, mut memory) = slope();
        let before = heights_m(&ground);
        Erosion::default().settle(REPOSE_TAN, &HELD, &mut ground, &mut memory);
        assert!(heights_m(&ground) == before);
    }

    #[test]
    fn a_heap_on_steep_ground_slides_down_it() {
        let (mut ground, mut memory) = slope();
        memory.raise(HEAP, 0.05, &mut ground);
        let before = total_m(&ground);
        Erosion::default().settle(REPOSE_TAN, &HELD, &mut ground, &mut memory);
        let added_m = |column: i32| ground.node_height_m(Node { column, ..HEAP }) - 0.02 * f64::from(column);
        assert!(added_m(22) < 0.03 && added_m(21) > added_m(23), "{} {} {}", added_m(21), added_m(22), added_m(23));
        assert!((total_m(&ground) - before).abs() < 1e-6);
    }
}

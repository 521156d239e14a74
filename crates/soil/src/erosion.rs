//! Soil slides until it rests: between a post and each of its eight neighbours the
//! ground is nowhere steeper than the angle of repose, beside a solid that presses it
//! (which holds the posts under it) and wherever the slide runs to. Ground that was
//! steeper before anything pressed it stands as it stood. A slope gives way when it is
//! 1 % too steep and slides back to repose, so that every slide ends.
//!
//! Eight neighbours make of a cone an octagon, at most 8 % steeper between them.

use std::collections::VecDeque;
use std::f64::consts::SQRT_2;

use selene_terrain::{Ground, Node};

use crate::memory::SoilMemory;

/// Slopes hold this multiple of the tangent of the angle of repose before they slide.
const HOLDS: f64 = 1.01;
/// Posts around the contact that are looked at first.
const MARGIN_POSTS: usize = 2;
/// Neighbours of a post, columns and rows.
const AROUND: [(i64, i64); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// A rectangle of posts, and those of it that wait to be looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Erosion {
    column: usize,
    row: usize,
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
    pub(crate) fn settle(&mut self, repose_tan: f64, held: &[Node], ground: &mut Ground, memory: &mut SoilMemory) {
        let mut margin = MARGIN_POSTS;
        while !held.is_empty() {
            self.load(held, margin, ground, memory);
            let whole = self.columns.min(self.rows) == ground.finest().posts;
            let over_rim = self.slide(repose_tan * ground.finest().spacing_m);
            self.store(ground, memory);
            if whole || !over_rim {
                return;
            }
            margin *= 2;
        }
    }

    /// Reads the posts within `margin` of the held ones.
    fn load(&mut self, held: &[Node], margin: usize, ground: &Ground, memory: &SoilMemory) {
        let posts = ground.finest().posts;
        let span = |along: fn(&Node) -> u32| {
            let least = held.iter().map(along).min().unwrap_or(0) as usize;
            let greatest = held.iter().map(along).max().unwrap_or(0) as usize;
            (least.saturating_sub(margin), (greatest + margin).min(posts - 1))
        };
        let (columns, rows) = (span(|node| node.column), span(|node| node.row));
        (self.column, self.columns) = (columns.0, columns.1 - columns.0 + 1);
        (self.row, self.rows) = (rows.0, rows.1 - rows.0 + 1);
        let count = self.columns * self.rows;
        self.heights_m.clear();
        self.natural_m.clear();
        for row in rows.0..=rows.1 {
            let line = &ground.finest().heights_m[row * posts + columns.0..=row * posts + columns.1];
            self.heights_m.extend(line.iter().map(|&h| f64::from(h)));
            self.natural_m.extend_from_slice(line);
            let from = self.natural_m.len() - self.columns;
            self.plastic_m.resize(self.columns, 0.0);
            memory.overlay(columns.0, row, &mut self.natural_m[from..], &mut self.plastic_m);
        }
        self.held.clear();
        self.held.resize(count, false);
        for node in held {
            self.held[(node.row as usize - self.row) * self.columns + node.column as usize - self.column] = true;
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
    fn store(&self, ground: &mut Ground, memory: &mut SoilMemory) {
        for (i, &height_m) in self.heights_m.iter().enumerate() {
            let [column, row] = [self.column + i % self.columns, self.row + i / self.columns];
            let node = Node { column: column as u32, row: row as u32 };
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
    use crate::memory::SoilMemory;
    use selene_terrain::{Ground, Level, Node};

    const REPOSE_TAN: f64 = 0.7;
    const HELD: [Node; 1] = [Node { column: 20, row: 20 }];
    const HEAP: Node = Node { column: 22, row: 20 };

    /// A slope of 45°.
    fn slope() -> (Ground, SoilMemory) {
        let level = Level::sample([0.0, 0.0], 0.02, 41, |x, _| x);
        let ground = Ground::new(vec![level], Vec::new(), Vec::new());
        let memory = SoilMemory::new(&ground);
        (ground, memory)
    }

    fn total_m(ground: &Ground) -> f64 {
        ground.finest().heights_m.iter().map(|&h| f64::from(h)).sum()
    }

    #[test]
    fn ground_steeper_than_repose_stands_as_it_stood() {
        let (mut ground, mut memory) = slope();
        let before = ground.finest().heights_m.clone();
        Erosion::default().settle(REPOSE_TAN, &HELD, &mut ground, &mut memory);
        assert!(ground.finest().heights_m == before);
    }

    #[test]
    fn a_heap_on_steep_ground_slides_down_it() {
        let (mut ground, mut memory) = slope();
        memory.raise(HEAP, 0.05, &mut ground);
        let before = total_m(&ground);
        Erosion::default().settle(REPOSE_TAN, &HELD, &mut ground, &mut memory);
        let added_m = |column: u32| ground.node_height_m(Node { column, ..HEAP }) - 0.02 * f64::from(column);
        assert!(added_m(22) < 0.03 && added_m(21) > added_m(23), "{} {} {}", added_m(21), added_m(22), added_m(23));
        assert!((total_m(&ground) - before).abs() < 1e-6);
    }
}

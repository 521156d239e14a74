//! Ruts written to the ground, and soil that moves aside: the volume that leaves the
//! ground's posts is laid on the posts beside the contact (all around it where the
//! wheel sinks on the spot) and slides from there to rest (after Krenn and Hirzinger
//! 2009; see `erosion`). With flow 1 no volume is lost.
//!
//! Moved soil is loose: it is plastic sinkage given back, and carries nothing until
//! it is pressed down to the height the post had when it was untouched: another wheel
//! sinks through a berm, which does not yet resist it.

use nalgebra::Vector3;
use selene_terrain::{GroundPatch, Node};

use crate::erosion::Erosion;
use crate::memory::MemoryPatch;
use crate::press::{PressScratch, Touch};
use crate::scm::Scm;

/// Below this speed a wheel sinks on the spot.
const TRAVEL_MIN_M_S: f64 = 1e-3;
/// The outer part of the border's width that is its side.
const SIDE_SHARE: f64 = 0.1;

/// Working arrays of bulldozing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    border: Vec<Node>,
    /// Posts that the wheel touches.
    held: Vec<Node>,
    erosion: Erosion,
}

/// Writes the ruts under a wheel to the ground and moves their soil aside.
pub(crate) fn settle(
    scm: &Scm,
    travel_m_s: Vector3<f64>,
    ground: &mut GroundPatch,
    memory: &mut MemoryPatch,
    scratch: &mut PressScratch,
) {
    let sunk_m3 = write_ruts(ground, memory, scratch);
    if let Some(bulldozing) = &scm.bulldozing {
        scratch.gather_border();
        let work = &mut scratch.bulldozing;
        work.keep_sides(travel_m_s);
        work.deposit(sunk_m3 * bulldozing.flow, ground, memory);
        work.erosion.settle(bulldozing.repose_tan, &work.held, ground, memory);
    }
}

/// Gives pressed posts their heights; the volume they lost.
fn write_ruts(ground: &mut GroundPatch, memory: &MemoryPatch, scratch: &PressScratch) -> f64 {
    let mut sunk_m = 0.0;
    for hit in scratch.hits.iter().filter(|hit| hit.plastic_m != 0.0) {
        let Some(node) = memory.node(hit.node) else { continue };
        sunk_m += ground.node_height_m(hit.node) - set_height(ground, hit.node, node.initial_m - node.plastic_m);
    }
    sunk_m * cell_m2(ground)
}

/// Sets a post that differs; its height afterwards.
fn set_height(ground: &mut GroundPatch, node: Node, height_m: f32) -> f64 {
    let height_m = f64::from(height_m);
    if ground.node_height_m(node) != height_m {
        ground.set_node_height(node, height_m);
    }
    height_m
}

fn cell_m2(ground: &GroundPatch) -> f64 {
    ground.spacing_m().powi(2)
}

impl PressScratch {
    /// Posts that the wheel touches, and their neighbours that it does not.
    fn gather_border(&mut self) {
        let Self { window, hits, patches, bulldozing: work, .. } = self;
        work.border.clear();
        work.held.clear();
        for hit in hits.iter().filter(|hit| hit.touch != Touch::Free) {
            work.held.push(hit.node);
            let (column, row) = ((hit.at % window.columns) as i64, (hit.at / window.columns) as i64);
            for (c, r) in [(column - 1, row), (column + 1, row), (column, row - 1), (column, row + 1)] {
                let inside = c >= 0 && r >= 0 && (c as usize) < window.columns && (r as usize) < window.rows;
                if inside && patches.touches(r as usize * window.columns + c as usize) {
                    continue;
                }
                work.border.push(window.node(c as i32, r as i32));
            }
        }
        work.border.sort_unstable();
        work.border.dedup();
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
    fn deposit(&self, volume_m3: f64, ground: &mut GroundPatch, memory: &mut MemoryPatch) {
        let share_m = volume_m3 / cell_m2(ground) / self.border.len() as f64;
        for &node in &self.border {
            memory.raise(node, share_m, ground);
        }
    }
}

//! Writes ruts to the ground and moves their soil aside. The volume that leaves the pressed
//! posts is laid on the rim, the posts around those that lie under the solid, and slides from
//! there to rest (`erosion`). With flow 1 no volume is lost. The rim is that of Krenn and
//! Hirzinger (2009), who distribute the volume evenly.
//!
//! Here a rim post whose outward normal is n gets soil in proportion to
//! (1 + n · v/s)(1 + n · u/s): v is the velocity of the solid's centre, u that of its
//! skin at the contact, both along the ground, and s the larger of the two speeds. A solid
//! that sinks without sliding raises soil all around. A rolling wheel (u = 0) heaps it ahead
//! and beside and none behind, a locked one (u = v) mostly ahead, one at a slip of a half
//! (u = −v) only beside, one that spins on the spot (v = 0) behind and beside, and one that
//! drifts sideways on that side. This rule is our choice: it has these limits and was
//! not fitted.
//!
//! Posts that were pressed before get soil too, since a wheel that moves sideways leaves its
//! own print without a gap; if another wheel stands on them, they rise under it. Where no rim
//! is left, the memory keeps the volume as crumbs (`MemoryPatch`). In a granular window pressed
//! soil is compacted: the window's ledger fixes its mass, so no soil leaves or enters it.
//!
//! Moved soil behaves as any ground: a berm carries what presses it (`NodeMemory`).

use nalgebra::Vector3;
use selene_terrain::{GroundPatch, Node, Print};

use crate::memory::MemoryPatch;
use crate::press::{Motion, NodeContact, PressScratch};
use crate::profile::Profile;
use crate::scm::Scm;

/// Smallest value of s, m/s: the slower a solid is below it, the more evenly soil moves to all sides.
const SPEED_MIN_M_S: f64 = 1e-3;
/// Offsets, columns and rows, of the neighbours whose cells share a side with a post's cell.
const BESIDE: [[i8; 2]; 4] = [[-1, 0], [1, 0], [0, -1], [0, 1]];

/// Working arrays of bulldozing.
#[derive(Clone, Debug, Default)]
pub(crate) struct BulldozingScratch {
    rim: Vec<RimPost>,
}

/// A post beside the solid.
#[derive(Clone, Copy, Debug)]
struct RimPost {
    node: Node,
    /// Sum of the steps that lead to it from posts under the solid; it points outward.
    outward: [i8; 2],
    /// Share of the moved soil that it gets; the shares of the rim add up to 1.
    weight: f64,
}

/// Writes the ruts under a solid to the ground and moves their soil aside.
pub(crate) fn settle(
    scm: &Scm,
    solid: &impl Profile,
    motion: &Motion,
    ground: &mut GroundPatch,
    memory: &mut MemoryPatch,
    scratch: &mut PressScratch,
) {
    let sunk_m3 = write_ruts(solid, ground, memory, scratch);
    if let Some(bulldozing) = &scm.bulldozing {
        let volume_m3 = sunk_m3 * bulldozing.flow;
        scratch.gather_rim(ground, memory);
        let ways = scratch.ways(motion);
        scratch.bulldozing.weigh(&ways);
        match scratch.hits.first().filter(|_| scratch.bulldozing.rim.is_empty()) {
            Some(hit) => memory.keep_crumbs(hit.node, volume_m3),
            None => scratch.bulldozing.deposit(volume_m3, ground, memory),
        }
        memory.requeue_held();
    }
}

/// Sets the heights and prints of pressed posts. Returns the volume that leaves them, m³.
fn write_ruts(solid: &impl Profile, ground: &mut GroundPatch, memory: &MemoryPatch, scratch: &PressScratch) -> f64 {
    let mut sunk_m = 0.0;
    let prints = solid.prints();
    for hit in scratch.hits.iter().filter(|hit| hit.plastic_m != 0.0) {
        let Some(node) = memory.node(hit.node) else { continue };
        let (before_m, height_m) = (ground.node_height_m(hit.node), f64::from(node.initial_m - node.plastic_m));
        if before_m != height_m {
            let print = prints.map_or(Print::SMOOTH, |prints| prints.at(&hit.point_m));
            ground.press_node(hit.node, height_m, print);
        }
        let lost_m = before_m - height_m;
        sunk_m += if memory.is_in_window(hit.node) { 0.0 } else { lost_m };
    }
    sunk_m * cell_m2(ground)
}

fn cell_m2(ground: &GroundPatch) -> f64 {
    ground.spacing_m().powi(2)
}

impl PressScratch {
    /// Collects the posts beside those under the solid, each once and in order, except those of granular windows.
    fn gather_rim(&mut self, ground: &GroundPatch, memory: &MemoryPatch) {
        let Self { window, hits, patches, bulldozing: BulldozingScratch { rim }, .. } = self;
        rim.clear();
        for hit in hits.iter() {
            for outward in BESIDE {
                let [east, north] = outward.map(i32::from);
                let node = Node { column: hit.node.column + east, row: hit.node.row + north };
                let is_under = window.index(node).is_some_and(|at| patches.covers(at));
                let is_fixed = is_under || memory.is_in_window(node);
                if !is_fixed && ground.node_height_m(node).is_finite() {
                    rim.push(RimPost { node, outward, weight: 0.0 });
                }
            }
        }
        rim.sort_unstable_by_key(|post| post.node);
        rim.dedup_by(|next, kept| {
            let is_same = next.node == kept.node;
            if is_same {
                kept.outward = [kept.outward[0] + next.outward[0], kept.outward[1] + next.outward[1]];
            }
            is_same
        });
    }

    /// Velocities of the solid and of its skin along the ground, over the larger speed: v/s and u/s, at most 1 long.
    fn ways(&self, motion: &Motion) -> [[f64; 2]; 2] {
        let (mut sum_m, mut count) = (Vector3::zeros(), 0_u32);
        for hit in self.hits.iter().filter(|hit| hit.touch == NodeContact::Soil) {
            sum_m += hit.point_m;
            count += 1;
        }
        let skin_m_s = motion.velocity_m_s(sum_m / f64::from(count.max(1)));
        let both = [motion.linear_m_s, skin_m_s];
        let fastest_m_s = both.iter().fold(SPEED_MIN_M_S, |most, v| most.max(v.x.hypot(v.y)));
        both.map(|v| [v.x / fastest_m_s, v.y / fastest_m_s])
    }
}

impl BulldozingScratch {
    /// Sets each rim post's share; all get the same where every weight is zero.
    fn weigh(&mut self, ways: &[[f64; 2]; 2]) {
        for post in &mut self.rim {
            let [x, y] = post.outward.map(f64::from);
            let toward = |way: &[f64; 2]| 1.0 + (x * way[0] + y * way[1]) / x.hypot(y).max(1.0);
            post.weight = ways.iter().map(toward).product();
        }
        let total: f64 = self.rim.iter().map(|post| post.weight).sum();
        let even = 1.0 / self.rim.len() as f64;
        for post in &mut self.rim {
            post.weight = if total > 0.0 { post.weight / total } else { even };
        }
    }

    /// Lays a volume on the rim. Posts that get none become unsettled too, since they may now be too steep.
    fn deposit(&self, volume_m3: f64, ground: &mut GroundPatch, memory: &mut MemoryPatch) {
        let height_m = volume_m3 / cell_m2(ground);
        for post in &self.rim {
            memory.raise(post.node, height_m * post.weight, ground);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BulldozingScratch, RimPost};
    use crate::memory::{MemoryPatch, SoilMemory};
    use crate::press::{CoveredNode, NodeContact, PressScratch};
    use nalgebra::Vector3;
    use selene_terrain::{GroundPatch, Node, NodeRect};

    const PRESSED: Node = Node { column: 50, row: 50 };
    const EAST: Node = Node { column: 51, row: 50 };
    const NORTH: Node = Node { column: 50, row: 51 };

    /// One post under a solid.
    fn print() -> PressScratch {
        let hit = CoveredNode {
            at: 0,
            node: PRESSED,
            point_m: Vector3::zeros(),
            share: 1.0,
            surface_m: 0.0,
            depth_m: 0.01,
            plastic_m: 0.01,
            touch: NodeContact::Soil,
        };
        let mut scratch = PressScratch::default();
        scratch.hits.push(hit);
        scratch
    }

    #[test]
    fn posts_of_granular_windows_get_no_soil() {
        let ground = GroundPatch::flat(0.02, 2.0);
        let mut memory = MemoryPatch::new(&ground);
        let mut scratch = print();
        let rim = |scratch: &PressScratch| scratch.bulldozing.rim.iter().map(|post| post.node).collect::<Vec<_>>();
        scratch.gather_rim(&ground, &memory);
        let all = rim(&scratch);
        assert!(all.len() == 4 && all.contains(&EAST) && all.contains(&NORTH), "{all:?}");
        memory.set_windows(std::iter::once(NodeRect { first: NORTH, columns: 1, rows: 1 }));
        scratch.gather_rim(&ground, &memory);
        let left = rim(&scratch);
        assert!(left.len() == 3 && !left.contains(&NORTH), "{left:?}");
    }

    #[test]
    fn a_rim_that_is_to_get_nothing_gets_the_same_everywhere() {
        let post = |outward: [i8; 2]| RimPost { node: PRESSED, outward, weight: 0.0 };
        let mut work = BulldozingScratch { rim: vec![post([1, 0]), post([-1, 0])] };
        // A slip of a half along x: ahead and behind get none.
        work.weigh(&[[1.0, 0.0], [-1.0, 0.0]]);
        assert_eq!([work.rim[0].weight, work.rim[1].weight], [0.5; 2]);
    }

    #[test]
    fn soil_without_a_rim_waits_for_the_next_post_of_its_tile() {
        let mut ground = GroundPatch::flat(0.02, 2.0);
        let mut patch = MemoryPatch::new(&ground);
        let volume_m3 = 1e-5;
        patch.keep_crumbs(PRESSED, volume_m3);
        patch.keep_crumbs(PRESSED, f64::NAN);
        patch.raise(EAST, 0.0, &mut ground);
        assert!((ground.node_height_m(EAST) - volume_m3 / 0.02_f64.powi(2)).abs() < 1e-6);
        let mut memory = SoilMemory::default();
        patch.give_back(&mut memory);
        assert!(memory.crumbs_m3().all(|(_, m3)| m3.abs() < 1e-9));
    }
}

//! Lets moved soil slide until the ground is nowhere steeper than the angle of repose between
//! a post and its eight neighbours. Two kinds of posts are excepted: those that a solid holds
//! (the pressing solid all posts under it, other solids those that they touch), and natural
//! ground that is steeper, which keeps its slope. A slope slides when it is 1 % too steep, and
//! slides back to repose, so that every slide ends.
//!
//! Only posts that gained or lost soil are checked (`NodeMemory::is_unsettled`), and only a few
//! of them each time that a solid presses; the others wait in the soil's memory. So the cost of a
//! press depends on the soil that moves, not on the size of heaps, and a slide may take some
//! steps. A post that is held, or that would slide to a held one, stays unsettled. It is checked
//! again when a solid writes ruts, and when the memory is lent anew. Posts of granular windows
//! neither give soil nor get it.
//!
//! With eight neighbours a cone becomes an octagon, at most 8 % steeper between them.

use std::f64::consts::SQRT_2;

use selene_terrain::{GroundPatch, Node};

use crate::memory::MemoryPatch;
use crate::press::PressScratch;

/// Multiple of the tangent of the angle of repose above which a slope slides.
const HOLDS: f64 = 1.01;
/// Most posts checked in a press, not counting held ones: a wheel unsettles a few in a step, more on soft soil and
/// fine grids.
const POSTS_A_PRESS: usize = 32;
/// Smallest excess of a drop, over the post's height, that is not rounding of heights to `f32`.
const ROUNDING: f64 = 4.0 * f32::EPSILON as f64;
/// Offsets of a post's neighbours, columns and rows.
const AROUND: [[i32; 2]; 8] = [[-1, -1], [0, -1], [1, -1], [-1, 0], [1, 0], [-1, 1], [0, 1], [1, 1]];

/// Lets unsettled soil slide; `scratch` holds the posts under the pressing solid.
pub(crate) fn slide(repose_tan: f64, ground: &mut GroundPatch, memory: &mut MemoryPatch, scratch: &PressScratch) {
    let mut left = POSTS_A_PRESS;
    while left > 0 {
        let Some(node) = memory.next_unsettled() else { return };
        let soil = if memory.is_in_window(node) {
            Soil::Rests
        } else if is_held(node, memory, scratch) {
            Soil::IsHeld
        } else {
            slide_from(node, repose_tan * ground.spacing_m(), ground, memory, scratch)
        };
        match soil {
            Soil::Rests => memory.settle(node),
            Soil::IsHeld => memory.hold(node),
            Soil::Moved => memory.look_again(node),
        }
        // Held posts leave the queue, so the loop ends; not counting them lets other posts slide.
        left -= usize::from(soil != Soil::IsHeld);
    }
}

/// Result of checking a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Soil {
    Rests,
    /// A solid holds the post, or a neighbour that it would slide to.
    IsHeld,
    Moved,
}

/// Moves soil between a post and its neighbours until the slopes are at repose.
fn slide_from(
    node: Node,
    drop_m: f64,
    ground: &mut GroundPatch,
    memory: &mut MemoryPatch,
    scratch: &PressScratch,
) -> Soil {
    let mut soil = Soil::Rests;
    for [east, north] in AROUND {
        let to = Node { column: node.column + east, row: node.row + north };
        let far = if east != 0 && north != 0 { SQRT_2 } else { 1.0 };
        let (high, low) = if ground.node_height_m(node) > ground.node_height_m(to) { (node, to) } else { (to, node) };
        let moved_m = 0.5 * excess_m(high, low, far * drop_m, ground);
        if moved_m <= 0.0 || memory.is_in_window(to) {
            continue;
        }
        if is_held(to, memory, scratch) {
            soil = soil.max(Soil::IsHeld);
        } else {
            memory.raise(high, -moved_m, ground);
            memory.raise(low, moved_m, ground);
            soil = Soil::Moved;
        }
    }
    soil
}

/// Excess of a drop over the one at repose, m; zero where the slope holds, and at the ground's border.
fn excess_m(high: Node, low: Node, drop_m: f64, ground: &GroundPatch) -> f64 {
    let (high_m, low_m) = (ground.node_height_m(high), ground.node_height_m(low));
    let steep_m = high_m - low_m;
    let gives_way = steep_m.is_finite() && steep_m > HOLDS * drop_m + ROUNDING * high_m.abs();
    if !gives_way {
        return 0.0;
    }
    let rests_m = drop_m.max(ground.natural_height_m(high) - ground.natural_height_m(low));
    if steep_m > HOLDS * rests_m + ROUNDING * high_m.abs() { steep_m - rests_m } else { 0.0 }
}

/// Whether a solid holds a post.
fn is_held(node: Node, memory: &MemoryPatch, scratch: &PressScratch) -> bool {
    scratch.window.index(node).is_some_and(|at| scratch.patches.covers(at)) || memory.is_mobilised(node)
}

#[cfg(test)]
mod tests {
    use super::slide;
    use crate::memory::MemoryPatch;
    use crate::press::PressScratch;
    use selene_terrain::{GroundPatch, Level, Node, NodeRect};

    const REPOSE_TAN: f64 = 0.7;
    const HEAP: Node = Node { column: 22, row: 20 };
    /// Rounding of heights and their sums.
    const SUM_TOLERANCE_M: f64 = 1e-6;

    /// A slope of 45°.
    fn slope() -> (GroundPatch, MemoryPatch) {
        let level = Level::sample([0.0, 0.0], 0.02, 41, |x, _| x);
        let ground = GroundPatch::of_level(level, Vec::new(), Vec::new());
        let memory = MemoryPatch::new(&ground);
        (ground, memory)
    }

    fn heights_m(ground: &GroundPatch) -> Vec<f64> {
        ground.nodes().nodes().map(|node| ground.node_height_m(node)).collect()
    }

    fn rests(ground: &GroundPatch, memory: &MemoryPatch) -> bool {
        ground.nodes().nodes().all(|node| memory.node(node).is_none_or(|node| !node.is_unsettled()))
    }

    /// Presses until all soil rests. Returns the number of presses.
    fn settle(ground: &mut GroundPatch, memory: &mut MemoryPatch) -> usize {
        let scratch = PressScratch::default();
        let mut presses = 0;
        while !rests(ground, memory) {
            slide(REPOSE_TAN, ground, memory, &scratch);
            presses += 1;
            assert!(presses < 10_000, "slides for ever");
        }
        presses
    }

    #[test]
    fn ground_steeper_than_repose_stands_as_it_stood() {
        let (mut ground, mut memory) = slope();
        memory.raise(HEAP, 0.0, &mut ground);
        let before = heights_m(&ground);
        assert_eq!(settle(&mut ground, &mut memory), 1);
        assert!(heights_m(&ground) == before);
    }

    #[test]
    fn a_heap_on_steep_ground_slides_down_it() {
        let (mut ground, mut memory) = slope();
        let before: f64 = heights_m(&ground).iter().sum();
        memory.raise(HEAP, 0.05, &mut ground);
        settle(&mut ground, &mut memory);
        let added_m = |column: i32| ground.node_height_m(Node { column, ..HEAP }) - 0.02 * f64::from(column);
        assert!(added_m(22) < 0.03 && added_m(21) > added_m(23), "{} {} {}", added_m(21), added_m(22), added_m(23));
        assert!((heights_m(&ground).iter().sum::<f64>() - before - 0.05).abs() < SUM_TOLERANCE_M);
    }

    #[test]
    fn soil_beside_a_held_post_waits_and_slides_once_the_post_is_released() {
        let mut ground = GroundPatch::flat(0.02, 2.0);
        let mut memory = MemoryPatch::new(&ground);
        let (print, brim) = (Node { column: 50, row: 50 }, Node { column: 51, row: 50 });
        let pressed = memory.touch(print, 0.0).expect("on the patch");
        pressed.plastic_m = 0.1;
        pressed.set_mobilised([0.5, 0.0]);
        ground.set_node_height(print, f64::from(-0.1_f32));
        memory.raise(brim, 0.0, &mut ground);
        let before = heights_m(&ground);
        for _ in 0..3 {
            slide(REPOSE_TAN, &mut ground, &mut memory, &PressScratch::default());
            assert!(memory.next_unsettled().is_none(), "it is looked at once and not again and again");
            memory.requeue_held();
        }
        assert!(heights_m(&ground) == before && memory.node(brim).is_some_and(|node| node.is_unsettled()));
        memory.forget_shear(print);
        settle(&mut ground, &mut memory);
        assert!(ground.node_height_m(print) > -0.05, "{}", ground.node_height_m(print));
    }

    #[test]
    fn no_soil_slides_into_a_granular_window() {
        let mut ground = GroundPatch::flat(0.02, 2.0);
        let mut memory = MemoryPatch::new(&ground);
        let window = NodeRect { first: Node { column: 51, row: 40 }, columns: 20, rows: 20 };
        memory.set_windows(std::iter::once(window));
        memory.raise(Node { column: 50, row: 50 }, 0.3, &mut ground);
        settle(&mut ground, &mut memory);
        assert!(window.nodes().all(|node| ground.node_height_m(node) == 0.0));
        assert!((heights_m(&ground).iter().sum::<f64>() - 0.3).abs() < SUM_TOLERANCE_M);
    }

    #[test]
    fn a_tower_takes_several_presses_to_fall() {
        let mut ground = GroundPatch::flat(0.02, 2.0);
        let mut memory = MemoryPatch::new(&ground);
        memory.raise(Node { column: 50, row: 50 }, 1.0, &mut ground);
        let presses = settle(&mut ground, &mut memory);
        assert!(presses > 1, "{presses}");
        assert!((heights_m(&ground).iter().sum::<f64>() - 1.0).abs() < SUM_TOLERANCE_M);
    }

    #[test]
    fn soil_that_is_poured_on_a_post_ends_as_a_cone_at_repose() {
        let mut ground = GroundPatch::flat(0.02, 2.0);
        let mut memory = MemoryPatch::new(&ground);
        let top = Node { column: 50, row: 50 };
        for _ in 0..200 {
            memory.raise(top, 0.005, &mut ground);
            settle(&mut ground, &mut memory);
        }
        let steepest = |node: Node| {
            super::AROUND.map(|[east, north]| {
                let to = Node { column: node.column + east, row: node.row + north };
                let run_m = 0.02 * f64::from(east).hypot(f64::from(north));
                (ground.node_height_m(node) - ground.node_height_m(to)) / run_m
            })
        };
        let steepest = ground.nodes().nodes().flat_map(steepest).fold(0.0, f64::max);
        assert!((0.95..1.0101).contains(&(steepest / REPOSE_TAN)), "{steepest}");
        let height_m = ground.node_height_m(top);
        // A round cone of that volume is 57 mm high.
        assert!((0.05..0.065).contains(&height_m), "{height_m}");
        assert!((heights_m(&ground).iter().sum::<f64>() - 1.0).abs() < SUM_TOLERANCE_M);
    }
}

//! The trace of a wheel on laws that do not press node by node (DATA, III-E): under
//! the wheel's lowest line the ground is as deep as the deepest pass (Δd = min(0, d −
//! d_xy)), and carries the grousers' pattern of the last pass (Δw = w − w_xy). The depth is
//! the nodes' plastic sinkage; the pattern is the rest of the post's height, so it needs no
//! memory of its own.
//!
//! The pattern is a sine along the trace with the grousers' pitch, shortened by slip:
//! (1 − s) 2πR/grousers. A pitch of less than two posts does not show in heights: it is stored as the posts' `Print`.

use std::cell::LazyCell;

use nalgebra::Vector3;
use selene_terrain::{GroundPatch, Node, Print};

use crate::memory::MemoryPatch;
use crate::wheel::{WheelMotion, WheelShape};
use crate::wheel_memory::WheelMemory;

/// Smaller changes of a post's height are not written to the ground, m.
const REPORTED_M: f64 = 1e-4;
/// Sine of 30°: a wheel whose axle is farther from level leaves no trace.
const LEAN_MAX: f64 = 0.5;

/// The pattern of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trace {
    pub(crate) amplitude_m: f64,
    /// Distance between two grousers' prints, m; zero without grousers.
    pub(crate) pitch_m: f64,
    /// Angle turned by the wheel, rad.
    pub(crate) turned_rad: f64,
}

/// The lowest line of a wheel, seen from above, map frame.
struct Line {
    middle_m: Vector3<f64>,
    ahead: [f64; 2],
    half_width_m: f64,
}

impl Trace {
    /// A trace with depth and no pattern.
    pub(crate) const PLAIN: Self = Self { amplitude_m: 0.0, pitch_m: 0.0, turned_rad: 0.0 };

    /// Distance between the grousers' prints of a wheel at a slip, m.
    pub(crate) fn pitch_m(wheel: &WheelShape, slip: f64) -> f64 {
        let travelled = if slip >= 0.0 { 1.0 - slip } else { 1.0 / (1.0 + slip).max(1e-3) };
        let turn_m = std::f64::consts::TAU * wheel.radius_m * travelled;
        if wheel.grousers == 0 { 0.0 } else { turn_m / f64::from(wheel.grousers) }
    }

    /// Writes the trace of a wheel that stands `depth_m` deep.
    pub(crate) fn leave(
        &self,
        ground: &mut GroundPatch,
        memory: &mut MemoryPatch,
        wheel: &WheelShape,
        motion: &WheelMotion,
        depth_m: f64,
    ) {
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let Some(across) = Vector3::new(axle.x, axle.y, 0.0).try_normalize(1e-9) else { return };
        if depth_m <= 0.0 || axle.z.abs() > LEAN_MAX {
            return;
        }
        let line = Line {
            middle_m: motion.world_from_wheel.translation.vector,
            ahead: [across.y, -across.x],
            half_width_m: 0.5 * wheel.width_m,
        };
        let spacing_m = ground.spacing_m();
        let is_shown = self.pitch_m >= 2.0 * spacing_m;
        // Most steps change no post's height and need no print.
        let heading_rad = LazyCell::new(|| line.ahead[1].atan2(line.ahead[0]));
        for node in line.nodes_around(ground) {
            let Some(ahead_m) = line.ahead_m(ground, node) else { continue };
            let phase = f64::from(wheel.grousers) * self.turned_rad + std::f64::consts::TAU * ahead_m / self.pitch_m;
            let pattern_m = if is_shown { self.amplitude_m * phase.sin() } else { 0.0 };
            let shown = || if is_shown { Print::SMOOTH } else { Print::of_grousers(*heading_rad, phase, self.pitch_m) };
            print(ground, memory, node, depth_m, pattern_m, shown);
        }
    }
}

fn print(
    ground: &mut GroundPatch,
    memory: &mut MemoryPatch,
    node: Node,
    depth_m: f64,
    pattern_m: f64,
    shown: impl FnOnce() -> Print,
) {
    let now_m = ground.node_height_m(node);
    let Some(soil) = memory.touch(node, now_m as f32) else { return };
    soil.plastic_m = soil.plastic_m.max(depth_m as f32);
    let height_m = f64::from(soil.initial_m - soil.plastic_m) + pattern_m;
    if (height_m - now_m).abs() > REPORTED_M {
        ground.press_node(node, height_m, shown());
    }
}

impl Line {
    /// Half of the length of ground that counts as under the line, m.
    fn half_length_m(ground: &GroundPatch) -> f64 {
        0.5 * ground.spacing_m()
    }

    /// All nodes that may be under the line.
    fn nodes_around(&self, ground: &GroundPatch) -> impl Iterator<Item = Node> + use<> {
        let ([ahead_x, ahead_y], half_width_m, half_length_m) =
            (self.ahead, self.half_width_m, Self::half_length_m(ground));
        let [reach_x, reach_y] =
            [[ahead_x, ahead_y], [ahead_y, ahead_x]].map(|[a, b]| a.abs() * half_length_m + b.abs() * half_width_m);
        let at_m = self.middle_m;
        let bounds_m = [[at_m.x - reach_x, at_m.y - reach_y], [at_m.x + reach_x, at_m.y + reach_y]];
        ground.nodes_within(bounds_m, 0).into_iter().flat_map(|rect| rect.nodes())
    }

    /// Distance of a node ahead of the line, m, if it is within half a post spacing of it.
    fn ahead_m(&self, ground: &GroundPatch, node: Node) -> Option<f64> {
        let ([ahead_x, ahead_y], [x, y]) = (self.ahead, ground.node_xy_m(node));
        let [x, y] = [x - self.middle_m.x, y - self.middle_m.y];
        let (along_m, across_m) = (x * ahead_x + y * ahead_y, y * ahead_x - x * ahead_y);
        let is_under = along_m.abs() <= Self::half_length_m(ground) && across_m.abs() <= self.half_width_m;
        is_under.then_some(along_m)
    }
}

impl WheelMemory {
    /// Adds the rotation of one step to the angle turned about the axle.
    pub(crate) fn turn(&mut self, rate_rad_s: f64, dt_s: f64) {
        self.turned_rad = (self.turned_rad + rate_rad_s * dt_s) % std::f64::consts::TAU;
    }
}

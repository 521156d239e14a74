//! One step of a solid pressing the soil: find the nodes under it, the terrain's
//! normal there and the patches, apply the law node by node, and write ruts.
//!
//! The normal is that of the undisturbed terrain, as in the reference
//! implementation, averaged over the contact with a weight that fades to its rim, so
//! that posts entering and leaving do not jolt; forces act along it and in its plane.
//! A node stands for spacing² of horizontal ground. Nodes are the posts of the
//! finest level; the posts at the border, which lack neighbours, carry nothing.
//!
//! All pressed posts get their new heights at once, when one of them is `RUT_STEP_M` above
//! its true rut: edits stay few, and bulldozing runs tens of times a second. Forces use the
//! memory, which is always current.

use std::ops::Range;

use nalgebra::Vector3;
use selene_base::Wrench;
use selene_terrain::{GroundPatch, Node, NodeRect};

use crate::bekker_patch::BekkerPatches;
use crate::bulldozing;
use crate::erosion;
use crate::force::Law;
use crate::memory::MemoryPatch;
use crate::profile::Profile;
use crate::scm::Scm;
use crate::wheel::Conditions;

/// Largest height, m, of a stored rut above the true one while a wheel presses it.
const RUT_STEP_M: f64 = 5e-4;
/// Nodes up to this far below the solid count for the normal, m.
const MARGIN_M: f64 = 0.01;
/// Gap at which contact is lost and mobilised shear is reset, m; a wheel's heave is far less.
const SEPARATION_M: f64 = 1e-3;
/// Most nodes of a window; a solid that covers more gets no force.
pub(crate) const NODES_MAX: usize = 1 << 20;

/// Position and velocity of a pressing solid's reference point, map frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    pub(crate) centre_m: Vector3<f64>,
    pub(crate) linear_m_s: Vector3<f64>,
    pub(crate) angular_rad_s: Vector3<f64>,
}

impl Motion {
    /// Velocity of a point of the solid, m/s.
    pub(crate) fn velocity_m_s(&self, point_m: Vector3<f64>) -> Vector3<f64> {
        self.linear_m_s + self.angular_rad_s.cross(&(point_m - self.centre_m))
    }
}

/// The effect of the ground on a pressing solid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Response {
    pub(crate) wrench: Wrench,
    pub(crate) normal: Vector3<f64>,
    pub(crate) sinkage_m: f64,
    pub(crate) contact_nodes: u32,
    pub(crate) modulus_floored: bool,
}

/// Working arrays of a step, kept between steps so that none allocates. It holds no
/// state: any scratch gives the same result.
#[derive(Clone, Debug, Default)]
pub struct PressScratch {
    pub(crate) window: NodeWindow,
    surface_m: Vec<f32>,
    plastic_m: Vec<f32>,
    pub(crate) hits: Vec<CoveredNode>,
    pub(crate) patches: BekkerPatches,
    pub(crate) bulldozing: bulldozing::BulldozingScratch,
}

/// A rectangle of nodes, with a border around it that is one node wide.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeWindow {
    first: Node,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeContact {
    /// Under the solid without touching it.
    Free,
    Soil,
}

/// A node under the solid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoveredNode {
    /// Index among the nodes of the window and its border.
    pub(crate) at: usize,
    pub(crate) node: Node,
    pub(crate) point_m: Vector3<f64>,
    /// Share of its cell that the solid covers.
    pub(crate) share: f64,
    /// Undisturbed height of the ground, m.
    pub(crate) surface_m: f32,
    /// Vertical depth of the solid below that height, m.
    pub(crate) depth_m: f64,
    pub(crate) plastic_m: f64,
    pub(crate) touch: NodeContact,
}

/// One step of `solid`, whose skin holds `grip` of the soil's strength, on the ground.
#[expect(clippy::too_many_arguments, reason = "law, solid, motion and the three kinds of state are apart")]
pub(crate) fn press(
    scm: &Scm,
    solid: &impl Profile,
    grip: f64,
    motion: &Motion,
    conditions: &Conditions,
    ground: &mut GroundPatch,
    memory: &mut MemoryPatch,
    scratch: &mut PressScratch,
) -> Response {
    let Some(window) = window(solid.bounds_m(f64::INFINITY), ground) else { return Response::default() };
    scratch.load(window, ground, memory);
    let normal = scratch.scan(solid, ground, memory);
    if scratch.hits.iter().all(|hit| hit.touch == NodeContact::Free) {
        return Response::default();
    }
    scratch.find_patches(scm, ground.spacing_m());
    let law = Law { scm, normal, grip, motion, conditions, spacing_m: ground.spacing_m() };
    let (response, lag_m) = law.apply(solid, ground, memory, scratch);
    if lag_m > RUT_STEP_M {
        bulldozing::settle(scm, solid, motion, ground, memory, scratch);
    }
    if let Some(bulldozing) = &scm.bulldozing {
        erosion::slide(bulldozing.repose_tan, ground, memory, scratch);
    }
    response
}

/// The nodes within bounds, m, that have neighbours on all sides; none if there are too many.
fn window(bounds_m: [[f64; 2]; 2], ground: &GroundPatch) -> Option<NodeWindow> {
    let NodeRect { first, columns, rows } = ground.nodes_within(bounds_m, 1)?;
    (columns.saturating_mul(rows) <= NODES_MAX).then_some(NodeWindow { first, columns, rows })
}

impl NodeWindow {
    /// Number of nodes in a row, with those of the border.
    fn stride(&self) -> usize {
        self.columns + 2
    }

    /// The node of a column and row, which may be beside the window.
    pub(crate) fn node(&self, column: i32, row: i32) -> Node {
        Node { column: self.first.column + column, row: self.first.row + row }
    }

    /// Index of a column and row of the window among its nodes and those of its border.
    fn at(&self, column: usize, row: usize) -> usize {
        (row + 1) * self.stride() + column + 1
    }

    /// Index of a node of the window among its nodes and those of its border; none for a node outside.
    pub(crate) fn index(&self, node: Node) -> Option<usize> {
        let column = usize::try_from(node.column.checked_sub(self.first.column)?).ok()?;
        let row = usize::try_from(node.row.checked_sub(self.first.row)?).ok()?;
        (column < self.columns && row < self.rows).then(|| self.at(column, row))
    }
}

impl PressScratch {
    /// Reads undisturbed heights and plastic sinkage of the window and a border one
    /// node wide.
    fn load(&mut self, window: NodeWindow, ground: &GroundPatch, memory: &MemoryPatch) {
        let stride = window.stride();
        let nodes = stride * (window.rows + 2);
        self.window = window;
        self.surface_m.resize(nodes, 0.0);
        self.plastic_m.clear();
        self.plastic_m.resize(nodes, 0.0);
        for r in 0..window.rows + 2 {
            let (first, to) = (window.node(-1, r as i32 - 1), r * stride..(r + 1) * stride);
            ground.copy_row(first, &mut self.surface_m[to.clone()]);
            memory.overlay(first, &mut self.surface_m[to.clone()], &mut self.plastic_m[to]);
        }
    }

    /// Finds the nodes under the solid and the terrain's normal there.
    fn scan(&mut self, solid: &impl Profile, ground: &GroundPatch, memory: &mut MemoryPatch) -> Vector3<f64> {
        self.hits.clear();
        let (window, stride, spacing_m) = (self.window, self.window.stride(), ground.spacing_m());
        let [origin_x, origin_y] = ground.node_xy_m(Node::default());
        let mut weighted = [0.0; 3];
        let Some((columns, rows)) = self.below(solid, ground) else { return Vector3::z() };
        for row in rows {
            let y = origin_y + f64::from(window.first.row + row as i32) * spacing_m;
            for column in columns.clone() {
                let at = window.at(column, row);
                let x = origin_x + f64::from(window.first.column + column as i32) * spacing_m;
                let top = f64::from(self.surface_m[at]) + MARGIN_M;
                let Some(low) = solid.lowest(x, y, top) else { continue };
                let point_m = Vector3::new(x, y, low.height_m);
                let hit = self.hit(at, window.node(column as i32, row as i32), point_m, low.share);
                let weight = (hit.depth_m + MARGIN_M).max(0.0) * low.share;
                let slope_x = f64::from(self.surface_m[at + 1] - self.surface_m[at - 1]);
                let slope_y = f64::from(self.surface_m[at + stride] - self.surface_m[at - stride]);
                weighted[0] += weight;
                weighted[1] += weight * slope_x;
                weighted[2] += weight * slope_y;
                if hit.touch == NodeContact::Free && hit.plastic_m - hit.depth_m > SEPARATION_M {
                    // Contact is lost.
                    memory.forget_shear(hit.node);
                }
                if hit.touch != NodeContact::Free || hit.plastic_m != 0.0 {
                    self.hits.push(hit);
                }
            }
        }
        let scale = 1.0 / (weighted[0].max(f64::MIN_POSITIVE) * 2.0 * spacing_m);
        Vector3::new(-weighted[1] * scale, -weighted[2] * scale, 1.0).normalize()
    }

    /// Columns and rows of the window where the solid may be near the ground.
    fn below(&self, solid: &impl Profile, ground: &GroundPatch) -> Option<(Range<usize>, Range<usize>)> {
        let highest = |heights: &[f32]| heights.iter().fold(f32::NEG_INFINITY, |high, &h| high.max(h));
        let ceiling_m = f64::from(highest(&self.surface_m)) + MARGIN_M;
        let near = window(solid.bounds_m(ceiling_m), ground)?;
        // By rounding, bounds under a ceiling may lie a bit outside those without one.
        let within = |near: i32, count: usize, first: i32, most: usize| {
            let least = usize::try_from(near - first).unwrap_or_default();
            least..(least + count).min(most)
        };
        let NodeWindow { first, columns, rows } = self.window;
        Some((
            within(near.first.column, near.columns, first.column, columns),
            within(near.first.row, near.rows, first.row, rows),
        ))
    }

    fn hit(&self, at: usize, node: Node, point_m: Vector3<f64>, share: f64) -> CoveredNode {
        let (surface_m, plastic_m) = (self.surface_m[at], f64::from(self.plastic_m[at]));
        let depth_m = f64::from(surface_m) - point_m.z;
        let touch = if depth_m > plastic_m && depth_m > 0.0 { NodeContact::Soil } else { NodeContact::Free };
        CoveredNode { at, node, point_m, share, surface_m, depth_m, plastic_m, touch }
    }

    fn find_patches(&mut self, scm: &Scm, spacing_m: f64) {
        if !scm.needs_patch() && scm.bulldozing.is_none() {
            return;
        }
        self.patches.reset(self.window.stride(), self.window.rows + 2);
        for hit in &self.hits {
            match hit.touch {
                NodeContact::Soil => self.patches.mark(hit.at),
                NodeContact::Free => self.patches.mark_covered(hit.at),
            }
        }
        let soil = self.hits.iter().filter(|hit| hit.touch == NodeContact::Soil);
        self.patches.find(soil.map(|hit| hit.at), spacing_m);
    }
}

//! One step of a solid pressing the soil: find the nodes under it, the terrain's
//! normal there and the patches, apply the law node by node, and write ruts.
//!
//! The normal is that of the undisturbed terrain, as in the reference
//! implementation, averaged over the contact with a weight that fades to its rim, so
//! that posts entering and leaving do not jolt; forces act along it and in its plane.
//! A node stands for spacing² of horizontal ground. Nodes are the posts of the
//! finest level; the border posts, which have no neighbours, carry nothing.
//!
//! The ground's posts get their new heights when one of them is `RUT_STEP_M` behind,
//! all at once: edits stay few and bulldozing runs tens of times a second. Forces
//! never wait: they read the memory.

use std::ops::Range;

use nalgebra::Vector3;
use selene_base::Wrench;
use selene_terrain::{Ground, Node};

use crate::bulldozing;
use crate::force::Law;
use crate::memory::SoilMemory;
use crate::patch::Patches;
use crate::scm::Scm;
use crate::underside::Underside;
use crate::wheel::Conditions;

/// Largest lag of a stored rut behind the true one while a wheel presses it.
const RUT_STEP_M: f64 = 5e-4;
/// Nodes this far below the solid still shape the normal.
const MARGIN_M: f64 = 0.01;
/// A gap after which contact is lost and shear relaxes; a wheel's heave is far less.
const SEPARATION_M: f64 = 1e-3;
/// A window has at most this many nodes; a solid that covers more is refused.
pub(crate) const NODES_MAX: usize = 1 << 20;

/// Position and velocity of a pressing solid's reference point, map frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    pub(crate) centre_m: Vector3<f64>,
    pub(crate) linear_m_s: Vector3<f64>,
    pub(crate) angular_rad_s: Vector3<f64>,
}

/// What the ground does to a pressing solid.
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
pub struct Scratch {
    pub(crate) window: Window,
    surface_m: Vec<f32>,
    plastic_m: Vec<f32>,
    pub(crate) hits: Vec<Hit>,
    pub(crate) patches: Patches,
    pub(crate) bulldozing: bulldozing::Work,
}

/// A rectangle of nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) column: usize,
    pub(crate) row: usize,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Under the solid without touching it.
    Free,
    /// Pushes down loose soil, which carries nothing.
    Loose,
    Soil,
}

/// A node under the solid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Index within the window.
    pub(crate) at: usize,
    pub(crate) node: Node,
    pub(crate) point_m: Vector3<f64>,
    /// Share of its cell that the solid covers.
    pub(crate) share: f64,
    /// Undisturbed height.
    pub(crate) surface_m: f32,
    /// Vertical depth below it.
    pub(crate) depth_m: f64,
    pub(crate) plastic_m: f64,
    pub(crate) touch: Touch,
}

/// One step of `solid`, whose skin holds `grip` of the soil's strength, on the ground.
#[expect(clippy::too_many_arguments, reason = "law, solid, motion and the three kinds of state are apart")]
pub(crate) fn press(
    scm: &Scm,
    solid: &impl Underside,
    grip: f64,
    motion: &Motion,
    conditions: &Conditions,
    ground: &mut Ground,
    memory: &mut SoilMemory,
    scratch: &mut Scratch,
) -> Response {
    let Some(window) = window(solid.bounds_m(f64::INFINITY), ground) else { return Response::default() };
    scratch.load(window, ground, memory);
    let normal = scratch.scan(solid, ground, memory);
    if scratch.hits.iter().all(|hit| hit.touch == Touch::Free) {
        return Response::default();
    }
    scratch.find_patches(scm, ground.finest().spacing_m);
    let law = Law { scm, normal, grip, motion, conditions, spacing_m: ground.finest().spacing_m };
    let (response, lag_m) = law.apply(solid, ground, memory, scratch);
    if lag_m > RUT_STEP_M {
        bulldozing::settle(scm, motion.linear_m_s, ground, memory, scratch);
    }
    response
}

/// The nodes within bounds that have neighbours on all sides.
fn window([least, greatest]: [[f64; 2]; 2], ground: &Ground) -> Option<Window> {
    let level = ground.finest();
    let along = |axis: usize| {
        let cells = |value: f64| (value - level.origin_m[axis]) / level.spacing_m;
        let first = cells(least[axis]).ceil().max(1.0);
        let last = cells(greatest[axis]).floor().min(level.posts as f64 - 2.0);
        (first <= last).then_some((first as usize, (last - first) as usize + 1))
    };
    let ((column, columns), (row, rows)) = (along(0)?, along(1)?);
    (columns.saturating_mul(rows) <= NODES_MAX).then_some(Window { column, row, columns, rows })
}

impl Window {
    fn stride(&self) -> usize {
        self.columns + 2
    }

    pub(crate) fn node(&self, column: usize, row: usize) -> Node {
        Node { column: (self.column + column) as u32, row: (self.row + row) as u32 }
    }
}

impl Scratch {
    /// Reads undisturbed heights and plastic sinkage of the window and a border one
    /// node wide.
    fn load(&mut self, window: Window, ground: &Ground, memory: &SoilMemory) {
        let (stride, posts) = (window.stride(), ground.finest().posts);
        let nodes = stride * (window.rows + 2);
        self.window = window;
        self.surface_m.resize(nodes, 0.0);
        self.plastic_m.clear();
        self.plastic_m.resize(nodes, 0.0);
        for r in 0..window.rows + 2 {
            let (column, row) = (window.column - 1, window.row + r - 1);
            let (from, to) = (row * posts + column, r * stride..(r + 1) * stride);
            self.surface_m[to.clone()].copy_from_slice(&ground.finest().heights_m[from..from + stride]);
            memory.overlay(column, row, &mut self.surface_m[to.clone()], &mut self.plastic_m[to]);
        }
    }

    /// Finds the nodes under the solid and the terrain's normal there.
    fn scan(&mut self, solid: &impl Underside, ground: &Ground, memory: &mut SoilMemory) -> Vector3<f64> {
        self.hits.clear();
        let (window, stride, level) = (self.window, self.window.stride(), ground.finest());
        let mut weighted = [0.0; 3];
        let Some((columns, rows)) = self.below(solid, ground) else { return Vector3::z() };
        for row in rows {
            let y = level.origin_m[1] + (window.row + row) as f64 * level.spacing_m;
            for column in columns.clone() {
                let at = (row + 1) * stride + column + 1;
                let x = level.origin_m[0] + (window.column + column) as f64 * level.spacing_m;
                let loose = (-self.plastic_m[at]).max(0.0);
                let top = f64::from(self.surface_m[at] + loose) + MARGIN_M;
                let Some(low) = solid.lowest(x, y, top) else { continue };
                let point_m = Vector3::new(x, y, low.height_m);
                let hit = self.hit(at, row * window.columns + column, window.node(column, row), point_m, low.share);
                let weight = (hit.depth_m + MARGIN_M).max(0.0) * low.share;
                let slope_x = f64::from(self.surface_m[at + 1] - self.surface_m[at - 1]);
                let slope_y = f64::from(self.surface_m[at + stride] - self.surface_m[at - stride]);
                weighted[0] += weight;
                weighted[1] += weight * slope_x;
                weighted[2] += weight * slope_y;
                if hit.touch == Touch::Free && hit.plastic_m - hit.depth_m > SEPARATION_M {
                    forget_shear(memory, hit.node);
                }
                if hit.touch != Touch::Free || hit.plastic_m != 0.0 {
                    self.hits.push(hit);
                }
            }
        }
        let scale = 1.0 / (weighted[0].max(f64::MIN_POSITIVE) * 2.0 * level.spacing_m);
        Vector3::new(-weighted[1] * scale, -weighted[2] * scale, 1.0).normalize()
    }

    /// Columns and rows of the window where the solid may be near the ground.
    fn below(&self, solid: &impl Underside, ground: &Ground) -> Option<(Range<usize>, Range<usize>)> {
        let highest = |heights: &[f32]| heights.iter().fold(f32::NEG_INFINITY, |high, &h| high.max(h));
        let loose = self.plastic_m.iter().fold(0.0, |high: f32, &plastic| high.max(-plastic));
        let ceiling_m = f64::from(highest(&self.surface_m) + loose) + MARGIN_M;
        let near = window(solid.bounds_m(ceiling_m), ground)?;
        let (column, row) = (near.column - self.window.column, near.row - self.window.row);
        Some((column..column + near.columns, row..row + near.rows))
    }

    fn hit(&self, from: usize, at: usize, node: Node, point_m: Vector3<f64>, share: f64) -> Hit {
        let (surface_m, plastic_m) = (self.surface_m[from], f64::from(self.plastic_m[from]));
        let depth_m = f64::from(surface_m) - point_m.z;
        let touch = match depth_m > plastic_m {
            true if depth_m > 0.0 => Touch::Soil,
            true => Touch::Loose,
            false => Touch::Free,
        };
        Hit { at, node, point_m, share, surface_m, depth_m, plastic_m, touch }
    }

    fn find_patches(&mut self, scm: &Scm, spacing_m: f64) {
        if !scm.needs_patch() && scm.bulldozing.is_none() {
            return;
        }
        self.patches.reset(self.window.columns, self.window.rows);
        for hit in &self.hits {
            match hit.touch {
                Touch::Soil => self.patches.mark(hit.at),
                Touch::Loose => self.patches.mark_loose(hit.at),
                Touch::Free => {}
            }
        }
        let soil = self.hits.iter().filter(|hit| hit.touch == Touch::Soil);
        self.patches.find(soil.map(|hit| hit.at), spacing_m);
    }
}

/// Shear relaxes where contact is lost.
fn forget_shear(memory: &mut SoilMemory, node: Node) {
    if let Some(node) = memory.get_mut(node) {
        node.set_mobilised([0.0; 2]);
    }
}

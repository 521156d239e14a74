//! A convex solid on soil: a loose rock. It presses the same nodes by the same law as a
//! wheel; its lower side is the highest of the planes of its downward faces. Only the law
//! `scm` carries solids; with another law the caller sets the solid on stiff ground.
//!
//! Soil unloads along E, far stiffer than it loads, which a light solid could follow
//! only with tiny steps: E and the damping are lowered until the solid's own frequency
//! on them stays below `FREQUENCY_MAX` per step. Bekker's curve gives the sinkage, which
//! this does not change.
//!
//! Node pressures hardly resist rolling. Soil that a rocking stone deforms dissipates its energy:
//! here by a torque of up to `ROLLING` times load times radius against its rotation, which grows
//! with the turn rate and reaches half of that at `ROLLING_RATE_RAD_S`.

use nalgebra::{Point3, Vector3};
use selene_base::{Pose, Wrench};
use selene_terrain::{GroundPatch, Node, RockShape};

use crate::law::Law;
use crate::press::{Motion, press};
use crate::profile::{LowestPoint, Profile};
use crate::scm::Scm;
use crate::spec::Pressure;
use crate::wheel::{Conditions, SoilContext};

/// Largest angular frequency of a solid on unloading soil, rad per step; low enough that rocking,
/// which is up to 1.6 times faster, is stable too.
const FREQUENCY_MAX: f64 = 0.5;
/// Largest damping of that motion, share of critical.
const DAMPING_MAX: f64 = 0.5;
/// Rolling resistance over load times radius: our choice for stones in loose sand.
const ROLLING: f64 = 0.3;
/// Turn rate at which half of the rolling resistance acts, rad/s.
const ROLLING_RATE_RAD_S: f64 = 0.1;
/// A face whose normal has a smaller vertical component is a wall: no vertical line meets it from below.
const WALL_SINE: f64 = 1e-9;

/// A closed convex body in the map frame.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvexSolid {
    shape: RockShape,
    scale_m: f64,
    corners_m: Vec<Vector3<f64>>,
    /// Faces that look down, up, and to the side.
    below: Vec<Face>,
    above: Vec<Face>,
    walls: Vec<Wall>,
}

/// The plane of a face, with an outward normal: points inside have normal · p ≤ offset.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Face {
    normal: Vector3<f64>,
    offset_m: f64,
    /// Height over the map's origin, m, and its change along x and y. Many nodes ask for heights in each step, so the
    /// divisions by the normal's vertical component are done once.
    origin_height_m: f64,
    slope: [f64; 2],
}

/// The plane of a vertical face, with an outward normal: points inside have normal · (x, y) ≤ offset.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wall {
    normal: [f64; 2],
    offset_m: f64,
}

impl Face {
    fn new(normal: Vector3<f64>, offset_m: f64) -> Self {
        let slope = [-normal.x / normal.z, -normal.y / normal.z];
        Self { normal, offset_m, origin_height_m: offset_m / normal.z, slope }
    }

    fn height_m(&self, x: f64, y: f64) -> f64 {
        self.origin_height_m + self.slope[0] * x + self.slope[1] * y
    }
}

/// A solid's motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolidMotion {
    /// Velocity of the solid's origin, map frame, m/s.
    pub linear_m_s: Vector3<f64>,
    /// Angular velocity, map frame, rad/s.
    pub angular_rad_s: Vector3<f64>,
    /// Its mass, kg.
    pub mass_kg: f64,
}

/// The effect of the soil on a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolidContact {
    /// Force and torque about the solid's origin, map frame.
    pub wrench: Wrench,
    /// Depth of its deepest point below the undisturbed terrain, m.
    pub sinkage_m: f64,
    /// Number of nodes that carry the solid.
    pub contact_nodes: u32,
}

impl ConvexSolid {
    /// A rock's shape, `scale_m` times as large, at the map's origin.
    #[must_use]
    pub fn new(shape: &RockShape, scale_m: f64) -> Self {
        let mut solid = Self {
            shape: shape.clone(),
            scale_m,
            corners_m: Vec::new(),
            below: Vec::new(),
            above: Vec::new(),
            walls: Vec::new(),
        };
        solid.place(&Pose::identity());
        solid
    }

    /// Moves it to a pose.
    pub fn place(&mut self, world_from_solid: &Pose) {
        let corner = |v: &[f32; 3]| (world_from_solid * Point3::from(Vector3::from(*v).cast() * self.scale_m)).coords;
        self.corners_m.clear();
        self.corners_m.extend(self.shape.vertices.iter().map(corner));
        self.below.clear();
        self.above.clear();
        self.walls.clear();
        for triangle in &self.shape.triangles {
            let [a, b, c] = triangle.map(|i| self.corners_m[i as usize]);
            let Some(normal) = (b - a).cross(&(c - a)).try_normalize(0.0) else { continue };
            let offset_m = normal.dot(&a);
            match normal.z {
                z if z < -WALL_SINE => self.below.push(Face::new(normal, offset_m)),
                z if z > WALL_SINE => self.above.push(Face::new(normal, offset_m)),
                _ => self.walls.push(Wall { normal: [normal.x, normal.y], offset_m }),
            }
        }
    }

    /// Its corners in the map frame, m.
    #[must_use]
    pub fn corners_m(&self) -> &[Vector3<f64>] {
        &self.corners_m
    }

    /// Upper bound of the area that it covers seen from above, m².
    fn footprint_m2(&self) -> f64 {
        let [least, greatest] = self.bounds_m(f64::INFINITY);
        (greatest[0] - least[0]) * (greatest[1] - least[1])
    }

    fn widen(bounds: &mut [[f64; 2]; 2], x: f64, y: f64) {
        let [least, greatest] = bounds;
        *least = [least[0].min(x), least[1].min(y)];
        *greatest = [greatest[0].max(x), greatest[1].max(y)];
    }
}

impl Profile for ConvexSolid {
    fn bounds_m(&self, ceiling_m: f64) -> [[f64; 2]; 2] {
        let mut bounds = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
        for corner in self.corners_m.iter().filter(|corner| corner.z <= ceiling_m) {
            Self::widen(&mut bounds, corner.x, corner.y);
        }
        for &[i, j, k] in &self.shape.triangles {
            for (from, to) in [(i, j), (j, k), (k, i)] {
                let (a, b) = (self.corners_m[from as usize], self.corners_m[to as usize]);
                if a.z < ceiling_m && b.z > ceiling_m {
                    let cut = a + (b - a) * ((ceiling_m - a.z) / (b.z - a.z));
                    Self::widen(&mut bounds, cut.x, cut.y);
                }
            }
        }
        bounds
    }

    fn lowest(&self, x: f64, y: f64, ceiling_m: f64) -> Option<LowestPoint> {
        let mut low = f64::NEG_INFINITY;
        for face in &self.below {
            let height_m = face.height_m(x, y);
            low = if height_m > low { height_m } else { low };
            if low > ceiling_m {
                return None;
            }
        }
        let is_over = |face: &Face| low > face.height_m(x, y);
        let is_beside = |wall: &Wall| wall.normal[0] * x + wall.normal[1] * y > wall.offset_m;
        let is_outside = self.above.iter().any(is_over) || self.walls.iter().any(is_beside);
        (!is_outside).then_some(LowestPoint { height_m: low, share: 1.0 })
    }

    /// Inward normal of the downward face that the point is on.
    fn inward(&self, point: Vector3<f64>) -> Option<Vector3<f64>> {
        let out_m = |face: &&Face| face.normal.dot(&point) - face.offset_m;
        self.below.iter().max_by(|a, b| out_m(a).total_cmp(&out_m(b))).map(|face| -face.normal)
    }
}

/// One step of a solid on the ground, as [`crate::step`] is for a wheel; none where the
/// soil's law is not `scm`.
pub fn step(
    context: &mut SoilContext,
    solid: &ConvexSolid,
    origin_m: Vector3<f64>,
    motion: &SolidMotion,
    conditions: &Conditions,
) -> Option<SolidContact> {
    let Law::Scm(scm) = context.soils.at(origin_m.x, origin_m.y) else { return None };
    let dt_s = conditions.dt_s;
    let mass_kg = motion.mass_kg;
    let scm = softened(scm, mass_kg, solid.footprint_m2(), dt_s);
    let motion = Motion { centre_m: origin_m, linear_m_s: motion.linear_m_s, angular_rad_s: motion.angular_rad_s };
    let response = press(&scm, solid, 1.0, &motion, conditions, context.ground, context.memory, context.scratch);
    let mut wrench = response.wrench;
    let load_n = wrench.force.dot(&response.normal).max(0.0);
    wrench.torque -= motion.angular_rad_s * rolling_nm_s(load_n, mass_kg, solid.scale_m, &motion, dt_s);
    Some(SolidContact { wrench, sinkage_m: response.sinkage_m, contact_nodes: response.contact_nodes })
}

/// Rolling resistance as torque per turn rate, N m s; at most what stops a ball of that size in
/// two steps.
fn rolling_nm_s(load_n: f64, mass_kg: f64, radius_m: f64, motion: &Motion, dt_s: f64) -> f64 {
    let resistance = ROLLING * load_n * radius_m / (motion.angular_rad_s.norm() + ROLLING_RATE_RAD_S);
    resistance.min(0.5 * 0.4 * mass_kg * radius_m * radius_m / dt_s)
}

/// Embeds a solid: presses the soil to the solid's underside, so that it carries the solid
/// without yielding further. For rocks that have lain in place for a long time.
pub fn embed(context: &mut SoilContext, solid: &ConvexSolid) {
    let nodes: Vec<_> = nodes_under(context.ground, solid).collect();
    for (node, low_m) in nodes {
        let surface_m = context.ground.node_height_m(node);
        if low_m < surface_m {
            if let Some(memory) = context.memory.touch(node, surface_m as f32) {
                memory.plastic_m = memory.initial_m - low_m as f32;
            }
            context.ground.set_node_height(node, low_m);
        }
    }
}

/// Nodes of the finest level under a solid, with the height of the solid's underside there, m.
fn nodes_under<'a>(ground: &'a GroundPatch, solid: &'a ConvexSolid) -> impl Iterator<Item = (Node, f64)> + 'a {
    let nodes = ground.nodes_within(solid.bounds_m(f64::INFINITY), 0).into_iter().flat_map(|rect| rect.nodes());
    nodes.filter_map(move |node| {
        let [x, y] = ground.node_xy_m(node);
        Some((node, solid.lowest(x, y, f64::INFINITY)?.height_m))
    })
}

/// The same soil with E and R lowered for a solid of this mass at this step. Its pressure acts
/// normal to the solid's faces, whatever the setting for wheels: along the terrain's normal the
/// sides of the hollow would lift a stone that leans against them instead of holding it.
fn softened(scm: &Scm, mass_kg: f64, footprint_m2: f64, dt_s: f64) -> Scm {
    let mass_per_m2 = mass_kg / footprint_m2;
    let elastic_max = mass_per_m2 * (FREQUENCY_MAX / dt_s).powi(2);
    let damping_max = 2.0 * DAMPING_MAX * FREQUENCY_MAX * mass_per_m2 / dt_s;
    // E must exceed Bekker's slope, or loading and unloading would not differ: keep twice that.
    let elastic_min = (2.0 * scm.k_phi).min(scm.elastic_pa_per_m);
    Scm {
        elastic_pa_per_m: scm.elastic_pa_per_m.min(elastic_max.max(elastic_min)),
        damping_pa_s_per_m: scm.damping_pa_s_per_m.min(damping_max),
        pressure: Pressure::Surface,
        ..*scm
    }
}

#[cfg(test)]
mod tests {
    use super::ConvexSolid;
    use crate::profile::Profile;
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;
    use selene_terrain::RockShape;

    /// Corners are kept as `f32`.
    const SINGLE_TOLERANCE_M: f64 = 1e-6;

    fn cube() -> RockShape {
        let corners: Vec<_> = (0..8).map(|i| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>()).collect();
        RockShape::hull(&corners).expect("a volume")
    }

    #[test]
    fn a_cube_on_its_corner_is_lowest_there_and_rises_by_its_faces() {
        // Corners of the unit shape are at distance 1: the edge is 2/√3.
        let mut solid = ConvexSolid::new(&cube(), 0.3);
        let on_corner = UnitQuaternion::rotation_between(&Vector3::new(1.0, 1.0, 1.0), &-Vector3::z()).expect("apart");
        solid.place(&Pose::from_parts(Vector3::new(1.0, 2.0, 0.3).into(), on_corner));
        let low = solid.lowest(1.0, 2.0, 1.0).expect("hit").height_m;
        assert!(low.abs() < SINGLE_TOLERANCE_M, "{low}");
        // An edge from that corner rises at 1/√2 of its run: (0, 0) to its far end.
        let end = solid.corners_m().iter().filter(|c| c.z > 0.01).min_by(|a, b| a.z.total_cmp(&b.z)).expect("a corner");
        let middle = [0.5 * (1.0 + end.x), 0.5 * (2.0 + end.y)];
        let height = solid.lowest(middle[0], middle[1], 1.0).expect("hit").height_m;
        assert!((height - 0.5 * end.z).abs() < SINGLE_TOLERANCE_M, "{height}");
        assert!(solid.lowest(1.4, 2.0, 1.0).is_none());
        assert!(solid.lowest(middle[0], middle[1], 0.4 * end.z).is_none(), "above the ceiling");
    }

    #[test]
    fn bounds_below_a_ceiling_hold_every_point_below_it() {
        let mut solid = ConvexSolid::new(&cube(), 0.3);
        solid.place(&Pose::from_parts(
            Vector3::new(0.1, 0.0, 0.3).into(),
            UnitQuaternion::from_euler_angles(0.5, 0.9, 0.2),
        ));
        for ceiling in [0.05, 0.1, 0.3, 1.0] {
            let [least, greatest] = solid.bounds_m(ceiling);
            for i in 0..3600 {
                let (x, y) = (f64::from(i % 60) * 0.013 - 0.4, f64::from(i / 60) * 0.013 - 0.4);
                let inside = x >= least[0] && x <= greatest[0] && y >= least[1] && y <= greatest[1];
                assert!(inside || solid.lowest(x, y, ceiling).is_none(), "{ceiling} {x} {y}");
            }
        }
    }
}

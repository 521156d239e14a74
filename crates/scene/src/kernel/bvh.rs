//! Traces a ray against the instances: traverses the tree of instances and, in the frame of each instance that the ray
//! reaches, the tree of its mesh. Trees are in depth-first order with escape links, so no stack is needed. Triangles
//! follow Möller and Trumbore 1997 and are two-sided. Grains are hit from outside only. They are spheres, whose
//! intersection uses the distance of the centre from the ray, which keeps its precision however far away the grain is
//! (Haines, Günther and Akenine-Möller 2019); or fragments, which three slabs cut from a sphere (Kay and Kajiya 1986).

use nalgebra::Vector3;

use super::motion::{moved_back, turned};
use super::{FAR, Hit, Ray, least, most};
use crate::record::{InstanceRecord, NodeRecord, Records, TriangleRecord};

/// The nearest hit on an instance before `nearest`, else `nearest` itself.
#[must_use]
pub fn trace_instances(records: &Records<'_>, ray: &Ray, nearest: Hit) -> Hit {
    let mut hit = nearest;
    let inverse = inverse_direction(ray);
    let mut node = 0;
    while node < records.instance_nodes.len() {
        let n = &records.instance_nodes[node];
        if !meets_box(n, ray, &inverse, hit.t) {
            node = n.escape as usize;
            continue;
        }
        if n.leaf != 0 {
            hit = trace_mesh(records, ray, n.leaf >> 3, hit, false);
        }
        node += 1;
    }
    hit
}

/// Whether any instance blocks the ray before `t_max`.
#[must_use]
pub fn any_instance(records: &Records<'_>, ray: &Ray, t_max: f32) -> bool {
    let open = Hit { t: t_max, instance: 0, part: 0 };
    let inverse = inverse_direction(ray);
    let mut node = 0;
    while node < records.instance_nodes.len() {
        let n = &records.instance_nodes[node];
        if !meets_box(n, ray, &inverse, t_max) {
            node = n.escape as usize;
            continue;
        }
        if n.leaf != 0 && trace_mesh(records, ray, n.leaf >> 3, open, true).t < t_max {
            return true;
        }
        node += 1;
    }
    false
}

/// A bundle of rays whose origins lie in one box and whose directions lie in another. `low` and `high` are, per axis,
/// the inverses of the least and the greatest direction.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Least and greatest origin along each axis, m.
    pub from: [Vector3<f32>; 2],
    /// Least and greatest direction along each axis.
    pub toward: [Vector3<f32>; 2],
    pub(crate) low: Vector3<f32>,
    pub(crate) high: Vector3<f32>,
}

impl Bundle {
    /// A bundle from the least and greatest origin and direction along each axis.
    #[must_use]
    pub fn new(from: [Vector3<f32>; 2], toward: [Vector3<f32>; 2]) -> Self {
        Self { from, toward, low: inverse(&toward[0]), high: inverse(&toward[1]) }
    }

    /// The cone around a ray of unit direction that widens by `spread` per metre on all sides.
    #[must_use]
    pub fn cone(ray: &Ray, spread: f32) -> Self {
        let sides = Vector3::repeat(spread);
        Self::new([ray.origin; 2], [ray.direction - sides, ray.direction + sides])
    }
}

/// Whether an instance's box reaches into the cone around a ray of unit direction that widens by `spread` per metre.
#[must_use]
pub fn cone_meets_instances(records: &Records<'_>, ray: &Ray, spread: f32) -> bool {
    let cone = Bundle::cone(ray, spread);
    let mut node = 0;
    while node < records.instance_nodes.len() {
        let n = &records.instance_nodes[node];
        if !bundle_meets_box(n, &cone, FAR) {
            node = n.escape as usize;
            continue;
        }
        if n.leaf != 0 {
            return true;
        }
        node += 1;
    }
    false
}

/// Which of the rays from `ray.origin` in the `directions` an instance hides, as bits from the lowest on. All
/// directions lie in the cone around `ray` that widens by `spread` per metre, so one traversal serves them all.
#[must_use]
pub fn instances_hide(records: &Records<'_>, ray: &Ray, spread: f32, directions: &[Vector3<f32>]) -> u32 {
    let cone = Bundle::cone(ray, spread);
    let open = Hit { t: FAR, instance: 0, part: 0 };
    let mut hidden = 0;
    let mut node = 0;
    while node < records.instance_nodes.len() {
        let n = &records.instance_nodes[node];
        if !bundle_meets_box(n, &cone, FAR) {
            node = n.escape as usize;
            continue;
        }
        if n.leaf != 0 {
            for (index, &direction) in directions.iter().enumerate() {
                let sample = Ray { origin: ray.origin, direction };
                if hidden >> index & 1 == 0 && trace_mesh(records, &sample, n.leaf >> 3, open, true).t < FAR {
                    hidden |= 1 << index;
                }
            }
        }
        node += 1;
    }
    hidden
}

/// Collects the leaves of the instances' trees that rays of a bundle may meet before `t_max`, in the trees' order and
/// as one tree. Returns false, with an incomplete list, when there are more than `most_leaves`.
pub fn leaves_met(
    records: &Records<'_>,
    bundle: &Bundle,
    t_max: f32,
    most_leaves: usize,
    leaves: &mut Vec<NodeRecord>,
) -> bool {
    leaves.clear();
    let mut node = 0;
    while node < records.instance_nodes.len() {
        let n = &records.instance_nodes[node];
        if !bundle_meets_box(n, bundle, t_max) {
            node = n.escape as usize;
            continue;
        }
        if n.leaf != 0 {
            if leaves.len() == most_leaves {
                return false;
            }
            leaves.push(NodeRecord { escape: leaves.len() as u32 + 1, ..*n });
        }
        node += 1;
    }
    true
}

/// Whether the bundle's cross-section touches the box at some t of 0 to `t_max`: on each axis the greatest direction
/// has passed the lower side and the least direction has not passed the upper side.
fn bundle_meets_box(node: &NodeRecord, bundle: &Bundle, t_max: f32) -> bool {
    let past_min = (Vector3::from(node.min) - bundle.from[1]).component_mul(&bundle.high);
    let past_max = (Vector3::from(node.max) - bundle.from[0]).component_mul(&bundle.low);
    let [mut enter, mut leave] = [0.0, t_max];
    for axis in 0..3 {
        let [a, b] = [past_min[axis], past_max[axis]];
        enter = most(enter, if bundle.high[axis] > 0.0 { a } else { 0.0 });
        leave = least(leave, if bundle.high[axis] > 0.0 { FAR } else { a });
        enter = most(enter, if bundle.low[axis] > 0.0 { 0.0 } else { b });
        leave = least(leave, if bundle.low[axis] > 0.0 { b } else { FAR });
    }
    enter <= leave
}

/// The nearest hit on one instance before `nearest`, else `nearest` itself; with `first`, the first hit found.
pub(crate) fn trace_mesh(records: &Records<'_>, world_ray: &Ray, index: u32, nearest: Hit, first: bool) -> Hit {
    let mut hit = nearest;
    let instance = &records.instances[index as usize];
    let ray = seen_by(records, index, world_ray);
    let inverse = inverse_direction(&ray);
    let mut node = instance.first_node;
    while node < instance.end_node {
        let n = &records.mesh_nodes[node as usize];
        if !meets_box(n, &ray, &inverse, hit.t) {
            node = n.escape;
            continue;
        }
        let low = n.leaf >> 3;
        for part in low..low + (n.leaf & 7) {
            let t = meet_part(&records.triangles[part as usize], &ray);
            if t < hit.t {
                hit = Hit { t, instance: index, part };
                if first {
                    return hit;
                }
            }
        }
        node += 1;
    }
    hit
}

/// The ray in an instance's frame, at the share of the time span in `Records::shutter`.
fn seen_by(records: &Records<'_>, index: u32, ray: &Ray) -> Ray {
    let instance = &records.instances[index as usize];
    if index >= records.globals.moving_from {
        return object_ray(instance, &at_start(records, index, ray));
    }
    object_ray(instance, ray)
}

/// The ray relative to a moving instance, moved back to the instance's start pose.
#[cold]
fn at_start(records: &Records<'_>, index: u32, ray: &Ray) -> Ray {
    moved_back(&records.motions[(index - records.globals.moving_from) as usize], records.shutter, ray)
}

/// The ray in the instance's own frame; t keeps its value.
fn object_ray(instance: &InstanceRecord, ray: &Ray) -> Ray {
    let rows = &instance.object_from_world;
    let turn = |v: &Vector3<f32>, w: f32| {
        let along = |row: &[f32; 4]| row[0] * v.x + row[1] * v.y + row[2] * v.z + row[3] * w;
        Vector3::new(along(&rows[0]), along(&rows[1]), along(&rows[2]))
    };
    Ray { origin: turn(&ray.origin, 1.0), direction: turn(&ray.direction, 0.0) }
}

pub(crate) fn inverse_direction(ray: &Ray) -> Vector3<f32> {
    inverse(&ray.direction)
}

/// 1/x of each component; 1e20 where a component is nearly zero.
fn inverse(v: &Vector3<f32>) -> Vector3<f32> {
    v.map(inverse_of)
}

fn inverse_of(number: f32) -> f32 {
    if number.abs() < 1e-20 { 1e20 } else { 1.0 / number }
}

pub(crate) fn meets_box(node: &NodeRecord, ray: &Ray, inverse: &Vector3<f32>, t_max: f32) -> bool {
    let a = (Vector3::from(node.min) - ray.origin).component_mul(inverse);
    let b = (Vector3::from(node.max) - ray.origin).component_mul(inverse);
    let enter = most(most(least(a.x, b.x), least(a.y, b.y)), most(least(a.z, b.z), 0.0));
    let leave = least(least(most(a.x, b.x), most(a.y, b.y)), least(most(a.z, b.z), t_max));
    enter <= leave
}

/// Ray parameter of the hit on a triangle or a grain, or `FAR`.
fn meet_part(part: &TriangleRecord, ray: &Ray) -> f32 {
    if part.radius > 0.0 { meet_grain(part, ray) } else { meet_triangle(part, ray) }
}

/// Ray parameter at which a ray from outside meets a grain, or `FAR`.
fn meet_grain(grain: &TriangleRecord, ray: &Ray) -> f32 {
    let to_centre = Vector3::from(grain.corner) - ray.origin;
    let inverse = 1.0 / ray.direction.dot(&ray.direction);
    let middle = to_centre.dot(&ray.direction) * inverse;
    let beside = ray.direction * middle - to_centre;
    let within = grain.radius * grain.radius - beside.dot(&beside);
    if within < 0.0 {
        return FAR;
    }
    let half = (within * inverse).sqrt();
    let t = if grain.third > 0.0 {
        meet_fragment(grain, ray, &to_centre, [middle - half, middle + half])
    } else {
        middle - half
    };
    if t > 0.0 { t } else { FAR }
}

/// Ray parameter at which a ray enters a fragment, or `FAR`; it is in the fragment's sphere between two parameters.
fn meet_fragment(grain: &TriangleRecord, ray: &Ray, to_centre: &Vector3<f32>, [mut enter, mut leave]: [f32; 2]) -> f32 {
    for normal in normals(grain) {
        let apart = normal.dot(to_centre);
        let inverse = inverse_of(normal.dot(&ray.direction));
        let [a, b] = [(apart - 1.0) * inverse, (apart + 1.0) * inverse];
        enter = most(enter, least(a, b));
        leave = least(leave, most(a, b));
    }
    if enter <= leave { enter } else { FAR }
}

/// The normals of a fragment's faces, as long as makes n · p = 1 the plane of one.
pub(crate) fn normals(grain: &TriangleRecord) -> [Vector3<f32>; 3] {
    let [first, second] = [Vector3::from(grain.edge1), Vector3::from(grain.edge2)];
    [first, second, first.cross(&second) * grain.third]
}

/// Outward normal of a grain at a point of its surface, from its centre; of any length.
fn grain_normal(grain: &TriangleRecord, point: Vector3<f32>) -> Vector3<f32> {
    let mut normal = point;
    if grain.third == 0.0 {
        return normal;
    }
    let mut farthest = point.dot(&point) / (grain.radius * grain.radius);
    for face in normals(grain) {
        let out = face.dot(&point);
        if out * out > farthest {
            farthest = out * out;
            normal = if out < 0.0 { -face } else { face };
        }
    }
    normal
}

/// Ray parameter of the hit on a triangle, or `FAR`.
fn meet_triangle(triangle: &TriangleRecord, ray: &Ray) -> f32 {
    let edge1 = Vector3::from(triangle.edge1);
    let edge2 = Vector3::from(triangle.edge2);
    let p = ray.direction.cross(&edge2);
    let determinant = edge1.dot(&p);
    if determinant == 0.0 {
        return FAR;
    }
    let from_corner = ray.origin - Vector3::from(triangle.corner);
    let q = from_corner.cross(&edge1);
    let inverse = 1.0 / determinant;
    let u = from_corner.dot(&p) * inverse;
    let v = ray.direction.dot(&q) * inverse;
    let t = edge2.dot(&q) * inverse;
    if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0 { t } else { FAR }
}

/// Outward unit normal, in the scene's frame, where a ray has met an instance.
#[must_use]
pub fn part_normal(records: &Records<'_>, ray: &Ray, hit: &Hit) -> Vector3<f32> {
    let instance = hit.instance;
    let part = &records.triangles[hit.part as usize];
    let n = if part.radius > 0.0 {
        let seen = seen_by(records, instance, ray);
        grain_normal(part, seen.origin + seen.direction * hit.t - Vector3::from(part.corner))
    } else {
        Vector3::from(part.edge1).cross(&Vector3::from(part.edge2))
    };
    let rows = &records.instances[instance as usize].object_from_world;
    let column = |i: usize| rows[0][i] * n.x + rows[1][i] * n.y + rows[2][i] * n.z;
    let normal = Vector3::new(column(0), column(1), column(2)).normalize();
    if instance < records.globals.moving_from {
        return normal;
    }
    let motion = &records.motions[(instance - records.globals.moving_from) as usize];
    turned(&normal, motion.axis, records.shutter * motion.angle)
}

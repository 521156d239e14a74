//! Traces a packet of rays against the instances: `kernel::bvh` with one ray per lane. The traversal visits every node
//! that any ray needs; a ray that misses a box waits until the traversal has passed the box's subtree.

use fearless_simd::prelude::*;

use super::lanes::{Floats, Ints, Mask, Rays, Vectors, all, all_vector, bits_of, inverse, lanes_of, less, vector_of};
use crate::kernel::bvh::{Bundle, normals, trace_mesh};
use crate::kernel::{FAR, Hit, Ray};
use crate::real::{Real, cross, dot};
use crate::record::{InstanceRecord, NodeRecord, Records, TriangleRecord};

/// What each ray has met.
#[derive(Clone, Copy)]
pub(crate) struct Hits<S: Simd> {
    /// Ray parameter; `FAR` where the ray met nothing.
    pub(crate) t: Floats<S>,
    /// Index of the instance, or `GROUND`.
    pub(crate) instance: Ints<S>,
    pub(crate) part: Ints<S>,
}

/// As `bvh::trace_instances`, for the lanes in `active`.
pub(crate) fn trace_instances<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    nearest: &Hits<S>,
    active: &Mask<S>,
) -> Hits<S> {
    simd.vectorize(
        #[inline(always)]
        || {
            let mut hits = *nearest;
            let inverse = inverses(&rays.direction);
            walk(
                simd,
                records.instance_nodes,
                *active,
                #[inline(always)]
                |node, open| {
                    let meets = open & meets_boxes(node, rays, &inverse, hits.t);
                    if node.leaf != 0 && meets.any_true() {
                        hits = trace_meshes(simd, records, rays, node.leaf >> 3, &hits, meets);
                    }
                    meets
                },
            );
            hits
        },
    )
}

/// Which rays of the lanes in `active` meet any instance; as `bvh::any_instance` up to `FAR`.
pub(crate) fn any_instance<S: Simd>(simd: S, records: &Records<'_>, rays: &Rays<S>, active: &Mask<S>) -> Mask<S> {
    simd.vectorize(
        #[inline(always)]
        || {
            let far = all(simd, FAR);
            let none = Ints::splat(simd, 0);
            let open = Hits { t: far, instance: none, part: none };
            let inverse = inverses(&rays.direction);
            let mut met = Mask::splat(simd, false);
            walk(
                simd,
                records.instance_nodes,
                *active,
                #[inline(always)]
                |node, lanes| {
                    let meets = lanes & !met & meets_boxes(node, rays, &inverse, far);
                    if node.leaf != 0 && meets.any_true() {
                        let hits = trace_meshes(simd, records, rays, node.leaf >> 3, &open, meets);
                        met |= hits.t.simd_lt(FAR);
                    }
                    meets
                },
            );
            met
        },
    )
}

/// Which cones around rays of the lanes in `active` meet an instance's box, as `bvh::cone_meets_instances`; all rays
/// have the cone's direction.
pub(crate) fn cones_meet_instances<S: Simd>(
    simd: S,
    records: &Records<'_>,
    origin: &Vectors<S>,
    cone: &Bundle,
    active: &Mask<S>,
) -> Mask<S> {
    simd.vectorize(
        #[inline(always)]
        || {
            let mut met = Mask::splat(simd, false);
            walk(
                simd,
                records.instance_nodes,
                *active,
                #[inline(always)]
                |node, lanes| {
                    let meets = lanes & !met & cones_meet_box(simd, node, origin, cone);
                    if node.leaf != 0 {
                        met |= meets;
                    }
                    meets
                },
            );
            met
        },
    )
}

/// Which rays of the lanes in `active` are hidden by instances; each lies in the cone from its origin. As
/// `bvh::instances_hide`, with one ray per lane.
pub(crate) fn instances_hide<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    cone: &Bundle,
    active: &Mask<S>,
) -> Mask<S> {
    simd.vectorize(
        #[inline(always)]
        || {
            let none = Ints::splat(simd, 0);
            let open = Hits { t: all(simd, FAR), instance: none, part: none };
            let mut hidden = Mask::splat(simd, false);
            walk(
                simd,
                records.instance_nodes,
                *active,
                #[inline(always)]
                |node, lanes| {
                    let meets = lanes & !hidden & cones_meet_box(simd, node, &rays.origin, cone);
                    if node.leaf != 0 && meets.any_true() {
                        let hits = trace_meshes(simd, records, rays, node.leaf >> 3, &open, meets);
                        hidden |= hits.t.simd_lt(FAR);
                    }
                    meets
                },
            );
            hidden
        },
    )
}

/// Visits a tree's nodes in order: `visit` gets each node with the lanes that reach it and returns the lanes that enter
/// it.
#[inline(always)]
fn walk<S: Simd>(
    simd: S,
    nodes: &[NodeRecord],
    active: Mask<S>,
    mut visit: impl FnMut(&NodeRecord, Mask<S>) -> Mask<S>,
) {
    let mut resume = Ints::splat(simd, 0);
    let mut at = 0;
    while at < nodes.len() {
        let node = &nodes[at];
        let comes = active & resume.simd_le(at as i32);
        let enters = visit(node, comes);
        if enters.any_true() {
            let escape = Ints::splat(simd, node.escape as i32);
            resume = (comes & !enters).select(escape, resume);
            at += 1;
        } else {
            at = node.escape as usize;
        }
    }
}

/// As `bvh::trace_mesh` for the nearest hits, for the lanes in `active`; rays against a moving instance are traced one
/// by one.
fn trace_meshes<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    index: u32,
    nearest: &Hits<S>,
    active: Mask<S>,
) -> Hits<S> {
    if index >= records.globals.moving_from {
        return each_by_itself(simd, records, rays, index, nearest, active);
    }
    simd.vectorize(
        #[inline(always)]
        || resting(simd, records, rays, index, nearest, active),
    )
}

#[cold]
fn each_by_itself<S: Simd>(
    simd: S,
    records: &Records<'_>,
    rays: &Rays<S>,
    index: u32,
    nearest: &Hits<S>,
    active: Mask<S>,
) -> Hits<S> {
    let [origin, direction] = [rays.origin, rays.direction].map(|v| v.map(|part| part.to_array()));
    let (mut t, shutter) = (nearest.t.to_array(), rays.shutter.to_array());
    let [mut instance, mut part] = [nearest.instance, nearest.part].map(|number| number.to_array());
    for lane in lanes_of(bits_of(active)) {
        let ray = Ray { origin: vector_of(&origin, lane), direction: vector_of(&direction, lane) };
        let before = Hit { t: t[lane], instance: instance[lane] as u32, part: part[lane] as u32 };
        let then = Records { shutter: shutter[lane], ..*records };
        let hit = trace_mesh(&then, &ray, index, before, false);
        t[lane] = hit.t;
        [instance[lane], part[lane]] = [hit.instance as i32, hit.part as i32];
    }
    Hits { t: t.simd_into(simd), instance: instance.simd_into(simd), part: part.simd_into(simd) }
}

#[inline(always)]
fn resting<S: Simd>(
    simd: S,
    records: &Records<'_>,
    world_rays: &Rays<S>,
    index: u32,
    nearest: &Hits<S>,
    active: Mask<S>,
) -> Hits<S> {
    let mut hits = *nearest;
    let instance = &records.instances[index as usize];
    let rays = object_rays(instance, world_rays);
    let inverse = inverses(&rays.direction);
    let mut resume = Ints::splat(simd, 0);
    let mut at = instance.first_node;
    while at < instance.end_node {
        let node = &records.mesh_nodes[at as usize];
        let comes = active & resume.simd_le(at as i32);
        let enters = comes & meets_boxes(node, &rays, &inverse, hits.t);
        if enters.all_false() {
            at = node.escape;
            continue;
        }
        resume = (comes & !enters).select(Ints::splat(simd, node.escape as i32), resume);
        let low = node.leaf >> 3;
        for part in low..low + (node.leaf & 7) {
            let t = meet_part(&records.triangles[part as usize], &rays);
            let nearer = enters & t.below(hits.t);
            hits.t = nearer.select(t, hits.t);
            hits.instance = nearer.select(Ints::splat(simd, index as i32), hits.instance);
            hits.part = nearer.select(Ints::splat(simd, part as i32), hits.part);
        }
        at += 1;
    }
    hits
}

#[inline(always)]
fn object_rays<S: Simd>(instance: &InstanceRecord, rays: &Rays<S>) -> Rays<S> {
    let rows = &instance.object_from_world;
    Rays {
        origin: turned(rows, &rays.origin, 1.0),
        direction: turned(rows, &rays.direction, 0.0),
        shutter: rays.shutter,
    }
}

#[inline(always)]
fn turned<S: Simd>(rows: &[[f32; 4]; 3], v: &Vectors<S>, w: f32) -> Vectors<S> {
    [along_row(&rows[0], v, w), along_row(&rows[1], v, w), along_row(&rows[2], v, w)]
}

#[inline(always)]
fn along_row<S: Simd>(row: &[f32; 4], v: &Vectors<S>, w: f32) -> Floats<S> {
    v[0] * row[0] + v[1] * row[1] + v[2] * row[2] + row[3] * w
}

#[inline(always)]
fn inverses<S: Simd>(v: &Vectors<S>) -> Vectors<S> {
    [inverse(v[0], 1e-20, 1e20), inverse(v[1], 1e-20, 1e20), inverse(v[2], 1e-20, 1e20)]
}

#[inline(always)]
fn meets_boxes<S: Simd>(node: &NodeRecord, rays: &Rays<S>, inverse: &Vectors<S>, t_max: Floats<S>) -> Mask<S> {
    let [x, y, z] = [slab(node, rays, inverse, 0), slab(node, rays, inverse, 1), slab(node, rays, inverse, 2)];
    let enter = x[0].most(y[0]).most(z[0].most(t_max.like(0.0)));
    let leave = x[1].least(y[1]).least(z[1].least(t_max));
    enter.at_most(leave)
}

/// Range of the ray parameter in which a coordinate lies between the sides of a box.
#[inline(always)]
fn slab<S: Simd>(node: &NodeRecord, rays: &Rays<S>, inverse: &Vectors<S>, axis: usize) -> [Floats<S>; 2] {
    let origin = rays.origin[axis];
    let a = (origin.like(node.min[axis]) - origin) * inverse[axis];
    let b = (origin.like(node.max[axis]) - origin) * inverse[axis];
    [a.least(b), a.most(b)]
}

/// As `bvh::bundle_meets_box` for a cone from each origin, to any distance.
#[inline(always)]
fn cones_meet_box<S: Simd>(simd: S, node: &NodeRecord, origin: &Vectors<S>, cone: &Bundle) -> Mask<S> {
    let [zero, far] = [all(simd, 0.0), all(simd, FAR)];
    let [mut enter, mut leave] = [zero, far];
    for (axis, &origin) in origin.iter().enumerate() {
        let a = (origin.like(node.min[axis]) - origin) * cone.high[axis];
        let b = (origin.like(node.max[axis]) - origin) * cone.low[axis];
        enter = enter.most(if cone.high[axis] > 0.0 { a } else { zero });
        leave = leave.least(if cone.high[axis] > 0.0 { far } else { a });
        enter = enter.most(if cone.low[axis] > 0.0 { zero } else { b });
        leave = leave.least(if cone.low[axis] > 0.0 { b } else { far });
    }
    enter.at_most(leave)
}

#[inline(always)]
fn meet_part<S: Simd>(part: &TriangleRecord, rays: &Rays<S>) -> Floats<S> {
    if part.radius > 0.0 { meet_grain(part, rays) } else { meet_triangle(part, rays) }
}

#[inline(always)]
fn meet_grain<S: Simd>(grain: &TriangleRecord, rays: &Rays<S>) -> Floats<S> {
    let [zero, one] = [rays.origin[0].like(0.0), rays.origin[0].like(1.0)];
    let to_centre = less(all_vector(zero.simd, grain.corner), rays.origin);
    let inverse = one / dot(rays.direction, rays.direction);
    let middle = dot(to_centre, rays.direction) * inverse;
    let [x, y, z] = rays.direction;
    let beside = less([x * middle, y * middle, z * middle], to_centre);
    let within = zero.like(grain.radius * grain.radius) - dot(beside, beside);
    let half = (within * inverse).most(zero).root();
    let t = if grain.third > 0.0 {
        meet_fragment(grain, rays, &to_centre, [middle - half, middle + half])
    } else {
        middle - half
    };
    let met = zero.at_most(within) & zero.below(t);
    met.select(t, zero.like(FAR))
}

#[inline(always)]
fn meet_fragment<S: Simd>(
    grain: &TriangleRecord,
    rays: &Rays<S>,
    to_centre: &Vectors<S>,
    [mut enter, mut leave]: [Floats<S>; 2],
) -> Floats<S> {
    for normal in normals(grain) {
        let normal = all_vector(enter.simd, normal.into());
        let apart = dot(normal, *to_centre);
        let inverse = inverse(dot(normal, rays.direction), 1e-20, 1e20);
        let [a, b] = [(apart - 1.0) * inverse, (apart + 1.0) * inverse];
        enter = enter.most(a.least(b));
        leave = leave.least(a.most(b));
    }
    enter.at_most(leave).select(enter, enter.like(FAR))
}

#[inline(always)]
fn meet_triangle<S: Simd>(triangle: &TriangleRecord, rays: &Rays<S>) -> Floats<S> {
    let [zero, one] = [rays.origin[0].like(0.0), rays.origin[0].like(1.0)];
    let [edge1, edge2] = [all_vector(zero.simd, triangle.edge1), all_vector(zero.simd, triangle.edge2)];
    let p = cross(rays.direction, edge2);
    let determinant = dot(edge1, p);
    let from_corner = less(rays.origin, all_vector(zero.simd, triangle.corner));
    let q = cross(from_corner, edge1);
    let inverse = one / determinant;
    let u = dot(from_corner, p) * inverse;
    let v = dot(rays.direction, q) * inverse;
    let t = dot(edge2, q) * inverse;
    let inside = zero.at_most(u) & zero.at_most(v) & (u + v).at_most(one) & zero.below(t);
    (inside & determinant.simd_ne(0.0)).select(t, zero.like(FAR))
}

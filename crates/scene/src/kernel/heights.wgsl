// Traces a ray against the nested height levels: the twin of heights.rs.

const ENTRY_MIP: u32 = 7u;
const STILL: f32 = 1e-20;
// A range of t that holds nothing.
const NO_SPAN: vec2<f32> = vec2(1.0, 0.0);

// A ray in a level's grid: horizontal positions in cells, heights in metres.
struct GridRay {
    origin: vec3<f32>,
    direction: vec3<f32>,
    inverse: vec2<f32>,
}

struct GroundHit {
    t: f32,
    level: u32,
}

// The nearest hit on the ground within (0, t_max): where the ray begins outside the finest level, first on the part of
// each level before the ray reaches the next finer one, from outside in. Both directions are one loop, because compilers
// inline a level's code at every call.
fn trace_heights(ray: Ray, t_max: f32, start_mip: u32) -> GroundHit {
    let count = globals.level_count;
    var finer = level_interval(0u, ray, t_max);
    let inward = select(0u, count - 1u, finer.x > 0.0 || finer.y <= 0.0);
    for (var step = 0u; step < inward + count; step++) {
        let goes_in = step < inward;
        let index = select(step - inward, count - 1u - step, goes_in);
        let here = level_interval(index, ray, t_max);
        var span = here;
        if goes_in {
            finer = level_interval(index - 1u, ray, t_max);
            span = select(NO_SPAN, vec2(here.x, min(here.y, finer.x)), finer.x < finer.y);
        } else if index > 0u && finer.x < finer.y {
            span.x = max(here.x, finer.y);
        }
        let t = march_level(index, ray, span, start_mip);
        if t < FAR {
            return GroundHit(t, index);
        }
        if !goes_in {
            if here.x < here.y && here.y >= t_max {
                break;
            }
            finer = here;
        }
    }
    return GroundHit(FAR, 0u);
}

// Range of t in which the ray is above or below the level's rectangle, clipped to (0, t_max).
fn level_interval(index: u32, ray: Ray, t_max: f32) -> vec2<f32> {
    let side = f32(levels[index].cells) * levels[index].spacing;
    let low = levels[index].origin - ray.origin.xy;
    let x = slab_interval(low.x, side, ray.direction.x);
    let y = slab_interval(low.y, side, ray.direction.y);
    return vec2(max(max(x.x, y.x), 0.0), min(min(x.y, y.y), t_max));
}

// Range of t in which a coordinate that changes at `rate` lies between `low` and `low + side`.
fn slab_interval(low: f32, side: f32, rate: f32) -> vec2<f32> {
    let inverse = finite_inverse(rate);
    let a = low * inverse;
    let b = (low + side) * inverse;
    return vec2(min(a, b), max(a, b));
}

// The part of a range of t in which the ray is below the level's highest post.
fn below_top(index: u32, ray: Ray, span: vec2<f32>) -> vec2<f32> {
    let top_mip = levels[index].top_mip;
    if top_mip == 0u || abs(ray.direction.z) < STILL {
        return span;
    }
    let t = (mip_max(index, top_mip, 0u, 0u) - ray.origin.z) / ray.direction.z;
    return select(vec2(max(span.x, t), span.y), vec2(span.x, min(span.y, t)), ray.direction.z > 0.0);
}

// The first hit on one level for t in [span.x, span.y], or FAR.
fn march_level(index: u32, ray: Ray, whole: vec2<f32>, start_mip: u32) -> f32 {
    let span = below_top(index, ray, whole);
    if span.x >= span.y {
        return FAR;
    }
    let r = grid_ray(index, ray);
    let last = levels[index].cells - 1u;
    let top_mip = levels[index].top_mip;
    let up = vec2(u32(r.direction.x >= 0.0), u32(r.direction.y >= 0.0));
    var t = span.x;
    var mip = min(top_mip, select(start_mip, ENTRY_MIP, span.x > 0.0));
    var x = cell_of(r.origin.x + t * r.direction.x, 0u, last);
    var y = cell_of(r.origin.y + t * r.direction.y, 0u, last);
    loop {
        let cx = x >> mip;
        let cy = y >> mip;
        let t_x = (f32((cx + up.x) << mip) - r.origin.x) * r.inverse.x;
        let t_y = (f32((cy + up.y) << mip) - r.origin.y) * r.inverse.y;
        let t_exit = max(min(min(t_x, t_y), span.y), t);
        let lowest = r.origin.z + r.direction.z * select(t, t_exit, r.direction.z < 0.0);
        if mip > 0u {
            if lowest <= mip_max(index, mip, cx, cy) {
                mip -= 1u;
                continue;
            }
        } else {
            let hit = hit_cell(index, r, vec2(x, y), vec2(t, t_exit), lowest);
            if hit < FAR {
                return hit;
            }
        }
        if t_exit >= span.y {
            return FAR;
        }
        t = t_exit;
        let along_x = t_x < t_y;
        let beside_x = cell_within(r.origin.x + t * r.direction.x, cx, mip, last);
        let beside_y = cell_within(r.origin.y + t * r.direction.y, cy, mip, last);
        x = select(beside_x, neighbour(cx, up.x, mip), along_x);
        y = select(neighbour(cy, up.y, mip), beside_y, along_x);
        if x > last || y > last {
            return FAR;
        }
        let crossed = (((x >> mip) ^ cx) | ((y >> mip) ^ cy)) > 1u;
        mip += u32(crossed && mip < top_mip);
    }
    return FAR;
}

fn grid_ray(index: u32, ray: Ray) -> GridRay {
    let k = levels[index].inverse_spacing;
    let origin = (ray.origin.xy - levels[index].origin) * k;
    let direction = ray.direction.xy * k;
    let inverse = vec2(finite_inverse(direction.x), finite_inverse(direction.y));
    return GridRay(vec3(origin, ray.origin.z), vec3(direction, ray.direction.z), inverse);
}

// 1/x, or a large number where x is nearly zero.
fn finite_inverse(x: f32) -> f32 {
    if abs(x) < STILL {
        return 1.0 / STILL;
    }
    return 1.0 / x;
}

// Cell index of a grid coordinate, clamped to `low` and `high`.
fn cell_of(coordinate: f32, low: u32, high: u32) -> u32 {
    return clamp(u32(max(coordinate, 0.0)), low, high);
}

// The cell that a coordinate enters as it leaves a mip cell; a huge index when it leaves the level below zero.
fn neighbour(mip_cell: u32, up: u32, mip: u32) -> u32 {
    return ((mip_cell + up) << mip) - (1u - up);
}

// Cell index of a grid coordinate, clamped to a mip cell.
fn cell_within(coordinate: f32, mip_cell: u32, mip: u32, last: u32) -> u32 {
    let low = mip_cell << mip;
    return cell_of(coordinate, low, min(last, low + (1u << mip) - 1u));
}

// Highest post in a mip cell, m.
fn mip_max(index: u32, mip: u32, cx: u32, cy: u32) -> f32 {
    let side = ((levels[index].cells - 1u) >> mip) + 1u;
    let first = levels[index].mips[mip >> 2u][mip & 3u];
    return heights[first + cy * side + cx];
}

// Heights of the four posts of a cell, m: (0,0), (1,0), (0,1), (1,1).
fn cell_posts(index: u32, x: u32, y: u32) -> vec4<f32> {
    let stride = levels[index].cells + 1u;
    let low = levels[index].heights + y * stride + x;
    let high = low + stride;
    return vec4(heights[low], heights[low + 1u], heights[high], heights[high + 1u]);
}

// Hit on one cell's bilinear patch for t in [span.x, span.y], or FAR.
fn hit_cell(index: u32, r: GridRay, cell: vec2<u32>, span: vec2<f32>, lowest: f32) -> f32 {
    let h = cell_posts(index, cell.x, cell.y);
    if lowest > max(max(h.x, h.y), max(h.z, h.w)) {
        return FAR;
    }
    let d = r.direction;
    let uv = r.origin.xy - vec2<f32>(cell) + span.x * d.xy;
    let b = h.y - h.x;
    let c = h.z - h.x;
    let e = h.w - h.y - h.z + h.x;
    let f0 = r.origin.z + span.x * d.z - (h.x + b * uv.x + c * uv.y + e * uv.x * uv.y);
    let f1 = d.z - (b * d.x + c * d.y + e * (uv.x * d.y + uv.y * d.x));
    let f2 = -e * d.x * d.y;
    if f0 <= 0.0 {
        return span.x;
    }
    let s = first_root(f0, f1, f2);
    return select(FAR, span.x + s, s <= span.y - span.x);
}

// The smallest positive root of f0 + f1 s + f2 s² for f0 > 0, or FAR.
fn first_root(f0: f32, f1: f32, f2: f32) -> f32 {
    let discriminant = f1 * f1 - 4.0 * f2 * f0;
    if discriminant < 0.0 {
        return FAR;
    }
    let root = sqrt(discriminant);
    if f1 < 0.0 {
        return 2.0 * f0 / (root - f1);
    }
    if f2 < 0.0 {
        return -0.5 * (f1 + root) / f2;
    }
    return FAR;
}

// Upward unit normal of the ground at (x, y), interpolated between the posts' normals.
fn ground_normal(index: u32, x: f32, y: f32) -> vec3<f32> {
    let g = (vec2(x, y) - levels[index].origin) * levels[index].inverse_spacing;
    let cx = cell_of(g.x, 0u, levels[index].cells - 1u);
    let cy = cell_of(g.y, 0u, levels[index].cells - 1u);
    let u = clamp(g.x - f32(cx), 0.0, 1.0);
    let v = clamp(g.y - f32(cy), 0.0, 1.0);
    let low = mix(post_slope(index, cx, cy), post_slope(index, cx + 1u, cy), u);
    let high = mix(post_slope(index, cx, cy + 1u), post_slope(index, cx + 1u, cy + 1u), u);
    return normalize(vec3(-mix(low, high, v), 1.0));
}

// Slope at a post along x and y, from differences with the neighbouring posts.
fn post_slope(index: u32, x: u32, y: u32) -> vec2<f32> {
    let cells = levels[index].cells;
    let x0 = max(x, 1u) - 1u;
    let x1 = min(x + 1u, cells);
    let y0 = max(y, 1u) - 1u;
    let y1 = min(y + 1u, cells);
    let rise = vec2(post(index, x1, y) - post(index, x0, y), post(index, x, y1) - post(index, x, y0));
    return rise * levels[index].inverse_spacing / vec2(f32(x1 - x0), f32(y1 - y0));
}

fn post(index: u32, x: u32, y: u32) -> f32 {
    return heights[levels[index].heights + y * (levels[index].cells + 1u) + x];
}

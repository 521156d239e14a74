// The viewing direction of an image position: the twin of lens.rs.

const PINHOLE: u32 = 0u;
const POLYNOMIALS: u32 = 1u;
const FIELD_OF_VIEW: u32 = 2u;
const EQUIDISTANT: u32 = 3u;
const STEREOGRAPHIC: u32 = 4u;
const RADIAL_STEPS: u32 = 24u;
const PLANE_STEPS: u32 = 3u;
const LAST_STEP: f32 = 1e-7;

// Direction in the optical frame through an image position, pixels.
fn lens_direction(place: vec2<f32>) -> vec3<f32> {
    let at = (place - view.principal) * view.inverse_focal;
    switch view.lens {
        case PINHOLE: { return ahead(at); }
        case POLYNOMIALS: { return without_polynomials(at); }
        case FIELD_OF_VIEW: { return without_field_of_view(at); }
        case EQUIDISTANT, STEREOGRAPHIC: { return fisheye(at); }
        default: { return panorama(at); }
    }
}

// Direction from the tangents of its angles to the axis.
fn ahead(at: vec2<f32>) -> vec3<f32> {
    return select(vec3(0.0), vec3(at, 1.0), dot(at, at) <= view.reach * view.reach);
}

fn without_polynomials(place: vec2<f32>) -> vec3<f32> {
    let radius = length(place);
    let r = radial_inverse(min(radius, radial(view.reach).x));
    var at = place * select(0.0, r / radius, radius > 0.0);
    let p1 = view.coefficients[0].w;
    let p2 = view.coefficients[1].w;
    for (var step = 0u; step < PLANE_STEPS; step++) {
        let u2 = dot(at, at);
        let f = factor(u2);
        let both = at.x * at.y;
        let tangential = vec2(2.0 * p1 * both + p2 * (u2 + 2.0 * at.x * at.x), p1 * (u2 + 2.0 * at.y * at.y) + 2.0 * p2 * both);
        let miss = place - (at * f.x + tangential);
        let across = 2.0 * (both * f.y + p1 * at.x + p2 * at.y);
        let along_x = f.x + 2.0 * at.x * at.x * f.y + 2.0 * p1 * at.y + 6.0 * p2 * at.x;
        let along_y = f.x + 2.0 * at.y * at.y * f.y + 6.0 * p1 * at.y + 2.0 * p2 * at.x;
        let moved = vec2(along_y * miss.x - across * miss.y, along_x * miss.y - across * miss.x);
        at += moved / (along_x * along_y - across * across);
    }
    return ahead(at);
}

// Inverts the field-of-view model: tan θ = a tan(r/a).
fn without_field_of_view(at: vec2<f32>) -> vec3<f32> {
    let scale = view.coefficients[0].x;
    let radius = length(at);
    if radius >= scale * 0.5 * PI {
        return vec3(0.0);
    }
    return ahead(at * select(1.0, scale * tan(radius / scale) / radius, radius > 0.0));
}

fn fisheye(at: vec2<f32>) -> vec3<f32> {
    let radius = length(at);
    if view.lens == EQUIDISTANT && radius > radial(view.reach).x {
        return vec3(0.0);
    }
    var theta = 2.0 * atan(0.5 * radius);
    if view.lens == EQUIDISTANT {
        theta = radial_inverse(radius);
    }
    if theta > view.reach {
        return vec3(0.0);
    }
    return vec3(at * select(0.0, sin(theta) / radius, radius > 0.0), cos(theta));
}

// Direction from longitude and latitude, rad; rows grow downward.
fn panorama(at: vec2<f32>) -> vec3<f32> {
    if abs(at.x) > PI || abs(at.y) > 0.5 * PI {
        return vec3(0.0);
    }
    return vec3(sin(at.x) * cos(at.y), sin(at.y), cos(at.x) * cos(at.y));
}

// The radial factor at u = r² and its derivative with respect to u.
fn factor(u: f32) -> vec2<f32> {
    let a = view.coefficients[0];
    let b = view.coefficients[1];
    let below = 1.0 + u * (b.x + u * (b.y + u * b.z));
    let value = (1.0 + u * (a.x + u * (a.y + u * a.z))) / below;
    let above_slope = a.x + u * (2.0 * a.y + u * 3.0 * a.z);
    let below_slope = b.x + u * (2.0 * b.y + u * 3.0 * b.z);
    return vec2(value, (above_slope - value * below_slope) / below);
}

// Image radius in focal lengths at `r` (tan θ, or θ for fisheyes), and its derivative.
fn radial(r: f32) -> vec2<f32> {
    let u = r * r;
    if view.lens == POLYNOMIALS {
        let f = factor(u);
        return vec2(r * f.x, f.x + 2.0 * u * f.y);
    }
    let k = view.coefficients[0];
    let slope = 1.0 + u * (3.0 * k.x + u * (5.0 * k.y + u * (7.0 * k.z + u * 9.0 * k.w)));
    return vec2(r * (1.0 + u * (k.x + u * (k.y + u * (k.z + u * k.w)))), slope);
}

// The `r` (tan θ, or θ for fisheyes) that has an image radius.
fn radial_inverse(radius: f32) -> f32 {
    var low = 0.0;
    var high = view.reach;
    var at = min(radius, high);
    for (var step = 0u; step < RADIAL_STEPS; step++) {
        let there = radial(at);
        if there.x > radius {
            high = at;
        } else {
            low = at;
        }
        let next = at + (radius - there.x) / there.y;
        let kept = select(0.5 * (low + high), next, next > low && next < high);
        let moved = abs(kept - at);
        at = kept;
        if moved <= LAST_STEP * at {
            break;
        }
    }
    return at;
}

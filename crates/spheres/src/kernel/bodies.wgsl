// Twin of the solids of selene_crm: exact distances, inside and outside.

// Units of a remainder from which on it is left as it is: a body far outside of the container.
const FAR: f32 = 16777216.0;

// The body after `time_s` along its twist.
fn moved(body: Body, time_s: f32) -> Body {
    var after = body;
    let units = body.rest + body.velocity * (time_s / model.unit_m);
    let whole = select(vec3<f32>(0.0), floor(units), abs(units) < vec3<f32>(FAR));
    after.fixed += vec3<i32>(whole);
    after.rest = units - whole;
    let angle = length(body.spin) * time_s;
    if angle > 0.0 {
        let half = sine_and_cosine(0.5 * angle);
        after.rotation = normalize(quaternion_product(vec4<f32>(normalize(body.spin) * half.x, half.y), body.rotation));
    }
    return after;
}

// Of a small angle by series: a device may be off by 5e-4, and its grains would meet another surface.
fn sine_and_cosine(angle: f32) -> vec2<f32> {
    if angle > 0.5 {
        return vec2<f32>(sin(angle), cos(angle));
    }
    let q = angle * angle;
    let sine = angle * (1.0 - q / 6.0 * (1.0 - q / 20.0 * (1.0 - q / 42.0)));
    return vec2<f32>(sine, 1.0 - q / 2.0 * (1.0 - q / 12.0 * (1.0 - q / 30.0 * (1.0 - q / 56.0))));
}

struct Distance {
    length: f32,
    normal: vec3<f32>,
}

// Distance and normal of a place; `excess` is the distance beyond each pair of faces.
fn from_excess(at: vec3<f32>, excess: vec3<f32>) -> Distance {
    let side = sides(at);
    let outside = max(excess, vec3<f32>(0.0));
    let away = length(outside);
    if away > 0.0 {
        return Distance(away, outside * side / away);
    }
    if excess.x >= excess.y && excess.x >= excess.z {
        return Distance(excess.x, vec3<f32>(side.x, 0.0, 0.0));
    }
    if excess.y >= excess.z {
        return Distance(excess.y, vec3<f32>(0.0, side.y, 0.0));
    }
    return Distance(excess.z, vec3<f32>(0.0, 0.0, side.z));
}

// Distance from a body's surface in the body's frame, and normal there.
fn distance_in_frame(body: Body, at: vec3<f32>) -> Distance {
    if body.shape == 0u {
        return Distance(length(at) - body.half.x, unit_or_up(at));
    }
    if body.shape == 1u {
        return from_excess(at, abs(at) - body.half);
    }
    let across = length(at.xy);
    let radial = unit_or_up(vec3<f32>(at.xy, 0.0));
    let excess = vec3<f32>(across - body.half.x, -1e30, abs(at.z) - body.half.z);
    let found = from_excess(vec3<f32>(across, 0.0, at.z), excess);
    return Distance(found.length, radial * found.normal.x + vec3<f32>(0.0, 0.0, found.normal.z));
}

// Vector from a body's origin to a grain, m.
fn arm_of(place: Place, body: Body) -> vec3<f32> {
    return between_m(place.fixed, place.rest, body.fixed, body.rest);
}

// Distance of a grain's centre from a body, m.
fn distance_to(place: Place, body: Body) -> Distance {
    let found = distance_in_frame(body, turned_back(body.rotation, arm_of(place, body)));
    return Distance(found.length, turned(body.rotation, found.normal));
}

// Twin of law.rs.

// The deepest overlap for which the law holds, relative to the reduced radius.
const OVERLAP_MAX: f32 = 0.5;

struct Pairing {
    young_pa: f32,
    shear_pa: f32,
    radius: f32,
    mass: f32,
    friction: f32,
    rolling_friction: f32,
}

struct Meeting {
    overlap: f32,
    normal: vec3<f32>,
    velocity: vec3<f32>,
    turn: vec3<f32>,
    arm: vec3<f32>,
    partner_arm: vec3<f32>,
}

struct Memory {
    shear: vec3<f32>,
    rolling: vec3<f32>,
    contact: f32,
}

struct Load {
    force: vec3<f32>,
    rolling: vec3<f32>,
}

struct Spring {
    stiffness: f32,
    damping: f32,
    limit: f32,
}

// Elastic and total force.
struct Pull {
    elastic: vec3<f32>,
    total: vec3<f32>,
}

fn mass_of(radius: f32) -> f32 {
    return 4.1887902 * radius * radius * radius * model.density;
}

fn pairing_of_grains(radius: f32, other: f32) -> Pairing {
    let mass = mass_of(radius);
    let other_mass = mass_of(other);
    return Pairing(
        0.5 * model.young_pa,
        0.5 * model.shear_pa,
        radius * other / (radius + other),
        mass * other_mass / (mass + other_mass),
        model.friction,
        min(model.rolling_friction, model.friction),
    );
}

fn pairing_with_rigid(radius: f32, friction: f32) -> Pairing {
    let rolling_friction = min(model.rolling_friction, friction);
    return Pairing(model.young_pa, model.shear_pa, radius, mass_of(radius), friction, rolling_friction);
}

fn cut(force: vec3<f32>, limit: f32) -> vec3<f32> {
    let size = length_of(force);
    if size > limit {
        return force * (limit / size);
    }
    return force;
}

fn pull(spring: Spring, before: vec3<f32>, rate: vec3<f32>, substep_s: f32) -> Pull {
    let elastic = cut(before - rate * (spring.stiffness * substep_s), spring.limit);
    return Pull(elastic, cut(elastic - rate * spring.damping, spring.limit));
}

// Turns a tangential vector into the plane of the new normal, keeping its length.
fn flattened(before: vec3<f32>, normal: vec3<f32>) -> vec3<f32> {
    let flat = before - normal * dot(before, normal);
    let size = length_of(flat);
    if size == 0.0 {
        return vec3<f32>(0.0);
    }
    return flat * (length_of(before) / size);
}

fn damped(pairing: Pairing, stiffness: f32) -> f32 {
    return model.damping * sqrt(stiffness * pairing.mass);
}

fn respond(pairing: Pairing, meeting: Meeting, memory: ptr<function, Memory>, substep_s: f32) -> Load {
    let normal = meeting.normal;
    let contact = sqrt(pairing.radius * meeting.overlap);
    let pressing = 2.0 * pairing.young_pa * contact;
    let approach = dot(meeting.velocity, normal);
    let press = 2.0 / 3.0 * pressing * meeting.overlap - damped(pairing, pressing) * approach;
    let bears = max(press, 0.0);
    let shearing = 8.0 * pairing.shear_pa * contact;
    let square = pairing.radius * pairing.radius;
    let shear = Spring(shearing, damped(pairing, shearing), pairing.friction * bears);
    let limit = pairing.rolling_friction * pairing.radius * bears;
    let rolling = Spring(shearing * square, shear.damping * square, limit);
    var kept = 1.0;
    if contact < (*memory).contact {
        kept = contact / (*memory).contact;
    }
    let sliding = meeting.velocity - normal * approach;
    let turning = meeting.turn - normal * dot(meeting.turn, normal);
    let drag = pull(shear, flattened((*memory).shear, normal) * kept, sliding, substep_s);
    let brake = pull(rolling, flattened((*memory).rolling, normal) * kept, turning, substep_s);
    *memory = Memory(drag.elastic, brake.elastic, contact);
    return Load(normal * press + drag.total, brake.total);
}

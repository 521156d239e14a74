// Things that move while an image is taken: the twin of motion.rs.

// The share of the span at which everything is looked at.
var<private> shutter: f32 = 0.0;

// A vector turned about a unit axis (Rodrigues).
fn turned(v: vec3<f32>, axis: vec3<f32>, angle: f32) -> vec3<f32> {
    return v * cos(angle) + cross(axis, v) * sin(angle) + axis * (dot(axis, v) * (1.0 - cos(angle)));
}

// A ray as the moving thing sees it from where it started.
fn moved_back(motion: Motion, ray: Ray) -> Ray {
    let angle = -shutter * motion.angle;
    let from_centre = ray.origin - motion.centre - motion.shift * shutter;
    return Ray(motion.centre + turned(from_centre, motion.axis, angle), turned(ray.direction, motion.axis, angle));
}

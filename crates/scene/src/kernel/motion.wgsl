// Motion of instances and cameras during an image: the twin of motion.rs.

// Share of the time span at which the scene is traced.
var<private> shutter: f32 = 0.0;

// A vector rotated by an angle, rad, about a unit axis (Rodrigues).
fn turned(v: vec3<f32>, axis: vec3<f32>, angle: f32) -> vec3<f32> {
    return v * cos(angle) + cross(axis, v) * sin(angle) + axis * (dot(axis, v) * (1.0 - cos(angle)));
}

// The ray relative to a moving body, moved back to the body's start pose.
fn moved_back(motion: Motion, ray: Ray) -> Ray {
    let angle = -shutter * motion.angle;
    let from_centre = ray.origin - motion.centre - motion.shift * shutter;
    return Ray(motion.centre + turned(from_centre, motion.axis, angle), turned(ray.direction, motion.axis, angle));
}

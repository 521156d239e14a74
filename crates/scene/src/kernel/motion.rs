//! Things that move while an image is taken. Each sample of a pixel has its own share of
//! the span, `Records::shutter`; a ray meets a moving instance where it would meet the
//! resting one if the ray were moved back.

use nalgebra::Vector3;

use super::Ray;
use crate::record::MotionRecord;

/// A vector turned about a unit axis (Rodrigues).
#[must_use]
pub fn turned(v: &Vector3<f32>, axis: [f32; 3], angle: f32) -> Vector3<f32> {
    let axis = Vector3::from(axis);
    let (sin, cos) = angle.sin_cos();
    v * cos + axis.cross(v) * sin + axis * (axis.dot(v) * (1.0 - cos))
}

/// A ray as the moving thing sees it from where it started.
#[must_use]
pub fn moved_back(motion: &MotionRecord, share: f32, ray: &Ray) -> Ray {
    let centre = Vector3::from(motion.centre);
    let angle = -share * motion.angle;
    let from_centre = ray.origin - centre - Vector3::from(motion.shift) * share;
    Ray {
        origin: centre + turned(&from_centre, motion.axis, angle),
        direction: turned(&ray.direction, motion.axis, angle),
    }
}

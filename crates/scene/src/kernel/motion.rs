//! Motion of instances and cameras during an image. Each sample of a pixel has its own share of the time span,
//! `Records::shutter`. A ray meets a moving instance where it would meet the instance at its start pose if the ray were
//! moved back.

use nalgebra::Vector3;

use super::Ray;
use crate::record::MotionRecord;

/// A vector rotated by `angle`, rad, about a unit axis (Rodrigues).
#[must_use]
pub fn turned(v: &Vector3<f32>, axis: [f32; 3], angle: f32) -> Vector3<f32> {
    let axis = Vector3::from(axis);
    let (sin, cos) = angle.sin_cos();
    v * cos + axis.cross(v) * sin + axis * (axis.dot(v) * (1.0 - cos))
}

/// The ray relative to a moving body, moved back to the body's start pose.
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

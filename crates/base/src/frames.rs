//! Frames and rigid motion. Names say the direction: `world_from_wheel * p_wheel`
//! gives the point in the world. Axes follow REP-103 (x forward, y left, z up;
//! `_optical` frames z forward, x right, y down), frame names REP-105.

use nalgebra::{Isometry3, Quaternion, UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};

/// A rigid transform, metres.
pub type Pose = Isometry3<f64>;

/// The site-fixed frame: x east, y north, z up, origin at the site's anchor.
pub const MAP: &str = "map";
/// The frame of odometry, fixed to the ground where odometry starts.
pub const ODOM: &str = "odom";
/// The rover's reference frame.
pub const BASE_LINK: &str = "base_link";

/// Linear velocity, in m/s, and angular velocity, in rad/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Twist {
    /// Linear velocity, m/s.
    pub linear: Vector3<f64>,
    /// Angular velocity, rad/s.
    pub angular: Vector3<f64>,
}

/// Force, in N, and torque, in N m.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wrench {
    /// Force, N.
    pub force: Vector3<f64>,
    /// Torque, N m.
    pub torque: Vector3<f64>,
}

impl Wrench {
    /// Adds `force` acting at `arm` from the wrench's reference point.
    #[inline]
    pub fn add_force_at(&mut self, force: Vector3<f64>, arm: Vector3<f64>) {
        self.force += force;
        self.torque += arm.cross(&force);
    }
}

/// The pose a `fraction` (0…1) of the way from `a` to `b`: the position is linear, the attitude
/// follows the shorter great arc.
#[must_use]
pub fn interpolate(a: &Pose, b: &Pose, fraction: f64) -> Pose {
    let translation = a.translation.vector.lerp(&b.translation.vector, fraction);
    let rotation = a.rotation.try_slerp(&b.rotation, fraction, 1e-12).unwrap_or(b.rotation);
    Pose::from_parts(translation.into(), rotation)
}

/// Rotation from optical axes (z forward) to the axes of the body (x forward):
/// `body_from_optical * (0, 0, 1) = (1, 0, 0)`.
#[must_use]
pub fn body_from_optical() -> UnitQuaternion<f64> {
    UnitQuaternion::new_unchecked(Quaternion::new(0.5, -0.5, 0.5, -0.5))
}

/// Heading of a pose about the vertical, rad, zero along map x (east),
/// counter-clockwise positive.
#[must_use]
pub fn yaw_rad(pose: &Pose) -> f64 {
    let forward = pose.rotation * Vector3::x();
    forward.y.atan2(forward.x)
}

#[cfg(test)]
mod tests {
    use super::{Pose, Wrench, body_from_optical, interpolate, yaw_rad};
    use nalgebra::{UnitQuaternion, Vector3};

    #[test]
    fn optical_z_is_forward_x_right_and_y_down() {
        let q = body_from_optical();
        assert!((q * Vector3::z() - Vector3::x()).norm() < 1e-15);
        assert!((q * Vector3::x() + Vector3::y()).norm() < 1e-15);
        assert!((q * Vector3::y() + Vector3::z()).norm() < 1e-15);
    }

    #[test]
    fn halfway_between_two_headings_is_the_mean_heading() {
        let turned = |yaw| Pose::from_parts(Vector3::x().into(), UnitQuaternion::from_euler_angles(0.0, 0.0, yaw));
        let mid = interpolate(&turned(0.2), &turned(0.6), 0.5);
        assert!((yaw_rad(&mid) - 0.4).abs() < 1e-12);
    }

    #[test]
    fn a_force_ahead_of_the_reference_point_pitches_it_up() {
        let mut wrench = Wrench::default();
        wrench.add_force_at(Vector3::z() * 10.0, Vector3::x() * 0.5);
        assert_eq!(wrench.torque, Vector3::new(0.0, -5.0, 0.0));
    }
}

//! Mounting of sensors that have no link of their own, so that another sensor needs no change of the rover's URDF. The
//! scenario gives the sensor a frame that is fixed to the link that carries it.
//!
//! - A camera is at one point of the link and looks at another; this also makes a camera on a wheel, or one that flies
//!   along and shows the rover from outside. Its frame is `<name>_optical`.
//! - Any other sensor has a position and an attitude on the link. Its frame is `<name>_frame`.

use garde::Validate;
use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use schemars::JsonSchema;
use selene_base::Pose;
use selene_base::input::within;
use serde::Deserialize;

/// The largest magnitude of a coordinate of a mounting point in the link's frame, m.
const REACH_MAX_M: f64 = 100.0;
/// The least distance between a camera's `at_m` and `look_at_m`, m.
const APART_MIN_M: f64 = 1e-3;
/// Sine of the angle to the link's z axis below which a camera looks straight up or down.
const UPRIGHT_SINE: f64 = 1e-6;

/// Where a camera is on a link and the point it looks at, both in the link's frame, m. The upper edge of the image is
/// toward the link's z axis, or toward its x axis where the camera looks straight up or down.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct MountSpec {
    /// Position of the entrance pupil, −100 to 100 m along each axis.
    #[garde(custom(in_reach))]
    pub at_m: [f64; 3],
    /// The point in the middle of its image, −100 to 100 m along each axis.
    #[garde(custom(in_reach), custom(apart_from(&self.at_m)))]
    pub look_at_m: [f64; 3],
}

impl MountSpec {
    /// Pose of the optical frame (z forward, x right, y down) in the link's.
    #[must_use]
    pub fn link_from_optical(&self) -> Pose {
        let at_m = Vector3::from(self.at_m);
        let forward = (Vector3::from(self.look_at_m) - at_m).normalize();
        let upright = forward.cross(&Vector3::z()).norm() > UPRIGHT_SINE;
        let up = if upright { Vector3::z() } else { Vector3::x() };
        let right = forward.cross(&up).normalize();
        let rotation = Rotation3::from_basis_unchecked(&[right, forward.cross(&right), forward]);
        Pose::from_parts(at_m.into(), UnitQuaternion::from_rotation_matrix(&rotation))
    }
}

/// Position and attitude on a link of a sensor that is not a camera.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct PlacementSpec {
    /// Its position in the link's frame, −100 to 100 m along each axis.
    #[garde(custom(in_reach))]
    pub at_m: [f64; 3],
    /// Its attitude as in a URDF: rotations about the link's x, then y, then z axis, −360° to 360° each. Left out,
    /// that of the link.
    #[serde(default)]
    #[garde(custom(turned))]
    pub rpy_deg: [f64; 3],
}

impl PlacementSpec {
    /// Pose of the sensor's frame in the link's.
    #[must_use]
    pub fn link_from_frame(&self) -> Pose {
        let [roll, pitch, yaw] = self.rpy_deg.map(f64::to_radians);
        Pose::from_parts(self.at_m.into(), UnitQuaternion::from_euler_angles(roll, pitch, yaw))
    }
}

/// A garde check: angles of −360° to 360°.
fn turned(angles_deg: &[f64; 3], (): &()) -> garde::Result {
    angles_deg.iter().try_for_each(|deg| within(-360.0, 360.0)(deg, &()))
}

/// A garde check: coordinates within `REACH_MAX_M`.
fn in_reach(place_m: &[f64; 3], (): &()) -> garde::Result {
    place_m.iter().try_for_each(|m| within(-REACH_MAX_M, REACH_MAX_M)(m, &()))
}

fn apart_from(at_m: &[f64; 3]) -> impl FnOnce(&[f64; 3], &()) -> garde::Result {
    let at_m = Vector3::from(*at_m);
    move |look_at_m, ()| {
        if (Vector3::from(*look_at_m) - at_m).norm() < APART_MIN_M {
            let what = format!("value {look_at_m:?} is not allowed: must be {APART_MIN_M} m or more from at_m");
            return Err(garde::Error::new(what));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MountSpec, PlacementSpec};
    use nalgebra::{Point3, Vector3};

    /// Rounding of unit vectors.
    const TOLERANCE: f64 = 1e-12;

    #[test]
    fn what_it_looks_at_is_straight_ahead_and_the_horizon_level() {
        let mount = MountSpec { at_m: [-3.0, 2.0, 1.5], look_at_m: [0.5, -0.5, 0.0] };
        let optical_from_link = mount.link_from_optical().inverse();
        let seen = optical_from_link * Point3::from(mount.look_at_m);
        assert!(seen.x.abs() < TOLERANCE && seen.y.abs() < TOLERANCE && seen.z > 4.0);
        let up = optical_from_link * Vector3::z();
        assert!(up.x.abs() < TOLERANCE && up.y < 0.0, "up is not up in the image: {up}");
    }

    #[test]
    fn from_straight_above_the_links_x_axis_points_up_in_the_image() {
        let mount = MountSpec { at_m: [1.0, 2.0, 5.0], look_at_m: [1.0, 2.0, 0.0] };
        let ahead = mount.link_from_optical().inverse() * Vector3::x();
        assert!((ahead + Vector3::y()).norm() < TOLERANCE, "{ahead}");
    }

    #[test]
    fn a_placement_turns_about_x_first_as_a_urdf_does() {
        let placement = PlacementSpec { at_m: [1.0, 2.0, 3.0], rpy_deg: [90.0, 0.0, 90.0] };
        let frame = placement.link_from_frame();
        // The roll turns its z axis to −y and the yaw turns that to x.
        assert!((frame * Vector3::z() - Vector3::x()).norm() < TOLERANCE);
        assert!((frame * Point3::origin() - Point3::new(1.0, 2.0, 3.0)).norm() < TOLERANCE);
    }
}

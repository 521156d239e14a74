//! The prints of a wheel's grousers: the phase at which a post lies between two of them. A post that
//! is pressed at an angle α ahead of the wheel's lowest line, when the wheel has turned by θ, has the
//! phase n (θ + α) for n grousers. While the wheel rolls without slip, α falls as θ grows, so the phase
//! stays the same. Slip changes it: the last step that presses the post decides.

use nalgebra::Vector3;
use selene_terrain::Print;

use crate::trace::Trace;
use crate::wheel::{WheelMotion, WheelShape, slip_ratio};

/// A wheel that has turned by `turned_rad`, in one step. Few steps print: what prints need is computed for these
/// (`prints`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tread<'a> {
    pub(crate) wheel: &'a WheelShape,
    pub(crate) motion: &'a WheelMotion,
    pub(crate) turned_rad: f64,
}

/// The prints that a wheel leaves on the posts under it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prints {
    centre_m: Vector3<f64>,
    axle: Vector3<f64>,
    /// Length of the axle's horizontal part.
    level: f64,
    radius_m: f64,
    heading_rad: f64,
    grousers: f64,
    turned_rad: f64,
    /// Distance between two grousers' prints, m; zero without grousers.
    pitch_m: f64,
}

impl Tread<'_> {
    /// Prints of the wheel where its cylinder with a radius of `radius_m` touches.
    pub(crate) fn prints(&self, radius_m: f64) -> Prints {
        let Self { wheel, motion, turned_rad } = *self;
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let ahead = Vector3::new(axle.y, -axle.x, 0.0).try_normalize(1e-9).unwrap_or_default();
        let rim_m_s = motion.angular_rad_s.dot(&axle) * wheel.radius_m;
        let slip = slip_ratio(motion.linear_m_s.dot(&ahead), rim_m_s).clamp(-1.0, 1.0);
        Prints {
            centre_m: motion.world_from_wheel.translation.vector,
            axle,
            level: axle.x.hypot(axle.y),
            radius_m,
            heading_rad: (-axle.x).atan2(axle.y),
            grousers: f64::from(wheel.grousers),
            turned_rad,
            pitch_m: Trace::pitch_m(wheel, slip),
        }
    }
}

impl Prints {
    /// The print on a post that the wheel touches at `point_m`.
    pub(crate) fn at(&self, point_m: &Vector3<f64>) -> Print {
        let arm_m = point_m - self.centre_m;
        let ahead_m = (arm_m.x * self.axle.y - arm_m.y * self.axle.x) / self.level;
        let ahead_rad = (ahead_m / self.radius_m).clamp(-1.0, 1.0).asin();
        Print::of_grousers(self.heading_rad, self.grousers * (self.turned_rad + ahead_rad), self.pitch_m)
    }
}

#[cfg(test)]
mod tests {
    use super::Tread;
    use crate::wheel::{WheelMotion, WheelShape};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::Pose;
    use selene_terrain::Print;
    use std::f64::consts::{FRAC_PI_2, TAU};

    const WHEEL: WheelShape = WheelShape { grouser_height_m: 0.01, grousers: 24, ..WheelShape::plain(0.25, 0.2) };

    /// Rolling ahead at 0.1 m/s with a slip.
    fn rolling(yaw_rad: f64, slip: f64) -> WheelMotion {
        let rotation = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        WheelMotion {
            world_from_wheel: Pose::from_parts([3.0, -2.0, 0.24].into(), rotation),
            linear_m_s: rotation * Vector3::x() * 0.1,
            angular_rad_s: rotation * Vector3::y() * (0.1 / (1.0 - slip) / WHEEL.radius_m),
        }
    }

    fn print(motion: &WheelMotion, turned_rad: f64, ahead_m: f64) -> Print {
        let rotation = motion.world_from_wheel.rotation;
        let arm_m = rotation * Vector3::new(ahead_m, 0.05, -0.24);
        let prints = Tread { wheel: &WHEEL, motion, turned_rad }.prints(WHEEL.radius_m);
        prints.at(&(motion.world_from_wheel.translation.vector + arm_m))
    }

    #[test]
    fn a_post_keeps_its_print_while_a_wheel_rolls_over_it() {
        for yaw_rad in [0.0, 1.1, -2.5] {
            let motion = rolling(yaw_rad, 0.0);
            // A sixteenth of a pitch ahead of a print's middle, in steps that rounding cannot move.
            let phase_rad = TAU / 16.0;
            for ahead_rad in [0.0_f64, 0.02, 0.11] {
                let at = print(&motion, phase_rad / 24.0 - ahead_rad, WHEEL.radius_m * ahead_rad.sin());
                assert_eq!(at, Print::of_grousers(yaw_rad, phase_rad, TAU * 0.25 / 24.0), "{yaw_rad} {ahead_rad}");
            }
        }
    }

    #[test]
    fn slip_brings_prints_nearer_and_spinning_leaves_none() {
        let at = |slip| print(&rolling(FRAC_PI_2, slip), 0.0, 0.0);
        assert_eq!(at(0.0), Print::of_grousers(FRAC_PI_2, 0.0, 0.0654));
        assert_eq!(at(0.5), Print::of_grousers(FRAC_PI_2, 0.0, 0.0327));
        assert_eq!(at(0.95), Print::SMOOTH);
        let print = |wheel: &WheelShape, motion: &WheelMotion| {
            Tread { wheel, motion, turned_rad: 1.0 }.prints(0.25).at(&Vector3::new(3.0, -2.0, 0.0))
        };
        assert_eq!(print(&WheelShape::plain(0.25, 0.2), &rolling(0.0, 0.0)), Print::SMOOTH);
        // On its side it has no heading.
        let lying = Pose::from_parts([3.0, -2.0, 0.1].into(), UnitQuaternion::from_euler_angles(FRAC_PI_2, 0.0, 0.0));
        let upright = rolling(0.0, 0.0);
        assert_eq!(print(&WHEEL, &WheelMotion { world_from_wheel: lying, ..upright }), Print::SMOOTH);
    }
}

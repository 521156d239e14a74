//! The prints of a wheel's grousers: the phase at which a post lies between two of them. A post that
//! is pressed at an angle α ahead of the wheel's lowest line, when the wheel has turned by θ, has the
//! phase n (θ + α) for n grousers. While the wheel rolls without slip, α falls as θ grows, so the phase
//! stays the same. Slip changes it: the last step that presses the post decides.

use nalgebra::Vector3;
use selene_terrain::Print;

use crate::trace::Trace;
use crate::wheel::{WheelMotion, WheelShape, slip_ratio};

/// The grousers of a wheel in one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tread {
    grousers: f64,
    /// Angle turned by the wheel, rad.
    turned_rad: f64,
    /// Distance between two grousers' prints, m; zero without grousers.
    pitch_m: f64,
}

impl Tread {
    /// No grousers.
    pub(crate) const SMOOTH: Self = Self { grousers: 0.0, turned_rad: 0.0, pitch_m: 0.0 };

    /// The grousers of a wheel with this motion that has turned by `turned_rad`.
    pub(crate) fn of(wheel: &WheelShape, motion: &WheelMotion, turned_rad: f64) -> Self {
        let axle = motion.world_from_wheel.rotation * Vector3::y();
        let ahead = Vector3::new(axle.y, -axle.x, 0.0).try_normalize(1e-9).unwrap_or_default();
        let rim_m_s = motion.angular_rad_s.dot(&axle) * wheel.radius_m;
        let slip = slip_ratio(motion.linear_m_s.dot(&ahead), rim_m_s).clamp(-1.0, 1.0);
        Self { grousers: f64::from(wheel.grousers), turned_rad, pitch_m: Trace::pitch_m(wheel, slip) }
    }

    /// The print on a post that is `arm_m` from the centre of a wheel.
    pub(crate) fn print(&self, axle: &Vector3<f64>, arm_m: &Vector3<f64>, radius_m: f64) -> Print {
        let ahead_m = (arm_m.x * axle.y - arm_m.y * axle.x) / axle.x.hypot(axle.y);
        let ahead_rad = (ahead_m / radius_m).clamp(-1.0, 1.0).asin();
        let heading_rad = (-axle.x).atan2(axle.y);
        Print::of_grousers(heading_rad, self.grousers * (self.turned_rad + ahead_rad), self.pitch_m)
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

    const WHEEL: WheelShape =
        WheelShape { radius_m: 0.25, width_m: 0.2, grouser_height_m: 0.01, grousers: 24, grip: 1.0, tyre: None };

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
        Tread::of(&WHEEL, motion, turned_rad).print(&(rotation * Vector3::y()), &arm_m, WHEEL.radius_m)
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
        let plain = Tread::of(&WheelShape::plain(0.25, 0.2), &rolling(0.0, 0.0), 1.0);
        assert_eq!(plain.print(&Vector3::y(), &Vector3::zeros(), 0.25), Print::SMOOTH);
        // On its side it has no heading.
        assert_eq!(Tread::SMOOTH.print(&Vector3::z(), &Vector3::zeros(), 0.25), Print::SMOOTH);
    }
}

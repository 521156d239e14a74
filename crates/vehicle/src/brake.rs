//! A wheel's parking brake: applied when the wheel's target is rest and it nearly stands,
//! released when it is commanded to turn. While it is applied the motor is off. It holds the
//! wheel at its angle by a spring and damper up to the brake's torque, and slips beyond.

use serde::{Deserialize, Serialize};

use crate::spec::DriveSpec;
use crate::spring::Spring;

/// Share of the no-load speed below which the brake is applied when the target is rest.
const STANDING: f64 = 5e-3;
/// Elastic angle of the brake at its full torque, rad: 0.25 mm at a rim of 0.25 m.
const GIVE_RAD: f64 = 1e-3;
/// The brake's damping over its stiffness, s: it settles without ringing.
const DAMPING_S: f64 = 5e-3;

/// Whether a brake is applied, and where it holds the wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Brake {
    rest_rad: Option<f64>,
}

impl Brake {
    /// What the brake does to a wheel that should turn at `target_rad_s`, and is at
    /// `angle_rad` turning at `speed_rad_s`; `None` while it is off.
    pub(crate) fn hold(
        &mut self,
        drive: &DriveSpec,
        target_rad_s: f64,
        angle_rad: f64,
        speed_rad_s: f64,
    ) -> Option<Spring> {
        let most = drive.brake_torque_nm();
        let stands = speed_rad_s.abs() < STANDING * drive.no_load_speed_rad_s;
        if target_rad_s != 0.0 || most == 0.0 || (self.rest_rad.is_none() && !stands) {
            self.rest_rad = None;
            return None;
        }
        let held = self.rest_rad.unwrap_or(angle_rad);
        let rest = angle_rad + (held - angle_rad).clamp(-GIVE_RAD, GIVE_RAD);
        self.rest_rad = Some(rest);
        let stiffness = most / GIVE_RAD;
        Some(Spring { stiffness, damping: stiffness * DAMPING_S, rest, most, ..Spring::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Brake, GIVE_RAD};
    use crate::spec::DriveSpec;

    fn drive() -> DriveSpec {
        let yaml = "{stall_torque_nm: 300, no_load_speed_rad_s: 3, velocity_gain_nm_s: 5000, brake_torque_nm: 100}";
        selene_base::input::parse_yaml(yaml, std::path::Path::new("x.yaml")).expect("good")
    }

    #[test]
    fn a_standing_wheel_is_held_until_it_should_turn() {
        let mut brake = Brake::default();
        assert!(brake.hold(&drive(), 0.0, 1.0, 0.1).is_none(), "still turning");
        assert_eq!(brake.hold(&drive(), 0.0, 1.0, 1e-4).map(|spring| spring.rest), Some(1.0));
        assert_eq!(brake.hold(&drive(), 0.0, 1.0 + 0.5 * GIVE_RAD, 0.1).map(|spring| spring.rest), Some(1.0));
        assert!(brake.hold(&drive(), 0.2, 1.0, 0.0).is_none());
    }

    #[test]
    fn beyond_its_torque_it_slips_and_holds_where_it_came_to() {
        let mut brake = Brake::default();
        brake.hold(&drive(), 0.0, 1.0, 0.0);
        let spring = brake.hold(&drive(), 0.0, 2.0, 0.0).expect("applied");
        assert!((spring.rest - (2.0 - GIVE_RAD)).abs() < 1e-12);
        assert!((spring.stiffness * GIVE_RAD - 100.0).abs() < 1e-9 && spring.most == 100.0);
    }
}

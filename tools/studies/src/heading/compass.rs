//! The vertical from an inertial unit, and the heading from the Sun.

use nalgebra::Vector3;
use selene_base::SimTime;

/// Time constant of the filter, s: a rover's sway is faster, its change of tilt on the ground slower.
const SMOOTHED_S: f64 = 1.0;

/// The vertical in a unit's axes: a complementary filter of turn rate and specific force.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gravity {
    last: Option<(SimTime, Vector3<f64>)>,
}

impl Gravity {
    /// Adds a reading, rad/s and m/s². A force of zero carries no information.
    pub fn take(&mut self, stamp: SimTime, rate: Vector3<f64>, force: Vector3<f64>) {
        let Some(felt) = force.try_normalize(f64::MIN_POSITIVE) else { return };
        let up = self.last.map_or(felt, |(before, up)| {
            let span_s = (stamp - before).secs_f64();
            // A fixed direction turns backwards in the axes of a body that turns.
            let turned = up - rate.cross(&up) * span_s;
            (turned + (felt - turned) * (span_s / SMOOTHED_S).min(1.0)).normalize()
        });
        self.last = Some((stamp, up));
    }

    /// Unit vector upwards in the unit's axes; `None` before the first reading.
    #[must_use]
    pub fn up(&self) -> Option<Vector3<f64>> {
        self.last.map(|(_, up)| up)
    }
}

/// Direction of a body's x axis in the horizontal plane, counter-clockwise from east, rad, from the Sun and the
/// vertical in the body's axes and the Sun in east, north, up.
#[must_use]
pub fn heading_rad(sun_in_body: Vector3<f64>, up_in_body: Vector3<f64>, sun_enu: Vector3<f64>) -> f64 {
    let forward = Vector3::x() - up_in_body * up_in_body.x;
    let left = up_in_body.cross(&forward);
    sun_enu.y.atan2(sun_enu.x) - sun_in_body.dot(&left).atan2(sun_in_body.dot(&forward))
}

#[cfg(test)]
mod tests {
    use super::{Gravity, heading_rad};
    use nalgebra::{UnitQuaternion, Vector3};
    use selene_base::SimTime;

    #[test]
    fn a_tilted_body_reads_its_heading_from_the_sun() {
        let sun = Vector3::new(0.3, -0.8, 0.2).normalize();
        for (roll, pitch, yaw) in [(0.0, 0.0, 0.4), (0.2, -0.1, 2.0), (-0.15, 0.3, -2.8)] {
            let enu_from_body = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
            let [sun_in_body, up] = [sun, Vector3::z()].map(|of| enu_from_body.inverse() * of);
            let error = heading_rad(sun_in_body, up, sun) - yaw;
            assert!(error.sin().abs() < 1e-12 && error.cos() > 0.0, "{yaw}: {error}");
        }
    }

    #[test]
    fn up_follows_a_turning_body_and_does_not_follow_its_sway() {
        let mut gravity = Gravity::default();
        let (step_s, rate) = (0.005, Vector3::new(0.1, 0.0, 0.0));
        for k in 0..2000 {
            let time_s = step_s * f64::from(k);
            let up = UnitQuaternion::new(rate * -time_s) * Vector3::z();
            let sway = Vector3::new(0.5 * (40.0 * time_s).sin(), 0.0, 0.0);
            gravity.take(SimTime::from_secs_f64(time_s), rate, up * 1.62 + sway);
            let off = gravity.up().expect("known").angle(&up);
            assert!(off < 0.02, "{off} at {time_s} s");
        }
    }
}

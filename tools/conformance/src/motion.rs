//! Checks of joint states, odometry, inertial units (REP-145) and position fixes.

use selene_ros::geometry_msgs::{Quaternion, Vector3};
use selene_ros::nav_msgs::Odometry;
use selene_ros::sensor_msgs::{Imu, JointState, NavSatFix, NavSatStatus};
use selene_ros::std_msgs::Header;

use crate::kind::Kind;
use crate::sample::{Sample, frame_fault, those};

/// Largest deviation of a quaternion's length from 1.
const LENGTH_MAX: f64 = 1e-6;

impl Sample for JointState {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { name, position, velocity, effort, .. } = self;
        let fault = |(what, values): (&str, &Vec<f64>)| {
            let fits = values.is_empty() || values.len() == name.len();
            let is_good = fits && values.iter().all(|value| value.is_finite());
            (!is_good, format!("{what}: {} values for {} names, all must be finite", values.len(), name.len()))
        };
        let mut faults = those([("position", position), ("velocity", velocity), ("effort", effort)].map(fault));
        faults.extend(those([(name.is_empty(), "no joints".to_owned())]));
        faults
    }

    fn names(&self) -> Vec<String> {
        self.name.clone()
    }
}

impl Sample for Odometry {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let (pose, twist) = (&self.pose.pose, &self.twist.twist);
        let place = [pose.position.x, pose.position.y, pose.position.z];
        let moves = [vector(&twist.linear), vector(&twist.angular)];
        let is_finite = place.iter().chain(moves.as_flattened()).all(|value| value.is_finite());
        those([
            frame_fault(&self.header),
            (self.child_frame_id.is_empty(), "no child_frame_id".to_owned()),
            (!is_finite, "numbers that are not finite".to_owned()),
            (!is_turn(&pose.orientation), format!("orientation {:?}", pose.orientation)),
        ])
    }

    fn names(&self) -> Vec<String> {
        vec![self.child_frame_id.clone()]
    }
}

impl Sample for Imu {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let values = [vector(&self.angular_velocity), vector(&self.linear_acceleration)];
        let no_attitude = self.orientation_covariance[0] == -1.0;
        let covariances = [
            ("orientation", &self.orientation_covariance),
            ("angular velocity", &self.angular_velocity_covariance),
            ("linear acceleration", &self.linear_acceleration_covariance),
        ];
        let mut faults = those([
            frame_fault(&self.header),
            (!values.as_flattened().iter().all(|value| value.is_finite()), "values that are not finite".to_owned()),
            (!no_attitude && !is_turn(&self.orientation), format!("orientation {:?}", self.orientation)),
        ]);
        let wrong = covariances.into_iter().filter(|(_, covariance)| !is_covariance(covariance));
        faults.extend(wrong.map(|(of, covariance)| format!("covariance of {of}: {covariance:?}")));
        faults
    }
}

impl Sample for NavSatFix {
    fn header(&self) -> &Header {
        &self.header
    }

    fn faults(&self, _: Kind) -> Vec<String> {
        let Self { latitude, longitude, altitude, status, position_covariance, .. } = self;
        let statuses = NavSatStatus::STATUS_UNKNOWN..=NavSatStatus::STATUS_GBAS_FIX;
        let is_fix = status.status >= NavSatStatus::STATUS_FIX;
        let is_place =
            (-90.0..=90.0).contains(latitude) && (-180.0..=180.0).contains(longitude) && altitude.is_finite();
        let is_known = self.position_covariance_type != Self::COVARIANCE_TYPE_UNKNOWN;
        let covariance = format!("covariance {position_covariance:?}");
        those([
            frame_fault(&self.header),
            (!statuses.contains(&status.status), format!("status {}", status.status)),
            (is_fix && !is_place, format!("latitude {latitude}, longitude {longitude}, altitude {altitude}")),
            (is_known && (position_covariance[0] < 0.0 || !is_covariance(position_covariance)), covariance),
            (self.position_covariance_type > Self::COVARIANCE_TYPE_KNOWN, "an unknown type of covariance".to_owned()),
        ])
    }
}

pub(crate) fn vector(of: &Vector3) -> [f64; 3] {
    [of.x, of.y, of.z]
}

/// Whether a quaternion is a rotation.
pub(crate) fn is_turn(of: &Quaternion) -> bool {
    // The comparison is false for values that are not finite.
    ((of.x.powi(2) + of.y.powi(2) + of.z.powi(2) + of.w.powi(2)).sqrt() - 1.0).abs() <= LENGTH_MAX
}

/// Whether a covariance is unknown (all zero), absent (the first value is -1), or symmetric without negative variances.
pub(crate) fn is_covariance(of: &[f64; 9]) -> bool {
    let is_symmetric = [(1, 3), (2, 6), (5, 7)].iter().all(|(i, j)| of[*i] == of[*j]);
    let is_positive = [of[0], of[4], of[8]].iter().all(|variance| *variance >= 0.0);
    of[0] == -1.0 || of.iter().all(|value| value.is_finite()) && is_symmetric && is_positive
}

#[cfg(test)]
mod tests {
    use super::{Imu, JointState, NavSatFix, NavSatStatus, Odometry};
    use crate::kind::Kind;
    use crate::sample::Sample;
    use selene_base::SimTime;
    use selene_ros::std_msgs::Header;

    fn header() -> Header {
        Header::new(SimTime::ZERO, "base_link")
    }

    fn reported<M: Sample>(mut message: M, change: impl FnOnce(&mut M)) -> String {
        change(&mut message);
        message.faults(Kind::Imu).join("; ")
    }

    fn joints() -> JointState {
        let name = vec!["a".to_owned(), "b".to_owned()];
        JointState { header: header(), name, position: vec![0.1, 0.2], velocity: vec![0.0; 2], effort: Vec::new() }
    }

    fn fix() -> NavSatFix {
        let status = NavSatStatus { status: NavSatStatus::STATUS_FIX, service: 0 };
        NavSatFix { header: header(), status, latitude: -89.5, longitude: 170.0, ..NavSatFix::default() }
    }

    #[test]
    fn joint_states_have_a_finite_value_for_each_name() {
        assert_eq!(reported(joints(), |_| {}), "");
        assert!(reported(joints(), |joints| _ = joints.position.pop()).contains("position: 1 values for 2"));
        assert!(reported(joints(), |joints| joints.velocity[1] = f64::NAN).contains("velocity"));
        assert!(
            reported(joints(), |joints| *joints = JointState { header: header(), ..JointState::default() })
                .contains("no joints")
        );
    }

    #[test]
    fn odometry_has_frames_and_a_turn() {
        let odometry = || Odometry { header: header(), child_frame_id: "base_link".to_owned(), ..Odometry::default() };
        assert_eq!(reported(odometry(), |_| {}), "");
        assert!(reported(odometry(), |odometry| odometry.child_frame_id.clear()).contains("child_frame_id"));
        assert!(reported(odometry(), |odometry| odometry.pose.pose.orientation.w = 0.5).contains("orientation"));
        assert!(reported(odometry(), |odometry| odometry.twist.twist.linear.x = f64::INFINITY).contains("finite"));
    }

    #[test]
    fn an_imu_s_covariances_are_unknown_none_or_a_matrix() {
        let imu = || Imu { header: header(), ..Imu::default() };
        assert_eq!(reported(imu(), |_| {}), "");
        assert_eq!(reported(imu(), |imu| (imu.orientation_covariance[0], imu.orientation.w) = (-1.0, 0.0)), "");
        assert!(reported(imu(), |imu| imu.orientation.w = 0.0).contains("orientation"));
        assert!(reported(imu(), |imu| imu.angular_velocity_covariance[4] = -2.0).contains("angular velocity"));
        assert!(reported(imu(), |imu| imu.linear_acceleration_covariance[1] = 0.1).contains("linear acceleration"));
        assert!(reported(imu(), |imu| imu.linear_acceleration.z = f64::NAN).contains("finite"));
    }

    #[test]
    fn a_fix_is_a_place_on_a_sphere() {
        assert_eq!(reported(fix(), |_| {}), "");
        assert!(reported(fix(), |fix| fix.latitude = 91.0).contains("latitude 91"));
        assert!(reported(fix(), |fix| fix.status.status = 7).contains("status 7"));
        let unknown = |fix: &mut NavSatFix| (fix.status.status, fix.latitude) = (NavSatStatus::STATUS_NO_FIX, f64::NAN);
        assert_eq!(reported(fix(), unknown), "");
        let negative = |fix: &mut NavSatFix| {
            fix.position_covariance_type = NavSatFix::COVARIANCE_TYPE_KNOWN;
            fix.position_covariance[0] = -1.0;
        };
        assert!(reported(fix(), negative).contains("covariance"));
    }
}

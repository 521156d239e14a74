//! Spatial algebra (Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 2): six
//! numbers for a motion (angular, then linear at the reference point) or a force
//! (torque about the reference point, then force). All of one calculation's
//! quantities share world axes and one reference point, so none needs transforming.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};
use selene_base::Wrench;

/// A motion or a force, angular part first.
pub(crate) type Spatial = Vector6<f64>;

#[inline(always)]
pub(crate) fn spatial(angular: &Vector3<f64>, linear: &Vector3<f64>) -> Spatial {
    Spatial::new(angular.x, angular.y, angular.z, linear.x, linear.y, linear.z)
}

#[inline(always)]
pub(crate) fn angular(s: &Spatial) -> Vector3<f64> {
    Vector3::new(s[0], s[1], s[2])
}

#[inline(always)]
pub(crate) fn linear(s: &Spatial) -> Vector3<f64> {
    Vector3::new(s[3], s[4], s[5])
}

/// Rate of change of `motion` that is carried along by `velocity`.
#[inline(always)]
pub(crate) fn cross_motion(velocity: &Spatial, motion: &Spatial) -> Spatial {
    let (w, v) = (angular(velocity), linear(velocity));
    let turned = angular(motion);
    spatial(&w.cross(&turned), &(w.cross(&linear(motion)) + v.cross(&turned)))
}

/// Rate of change of `force` that is carried along by `velocity`.
#[inline(always)]
pub(crate) fn cross_force(velocity: &Spatial, force: &Spatial) -> Spatial {
    let (w, v) = (angular(velocity), linear(velocity));
    let pushed = linear(force);
    spatial(&(w.cross(&angular(force)) + v.cross(&pushed)), &w.cross(&pushed))
}

/// The force of a wrench that is given about `arm` from the reference point.
#[inline(always)]
pub(crate) fn force_at(wrench: &Wrench, arm: &Vector3<f64>) -> Spatial {
    spatial(&(wrench.torque + arm.cross(&wrench.force)), &wrench.force)
}

/// Inertia of a mass with its centre at `com` from the reference point and moments
/// `about_com` in the same axes.
#[inline(always)]
pub(crate) fn inertia(mass_kg: f64, com: &Vector3<f64>, about_com: &Matrix3<f64>) -> Matrix6<f64> {
    let moments = about_com + parallel_axis(mass_kg, com);
    let (i, m, [x, y, z]) = (|row, column| moments[(row, column)], mass_kg, (com * mass_kg).into());
    #[rustfmt::skip]
    let inertia = Matrix6::new(
        i(0, 0), i(0, 1), i(0, 2), 0.0,     -z,      y,
        i(1, 0), i(1, 1), i(1, 2),   z,    0.0,     -x,
        i(2, 0), i(2, 1), i(2, 2),  -y,      x,    0.0,
        0.0,           z,      -y,   m,    0.0,    0.0,
        -z,          0.0,       x, 0.0,      m,    0.0,
        y,            -x,     0.0, 0.0,    0.0,      m,
    );
    inertia
}

/// Steiner's term of a mass at `arm`.
#[inline(always)]
pub(crate) fn parallel_axis(mass_kg: f64, arm: &Vector3<f64>) -> Matrix3<f64> {
    (Matrix3::identity() * arm.norm_squared() - arm * arm.transpose()) * mass_kg
}

#[cfg(test)]
mod tests {
    use super::{angular, cross_force, cross_motion, inertia, linear, spatial};
    use nalgebra::{Matrix3, Vector3};

    /// Sums of a few doubles of order 10.
    const ROUNDING: f64 = 1e-12;

    #[test]
    fn momentum_is_mass_times_the_centres_velocity_and_spin_about_it() {
        let (com, v, w) = (Vector3::new(0.3, -0.2, 0.5), Vector3::new(1.0, 2.0, -1.0), Vector3::new(0.4, 0.1, -0.7));
        let moments = Matrix3::from_diagonal(&Vector3::new(2.0, 3.0, 4.0));
        let momentum = inertia(5.0, &com, &moments) * spatial(&w, &v);
        let push = (v + w.cross(&com)) * 5.0;
        assert!((linear(&momentum) - push).norm() < ROUNDING);
        assert!((angular(&momentum) - (moments * w + com.cross(&push))).norm() < ROUNDING);
    }

    #[test]
    fn power_does_not_depend_on_the_frame_that_carries_motion_and_force() {
        let velocity = spatial(&Vector3::new(0.3, -0.8, 0.5), &Vector3::new(1.0, 0.2, -2.0));
        let motion = spatial(&Vector3::new(-1.0, 0.4, 0.9), &Vector3::new(0.7, -0.3, 0.1));
        let force = spatial(&Vector3::new(3.0, -2.0, 1.0), &Vector3::new(0.5, 4.0, -6.0));
        let change = cross_motion(&velocity, &motion).dot(&force) + motion.dot(&cross_force(&velocity, &force));
        assert!(change.abs() < ROUNDING);
    }
}

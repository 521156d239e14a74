//! A rover on a plane made of springs: each wheel's rim presses on it with a spring
//! and damper along the normal, and rubs with Coulomb friction that rises linearly
//! up to `REST_SLIP_M_S`. Enough to check the vehicle, not a soil.

use std::path::PathBuf;
use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_vehicle::{Forces, Rover, RoverModel, Targets, WheelMotion, WheelTargets, wheel_targets};

pub(crate) const MOON_M_S2: f64 = 1.62;
pub(crate) const STEP_S: f64 = 5e-4;
pub(crate) const FRICTION: f64 = 0.8;
pub(crate) const REST_SLIP_M_S: f64 = 0.005;
const STIFFNESS_N_M: f64 = 2e5;
const DAMPING_N_S_M: f64 = 4e3;

pub(crate) fn viper() -> Arc<RoverModel> {
    let yaml = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../config/rover/viper.yaml");
    Arc::new(RoverModel::load(&yaml).unwrap())
}

/// A rover on the plane z = 0; gravity may lean, which makes the plane a slope.
pub(crate) struct Drive {
    pub(crate) rover: Rover,
    pub(crate) step_s: f64,
    pub(crate) normal_n: Vec<f64>,
}

impl Drive {
    pub(crate) fn on_plane(gravity: Vector3<f64>, step_s: f64) -> Self {
        let model = viper();
        let start = Pose::translation(0.0, 0.0, model.base_height_m());
        Self { rover: Rover::new(&model, start, gravity, step_s).unwrap(), step_s, normal_n: Vec::new() }
    }

    pub(crate) fn on_slope(slope_rad: f64) -> Self {
        let down_hill = Vector3::new(-slope_rad.sin(), 0.0, -slope_rad.cos());
        Self::on_plane(down_hill * MOON_M_S2, STEP_S)
    }

    pub(crate) fn flat() -> Self {
        Self::on_slope(0.0)
    }

    pub(crate) fn run(&mut self, seconds: f64, targets: &WheelTargets) {
        let targets = Targets::from(targets.clone());
        for _ in 0..(seconds / self.step_s).round() as usize {
            let model = Arc::clone(self.rover.model());
            let motions = self.rover.wheel_motions();
            let soil: Vec<_> = motions.iter().zip(model.wheels()).map(|(m, w)| plane_on_wheel(m, w.radius_m)).collect();
            self.normal_n = soil.iter().map(|wrench| wrench.force.z).collect();
            self.rover.step(&targets, &Forces { soil_on_wheel: &soil, on_links: &[] });
        }
    }

    pub(crate) fn steer_and_run(&mut self, seconds: f64, speed_m_s: f64, turn_rate_rad_s: f64) {
        let held = self.rover.steer_angles_rad();
        let targets = wheel_targets(self.rover.model(), speed_m_s, turn_rate_rad_s, &held);
        self.run(seconds, &targets);
    }
}

fn plane_on_wheel(motion: &WheelMotion, radius_m: f64) -> Wrench {
    let axle = motion.world_from_wheel.rotation * Vector3::y();
    let down = (axle * axle.z - Vector3::z()).normalize();
    let arm = down * radius_m;
    let velocity = motion.linear + motion.angular.cross(&arm);
    let depth_m = -(motion.world_from_wheel.translation.vector.z + arm.z);
    let normal_n = if depth_m > 0.0 { (STIFFNESS_N_M * depth_m - DAMPING_N_S_M * velocity.z).max(0.0) } else { 0.0 };
    let slip = Vector3::new(velocity.x, velocity.y, 0.0);
    let friction = -slip * (FRICTION * normal_n / slip.norm().max(REST_SLIP_M_S));
    let mut wrench = Wrench::default();
    wrench.add_force_at(friction + Vector3::z() * normal_n, arm);
    wrench
}

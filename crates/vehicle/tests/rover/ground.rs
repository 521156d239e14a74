//! A rover on a plane made of springs: each wheel's rim presses on it with a spring
//! and damper along the normal, and rubs with Coulomb friction that rises linearly
//! up to `REST_SLIP_M_S`. Enough to check the vehicle, not a soil.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_vehicle::{BodyTwist, Forces, Rover, RoverModel, Targets, WheelKinematics, WheelTargets, wheel_targets};

pub(crate) const MOON_M_S2: f64 = 1.62;
pub(crate) const STEP_S: f64 = 5e-4;
pub(crate) const FRICTION: f64 = 0.8;
pub(crate) const REST_SLIP_M_S: f64 = 0.005;
/// Stiffness and damping of the ground under a wheel per kilogram of rover: 2e5 N/m and 4e3 N s/m for VIPER.
const STIFFNESS_N_M_KG: f64 = 451.6;
const DAMPING_N_S_M_KG: f64 = 9.032;

pub(crate) fn rover_model(name: &str) -> Arc<RoverModel> {
    let yaml = repository().join(format!("config/rover/{name}.yaml"));
    Arc::new(RoverModel::load(&yaml).unwrap_or_else(|e| panic!("{e}")))
}

/// A rover of config/rover with `from` replaced by `to` in its YAML.
pub(crate) fn rover_with(name: &str, from: &str, to: &str) -> Arc<RoverModel> {
    let yaml = shipped(&format!("config/rover/{name}.yaml"));
    assert!(yaml.contains(from), "{from}");
    let urdfs = repository().join("urdf").canonicalize().unwrap();
    let file = Temporary::holding("yaml", &yaml.replacen(from, to, 1).replace("../../urdf", urdfs.to_str().unwrap()));
    Arc::new(RoverModel::load(&file.0).unwrap_or_else(|e| panic!("{e}")))
}

/// The text of a file of the repository.
pub(crate) fn shipped(file: &str) -> String {
    std::fs::read_to_string(repository().join(file)).unwrap()
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file that is removed when its test ends.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    pub(crate) fn holding(extension: &str, text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("selene-rover-{}-{count}.{extension}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        Self(file)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) fn viper() -> Arc<RoverModel> {
    rover_model("viper")
}

/// A rover on the plane z = 0; gravity may lean, which makes the plane a slope.
pub(crate) struct Drive {
    pub(crate) rover: Rover,
    pub(crate) step_s: f64,
    /// Height of the ground under each wheel.
    pub(crate) ground_m: Vec<f64>,
    pub(crate) normal_n: Vec<f64>,
    /// Work that the ground did on the rover so far, J.
    pub(crate) ground_work_j: f64,
}

impl Drive {
    pub(crate) fn of(model: &Arc<RoverModel>, gravity: Vector3<f64>, step_s: f64) -> Self {
        let start = Pose::translation(0.0, 0.0, model.base_height_m());
        let rover = Rover::new(model, start, gravity, step_s).unwrap();
        let ground_m = vec![0.0; model.wheels().len()];
        Self { rover, step_s, ground_m, normal_n: Vec::new(), ground_work_j: 0.0 }
    }

    pub(crate) fn on_plane(gravity: Vector3<f64>, step_s: f64) -> Self {
        Self::of(&viper(), gravity, step_s)
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
        (0..(seconds / self.step_s).round() as usize).for_each(|_| self.step(&targets));
    }

    pub(crate) fn step(&mut self, targets: &Targets) {
        let model = Arc::clone(self.rover.model());
        let wheels = self.rover.wheel_motions().into_iter().zip(model.wheels()).zip(&self.ground_m);
        let kg = model.mass_kg();
        let soil: Vec<_> = wheels.map(|((m, w), ground_m)| plane_on_wheel(&m, w.radius_m, *ground_m, kg)).collect();
        self.normal_n = soil.iter().map(|wrench| wrench.force.z).collect();
        let before = self.rover.wheel_motions();
        self.rover.step(targets, &Forces { soil_on_wheel: &soil, on_links: &[] });
        let moved =
            before.iter().zip(self.rover.wheel_motions()).map(|(a, b)| (a.linear + b.linear, a.angular + b.angular));
        let power: f64 = soil.iter().zip(moved).map(|(f, (v, w))| (f.force.dot(&v) + f.torque.dot(&w)) / 2.0).sum();
        self.ground_work_j += power * self.step_s;
    }

    pub(crate) fn steer_and_run(&mut self, seconds: f64, speed_m_s: f64, turn_rate_rad_s: f64) {
        let held = self.rover.steer_angles_rad();
        let targets = wheel_targets(self.rover.model(), &BodyTwist::arc(speed_m_s, turn_rate_rad_s), &held);
        self.run(seconds, &targets);
    }
}

/// From a wheel's centre to its lowest point.
pub(crate) fn to_lowest_point(world_from_wheel: &Pose, radius_m: f64) -> Vector3<f64> {
    let axle = world_from_wheel.rotation * Vector3::y();
    (axle * axle.z - Vector3::z()).normalize() * radius_m
}

fn plane_on_wheel(motion: &WheelKinematics, radius_m: f64, ground_m: f64, rover_kg: f64) -> Wrench {
    let arm = to_lowest_point(&motion.world_from_wheel, radius_m);
    let velocity = motion.linear + motion.angular.cross(&arm);
    let depth_m = ground_m - (motion.world_from_wheel.translation.vector.z + arm.z);
    let pressed_n = (STIFFNESS_N_M_KG * depth_m - DAMPING_N_S_M_KG * velocity.z) * rover_kg;
    let normal_n = if depth_m > 0.0 { pressed_n.max(0.0) } else { 0.0 };
    let slip = Vector3::new(velocity.x, velocity.y, 0.0);
    let friction = -slip * (FRICTION * normal_n / slip.norm().max(REST_SLIP_M_S));
    let mut wrench = Wrench::default();
    wrench.add_force_at(friction + Vector3::z() * normal_n, arm);
    wrench
}

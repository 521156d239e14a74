//! One multibody step of a rover that drives on springs under its wheels, without soil.
//! `cargo bench -p selene-vehicle`.

use std::path::Path;
use std::sync::Arc;

use divan::Bencher;
use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_vehicle::{Forces, Rover, RoverModel, Targets, WheelTargets};

const STEP_S: f64 = 5e-4;
/// Springs and dampers that carry the wheels at about a centimetre of depth.
const STIFFNESS_N_M: f64 = 3e4;
const DAMPING_N_S_M: f64 = 1e3;

fn main() {
    divan::main();
}

#[divan::bench(args = ["viper", "curiosity"])]
fn step(bencher: Bencher, rover: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../config/rover/{rover}.yaml"));
    let model = Arc::new(RoverModel::load(&path).unwrap_or_else(|error| panic!("{error}")));
    let stands_m = model.wheels().iter().map(|wheel| wheel.radius_m - wheel.centre_in_base_m.z).fold(0.0, f64::max);
    let pose = Pose::translation(0.0, 0.0, stands_m);
    let gravity = Vector3::new(0.0, 0.0, -1.62);
    let mut rover = Rover::new(&model, pose, gravity, STEP_S).unwrap_or_else(|error| panic!("{error}"));
    let targets = Targets::from(WheelTargets {
        rate_rad_s: vec![0.5; model.wheels().len()],
        ..WheelTargets::rest(model.wheels().len())
    });
    let mut advance = || {
        let springs: Vec<_> = rover.wheel_motions().iter().zip(model.wheels()).map(|(m, w)| spring(m, w)).collect();
        rover.step(&targets, &Forces { soil_on_wheel: &springs, on_links: &[] });
    };
    // Settled and on its way.
    (0..2000).for_each(|_| advance());
    bencher.bench_local(advance);
}

/// A spring up, and drag along the ground.
fn spring(motion: &selene_vehicle::WheelKinematics, wheel: &selene_vehicle::Wheel) -> Wrench {
    let depth_m = wheel.radius_m - motion.world_from_wheel.translation.z;
    let up_n = if depth_m > 0.0 { (STIFFNESS_N_M * depth_m - DAMPING_N_S_M * motion.linear.z).max(0.0) } else { 0.0 };
    let rim = motion.linear + motion.angular.cross(&(Vector3::z() * -wheel.radius_m));
    let force = Vector3::new(-100.0 * rim.x, -100.0 * rim.y, up_n);
    let mut wrench = Wrench::default();
    wrench.add_force_at(force, Vector3::z() * -wheel.radius_m);
    wrench
}

//! Joint loads of a rover: at rest, the weight; about a drive's axis, the drive's torque.

use crate::ground::{Drive, MOON_M_S2, STEP_S, rover_model};
use nalgebra::Vector3;
use selene_base::{Pose, Wrench};
use selene_vehicle::{Rover, WheelTargets};

/// Share of the weight on the hubs that still oscillates after ten seconds on springs of 2e5 N/m.
const AT_REST: f64 = 1e-3;

/// Wrench of a link on its carrier, in world axes.
fn load(rover: &Rover, link: usize) -> Wrench {
    let of_link = rover.joint_load(rover.model().links()[link].joint.unwrap()).unwrap();
    let turn = rover.world_from_links()[link].rotation;
    Wrench { force: turn * of_link.force, torque: turn * of_link.torque }
}

fn at_rest(name: &str) -> Drive {
    let model = rover_model(name);
    let mut drive = Drive::of(&model, Vector3::z() * -MOON_M_S2, STEP_S);
    drive.rover.find_joint_loads();
    drive.run(10.0, &WheelTargets::rest(model.wheels().len()));
    drive
}

#[test]
fn hubs_of_a_rover_at_rest_carry_all_of_it_but_the_wheels() {
    for name in ["viper", "curiosity", "rassor"] {
        let drive = at_rest(name);
        let model = drive.rover.model();
        let wheels = || model.wheels().iter().map(|wheel| wheel.link);
        let wheels_kg: f64 = wheels().map(|link| model.links()[link].inertial.unwrap().mass_kg).sum();
        let carried: Vector3<f64> = wheels().map(|link| load(&drive.rover, link).force).sum();
        let weight_n = (model.mass_kg() - wheels_kg) * MOON_M_S2;
        assert!((carried.z / weight_n - 1.0).abs() < AT_REST, "{name}: {carried} N of {weight_n} N");
        assert!(carried.xy().norm() < AT_REST * weight_n, "{name}: {carried}");
    }
}

#[test]
fn each_hub_carries_the_grounds_push_less_its_wheels_weight() {
    let drive = at_rest("viper");
    let model = drive.rover.model();
    for (wheel, ground_n) in model.wheels().iter().zip(&drive.normal_n) {
        let wheel_n = model.links()[wheel.link].inertial.unwrap().mass_kg * MOON_M_S2;
        let carried_n = load(&drive.rover, wheel.link).force.z;
        assert!((carried_n - (ground_n - wheel_n)).abs() < AT_REST * ground_n, "{}: {carried_n} N", wheel.name);
    }
}

#[test]
fn loads_are_reported_only_when_requested_and_after_a_step() {
    let model = rover_model("viper");
    let start = Pose::translation(0.0, 0.0, model.base_height_m());
    let mut rover = Rover::new(&model, start, Vector3::z() * -MOON_M_S2, STEP_S).unwrap();
    let joint = model.wheels()[0].drive_joint;
    let step = |rover: &mut Rover| rover.step(&WheelTargets::rest(4).into(), &Default::default());
    step(&mut rover);
    assert!(rover.joint_load(joint).is_none(), "not requested");
    rover.find_joint_loads();
    assert!(rover.joint_load(joint).is_none(), "no step yet");
    step(&mut rover);
    assert!(rover.joint_load(joint).is_some());
    let fixed = model.joints().iter().position(|joint| !joint.moves()).unwrap();
    assert!(rover.joint_load(fixed).is_none() && rover.joint_load(usize::MAX).is_none());
    let state = rover.state();
    rover.set_state(&state);
    assert!(rover.joint_load(joint).is_none(), "of another motion");
}

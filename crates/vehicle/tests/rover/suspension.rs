//! Curiosity's rocker-bogie: its differential holds, its wheels share the load as
//! statics say, also with one wheel on a step, and its joints end at their stops.

use crate::ground::{Drive, MOON_M_S2, STEP_S, rover_model, rover_with, to_lowest_point};
use nalgebra::{Matrix6, Vector3, Vector6};
use selene_base::{Pose, Twist};
use selene_vehicle::{Forces, Rover, RoverModel, Targets, WheelTargets};

/// Left and right rocker mirror each other at least this well, rad: sums of a few doubles.
const MIRRORED_RAD: f64 = 1e-12;
const STEP_M: f64 = 0.2;

fn joint(model: &RoverModel, name: &str) -> usize {
    model.joints().iter().position(|j| j.name == name).unwrap()
}

fn position(rover: &Rover, name: &str) -> f64 {
    let joint = joint(rover.model(), name);
    let place = rover.model().moving_joints().iter().position(|&j| j == joint).unwrap();
    rover.joint_states()[place].position
}

fn unmirrored_rad(rover: &Rover) -> f64 {
    (position(rover, "left_rocker") + position(rover, "right_rocker")).abs()
}

/// Curiosity at rest, its front left wheel on ground that rose by `rise_m` over two seconds.
fn at_rest_on_step(rise_m: f64) -> Drive {
    let mut drive = Drive::of(&rover_model("curiosity"), Vector3::z() * -MOON_M_S2, STEP_S);
    let rest = Targets::from(WheelTargets::rest(6));
    let steps = (2.0 / STEP_S) as usize;
    for i in 0..steps {
        drive.ground_m[0] = rise_m * i as f64 / steps as f64;
        drive.step(&rest);
        assert!(unmirrored_rad(&drive.rover) < MIRRORED_RAD);
    }
    drive.run(20.0, &rest.wheels);
    drive
}

/// Whether link `link` hangs from `joint`.
fn hangs_from(model: &RoverModel, mut link: usize, joint: usize) -> bool {
    while let Some(above) = model.links()[link].joint {
        if above == joint {
            return true;
        }
        link = model.joints()[above].parent;
    }
    false
}

/// Loads of the six wheels by statics, from where everything stands: sum of forces,
/// two moments of the whole, no moment about either bogie's pivot, equal moments
/// about the rockers' pivots (the differential's bar).
fn statics_n(rover: &Rover) -> Vector6<f64> {
    let (model, poses) = (rover.model(), rover.world_from_links());
    let wheels = model.wheels();
    let at = |wheel: usize| {
        let pose = &poses[wheels[wheel].link];
        pose.translation.vector + to_lowest_point(pose, wheels[wheel].radius_m)
    };
    let weights: Vec<_> = model
        .links()
        .iter()
        .enumerate()
        .filter_map(|(link, l)| {
            let inertial = l.inertial?;
            Some((link, (poses[link] * inertial.link_from_com).translation.vector, inertial.mass_kg * MOON_M_S2))
        })
        .collect();
    let mut rows = Matrix6::zeros();
    let mut loads = Vector6::zeros();
    // Moment about an axis through `pivot` for a force of 1 N up at `point`.
    let lever = |axis: &Vector3<f64>, pivot: &Vector3<f64>, point: &Vector3<f64>| {
        axis.dot(&(point - pivot).cross(&Vector3::z()))
    };
    let mut add = |row: usize, sign: f64, on: &dyn Fn(usize) -> bool, lever: &dyn Fn(&Vector3<f64>) -> f64| {
        (0..6).filter(|&w| on(wheels[w].link)).for_each(|w| rows[(row, w)] += sign * lever(&at(w)));
        weights.iter().filter(|(l, ..)| on(*l)).for_each(|(_, com, n)| loads[row] += sign * n * lever(com));
    };
    add(0, 1.0, &|_| true, &|_| 1.0);
    add(1, 1.0, &|_| true, &|p| p.x);
    add(2, 1.0, &|_| true, &|p| p.y);
    let hinges = [(3, 1.0, "left_bogie"), (4, 1.0, "right_bogie"), (5, 1.0, "left_rocker"), (5, -1.0, "right_rocker")];
    for (row, sign, name) in hinges {
        let index = joint(model, name);
        let pose = poses[model.joints()[index].child];
        let (axis, pivot) = (pose.rotation * model.joints()[index].axis.into_inner(), pose.translation.vector);
        add(row, sign, &|link| hangs_from(model, link, index), &|p| lever(&axis, &pivot, p));
    }
    rows.lu().solve(&loads).unwrap()
}

#[test]
fn on_the_flat_and_on_a_step_all_six_wheels_carry_what_statics_say() {
    /// Share of the load that 20 s of creeping contact leave: 1e-11 measured.
    const TOLERANCE: f64 = 1e-6;
    for rise_m in [0.0, STEP_M] {
        let drive = at_rest_on_step(rise_m);
        let expected = statics_n(&drive.rover);
        for (wheel, (measured, expected)) in drive.normal_n.iter().zip(expected.iter()).enumerate() {
            assert!(*expected > 100.0, "{wheel} carries {expected} N");
            assert!((measured / expected - 1.0).abs() < TOLERANCE, "{wheel}: {measured} N, statics {expected} N");
        }
    }
}

#[test]
fn on_the_flat_loads_are_those_of_the_published_pivots() {
    /// The weight of rockers, bogies and wheels beside the chassis', and the sag of the ground.
    const TOLERANCE: f64 = 0.06;
    let drive = at_rest_on_step(0.0);
    let half_n = 899.0 * MOON_M_S2 / 2.0;
    // The chassis' centre stands at x = 0.01 m, the front wheel at 1.095, the bogie's pivot at -0.54,
    // the bogie's wheels 0.451 before and 0.623 behind it.
    let front = (0.01 + 0.54) / (1.095 + 0.54);
    let middle = (1.0 - front) * 0.623 / (0.451 + 0.623);
    for (wheel, share) in [(0, front), (2, middle), (4, 1.0 - front - middle)] {
        let measured = drive.normal_n[wheel] / half_n;
        assert!((measured - share).abs() < TOLERANCE * share.max(0.3), "{wheel}: {measured} for {share}");
        assert!((drive.normal_n[wheel + 1] / drive.normal_n[wheel] - 1.0).abs() < 1e-3, "left and right");
    }
}

#[test]
fn the_chassis_turns_by_half_of_what_a_rocker_does() {
    let drive = at_rest_on_step(STEP_M);
    let (left, right) = (position(&drive.rover, "left_rocker"), position(&drive.rover, "right_rocker"));
    assert!(left < -0.02 && right > 0.02, "the lifted side's rocker turns front up: {left} {right}");
    let world_from_base = drive.rover.world_from_base();
    let pitch_up = (world_from_base.rotation * Vector3::x()).z.asin();
    // The right rocker stays level on the flat, the chassis is turned against it by its joint.
    assert!((pitch_up - right).abs() < 0.01, "{pitch_up} {right}");
}

#[test]
fn the_differential_holds_while_the_rover_tumbles() {
    let model = rover_model("curiosity");
    let mut rover = Rover::new(&model, Pose::identity(), Vector3::zeros(), STEP_S).unwrap();
    let [left, right, bogie] = ["left_rocker", "right_rocker", "left_bogie"].map(|name| joint(&model, name));
    let twist = Twist { linear: Vector3::new(0.2, -0.1, 0.3), angular: Vector3::new(0.5, -0.3, 0.8) };
    rover.set_velocities(&twist, |j| {
        if j == left {
            0.3
        } else if j == right {
            -0.3
        } else if j == bogie {
            -0.5
        } else {
            0.0
        }
    });
    let rest = Targets::from(WheelTargets::rest(6));
    let mut most_rad = 0.0_f64;
    for _ in 0..4000 {
        rover.step(&rest, &Forces::default());
        most_rad = most_rad.max(unmirrored_rad(&rover));
    }
    assert!(most_rad < MIRRORED_RAD, "{most_rad}");
}

#[test]
fn several_couplings_hold_together_under_uneven_load() {
    let differential = "- {joint: left_rocker, mirrors: right_rocker, ratio: -1.0}";
    let more = "\n  - {joint: left_bogie, mirrors: left_rocker, ratio: 0.5}\n  - {joint: right_bogie, mirrors: right_rocker, ratio: 2.0}";
    let model = rover_with("curiosity", differential, &format!("{differential}{more}"));
    let mut drive = Drive::of(&model, Vector3::z() * -MOON_M_S2, STEP_S);
    let rest = Targets::from(WheelTargets::rest(6));
    let mut most_rad = 0.0_f64;
    for i in 0..8000 {
        drive.ground_m[0] = STEP_M * f64::from(i.min(4000)) / 4000.0;
        drive.step(&rest);
        let [left, right] = ["left_rocker", "right_rocker"].map(|name| position(&drive.rover, name));
        most_rad = most_rad.max((position(&drive.rover, "left_bogie") - 0.5 * left).abs());
        most_rad = most_rad.max((position(&drive.rover, "right_bogie") - 2.0 * right).abs()).max((left + right).abs());
    }
    assert!(most_rad < MIRRORED_RAD, "{most_rad}");
    assert!(position(&drive.rover, "left_rocker").abs() > 0.01, "the load is uneven");
}

#[test]
fn a_joint_that_is_pushed_beyond_its_limit_stops_there() {
    /// Angle from a weight of 130 N at the end of a bogie on a stop of 2e5 N m/rad, and its bounce.
    const TOLERANCE_RAD: f64 = 0.01;
    let model = rover_model("curiosity");
    let mut rover = Rover::new(&model, Pose::identity(), Vector3::zeros(), STEP_S).unwrap();
    let bogie = joint(&model, "left_bogie");
    rover.set_velocities(&Twist::default(), |j| if j == bogie { 3.0 } else { 0.0 });
    let rest = Targets::from(WheelTargets::rest(6));
    let limit = 35_f64.to_radians();
    let mut most = 0.0_f64;
    for _ in 0..2000 {
        rover.step(&rest, &Forces::default());
        most = most.max(position(&rover, "left_bogie"));
    }
    assert!(most > limit && most < limit + TOLERANCE_RAD * 3.0, "{most} of {limit}");
    assert!(position(&rover, "left_bogie") < limit, "it came back");
}

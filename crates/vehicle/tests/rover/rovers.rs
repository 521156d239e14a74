//! Every rover of config/rover: its description says what is published of it, it
//! stands level with its weight shared as statics say, and drives where it should.

use crate::ground::{Drive, MOON_M_S2, STEP_S, rover_model};
use nalgebra::{Matrix2, Point3, Vector2, Vector3};
use selene_base::Pose;
use selene_base::frames::yaw_rad;
use selene_vehicle::{RoverModel, Shape, WheelTargets};

/// Name, mass (kg), wheels, moving joints.
const ROVERS: [(&str, f64, usize, usize); 7] = [
    ("viper", 442.88, 4, 14),
    ("curiosity", 899.0, 6, 14),
    ("ex1", 21.63, 4, 8),
    ("sorato", 4.0, 4, 6),
    ("rassor", 45.0, 4, 8),
    // The chassis is published; four corners of 94.7 kg are ours.
    ("truck", 2086.5 + 4.0 * 94.7, 4, 10),
    // The truck with a blade of 240 kg on two arms of 30 kg.
    ("dozer", 2086.5 + 4.0 * 94.7 + 240.0 + 2.0 * 30.0, 4, 11),
];

fn base_from(model: &RoverModel, link: &str) -> Pose {
    model.base_from_links_at_zero()[model.link_index(link).unwrap()]
}

/// Highest point of all visible shapes over the ground, and their length along x.
fn height_and_length_m(model: &RoverModel) -> (f64, f64) {
    let poses = model.base_from_links_at_zero();
    let (mut top, mut front, mut back) = (f64::MIN, f64::MIN, f64::MAX);
    for (link, visual) in model.links().iter().enumerate().flat_map(|(i, l)| l.visuals.iter().map(move |v| (i, v))) {
        let pose = poses[link] * visual.link_from_shape;
        // Half extent along a world axis of a box; of a cylinder's end discs and length.
        let reach = |axis: Vector3<f64>| match &visual.shape {
            Shape::Box { size_m } => (pose.rotation.inverse() * axis).abs().dot(&(Vector3::from(*size_m) / 2.0)),
            Shape::Cylinder { radius_m, length_m } => {
                let along = (pose.rotation.inverse() * axis).z.abs();
                along * length_m / 2.0 + radius_m * (1.0 - along * along).max(0.0).sqrt()
            }
            Shape::Sphere { radius_m } => *radius_m,
            Shape::Mesh { .. } => panic!("these rovers are made of primitives"),
        };
        let at = pose.translation.vector;
        top = top.max(at.z + reach(Vector3::z()));
        (front, back) = (front.max(at.x + reach(Vector3::x())), back.min(at.x - reach(Vector3::x())));
    }
    (top + model.base_height_m(), front - back)
}

/// EX1's URDF has wheels of 1.2 kg and 0.006804 kg m² about the axle, its YAML a rotor of 4e-6 kg m² behind a gear of 50.
#[test]
fn the_masses_of_wheels_are_those_of_their_links_and_rotors() {
    let masses_kg = rover_model("ex1").wheel_masses_kg();
    assert_eq!(masses_kg.len(), 4);
    for [mass_kg, rim_kg] in masses_kg {
        assert!(
            (mass_kg - 1.2).abs() < 1e-12 && (rim_kg - (0.006804 + 0.01) / 0.01).abs() < 1e-9,
            "{mass_kg} {rim_kg}"
        );
    }
}

#[test]
fn masses_sum_to_the_published_total_and_every_joint_has_its_role() {
    for (name, mass_kg, wheels, joints) in ROVERS {
        let model = rover_model(name);
        assert!((model.mass_kg() - mass_kg).abs() < 1e-9 * mass_kg, "{name}: {} kg", model.mass_kg());
        assert_eq!((model.wheels().len(), model.moving_joints().len()), (wheels, joints), "{name}");
    }
}

#[test]
fn sizes_are_the_published_ones() {
    /// Share of the size, since the outline is our choice of shapes.
    const TOLERANCE: f64 = 0.02;
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < TOLERANCE;
    let (height, length) = height_and_length_m(&rover_model("ex1"));
    assert!(near(height, 0.67) && near(length, 0.82), "EX1 {height} {length}");
    let (height, length) = height_and_length_m(&rover_model("sorato"));
    assert!(near(height, 0.36) && near(length, 0.58), "Sorato {height} {length}");
    let curiosity = rover_model("curiosity");
    let published =
        [(1.095, 1.063), (1.095, -1.063), (-0.089, 1.194), (-0.089, -1.194), (-1.163, 1.063), (-1.163, -1.063)];
    for (wheel, (x, y)) in curiosity.wheels().iter().zip(published) {
        assert!((wheel.centre_in_base_m - Vector3::new(x, y, 0.0)).norm() < 1e-3, "{}", wheel.name);
    }
    let truck = rover_model("truck");
    let [front, rear] = [0, 2].map(|i| truck.wheels()[i].centre_in_base_m.x);
    assert!((front - rear - 3.378).abs() < 1e-9 && rear == 0.0);
}

#[test]
fn every_rover_has_an_imu_a_position_sensor_and_optical_frames_outside_its_shapes() {
    for (name, ..) in ROVERS {
        let model = rover_model(name);
        let poses = model.base_from_links_at_zero();
        assert!(["imu", "gps"].iter().all(|link| model.link_index(link).is_some()), "{name}");
        let eyes = model.links().iter().filter(|l| l.name.ends_with("_optical") || l.name == "lidar");
        assert!(eyes.clone().count() >= 3, "{name}");
        for eye in eyes {
            let at = Point3::from(base_from(&model, &eye.name).translation.vector);
            for (link, visual) in
                model.links().iter().enumerate().flat_map(|(i, l)| l.visuals.iter().map(move |v| (i, v)))
            {
                let seen = (poses[link] * visual.link_from_shape).inverse() * at;
                assert!(
                    !holds(&visual.shape, &seen),
                    "{name}: {} is inside a shape of {}",
                    eye.name,
                    model.links()[link].name
                );
            }
        }
    }
}

fn holds(shape: &Shape, p: &Point3<f64>) -> bool {
    match shape {
        Shape::Box { size_m } => (0..3).all(|i| p[i].abs() <= size_m[i] / 2.0),
        Shape::Cylinder { radius_m, length_m } => p.xy().coords.norm() <= *radius_m && p.z.abs() <= length_m / 2.0,
        Shape::Sphere { radius_m } => p.coords.norm() <= *radius_m,
        Shape::Mesh { .. } => false,
    }
}

#[test]
fn every_rover_has_contact_shapes_clear_of_the_ground_it_stands_on() {
    for (name, ..) in ROVERS {
        let model = rover_model(name);
        let poses = model.base_from_links_at_zero();
        let mut shapes = 0;
        for (link, collision) in
            model.links().iter().enumerate().flat_map(|(i, l)| l.collisions.iter().map(move |c| (i, c)))
        {
            let pose = poses[link] * collision.link_from_shape;
            let down = (pose.rotation.inverse() * Vector3::z()).abs();
            let reach = match &collision.shape {
                Shape::Box { size_m } => down.dot(&(Vector3::from(*size_m) / 2.0)),
                Shape::Cylinder { radius_m, length_m } => down.z * length_m / 2.0 + radius_m,
                Shape::Sphere { radius_m } => *radius_m,
                Shape::Mesh { .. } => 0.0,
            };
            assert!(pose.translation.z - reach + model.base_height_m() > 0.05, "{name}: {}", model.links()[link].name);
            shapes += 1;
        }
        assert!(shapes > 0 && model.wheels().iter().all(|w| model.links()[w.link].collisions.is_empty()), "{name}");
    }
}

#[test]
fn every_rover_stands_level_with_its_weight_shared_as_statics_say() {
    /// Share of the weight that damping and creeping contact leave after 20 s.
    const TOLERANCE: f64 = 1e-3;
    for (name, mass_kg, ..) in ROVERS {
        let mut drive = Drive::of(&rover_model(name), Vector3::z() * -MOON_M_S2, STEP_S);
        let model = drive.rover.model().clone();
        drive.run(20.0, &WheelTargets::rest(model.wheels().len()));
        let weight_n = mass_kg * MOON_M_S2;
        let poses = drive.rover.world_from_links();
        let centre: Vector3<f64> = model
            .links()
            .iter()
            .zip(&poses)
            .filter_map(|(link, pose)| {
                let inertial = link.inertial?;
                Some((pose * inertial.link_from_com).translation.vector * inertial.mass_kg / mass_kg)
            })
            .sum();
        let at = |wheel: usize| poses[model.wheels()[wheel].link].translation.vector;
        let loads = drive.normal_n.iter().enumerate();
        let sum = loads.fold(Vector3::zeros(), |sum, (i, n)| sum + Vector3::new(at(i).x, at(i).y, 1.0) * *n);
        assert!((sum.z / weight_n - 1.0).abs() < TOLERANCE, "{name}: {} of {weight_n} N", sum.z);
        let pressed_at = sum.xy() / sum.z;
        assert!((pressed_at - centre.xy()).norm() < TOLERANCE, "{name}: pressed at {pressed_at}, mass at {centre}");
        assert!(drive.normal_n.iter().all(|n| *n > 0.1 * weight_n), "{name}: {:?}", drive.normal_n);
        let up = drive.rover.world_from_base().rotation * Vector3::z();
        assert!(up.z.acos().to_degrees() < 0.3, "{name} leans by {}°", up.z.acos().to_degrees());
    }
}

#[test]
fn front_and_rear_share_by_the_lever_rule() {
    /// Share of the load, for the sag of springs and arms.
    const TOLERANCE: f64 = 0.01;
    for (name, front_x, rear_x) in
        [("truck", 3.378, 0.0), ("ex1", 0.31, -0.31), ("sorato", 0.19, -0.19), ("rassor", 0.195, -0.195)]
    {
        let mut drive = Drive::of(&rover_model(name), Vector3::z() * -MOON_M_S2, STEP_S);
        drive.run(20.0, &WheelTargets::rest(4));
        let model = drive.rover.model();
        let poses = model.base_from_links_at_zero();
        let moment: f64 = model
            .links()
            .iter()
            .zip(&poses)
            .filter_map(|(link, pose)| {
                let inertial = link.inertial?;
                Some((pose * inertial.link_from_com).translation.x * inertial.mass_kg * MOON_M_S2)
            })
            .sum();
        let weight = model.mass_kg() * MOON_M_S2;
        let axles = Matrix2::new(1.0, 1.0, front_x, rear_x).lu().solve(&Vector2::new(weight, moment)).unwrap();
        let [fl, fr, rl, rr] = <[f64; 4]>::try_from(drive.normal_n.clone()).unwrap();
        assert!(((fl + fr) / axles.x - 1.0).abs() < TOLERANCE, "{name}: {} of {}", fl + fr, axles.x);
        assert!(((rl + rr) / axles.y - 1.0).abs() < TOLERANCE, "{name}: {} of {}", rl + rr, axles.y);
        assert!((fl / fr - 1.0).abs() < TOLERANCE && (rl / rr - 1.0).abs() < TOLERANCE, "{name}");
    }
}

/// Turn rate of a rover on the test's ground, whose friction is the same in all directions. Steered wheels roll without
/// slip, so it is the commanded rate Ω. Wheels at (±a, ±b) without steering, whose rims move at ±Ω b, slip by (Ω − ω) b
/// along and ω a across; the moment of both, b² (Ω − ω) − a² ω, is zero at ω = Ω b² / (a² + b²).
fn expected_turn_rad_s(model: &RoverModel, commanded_rad_s: f64) -> f64 {
    if model.wheels().iter().any(|wheel| wheel.steer_joint.is_some()) {
        return commanded_rad_s;
    }
    let at = model.wheels()[0].centre_in_base_m;
    commanded_rad_s * at.y.powi(2) / at.xy().norm_squared()
}

/// A turn rate at which each steered wheel is clear of its stop, or a quarter of the limit without steering.
fn moderate_turn_rad_s(model: &RoverModel, speed_m_s: f64) -> f64 {
    if model.wheels().iter().all(|wheel| wheel.steer_joint.is_none()) {
        return model.spec().limits.turn_rate_rad_s / 4.0;
    }
    let axles_m = || model.wheels().iter().map(|wheel| wheel.centre_in_base_m.x);
    let wheelbase_m = axles_m().fold(f64::MIN, f64::max) - axles_m().fold(f64::MAX, f64::min);
    speed_m_s / (3.0 * wheelbase_m)
}

#[test]
fn every_rover_drives_straight_at_half_its_speed_and_turns_left_as_fast_as_mechanics_says() {
    /// Slip on the test's ground and droop of the motors' controllers.
    const TOLERANCE: f64 = 0.02;
    /// The same for wheels that skid: the motors' controllers, gain times error, droop by up to 2.4 % of the difference
    /// between left and right.
    const SKID_TOLERANCE: f64 = 0.05;
    for (name, ..) in ROVERS {
        let mut drive = Drive::of(&rover_model(name), Vector3::z() * -MOON_M_S2, STEP_S);
        let limits = drive.rover.model().spec().limits;
        let requested = limits.speed_m_s / 2.0;
        drive.steer_and_run(8.0, requested, 0.0);
        let start = drive.rover.world_from_base();
        drive.steer_and_run(2.0, requested, 0.0);
        let moved = drive.rover.world_from_base().translation.vector - start.translation.vector;
        assert!((moved.x / 2.0 / requested - 1.0).abs() < TOLERANCE, "{name}: {} m/s of {requested}", moved.x / 2.0);
        assert!(moved.y.abs() < TOLERANCE * moved.x, "{name}: {moved}");
        let model = drive.rover.model().clone();
        let commanded_rad_s = moderate_turn_rad_s(&model, requested / 2.0);
        // It brakes first, and then steers: the truck at half its speed could not turn so tightly.
        drive.steer_and_run(3.0, requested / 2.0, 0.0);
        drive.steer_and_run(3.0, requested / 2.0, commanded_rad_s);
        let start = drive.rover.world_from_base();
        drive.steer_and_run(2.0, requested / 2.0, commanded_rad_s);
        let turned_rad_s = (yaw_rad(&drive.rover.world_from_base()) - yaw_rad(&start)) / 2.0;
        let expected_rad_s = expected_turn_rad_s(&model, commanded_rad_s);
        let tolerance = if expected_rad_s == commanded_rad_s { TOLERANCE } else { SKID_TOLERANCE };
        let off = turned_rad_s / expected_rad_s - 1.0;
        assert!(off.abs() < tolerance, "{name}: {turned_rad_s} rad/s, {expected_rad_s} expected");
    }
}

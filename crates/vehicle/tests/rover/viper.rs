//! VIPER's description says what is published of it.

use crate::ground::viper;
use nalgebra::{Point3, Vector3};
use selene_base::frames::body_from_optical;
use selene_vehicle::{RoverModel, Shape, Visual};

/// Four decimals in the URDF.
const URDF_M: f64 = 1e-4;
const SENSORS: [&str; 5] =
    ["navcam_left_optical", "navcam_right_optical", "lidar", "headlight_left", "headlight_right"];

fn at(model: &RoverModel, link: &str) -> selene_base::Pose {
    model.base_from_links_at_zero()[model.link_index(link).unwrap()]
}

/// Half extents of a shape in its own frame.
fn half_extents(shape: &Shape) -> Vector3<f64> {
    match *shape {
        Shape::Box { size_m } => Vector3::from(size_m) / 2.0,
        Shape::Cylinder { radius_m, length_m } => Vector3::new(radius_m, radius_m, length_m / 2.0),
        Shape::Sphere { radius_m } => Vector3::repeat(radius_m),
        Shape::Mesh { .. } => panic!("VIPER is made of primitives"),
    }
}

fn visuals(model: &RoverModel) -> impl Iterator<Item = (usize, &Visual)> {
    model.links().iter().enumerate().flat_map(|(i, link)| link.visuals.iter().map(move |v| (i, v)))
}

#[test]
fn masses_and_wheel_centres_are_the_published_ones() {
    let model = viper();
    assert!((model.mass_kg() - (340.8 + 4.0 * (11.05 + 2.71 + 6.96 + 4.80))).abs() < 1e-9);
    for (wheel, (x, y)) in model.wheels().iter().zip([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]) {
        assert!((wheel.centre_in_base_m - Vector3::new(0.6418 * x, 0.6098 * y, 0.0)).norm() < URDF_M);
        assert_eq!((wheel.radius_m, wheel.width_m), (0.25, 0.2));
    }
    assert_eq!(model.base_height_m(), 0.25);
    assert_eq!(model.moving_joints().len(), 14);
}

#[test]
fn the_navcams_stand_two_metres_up_and_forty_centimetres_apart() {
    let model = viper();
    let [left, right] = ["navcam_left", "navcam_right"].map(|name| at(&model, name));
    assert!((left.inverse() * right).translation.vector.metric_distance(&Vector3::new(0.0, -0.4, 0.0)) < URDF_M);
    assert!((left.translation.z + model.base_height_m() - 2.0).abs() < 0.05);
    let pitch_down = -(left.rotation * Vector3::x()).z.asin();
    assert!((pitch_down.to_degrees() - 15.0).abs() < 0.01, "{pitch_down}");
}

#[test]
fn optical_frames_are_turned_as_rep_103_says() {
    let model = viper();
    for side in ["navcam_left", "navcam_right"] {
        let turn = at(&model, side).rotation.inverse() * at(&model, &format!("{side}_optical")).rotation;
        assert!(turn.angle_to(&body_from_optical()) < 1e-9, "{side}");
    }
}

#[test]
fn no_sensor_sits_inside_a_visible_shape() {
    let model = viper();
    let poses = model.base_from_links_at_zero();
    for sensor in SENSORS {
        let eye = Point3::from(at(&model, sensor).translation.vector);
        for (link, visual) in visuals(&model) {
            let seen = (poses[link] * visual.link_from_shape).inverse() * eye;
            let inside =
                seen.coords.abs().zip_fold(&half_extents(&visual.shape), true, |all, p, half| all && p <= half);
            assert!(!inside, "{sensor} is inside a shape of {}", model.links()[link].name);
        }
    }
}

#[test]
fn the_mast_tops_out_at_two_and_a_half_metres_and_the_grousers_at_the_wheels_radius() {
    let model = viper();
    let poses = model.base_from_links_at_zero();
    let top = visuals(&model)
        .map(|(link, v)| (poses[link] * v.link_from_shape).translation.z + half_extents(&v.shape).z)
        .fold(f64::MIN, f64::max);
    assert!((top + model.base_height_m() - 2.5).abs() < 0.01, "{top}");
    let wheel = &model.wheels()[0];
    let tips = model.links()[wheel.link].visuals.iter().filter(|v| v.material == "grouser");
    for tip in tips {
        let reach_m = tip.link_from_shape.translation.vector.norm() + half_extents(&tip.shape).x;
        assert!((reach_m - wheel.radius_m).abs() < URDF_M, "{reach_m}");
    }
}

#[test]
fn an_added_frame_is_carried_by_its_link_weighs_nothing_and_needs_a_free_name() {
    let mut model = RoverModel::clone(&viper());
    let (mass_kg, moving) = (model.mass_kg(), model.moving_joints().to_vec());
    let wheel = model.wheels()[1].link;
    let wheel_from_frame = selene_base::Pose::translation(0.1, -0.2, 0.3);
    assert!(model.added_frames().is_empty() && model.add_frame("spy", wheel, wheel_from_frame));
    assert_eq!(model.added_frames().iter().map(|joint| joint.child).collect::<Vec<_>>(), [model.links().len() - 1]);
    assert!(!model.add_frame("spy", wheel, wheel_from_frame) && !model.add_frame("mast", wheel, wheel_from_frame));
    assert!(!model.add_frame("stray", model.links().len(), wheel_from_frame));
    let poses = model.base_from_links_at_zero();
    assert_eq!(poses[model.link_index("spy").unwrap()], poses[wheel] * wheel_from_frame);
    assert_eq!((model.mass_kg(), model.moving_joints()), (mass_kg, &moving[..]));
}

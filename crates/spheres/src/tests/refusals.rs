//! Invalid input is refused, and the state stays unchanged.

use nalgebra::{Isometry3, Vector3};
use selene_crm::{Body, BodyShape, Drum, Wall, Wheel};

use super::{CLOSED, GLASS, model};
use crate::{Container, Filling, Model, Scratch, SpheresError, SpheresSpec, State, step};

fn ball() -> Body {
    Body {
        shape: BodyShape::Sphere { radius_m: 0.01 },
        pose: Isometry3::identity(),
        velocity_m_s: Vector3::zeros(),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.5,
    }
}

fn two() -> State {
    let mut state = State::default();
    state.add(0.01, Vector3::new(0.05, 0.05, 0.05), Vector3::zeros());
    state.add(0.01, Vector3::new(0.08, 0.05, 0.05), Vector3::zeros());
    state
}

fn refused(mut state: State, walls: [[Wall; 2]; 3], bodies: &[Body], duration_s: f64) -> SpheresError {
    let before = state.hash();
    let model = model(&GLASS, [0.2; 3], walls, 9.81);
    let error = step(&model, &mut state, bodies, duration_s, &mut Scratch::default()).expect_err("must be refused");
    assert_eq!(state.hash(), before, "{error}: the state has changed");
    error
}

#[test]
fn steps_are_refused_with_their_number() {
    for duration_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(two(), CLOSED, &[], duration_s), SpheresError::Duration(_)));
    }
    let message = refused(two(), CLOSED, &[], 1e4).to_string();
    assert!(message.contains("step of 10000 s") && message.contains("1000000 are allowed"), "{message}");
    assert!(message.contains("Rayleigh"), "{message}");
}

#[test]
fn states_that_cannot_be_are_refused() {
    let mut state = two();
    state.spheres[1].velocity_m_s.y = f64::NAN;
    assert!(refused(state, CLOSED, &[], 0.01).to_string().contains("grain 1: place or motion"));
    let mut state = two();
    state.spheres[0].radius_m = -1.0;
    assert!(refused(state, CLOSED, &[], 0.01).to_string().contains("grain 0: radius -1 m: must be 0.00001"));
    let mut state = two();
    state.spheres.swap(0, 1);
    assert_eq!(refused(state, CLOSED, &[], 0.01), SpheresError::Order("grains"));
    let mut state = two();
    state.spheres[1].position_m.x = 0.3;
    assert!(matches!(refused(state, CLOSED, &[], 0.01), SpheresError::Outside { id: 1, .. }));
}

#[test]
fn grains_that_leave_or_overlap_too_deeply_are_reported() {
    let open = [CLOSED[0], CLOSED[1], [Wall::Open; 2]];
    assert!(matches!(refused(two(), open, &[], 0.2), SpheresError::Outside { id: 0, .. }));
    let mut state = two();
    state.spheres[1].position_m.x = 0.056;
    assert!(matches!(refused(state, CLOSED, &[], 1e-5), SpheresError::Overlap { id: 0, .. }));
}

#[test]
fn bodies_models_and_fillings_that_cannot_be_are_refused() {
    let rough = Body { friction: -1.0, ..ball() };
    let message = refused(two(), CLOSED, &[rough], 0.01).to_string();
    assert!(message.contains("body 0") && message.contains("friction -1: must be 0 to 10"), "{message}");
    let drum = Drum { radius_m: 0.1, half_length_m: 0.05, slices: 1, scoops: 3, channel_m: 0.019, overlap_rad: 0.5 };
    let shell = Body { shape: BodyShape::Drum(drum), ..ball() };
    let too_large = SpheresError::TooLarge { id: 0, radius_m: 0.01, index: 1, limit_m: 0.0095 };
    assert_eq!(refused(two(), CLOSED, &[ball(), shell], 0.01), too_large);
    assert!(too_large.to_string().contains("grain 0 of 0.01 m is too large for body 1, a drum: radii may be 0.0095 m"));

    let wheel = Wheel { rim_m: 0.02, half_length_m: 0.01, grousers: 8, height_m: 0.005, thickness_m: 0.002 };
    let message = refused(two(), CLOSED, &[Body { shape: BodyShape::Wheel(wheel), ..ball() }], 0.01).to_string();
    assert!(message.contains("body 0") && message.contains("a wheel with grousers among single grains"), "{message}");

    let container = Container { size_m: [0.2; 3], walls: CLOSED };
    let made = |grains: &SpheresSpec, container: &Container| {
        Model::new(grains, container, Vector3::zeros()).expect_err("refused").to_string()
    };
    assert!(made(&SpheresSpec { restitution: 0.0, ..GLASS }, &container).contains("restitution"));
    assert!(made(&GLASS, &Container { size_m: [0.2, 0.0, 0.2], ..container }).contains("a side of 0 m"));
    let slippery = [[Wall::Sliding { friction: -0.1 }; 2]; 3];
    assert!(made(&GLASS, &Container { walls: slippery, ..container }).contains("friction must be 0 to 10"));

    let model = model(&GLASS, [0.2; 3], CLOSED, 9.81);
    let filling =
        Filling { low_m: [0.0; 3], high_m: [0.3; 3], radius_m: [0.01, 0.01], velocity_m_s: Vector3::zeros(), seed: 1 };
    let reported = |filling: &Filling| State::default().fill(&model, filling).expect_err("refused").to_string();
    assert!(reported(&filling).contains("from 0 to 0.3 m: must be inside of 0 to 0.2 m"));
    let fine = Filling { high_m: [0.2; 3], radius_m: [1e-4, 1e-4], ..filling };
    assert!(reported(&fine).contains("grains: at most 1048576 are allowed"));
    let turned = Filling { high_m: [0.2; 3], radius_m: [0.02, 0.01], ..filling };
    assert!(reported(&turned).contains("radii from 0.02 to 0.01 m"));
}

/// Ids stay with their grains, and so does the memory of their contacts.
#[test]
fn grains_can_be_taken_away() {
    let floor = model(&GLASS, [0.2; 3], CLOSED, 9.81);
    let mut state = two();
    state.spheres.iter_mut().for_each(|sphere| sphere.position_m.z = 0.0099);
    step(&floor, &mut state, &[], 1e-3, &mut Scratch::default()).expect("a step");
    let kept = state.contacts[1];
    state.retain(|sphere| sphere.id == 1);
    assert_eq!((state.spheres.len(), &state.contacts[..]), (1, &[kept][..]));
    step(&floor, &mut state, &[], 1e-3, &mut Scratch::default()).expect("a step");
    assert_eq!(state.add(0.01, Vector3::repeat(0.1), Vector3::zeros()), 2);
    assert!(state.sphere(0).is_none() && state.sphere(2).is_some());
}

//! Rigid bodies among grains: a body gains what grains and walls lose.

use nalgebra::{Isometry3, Vector3};
use selene_crm::{Body, BodyShape, Wall};

use super::{GLASS, GRAVITY_M_S2, SMOOTH, close, model, run};
use crate::{Filling, Model, Partner, State};

/// A settled bed, 0.1 m wide.
fn bed() -> (Model, State) {
    let floor = [Wall::Rough, Wall::Open];
    let model = model(&GLASS, [0.1, 0.1, 0.2], [[SMOOTH; 2], [SMOOTH; 2], floor], GRAVITY_M_S2);
    let mut state = State::default();
    let filling = Filling {
        low_m: [0.0; 3],
        high_m: [0.1, 0.1, 0.08],
        radius_m: [0.004, 0.005],
        velocity_m_s: Vector3::zeros(),
        seed: 9,
    };
    state.fill(&model, &filling).expect("grains");
    run(&model, &mut state, &[], 0.4);
    (model, state)
}

fn body(shape: BodyShape, at_m: [f64; 3], velocity_m_s: [f64; 3]) -> Body {
    Body {
        shape,
        pose: Isometry3::translation(at_m[0], at_m[1], at_m[2]),
        velocity_m_s: velocity_m_s.into(),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.5,
    }
}

/// A wheel turns in the bed, and a ball is pressed into it: gravity's impulse is conserved to rounding.
#[test]
fn momentum_given_is_momentum_taken() {
    let (model, mut state) = bed();
    let lying = Vector3::x() * std::f64::consts::FRAC_PI_2;
    let wheel = Body {
        pose: Isometry3::new(Vector3::new(0.04, 0.05, 0.088), lying),
        angular_velocity_rad_s: Vector3::y() * 5.0,
        ..body(BodyShape::Cylinder { radius_m: 0.03, half_length_m: 0.02 }, [0.0; 3], [0.1, 0.0, -0.1])
    };
    let ball = body(BodyShape::Sphere { radius_m: 0.01 }, [0.082, 0.082, 0.075], [0.0, 0.0, -0.2]);
    let (before_n_s, duration_s) = (state.momentum_n_s(&model), 0.1);
    let outcome = run(&model, &mut state, &[wheel, ball], duration_s);
    let weight_n_s = model.gravity_m_s2() * (state.mass_kg(&model) * duration_s);
    let walls_n_s: Vector3<f64> = outcome.walls_n_s.iter().flatten().sum();
    let [on_wheel, on_ball] = [0, 1].map(|index: usize| outcome.reactions[index].impulse_n_s);
    assert!(on_wheel.z > 1e-3 && on_ball.z > 1e-3, "bodies met nothing: {on_wheel} {on_ball}");
    assert!(outcome.reactions[0].angular_impulse_n_m_s.y < 0.0, "grains must brake the wheel");
    let missing_n_s = before_n_s + weight_n_s - state.momentum_n_s(&model) - walls_n_s - on_wheel - on_ball;
    assert!(missing_n_s.norm() < 1e-11 * weight_n_s.norm(), "{missing_n_s} of {weight_n_s}");
    assert!(state.contacts.iter().any(|contact| contact.partner == Partner::Body(0)));
}

/// A plate replaces the floor: its mean load over 0.1 s is the bed's weight, to 1 %.
#[test]
fn a_body_bears_the_bed_that_lies_on_it() {
    let model = model(&GLASS, [0.06, 0.06, 0.1], [[SMOOTH; 2], [SMOOTH; 2], [Wall::Open; 2]], GRAVITY_M_S2);
    let plate = body(BodyShape::Cuboid { half_m: [0.05, 0.05, 0.01] }, [0.03, 0.03, 0.01], [0.0; 3]);
    let mut state = State::default();
    let filling = Filling {
        low_m: [0.0, 0.0, 0.02],
        high_m: [0.06, 0.06, 0.08],
        radius_m: [0.004, 0.006],
        velocity_m_s: Vector3::zeros(),
        seed: 4,
    };
    state.fill(&model, &filling).expect("grains");
    run(&model, &mut state, &[plate], 0.5);
    let given_n_s = run(&model, &mut state, &[plate], 0.1).reactions[0].impulse_n_s;
    close("on the plate, N", -given_n_s.z / 0.1, state.mass_kg(&model) * GRAVITY_M_S2, 0.01);
}

//! Head-on collision of two spheres, against Hertz's solution and that of Antypov and Elliott (2011).

use nalgebra::Vector3;

use super::{CLOSED, GLASS, close, model, run};
use crate::{Model, Scratch, SpheresSpec, State, step};

const RADIUS_M: f64 = 0.005;
const SPEED_M_S: f64 = 0.5;

fn approaching(grains: &SpheresSpec) -> (Model, State) {
    let mut state = State::default();
    let half = Vector3::x() * (0.5 * SPEED_M_S);
    state.add(RADIUS_M, Vector3::new(0.0945, 0.1, 0.1), half);
    state.add(RADIUS_M, Vector3::new(0.1055, 0.1, 0.1), -half);
    (model(grains, [0.2; 3], CLOSED, 0.0), state)
}

fn reduced(model: &Model) -> (f64, f64, f64) {
    let grains = model.grains();
    let young_pa = grains.young_pa / (2.0 * (1.0 - grains.poisson.powi(2)));
    (young_pa, 0.5 * RADIUS_M, 0.5 * model.mass_kg(RADIUS_M))
}

/// Ratio of the relative speeds after and before. Substeps of a fifth of the Rayleigh time are accurate to 0.01, and to
/// 0.025 where damping is strong.
#[test]
fn restitution_is_as_requested() {
    for restitution in [0.2, 0.5, 0.9, 1.0] {
        let (model, mut state) = approaching(&SpheresSpec { restitution, ..GLASS });
        run(&model, &mut state, &[], 0.02);
        let apart_m_s = (state.spheres[1].velocity_m_s - state.spheres[0].velocity_m_s).x;
        let off = if restitution < 0.5 { 0.025 } else { 0.01 };
        assert!((apart_m_s / SPEED_M_S - restitution).abs() < off, "{apart_m_s} m/s apart, {restitution}");
    }
}

/// Duration `2.868 (m*²/(R* E*² v))^⅕` and deepest overlap `(15 m* v²/(16 E* √R*))^⅖`. Both are sampled each
/// microsecond, which is also the substep.
#[test]
fn an_elastic_collision_lasts_and_presses_as_hertz_says() {
    let (model, mut state) = approaching(&SpheresSpec { restitution: 1.0, ..GLASS });
    let (young_pa, radius_m, mass_kg) = reduced(&model);
    let (mut scratch, sample_s) = (Scratch::default(), 1e-6);
    let (mut lasted_s, mut overlap_m) = (0.0, 0.0_f64);
    for _ in 0..6000 {
        step(&model, &mut state, &[], sample_s, &mut scratch).expect("a step");
        if let Some(contact) = state.contacts.first() {
            lasted_s += sample_s;
            overlap_m = overlap_m.max(contact.memory.contact_radius_m.powi(2) / radius_m);
        }
    }
    let law_s = 2.868 * (mass_kg.powi(2) / (radius_m * young_pa.powi(2) * SPEED_M_S)).powf(0.2);
    let law_m = (15.0 * mass_kg * SPEED_M_S.powi(2) / (16.0 * young_pa * radius_m.sqrt())).powf(0.4);
    close("duration, s", lasted_s, law_s, 0.005);
    close("overlap, m", overlap_m, law_m, 0.002);
}

/// The state alone holds a contact in progress: interrupted, written, read and continued, it gives the same bytes.
#[test]
fn a_contact_is_in_the_state_and_not_in_the_scratch() {
    let (model, mut state) = approaching(&GLASS);
    state.spheres[0].velocity_m_s.y = 0.2;
    let mut scratch = Scratch::default();
    while state.contacts.first().is_none_or(|contact| contact.memory.shear_n.norm() == 0.0) {
        step(&model, &mut state, &[], 1e-4, &mut scratch).expect("a step");
    }
    let bytes = postcard::to_stdvec(&state).expect("bytes");
    let mut read: State = postcard::from_bytes(&bytes).expect("a state");
    assert_eq!(read.hash(), state.hash());
    let mut forgetful = State { contacts: Vec::new(), ..state.clone() };
    step(&model, &mut state, &[], 2e-4, &mut scratch).expect("a step");
    run(&model, &mut read, &[], 2e-4);
    run(&model, &mut forgetful, &[], 2e-4);
    assert_eq!(read.hash(), state.hash());
    assert_ne!(forgetful.hash(), state.hash(), "what was remembered must matter");
}

//! Conservation of momentum and energy, weight on the floor, and reproducible bytes.

use nalgebra::Vector3;
use selene_base::random::{RngExt, stream};
use selene_crm::Wall;

use super::{CLOSED, GLASS, GRAVITY_M_S2, SMOOTH, close, model, run};
use crate::{Filling, Model, Partner, Scratch, SpheresSpec, State, step};

const RADII_M: [f64; 2] = [0.004, 0.006];

fn filled(model: &Model, low_m: [f64; 3], high_m: [f64; 3]) -> State {
    let mut state = State::default();
    let filling = Filling { low_m, high_m, radius_m: RADII_M, velocity_m_s: Vector3::zeros(), seed: 3 };
    state.fill(model, &filling).expect("grains");
    state
}

/// 125 grains that fly and spin about in a closed box.
fn gas(grains: &SpheresSpec) -> (Model, State) {
    let model = model(grains, [0.1; 3], CLOSED, 0.0);
    let mut state = filled(&model, [0.02; 3], [0.08; 3]);
    let mut draws = stream(5, "gas");
    let mut draw = |most: f64| Vector3::from_fn(|_, _| most * (2.0 * draws.random::<f64>() - 1.0));
    for sphere in &mut state.spheres {
        sphere.velocity_m_s = draw(1.0);
        sphere.angular_velocity_rad_s = draw(100.0);
    }
    (model, state)
}

/// Pairs conserve momentum and angular momentum by construction; the walls are out of reach.
#[test]
fn momentum_and_angular_momentum_are_conserved() {
    let (_, mut state) = gas(&GLASS);
    let model = model(&GLASS, [10.0; 3], CLOSED, 0.0);
    state.spheres.iter_mut().for_each(|sphere| {
        sphere.velocity_m_s -= 5.0 * (sphere.position_m - Vector3::repeat(0.05));
        sphere.position_m += Vector3::repeat(5.0);
    });
    let before = (state.momentum_n_s(&model), state.angular_momentum_n_m_s(&model));
    let begun_j = state.energy_j(&model);
    run(&model, &mut state, &[], 0.1);
    assert!(state.energy_j(&model) < 0.99 * begun_j, "they must have met");
    let scale_n_s = state.mass_kg(&model);
    assert!((state.momentum_n_s(&model) - before.0).norm() < 1e-12 * scale_n_s);
    assert!((state.angular_momentum_n_m_s(&model) - before.1).norm() < 1e-11 * scale_n_s);
}

/// The energy never rises above its lowest value so far by more than 1 % of the initial one: with substeps of a fifth
/// of the Rayleigh time, a colliding pair, one of some sixty, is off by up to a tenth of its own energy during the
/// collision.
#[test]
fn energy_does_not_grow() {
    let (model, mut state) = gas(&SpheresSpec { rolling_friction: 0.1, ..GLASS });
    let mut scratch = Scratch::default();
    let begun_j = state.energy_j(&model);
    let mut least_j = begun_j;
    for _ in 0..100 {
        step(&model, &mut state, &[], 2e-3, &mut scratch).expect("a step");
        let energy_j = state.energy_j(&model);
        assert!(energy_j < least_j + 0.01 * begun_j, "{energy_j} J after {least_j} J; {begun_j} J at first");
        least_j = least_j.min(energy_j);
    }
    println!("energy from {begun_j} to {least_j} J");
    assert!(least_j < 0.7 * begun_j, "they must have met");
}

/// To 2 %: the sum of the errors of some collisions per grain, in substeps of a fifth of the Rayleigh time.
#[test]
fn smooth_elastic_grains_keep_their_energy() {
    let (model, mut state) = gas(&SpheresSpec { restitution: 1.0, friction: 0.0, ..GLASS });
    let begun_j = state.energy_j(&model);
    let before = state.spheres[0].velocity_m_s;
    run(&model, &mut state, &[], 0.1);
    assert_ne!(state.spheres[0].velocity_m_s, before, "it must have met another");
    close("energy, J", state.energy_j(&model), begun_j, 0.02);
}

/// The mean over 0.1 s agrees to 1 %, which the bed's remaining vibration accounts for.
#[test]
fn a_floor_bears_the_weight_of_a_bed_at_rest() {
    let floor = [Wall::Rough, Wall::Open];
    let model = model(&GLASS, [0.06, 0.06, 0.12], [[SMOOTH; 2], [SMOOTH; 2], floor], GRAVITY_M_S2);
    let mut state = filled(&model, [0.0; 3], [0.06, 0.06, 0.12]);
    run(&model, &mut state, &[], 0.6);
    let outcome = run(&model, &mut state, &[], 0.1);
    let weight_n = state.mass_kg(&model) * GRAVITY_M_S2;
    close("on the floor, N", -outcome.walls_n_s[2][0].z / 0.1, weight_n, 0.01);
    assert!(state.contacts.iter().any(|contact| matches!(contact.partner, Partner::Sphere(_))));
    let fastest_m_s = state.spheres.iter().map(|sphere| sphere.velocity_m_s.norm()).fold(0.0, f64::max);
    assert!(fastest_m_s < 0.01, "{fastest_m_s} m/s at rest");
}

#[test]
fn any_number_of_threads_and_any_scratch_give_the_same_bytes() {
    let grains = SpheresSpec { rolling_friction: 0.1, ..GLASS };
    let floor = [Wall::Rough, Wall::Open];
    let after = |threads: usize, keeps_scratch: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let model = model(&grains, [0.1, 0.1, 0.12], [[SMOOTH; 2], [SMOOTH; 2], floor], GRAVITY_M_S2);
        let mut state = filled(&model, [0.0; 3], [0.1, 0.1, 0.12]);
        let mut scratch = Scratch::default();
        let mut walls_n_s = Vec::new();
        pool.install(|| {
            for _ in 0..10 {
                let outcome = step(&model, &mut state, &[], 0.01, &mut scratch).expect("a step");
                walls_n_s.push(outcome.walls_n_s);
                if !keeps_scratch {
                    scratch = Scratch::default();
                }
            }
        });
        (state.hash(), walls_n_s, state)
    };
    let one = after(1, true);
    assert!(one.2.contacts.len() > 300, "{} contacts", one.2.contacts.len());
    assert!(one == after(2, false) && one == after(4, true), "bytes differ");
}

//! A sphere on a plane: from sliding to rolling at 5/7 of its speed, and rolling to a stop under rolling resistance.

use nalgebra::Vector3;
use selene_crm::Wall;

use super::{GLASS, GRAVITY_M_S2, SMOOTH, close, model, run};
use crate::{Model, SpheresSpec, State};

const RADIUS_M: f64 = 0.01;
const SPEED_M_S: f64 = 1.0;
const FRICTION: f64 = 0.3;

/// A sphere on a floor, pressed into it by its weight.
fn on_floor(grains: &SpheresSpec) -> (Model, State) {
    let floor = [Wall::Sliding { friction: FRICTION }, Wall::Open];
    let model = model(grains, [2.0, 0.2, 0.2], [[SMOOTH; 2], [SMOOTH; 2], floor], GRAVITY_M_S2);
    let young_pa = grains.young_pa / (1.0 - grains.poisson.powi(2));
    let weight_n = model.mass_kg(RADIUS_M) * GRAVITY_M_S2;
    let overlap_m = (0.75 * weight_n / (young_pa * RADIUS_M.sqrt())).powf(2.0 / 3.0);
    let mut state = State::default();
    let centre_m = Vector3::new(0.1, 0.1, RADIUS_M - overlap_m);
    state.add(RADIUS_M, centre_m, Vector3::x() * SPEED_M_S);
    (model, state)
}

/// It slows by μg for 2v/(7μg) = 0.097 s, then rolls.
#[test]
fn a_sliding_sphere_slows_by_coulomb_and_rolls_at_five_sevenths() {
    let (model, mut state) = on_floor(&GLASS);
    run(&model, &mut state, &[], 0.05);
    close("sliding, m/s", state.spheres[0].velocity_m_s.x, SPEED_M_S - FRICTION * GRAVITY_M_S2 * 0.05, 0.005);
    run(&model, &mut state, &[], 0.25);
    close("rolling, m/s", state.spheres[0].velocity_m_s.x, 5.0 / 7.0 * SPEED_M_S, 0.005);
    close("turning, rad/s", state.spheres[0].angular_velocity_rad_s.y, 5.0 / 7.0 * SPEED_M_S / RADIUS_M, 0.005);
}

/// It slows by 5/7 μr g.
#[test]
fn rolling_is_resisted_by_a_moment_of_its_coefficient() {
    let rolling_friction = 0.05;
    let (model, mut state) = on_floor(&SpheresSpec { rolling_friction, ..GLASS });
    state.spheres[0].angular_velocity_rad_s.y = SPEED_M_S / RADIUS_M;
    run(&model, &mut state, &[], 1.0);
    let law_m_s = SPEED_M_S - 5.0 / 7.0 * rolling_friction * GRAVITY_M_S2;
    close("rolling, m/s", state.spheres[0].velocity_m_s.x, law_m_s, 0.01);
    run(&model, &mut state, &[], 4.0);
    let speed_m_s = state.spheres[0].velocity_m_s.norm();
    assert!(speed_m_s < 1e-3, "{speed_m_s} m/s are left");
}

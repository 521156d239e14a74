//! Tests of the grains against the theory of one contact, conservation laws, and the continuum.

mod bodies;
mod collision;
mod drum;
mod heap;
mod ledgers;
mod refusals;
mod rolling;

use nalgebra::Vector3;
use selene_crm::{Body, Wall};

use crate::{Container, Model, Scratch, SpheresSpec, State, StepResults, step};

/// Glass with a reduced modulus, for longer substeps.
const GLASS: SpheresSpec = SpheresSpec {
    density_kg_m3: 2500.0,
    young_pa: 5e6,
    poisson: 0.3,
    restitution: 0.9,
    friction: 0.5,
    rolling_friction: 0.0,
};
const SMOOTH: Wall = Wall::Sliding { friction: 0.0 };
const CLOSED: [[Wall; 2]; 3] = [[SMOOTH; 2]; 3];
const GRAVITY_M_S2: f64 = 9.81;

fn model(grains: &SpheresSpec, size_m: [f64; 3], walls: [[Wall; 2]; 3], gravity_m_s2: f64) -> Model {
    let gravity_m_s2 = Vector3::new(0.0, 0.0, -gravity_m_s2);
    Model::new(grains, &Container { size_m, walls }, gravity_m_s2).expect("a model")
}

fn run(model: &Model, state: &mut State, bodies: &[Body], duration_s: f64) -> StepResults {
    step(model, state, bodies, duration_s, &mut Scratch::default()).expect("a step")
}

#[track_caller]
fn close(what: &str, found: f64, law: f64, tolerance: f64) {
    println!("{what}: {found:.6}, {law:.6} by the law");
    assert!((found / law - 1.0).abs() < tolerance, "{what}: {found} is not {law} to {tolerance}");
}

//! Granular soil against exact laws: conservation, rest, flow down an incline, scaling, collapse, contact; and bucket
//! drums that dig it.

mod contact;
mod drum;
mod flow;
mod ledgers;
mod published;
mod refusals;
mod rest;

use nalgebra::Vector3;
use selene_crm::{CrmSpec, Edges, Filling, Grid, Model, Scratch, State, Wall};

/// Sand of μs = μ2 = 0.6.
const SAND: CrmSpec = CrmSpec {
    density_kg_m3: 1600.0,
    young_pa: 3e5,
    poisson: 0.3,
    friction_static: 0.6,
    friction_dynamic: 0.6,
    inertial_number: 0.3,
    grain_m: 0.001,
    grain_density_kg_m3: 2600.0,
    cohesion_pa: 0.0,
};
const SMOOTH: Wall = Wall::Sliding { friction: 0.0 };
/// A floor that soil sticks to, open above.
const FLOOR: Edges = Edges::Walls { low: Wall::Rough, high: Wall::Open };
const SMOOTH_SIDES: Edges = Edges::Walls { low: SMOOTH, high: SMOOTH };

fn model(soil: &CrmSpec, grid: &Grid, gravity_m_s2: Vector3<f64>) -> Model {
    Model::new(soil, grid, gravity_m_s2).expect("a model")
}

fn down(gravity_m_s2: f64) -> Vector3<f64> {
    Vector3::new(0.0, 0.0, -gravity_m_s2)
}

fn filled(model: &Model, low_m: [f64; 3], high_m: [f64; 3], geostatic: bool) -> State {
    let mut state = State::default();
    let filling = Filling { low_m, high_m, velocity_m_s: Vector3::zeros(), geostatic };
    state.fill(model, &filling).expect("points");
    state
}

/// Advances the soil without bodies.
fn run(model: &Model, state: &mut State, duration_s: f64) -> selene_crm::StepResults {
    selene_crm::step(model, state, &[], duration_s, &mut Scratch::default()).expect("a step")
}

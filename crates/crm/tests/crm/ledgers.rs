//! Conservation of mass and momentum, and reproducible bytes.

use nalgebra::{Isometry3, Vector3};
use selene_crm::{Body, BodyShape, Edges, Filling, Grid, Model, Scratch, State, step};

use crate::{FLOOR, SAND, SMOOTH_SIDES, down, filled, model, run};

fn column() -> (Model, State) {
    let grid = Grid { cell_m: 0.02, cells: [20, 8, 16], edges: [SMOOTH_SIDES, Edges::Periodic, FLOOR] };
    let model = model(&SAND, &grid, down(9.81));
    let state = filled(&model, [0.0; 3], [0.16, 0.16, 0.16], true);
    (model, state)
}

/// A wheel that turns and moves into the column.
fn wheel() -> Body {
    Body {
        shape: BodyShape::Cylinder { radius_m: 0.08, half_length_m: 0.06 },
        pose: Isometry3::new(Vector3::new(0.2, 0.08, 0.1), Vector3::x() * std::f64::consts::FRAC_PI_2),
        velocity_m_s: Vector3::new(-0.3, 0.0, -0.1),
        angular_velocity_rad_s: Vector3::y() * 4.0,
        friction: 0.5,
    }
}

#[test]
fn mass_is_kept_to_the_milligram() {
    let (model, mut state) = column();
    let before_mg = state.mass_mg();
    assert_eq!(before_mg, 16 * 16 * 16 * 1600);
    run(&model, &mut state, 0.1);
    assert_eq!(state.mass_mg(), before_mg);
    let mut ids: Vec<u32> = state.points.iter().map(|point| point.id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..16 * 16 * 16), "a point was lost or doubled");
}

/// The soil, the body and the walls together have the momentum that gravity gives.
#[test]
fn momentum_given_is_momentum_taken() {
    let (model, mut state) = column();
    let duration_s = 0.05;
    let before = state.momentum_n_s();
    let outcome = step(&model, &mut state, &[wheel()], duration_s, &mut Scratch::default()).expect("a step");
    let weight_n_s = model.gravity_m_s2() * (state.mass_mg() as f64 / 1e6 * duration_s);
    let body_n_s = outcome.reactions[0].impulse_n_s;
    let missing_n_s = before + weight_n_s - state.momentum_n_s() - body_n_s - outcome.walls_n_s;
    assert!(body_n_s.norm() > 0.1, "the wheel met no soil: {body_n_s}");
    assert!(outcome.reactions[0].angular_impulse_n_m_s.y < 0.0, "soil must brake the wheel");
    assert!(missing_n_s.norm() < 1e-5 * weight_n_s.norm(), "{missing_n_s} of {weight_n_s}");
}

#[test]
fn any_number_of_threads_and_any_scratch_give_the_same_bytes() {
    let after = |threads: usize, keeps_scratch: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let (model, mut state) = column();
        let mut scratch = Scratch::default();
        pool.install(|| {
            for n in 0..10 {
                let body =
                    Body { pose: Isometry3::translation(-3e-3 * f64::from(n), 0.0, 0.0) * wheel().pose, ..wheel() };
                step(&model, &mut state, &[body], 0.01, &mut scratch).expect("a step");
                if !keeps_scratch {
                    scratch = Scratch::default();
                }
            }
        });
        state.hash()
    };
    let (model, mut still) = column();
    let one = after(1, true);
    assert_eq!(one, after(2, false));
    run(&model, &mut still, 0.1);
    assert_ne!(one, still.hash(), "the wheel must change the hash");
}

/// Memory laid out for other points, another grid and another number of bodies changes nothing.
#[test]
fn a_scratch_that_served_other_soil_and_bodies_gives_the_same_bytes() {
    let small = || {
        let grid = Grid { cell_m: 0.02, cells: [12, 8, 16], edges: [SMOOTH_SIDES, Edges::Periodic, FLOOR] };
        let model = model(&SAND, &grid, down(9.81));
        let state = filled(&model, [0.0; 3], [0.16, 0.16, 0.16], true);
        (model, state)
    };
    let after = |kept: Option<&mut Scratch>| {
        let mut fresh = Scratch::default();
        let scratch = kept.unwrap_or(&mut fresh);
        let (mut soils, mut hashes) = ([column(), small()], Vec::new());
        for (turn, bodies) in [0, 1, 2, 1, 0].into_iter().enumerate() {
            let (model, state) = &mut soils[turn % 2];
            let bodies: Vec<_> = (0..bodies).map(|_| wheel()).collect();
            step(model, state, &bodies, 0.004, scratch).expect("a step");
            hashes.push(state.hash());
        }
        hashes
    };
    let mut used = Scratch::default();
    let (model, mut other) = column();
    step(&model, &mut other, &[wheel()], 0.01, &mut used).expect("a step");
    assert_eq!(after(Some(&mut used)), after(None));
}

/// A clod in free fall: its velocity is exact, its position accurate to the g t Δt of a first-order step.
#[test]
fn a_clod_in_flight_falls_freely() {
    let grid = Grid { cell_m: 0.02, cells: [30, 10, 40], edges: [SMOOTH_SIDES, SMOOTH_SIDES, FLOOR] };
    let model = model(&SAND, &grid, down(1.62));
    let velocity_m_s = Vector3::new(0.5, 0.0, 0.8);
    let filling = Filling { low_m: [0.1, 0.06, 0.1], high_m: [0.18, 0.14, 0.18], velocity_m_s, geostatic: false };
    let mut state = State::default();
    state.fill(&model, &filling).expect("points");
    let starts: Vec<_> = state.points.iter().map(|point| point.position_m).collect();
    let time_s = 0.4;
    run(&model, &mut state, time_s);
    for point in &state.points {
        let velocity = velocity_m_s + model.gravity_m_s2() * time_s;
        assert!((point.velocity_m_s.cast() - velocity).norm() < 1e-4, "{} m/s", point.velocity_m_s);
        let start = starts[point.id as usize];
        let fallen = start + velocity_m_s * time_s + model.gravity_m_s2() * (0.5 * time_s * time_s);
        let error_m = (point.position_m - fallen).norm();
        assert!(error_m < 1.62 * time_s * model.substep_max_s(), "{error_m} m off its parabola");
    }
}

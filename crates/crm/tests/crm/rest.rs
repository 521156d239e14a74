//! Soil at rest, and slopes that stand or slide.

use nalgebra::Vector3;
use selene_base::random::{RngExt, stream};
use selene_crm::{CrmSpec, Edges, Grid, Model, Scratch, State, step};

use crate::{FLOOR, SAND, down, filled, model, run};

fn layer(soil: &CrmSpec, cells_deep: u32, gravity_m_s2: Vector3<f64>) -> (Model, State) {
    let edges = [Edges::Periodic, Edges::Periodic, FLOOR];
    let grid = Grid { cell_m: 0.02, cells: [4, 4, cells_deep + 4], edges };
    let model = model(soil, &grid, gravity_m_s2);
    let state = filled(&model, [0.0; 3], [0.08, 0.08, 0.02 * f64::from(cells_deep)], true);
    (model, state)
}

/// σzz = ρ g z, to 6 % of the bed's weight at each point (20 % in the cell on the floor, whose weight nodes below the
/// floor share) and to 1 % in the mean above the two lowest cells. The mean is over two periods 4h/c of the bed, which
/// oscillates a little as nothing damps it. The horizontal stress is K₀ = ν/(1−ν) of it.
#[test]
fn a_bed_at_rest_bears_its_weight() {
    let (model, mut state) = layer(&SAND, 16, down(9.81));
    let weight_pa = 1600.0 * 9.81 * 0.32;
    let (mut vertical, mut across, mut weight) = (0.0, 0.0, 0.0);
    let instants = 32;
    let period_s = 4.0 * 0.32 / SAND.wave_speed_m_s();
    for _ in 0..instants {
        run(&model, &mut state, 2.0 * period_s / f64::from(instants));
        for point in &state.points {
            let stress = point.stress_pa.cast::<f64>();
            let expected = -1600.0 * 9.81 * (0.32 - point.position_m.z);
            let error = (stress[(2, 2)] - expected).abs() / weight_pa;
            let allowed = if point.position_m.z < 0.02 { 0.20 } else { 0.06 };
            assert!(error < allowed, "{} Pa is not {expected} Pa at {} m", stress[(2, 2)], point.position_m.z);
            assert!(point.velocity_m_s.norm() < 0.02, "{} m/s", point.velocity_m_s);
            if point.position_m.z > 0.04 {
                vertical += stress[(2, 2)];
                across += 0.5 * (stress[(0, 0)] + stress[(1, 1)]);
                weight += expected;
            }
        }
    }
    let k0 = across / vertical;
    assert!((vertical / weight - 1.0).abs() < 0.01, "mean σzz is {} of ρ g z", vertical / weight);
    assert!((k0 - 0.3 / 0.7).abs() < 0.005, "K0 is {k0}");
}

/// A shaken bed of points at random places comes to rest at the longest substep: a step that is too long keeps it in
/// motion by itself (from 1.3 of a wave's time through a cell on; the longest is 0.8).
#[test]
fn a_shaken_bed_comes_to_rest_at_the_longest_substep() {
    const SIDE_M: f64 = 0.24;
    let grid = Grid { cell_m: 0.02, cells: [12; 3], edges: [Edges::Periodic, Edges::Periodic, FLOOR] };
    let model = model(&CrmSpec { cohesion_pa: 1e5, ..SAND }, &grid, down(9.81));
    let mut state = filled(&model, [0.0; 3], [SIDE_M, SIDE_M, 0.16], true);
    let mut random = stream(1, "shaken bed");
    let mut spread = |most: f64| Vector3::from_fn(|_, _| random.random_range(-most..most));
    for point in &mut state.points {
        let moved_m = point.position_m + spread(0.2 * model.grid().cell_m);
        point.position_m =
            Vector3::new(moved_m.x.rem_euclid(SIDE_M), moved_m.y.rem_euclid(SIDE_M), moved_m.z.max(1e-3));
        point.velocity_m_s = spread(0.01).cast();
    }
    let (step_s, mut scratch, steps) = (model.substep_max_s(), Scratch::default(), 3000);
    for n in 0..steps {
        let outcome = step(&model, &mut state, &[], step_s, &mut scratch).expect("a step");
        assert!(outcome.substeps == 1 || n < 100, "{} substeps", outcome.substeps);
    }
    let squares = state.points.iter().map(|point| f64::from(point.velocity_m_s.norm_squared()));
    let speed_m_s = (squares.sum::<f64>() / state.points.len() as f64).sqrt();
    assert!(speed_m_s < 1e-3, "{speed_m_s} m/s after {steps} steps");
}

/// A layer on an incline stands below the angle atan μ and slides above it.
#[test]
fn a_slope_stands_below_the_angle_of_friction_only() {
    let slope = SAND.friction_static.atan();
    for (degrees, stands) in [(-2.0_f64, true), (2.0, false)] {
        let angle = slope + degrees.to_radians();
        let gravity = Vector3::new(9.81 * angle.sin(), 0.0, -9.81 * angle.cos());
        let (model, mut state) = layer(&SAND, 8, gravity);
        run(&model, &mut state, 1.0);
        let mean = state.momentum_n_s().x / (state.mass_mg() as f64 / 1e6);
        run(&model, &mut state, 0.5);
        let later = state.momentum_n_s().x / (state.mass_mg() as f64 / 1e6);
        // Above the angle, friction leaves g (sin θ − μ cos θ); dissipation of the grid takes a part of it.
        let left = 9.81 * (angle.sin() - 0.6 * angle.cos());
        let allowed = if stands { -0.02..0.02 } else { 0.4 * left..1.05 * left };
        let gained = (later - mean) / 0.5;
        assert!(allowed.contains(&gained), "{degrees}° from atan μ: {gained} m/s² is not in {allowed:?}");
        assert!(!stands || later.abs() < 0.01, "creeps by {later} m/s");
    }
}

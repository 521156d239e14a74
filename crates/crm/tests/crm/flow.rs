//! Flow of soil: μ(I) down an incline, collapse of a column, scaling with gravity.

use nalgebra::Vector3;
use selene_crm::{CrmSpec, Edges, Grid, Model, State};

use crate::{FLOOR, SAND, SMOOTH, SMOOTH_SIDES, down, filled, model, run};

/// Steady flow of depth H at angle θ (GDR MiDi 2004; I is based on the grains' density ρs):
/// `v = ⅔ (I/d) √(ρ g cos θ/ρs) (H^1.5 − (H − z)^1.5)`, `I = I₀ (tan θ − μs)/(μ2 − tan θ)`. The flow starts with the
/// law's profile; 12 cells of depth keep it within 15 % (L2).
#[test]
fn soil_flows_down_an_incline_by_mu_of_i() {
    let soil = CrmSpec {
        density_kg_m3: 1500.0,
        young_pa: 1e5,
        friction_static: 0.38,
        friction_dynamic: 0.64,
        inertial_number: 0.279,
        grain_m: 0.002,
        grain_density_kg_m3: 2500.0,
        ..SAND
    };
    let (angle, cell_m, cells) = (25_f64.to_radians(), 0.01, 12);
    let depth_m = f64::from(cells) * cell_m;
    let edges = [Edges::Periodic, Edges::Periodic, FLOOR];
    let grid = Grid { cell_m, cells: [4, 4, cells + 4], edges };
    let model = model(&soil, &grid, Vector3::new(9.81 * angle.sin(), 0.0, -9.81 * angle.cos()));
    let mut state = filled(&model, [0.0; 3], [0.04, 0.04, depth_m], true);
    let inertial = 0.279 * (angle.tan() - 0.38) / (0.64 - angle.tan());
    let factor = 2.0 / 3.0 * inertial / 0.002 * (1500.0 * 9.81 * angle.cos() / 2500.0).sqrt();
    let law = |z_m: f64| factor * (depth_m.powf(1.5) - (depth_m - z_m).max(0.0).powf(1.5));
    for point in &mut state.points {
        point.velocity_m_s.x = law(point.position_m.z) as f32;
    }
    run(&model, &mut state, 1.5);
    let (mut error, mut scale) = (0.0, 0.0);
    for point in &state.points {
        let expected = law(point.position_m.z);
        error += (f64::from(point.velocity_m_s.x) - expected).powi(2);
        scale += expected.powi(2);
    }
    let off = (error / scale).sqrt();
    assert!(off < 0.15, "{off} off the profile");
}

/// A plane column whose height and half width are 10 cells, between smooth sides.
fn column(gravity_m_s2: f64, young_pa: f64, cohesion_pa: f64) -> (Model, State) {
    let sides = Edges::Walls { low: SMOOTH, high: SMOOTH };
    let grid = Grid { cell_m: 0.02, cells: [40, 4, 14], edges: [SMOOTH_SIDES, sides, FLOOR] };
    let model = model(&CrmSpec { young_pa, cohesion_pa, ..SAND }, &grid, down(gravity_m_s2));
    let state = filled(&model, [0.0; 3], [0.2, 0.08, 0.2], true);
    (model, state)
}

/// Highest point of each column of cells that has points, m.
fn heights_m(state: &State) -> Vec<f64> {
    let mut heights = vec![0.0_f64; 40];
    for point in &state.points {
        let height = &mut heights[(point.position_m.x / 0.02).clamp(0.0, 39.0) as usize];
        *height = height.max(point.position_m.z);
    }
    heights
}

/// The column spreads, comes to rest, and its slope does not exceed μ.
#[test]
fn a_collapsed_column_rests_below_the_angle_of_friction() {
    let (model, mut state) = column(9.81, 3e5, 0.0);
    run(&model, &mut state, 1.2);
    let heights = heights_m(&state);
    let front_m = 0.02 * heights.iter().rposition(|height| *height > 0.02).expect("soil") as f64;
    let fastest = state.points.iter().map(|point| point.velocity_m_s.norm()).fold(0.0, f32::max);
    assert!((0.26..0.6).contains(&front_m), "front at {front_m} m, the column was 0.2 m wide");
    assert!(fastest < 0.1, "still moves with {fastest} m/s");
    for pair in heights.windows(6).filter(|pair| pair[5] > 0.02) {
        let slope = (pair[0] - pair[5]) / 0.1;
        assert!(slope < 0.6 * 1.1, "slope of {slope} over five cells: {heights:?}");
    }
}

/// With equal lengths, E and c scaled with g, and times with 1/√g, the motion is the same (Slonaker et al. 2017).
#[test]
fn the_moon_is_the_earth_in_slow_motion() {
    let ratio: f64 = 1.62 / 9.81;
    let (earth, mut on_earth) = column(9.81, 3e5, 100.0);
    let (moon, mut on_moon) = column(1.62, 3e5 * ratio, 100.0 * ratio);
    run(&earth, &mut on_earth, 0.15);
    run(&moon, &mut on_moon, 0.15 / ratio.sqrt());
    let by_id = |state: &State| {
        let mut points = state.points.to_vec();
        points.sort_unstable_by_key(|point| point.id);
        points
    };
    let (mut apart, mut moved) = (0.0_f64, 0.0_f64);
    let start = column(9.81, 3e5, 100.0).1;
    for ((a, b), from) in by_id(&on_earth).iter().zip(by_id(&on_moon)).zip(&start.points) {
        apart += (a.position_m - b.position_m).norm_squared();
        moved += (a.position_m - from.position_m).norm_squared();
    }
    let off = (apart / moved).sqrt();
    assert!(off < 1e-2, "{off} of the motion apart");
}

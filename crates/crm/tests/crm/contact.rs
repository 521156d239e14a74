//! Contact between soil and rigid bodies.

use nalgebra::{Isometry3, Vector3};
use selene_crm::rig::WheelBench;
use selene_crm::{Body, BodyShape, CrmSpec, Edges, Grid, Scratch, Wheel, step};

use crate::{FLOOR, SAND, SMOOTH_SIDES, down, filled, model};

const STEP_S: f64 = 1e-3;

/// A ball of 1 kg falls into the bed and comes to rest in it. Soil and walls take its momentum, and at the end the soil
/// bears its weight.
#[test]
fn a_ball_falls_into_soil_and_rests() {
    let grid = Grid { cell_m: 0.02, cells: [14, 14, 14], edges: [SMOOTH_SIDES, SMOOTH_SIDES, FLOOR] };
    let model = model(&SAND, &grid, down(9.81));
    let mut state = filled(&model, [0.0; 3], [0.28, 0.28, 0.12], true);
    let (radius_m, mass_kg) = (0.05, 1.0);
    let mut ball = Body {
        shape: BodyShape::Sphere { radius_m },
        pose: Isometry3::translation(0.14, 0.14, 0.12 + radius_m),
        velocity_m_s: Vector3::new(0.0, 0.0, -1.0),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.4,
    };
    let mut scratch = Scratch::default();
    let soil_kg = state.mass_mg() as f64 / 1e6;
    let before = state.momentum_n_s() + ball.velocity_m_s * mass_kg;
    let (mut walls, mut late_n_s, steps) = (Vector3::zeros(), 0.0, 400);
    for n in 0..steps {
        let outcome = step(&model, &mut state, &[ball], STEP_S, &mut scratch).expect("a step");
        walls += outcome.walls_n_s;
        ball = Body { pose: Isometry3::from(ball.pose.translation.vector + ball.velocity_m_s * STEP_S), ..ball };
        ball.velocity_m_s += outcome.reactions[0].impulse_n_s / mass_kg + model.gravity_m_s2() * STEP_S;
        late_n_s += if n >= steps / 2 { outcome.reactions[0].impulse_n_s.z } else { 0.0 };
    }
    let depth_m = 0.12 + radius_m - ball.pose.translation.z;
    assert!((0.005..0.09).contains(&depth_m), "{depth_m} m deep");
    assert!(ball.velocity_m_s.norm() < 0.03, "{} m/s", ball.velocity_m_s);
    let weight_n_s = 9.81 * mass_kg * STEP_S * f64::from(steps / 2);
    assert!((late_n_s / weight_n_s - 1.0).abs() < 0.05, "the soil bears {} of its weight", late_n_s / weight_n_s);
    let given = model.gravity_m_s2() * ((soil_kg + mass_kg) * STEP_S * f64::from(steps));
    let missing = before + given - state.momentum_n_s() - ball.velocity_m_s * mass_kg - walls;
    assert!(missing.norm() < 1e-4 * given.norm(), "{missing} of {given}");
}

/// A plate that is pressed into soil is pushed back harder the deeper it is, and more with cohesion.
#[test]
fn a_plate_meets_more_resistance_deeper_and_in_cohesive_soil() {
    let resistance_n = |cohesion_pa: f64| {
        let grid = Grid { cell_m: 0.02, cells: [16, 4, 12], edges: [SMOOTH_SIDES, Edges::Periodic, FLOOR] };
        let soil = selene_crm::CrmSpec { cohesion_pa, ..SAND };
        let model = model(&soil, &grid, down(9.81));
        let mut state = filled(&model, [0.0; 3], [0.32, 0.08, 0.16], true);
        let mut scratch = Scratch::default();
        [0.0, 0.01, 0.02, 0.03].map(|sunk_m| {
            let plate = Body {
                shape: BodyShape::Cuboid { half_m: [0.04, 0.08, 0.02] },
                pose: Isometry3::translation(0.16, 0.04, 0.18 - sunk_m),
                velocity_m_s: Vector3::new(0.0, 0.0, -0.1),
                angular_velocity_rad_s: Vector3::zeros(),
                friction: 0.4,
            };
            let outcome = step(&model, &mut state, &[plate], 0.1, &mut scratch).expect("a step");
            outcome.reactions[0].impulse_n_s.z / 0.1
        })
    };
    let (loose, cohesive) = (resistance_n(0.0), resistance_n(1000.0));
    assert!(loose[0] > 0.0 && loose.is_sorted_by(|one, deeper| one < deeper), "{loose:?} N");
    // A punch on weightless soil of cohesion c bears (2 + π) c (Prandtl): a smaller difference is too weak.
    assert!(cohesive[3] - loose[3] > 5.14 * 1000.0 * 0.08 * 0.08, "{loose:?} and {cohesive:?} N");
}

/// A slippery wheel pulls by its own friction; grousers make it pull by the soil's, and let it down to its rim.
#[test]
fn grousers_make_a_slippery_wheel_pull() {
    let soil = CrmSpec { friction_static: 0.8, friction_dynamic: 0.8, ..SAND };
    let towed = |shape| {
        let bed_m = [0.5, 0.14, 0.1];
        let bench = WheelBench { shape, friction: 0.2, mass_kg: 1.0, bed_m, from_m: 0.15, cells: 8 };
        let wheel = bench.towed(&soil, 0.4, 0.1, 0.13).expect("a wheel");
        println!("{wheel:?}");
        wheel
    };
    let smooth = towed(BodyShape::Cylinder { radius_m: 0.1, half_length_m: 0.06 });
    let grousers = Wheel { rim_m: 0.075, half_length_m: 0.06, grousers: 8, height_m: 0.025, thickness_m: 0.025 };
    let grousered = towed(BodyShape::Wheel(grousers));
    let weight_n = 1.0 * 9.81;
    assert!(smooth.pull_n < 0.2 * weight_n, "more than its friction");
    assert!(grousered.pull_n > smooth.pull_n + 0.3 * weight_n);
    assert!(grousered.sinkage_m > smooth.sinkage_m + 0.01);
}

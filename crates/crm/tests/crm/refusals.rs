//! Invalid input is refused, and the state stays unchanged.

use nalgebra::{Isometry3, Vector3};
use selene_crm::rig::WheelBench;
use selene_crm::{Body, BodyShape, CrmError, CrmSpec, Edges, Filling, Grid, Model, Scratch, State, Wheel, step};

use crate::{FLOOR, SAND, SMOOTH_SIDES, down, filled, model};

const GRID: Grid = Grid { cell_m: 0.02, cells: [8, 8, 8], edges: [SMOOTH_SIDES, Edges::Periodic, FLOOR] };

fn refused(state: &mut State, bodies: &[Body], duration_s: f64) -> CrmError {
    let before = state.hash();
    let model = model(&SAND, &GRID, down(9.81));
    let error = step(&model, state, bodies, duration_s, &mut Scratch::default()).expect_err("must be refused");
    assert_eq!(state.hash(), before, "{error}: the state has changed");
    error
}

fn bed() -> State {
    filled(&model(&SAND, &GRID, down(9.81)), [0.0; 3], [0.16, 0.16, 0.08], true)
}

#[test]
fn no_value_that_is_no_number_goes_in_or_comes_out() {
    let mut state = bed();
    state.points[7].stress_pa[(1, 2)] = f32::NAN;
    assert_eq!(refused(&mut state, &[], 0.01), CrmError::NotFinite { id: 7 });
    let mut state = bed();
    state.points[7].stress_pa *= 1e30;
    assert!(matches!(refused(&mut state, &[], 0.01), CrmError::Unstable { .. }));
}

#[test]
fn steps_are_refused_with_their_number() {
    for duration_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(&mut bed(), &[], duration_s), CrmError::Duration(_)));
    }
    let message = refused(&mut bed(), &[], 1e4).to_string();
    assert!(message.contains("step of 10000 s") && message.contains("100000 are allowed"), "{message}");
}

#[test]
fn a_point_that_leaves_through_the_open_face_is_reported() {
    let mut state = bed();
    state.points.iter_mut().for_each(|point| point.velocity_m_s.z = 3.0);
    assert!(matches!(refused(&mut state, &[], 0.1), CrmError::Outside { .. }));
}

#[test]
fn bodies_grids_soils_and_fillings_that_cannot_be_are_refused() {
    let body = Body {
        shape: BodyShape::Sphere { radius_m: 0.0 },
        pose: Isometry3::identity(),
        velocity_m_s: Vector3::zeros(),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: 0.5,
    };
    assert!(matches!(refused(&mut bed(), &[body], 0.01), CrmError::Body { index: 0, .. }));
    let ball = Body { shape: BodyShape::Sphere { radius_m: 0.1 }, friction: -1.0, ..body };
    assert!(refused(&mut bed(), &[ball], 0.01).to_string().contains("friction -1: must be 0 to 10"));

    let wheel = Wheel { rim_m: 0.1, half_length_m: 0.05, grousers: 8, height_m: 0.02, thickness_m: 0.01 };
    let with = |wheel| Body { shape: BodyShape::Wheel(wheel), ..body };
    let message = |wheel| refused(&mut bed(), &[with(wheel)], 0.01).to_string();
    assert!(message(Wheel { grousers: 0, ..wheel }).contains("0 grousers: must have 1 or more"));
    assert!(message(Wheel { height_m: 0.0, ..wheel }).contains("grousers 0 m high"));
    assert!(message(Wheel { thickness_m: 0.1, ..wheel }).contains("0.1 m thick: must be more than 0, to 0.0942 m"));

    let made = |soil: &CrmSpec, grid: &Grid| Model::new(soil, grid, down(9.81)).expect_err("refused").to_string();
    assert!(made(&SAND, &Grid { cells: [8, 6, 8], ..GRID }).contains("6 cells along y"));
    assert!(made(&SAND, &Grid { cell_m: f64::NAN, ..GRID }).contains("cell of NaN m"));
    assert!(made(&SAND, &Grid { cells: [8000; 3], ..GRID }).contains("512000000000 cells"));
    assert!(made(&CrmSpec { poisson: 0.5, ..SAND }, &GRID).contains("poisson"));

    let model = model(&SAND, &GRID, down(9.81));
    let filling = Filling { low_m: [0.0; 3], high_m: [0.2; 3], velocity_m_s: Vector3::zeros(), geostatic: false };
    let message = State::default().fill(&model, &filling).expect_err("refused").to_string();
    assert!(message.contains("from 0 to 0.2 m: must be inside of 0 to 0.16 m"), "{message}");
}

#[test]
fn a_wheel_bench_says_what_it_takes() {
    let bench = WheelBench {
        shape: BodyShape::Cylinder { radius_m: 0.1, half_length_m: 0.05 },
        friction: 0.5,
        mass_kg: 1.0,
        bed_m: [0.5, 0.14, 0.1],
        from_m: 0.15,
        cells: 4,
    };
    let towed = |bench: WheelBench, slip, speed_m_s, way_m| {
        bench.towed(&SAND, slip, speed_m_s, way_m).expect_err("refused").to_string()
    };
    assert!(towed(bench, 1.0, 0.1, 0.1).contains("a slip of 1: must be -1 to less than 1"));
    assert!(towed(bench, 0.2, 0.0, 0.1).contains("take inf s: must be 0.01..=600.0 s"));
    assert!(towed(bench, 0.2, 0.1, 0.35).contains("a way from 0.15 to 0.5 m"));
    assert!(towed(WheelBench { mass_kg: 0.0, ..bench }, 0.2, 0.1, 0.1).contains("a mass of 0 kg"));
    let ball = WheelBench { shape: BodyShape::Sphere { radius_m: 0.1 }, ..bench };
    assert!(towed(ball, 0.2, 0.1, 0.1).contains("must be a cylinder or a wheel"));
    let climbed = |rate, duration| bench.slip_on_slope(&SAND, 0.1, rate, duration).expect_err("refused").to_string();
    assert!(climbed(0.0, 1.0).contains("a rate of 0 rad/s"));
    assert!(climbed(1.0, 0.5).contains("a drive of 0.5 s: must be 0.6 s or more"));
}

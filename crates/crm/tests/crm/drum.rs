//! A bucket drum takes soil in when it turns one way, keeps it while it stands, and dumps it when it turns the other.

use std::f64::consts::{FRAC_PI_2, TAU};

use nalgebra::{Isometry3, Vector3};
use selene_crm::{Body, BodyShape, CrmSpec, Drum, Grid, Model, Scratch, State, step};

use crate::{FLOOR, SAND, SMOOTH_SIDES, down, filled, model};

const DRUM: Drum =
    Drum { radius_m: 0.2, half_length_m: 0.045, slices: 1, scoops: 3, channel_m: 0.06, overlap_rad: 1.0 };
const GRAVITY_M_S2: f64 = 1.62;
const STEP_S: f64 = 0.01;
/// RASSOR turns its drums at 20 turns a minute.
const TURN_RAD_S: f64 = 2.0;

/// Depth of the bed, and of the drum's lips in it, m.
const BED_M: f64 = 0.12;
const DEEP_M: f64 = 0.05;
const SPEED_M_S: f64 = 0.06;

/// A bed with cells of 3 cm, and a drum over it.
struct Bench {
    model: Model,
    soil: State,
    scratch: Scratch,
    drum: Body,
    /// Impulses of the soil on the drum and on the walls, and the simulated time.
    on_drum_n_s: Vector3<f64>,
    on_walls_n_s: Vector3<f64>,
    elapsed_s: f64,
}

impl Bench {
    fn new() -> Self {
        let soil = CrmSpec { young_pa: 5e4, ..SAND };
        let grid = Grid { cell_m: 0.03, cells: [24, 5, 22], edges: [SMOOTH_SIDES, SMOOTH_SIDES, FLOOR] };
        let model = model(&soil, &grid, down(GRAVITY_M_S2));
        // Turns the drum's axis, z, to lie along y.
        let lying = Vector3::x() * -FRAC_PI_2;
        let drum = Body {
            shape: BodyShape::Drum(DRUM),
            pose: Isometry3::new(Vector3::new(0.24, 0.075, BED_M + DRUM.radius_m - DEEP_M), lying),
            velocity_m_s: Vector3::zeros(),
            angular_velocity_rad_s: Vector3::zeros(),
            friction: 0.4,
        };
        let soil = filled(&model, [0.0; 3], [0.72, 0.15, BED_M], true);
        let (on_drum_n_s, on_walls_n_s) = (Vector3::zeros(), Vector3::zeros());
        Self { model, soil, scratch: Scratch::default(), drum, on_drum_n_s, on_walls_n_s, elapsed_s: 0.0 }
    }

    /// Moves the drum with this velocity and turn rate for `duration_s`.
    fn go(&mut self, velocity_m_s: [f64; 3], turn_rad_s: f64, duration_s: f64) {
        self.drum.velocity_m_s = velocity_m_s.into();
        self.drum.angular_velocity_rad_s = Vector3::y() * turn_rad_s;
        for _ in 0..(duration_s / STEP_S).round() as usize {
            let outcome = step(&self.model, &mut self.soil, &[self.drum], STEP_S, &mut self.scratch).expect("a step");
            self.drum = self.drum.moved(STEP_S);
            self.on_drum_n_s += outcome.reactions[0].impulse_n_s;
            self.on_walls_n_s += outcome.walls_n_s;
            self.elapsed_s += STEP_S;
        }
    }

    /// Soil in the cylinder that the drum fills, kg.
    fn load_kg(&self) -> f64 {
        let held = |at: &Vector3<f64>| DRUM.holds(&(self.drum.pose.inverse() * nalgebra::Point3::from(*at)).coords);
        self.soil.points.iter().filter(|point| held(&point.position_m)).map(|point| point.mass_kg()).sum()
    }
}

/// The drum takes in at least half of the soil that its lips sweep; rounding loses at most 1e-4 of gravity's impulse.
#[test]
fn a_drum_fills_with_its_turns_keeps_its_load_and_dumps_it_in_reverse() {
    let mut bench = Bench::new();
    let (before_mg, before_n_s) = (bench.soil.mass_mg(), bench.soil.momentum_n_s());
    let (turn_s, mut loads_kg) = (TAU / TURN_RAD_S, vec![bench.load_kg()]);
    for _ in 0..2 {
        bench.go([SPEED_M_S, 0.0, 0.0], TURN_RAD_S, 0.5 * turn_s);
        loads_kg.push(bench.load_kg());
    }
    let weight_n_s = down(GRAVITY_M_S2) * (before_mg as f64 / 1e6 * bench.elapsed_s);
    let taken_n_s = bench.soil.momentum_n_s() - before_n_s + bench.on_drum_n_s + bench.on_walls_n_s;
    let missing_n_s = weight_n_s - taken_n_s;
    assert!(bench.on_drum_n_s.norm() > 0.1, "the drum met no soil: {}", bench.on_drum_n_s);
    assert!(missing_n_s.norm() < 1e-4 * weight_n_s.norm(), "{missing_n_s} of {weight_n_s}");
    let swept_kg = 1600.0 * DEEP_M * 2.0 * DRUM.half_length_m * SPEED_M_S * turn_s;
    assert!(loads_kg[0] < loads_kg[1] && loads_kg[1] < loads_kg[2], "{loads_kg:?} kg");
    assert!(loads_kg[2] > loads_kg[0] + 0.5 * swept_kg, "{loads_kg:?} kg, {swept_kg} kg were swept");
    bench.go([0.0, 0.0, 0.15], 0.0, 0.8);
    bench.go([0.0; 3], 0.0, 0.5);
    let carried_kg = bench.load_kg();
    assert!(carried_kg > 0.5 * swept_kg, "{carried_kg} kg carried, {loads_kg:?} kg before, {swept_kg} kg were swept");
    bench.go([0.0; 3], 0.0, 0.5);
    assert_eq!(bench.load_kg(), carried_kg, "it leaks");
    bench.go([0.0; 3], -TURN_RAD_S, turn_s);
    assert!(bench.load_kg() < 0.1 * carried_kg, "{} kg of {carried_kg} kg are left", bench.load_kg());
    assert_eq!(bench.soil.mass_mg(), before_mg);
}

#[test]
fn five_drums_and_drums_that_cannot_be_are_refused() {
    let mut bench = Bench::new();
    let reported = |bench: &mut Bench, bodies: &[Body]| {
        step(&bench.model, &mut bench.soil, bodies, STEP_S, &mut bench.scratch)
            .expect_err("must be refused")
            .to_string()
    };
    let five = [bench.drum; 5];
    assert!(reported(&mut bench, &five).contains("body 4 in granular soil: more than 4 drums at once"));
    let bare = Body { shape: BodyShape::Drum(Drum { scoops: 0, ..DRUM }), ..bench.drum };
    assert!(reported(&mut bench, &[bare]).contains("0 scoops a slice: must be 2 to 12"));
}

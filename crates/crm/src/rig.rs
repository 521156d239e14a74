//! Test rigs: published experiments with granular matter, on cells as coarse as a test can afford. Each returns the
//! simulated value beside the published law's; the caller decides how far apart the two may be.

mod ring;
mod wheel;

use std::f64::consts::PI;

use nalgebra::{Isometry3, Vector3};

use crate::body::Body;
use crate::drum::Drum;
use crate::error::CrmError;
use crate::grid::{Edges, Grid, Wall};
use crate::model::Model;
use crate::scratch::Scratch;
use crate::shape::BodyShape;
use crate::spec::CrmSpec;
use crate::state::{Filling, Point, State};
use crate::step::step;

pub use ring::{RingTurn, ring};
pub use wheel::{TowedWheel, WheelBench};

const SMOOTH: Wall = Wall::Sliding { friction: 0.0 };
const MIRRORS: Edges = Edges::Walls { low: SMOOTH, high: SMOOTH };
const FLOOR: Edges = Edges::Walls { low: Wall::Rough, high: Wall::Open };
const EARTH_M_S2: f64 = 9.81;
/// Radius of a column, m.
const COLUMN_M: f64 = 0.1;
const SILO_SAMPLES: u32 = 20;

/// Glass beads of Jop, Forterre and Pouliquen (2006): μs 0.38, μ2 0.64, I₀ 0.279. They are softer than glass, to allow
/// longer substeps; their density is that of a loose bed.
pub const BEADS: CrmSpec = CrmSpec {
    density_kg_m3: 1500.0,
    young_pa: 1.5e5,
    poisson: 0.3,
    friction_static: 0.38,
    friction_dynamic: 0.64,
    inertial_number: 0.279,
    grain_m: 0.001,
    grain_density_kg_m3: 2500.0,
    cohesion_pa: 0.0,
};

/// A simulated value and that of the published law, in the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The simulated value.
    pub found: f64,
    /// The law's value.
    pub law: f64,
}

/// The deposit of a collapsed column; lengths as multiples of the initial radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deposit {
    /// How far it ran beyond the radius; by the law `1.24 a` for the aspect a (Lube et al. 2004, a < 1.7).
    pub run_out: Compared,
    /// Height at the axis; by the law a below 0.74, and 0.74 above (Lajeunesse et al. 2004).
    pub height: Compared,
}

/// Releases a cylinder of soil `aspect` radii high, and returns its deposit. The rig holds a quarter of it between two
/// mirrors, with `cells` per radius of 0.1 m.
///
/// # Errors
/// When the soil or the cells are not valid, or the soil leaves the rig, which is four radii long.
pub fn column(soil: &CrmSpec, aspect: f64, cells: u32) -> Result<Deposit, CrmError> {
    let (model, state) = collapsed_column(soil, aspect, cells)?;
    // Single points run farther than the deposit: its front is where all but a thousandth of the points are within.
    let mut ways_m: Vec<f64> = state.points.iter().map(|point| point.position_m.xy().norm()).collect();
    ways_m.sort_unstable_by(f64::total_cmp);
    let front_m = ways_m.get(ways_m.len() * 999 / 1000).copied().unwrap_or(0.0);
    let top_m = state.tops_m(&model).first().copied().map_or(0.0, f64::from);
    Ok(Deposit {
        run_out: Compared { found: front_m / COLUMN_M - 1.0, law: 1.24 * aspect },
        height: Compared { found: top_m / COLUMN_M, law: aspect.min(0.74) },
    })
}

/// Final model and state of [`column()`], with the column's axis at the grid's low corner.
///
/// # Errors
/// Same as `column`.
pub fn collapsed_column(soil: &CrmSpec, aspect: f64, cells: u32) -> Result<(Model, State), CrmError> {
    let radius_m = COLUMN_M;
    let (cell_m, side, height_m) = (radius_m / f64::from(cells), 4 * cells, aspect * radius_m);
    let up = (height_m / cell_m).ceil() as u32 + 4;
    let model = earth(soil, &Grid { cell_m, cells: [side, side, up], edges: [MIRRORS, MIRRORS, FLOOR] })?;
    let mut state = filled(&model, [radius_m, radius_m, height_m])?;
    state.points.retain(|point| point.position_m.xy().norm() < radius_m);
    step(&model, &mut state, &[], collapse_s(height_m), &mut Scratch::default())?;
    Ok((model, state))
}

/// Simulated time, s, for the collapse of a column of this height: four times the fall from it, and 0.2 s to come to
/// rest.
#[must_use]
pub fn collapse_s(height_m: f64) -> f64 {
    4.0 * (2.0 * height_m / EARTH_M_S2).sqrt() + 0.2
}

/// Mean vertical stress, Pa, above the lowest cells of a square silo 0.16 m wide and 0.56 m deep whose floor sank
/// 20 mm, so that the soil slides down along the walls: `σ = ρgD/(4μK) (1 − e^{−4μKz/D})` (Janssen 1895), where μ is
/// the walls' friction, and K the ratio of the horizontal to the vertical stress in the soil.
///
/// # Errors
/// When the soil is not valid.
pub fn silo(soil: &CrmSpec, friction: f64) -> Result<Compared, CrmError> {
    let (cell_m, width_m, depth_m, speed_m_s) = (0.02, 0.16, 0.56, 0.04);
    let wall = Wall::Sliding { friction };
    let sides = Edges::Walls { low: wall, high: wall };
    let model = earth(soil, &Grid { cell_m, cells: [8, 8, 34], edges: [sides, sides, FLOOR] })?;
    let floor_m = 4.0 * cell_m;
    let mut state = State::default();
    let filling = Filling {
        low_m: [0.0, 0.0, floor_m],
        high_m: [width_m, width_m, floor_m + depth_m],
        velocity_m_s: Vector3::zeros(),
        geostatic: true,
    };
    state.fill(&model, &filling)?;
    let floor = Body {
        shape: BodyShape::Cuboid { half_m: [width_m, width_m, cell_m] },
        pose: Isometry3::translation(0.5 * width_m, 0.5 * width_m, floor_m - cell_m),
        velocity_m_s: Vector3::new(0.0, 0.0, -speed_m_s),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: soil.friction_static,
    };
    let mut scratch = Scratch::default();
    // The floor sinks 10 mm until the soil slides along all walls; the mean is over another 10 mm, as force chains form
    // and break.
    let mut sunk = floor.moved(0.01 / speed_m_s);
    step(&model, &mut state, &[floor], 0.01 / speed_m_s, &mut scratch)?;
    let (mut found_pa, mut law_pa) = (0.0, 0.0);
    for _ in 0..SILO_SAMPLES {
        let between_s = 0.01 / speed_m_s / f64::from(SILO_SAMPLES);
        step(&model, &mut state, &[sunk], between_s, &mut scratch)?;
        sunk = sunk.moved(between_s);
        let above: Vec<&Point> =
            state.points.iter().filter(|point| point.position_m.z > floor_m + 4.0 * cell_m).collect();
        let stress = janssen(&above, soil.density_kg_m3, width_m / (4.0 * friction));
        found_pa += stress.found / f64::from(SILO_SAMPLES);
        law_pa += stress.law / f64::from(SILO_SAMPLES);
    }
    Ok(Compared { found: found_pa, law: law_pa })
}

/// Mean vertical stress of points, Pa, and Janssen's law for their own ratio of stresses. `wall_m` is D/(4μ).
fn janssen(points: &[&Point], density_kg_m3: f64, wall_m: f64) -> Compared {
    let mean = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| of(point)).sum::<f64>() / points.len() as f64;
    let along_pa = mean(&|point| -f64::from(point.stress_pa[(2, 2)]));
    let across_pa = mean(&|point| -0.5 * f64::from(point.stress_pa[(0, 0)] + point.stress_pa[(1, 1)]));
    let scale_m = wall_m * along_pa / across_pa;
    let top_m = points.iter().map(|point| point.position_m.z).fold(0.0, f64::max);
    let law = |point: &Point| 1.0 - (-(top_m - point.position_m.z) / scale_m).exp();
    Compared { found: along_pa, law: density_kg_m3 * EARTH_M_S2 * scale_m * mean(&law) }
}

/// Depth, m, to which a ball of 25 mm diameter and 2200 kg/m³ falls from `drop_m` above soil of friction μ:
/// `D = (0.14/μ) √(ρb/ρ) (2R)^⅔ H^⅓`, with H from its start to where it stops (Uehara et al. 2003). `cells` is the
/// number of cells per diameter.
///
/// # Errors
/// When the soil is not valid, or flies out of the rig.
pub fn ball(soil: &CrmSpec, drop_m: f64, cells: u32) -> Result<Compared, CrmError> {
    let (radius_m, density_kg_m3) = (0.0125, 2200.0);
    let cell_m = 2.0 * radius_m / f64::from(cells);
    let [side, deep] = [3 * cells + cells / 2, 2 * cells + cells / 4];
    let grid = Grid { cell_m, cells: [side, side, deep + 2 * cells], edges: [MIRRORS, MIRRORS, FLOOR] };
    let model = earth(soil, &grid)?;
    let [side_m, bed_m] = [side, deep].map(|count| f64::from(count) * cell_m);
    let mut state = filled(&model, [side_m, side_m, bed_m])?;
    let mass_kg = density_kg_m3 * 4.0 / 3.0 * PI * radius_m.powi(3);
    let mut ball = Body {
        shape: BodyShape::Sphere { radius_m },
        pose: Isometry3::translation(0.5 * side_m, 0.5 * side_m, bed_m + radius_m),
        velocity_m_s: Vector3::new(0.0, 0.0, -(2.0 * EARTH_M_S2 * drop_m).sqrt()),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: soil.friction_static,
    };
    let (mut scratch, step_s) = (Scratch::default(), 5e-4);
    while ball.velocity_m_s.z < 0.0 && ball.pose.translation.z > radius_m {
        let outcome = step(&model, &mut state, &[ball], step_s, &mut scratch)?;
        ball = ball.moved(step_s);
        ball.velocity_m_s += outcome.reactions[0].impulse_n_s / mass_kg + model.gravity_m_s2() * step_s;
    }
    let depth_m = bed_m + radius_m - ball.pose.translation.z;
    let ratio = (density_kg_m3 / soil.density_kg_m3).sqrt();
    let law = 0.14 / soil.friction_static * ratio * (2.0 * radius_m).powf(2.0 / 3.0) * (drop_m + depth_m).cbrt();
    Ok(Compared { found: depth_m, law })
}

/// Force, N, of soil on a square plate of `side_m` that is pressed down at 50 mm/s under `gravity_m_s2`, at each of
/// `depths_m`, ascending. The rig holds a quarter of the plate between two mirrors, 5 cells long, on a bed as deep as
/// the plate is long.
///
/// # Errors
/// When the soil is not valid, or the plate is too small for its points.
pub fn plate(soil: &CrmSpec, side_m: f64, gravity_m_s2: f64, depths_m: &[f64]) -> Result<Vec<f64>, CrmError> {
    let half = 0.5 * side_m;
    let cell_m = half / 5.0;
    let grid = Grid { cell_m, cells: [15, 15, 14], edges: [MIRRORS, MIRRORS, FLOOR] };
    let model = Model::new(soil, &grid, Vector3::new(0.0, 0.0, -gravity_m_s2))?;
    press(&model, BodyShape::Cuboid { half_m: [half, half, cell_m] }, cell_m, [10.0 * cell_m, 0.05], depths_m)
}

/// Force, N, of soil on a disc of `radius_m` that is pressed down at 0.2 m/s under 9.81 m/s², at each of `depths_m`,
/// ascending. The rig holds a quarter of the disc between two mirrors, 5 cells long, on a bed of depth `bed_m`, a whole
/// number of its cells.
///
/// # Errors
/// When the soil or the bed is not valid, or the disc is too small for its points.
pub fn disc(soil: &CrmSpec, radius_m: f64, bed_m: f64, depths_m: &[f64]) -> Result<Vec<f64>, CrmError> {
    let cell_m = radius_m / 5.0;
    let deep = (bed_m / cell_m).round() as u32;
    let model = earth(soil, &Grid { cell_m, cells: [15, 15, deep + 6], edges: [MIRRORS, MIRRORS, FLOOR] })?;
    // Thick enough that no soil closes over it.
    let half_length_m = 3.0 * cell_m;
    press(&model, BodyShape::Cylinder { radius_m, half_length_m }, half_length_m, [bed_m, 0.2], depths_m)
}

/// Presses a body of thickness 2 `half_m` into a bed, at the corner of two mirrors. Returns the vertical forces, N:
/// four times that on the quarter between the mirrors. `[bed_m, speed_m_s]` are the bed's depth and the speed.
fn press(
    model: &Model,
    shape: BodyShape,
    half_m: f64,
    [bed_m, speed_m_s]: [f64; 2],
    depths_m: &[f64],
) -> Result<Vec<f64>, CrmError> {
    let [side_x_m, side_y_m, _] = model.grid().size_m();
    let mut state = filled(model, [side_x_m, side_y_m, bed_m])?;
    let mut body = Body {
        shape,
        pose: Isometry3::translation(0.0, 0.0, bed_m + half_m),
        velocity_m_s: Vector3::new(0.0, 0.0, -speed_m_s),
        angular_velocity_rad_s: Vector3::zeros(),
        friction: model.soil().friction_static,
    };
    let mut scratch = Scratch::default();
    let (mut forces_n, mut depth_m) = (Vec::with_capacity(depths_m.len()), 0.0);
    for &until_m in depths_m {
        let half_s = 0.5 * (until_m - depth_m) / speed_m_s;
        // The force is the mean over the second half of the way between two depths.
        step(model, &mut state, &[body], half_s, &mut scratch)?;
        let outcome = step(model, &mut state, &[body.moved(half_s)], half_s, &mut scratch)?;
        body = body.moved(2.0 * half_s);
        forces_n.push(4.0 * outcome.reactions[0].impulse_n_s.z / half_s);
        depth_m = until_m;
    }
    Ok(forces_n)
}

/// Draft, N per metre of width, on an upright blade 0.1 m deep that is pushed at 0.1 m/s: the mean between 0.1 and 0.3
/// of its depth travelled, before a heap weighs on the soil ahead. `cells` is the number of cells per depth, `friction`
/// that between blade and soil. The law is McKyes' (1985) for a wide blade: of all straight wedges that break at an
/// angle β, the lightest, `P = γd²Nγ + c d Nc` with `Nγ = ½ cot β/D`, `Nc = (1 + cot β cot(β+φ))/D`,
/// `D = cos δ cot(β+φ) − sin δ`, and the draft `P cos δ`. In plane strain `sin φ = μ`, and the soil's cohesion is
/// `c cos φ`.
///
/// # Errors
/// When the soil or the cells are not valid.
pub fn blade(soil: &CrmSpec, friction: f64, cells: u32) -> Result<Compared, CrmError> {
    let (deep_m, speed_m_s) = (0.1, 0.1);
    let cell_m = deep_m / f64::from(cells);
    let grid = Grid { cell_m, cells: [6 * cells, 4, 4 * cells], edges: [MIRRORS, Edges::Periodic, FLOOR] };
    let model = earth(soil, &grid)?;
    let [length_m, width_m, _] = grid.size_m();
    let mut state = State::default();
    // The blade stands one depth from the end; behind it the soil's surface is level with the blade's lower edge.
    for (low_m, high_m) in
        [([0.0; 3], [deep_m, width_m, deep_m]), ([deep_m, 0.0, 0.0], [length_m, width_m, 2.0 * deep_m])]
    {
        state.fill(&model, &Filling { low_m, high_m, velocity_m_s: Vector3::zeros(), geostatic: true })?;
    }
    let blade = Body {
        shape: BodyShape::Cuboid { half_m: [2.0 * cell_m, 2.0 * width_m, deep_m] },
        pose: Isometry3::translation(deep_m - 2.0 * cell_m, 0.5 * width_m, 2.0 * deep_m),
        velocity_m_s: Vector3::new(speed_m_s, 0.0, 0.0),
        angular_velocity_rad_s: Vector3::zeros(),
        friction,
    };
    let (mut scratch, tenth_s) = (Scratch::default(), 0.1 * deep_m / speed_m_s);
    step(&model, &mut state, &[blade], tenth_s, &mut scratch)?;
    let outcome = step(&model, &mut state, &[blade.moved(tenth_s)], 2.0 * tenth_s, &mut scratch)?;
    let found = -outcome.reactions[0].impulse_n_s.x / (2.0 * tenth_s * width_m);
    Ok(Compared { found, law: mckyes_n_m(soil, friction, deep_m) })
}

/// Draft by McKyes' law, N/m; NaN for a friction of 1 or more, which has no angle of friction in plane strain.
fn mckyes_n_m(soil: &CrmSpec, friction: f64, deep_m: f64) -> f64 {
    let (inner, outer) = (soil.friction_static.asin(), friction.atan());
    let factors = |degrees: u8| {
        let wedge = f64::from(degrees).to_radians();
        let beyond = 1.0 / (wedge + inner).tan();
        let divisor = outer.cos() * beyond - outer.sin();
        [0.5 / wedge.tan() / divisor, (1.0 + beyond / wedge.tan()) / divisor]
    };
    let breaking = (1..90).map(factors).filter(|[weight, _]| *weight > 0.0);
    let [weight, cohesion] = breaking.fold([f64::NAN; 2], |least, of| if of[0] >= least[0] { least } else { of });
    let weight_n_m = soil.density_kg_m3 * EARTH_M_S2 * deep_m * deep_m * weight;
    outer.cos() * (weight_n_m + soil.cohesion_pa / inner.cos() * deep_m * cohesion)
}

/// The bed of [`drum_torques_nm`], m: its length, width and depth.
pub const DUG_BED_M: [f64; 3] = [1.02, 0.18, 0.12];
/// Parts of a drum's turn, over each of which a torque is the mean.
pub const TURN_PARTS: usize = 24;
const DUG_CELL_M: f64 = 0.03;
const DRUM_TURN_RAD_S: f64 = 2.09;

/// One slice of a drum of RASSOR's size (radius 0.222 m, 0.098 m long, three scoops) in the set-up of Chrono's drum:
/// 0.15 m/s, 2.09 rad/s, lips 50 mm deep in the middle of a bed of `DUG_BED_M`.
#[must_use]
pub fn digging_drum(friction: f64) -> Body {
    let [_, width_m, bed_m] = DUG_BED_M;
    let (radius_m, lips_m) = (0.222, 0.05);
    let shape = Drum { radius_m, half_length_m: 0.049, slices: 1, scoops: 3, channel_m: 0.06, overlap_rad: PI / 3.0 };
    Body {
        // Turns the drum's axis, z, to lie along y.
        pose: Isometry3::new(Vector3::new(0.26, 0.5 * width_m, bed_m + radius_m - lips_m), Vector3::x() * (-0.5 * PI)),
        shape: BodyShape::Drum(shape),
        velocity_m_s: Vector3::new(0.15, 0.0, 0.0),
        angular_velocity_rad_s: Vector3::y() * DRUM_TURN_RAD_S,
        friction,
    }
}

/// Duration of one of the `TURN_PARTS` of the drum's turn, s.
#[must_use]
pub fn turn_part_s() -> f64 {
    2.0 * PI / DRUM_TURN_RAD_S / TURN_PARTS as f64
}

/// Torque, N m, of the soil's resistance to [`digging_drum`] under `gravity_m_s2`, on cells of 30 mm: the mean over each
/// part of its first turn. Only Chrono's set-up is published, no torque.
///
/// # Errors
/// When the soil is not valid, or flies out of the rig.
pub fn drum_torques_nm(soil: &CrmSpec, gravity_m_s2: f64) -> Result<Vec<f64>, CrmError> {
    let [length, width, bed] = DUG_BED_M.map(|along_m| (along_m / DUG_CELL_M).round() as u32);
    let grid = Grid { cell_m: DUG_CELL_M, cells: [length, width, bed + 20], edges: [MIRRORS, MIRRORS, FLOOR] };
    let model = Model::new(soil, &grid, Vector3::new(0.0, 0.0, -gravity_m_s2))?;
    let mut state = filled(&model, DUG_BED_M)?;
    let (mut drum, mut scratch) = (digging_drum(soil.friction_static), Scratch::default());
    let part_s = turn_part_s();
    let mut torque_nm = |_| {
        let outcome = step(&model, &mut state, &[drum], part_s, &mut scratch)?;
        drum = drum.moved(part_s);
        Ok(-outcome.reactions[0].angular_impulse_n_m_s.y / part_s)
    };
    (0..TURN_PARTS).map(&mut torque_nm).collect()
}

/// Mean of the second half of a turn's torques, N m: what a drum's torque is compared by.
#[must_use]
pub fn second_half_nm(torques_nm: &[f64]) -> f64 {
    let late = &torques_nm[torques_nm.len() / 2..];
    late.iter().sum::<f64>() / late.len() as f64
}

fn earth(soil: &CrmSpec, grid: &Grid) -> Result<Model, CrmError> {
    Model::new(soil, grid, Vector3::new(0.0, 0.0, -EARTH_M_S2))
}

/// A bed from the origin to `high_m`, at rest.
fn filled(model: &Model, high_m: [f64; 3]) -> Result<State, CrmError> {
    let mut state = State::default();
    state.fill(model, &Filling { low_m: [0.0; 3], high_m, velocity_m_s: Vector3::zeros(), geostatic: true })?;
    Ok(state)
}

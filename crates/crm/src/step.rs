//! One step of the soil: sorts the points if needed, then runs substeps. A substep transfers points to tiles, tiles to
//! nodes, and the nodes' velocities back to points. It lasts at most 0.8 of the time that a pressure wave takes through
//! a cell, and no longer than it takes the fastest point or body to move half a cell.

use nalgebra::Vector3;
use rayon::prelude::*;

use crate::body::{Body, Reaction};
use crate::error::CrmError;
use crate::model::Model;
use crate::motion::MotionStatistics;
use crate::passes::Passes;
use crate::points::PointStatistics;
use crate::scratch::{InitialCondition, Scratch};
use crate::shells::{SHELLS_MAX, Shells};
use crate::state::{Point, State};
use crate::substep::next_substep;

/// The most substeps of a step.
const SUBSTEPS_MAX: u32 = 100_000;
/// The most that points move in a substep, cells.
pub(crate) const WAY_CELLS: f64 = 0.5;
/// The most that points move between two sorts, cells.
pub const SORTED_CELLS: f64 = 0.99;

/// Results of a step beside the new state of the soil.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepResults {
    /// Number of substeps that it took.
    pub substeps: u32,
    /// Impulse of the soil on each body. The soil lost the same, up to the rounding of f32.
    pub reactions: Vec<Reaction>,
    /// Impulse of the soil on the walls, N s.
    pub walls_n_s: Vector3<f64>,
}

/// Advances the soil by `duration_s`, while each of `bodies` moves along its twist.
///
/// # Errors
/// When the duration, a body or a point is not valid, when more than 100 000 substeps are needed, when a point leaves
/// the grid through an open face, or when the soil becomes too fast. `state` is then unchanged.
pub fn step(
    model: &Model,
    state: &mut State,
    bodies: &[Body],
    duration_s: f64,
    scratch: &mut Scratch,
) -> Result<StepResults, CrmError> {
    if !(duration_s > 0.0 && duration_s.is_finite()) {
        return Err(CrmError::Duration(duration_s));
    }
    bodies.iter().enumerate().try_for_each(|(index, body)| body.check(index))?;
    check_shell_count(bodies)?;
    let begun = scratch.begin(model, state, bodies.len())?;
    let mut stepping = Stepping::new(model, bodies, duration_s, scratch, &begun);
    stepping.unmoved = begun.are_in_state.then_some(state.points.as_slice());
    while stepping.elapsed_s < duration_s {
        stepping.substep()?;
    }
    let (outcome, is_outside, found) = (stepping.outcome, stepping.is_outside, stepping.found);
    if is_outside {
        check_end(model, &scratch.points)?;
    }
    state.points.swap(model, &mut scratch.points, found);
    state.sorted.clear();
    state.sorted.extend(scratch.sorted());
    Ok(outcome)
}

/// A step in progress.
struct Stepping<'a> {
    model: &'a Model,
    bodies: &'a [Body],
    duration_s: f64,
    scratch: &'a mut Scratch,
    /// The points of the state, until the first substep moves them into the scratch.
    unmoved: Option<&'a [Point]>,
    elapsed_s: f64,
    /// Speed of the fastest point, m/s.
    speed_m_s: f64,
    /// Speed of the fastest place on a body, m/s.
    body_speed_m_s: f64,
    /// Upper bound of how far a point has moved since the last sort, m.
    way_m: f64,
    /// Whether a point is outside of the grid.
    is_outside: bool,
    /// What the last substep found out about the points.
    found: PointStatistics,
    outcome: StepResults,
}

impl<'a> Stepping<'a> {
    fn new(
        model: &'a Model,
        bodies: &'a [Body],
        duration_s: f64,
        scratch: &'a mut Scratch,
        begun: &InitialCondition,
    ) -> Self {
        let body_speed_m_s = Body::fastest_m_s(bodies);
        let reactions = vec![Reaction::default(); bodies.len()];
        Self {
            model,
            bodies,
            duration_s,
            scratch,
            unmoved: None,
            elapsed_s: 0.0,
            speed_m_s: begun.speed_m_s,
            body_speed_m_s,
            way_m: begun.way_m,
            is_outside: false,
            found: PointStatistics::default(),
            outcome: StepResults { reactions, ..StepResults::default() },
        }
    }

    fn substep(&mut self) -> Result<(), CrmError> {
        let cell_m = self.model.grid().cell_m;
        if self.way_m > SORTED_CELLS * cell_m {
            self.scratch.sort(self.model, self.bodies.len())?;
            self.way_m = 0.0;
        }
        let speed_m_s = self.speed_m_s.max(self.body_speed_m_s);
        let remaining_s = self.duration_s - self.elapsed_s;
        let (substep_s, is_last) = divide(self.model, remaining_s, speed_m_s, self.outcome.substeps)?;
        let end_s = if is_last { self.duration_s } else { self.elapsed_s + substep_s };
        self.move_soil(substep_s, end_s);
        self.outcome.substeps += 1;
        self.way_m += self.speed_m_s * substep_s;
        self.elapsed_s = end_s;
        if self.speed_m_s * substep_s <= cell_m {
            return Ok(());
        }
        Err(CrmError::Unstable { speed_m_s: self.speed_m_s, substep_s })
    }

    fn move_soil(&mut self, substep_s: f64, end_s: f64) {
        let passes = Passes {
            model: self.model,
            substep_s,
            bodies: self.bodies.iter().map(|body| body.moved(self.elapsed_s)).collect(),
            shells: Shells::new(self.model, self.bodies, self.elapsed_s, end_s),
            unmoved: self.unmoved.take(),
        };
        let moved = passes.run(self.scratch);
        (self.speed_m_s, self.is_outside) = (f64::from(moved.square).sqrt(), moved.is_outside);
        let MotionStatistics { square, beyond_cells, .. } = moved;
        self.found = PointStatistics { square, beyond_cells, is_bad: false };
        self.collect(passes.rows());
    }

    /// Adds up the blocks' reactions, in the order of the blocks.
    fn collect(&mut self, rows: usize) {
        for block in self.scratch.reactions.chunks(rows).chain(self.scratch.on_shells.chunks(rows)) {
            for (sum, part) in self.outcome.reactions.iter_mut().zip(block) {
                sum.impulse_n_s += part.impulse_n_s;
                sum.angular_impulse_n_m_s += part.angular_impulse_n_m_s;
            }
            self.outcome.walls_n_s += block[rows - 1].impulse_n_s;
        }
    }
}

/// Length of the next substep, s, and whether it is the last. `speed_m_s` is that of the fastest point or body, and
/// `substeps` were made before.
///
/// # Errors
/// When the step needs more substeps than are allowed.
pub fn divide(model: &Model, remaining_s: f64, speed_m_s: f64, substeps: u32) -> Result<(f64, bool), CrmError> {
    let limit_s = model.substep_max_s().min(WAY_CELLS * model.grid().cell_m / speed_m_s);
    let allowed = SUBSTEPS_MAX.saturating_sub(substeps);
    let too_many = |needed| CrmError::Substeps { duration_s: remaining_s, needed, limit_s, allowed };
    next_substep(remaining_s, limit_s, allowed).map_err(too_many)
}

/// Checks the number of shells.
pub(crate) fn check_shell_count(bodies: &[Body]) -> Result<(), CrmError> {
    let mut shells = bodies.iter().enumerate().filter(|(_, body)| body.shape.is_shell());
    match shells.nth(SHELLS_MAX) {
        None => Ok(()),
        Some((index, _)) => Err(too_many_shells(index)),
    }
}

/// The body of this index is one drum too many.
pub(crate) fn too_many_shells(index: usize) -> CrmError {
    CrmError::Body { index, what: format!("more than {SHELLS_MAX} drums at once") }
}

fn check_end(model: &Model, points: &[Point]) -> Result<(), CrmError> {
    match points.par_iter().find_first(|point| !point.is_inside(model)) {
        None => Ok(()),
        Some(point) => Err(CrmError::Outside { id: point.id, position_m: point.position_m.into() }),
    }
}

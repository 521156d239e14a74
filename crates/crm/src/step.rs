//! A step: sort if need be, then substeps. A substep takes the points to tiles, tiles to nodes, the
//! nodes' velocities back to points. It is at most 0.4 of a pressure wave's time through a
//! cell, and short enough for no point and no body to move half a cell at the speed it has.

use nalgebra::Vector3;
use rayon::prelude::*;

use crate::block::TILE_NODES;
use crate::body::{Body, Reaction};
use crate::error::CrmError;
use crate::model::Model;
use crate::nodes::{Conditions, sum_tiles};
use crate::scratch::{Begun, Scratch, slots_around, split};
use crate::shape::Shape;
use crate::shells::{SHELLS_MAX, Shells, Sides};
use crate::state::{Point, State};
use crate::substep::next_substep;
use crate::transfer::{Beside, Moved, fill_tile, to_points, to_points_beside, to_tile};

/// The most substeps of a step.
const SUBSTEPS_MAX: u32 = 100_000;
/// The way in a substep, and between two sorts, cells.
const WAY_CELLS: f64 = 0.5;
const SORTED_CELLS: f64 = 0.99;

/// What a step did beside moving the soil.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// How many substeps it took.
    pub substeps: u32,
    /// What the soil gave to each body. Soil lost the same, up to the rounding of f32.
    pub reactions: Vec<Reaction>,
    /// Impulse that the soil gave to the walls, N s.
    pub walls_n_s: Vector3<f64>,
}

/// Moves soil by `duration_s`, while each of `bodies` moves along its twist.
///
/// # Errors
/// When the duration, a body or a point cannot be, when more than 100 000 substeps are
/// needed, when a point leaves the grid through an open face, or when the soil becomes too
/// fast. `state` is then as it was.
pub fn step(
    model: &Model,
    state: &mut State,
    bodies: &[Body],
    duration_s: f64,
    scratch: &mut Scratch,
) -> Result<Outcome, CrmError> {
    if !(duration_s > 0.0 && duration_s.is_finite()) {
        return Err(CrmError::Duration(duration_s));
    }
    bodies.iter().enumerate().try_for_each(|(index, body)| body.check(index))?;
    few_shells(bodies)?;
    let begun = scratch.begin(model, state, bodies.len())?;
    let mut stepping = Stepping::new(model, bodies, duration_s, scratch, &begun);
    stepping.unmoved = begun.are_in_state.then_some(state.points.as_slice());
    while stepping.elapsed_s < duration_s {
        stepping.substep()?;
    }
    let (outcome, is_outside) = (stepping.outcome, stepping.is_outside);
    if is_outside {
        check_end(model, &scratch.points)?;
    }
    std::mem::swap(&mut state.points, &mut scratch.points);
    state.sorted.clear();
    state.sorted.extend(scratch.sorted());
    Ok(outcome)
}

/// A step under way.
struct Stepping<'a> {
    model: &'a Model,
    bodies: &'a [Body],
    duration_s: f64,
    scratch: &'a mut Scratch,
    /// The points of the state, until the first substep moves them into the scratch.
    unmoved: Option<&'a [Point]>,
    elapsed_s: f64,
    /// The fastest point, m/s.
    speed_m_s: f64,
    /// The fastest place of a body, m/s.
    body_speed_m_s: f64,
    /// The farthest that a point can have moved since the points were sorted, m.
    way_m: f64,
    /// Whether a point is outside of the grid.
    is_outside: bool,
    outcome: Outcome,
}

impl<'a> Stepping<'a> {
    fn new(model: &'a Model, bodies: &'a [Body], duration_s: f64, scratch: &'a mut Scratch, begun: &Begun) -> Self {
        let body_speed_m_s = bodies.iter().map(Body::speed_max_m_s).fold(0.0, f64::max);
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
            outcome: Outcome { reactions, ..Outcome::default() },
        }
    }

    fn substep(&mut self) -> Result<(), CrmError> {
        let cell_m = self.model.grid().cell_m;
        if self.way_m > SORTED_CELLS * cell_m {
            self.scratch.sort(self.model, self.bodies.len())?;
            self.way_m = 0.0;
        }
        let (substep_s, is_last) = self.next_substep()?;
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

    /// Length of the next substep, s, and whether it is the last.
    fn next_substep(&self) -> Result<(f64, bool), CrmError> {
        let way_m = WAY_CELLS * self.model.grid().cell_m;
        let speed_m_s = self.speed_m_s.max(self.body_speed_m_s);
        let limit_s = self.model.substep_max_s().min(way_m / speed_m_s);
        let remaining_s = self.duration_s - self.elapsed_s;
        let allowed = SUBSTEPS_MAX - self.outcome.substeps;
        let too_many = |needed| CrmError::Substeps { duration_s: remaining_s, needed, limit_s, allowed };
        next_substep(remaining_s, limit_s, allowed).map_err(too_many)
    }

    fn move_soil(&mut self, substep_s: f64, end_s: f64) {
        let (model, rows) = (self.model, self.bodies.len() + 1);
        let shells = Shells::new(model, self.bodies, self.elapsed_s, end_s);
        let bodies: Vec<Body> = self.bodies.iter().map(|body| body.moved(self.elapsed_s)).collect();
        let Scratch { points, crowds, tiles, crowd_of, touched, nodes, nodes_of, reactions, sides, on_shells, .. } =
            &mut *self.scratch;
        if shells.are_there() {
            touched.par_iter().map(|block| shells.block_sides(model, *block)).collect_into_vec(sides);
        }
        let (sides, nodes_of, unmoved) = (&*sides, &*nodes_of, self.unmoved.take());
        let beside = |block: u32| {
            let of_tile = || {
                let mut tile = Box::new([Sides::default(); TILE_NODES]);
                fill_tile(&mut tile, sides, &slots_around(model, block, nodes_of), Sides::default());
                tile
            };
            shells.reach(model, block).then(|| Beside { shells: &shells, sides: of_tile() })
        };
        let before: &[Point] = unmoved.unwrap_or(points);
        tiles.par_iter_mut().zip(&*crowds).for_each(|(tile, crowd)| {
            let beside = beside(crowd.block);
            to_tile(model, substep_s, crowd.block, &before[crowd.points.clone()], beside.as_ref(), tile);
        });
        let conditions = Conditions { model, bodies: &bodies, substep_s };
        reactions.fill(Reaction::default());
        on_shells.fill(Reaction::default());
        let blocks = nodes.par_iter_mut().zip(reactions.par_chunks_mut(rows)).zip(&*touched);
        blocks.for_each(|((nodes, reactions), block)| {
            *nodes = sum_tiles(tiles, &slots_around(model, *block, crowd_of));
            conditions.apply(*block, nodes, reactions);
        });
        let lengths = crowds.iter().map(|crowd| crowd.points.len());
        let crowded = split(points, lengths).into_par_iter().zip(on_shells.par_chunks_mut(rows)).zip(&*crowds);
        let empty = || Box::new([[0.0; 4]; TILE_NODES]);
        let moved = crowded.map_init(empty, |tile, ((points, reactions), crowd)| {
            fill_tile(tile, nodes, &slots_around(model, crowd.block, nodes_of), [0.0; 4]);
            let unmoved = unmoved.map(|unmoved| &unmoved[crowd.points.clone()]);
            match beside(crowd.block) {
                None => to_points(model, substep_s, (crowd.block, tile), unmoved, points),
                Some(beside) => {
                    if let Some(unmoved) = unmoved {
                        points.copy_from_slice(unmoved);
                    }
                    to_points_beside(model, substep_s, (crowd.block, tile), &beside, points, reactions)
                }
            }
        });
        let moved = moved.reduce(Moved::default, Moved::and);
        (self.speed_m_s, self.is_outside) = (f64::from(moved.square).sqrt(), moved.is_outside);
        self.collect(rows);
    }

    /// Adds up what blocks gave, in the blocks' order.
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

fn few_shells(bodies: &[Body]) -> Result<(), CrmError> {
    let mut shells = bodies.iter().enumerate().filter(|(_, body)| matches!(body.shape, Shape::Drum(_)));
    match shells.nth(SHELLS_MAX) {
        None => Ok(()),
        Some((index, _)) => Err(CrmError::Body { index, what: format!("more than {SHELLS_MAX} drums at once") }),
    }
}

fn check_end(model: &Model, points: &[Point]) -> Result<(), CrmError> {
    match points.par_iter().find_first(|point| !point.is_inside(model)) {
        None => Ok(()),
        Some(point) => Err(CrmError::Outside { id: point.id, position_m: point.position_m.into() }),
    }
}

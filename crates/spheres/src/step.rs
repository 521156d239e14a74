//! One step of the grains: lists the candidate pairs, then runs substeps. A substep computes each pair's force once and
//! moves every sphere by the sum of its forces (symplectic Euler). It lasts at most a fifth of the Rayleigh time of the
//! smallest sphere, and no longer than the fastest sphere or body takes to move a tenth of that sphere's radius.
//!
//! No sphere passes through a drum's surface: its side is that of its centre, which stays half a radius off at least
//! (deeper overlaps are refused in each substep) and comes nearer by less than that in a substep.

use nalgebra::Vector3;
use rayon::prelude::*;
use selene_crm::{Body, BodyShape, CrmError, Reaction, next_substep};

use crate::candidate::{Candidate, ContactCandidates};
use crate::error::SpheresError;
use crate::model::Model;
use crate::scratch::{Pairs, Scratch};
use crate::state::{Partner, Sphere, SphereContact, State, check_spheres};

/// The most substeps of a step.
const SUBSTEPS_MAX: u32 = 1_000_000;
/// The most that anything moves in a substep, and between two listings of pairs, relative to the smallest radius.
pub(crate) const WAY_RADII: f64 = 0.1;
/// The most that a sphere may move in a substep in which it was pushed, relative to the smallest radius.
pub(crate) const PUSHED_RADII: f64 = 0.3;
pub(crate) const SKIN_RADII: f64 = 0.4;
/// Fewest spheres and pairs for one thread.
const SPHERES_A_TASK: usize = 64;
const PAIRS_A_TASK: usize = 256;

/// Results of a step beside the new state of the grains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepResults {
    /// Number of substeps that it took.
    pub substeps: u32,
    /// Impulse of the grains on each body. Grains lost the same, up to the rounding of f64.
    pub reactions: Vec<Reaction>,
    /// Impulse of the grains on the low and the high wall of each axis, N s.
    pub walls_n_s: [[Vector3<f64>; 2]; 3],
}

/// Advances the grains by `duration_s`, while each of `bodies` moves along its twist.
///
/// # Errors
/// When the duration, a body, a grain or the order of the state is not valid, when more than 1 000 000 substeps are
/// needed, when a grain leaves through an open wall, overlaps too deeply or becomes too fast. `state` is then
/// unchanged.
pub fn step(
    model: &Model,
    state: &mut State,
    bodies: &[Body],
    duration_s: f64,
    scratch: &mut Scratch,
) -> Result<StepResults, SpheresError> {
    if !(duration_s > 0.0 && duration_s.is_finite()) {
        return Err(SpheresError::Duration(duration_s));
    }
    bodies.iter().enumerate().try_for_each(|(index, body)| check_body(index, body))?;
    state.check(model)?;
    bodies.iter().enumerate().try_for_each(|(index, body)| check_sizes(index, body, &state.spheres))?;
    scratch.spheres.clone_from(&state.spheres);
    let mut stepping = Stepping::new(model, bodies, duration_s, scratch);
    stepping.list(&state.contacts);
    while stepping.elapsed_s < duration_s {
        stepping.substep()?;
    }
    let outcome = stepping.outcome;
    check_spheres(model, &scratch.spheres)?;
    scratch.candidates.iter().try_for_each(|candidate| check_overlap(candidate, &scratch.spheres))?;
    state.contacts = scratch.contacts();
    state.spheres.clone_from(&scratch.spheres);
    Ok(outcome)
}

/// A step in progress.
struct Stepping<'a> {
    model: &'a Model,
    bodies: &'a [Body],
    duration_s: f64,
    scratch: &'a mut Scratch,
    elapsed_s: f64,
    /// The smallest radius, m; infinite without spheres.
    smallest_m: f64,
    /// Speed of the fastest sphere, m/s.
    speed_m_s: f64,
    /// Speed of the fastest place on a body, m/s.
    body_speed_m_s: f64,
    /// Upper bound of how much nearer any two have come since the last listing, m.
    way_m: f64,
    outcome: StepResults,
}

impl<'a> Stepping<'a> {
    fn new(model: &'a Model, bodies: &'a [Body], duration_s: f64, scratch: &'a mut Scratch) -> Self {
        let speeds = scratch.spheres.iter().map(|sphere| sphere.velocity_m_s.norm());
        let speed_m_s = speeds.fold(0.0, f64::max);
        let smallest_m = scratch.spheres.iter().map(|sphere| sphere.radius_m).fold(f64::INFINITY, f64::min);
        let body_speed_m_s = Body::fastest_m_s(bodies);
        let outcome = StepResults { reactions: vec![Reaction::default(); bodies.len()], ..StepResults::default() };
        Self {
            model,
            bodies,
            duration_s,
            scratch,
            elapsed_s: 0.0,
            smallest_m,
            speed_m_s,
            body_speed_m_s,
            way_m: 0.0,
            outcome,
        }
    }

    /// Lists the candidate pairs.
    fn list(&mut self, contacts: &[SphereContact]) {
        let spheres = std::mem::take(&mut self.scratch.spheres);
        let bodies = self.moved_bodies();
        let scene = ContactCandidates { model: self.model, spheres: &spheres, bodies: &bodies };
        self.scratch.list(&scene, contacts, SKIN_RADII * self.smallest_m);
        self.scratch.spheres = spheres;
        self.way_m = 0.0;
    }

    fn moved_bodies(&self) -> Vec<Body> {
        self.bodies.iter().map(|body| body.moved(self.elapsed_s)).collect()
    }

    fn substep(&mut self) -> Result<(), SpheresError> {
        if self.way_m > SKIN_RADII * self.smallest_m {
            self.list(&self.scratch.contacts());
        }
        let (substep_s, is_last) = self.next_substep()?;
        self.meet(substep_s);
        self.react(substep_s)?;
        self.speed_m_s = move_spheres(self.model, self.scratch, substep_s);
        self.outcome.substeps += 1;
        self.way_m += (2.0 * self.speed_m_s + self.body_speed_m_s) * substep_s;
        self.elapsed_s = if is_last { self.duration_s } else { self.elapsed_s + substep_s };
        if self.scratch.spheres.is_empty() || self.speed_m_s * substep_s <= PUSHED_RADII * self.smallest_m {
            return Ok(());
        }
        Err(SpheresError::Unstable { speed_m_s: self.speed_m_s, substep_s })
    }

    /// Length of the next substep, s, and whether it is the last.
    fn next_substep(&self) -> Result<(f64, bool), SpheresError> {
        let fastest_m_s = self.speed_m_s.max(self.body_speed_m_s);
        divide(self.model, self.smallest_m, self.duration_s - self.elapsed_s, fastest_m_s, self.outcome.substeps)
    }

    /// Computes the force and moments of each contact.
    fn meet(&mut self, substep_s: f64) {
        let bodies = self.moved_bodies();
        let Scratch { spheres, candidates, .. } = &mut *self.scratch;
        let scene = ContactCandidates { model: self.model, spheres, bodies: &bodies };
        let pairs = candidates.par_iter_mut().with_min_len(PAIRS_A_TASK);
        pairs.for_each(|candidate| candidate.meet(&scene, substep_s));
    }

    /// Adds up the impulses on bodies and walls, in the order of the list.
    fn react(&mut self, substep_s: f64) -> Result<(), SpheresError> {
        for place in &self.scratch.with_rigid {
            let candidate = &self.scratch.candidates[*place as usize];
            let Some(action) = &candidate.action else { continue };
            match candidate.partner {
                Partner::Sphere(_) => {}
                Partner::Wall(face) => {
                    let wall_n_s = &mut self.outcome.walls_n_s[usize::from(face / 2)][usize::from(face % 2)];
                    *wall_n_s -= action.force_n * substep_s;
                }
                Partner::Body(index) | Partner::Shell { body: index, .. } => {
                    let reaction = &mut self.outcome.reactions[index as usize];
                    reaction.impulse_n_s -= action.force_n * substep_s;
                    reaction.angular_impulse_n_m_s += action.partner_moment_n_m * substep_s;
                }
            }
            if matches!(candidate.partner, Partner::Shell { .. }) {
                check_overlap(candidate, &self.scratch.spheres)?;
            }
        }
        Ok(())
    }
}

/// Length, s, of the next substep of a step of which `remaining_s` and `substeps_so_far` are known, and whether it is the
/// last. The smallest grain has the radius `smallest_m`; `fastest_m_s` is the speed of the fastest grain or body.
///
/// # Errors
/// When more than 1 000 000 substeps are needed.
pub fn divide(
    model: &Model,
    smallest_m: f64,
    remaining_s: f64,
    fastest_m_s: f64,
    substeps_so_far: u32,
) -> Result<(f64, bool), SpheresError> {
    let limit_s = model.substep_max_s(smallest_m).min(WAY_RADII * smallest_m / fastest_m_s);
    let allowed = SUBSTEPS_MAX.saturating_sub(substeps_so_far);
    let too_many = |needed| SpheresError::Substeps { duration_s: remaining_s, needed, limit_s, allowed };
    next_substep(remaining_s, limit_s, allowed).map_err(too_many)
}

/// Moves every sphere by its contacts and gravity, and returns the highest speed, m/s.
fn move_spheres(model: &Model, scratch: &mut Scratch, substep_s: f64) -> f64 {
    let (spheres, pairs) = Pairs::split(scratch);
    let numbered = spheres.par_iter_mut().enumerate().with_min_len(SPHERES_A_TASK);
    let squares = numbered.map(|(place, sphere)| {
        let (force_n, moment_n_m) = sums(&pairs, place);
        let pushed = force_n / model.mass_kg(sphere.radius_m) + model.gravity_m_s2();
        sphere.velocity_m_s += pushed * substep_s;
        sphere.angular_velocity_rad_s += moment_n_m * (substep_s / model.inertia_kg_m2(sphere.radius_m));
        sphere.position_m += sphere.velocity_m_s * substep_s;
        sphere.velocity_m_s.norm_squared()
    });
    squares.reduce(|| 0.0, f64::max).sqrt()
}

/// Sum of force, N, and moment, N m, over all contacts of the sphere at index `place`.
fn sums(pairs: &Pairs, place: usize) -> (Vector3<f64>, Vector3<f64>) {
    let (mut force_n, mut moment_n_m) = (Vector3::zeros(), Vector3::zeros());
    for candidate in pairs.of(place) {
        let Some(action) = &candidate.action else { continue };
        if candidate.low as usize == place {
            force_n += action.force_n;
            moment_n_m += action.moment_n_m;
        } else {
            force_n -= action.force_n;
            moment_n_m += action.partner_moment_n_m;
        }
    }
    (force_n, moment_n_m)
}

/// Checks a body. Wheels with grousers are refused: a grain may touch rim and grouser at once, and a solid body has one
/// contact with it.
pub(crate) fn check_body(index: usize, body: &Body) -> Result<(), SpheresError> {
    body.check(index)?;
    match body.shape {
        BodyShape::Wheel(_) => {
            let what = "a wheel with grousers among single grains: a cylinder is allowed".to_owned();
            Err(CrmError::Body { index, what }.into())
        }
        _ => Ok(()),
    }
}

/// Checks that no grain is too large for a body that is a drum.
fn check_sizes(index: usize, body: &Body, spheres: &[Sphere]) -> Result<(), SpheresError> {
    let BodyShape::Drum(drum) = body.shape else { return Ok(()) };
    let limit_m = drum.sphere_max_m();
    match spheres.iter().find(|sphere| sphere.radius_m > limit_m) {
        None => Ok(()),
        Some(Sphere { id, radius_m, .. }) => {
            Err(SpheresError::TooLarge { id: *id, radius_m: *radius_m, index, limit_m })
        }
    }
}

fn check_overlap(candidate: &Candidate, spheres: &[Sphere]) -> Result<(), SpheresError> {
    match candidate.too_deep() {
        None => Ok(()),
        Some((overlap_m, limit_m)) => {
            Err(SpheresError::Overlap { id: spheres[candidate.low as usize].id, overlap_m, limit_m })
        }
    }
}

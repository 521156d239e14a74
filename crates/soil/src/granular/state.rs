//! The state of a granular window: the soil of each post, and the points while the soil flows, or its grains.

use nalgebra::{Matrix3, Vector3};
use selene_crm::{Grid, LAYERS, Model, PlacedDrum, Point, SoilPiece, State, Totals};
use selene_spheres::Sphere;
use selene_terrain::{GroundPatch, Ruts, Terrain};
use serde::{Deserialize, Serialize};

use crate::granular::bed::Bed;
use crate::granular::place::Place;
use crate::granular::shells::Shells;
use crate::granular::solver::{GranularDevice, PlacedPoints, SoilSolver};
use crate::granular::window::{GranularError, GranularWindow, Matter};
use crate::memory::MemoryPatch;

/// Points sleep when for `STILL_S`, s, their root mean square speed was below `STILL_M_S` and none was
/// faster than `FLYING_M_S`, m/s: a clod in flight is slower only for an instant.
const STILL_M_S: f64 = 0.01;
const FLYING_M_S: f32 = 0.2;
const STILL_S: f64 = 0.5;
/// Interval at which the ground's posts follow the points, s, and the smallest change of a post, m.
const SHOW_S: f64 = 0.02;
const REPORTED_M: f32 = 0.0005;
/// Milligrams in a kilogram, and micrograms in a milligram.
pub(crate) const MG_PER_KG: f64 = 1e6;
const UG_PER_MG: i64 = 1000;
/// The most dust that a window of a valid state gained or lost, µg: a thousand tonnes.
const DUST_MAX_UG: u64 = 1_000_000_000_000_000;

/// The state of a window.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowState {
    /// Soil of each post above the window's floor, mg, x fastest; while the soil flows, only what was
    /// too shallow for a point.
    posts_mg: Vec<u64>,
    /// Soil of posts and points together at the start, mg.
    total_mg: u64,
    /// Dust that landed in the window less what was thrown from it, µg.
    dust_ug: i64,
    /// Whole milligrams of it that posts and points have got: with `total_mg` the soil that they have now.
    gained_mg: i64,
    /// Milligrams of dust that were given and taken so far: whose turn it is.
    turn: u64,
    /// The points, while the soil flows; single grains always.
    flowing: Option<Flowing>,
}

/// What a step of flowing soil changes.
pub(crate) struct Stepped<'a> {
    pub(crate) particles: &'a mut Particles,
    pub(crate) place: &'a mut Place,
    pub(crate) turn: u64,
    pub(crate) shells: &'a mut Shells,
}

/// Soil that flows, or grains, which may rest.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Flowing {
    particles: Particles,
    /// Where its points are.
    place: Place,
    /// Whether the grains rest: they are not stepped until a body comes.
    rests: bool,
    /// The drums in it.
    shells: Shells,
    /// Tops of the columns of cells above the floor when the points woke, m, x fastest.
    tops_m: Vec<f32>,
    /// Rise of each post since then, as written to the ground, m.
    reported_m: Vec<f32>,
    /// Time since the ground was last updated, s.
    unshown_s: f64,
    /// Time for which no body was inside and nothing moved, s.
    still_s: f64,
}

/// The pieces of a window's soil.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Particles {
    /// Points of a continuum.
    Points(State),
    /// Single grains.
    Grains(Bed),
}

impl Default for Particles {
    fn default() -> Self {
        Self::Points(State::default())
    }
}

impl Clone for Particles {
    fn clone(&self) -> Self {
        match self {
            Self::Points(points) => Self::Points(points.clone()),
            Self::Grains(bed) => Self::Grains(bed.clone()),
        }
    }

    fn clone_from(&mut self, source: &Self) {
        match (self, source) {
            (Self::Points(copy), Self::Points(points)) => copy.clone_from(points),
            (Self::Grains(copy), Self::Grains(bed)) => copy.clone_from(bed),
            (copy, source) => *copy = source.clone(),
        }
    }
}

impl Particles {
    fn totals(&self, drums: &[PlacedDrum]) -> Totals {
        match self {
            Self::Points(points) => points.totals(drums),
            Self::Grains(bed) => selene_crm::totals(bed.grains(), drums),
        }
    }

    fn highest(&self, grid: &Grid, outside: &[PlacedDrum]) -> Vec<[Option<SoilPiece>; LAYERS]> {
        match self {
            Self::Points(points) => points.highest(grid, outside),
            Self::Grains(bed) => selene_crm::highest(grid, bed.grains(), outside),
        }
    }
}

impl Clone for WindowState {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses its allocations, since each heartbeat makes a copy.
    fn clone_from(&mut self, source: &Self) {
        let Self { posts_mg, total_mg, dust_ug, gained_mg, turn, flowing } = source;
        self.posts_mg.clone_from(posts_mg);
        (self.total_mg, self.dust_ug, self.gained_mg, self.turn) = (*total_mg, *dust_ug, *gained_mg, *turn);
        self.flowing.clone_from(flowing);
    }
}

impl Clone for Flowing {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { particles, place, rests, shells, tops_m, reported_m, unshown_s, still_s } = source;
        self.particles.clone_from(particles);
        (self.place, self.rests) = (*place, *rests);
        self.shells.clone_from(shells);
        self.tops_m.clone_from(tops_m);
        self.reported_m.clone_from(reported_m);
        (self.unshown_s, self.still_s) = (*unshown_s, *still_s);
    }
}

impl WindowState {
    /// Whether its points or grains are stepped.
    #[must_use]
    pub fn is_flowing(&self) -> bool {
        self.flowing.as_ref().is_some_and(|flowing| !flowing.rests)
    }

    /// Whether its points are on a device. The state's are then older.
    #[must_use]
    pub fn is_on_device(&self) -> bool {
        self.flowing.as_ref().is_some_and(|flowing| flowing.place != Place::State)
    }

    /// The points; empty while the soil is a height field, and where it is grains.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        match self.particles() {
            Some(Particles::Points(points)) => &points.points,
            Some(Particles::Grains(_)) | None => &[],
        }
    }

    /// The single grains, in ascending order of their numbers; empty where the soil is none.
    #[must_use]
    pub fn grains(&self) -> &[Sphere] {
        match self.particles() {
            Some(Particles::Grains(bed)) => bed.spheres(),
            Some(Particles::Points(_)) | None => &[],
        }
    }

    pub(crate) fn particles(&self) -> Option<&Particles> {
        self.flowing.as_ref().map(|flowing| &flowing.particles)
    }

    #[cfg(test)]
    pub(crate) fn particles_mut(&mut self) -> Option<&mut Particles> {
        self.flowing.as_mut().map(|flowing| &mut flowing.particles)
    }

    #[cfg(test)]
    pub(crate) fn shells_mut(&mut self) -> Option<&mut Shells> {
        self.flowing.as_mut().map(|flowing| &mut flowing.shells)
    }

    /// What a step changes.
    pub(crate) fn stepped_mut(&mut self) -> Option<Stepped<'_>> {
        let Flowing { particles, place, shells, .. } = self.flowing.as_mut()?;
        Some(Stepped { particles, place, turn: self.turn, shells })
    }

    /// The points and where they are; `None` if there are none.
    pub(crate) fn placed_points(&self) -> Option<PlacedPoints<'_>> {
        let Flowing { particles: Particles::Points(points), place, .. } = self.flowing.as_ref()? else { return None };
        Some(PlacedPoints { points, place: *place, turn: self.turn })
    }

    /// Sets `copy` to this state, but for points that are on a device: there [`GranularWindow::mark`] keeps them.
    pub fn copy_to(&mut self, copy: &mut Self) {
        let is_there = |flowing: &&mut Flowing| flowing.place != Place::State;
        let left_out = self.flowing.as_mut().filter(is_there).map(|flowing| std::mem::take(&mut flowing.particles));
        copy.clone_from(self);
        if let (Some(flowing), Some(particles)) = (&mut self.flowing, left_out) {
            flowing.particles = particles;
        }
    }

    pub(crate) fn shells(&self) -> Option<&Shells> {
        self.flowing.as_ref().map(|flowing| &flowing.shells)
    }

    /// Numbers of the drums in it.
    pub fn drums(&self) -> impl Iterator<Item = u64> {
        self.shells().into_iter().flat_map(Shells::numbers)
    }

    /// Soil of its posts, mg.
    #[must_use]
    pub fn posts_mg(&self) -> u64 {
        self.posts_mg.iter().sum()
    }

    /// Soil of its points or grains, mg.
    #[must_use]
    pub fn points_mg(&self) -> u64 {
        self.particles().map_or(0, |particles| particles.totals(&[]).mass_mg)
    }

    /// Soil with which the window began, mg.
    #[must_use]
    pub fn total_mg(&self) -> u64 {
        self.total_mg
    }

    /// Dust that landed in the window less what was thrown from it, µg.
    #[must_use]
    pub fn dust_ug(&self) -> i64 {
        self.dust_ug
    }

    /// Soil in the window, µg: that of posts and points, and what they have not yet got or given of the dust.
    #[must_use]
    pub fn soil_ug(&self) -> i64 {
        (self.posts_mg() + self.points_mg()) as i64 * UG_PER_MG + self.dust_ug - self.gained_mg * UG_PER_MG
    }

    /// Gives the window dust that landed in it; a negative mass is dust that was thrown from it. Each whole milligram
    /// goes to one point, or to one post while the soil is a height field or grains, in turn.
    pub fn take_dust(&mut self, mass_ug: i64) {
        self.dust_ug += mass_ug;
        let due_mg = self.dust_ug.div_euclid(UG_PER_MG) - self.gained_mg;
        let given_mg = match &mut self.flowing {
            Some(Flowing { particles: Particles::Points(points), .. }) => {
                deal(&mut points.points, change_point, self.turn as usize, due_mg)
            }
            _ => deal(&mut self.posts_mg, change_post, self.turn as usize, due_mg),
        };
        self.gained_mg += given_mg;
        self.turn = self.turn.wrapping_add(given_mg.unsigned_abs());
    }

    /// Tops of the columns of cells above the floor when the points woke, m, x fastest; empty while the soil is a
    /// height field.
    pub(crate) fn tops_m(&self) -> &[f32] {
        self.flowing.as_ref().map_or(&[], |flowing| &flowing.tops_m)
    }

    /// Rise of a post since the points woke, as written to the ground, m.
    pub(crate) fn risen_m(&self, post: usize) -> f64 {
        let reported_m = self.flowing.as_ref().and_then(|flowing| flowing.reported_m.get(post));
        reported_m.map_or(0.0, |reported_m| f64::from(*reported_m))
    }
}

/// What the end of a heartbeat is to do with a window's points.
#[derive(Clone, Debug, Default)]
#[must_use = "the ground is updated by `settle`"]
pub struct EndOfHeartbeat {
    /// Whether they become a height field again.
    sleeps: bool,
    /// Height of their surface in each column of cells, m above the floor, if the ground is to be updated.
    tops_m: Option<Vec<f32>>,
    /// Speed of the fastest of them, m/s.
    pub fastest_m_s: f32,
}

impl GranularWindow {
    /// The window's state at rest: each post has the soil above the window's floor, at the soil's density. A window of
    /// grains has a bed of them instead, which settles on the CPU or on `device`.
    ///
    /// # Errors
    /// When grains cannot settle, are too many for the CPU, or the device fails.
    pub fn at_rest(
        &self,
        terrain: &Terrain,
        ruts: &Ruts,
        device: Option<&GranularDevice>,
    ) -> Result<WindowState, GranularError> {
        let ground = self.posts.ground(terrain, &mut ruts.clone());
        let heights_m = self.heights_m(&ground);
        match &self.matter {
            Matter::Points(model) => Ok(self.posts_at_rest(model, &heights_m)),
            Matter::Grains(grains) => {
                let device = device.map(|device| &device.grains);
                let bed = grains.bed(device, |at_m| self.height_m(&heights_m, at_m.map(|m| m / self.posts.apart_m)));
                Ok(self.bed_at_rest(bed.map_err(|source| self.grains_failed(source))?))
            }
        }
    }

    fn posts_at_rest(&self, model: &Model, heights_m: &[f64]) -> WindowState {
        let mg_per_m = model.soil().density_kg_m3 * self.posts.apart_m.powi(2) * MG_PER_KG;
        let mass_mg = |height_m: &f64| (height_m.max(0.0) * mg_per_m).round() as u64;
        let posts_mg: Vec<u64> = heights_m.iter().map(mass_mg).collect();
        WindowState { total_mg: posts_mg.iter().sum(), posts_mg, ..WindowState::default() }
    }

    fn bed_at_rest(&self, bed: Bed) -> WindowState {
        let flowing = self.begin(Particles::Grains(bed));
        let total_mg = flowing.particles.totals(&[]).mass_mg;
        let flowing = Some(Flowing { rests: true, ..flowing });
        WindowState { posts_mg: vec![0; self.posts.count()], total_mg, flowing, ..WindowState::default() }
    }

    /// Soil that begins to flow.
    fn begin(&self, particles: Particles) -> Flowing {
        let (tops_m, reported_m) = (self.tops_of_m(&particles), vec![0.0; self.posts.count()]);
        Flowing { particles, tops_m, reported_m, ..Flowing::default() }
    }

    /// Height of the surface in each column of cells, m above the floor.
    fn tops_of_m(&self, particles: &Particles) -> Vec<f32> {
        match (&self.matter, particles) {
            (Matter::Points(model), Particles::Points(points)) => points.tops_m(model),
            (Matter::Grains(grains), Particles::Grains(bed)) => {
                selene_crm::tops_m(&self.grid, grains.bed_kg_m3(), bed.masses_kg(grains))
            }
            (Matter::Points(_), Particles::Grains(_)) | (Matter::Grains(_), Particles::Points(_)) => Vec::new(),
        }
    }

    /// Whether a state, perhaps read from a file, is valid for this window.
    #[must_use]
    pub fn fits(&self, state: &WindowState) -> bool {
        let [x, y] = self.posts.cells();
        let flowing_fits = state.flowing.as_ref().is_none_or(|flowing| {
            let lengths_fit = flowing.tops_m.len() == x * y && flowing.reported_m.len() == self.posts.count();
            let mut heights_m = flowing.tops_m.iter().chain(&flowing.reported_m);
            let times_fit = flowing.unshown_s.is_finite() && flowing.still_s.is_finite();
            lengths_fit && times_fit && flowing.shells.are_sound() && heights_m.all(|height_m| height_m.is_finite())
        });
        let matter_fits = match (&self.matter, state.particles()) {
            (Matter::Points(_), Some(Particles::Points(_)) | None) => {
                !state.flowing.as_ref().is_some_and(|of| of.rests)
            }
            (Matter::Grains(grains), Some(Particles::Grains(bed))) => bed.fits(grains),
            (Matter::Points(_), Some(Particles::Grains(_)))
            | (Matter::Grains(_), Some(Particles::Points(_)) | None) => false,
        };
        let dust_fits = state.dust_ug.unsigned_abs() <= DUST_MAX_UG
            && (state.dust_ug.div_euclid(UG_PER_MG) - state.gained_mg).unsigned_abs() <= DUST_MAX_UG;
        let fits = state.posts_mg.len() == self.posts.count() && flowing_fits && matter_fits && dust_fits;
        fits && self.balance(state).is_ok()
    }

    /// Checks that the window has as much soil as it began with, and got as dust.
    ///
    /// # Errors
    /// When the sum differs by a milligram or more.
    pub fn balance(&self, state: &WindowState) -> Result<(), GranularError> {
        self.balance_with(state, state.points_mg())
    }

    /// The same with the mass of the points or grains, mg, as it was found where they are.
    fn balance_with(&self, state: &WindowState, points_mg: u64) -> Result<(), GranularError> {
        let found_mg = state.posts_mg.iter().copied().chain([points_mg]).fold(0_u64, u64::saturating_add);
        let expected_mg = state.total_mg.saturating_add_signed(state.gained_mg);
        if found_mg == expected_mg {
            return Ok(());
        }
        Err(GranularError::Ledger { window: self.name().to_owned(), found_mg, expected_mg })
    }

    /// Turns the soil into points, unless it already flows, or wakes its grains.
    pub fn wake(&self, state: &mut WindowState, ground: &GroundPatch) {
        match (&self.matter, &mut state.flowing) {
            (_, Some(flowing)) => flowing.rests = false,
            (Matter::Points(model), None) => self.wake_points(model, state, ground),
            (Matter::Grains(_), None) => {}
        }
    }

    fn wake_points(&self, model: &Model, state: &mut WindowState, ground: &GroundPatch) {
        let heights_m = self.heights_m(ground);
        let [columns, rows] = self.posts.cells();
        let mut points = State::default();
        for cell in 0..columns * rows {
            let at = [cell % columns, cell / columns];
            let mass_mg = self.posts_of(at).map(|post| std::mem::take(&mut state.posts_mg[post])).sum();
            let first = self.posts_of(at).next().unwrap_or_default();
            state.posts_mg[first] = self.fill(model, at, mass_mg, &heights_m, &mut points.points);
        }
        state.flowing = Some(self.begin(Particles::Points(points)));
    }

    /// Heights of the posts above the floor, m.
    fn heights_m(&self, ground: &GroundPatch) -> Vec<f64> {
        self.posts.heights_m(ground).into_iter().map(|m| m - self.corner_m.z).collect()
    }

    /// Height between posts of `heights_m`, m, at a place in the window, in units of the posts' distance.
    fn height_m(&self, heights_m: &[f64], place: [f64; 2]) -> f64 {
        let around = corners(self.posts.along, place);
        around.iter().map(|(post, share)| heights_m[*post] * share).sum()
    }

    /// Ends a heartbeat of `elapsed_s` for the points: finds what `settle` is to do, and checks the ledger. Reads the points
    /// and not the ground, so several windows can do it at once. Grains come back from a device, and so do points that
    /// are to sleep.
    ///
    /// # Errors
    /// When soil was lost or created, or the device fails.
    pub fn end_heartbeat(
        &self,
        state: &mut WindowState,
        solver: &mut SoilSolver,
        is_entered: bool,
        elapsed_s: f64,
    ) -> Result<EndOfHeartbeat, GranularError> {
        self.bring_grains_back(state, solver)?;
        let totals = self.totals(state, solver, &[])?;
        self.balance_with(state, totals.mass_mg)?;
        let mut end = EndOfHeartbeat { fastest_m_s: totals.fastest_m_s, ..EndOfHeartbeat::default() };
        let Some(flowing) = state.flowing.as_mut().filter(|flowing| !flowing.rests) else { return Ok(end) };
        let is_still = !is_entered && is_still(&totals);
        flowing.still_s = if is_still { flowing.still_s + elapsed_s } else { 0.0 };
        flowing.unshown_s += elapsed_s;
        end.sleeps = flowing.still_s >= STILL_S;
        if end.sleeps || flowing.unshown_s >= SHOW_S {
            end.tops_m = Some(self.tops_now_m(state, solver)?);
        }
        if end.sleeps {
            self.bring_back(state, solver)?;
        }
        Ok(end)
    }

    /// Sums over the points or grains, wherever they are, and over those in each of `drums`.
    pub(crate) fn totals(
        &self,
        state: &WindowState,
        solver: &mut SoilSolver,
        drums: &[PlacedDrum],
    ) -> Result<Totals, GranularError> {
        match state.placed_points().and_then(|points| solver.points.device(&points)) {
            Some(soil) => soil.and_then(|soil| soil.totals(drums)).map_err(|source| self.failed(source)),
            None => Ok(state.particles().map_or_else(Totals::default, |particles| particles.totals(drums))),
        }
    }

    /// The highest points or grains of each column, wherever they are, that are in none of the drums `outside`.
    pub(crate) fn highest(
        &self,
        state: &WindowState,
        solver: &mut SoilSolver,
        outside: &[PlacedDrum],
    ) -> Result<Vec<[Option<SoilPiece>; LAYERS]>, GranularError> {
        match state.placed_points().and_then(|points| solver.points.device(&points)) {
            Some(soil) => soil.and_then(|soil| soil.highest(outside)).map_err(|source| self.failed(source)),
            None => Ok(state.particles().map_or_else(Vec::new, |particles| particles.highest(&self.grid, outside))),
        }
    }

    /// Height of the surface in each column of cells, m above the floor.
    fn tops_now_m(&self, state: &WindowState, solver: &mut SoilSolver) -> Result<Vec<f32>, GranularError> {
        match state.placed_points().and_then(|points| solver.points.device(&points)) {
            Some(soil) => soil.and_then(|soil| soil.tops_m()).map_err(|source| self.failed(source)),
            None => Ok(state.particles().map_or_else(Vec::new, |particles| self.tops_of_m(particles))),
        }
    }

    /// Updates the ground if it is time, and turns points that sleep into a height field again. Grains rest.
    ///
    /// # Errors
    /// When soil was lost or created.
    pub fn settle(
        &self,
        state: &mut WindowState,
        ground: &mut GroundPatch,
        memory: &mut MemoryPatch,
        end: EndOfHeartbeat,
    ) -> Result<(), GranularError> {
        if let (Some(flowing), Some(tops_m)) = (&mut state.flowing, end.tops_m) {
            self.show(flowing, &tops_m, ground, memory);
        }
        if end.sleeps {
            self.lay_down(state);
            self.balance(state)?;
        }
        Ok(())
    }

    /// Raises and lowers the posts as the tops of the points around them, `now_m`, have moved since they woke.
    fn show(&self, flowing: &mut Flowing, now_m: &[f32], ground: &mut GroundPatch, memory: &mut MemoryPatch) {
        let Flowing { tops_m, reported_m, unshown_s, .. } = flowing;
        *unshown_s = 0.0;
        for (post, reported_m) in reported_m.iter_mut().enumerate() {
            let around = corners(self.posts.cells(), self.place(post).map(|posts| posts / self.posts.a_cell as f64));
            let risen_m: f64 = around.iter().map(|(cell, share)| f64::from(now_m[*cell] - tops_m[*cell]) * share).sum();
            let risen_m = risen_m as f32;
            if (risen_m - *reported_m).abs() > REPORTED_M {
                let node = self.posts.node(post);
                ground.set_node_height(node, ground.node_height_m(node) + f64::from(risen_m - *reported_m));
                memory.forget(node);
                *reported_m = risen_m;
            }
        }
    }

    /// Gives the mass of each point to the four posts around it, to the milligram. Grains stay, and rest.
    fn lay_down(&self, state: &mut WindowState) {
        let points = match state.flowing.take() {
            Some(Flowing { particles: Particles::Points(points), .. }) => points,
            other => {
                state.flowing = other.map(|flowing| Flowing { rests: true, still_s: 0.0, ..flowing });
                return;
            }
        };
        for point in &points.points {
            let place = [point.position_m.x, point.position_m.y].map(|m| m / self.posts.apart_m);
            let [last, others @ ..] = corners(self.posts.along, place);
            let mut left_mg = u64::from(point.mass_mg);
            for (post, share) in others {
                let mass_mg = ((f64::from(point.mass_mg) * share) as u64).min(left_mg);
                state.posts_mg[post] += mass_mg;
                left_mg -= mass_mg;
            }
            state.posts_mg[last.0] += left_mg;
        }
    }

    /// Fills a cell to its surface with points of `mass_mg` in four columns. `heights_m` are the heights of all posts
    /// above the floor, m. Returns the mass of columns too shallow for a point, mg.
    fn fill(&self, model: &Model, cell: [usize; 2], mass_mg: u64, heights_m: &[f64], points: &mut Vec<Point>) -> u64 {
        let quarters = [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]];
        let places = quarters.map(|quarter| [0, 1].map(|axis| cell[axis] as f64 + quarter[axis]));
        let depths_m =
            places.map(|place| self.height_m(heights_m, place.map(|cells| cells * self.posts.a_cell as f64)).max(0.0));
        let sum_m: f64 = depths_m.iter().sum();
        let (mut left_mg, mut kept_mg) = (mass_mg, 0);
        for (n, (place, depth_m)) in places.into_iter().zip(depths_m).enumerate() {
            let share_mg = if sum_m > 0.0 { (mass_mg as f64 * (depth_m / sum_m)) as u64 } else { 0 };
            // The last column takes the rest from rounding.
            let share_mg = if n == 3 { left_mg } else { share_mg.min(left_mg) };
            left_mg -= share_mg;
            if !stack(model, place, depth_m, share_mg, points) {
                kept_mg += share_mg;
            }
        }
        kept_mg
    }

    /// The posts of a cell.
    fn posts_of(&self, [column, row]: [usize; 2]) -> impl Iterator<Item = usize> + use<> {
        let (side, across) = (self.posts.a_cell, self.posts.along[0]);
        (0..side * side).map(move |n| (row * side + n / side) * across + column * side + n % side)
    }

    /// The centre of a post's square, from the window's corner in units of the posts' distance.
    fn place(&self, post: usize) -> [f64; 2] {
        [post % self.posts.along[0], post / self.posts.along[0]].map(|along| along as f64 + 0.5)
    }
}

/// Stacks a column of points at a place given in cells; false where it is too shallow for one.
fn stack(model: &Model, [x, y]: [f64; 2], depth_m: f64, mass_mg: u64, points: &mut Vec<Point>) -> bool {
    let cell_m = model.grid().cell_m;
    let count = (depth_m / (0.5 * cell_m)).round() as u64;
    let Some(each_mg) = mass_mg.checked_div(count).and_then(|mg| u32::try_from(mg).ok()) else { return false };
    if each_mg == 0 || each_mg == u32::MAX {
        return false;
    }
    for layer in 0..count {
        let z_m = (layer as f64 + 0.5) * depth_m / count as f64;
        let mass_mg = each_mg + u32::from(layer < mass_mg % count);
        let position_m = Vector3::new(x * cell_m, y * cell_m, z_m);
        points.push(at_rest_below(model, depth_m - z_m, position_m, mass_mg, points.len() as u32));
    }
    true
}

/// A point with the stress of the soil above it: `σzz = ρgz` and `K₀ σzz` across, `K₀ = ν/(1−ν)`.
fn at_rest_below(model: &Model, depth_m: f64, position_m: Vector3<f64>, mass_mg: u32, id: u32) -> Point {
    let soil = model.soil();
    let vertical_pa = model.gravity_m_s2().z * soil.density_kg_m3 * depth_m;
    let across_pa = vertical_pa * soil.poisson / (1.0 - soil.poisson);
    let pressure_pa = -(vertical_pa + 2.0 * across_pa) / 3.0;
    Point {
        position_m,
        velocity_m_s: Vector3::zeros(),
        affine_s: Matrix3::zeros(),
        stress_pa: Matrix3::from_diagonal(&Vector3::new(across_pa, across_pa, vertical_pa).cast()),
        volume_ratio: (1.0 - pressure_pa / soil.bulk_pa()) as f32,
        mass_mg,
        id,
    }
}

/// The four unit squares, counted x fastest, whose centres surround a place, and the bilinear share of each. Beyond
/// the outermost centres the nearest ones count.
fn corners([columns, rows]: [usize; 2], place: [f64; 2]) -> [(usize, f64); 4] {
    let along = |at: f64, count: usize| {
        let from_first = (at - 0.5).clamp(0.0, (count - 1) as f64);
        let first = (from_first as usize).min(count.saturating_sub(2));
        (first, (first + 1).min(count - 1), from_first - first as f64)
    };
    let ((west, east, u), (south, north, v)) = (along(place[0], columns), along(place[1], rows));
    [
        (south * columns + west, (1.0 - u) * (1.0 - v)),
        (south * columns + east, u * (1.0 - v)),
        (north * columns + west, (1.0 - u) * v),
        (north * columns + east, u * v),
    ]
}

/// Gives `due_mg` to the members of a list, or takes it where that is negative: the same from each, and of the rest one
/// milligram from each in turn, from the one at `turn` on. `change` adds to a member what fits there, and returns it.
/// Returns what was given.
fn deal<T>(list: &mut [T], change: impl Fn(&mut T, i64) -> i64, turn: usize, due_mg: i64) -> i64 {
    let Some(each_mg) = due_mg.checked_div(list.len() as i64) else { return 0 };
    let mut given_mg = 0;
    if each_mg != 0 {
        given_mg = list.iter_mut().map(|member| change(member, each_mg)).sum();
    }
    for after in 0..list.len() {
        if given_mg == due_mg {
            break;
        }
        let at = turn.wrapping_add(after) % list.len();
        given_mg += change(&mut list[at], due_mg.signum());
    }
    given_mg
}

/// A point keeps at least a milligram.
fn change_point(point: &mut Point, by_mg: i64) -> i64 {
    let before_mg = i64::from(point.mass_mg);
    let after_mg = before_mg.saturating_add(by_mg).clamp(1, i64::from(u32::MAX));
    point.mass_mg = after_mg as u32;
    after_mg - before_mg
}

/// A post may be left without soil.
fn change_post(post_mg: &mut u64, by_mg: i64) -> i64 {
    let before_mg = *post_mg;
    *post_mg = before_mg.saturating_add_signed(by_mg);
    post_mg.wrapping_sub(before_mg) as i64
}

/// Whether soil is slow, and none of it flies.
pub(crate) fn is_still(totals: &Totals) -> bool {
    totals.mean_square_m2_s2 <= STILL_M_S.powi(2) && totals.fastest_m_s <= FLYING_M_S
}

#[cfg(test)]
mod tests {
    use nalgebra::{Isometry3, Vector3};
    use selene_crm::{Body, BodyShape, CrmSpec, Drum, Point, Preset};
    use selene_terrain::{GroundPatch, Level, Ruts, Terrain};

    use super::{Particles, WindowState};
    use crate::granular::shells::Shells;
    use crate::granular::solver::SoilSolver;
    use crate::granular::{GranularError, GranularWindow, LoosePoint, StirredSoil, WindowSpec};
    use crate::law::Law;
    use crate::memory::MemoryPatch;
    use crate::rigid::{Rigid, RigidSpec};
    use crate::soil_map::{AreaSpec, RectangleSpec, ShapeSpec, SoilsSpec};
    use crate::soils::Soils;
    use crate::wheel::Conditions;

    const CONDITIONS: Conditions = Conditions { dt_s: 0.001, gravity_m_s2: 1.62 };

    fn spec() -> WindowSpec {
        let (from_m, to_m, name) = ([-0.2, -0.16], [0.2, 0.16], "pit".to_owned());
        WindowSpec { name, from_m, to_m, depth_m: 0.12, spacing_m: 0.02, exchange_s: None, grains: None, dem: None }
    }

    fn soils() -> Soils {
        let law = Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }));
        let soil = CrmSpec { young_pa: 3e5, cohesion_pa: 170.0, ..Preset::Drum.soil() };
        Soils::uniform(law).with_crm(soil)
    }

    fn terrain(height_m: impl Fn(f64, f64) -> f64) -> Terrain {
        Terrain::of_level(Level::sample([-1.0, -1.0], 0.02, 101, height_m), Vec::new(), Vec::new())
    }

    /// A window on gentle ground, what lies there, and all of the ground.
    fn pit() -> (GranularWindow, WindowState, GroundPatch, MemoryPatch) {
        let terrain = terrain(|x, y| 0.004 * (8.0 * x).sin() + 0.02 * y);
        let window = GranularWindow::new(&spec(), &soils(), &terrain, &CONDITIONS).expect("a window");
        let state = window.at_rest(&terrain, &Ruts::default(), None).expect("soil");
        let ground = window.posts.ground(&terrain, &mut Ruts::default());
        let memory = MemoryPatch::new(&ground);
        (window, state, ground, memory)
    }

    fn points_mut(state: &mut WindowState) -> &mut Vec<Point> {
        match state.particles_mut() {
            Some(Particles::Points(points)) => &mut points.points,
            _ => panic!("the soil is no points"),
        }
    }

    /// Ends a heartbeat.
    fn settle(
        window: &GranularWindow,
        state: &mut WindowState,
        (ground, memory): (&mut GroundPatch, &mut MemoryPatch),
        is_entered: bool,
        elapsed_s: f64,
    ) -> Result<(), GranularError> {
        let end = window.end_heartbeat(state, &mut SoilSolver::default(), is_entered, elapsed_s)?;
        window.settle(state, ground, memory, end)
    }

    fn loose_points(window: &GranularWindow, state: &WindowState) -> Vec<LoosePoint> {
        window.loose_points(state, &mut SoilSolver::default()).expect("points")
    }

    fn stirred_soil(window: &GranularWindow, state: &WindowState) -> Vec<StirredSoil> {
        let fastest_m_s = state.particles().map_or(0.0, |particles| particles.totals(&[]).fastest_m_s);
        window.stirred_soil(state, &mut SoilSolver::default(), fastest_m_s).expect("points")
    }

    fn box_at(height_m: f64, speed_m_s: f64) -> Body {
        Body {
            shape: BodyShape::Cuboid { half_m: [0.06, 0.06, 0.04] },
            pose: Isometry3::translation(0.0, 0.0, height_m),
            velocity_m_s: Vector3::new(0.0, 0.0, speed_m_s),
            angular_velocity_rad_s: Vector3::zeros(),
            friction: 0.5,
        }
    }

    #[test]
    fn dust_is_taken_from_points_or_posts_and_given_to_them_to_the_microgram() {
        let (window, mut state, ground, _) = pit();
        let begun_ug = state.soil_ug();
        for (wakes, mass_ug) in [(false, -2600), (true, 1), (true, -5_000_401), (true, 999), (true, 7_000_000)] {
            if wakes {
                window.wake(&mut state, &ground);
            }
            let before_ug = state.soil_ug();
            state.take_dust(mass_ug);
            assert_eq!(state.soil_ug() - before_ug, mass_ug);
            assert!(window.balance(&state).is_ok() && window.fits(&state));
            let whole_mg = (begun_ug + state.dust_ug()).div_euclid(1000);
            assert_eq!((state.posts_mg() + state.points_mg()) as i64, whole_mg);
        }
        assert_eq!(state.soil_ug() - begun_ug, state.dust_ug());
        // Whoever gives and gets a milligram is the next one each time.
        let masses = |state: &WindowState| -> Vec<u32> { state.points().iter().map(|point| point.mass_mg).collect() };
        let before = masses(&state);
        for _ in 0..before.len() {
            state.take_dust(-30_000);
            state.take_dust(30_000);
        }
        let most = masses(&state).iter().zip(&before).map(|(now, then)| now.abs_diff(*then)).max();
        assert!(most <= Some(60), "{most:?} mg");
        // A state that no dust can lead to is refused.
        assert!(!window.fits(&WindowState { dust_ug: i64::MAX, ..state.clone() }));
        // A window without soil gives none.
        let mut bare = WindowState::default();
        bare.take_dust(-1500);
        assert_eq!((bare.posts_mg(), bare.dust_ug(), bare.soil_ug()), (0, -1500, -1500));
    }

    #[test]
    fn waking_and_sleeping_moves_no_milligram_and_no_ground() {
        let (window, mut state, mut ground, mut memory) = pit();
        let (total_mg, before_m) = (state.total_mg(), window.posts.heights_m(&ground));
        window.wake(&mut state, &ground);
        assert!(state.is_flowing() && window.fits(&state));
        assert_eq!(state.posts_mg() + state.points_mg(), total_mg);
        // 20 columns by 16, six to seven layers.
        assert!((1920..=2240).contains(&state.points().len()), "{} points", state.points().len());
        let density = 20.0 * 16.0 * 0.02 * 0.02 * 1700.0 * 1e6;
        let mean_depth_m = before_m.iter().map(|m| m - window.corner_m.z).sum::<f64>() / before_m.len() as f64;
        assert!((total_mg as f64 / (density * mean_depth_m) - 1.0).abs() < 1e-6);
        for _ in 0..3 {
            settle(&window, &mut state, (&mut ground, &mut memory), false, 0.2).expect("nothing is lost");
        }
        assert!(!state.is_flowing() && state.posts_mg() == total_mg);
        assert!(window.posts.heights_m(&ground) == before_m && ground.take_edits().is_empty());
        window.wake(&mut state, &ground);
        assert_eq!(state.posts_mg() + state.points_mg(), total_mg);
    }

    #[test]
    fn what_a_box_presses_is_seen_in_the_ground_and_nothing_is_lost() {
        let (window, mut state, mut ground, mut memory) = pit();
        let total_mg = state.total_mg();
        window.wake(&mut state, &ground);
        let mut solver = SoilSolver::new(None);
        let mut lifts_n = Vec::new();
        for n in 0..100 {
            let body = box_at(0.04 - 3e-4 * f64::from(n), -0.3);
            lifts_n.push(window.step(&mut state, &[(0, body)], &mut solver).expect("a step")[0].force.z);
            settle(&window, &mut state, (&mut ground, &mut memory), true, 0.001).expect("nothing is lost");
            assert_eq!(state.posts_mg() + state.points_mg(), total_mg);
        }
        settle(&window, &mut state, (&mut ground, &mut memory), true, 0.02).expect("nothing is lost");
        let sunk_m = ground.height_m(0.0, 0.0).expect("ground");
        // The grid blurs the face of the box over half a cell.
        assert!((-0.04..-0.003).contains(&sunk_m), "the ground under a box 3 cm down is at {sunk_m} m");
        // Prandtl's punch on weightless soil of c alone bears (2 + π) c: less than that is too weak.
        let lift_n = lifts_n[50..].iter().sum::<f64>() / 50.0;
        assert!(lift_n > 5.14 * 170.0 * 0.12 * 0.12, "{lift_n} N");
        for _ in 0..3 {
            // Soil is still when nobody looks.
            points_mut(&mut state).iter_mut().for_each(|point| point.velocity_m_s.fill(0.0));
            settle(&window, &mut state, (&mut ground, &mut memory), false, 0.2).expect("nothing is lost");
        }
        assert!(!state.is_flowing() && state.posts_mg() == total_mg);
    }

    /// Half of the step in which heights in the window's box are reported, and rounding, m.
    const REPORTED_PLACE_M: f64 = 1.1e-5;

    #[test]
    fn sensors_get_the_points_that_a_box_moved_and_none_before() {
        let (window, mut state, mut ground, mut memory) = pit();
        window.wake(&mut state, &ground);
        assert!(loose_points(&window, &state).is_empty(), "nothing has moved");
        let mut solver = SoilSolver::new(None);
        for n in 0..60 {
            window.step(&mut state, &[(0, box_at(0.04 - 5e-4 * f64::from(n), -0.5))], &mut solver).expect("a step");
        }
        settle(&window, &mut state, (&mut ground, &mut memory), true, 0.02).expect("nothing is lost");
        let reported = loose_points(&window, &state);
        // Those under the box at least: six columns each way.
        assert!(reported.len() > 36 && reported.is_sorted_by_key(|point| point.id), "{} points", reported.len());
        for point in &reported {
            let known = state.points().iter().find(|known| known.id == point.id).expect("a point");
            let apart_m = window.place_m(point) - window.corner_m - known.position_m;
            assert!(apart_m.amax() < REPORTED_PLACE_M, "point {} is reported {apart_m} beside its place", point.id);
        }
        // One that flies over ground that nothing touched.
        let untouched = |of: &WindowState| loose_points(&window, of).iter().all(|point| point.id != 0);
        let (mut flying, mut resting) = (state.clone(), state);
        for (state, height_m) in [(&mut flying, 0.5), (&mut resting, 0.1)] {
            let first = points_mut(state).iter_mut().find(|point| point.id == 0).expect("the first point");
            first.position_m = Vector3::new(0.01, 0.01, height_m);
            state.flowing.as_mut().expect("points").reported_m[0] = 0.0;
        }
        assert!(!untouched(&flying) && untouched(&resting));
    }

    /// A wheel of 10 kg that is set on the soil: it sinks, and the soil bears its weight.
    #[test]
    fn a_wheel_on_a_bed_sinks_and_is_carried() {
        let flat = terrain(|_, _| 0.5);
        let window = GranularWindow::new(&spec(), &soils(), &flat, &CONDITIONS).expect("a window");
        let mut state = window.at_rest(&flat, &Ruts::default(), None).expect("soil");
        let ground = window.posts.ground(&flat, &mut Ruts::default());
        window.wake(&mut state, &ground);
        let (radius_m, mass_kg, dt_s) = (0.1, 10.0, CONDITIONS.dt_s);
        let upright = Isometry3::rotation(Vector3::x() * std::f64::consts::FRAC_PI_2);
        let mut wheel = Body {
            shape: BodyShape::Cylinder { radius_m, half_length_m: 0.05 },
            pose: Isometry3::translation(0.0, 0.0, 0.5 + radius_m) * upright,
            velocity_m_s: Vector3::zeros(),
            angular_velocity_rad_s: Vector3::zeros(),
            friction: 0.5,
        };
        let (mut solver, mut late_n, steps) = (SoilSolver::new(None), 0.0, 1000);
        for n in 0..steps {
            let wrench = window.step(&mut state, &[(0, wheel)], &mut solver).expect("a step")[0];
            // The soil moved while the wheel went on as it went.
            wheel.pose.translation.vector += wheel.velocity_m_s * dt_s;
            wheel.velocity_m_s.z += (wrench.force.z / mass_kg - CONDITIONS.gravity_m_s2) * dt_s;
            late_n += if n >= steps / 2 { wrench.force.z / f64::from(steps / 2) } else { 0.0 };
            let contact = window.wheel_contact(&state, &ground, &wheel.pose.translation.vector, radius_m, wrench);
            assert!((contact.terrain_normal - Vector3::z()).norm() < 1e-9 || contact.contact_nodes == 0);
        }
        let sunk_m = 0.5 + radius_m - wheel.pose.translation.z;
        assert!((2e-4..0.04).contains(&sunk_m), "sunk by {sunk_m} m");
        let weight_n = mass_kg * CONDITIONS.gravity_m_s2;
        assert!((late_n / weight_n - 1.0).abs() < 0.08, "{late_n} N of {weight_n} N");
    }

    #[test]
    fn windows_that_cannot_be_are_refused_with_what_is_allowed() {
        let flat = terrain(|_, _| 0.0);
        let refused = |spec: &WindowSpec, soils: &Soils| {
            GranularWindow::new(spec, soils, &flat, &CONDITIONS).expect_err("must be refused").to_string()
        };
        let other = WindowSpec { spacing_m: 0.013, ..spec() };
        assert!(refused(&other, &soils()).contains("cells of 0.026 m, which must be a whole number"));
        let small = WindowSpec { to_m: [-0.1, 0.16], ..spec() };
        assert!(refused(&small, &soils()).contains("2 cells of 0.04 m fit along x; 3 or more are allowed"));
        let off = WindowSpec { from_m: [0.8, 0.0], to_m: [1.4, 0.4], ..spec() };
        assert!(refused(&off, &soils()).contains("'pit': reaches beyond the ground"));
        let odd = WindowSpec { exchange_s: Some(0.0015), ..spec() };
        assert!(refused(&odd, &soils()).contains("whole number of physics steps (0.001 s)"));
        let law = Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }));
        assert!(refused(&spec(), &Soils::uniform(law)).contains("no key `crm`"));
    }

    /// A patch of another soil that has neither a corner of the window nor its middle.
    #[test]
    fn a_window_over_a_patch_of_another_soil_is_refused() {
        let flat = terrain(|_, _| 0.0);
        let config = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/scenario");
        let window = spec();
        let refused = |from_m: [f64; 2]| {
            let shape = ShapeSpec::Rectangle(RectangleSpec { from_m, to_m: from_m.map(|m| m + 0.05) });
            let area = AreaSpec { soil: "../soil/rigid.yaml".into(), shape };
            let map = SoilsSpec { default: "../soil/lunar.yaml".into(), areas: vec![area] };
            let soils = Soils::load(&map, &config, 1).expect("soils");
            GranularWindow::new(&window, &soils, &flat, &CONDITIONS).map(|_| ()).map_err(|e| e.to_string())
        };
        assert!(refused([0.08, 0.02]).is_err_and(|reported| reported.contains("several soils lie there")));
        assert_eq!(refused([0.3, 0.02]), Ok(()));
    }

    #[test]
    fn soil_at_the_surface_throws_dust_while_it_slides_fast_in_the_open() {
        let (window, mut state, ground, _) = pit();
        assert_eq!(stirred_soil(&window, &state), [], "a height field");
        window.wake(&mut state, &ground);
        let stirred_at = |state: &mut WindowState, speed_m_s: f32| {
            points_mut(state).iter_mut().for_each(|point| point.velocity_m_s = Vector3::x() * speed_m_s);
            stirred_soil(&window, state)
        };
        assert_eq!(stirred_at(&mut state, 0.05), [], "too slow");
        let stirred = stirred_at(&mut state, 0.3);
        assert!(stirred.iter().map(|soil| soil.cell).eq(0..80), "each column of cells");
        for soil in &stirred {
            // Four points, 0.04 m by 0.04 m together: the same for any distance between points.
            assert!((soil.speed_area_m3_s - 0.3 * 0.04 * 0.04).abs() < 1e-8, "{soil:?}");
            assert!((soil.velocity_m_s - Vector3::x() * 0.3).norm() < 1e-7, "{soil:?}");
            let below_m = ground.height_m(soil.place_m.x, soil.place_m.y).expect("ground") - soil.place_m.z;
            assert!((0.0..0.03).contains(&below_m), "{below_m} m below the ground");
        }
        let drum = Drum { radius_m: 1.0, half_length_m: 1.0, slices: 1, scoops: 1, channel_m: 0.1, overlap_rad: 1.0 };
        let around = Body { shape: BodyShape::Drum(drum), ..box_at(0.0, 0.0) };
        *state.shells_mut().expect("points") = Shells::left_by([(7, &around)].into_iter(), 0.0);
        assert_eq!(stirred_soil(&window, &state), [], "in a drum");
        *state.shells_mut().expect("points") = Shells::default();
        points_mut(&mut state)[7].position_m.z += 0.3;
        assert_eq!(stirred_soil(&window, &state).len(), 80, "below a point in flight");
        points_mut(&mut state).iter_mut().for_each(|point| point.position_m.z += 0.2);
        assert_eq!(stirred_soil(&window, &state), [], "in flight");
    }

    #[test]
    fn windows_that_touch_meet() {
        let flat = terrain(|_, _| 0.0);
        let window = |x_m: f64| {
            let spec = WindowSpec { from_m: [x_m, -0.16], to_m: [x_m + 0.2, 0.16], ..spec() };
            GranularWindow::new(&spec, &soils(), &flat, &CONDITIONS).expect("a window")
        };
        let first = window(0.0);
        assert!(first.meets(&window(0.2)) && first.meets(&window(-0.2)) && first.meets(&first));
        assert!(!first.meets(&window(0.24)) && !first.meets(&window(-0.24)));
    }

    #[test]
    fn a_step_that_is_too_long_is_reported_and_one_that_is_not_is_not() {
        let flat = terrain(|_, _| 0.0);
        let remark = |exchange_s| {
            let spec = WindowSpec { exchange_s: Some(exchange_s), ..spec() };
            GranularWindow::new(&spec, &soils(), &flat, &CONDITIONS).expect("a window").remark()
        };
        assert_eq!(remark(0.002), None);
        assert!(remark(0.005).is_some_and(|reported| reported.contains("'pit': each 0.005 s are made in 3 substeps")));
    }
}

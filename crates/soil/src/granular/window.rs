//! A granular window on its ground: its posts, cells and walls, and the forces on bodies in it.

use nalgebra::{Translation3, Vector3};
use selene_base::Wrench;
use selene_crm::{Body, CrmError, Edges, Grid, Model, PlacedDrum, Reaction, Wall};
use selene_spheres::SpheresError;
use selene_terrain::{GroundPatch, Node, NodeRect, Ruts, Terrain, TileRect};

use crate::granular::bed::Grains;
use crate::granular::place::Place;
use crate::granular::shells::Shells;
use crate::granular::solver::SoilSolver;
use crate::granular::spec::{GrainsSpec, POINTS_MAX, WindowSpec};
use crate::granular::state::{MG_PER_KG, Particles, Stepped, WindowState};
use crate::soils::Soils;
use crate::wheel::{Conditions, WheelContact};

/// Fewest cells along a side.
const CELLS_MIN: usize = 3;
/// Height of the lid above the highest ground, m.
const ROOM_M: f64 = 1.0;
/// Largest height of a body above the ground at which the soil may reach it, m.
const ABOVE_M: f64 = 0.05;
/// Lengths whose relative difference is less are equal.
const SAME: f64 = 1e-6;
/// Points along a side of a cell.
pub(crate) const POINTS_A_CELL: f64 = 2.0;

/// A window that cannot be made, or whose soil cannot be stepped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GranularError {
    /// The window cannot be at its place.
    #[error("window '{window}': {what}")]
    Window {
        /// Its name.
        window: String,
        /// The refused value and what is allowed.
        what: String,
    },
    /// Its soil cannot be stepped.
    #[error("window '{window}': {source}")]
    Soil {
        /// Its name.
        window: String,
        /// Why.
        source: CrmError,
    },
    /// Its grains cannot be stepped, or cannot settle.
    #[error("window '{window}': {source}")]
    Grains {
        /// Its name.
        window: String,
        /// Why.
        source: SpheresError,
    },
    /// A device failed that had the points.
    #[error("window '{window}': {source}; the points were there, go on from a checkpoint")]
    Lost {
        /// Its name.
        window: String,
        /// How it failed.
        source: CrmError,
    },
    /// Soil was lost or created: a fault of Selene.
    #[error("granular window '{window}' has {found_mg} mg of soil; it must have {expected_mg} mg: please report this")]
    Ledger {
        /// Its name.
        window: String,
        /// Soil of its posts and points, mg.
        found_mg: u64,
        /// Soil with which it began, and that it got as dust, mg.
        expected_mg: u64,
    },
    /// A drum with soil in it left the window, outside of which there are no points.
    #[error(
        "{drum} leaves granular window '{window}' with {load_kg:.3} kg of soil: make the window larger, or dump first"
    )]
    Carried {
        /// The window's name.
        window: String,
        /// Which drum of which rover.
        drum: String,
        /// Soil in it, kg.
        load_kg: f64,
    },
}

impl GranularError {
    /// The same error, or that the points are lost where a device failed that has them: nothing can be made again.
    #[must_use]
    pub fn with_points_lost(self) -> Self {
        match self {
            Self::Soil { window, source: source @ CrmError::Device(_) } => Self::Lost { window, source },
            other => other,
        }
    }

    /// Whether a device failed or had too little room, so that the CPU can do the same work.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        match self {
            Self::Soil { source, .. } => matches!(source, CrmError::Device(_)),
            Self::Grains { source, .. } => matches!(source, SpheresError::Device(_) | SpheresError::Crowded { .. }),
            Self::Window { .. } | Self::Lost { .. } | Self::Ledger { .. } | Self::Carried { .. } => false,
        }
    }
}

/// The constant part of a granular window: its place, grid and soil.
#[derive(Clone, Debug, PartialEq)]
pub struct GranularWindow {
    name: String,
    pub(crate) posts: Posts,
    /// The grid's origin in the map frame, m.
    pub(crate) corner_m: Vector3<f64>,
    pub(crate) grid: Grid,
    pub(crate) matter: Matter,
    exchange_s: f64,
    exchange_steps: usize,
    grains: Option<GrainsSpec>,
    points: f64,
}

/// What the soil of a window is while it flows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Matter {
    /// Points of a continuum.
    Points(Box<Model>),
    /// Single grains.
    Grains(Box<Grains>),
}

/// The posts of a window and the cells that they are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Posts {
    /// The post of least column and row.
    pub(crate) first: Node,
    /// Posts along x and y.
    pub(crate) along: [usize; 2],
    /// Posts along a side of a cell.
    pub(crate) a_cell: usize,
    /// Distance between posts, m.
    pub(crate) apart_m: f64,
    /// South-west corner of the first post's square, map x and y, m.
    pub(crate) corner_m: [f64; 2],
}

impl Matter {
    /// What the soil of a window on `posts` is, under gravity, m/s², and up to a height above the floor, m.
    fn new(
        spec: &WindowSpec,
        soils: &Soils,
        posts: &Posts,
        grid: &Grid,
        (gravity_m_s2, depth_m): (f64, f64),
    ) -> Result<Self, GranularError> {
        let refuse = |what: String| GranularError::Window { window: spec.name.clone(), what };
        let Some(dem) = &spec.dem else {
            let soil = one_soil(posts, "crm", |x, y| soils.crm_at(x, y)).map_err(refuse)?;
            let model = Model::new(&soil, grid, Vector3::z() * -gravity_m_s2);
            let failed = |source| GranularError::Soil { window: spec.name.clone(), source };
            return Ok(Self::Points(Box::new(model.map_err(failed)?)));
        };
        let soil = one_soil(posts, "dem", |x, y| soils.dem_at(x, y)).map_err(refuse)?;
        let grains = Grains::new(dem, &soil, grid, gravity_m_s2, depth_m).map_err(refuse)?;
        Ok(Self::Grains(Box::new(grains)))
    }

    fn grains(&self) -> Option<&Grains> {
        match self {
            Self::Points(_) => None,
            Self::Grains(grains) => Some(grains),
        }
    }
}

impl GranularWindow {
    /// A window on the undisturbed ground of `terrain`.
    ///
    /// # Errors
    /// When cells do not fit the ground's posts, the window is too small or off the ground, has too
    /// many points or grains, or its soil is not one soil with the key `crm`, or `dem` for grains.
    pub fn new(
        spec: &WindowSpec,
        soils: &Soils,
        terrain: &Terrain,
        conditions: &Conditions,
    ) -> Result<Self, GranularError> {
        let refuse = |what: String| GranularError::Window { window: spec.name.clone(), what };
        let posts = Posts::new(spec, terrain).map_err(refuse)?;
        let heights_m = posts.heights_m(&posts.ground(terrain, &mut Ruts::default()));
        let low_m = heights_m.iter().copied().fold(f64::INFINITY, f64::min);
        let high_m = heights_m.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !heights_m.iter().all(|height_m| height_m.is_finite()) {
            return Err(refuse("reaches beyond the ground".to_owned()));
        }
        let floor_m = low_m - spec.depth_m;
        let soil_m3: f64 = heights_m.iter().map(|height_m| (height_m - floor_m) * posts.apart_m.powi(2)).sum();
        let points = soil_m3 / spec.spacing_m.powi(3);
        if points > POINTS_MAX {
            return Err(refuse(format!("has {points:.0} points on this ground; {POINTS_MAX} are allowed")));
        }
        let grid = grid(&posts, POINTS_A_CELL * spec.spacing_m, high_m + ROOM_M - floor_m);
        let matter = Matter::new(spec, soils, &posts, &grid, (conditions.gravity_m_s2, high_m - floor_m))?;
        let (exchange_s, exchange_steps) = exchange(spec, conditions.dt_s).map_err(refuse)?;
        let [x, y] = posts.corner_m;
        Ok(Self {
            grid,
            name: spec.name.clone(),
            corner_m: Vector3::new(x, y, floor_m),
            posts,
            exchange_s,
            exchange_steps,
            grains: spec.grains,
            points: matter.grains().map_or(points, Grains::count),
            matter,
        })
    }

    /// Approximate number of points that its soil becomes, or number of grains that fell into it.
    #[must_use]
    pub fn points(&self) -> f64 {
        self.points
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Coulomb's coefficient of its soil against itself.
    #[must_use]
    pub fn friction(&self) -> f64 {
        match &self.matter {
            Matter::Points(model) => model.soil().friction_static,
            Matter::Grains(grains) => grains.soil().friction,
        }
    }

    /// Origin of its points' positions: its south-west corner at its floor, map frame, m.
    #[must_use]
    pub fn corner_m(&self) -> Vector3<f64> {
        self.corner_m
    }

    /// The grains as which sensors see its loose points; none if they see the height field, or its own grains.
    #[must_use]
    pub fn grains(&self) -> Option<&GrainsSpec> {
        self.grains.as_ref()
    }

    /// Radius of the grain with this number, m; none in a window of points.
    #[must_use]
    pub fn grain_radius_m(&self, id: u32) -> Option<f64> {
        self.matter.grains().map(|grains| grains.radius_m(id))
    }

    /// Whether sensors see grains in it.
    #[must_use]
    pub fn shows_grains(&self) -> bool {
        self.grains.is_some() || self.matter.grains().is_some()
    }

    /// Distance between its points when they wake, m.
    #[must_use]
    pub fn spacing_m(&self) -> f64 {
        self.grid.cell_m / POINTS_A_CELL
    }

    /// Side of a cell of its points, m; `None` for a window of grains.
    #[must_use]
    pub fn cell_m(&self) -> Option<f64> {
        match &self.matter {
            Matter::Points(model) => Some(model.grid().cell_m),
            Matter::Grains(_) => None,
        }
    }

    /// Physics steps between two exchanges of forces with bodies.
    #[must_use]
    pub fn exchange_steps(&self) -> usize {
        self.exchange_steps
    }

    /// The tiles of ground that it lies on.
    #[must_use]
    pub fn tiles(&self) -> TileRect {
        self.posts.tiles()
    }

    /// The nodes of its posts.
    #[must_use]
    pub fn nodes(&self) -> NodeRect {
        let [columns, rows] = self.posts.along;
        NodeRect { first: self.posts.first, columns, rows }
    }

    /// Whether two windows overlap or touch.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let [sides, others] = [self, other].map(|window| window.posts.sides_m());
        (0..2).all(|axis| {
            let apart_m = other.corner_m[axis] - self.corner_m[axis];
            apart_m <= sides[axis] + SAME && -apart_m <= others[axis] + SAME
        })
    }

    /// A remark for the log, where exchanges longer than the longest substep are divided.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        let limit_s = match &self.matter {
            Matter::Points(model) => model.substep_max_s(),
            Matter::Grains(grains) => grains.substep_max_s(),
        };
        let step_s = self.exchange_s;
        let substeps = (step_s / limit_s).ceil();
        (substeps > 1.0).then(|| {
            format!(
                "granular window '{}': each {step_s} s are made in {substeps} substeps or more, \
                 since one lasts at most {limit_s:.6} s in its soil",
                self.name
            )
        })
    }

    /// Whether a ball around `at_m` (map frame) is between the window's sides and below its lid: a drum high above the
    /// ground is still in the window.
    #[must_use]
    pub fn spans(&self, at_m: &Vector3<f64>, radius_m: f64) -> bool {
        let lid_m = self.corner_m.z + self.grid.size_m()[2];
        self.is_between_sides(at_m, radius_m) && at_m.z + radius_m <= lid_m
    }

    fn is_between_sides(&self, at_m: &Vector3<f64>, radius_m: f64) -> bool {
        let sides = self.posts.sides_m();
        (0..2).all(|axis| {
            let along_m = at_m[axis] - self.corner_m[axis];
            radius_m <= along_m && along_m <= sides[axis] - radius_m
        })
    }

    /// Whether a place, map x and y in m, is between the window's sides.
    #[must_use]
    pub fn contains(&self, [x_m, y_m]: [f64; 2]) -> bool {
        self.is_between_sides(&Vector3::new(x_m, y_m, 0.0), 0.0)
    }

    /// Whether a ball around `at_m` (map frame) is between the window's sides and low enough for its soil to reach
    /// it.
    #[must_use]
    pub fn holds(&self, ground: &GroundPatch, at_m: &Vector3<f64>, radius_m: f64) -> bool {
        self.is_between_sides(at_m, radius_m)
            && at_m.z - radius_m <= ground.node_height_m(self.node_under(at_m)) + ABOVE_M
    }

    /// Steps the points or grains by the time between two exchanges while `bodies` (map frame) move along their twists; each
    /// has a number that it keeps from step to step. Returns the wrench on each about its origin, map axes; zero while
    /// the soil sleeps.
    ///
    /// # Errors
    /// When a body is not valid, the soil becomes too fast, grains overlap too deeply, or a device fails. The points or
    /// grains are then as before; grains on a device are those that came back last, and points there those that were
    /// marked ([`GranularWindow::go_back`]).
    pub fn step(
        &self,
        state: &mut WindowState,
        bodies: &[(u64, Body)],
        solver: &mut SoilSolver,
    ) -> Result<Vec<Wrench>, GranularError> {
        if !state.is_flowing() {
            return Ok(vec![Wrench::default(); bodies.len()]);
        }
        let Some(Stepped { particles, place, turn, shells }) = state.stepped_mut() else {
            return Ok(vec![Wrench::default(); bodies.len()]);
        };
        let in_grid = |(number, body): &(u64, Body)| {
            let body = Body { pose: Translation3::from(-self.corner_m) * body.pose, ..*body };
            shells.taken_up(*number, body, self.exchange_s)
        };
        let moving: Vec<_> = bodies.iter().map(in_grid).collect();
        let numbers = || bodies.iter().map(|(number, _)| *number);
        let reactions = match (&self.matter, particles) {
            (Matter::Points(model), Particles::Points(points)) => {
                let stepped = solver.points.step(model, (points, place, turn), &moving, self.exchange_s);
                stepped.map_err(|source| self.failed(source))?
            }
            (Matter::Grains(grains), Particles::Grains(bed)) => {
                let moving: Vec<_> = numbers().zip(moving.iter().copied()).collect();
                let stepped = bed.step(grains, &moving, self.exchange_s, &mut solver.grains);
                stepped.map_err(|source| self.grains_failed(source))?
            }
            // `fits` refuses such a state.
            (Matter::Points(_), Particles::Grains(_)) | (Matter::Grains(_), Particles::Points(_)) => {
                vec![Reaction::default(); bodies.len()]
            }
        };
        *shells = Shells::left_by(numbers().zip(&moving), self.exchange_s);
        let wrench = |reaction: &Reaction| Wrench {
            force: reaction.impulse_n_s / self.exchange_s,
            torque: reaction.angular_impulse_n_m_s / self.exchange_s,
        };
        Ok(reactions.iter().map(wrench).collect())
    }

    /// Brings points or grains back from the device that steps them: the state then has them as they are now.
    ///
    /// # Errors
    /// When the device fails.
    pub fn bring_back(&self, state: &mut WindowState, solver: &mut SoilSolver) -> Result<(), GranularError> {
        self.bring_grains_back(state, solver)?;
        self.save(state, solver)
    }

    /// Brings grains back from the device that steps them.
    ///
    /// # Errors
    /// When the device fails.
    pub fn bring_grains_back(&self, state: &mut WindowState, solver: &mut SoilSolver) -> Result<(), GranularError> {
        let Some(Stepped { particles: Particles::Grains(bed), .. }) = state.stepped_mut() else { return Ok(()) };
        bed.bring_back(&mut solver.grains).map_err(|source| self.grains_failed(source))
    }

    /// Sets the points of `state` to those on the device, if they are there. The solver is as before, so that another
    /// copy of the state can go on from the device.
    ///
    /// # Errors
    /// When the device fails.
    pub fn save(&self, state: &mut WindowState, solver: &SoilSolver) -> Result<(), GranularError> {
        let Some(Stepped { particles: Particles::Points(points), place, .. }) = state.stepped_mut() else {
            return Ok(());
        };
        solver.points.save(points, *place).map_err(|source| self.lost(source))?;
        *place = Place::State;
        Ok(())
    }

    /// Keeps a copy of points that are on a device there, for [`GranularWindow::go_back`].
    ///
    /// # Errors
    /// When the device fails.
    pub fn mark(&self, state: &WindowState, solver: &mut SoilSolver) -> Result<(), GranularError> {
        let Some(points) = state.placed_points() else { return Ok(()) };
        solver.points.mark(&points).map_err(|source| self.failed(source))
    }

    /// Gives `copy`, made by [`WindowState::copy_to`] when the points were marked, the points of then.
    ///
    /// # Errors
    /// When the device has lost them.
    pub fn go_back(&self, copy: &mut WindowState, solver: &mut SoilSolver) -> Result<(), GranularError> {
        if !copy.is_on_device() {
            return Ok(());
        }
        let Some(Stepped { particles: Particles::Points(points), place, .. }) = copy.stepped_mut() else {
            return Ok(());
        };
        solver.points.rewind(points, *place).map_err(|source| self.lost(source))?;
        *place = Place::State;
        Ok(())
    }

    pub(crate) fn lost(&self, source: CrmError) -> GranularError {
        GranularError::Lost { window: self.name.clone(), source }
    }

    pub(crate) fn failed(&self, source: CrmError) -> GranularError {
        GranularError::Soil { window: self.name.clone(), source }
    }

    pub(crate) fn grains_failed(&self, source: SpheresError) -> GranularError {
        GranularError::Grains { window: self.name.clone(), source }
    }

    /// Soil in each of the drums with these numbers at its last pose, kg; zero where there is no such drum in the window.
    ///
    /// # Errors
    /// When the device fails on which the points are.
    pub fn loads_kg(
        &self,
        state: &WindowState,
        solver: &mut SoilSolver,
        numbers: &[u64],
    ) -> Result<Vec<f64>, GranularError> {
        let drums: Vec<_> = numbers.iter().map(|number| state.shells()?.placed_drum(*number)).collect();
        let known: Vec<_> = drums.iter().flatten().copied().collect();
        if known.is_empty() {
            return Ok(vec![0.0; numbers.len()]);
        }
        let mut held_mg = self.totals(state, solver, &known)?.held_mg.into_iter();
        let load_kg = |drum: &Option<PlacedDrum>| drum.map_or(0.0, |_| held_mg.next().unwrap_or(0) as f64 / MG_PER_KG);
        Ok(drums.iter().map(load_kg).collect())
    }

    /// The contact of a wheel of `radius_m` around `centre_m` on which the points act by `wrench`, in the form that
    /// laws of soil give. Sinkage and normal refer to the terrain when the points woke.
    #[must_use]
    pub fn wheel_contact(
        &self,
        state: &WindowState,
        ground: &GroundPatch,
        centre_m: &Vector3<f64>,
        radius_m: f64,
        wrench: Wrench,
    ) -> WheelContact {
        if wrench == Wrench::default() {
            return WheelContact::default();
        }
        let before_m = |x: f64, y: f64| {
            let at_m = centre_m + Vector3::new(x, y, 0.0);
            ground.node_height_m(self.node_under(&at_m)) - state.risen_m(self.posts.under(&self.in_window(&at_m)))
        };
        let rise = |ahead_m: f64, behind_m: f64| (ahead_m - behind_m) / (2.0 * radius_m);
        let slope_x = rise(before_m(radius_m, 0.0), before_m(-radius_m, 0.0));
        let slope_y = rise(before_m(0.0, radius_m), before_m(0.0, -radius_m));
        let terrain_normal = Vector3::new(-slope_x, -slope_y, 1.0).normalize();
        // Along the normal from the ground under the centre to the wheel's lowest point.
        let sinkage_m = radius_m - (centre_m.z - before_m(0.0, 0.0)) * terrain_normal.z;
        WheelContact {
            terrain_normal,
            sinkage_m,
            normal_n: wrench.force.dot(&terrain_normal),
            contact_nodes: 1,
            sinkage_beyond_radius: sinkage_m > radius_m,
            wrench,
            ..WheelContact::default()
        }
    }

    /// Horizontal position relative to the window's corner, m.
    fn in_window(&self, at_m: &Vector3<f64>) -> [f64; 2] {
        [at_m.x - self.corner_m.x, at_m.y - self.corner_m.y]
    }

    fn node_under(&self, at_m: &Vector3<f64>) -> Node {
        self.posts.node(self.posts.under(&self.in_window(at_m)))
    }
}

impl Posts {
    fn new(spec: &WindowSpec, terrain: &Terrain) -> Result<Self, String> {
        let (apart_m, cell_m) = (terrain.spacing_m(), POINTS_A_CELL * spec.spacing_m);
        let a_cell = (cell_m / apart_m).round();
        if a_cell < 1.0 || (cell_m / apart_m - a_cell).abs() > SAME {
            return Err(format!(
                "spacing_m {} makes cells of {cell_m} m, which must be a whole number of the distances between \
                 the ground's posts ({apart_m} m)",
                spec.spacing_m
            ));
        }
        let (mut first, mut along, mut corner_m) = ([0; 2], [0; 2], [0.0; 2]);
        for axis in 0..2 {
            let origin_m = terrain.origin_m()[axis];
            // Squares of posts begin midway between two.
            first[axis] = ((spec.from_m[axis] - origin_m) / apart_m + 0.5 - SAME).round() as i32;
            corner_m[axis] = origin_m + (f64::from(first[axis]) - 0.5) * apart_m;
            let cells = ((spec.to_m[axis] - spec.from_m[axis]) / cell_m + SAME) as usize;
            if cells < CELLS_MIN {
                return Err(format!(
                    "{cells} cells of {cell_m} m fit along {}; {CELLS_MIN} or more are allowed",
                    ["x", "y"][axis]
                ));
            }
            along[axis] = cells * a_cell as usize;
        }
        let first = Node { column: first[0], row: first[1] };
        Ok(Self { first, along, a_cell: a_cell as usize, apart_m, corner_m })
    }

    pub(crate) fn count(&self) -> usize {
        self.along[0] * self.along[1]
    }

    /// Cells along x and y.
    pub(crate) fn cells(&self) -> [usize; 2] {
        self.along.map(|posts| posts / self.a_cell)
    }

    fn sides_m(&self) -> [f64; 2] {
        self.along.map(|posts| posts as f64 * self.apart_m)
    }

    fn tiles(&self) -> TileRect {
        TileRect::of_nodes(self.first, self.node(self.count() - 1))
    }

    /// The node of a post, x fastest.
    pub(crate) fn node(&self, post: usize) -> Node {
        let [column, row] = [post % self.along[0], post / self.along[0]].map(|along| along as i32);
        Node { column: self.first.column + column, row: self.first.row + row }
    }

    /// Map x and y of a post, m.
    fn xy_m(&self, post: usize) -> [f64; 2] {
        let along = [post % self.along[0], post / self.along[0]];
        [0, 1].map(|axis| self.corner_m[axis] + (along[axis] as f64 + 0.5) * self.apart_m)
    }

    /// The post whose square contains a place, given from the window's corner, m; the nearest one at the border.
    pub(crate) fn under(&self, at_m: &[f64; 2]) -> usize {
        let along = |axis: usize| ((at_m[axis] / self.apart_m) as usize).min(self.along[axis] - 1);
        along(1) * self.along[0] + along(0)
    }

    /// The ground under the window, with its ruts.
    pub(crate) fn ground(&self, terrain: &Terrain, ruts: &mut Ruts) -> GroundPatch {
        let mut ground = GroundPatch::new(terrain, &self.tiles().tiles().collect());
        ground.borrow_from(ruts);
        ground
    }

    /// Heights of the posts, m.
    pub(crate) fn heights_m(&self, ground: &GroundPatch) -> Vec<f64> {
        (0..self.count()).map(|post| ground.node_height_m(self.node(post))).collect()
    }
}

/// Parameters under `key` of a window's soil, which must be the same at all its posts.
fn one_soil<'a, T: Copy + PartialEq + 'a>(
    posts: &Posts,
    key: &str,
    at: impl Fn(f64, f64) -> Option<&'a T>,
) -> Result<T, String> {
    let mut found = (0..posts.count()).map(|post| {
        let [x, y] = posts.xy_m(post);
        at(x, y)
    });
    let first = found.next().flatten().ok_or_else(|| format!("the soil there has no key `{key}` in its file"))?;
    match found.all(|other| other == Some(first)) {
        true => Ok(*first),
        false => Err(format!("several soils lie there: one with the key `{key}` is allowed")),
    }
}

/// The grid of a window, with rough walls and floor and a frictionless lid.
fn grid(posts: &Posts, cell_m: f64, height_m: f64) -> Grid {
    let [x, y] = posts.cells().map(|cells| cells as u32);
    let rough = Edges::Walls { low: Wall::Rough, high: Wall::Rough };
    let under_a_lid = Edges::Walls { low: Wall::Rough, high: Wall::Sliding { friction: 0.0 } };
    Grid { cell_m, cells: [x, y, (height_m / cell_m).ceil() as u32], edges: [rough, rough, under_a_lid] }
}

/// Time between two exchanges, s, and its number of physics steps.
fn exchange(spec: &WindowSpec, step_s: f64) -> Result<(f64, usize), String> {
    let requested_s = spec.exchange_s.unwrap_or(step_s);
    let steps = (requested_s / step_s).round();
    if steps < 1.0 || (requested_s / step_s - steps).abs() > SAME {
        return Err(format!("exchange_s {requested_s} must be a whole number of physics steps ({step_s} s)"));
    }
    Ok((requested_s, steps as usize))
}

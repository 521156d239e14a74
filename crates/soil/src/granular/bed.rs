//! Beds of single grains (DEM, `selene_spheres`), in windows with the key `dem`.
//!
//! - **Filling.** Grains fall loosely into the window, in a box as high as they need, until they rest; of them, those
//!   remain that lie below the ground. A window does this once. The grains are there from the start of a run to its
//!   end, and rest, which costs nothing, while no body is in the window and nothing moves.
//! - **Entering.** Outside of the window the height field carries a body, which may have sunk there into ground that is
//!   grains here. A body that enters, or that was set down elsewhere, is therefore smaller at first, so that it
//!   overlaps grains by little, and grows at [`GROWTH_M_S`] to its full size.
//! - **Contacts** are remembered by a body's number, since its place in the list of bodies changes.

use std::f64::consts::FRAC_PI_6;
use std::sync::OnceLock;

use garde::Validate;
use nalgebra::Vector3;
use schemars::JsonSchema;
use selene_base::input::within;
use selene_crm::{Body, Grid, Reaction, SoilPiece, Wall, totals};
use selene_spheres::{Container, Filling, Model, Sphere, SpheresDevice, SpheresError, SpheresSpec, State};
use serde::{Deserialize, Serialize};

use crate::granular::solver::GrainSolver;
use crate::granular::state::{MG_PER_KG, is_still};

/// Share of a settled bed that grains fill, at most, and in the mean: random packings of spheres lie between 0.55 and
/// 0.64.
const PACKED_MAX: f64 = 0.64;
const PACKED: f64 = 0.6;
/// Gravity under which grains settle, m/s²; they then come to rest under their own.
const SETTLING_M_S2: f64 = 9.81;
/// Time after which grains that have fallen are looked at, s, and how often at most until they rest.
const RESTING_S: f64 = 0.25;
const LOOKS_MAX: usize = 20;
/// How high a grain's centre may lie above the ground, in its radii: so that the uppermost grains are seen, as gravel is
/// that was strewn on the ground.
const ABOVE_RADII: f64 = 0.5;
/// Largest overlap, in radii of the grain, with which a body may enter.
const OVERLAP_RADII: f64 = 0.02;
/// Speed at which the surface of a body that entered grows to its full size, m/s.
const GROWTH_M_S: f64 = 0.02;
/// The least size to which a body is made smaller, relative to its own.
const LEAST: f64 = 0.01;
/// Distance from where its twist led to at which a body counts as set down elsewhere, m.
const JUMP_M: f64 = 0.01;
/// Most grains that fall into a window, and most into one that the CPU steps.
const GRAINS_MAX: f64 = 1e6;
const ON_CPU_MAX: f64 = 20_000.0;
/// Least mass of a grain, mg: the ledger has whole milligrams.
const LIGHTEST_MG: f64 = 10.0;
/// Smallest diameter relative to the greatest.
const LEAST_DIAMETER: f64 = 0.25;

/// The single grains of a window.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields)]
pub struct DemSpec {
    /// The least and the greatest diameter, m: 1 mm to `spacing_m`, the first no less than a quarter of the second.
    /// Diameters are evenly distributed between them.
    #[garde(inner(custom(within(0.001, 0.5))), custom(ascending))]
    pub diameter_m: [f64; 2],
    /// Seed of diameters and places. The scenario's seed has no effect on them.
    #[garde(skip)]
    #[serde(default)]
    pub seed: u64,
}

fn ascending([least_m, most_m]: &[f64; 2], (): &()) -> garde::Result {
    if (LEAST_DIAMETER * most_m..=*most_m).contains(least_m) {
        return Ok(());
    }
    let allowed = "the second must be the greater one, by a factor of four at most";
    Err(garde::Error::new(format!("[{least_m}, {most_m}] is not allowed: {allowed}")))
}

/// What does not change of a window's grains.
#[derive(Clone, Debug)]
pub(crate) struct Grains {
    model: Model,
    spec: DemSpec,
    /// The grains before they fall.
    filling: Filling,
    /// Grains at rest up to the highest ground, once they have settled.
    settled: OnceLock<State>,
}

/// What has settled follows from the rest.
impl PartialEq for Grains {
    fn eq(&self, other: &Self) -> bool {
        (&self.model, &self.spec, &self.filling) == (&other.model, &other.spec, &other.filling)
    }
}

/// The grains of a window, and the bodies in it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bed {
    spheres: State,
    /// Mass of each grain in the ledger, mg.
    masses_mg: Vec<u32>,
    /// The bodies of the last step, in the order of the contacts' numbers.
    bodies: Vec<Inside>,
}

/// A body among grains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Inside {
    number: u64,
    /// Where its twist led to, m in the grid's frame.
    at_m: Vector3<f64>,
    /// How much smaller it is than itself, m.
    smaller_m: f64,
}

impl Inside {
    /// Whether a body is this one, where its twist led to.
    fn is(&self, (number, body): &(u64, Body)) -> bool {
        self.number == *number && (body.pose.translation.vector - self.at_m).norm() <= JUMP_M
    }

    /// The body for the next step: itself, or smaller while it has not grown; and how it is after the step.
    fn grown(&self, body: &Body, duration_s: f64) -> (Self, Body) {
        let smaller_m = (self.smaller_m - GROWTH_M_S * duration_s).max(0.0);
        let at_m = body.moved(duration_s).pose.translation.vector;
        (Self { smaller_m, at_m, ..*self }, Body { shape: body.shape.smaller(self.smaller_m, LEAST), ..*body })
    }
}

impl Clone for Bed {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses its allocations, since each heartbeat makes a copy.
    fn clone_from(&mut self, source: &Self) {
        let Self { spheres, masses_mg, bodies } = source;
        self.spheres.spheres.clone_from(&spheres.spheres);
        self.spheres.contacts.clone_from(&spheres.contacts);
        self.masses_mg.clone_from(masses_mg);
        self.bodies.clone_from(bodies);
    }
}

impl Grains {
    /// Grains of `soil` in a grid under `gravity_m_s2`, up to `depth_m` above its floor.
    ///
    /// # Errors
    /// When they would be too many, too light or wider than half a cell, or a parameter is out of its range: why, in
    /// words.
    pub(crate) fn new(
        spec: &DemSpec,
        soil: &SpheresSpec,
        grid: &Grid,
        gravity_m_s2: f64,
        depth_m: f64,
    ) -> Result<Self, String> {
        let [least_m, most_m] = spec.diameter_m;
        if 2.0 * most_m > grid.cell_m * (1.0 + 1e-9) {
            return Err(format!("dem.diameter_m {most_m} is more than spacing_m, {}", 0.5 * grid.cell_m));
        }
        let filling = spec.filling(grid, depth_m);
        let model = model(soil, grid.size_m(), gravity_m_s2).map_err(|error| error.to_string())?;
        let lightest_mg = model.mass_kg(0.5 * least_m) * MG_PER_KG;
        if lightest_mg < LIGHTEST_MG {
            let what = format!("grains of {least_m} m weigh {lightest_mg:.1} mg: {LIGHTEST_MG} mg or more are allowed");
            return Err(format!("dem.diameter_m: {what}"));
        }
        let grains = Self { model, spec: *spec, filling, settled: OnceLock::new() };
        if grains.count() > GRAINS_MAX {
            return Err(format!("needs {:.0} grains on this ground; {GRAINS_MAX} are allowed", grains.count()));
        }
        Ok(grains)
    }

    /// Number of grains that fall into the window.
    pub(crate) fn count(&self) -> f64 {
        self.filling.high_m.into_iter().map(|m| (m / self.spec.diameter_m[1] * (1.0 + 1e-9)).floor()).product()
    }

    /// Parameters of the grains.
    pub(crate) fn soil(&self) -> &SpheresSpec {
        self.model.grains()
    }

    /// Longest substep while grains are slow, s.
    pub(crate) fn substep_max_s(&self) -> f64 {
        self.model.substep_max_s(0.5 * self.spec.diameter_m[0])
    }

    /// Density of a settled bed, kg/m³.
    pub(crate) fn bed_kg_m3(&self) -> f64 {
        PACKED * self.soil().density_kg_m3
    }

    /// Radius of a grain, m.
    pub(crate) fn radius_m(&self, id: u32) -> f64 {
        self.filling.radius_m(u64::from(id))
    }

    /// A settled bed up to the ground, whose height above the floor, m, `ground_m` gives at x and y in the window, m.
    /// Grains settle on the CPU, or on `device`.
    ///
    /// # Errors
    /// When they are too many for the CPU, overlap too deeply, become too fast or do not come to rest, or the device
    /// fails.
    pub(crate) fn bed(
        &self,
        device: Option<&SpheresDevice>,
        ground_m: impl Fn([f64; 2]) -> f64,
    ) -> Result<Bed, SpheresError> {
        if device.is_none() && self.count() > ON_CPU_MAX {
            let what = format!("{:.0} grains: {ON_CPU_MAX} are allowed on a CPU, {GRAINS_MAX} on a GPU", self.count());
            return Err(SpheresError::Filling(what));
        }
        let settled = match self.settled.get() {
            Some(settled) => settled,
            None => {
                let settled = self.settle(GrainSolver::new(device))?;
                self.settled.get_or_init(|| settled)
            }
        };
        let mut spheres = settled.clone();
        spheres.retain(|sphere| {
            let [x, y, z] = sphere.position_m.into();
            z - ABOVE_RADII * sphere.radius_m <= ground_m([x, y])
        });
        let mass_mg = |sphere: &Sphere| (self.model.mass_kg(sphere.radius_m) * MG_PER_KG).round().max(1.0) as u32;
        Ok(Bed { masses_mg: spheres.spheres.iter().map(mass_mg).collect(), spheres, bodies: Vec::new() })
    }

    fn settle(&self, mut solver: GrainSolver) -> Result<State, SpheresError> {
        let [x, y, lid_m] = self.model.container().size_m;
        let high_m = self.filling.high_m[2];
        let heavy = model(self.soil(), [x, y, lid_m.max(high_m)], SETTLING_M_S2)?;
        let mut state = State::default();
        state.fill(&heavy, &self.filling)?;
        solver.step(&heavy, &mut state, &[], (2.0 * high_m / SETTLING_M_S2).sqrt())?;
        for model in [&heavy, &self.model] {
            self.come_to_rest(model, &mut state, &mut solver)?;
        }
        state.spheres.iter_mut().for_each(|sphere| {
            sphere.velocity_m_s.fill(0.0);
            sphere.angular_velocity_rad_s.fill(0.0);
        });
        Ok(state)
    }

    fn come_to_rest(&self, model: &Model, state: &mut State, solver: &mut GrainSolver) -> Result<(), SpheresError> {
        for _ in 0..LOOKS_MAX {
            solver.step(model, state, &[], RESTING_S)?;
            solver.bring_back(state)?;
            if is_still(&totals(state.spheres.iter().map(|sphere| piece(sphere, 0)), &[])) {
                return Ok(());
            }
        }
        let (longest_s, restitution) = (LOOKS_MAX as f64 * RESTING_S, self.soil().restitution);
        let what =
            format!("grains do not come to rest within {longest_s} s; restitution {restitution} may be too high");
        Err(SpheresError::Filling(what))
    }
}

impl DemSpec {
    /// The grains before they fall: enough to reach `depth_m` when packed as densely as spheres can be.
    fn filling(&self, grid: &Grid, depth_m: f64) -> Filling {
        let ([least_m, most_m], [x, y, _]) = (self.diameter_m, grid.size_m());
        let filled = self.mean_m3() / most_m.powi(3);
        let high_m = [x, y, depth_m * PACKED_MAX / filled + most_m];
        let (low_m, velocity_m_s) = ([0.0; 3], Vector3::zeros());
        Filling { low_m, high_m, radius_m: [0.5 * least_m, 0.5 * most_m], velocity_m_s, seed: self.seed }
    }

    /// Mean volume of a grain, m³.
    fn mean_m3(&self) -> f64 {
        let [a, b] = self.diameter_m;
        // ∫ D³ dD over (b − a), which is also right for a = b.
        FRAC_PI_6 * 0.25 * (a + b) * (a * a + b * b)
    }
}

/// Grains in a box: rough walls and floor, and a frictionless lid.
fn model(soil: &SpheresSpec, size_m: [f64; 3], gravity_m_s2: f64) -> Result<Model, SpheresError> {
    let sides = [Wall::Rough, Wall::Rough];
    let walls = [sides, sides, [Wall::Rough, Wall::Sliding { friction: 0.0 }]];
    Model::new(soil, &Container { size_m, walls }, Vector3::z() * -gravity_m_s2)
}

fn piece(sphere: &Sphere, mass_mg: u32) -> SoilPiece {
    let &Sphere { position_m, velocity_m_s, id, .. } = sphere;
    SoilPiece { position_m, velocity_m_s: velocity_m_s.cast(), mass_mg, id }
}

impl Bed {
    /// The grains.
    pub(crate) fn spheres(&self) -> &[Sphere] {
        &self.spheres.spheres
    }

    /// The grains with their masses.
    pub(crate) fn grains(&self) -> impl Iterator<Item = SoilPiece> {
        self.spheres().iter().zip(&self.masses_mg).map(|(sphere, mass_mg)| piece(sphere, *mass_mg))
    }

    /// Masses, kg, and places of the grains.
    pub(crate) fn masses_kg<'a>(&'a self, grains: &'a Grains) -> impl Iterator<Item = (&'a Vector3<f64>, f64)> {
        self.spheres().iter().map(|sphere| (&sphere.position_m, grains.model.mass_kg(sphere.radius_m)))
    }

    /// Whether a bed, perhaps read from a file, is valid for these grains.
    pub(crate) fn fits(&self, grains: &Grains) -> bool {
        let bodies_fit = self.bodies.iter().all(|inside| {
            inside.smaller_m.is_finite() && inside.smaller_m >= 0.0 && inside.at_m.iter().all(|m| m.is_finite())
        });
        let radii_fit = self.spheres().iter().all(|sphere| sphere.radius_m == grains.radius_m(sphere.id));
        let counts_fit = self.masses_mg.len() == self.spheres().len();
        counts_fit && bodies_fit && radii_fit && self.spheres.check(&grains.model).is_ok()
    }

    /// Advances the grains by `duration_s` while `bodies`, in the grid's frame and each with its permanent number, move
    /// along their twists. Returns the impulse on each.
    ///
    /// # Errors
    /// When a body is not valid, grains overlap too deeply or become too fast, or a device fails. The grains then stay
    /// where they are, but contacts of bodies that are gone are forgotten.
    pub(crate) fn step(
        &mut self,
        grains: &Grains,
        bodies: &[(u64, Body)],
        duration_s: f64,
        solver: &mut GrainSolver,
    ) -> Result<Vec<Reaction>, SpheresError> {
        let go_on =
            bodies.len() == self.bodies.len() && self.bodies.iter().zip(bodies).all(|(inside, body)| inside.is(body));
        if !go_on {
            solver.bring_back(&mut self.spheres)?;
            self.renumber(bodies);
        }
        let entered = self.bodies.iter().zip(bodies).map(|(inside, (_, body))| inside.grown(body, duration_s));
        let (inside, moving): (Vec<_>, Vec<_>) = entered.unzip();
        self.bodies = inside;
        solver.step(&grains.model, &mut self.spheres, &moving, duration_s)
    }

    /// Takes over another list of bodies. Those that were not there enter, those that are missing are forgotten.
    fn renumber(&mut self, bodies: &[(u64, Body)]) {
        let at = |old: u32| {
            let inside = self.bodies.get(old as usize)?;
            bodies.iter().position(|body| inside.is(body)).map(|at| at as u32)
        };
        self.spheres.renumber_bodies(at);
        let known = |body| self.bodies.iter().find(|inside| inside.is(body)).copied();
        self.bodies = bodies.iter().map(|body| known(body).unwrap_or_else(|| self.entering(body))).collect();
    }

    fn entering(&self, (number, body): &(u64, Body)) -> Inside {
        Inside { number: *number, at_m: body.pose.translation.vector, smaller_m: self.too_large_m(body) }
    }

    /// Sets the grains to those on the device that steps them, if they are newer.
    pub(crate) fn bring_back(&mut self, solver: &mut GrainSolver) -> Result<(), SpheresError> {
        solver.bring_back(&mut self.spheres)
    }

    /// How much smaller a body must be to overlap no grain by more than [`OVERLAP_RADII`], m.
    fn too_large_m(&self, body: &Body) -> f64 {
        let reach_m = body.shape.bounding_radius_m();
        let excess_m = |sphere: &Sphere| {
            let from_origin = sphere.position_m - body.pose.translation.vector;
            if from_origin.norm() > reach_m + sphere.radius_m {
                return 0.0;
            }
            let distance = body.shape.distance(&body.pose.rotation.inverse_transform_vector(&from_origin));
            distance.map_or(0.0, |(distance_m, _)| (1.0 - OVERLAP_RADII) * sphere.radius_m - distance_m)
        };
        self.spheres().iter().map(excess_m).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Isometry3, Vector3};
    use selene_base::Wrench;
    use selene_crm::{Body, BodyShape};
    use selene_spheres::SpheresSpec;
    use selene_terrain::{GroundPatch, Level, Ruts, Terrain};

    use super::{Bed, DemSpec, Inside};
    use crate::granular::state::Particles;
    use crate::granular::{GranularError, GranularWindow, SoilSolver, WindowSpec, WindowState};
    use crate::law::Law;
    use crate::memory::MemoryPatch;
    use crate::rigid::{Rigid, RigidSpec};
    use crate::soils::Soils;
    use crate::wheel::Conditions;

    const CONDITIONS: Conditions = Conditions { dt_s: 0.001, gravity_m_s2: 1.62 };
    const GRAVEL: SpheresSpec = SpheresSpec {
        density_kg_m3: 2600.0,
        young_pa: 1e6,
        poisson: 0.3,
        restitution: 0.4,
        friction: 0.5,
        rolling_friction: 0.1,
    };

    fn spec() -> WindowSpec {
        WindowSpec {
            name: "gravel".to_owned(),
            from_m: [-0.2, -0.16],
            to_m: [0.2, 0.16],
            depth_m: 0.06,
            spacing_m: 0.02,
            exchange_s: None,
            grains: None,
            dem: Some(DemSpec { diameter_m: [0.014, 0.02], seed: 0 }),
        }
    }

    fn soils() -> Soils {
        let law = Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }));
        Soils::uniform(law).with_dem(GRAVEL)
    }

    fn terrain() -> Terrain {
        Terrain::of_level(Level::sample([-1.0, -1.0], 0.02, 101, |_, y| 0.5 + 0.02 * y), Vec::new(), Vec::new())
    }

    fn made(spec: &WindowSpec) -> Result<GranularWindow, GranularError> {
        GranularWindow::new(spec, &soils(), &terrain(), &CONDITIONS)
    }

    /// A bed of grains on gentle ground, and the ground.
    fn gravel() -> (GranularWindow, WindowState, GroundPatch) {
        let window = made(&spec()).expect("a window");
        let state = window.at_rest(&terrain(), &Ruts::default(), None).expect("a bed");
        let ground = window.posts.ground(&terrain(), &mut Ruts::default());
        (window, state, ground)
    }

    fn ball_at(height_m: f64, speed_m_s: f64) -> Body {
        Body {
            shape: BodyShape::Sphere { radius_m: 0.06 },
            pose: Isometry3::translation(0.0, 0.0, height_m),
            velocity_m_s: Vector3::new(0.0, 0.0, speed_m_s),
            angular_velocity_rad_s: Vector3::zeros(),
            friction: 0.5,
        }
    }

    fn stepped(
        window: &GranularWindow,
        state: &mut WindowState,
        bodies: &[(u64, Body)],
        solver: &mut SoilSolver,
    ) -> Vec<Wrench> {
        window.step(state, bodies, solver).expect("a step")
    }

    #[test]
    fn grains_lie_below_the_ground_from_the_start_and_rest_until_something_comes() {
        let (window, mut state, ground) = gravel();
        let (grains, density) = (state.grains(), 2600.0);
        let volume_m3 = 0.4 * 0.32 * (0.06 + 0.02 * 0.16);
        let packed = state.points_mg() as f64 / 1e6 / density / volume_m3;
        // Along the floor and the walls there is more room than in the midst of a packing; the uppermost grains are not
        // quite below the ground.
        assert!((0.5..0.7).contains(&packed), "{packed} of the bed is filled by {} grains", grains.len());
        assert!(!state.is_flowing() && state.posts_mg() == 0 && state.points().is_empty() && window.fits(&state));
        for grain in grains {
            let at_m = grain.position_m + window.corner_m;
            let ground_m = ground.height_m(at_m.x, at_m.y).expect("ground");
            assert!(at_m.z - 0.5 * grain.radius_m <= ground_m + 1e-9 && (0.007..=0.01).contains(&grain.radius_m));
            assert_eq!(window.grain_radius_m(grain.id), Some(grain.radius_m));
        }
        // Sensors see every column's highest grains, 20 columns by 16 as wide as the greatest.
        let seen = window.loose_points(&state, &mut SoilSolver::default()).expect("points");
        assert!(seen.len() > 300 && seen.len() <= 640, "{} grains are seen", seen.len());
        let before = state.clone();
        assert_eq!(
            stepped(&window, &mut state, &[(1, ball_at(0.58, 0.0))], &mut SoilSolver::new(None))[0],
            Wrench::default()
        );
        assert!(state == before, "it rests");
    }

    #[test]
    fn a_pressed_ball_is_borne_leaves_a_pit_and_the_grains_come_to_rest() {
        let (window, mut state, mut ground) = gravel();
        let mut memory = MemoryPatch::new(&ground);
        let (total_mg, before_m) = (state.total_mg(), ground.height_m(0.0, 0.0).expect("ground"));
        window.wake(&mut state, &ground);
        let (mut solver, mut lifts_n) = (SoilSolver::new(None), Vec::new());
        for n in 0..225 {
            let body = ball_at(0.58 - 2e-4 * f64::from(n), -0.2);
            lifts_n.push(stepped(&window, &mut state, &[(1, body)], &mut solver)[0].force.z);
            if n % 10 == 9 {
                let end =
                    window.end_heartbeat(&mut state, &mut SoilSolver::default(), true, 0.01).expect("nothing is lost");
                window.settle(&mut state, &mut ground, &mut memory, end).expect("nothing is lost");
            }
        }
        let [early_n, late_n] =
            [&lifts_n[..20], &lifts_n[175..]].map(|part| part.iter().sum::<f64>() / part.len() as f64);
        assert!(early_n < 0.5 && late_n > 3.0, "{early_n} N, then {late_n} N");
        let sunk_m = ground.height_m(0.0, 0.0).expect("ground") - before_m;
        assert!((-0.03..-0.008).contains(&sunk_m), "the ground under a ball 2.5 cm down sank by {sunk_m} m");
        assert!(state.is_flowing() && state.points_mg() == total_mg);
        let mut beats = 0;
        while state.is_flowing() && beats < 300 {
            for _ in 0..10 {
                stepped(&window, &mut state, &[], &mut solver);
            }
            let end =
                window.end_heartbeat(&mut state, &mut SoilSolver::default(), false, 0.01).expect("nothing is lost");
            window.settle(&mut state, &mut ground, &mut memory, end).expect("nothing is lost");
            beats += 1;
        }
        assert!(
            (50..300).contains(&beats) && state.points_mg() == total_mg && window.fits(&state),
            "{beats} heartbeats"
        );
        assert!(ground.height_m(0.0, 0.0).expect("ground") < before_m - 0.005, "a pit stays");
    }

    /// A body that the height field carried at a depth at which grains would burst.
    #[test]
    fn a_body_that_enters_below_the_surface_grows_to_its_size() {
        let (window, mut state, ground) = gravel();
        window.wake(&mut state, &ground);
        let (mut solver, sunk) = (SoilSolver::new(None), ball_at(0.545, 0.0));
        let lifts_n: Vec<f64> =
            (0..1500).map(|_| stepped(&window, &mut state, &[(1, sunk)], &mut solver)[0].force.z).collect();
        assert!(lifts_n[0].abs() < 1.0, "{} N at first", lifts_n[0]);
        assert!(lifts_n[1400] > 0.5, "{} N at last", lifts_n[1400]);
        let least_m = state.grains().iter().map(|grain| {
            (grain.position_m + window.corner_m - sunk.pose.translation.vector).norm() - 0.06 - grain.radius_m
        });
        let least_m = least_m.fold(f64::INFINITY, f64::min);
        assert!((-0.002..0.0).contains(&least_m), "grains end {least_m} m off the ball");
    }

    /// A rover that a service sets down elsewhere keeps its number.
    #[test]
    fn a_body_that_is_set_down_elsewhere_enters_anew() {
        let (window, mut state, ground) = gravel();
        window.wake(&mut state, &ground);
        let (mut solver, above) = (SoilSolver::new(None), ball_at(0.7, 0.0));
        let sunk = Body { pose: Isometry3::translation(0.08, 0.0, 0.53), ..above };
        for body in [above, sunk, above, sunk] {
            let lift_n = stepped(&window, &mut state, &[(1, body)], &mut solver)[0].force.norm();
            assert!(lift_n < 1.0, "{lift_n} N");
        }
    }

    #[test]
    fn contacts_belong_to_a_body_wherever_it_is_in_the_list() {
        let (window, mut state, ground) = gravel();
        window.wake(&mut state, &ground);
        let beside = |x_m: f64| Body { pose: Isometry3::translation(x_m, 0.0, 0.555), ..ball_at(0.0, -0.1) };
        let (one, other) = ((5, beside(-0.1)), (9, beside(0.1)));
        let mut solver = SoilSolver::new(None);
        for _ in 0..50 {
            stepped(&window, &mut state, &[one, other], &mut solver);
        }
        let mut turned = state.clone();
        for _ in 0..20 {
            let wrenches = stepped(&window, &mut state, &[one, other], &mut solver);
            let other_order = stepped(&window, &mut turned, &[other, one], &mut SoilSolver::new(None));
            assert!(wrenches[0].force.z > 0.0 && wrenches[0] == other_order[1] && wrenches[1] == other_order[0]);
        }
        assert!(state.grains() == turned.grains());
        // One that leaves is forgotten, and the other is not.
        let alone = stepped(&window, &mut state, &[other], &mut solver);
        assert!(alone[0].force.z > 0.0 && window.fits(&state));
    }

    #[test]
    fn beds_that_cannot_be_are_refused_with_what_is_allowed() {
        let with = |dem: DemSpec| made(&WindowSpec { dem: Some(dem), ..spec() }).map(|_| ()).map_err(|e| e.to_string());
        let wide = with(DemSpec { diameter_m: [0.02, 0.03], seed: 0 }).expect_err("must be refused");
        assert!(wide.contains("'gravel': dem.diameter_m 0.03 is more than spacing_m, 0.02"), "{wide}");
        let many = with(DemSpec { diameter_m: [0.002, 0.0021], seed: 0 }).expect_err("must be refused");
        assert!(many.contains("grains on this ground; 1000000 are allowed"), "{many}");
        let light = with(DemSpec { diameter_m: [0.001, 0.002], seed: 0 }).expect_err("must be refused");
        assert!(light.contains("dem.diameter_m: grains of 0.001 m weigh 1.4 mg: 10 mg or more are allowed"), "{light}");
        let for_a_gpu = WindowSpec { dem: Some(DemSpec { diameter_m: [0.004, 0.008], seed: 0 }), ..spec() };
        let window = made(&for_a_gpu).expect("a window");
        let many = window.at_rest(&terrain(), &Ruts::default(), None).expect_err("too many").to_string();
        assert!(many.contains("20000 are allowed on a CPU, 1000000 on a GPU"), "{many}");
        let law = Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }));
        let bare = GranularWindow::new(&spec(), &Soils::uniform(law), &terrain(), &CONDITIONS).expect_err("refused");
        assert!(bare.to_string().contains("no key `dem` in its file"), "{bare}");
        // Grains that their own weight presses too far.
        let soft = SpheresSpec { young_pa: 1e4, density_kg_m3: 20_000.0, ..GRAVEL };
        let law = Law::Rigid(Rigid::from(&RigidSpec { static_friction: 0.8, dynamic_friction: 0.7 }));
        let deep = WindowSpec { depth_m: 0.15, ..spec() };
        let window = GranularWindow::new(&deep, &Soils::uniform(law).with_dem(soft), &terrain(), &CONDITIONS);
        let failed = window.expect("a window").at_rest(&terrain(), &Ruts::default(), None).expect_err("too soft");
        assert!(failed.to_string().contains("'gravel': grain"), "{failed}");
    }

    #[test]
    fn a_bed_of_which_a_part_is_not_valid_does_not_fit() {
        let (window, state, _) = gravel();
        let broken = |change: &dyn Fn(&mut Bed)| {
            let mut state = state.clone();
            match state.particles_mut() {
                Some(Particles::Grains(bed)) => change(bed),
                _ => panic!("the soil is no bed"),
            }
            state
        };
        let no_mass = broken(&|bed| bed.masses_mg.push(0));
        let inside = Inside { number: 1, at_m: Vector3::zeros(), smaller_m: 0.0 };
        let with_body = |smaller_m: f64| broken(&|bed: &mut Bed| bed.bodies.push(Inside { smaller_m, ..inside }));
        let lost = broken(&|bed| bed.spheres.spheres[3].position_m.x = f64::NAN);
        let larger = broken(&|bed| bed.spheres.spheres[3].radius_m *= 1.01);
        assert!(![no_mass, with_body(-1.0), lost, larger].iter().any(|state| window.fits(state)));
        assert!(window.fits(&with_body(0.01)));
        assert!(window.fits(&state) && !window.fits(&WindowState::default()));
    }
}

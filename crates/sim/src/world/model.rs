//! The part of a world that does not change while it runs: the scenario, its undisturbed ground, and the
//! models of rovers, objects and rocks. It is shared; a copy with one more rover costs a list of pointers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_sensors::{BodySensor, ForceTorqueSpec};
use selene_soil::rig::coarsest_grid_m;
use selene_soil::{Conditions, GranularDevice, GranularWindow, Law, Soils, WheelMemory, WheelShape};
use selene_terrain::{GroundPatch, ReflectanceSpec, Ruts, Terrain};
use selene_vehicle::contact::{ContactShapes, FloorMemory, Obstacle, RockInertia, RockSolids};
use selene_vehicle::{Bounds, Link, ObjectModel, Rover, RoverModel, VehicleError, Wheel};

use crate::driving::{Command, Driver, RouteFollower, RouteProgress};
use crate::scenario::{FIRST_LAID, from_site, laid};
use crate::scenario::{LooseRockSetup, ObjectSetup, RoverSetup, Scenario, ScenarioError, Start};
use crate::wheels::wheel_shapes;
use crate::world::entity::{Entity, EntityId};
use crate::world::granular::{self, PartShape};
use crate::world::state::{OutOfRangeCounts, RoverEntityState};

/// Distance from a line within which points count as on it, relative to their distance from the middle.
const IN_LINE: f64 = 1e-3;

/// The part of a world that does not change while it runs.
#[derive(Clone, Debug)]
pub struct Model {
    scenario: Arc<Scenario>,
    terrain: Arc<Terrain>,
    rock_solids: Arc<RockSolids>,
    rovers: BTreeMap<EntityId, Arc<RoverKind>>,
    objects: BTreeMap<EntityId, Arc<ObjectKind>>,
    rocks: BTreeMap<u32, Arc<RockInertia>>,
    windows: Arc<[Arc<GranularWindow>]>,
    /// Loose rocks at the start.
    loose: Arc<[LooseRockSetup]>,
    /// What advances granular soil instead of the CPU.
    soil_device: Option<GranularDevice>,
}

/// A rover's model, driver and derived shapes.
#[derive(Clone, Debug)]
pub struct RoverKind {
    setup: RoverSetup,
    pub(crate) driver: Driver,
    pub(crate) follower: Option<RouteFollower>,
    pub(crate) wheel_shapes: Vec<WheelShape>,
    pub(crate) contact_shapes: ContactShapes,
    /// Its bodies, as granular soil collides with them.
    pub(crate) part_shapes: Vec<PartShape>,
    pub(crate) reach_m: f64,
    /// Bounding box of each link, in the link's frame.
    pub(crate) link_bounds: Vec<Option<Bounds>>,
    /// Sensors of its own body.
    pub(crate) body_sensors: Vec<BodySensor>,
    /// Links whose load on their parents is measured, ascending.
    pub(crate) loaded_links: Vec<usize>,
}

/// A fixed object: its model and its pose.
#[derive(Clone, Debug)]
pub struct ObjectKind {
    /// Its name.
    pub name: String,
    /// Its visual and collision shapes.
    pub model: Arc<ObjectModel>,
    /// Reflectance of the whole object; `None` for paint in its own colours.
    pub material: Option<ReflectanceSpec>,
    /// Its pose in the map frame.
    pub world_from_object: Pose,
    pub(crate) obstacle: Obstacle,
    pub(crate) reach_m: f64,
    /// Its bounding box, in its own frame.
    pub(crate) bounds: Option<Bounds>,
}

impl Model {
    /// Makes the ground and prepares everything that the scenario names: the slow part of a start.
    ///
    /// # Errors
    /// When the site's elevation data are missing or refused, or a loose rock or a granular window is not possible.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, ScenarioError> {
        let terrain = scenario.terrain()?;
        Self::on(scenario, terrain)
    }

    /// The model of a scenario on another ground than that of its site.
    ///
    /// # Errors
    /// When a loose rock cannot be laid, or a granular window is not possible.
    pub fn on(scenario: Arc<Scenario>, mut terrain: Terrain) -> Result<Self, ScenarioError> {
        let mut loose = from_site(&scenario, &terrain);
        terrain.loosen(loose.iter().map(|rock| rock.id));
        loose.extend(laid(&scenario, &terrain, &Ruts::default())?);
        let windows = granular::windows(&scenario, &terrain)?;
        Ok(Self { windows, ..Self::of(scenario, Arc::new(terrain), loose) })
    }

    /// A model on the same ground with another variant of its scenario: other starts, soils, gravity, masses or laid
    /// rocks. The ground and the loose rocks of the site are shared with this model and not made again.
    ///
    /// # Errors
    /// When a loose rock cannot be laid, or a granular window does not fit.
    pub fn with_scenario(&self, scenario: Arc<Scenario>) -> Result<Self, ScenarioError> {
        let mut loose: Vec<_> = self.loose.iter().filter(|rock| rock.id < FIRST_LAID).cloned().collect();
        loose.extend(laid(&scenario, &self.terrain, &Ruts::default())?);
        let windows = granular::windows(&scenario, &self.terrain)?;
        let (terrain, solids) = (Arc::clone(&self.terrain), Arc::clone(&self.rock_solids));
        let soil_device = self.soil_device.clone();
        Ok(Self { windows, soil_device, ..Self::with(scenario, terrain, solids, loose) })
    }

    /// A model without granular windows.
    fn of(scenario: Arc<Scenario>, terrain: Arc<Terrain>, loose: Vec<LooseRockSetup>) -> Self {
        let solids = Arc::new(RockSolids::new(terrain.shapes()));
        Self::with(scenario, terrain, solids, loose)
    }

    fn with(
        scenario: Arc<Scenario>,
        terrain: Arc<Terrain>,
        rock_solids: Arc<RockSolids>,
        loose: Vec<LooseRockSetup>,
    ) -> Self {
        terrain.expect_viewers(scenario.rovers.len());
        let numbers = (1..).map(EntityId);
        let rovers = scenario.rovers.iter().map(|setup| Arc::new(RoverKind::new(setup.clone())));
        let objects = scenario.objects.iter();
        let first_object = EntityId(1 + scenario.rovers.len() as u32);
        let objects = (first_object.0..).map(EntityId).zip(objects);
        let objects = objects.map(|(id, setup)| (id, Arc::new(ObjectKind::new(id, setup, &terrain, &Ruts::default()))));
        let mut model = Self {
            rock_solids,
            rovers: numbers.zip(rovers).collect(),
            objects: objects.collect(),
            rocks: BTreeMap::new(),
            windows: Arc::default(),
            loose: loose.into(),
            soil_device: None,
            terrain,
            scenario,
        };
        model.rocks = model.loose.iter().filter_map(|rock| Some((rock.id, model.rock_inertia(rock)?))).collect();
        model
    }

    /// The same model, whose granular soil is advanced by a device. Results differ from those of the CPU by rounding.
    #[must_use]
    pub fn with_soil_device(self, device: GranularDevice) -> Self {
        Self { soil_device: Some(device), ..self }
    }

    pub(crate) fn soil_device(&self) -> Option<&GranularDevice> {
        self.soil_device.as_ref()
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// The undisturbed ground.
    #[must_use]
    pub fn terrain(&self) -> &Arc<Terrain> {
        &self.terrain
    }

    /// The rovers.
    #[must_use]
    pub fn rovers(&self) -> &BTreeMap<EntityId, Arc<RoverKind>> {
        &self.rovers
    }

    /// The fixed objects.
    #[must_use]
    pub fn objects(&self) -> &BTreeMap<EntityId, Arc<ObjectKind>> {
        &self.objects
    }

    /// Shape and inertia of loose rocks, by their id.
    #[must_use]
    pub fn rocks(&self) -> &BTreeMap<u32, Arc<RockInertia>> {
        &self.rocks
    }

    /// The granular windows, in the order of the scenario.
    #[must_use]
    pub fn windows(&self) -> &[Arc<GranularWindow>] {
        &self.windows
    }

    /// Warnings about this world for its start, such as a grid that is too coarse for a rover's wheels.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let windows = self.windows.iter().filter_map(|window| window.remark());
        windows.chain(self.rovers.values().filter_map(|kind| self.grid_remark(kind))).collect()
    }

    /// A warning if the ground's grid is coarser than a rig would allow for this rover's wheels.
    fn grid_remark(&self, kind: &RoverKind) -> Option<String> {
        let (start, spacing_m) = (kind.setup.start, self.terrain.spacing_m());
        let is_scm = matches!(self.soils(kind).at(start.x_m, start.y_m), Law::Scm(_));
        let most_m = kind.wheel_shapes.iter().map(coarsest_grid_m).fold(f64::INFINITY, f64::min);
        (is_scm && spacing_m > most_m).then(|| {
            format!(
                "rover '{}': the ground's posts are {spacing_m} m apart, its wheels need {most_m:.3} m or less: \
                 it slips less than on finer ground",
                kind.setup.name
            )
        })
    }

    /// The rover of this name.
    #[must_use]
    pub fn rover_named(&self, name: &str) -> Option<EntityId> {
        self.rovers.iter().find(|(_, kind)| kind.setup.name == name).map(|(id, _)| *id)
    }

    /// Whether it has this entity, present or removed.
    #[must_use]
    pub fn knows(&self, entity: Entity) -> bool {
        match entity {
            Entity::Rover(id) => self.rovers.contains_key(&id),
            Entity::Object(id) => self.objects.contains_key(&id),
            Entity::Rock(id) => self.rocks.contains_key(&id),
        }
    }

    pub(crate) fn loose(&self) -> &[LooseRockSetup] {
        &self.loose
    }

    pub(crate) fn rock_solids(&self) -> &RockSolids {
        &self.rock_solids
    }

    pub(crate) fn first_free(&self) -> EntityId {
        EntityId(1 + (self.scenario.rovers.len() + self.scenario.objects.len()) as u32)
    }

    pub(crate) fn gravity_m_s2(&self) -> Vector3<f64> {
        Vector3::new(0.0, 0.0, -self.scenario.gravity_m_s2)
    }

    pub(crate) fn conditions(&self) -> Conditions {
        Conditions { dt_s: self.scenario.step.secs_f64(), gravity_m_s2: self.scenario.gravity_m_s2 }
    }

    /// The soils under a rover's wheels.
    pub(crate) fn soils<'a>(&'a self, rover: &'a RoverKind) -> &'a Soils {
        rover.setup.soils.as_ref().unwrap_or(&self.scenario.soils)
    }

    pub(crate) fn rock_inertia(&self, rock: &LooseRockSetup) -> Option<Arc<RockInertia>> {
        RockInertia::new(self.terrain.shapes(), rock.shape, rock.radius_m, rock.density_kg_m3).map(Arc::new)
    }

    /// Adds a rover, or replaces the one with its id.
    pub(crate) fn add_rover(&mut self, id: EntityId, kind: Arc<RoverKind>) {
        self.rovers.insert(id, kind);
    }

    pub(crate) fn add_object(&mut self, id: EntityId, kind: Arc<ObjectKind>) {
        self.objects.insert(id, kind);
    }

    pub(crate) fn add_rock(&mut self, id: u32, inertia: Arc<RockInertia>) {
        self.rocks.insert(id, inertia);
    }
}

impl RoverKind {
    /// A rover of a scenario.
    #[must_use]
    pub fn new(setup: RoverSetup) -> Self {
        let Start { x_m, y_m, .. } = setup.start;
        Self {
            driver: Driver::new(&setup.model),
            follower: setup.route.as_ref().map(|route| RouteFollower::new(route, [x_m, y_m])),
            wheel_shapes: wheel_shapes(&setup.model),
            contact_shapes: ContactShapes::new(&setup.model),
            part_shapes: granular::part_shapes(&setup.model),
            reach_m: setup.model.reach_m(),
            link_bounds: link_bounds(&setup.model),
            body_sensors: setup.sensors.iter().filter_map(|sensor| setup.body_sensor(sensor)).collect(),
            loaded_links: loaded_links(&setup),
            setup,
        }
    }

    /// Its entry in the scenario.
    #[must_use]
    pub fn setup(&self) -> &RoverSetup {
        &self.setup
    }

    /// Its vehicle model.
    #[must_use]
    pub fn model(&self) -> &Arc<RoverModel> {
        &self.setup.model
    }

    /// Its state at its start, at rest, with its scripted motions as commands.
    pub(crate) fn start(&self, model: &Model, ruts: &Ruts) -> Result<RoverEntityState, VehicleError> {
        let mut state = self.standing_at(self.setup.start, model, ruts)?;
        for motion in &self.setup.motions {
            self.driver.take(&mut state.driver, &Command::Trajectory(motion.clone()), SimTime::ZERO);
        }
        Ok(state)
    }

    /// Its state when it is set down at `place`, at rest, without commands.
    pub(crate) fn standing_at(
        &self,
        place: Start,
        model: &Model,
        ruts: &Ruts,
    ) -> Result<RoverEntityState, VehicleError> {
        let Start { x_m, y_m, z_m, yaw_rad } = place;
        let patch = GroundPatch::of_square(&model.terrain, ruts, [x_m, y_m], self.reach_m);
        let mut world_from_base = self.standing(&patch, [x_m, y_m], yaw_rad);
        let (gravity_m_s2, dt_s) = (model.gravity_m_s2(), model.conditions().dt_s);
        let mut rover = Rover::new(&self.setup.model, world_from_base, gravity_m_s2, dt_s)?;
        // Casters and drums must not start in the ground, which would throw the rover.
        world_from_base.translation.z += self.contact_shapes.depth_m(&rover, &patch) + z_m;
        if world_from_base.translation.z > rover.world_from_base().translation.z {
            rover = Rover::new(&self.setup.model, world_from_base, gravity_m_s2, dt_s)?;
        }
        let wheels = self.wheel_shapes.len();
        let wheel_load_n = self.setup.model.mass_kg() * model.scenario.gravity_m_s2 / wheels.max(1) as f64;
        Ok(RoverEntityState {
            body: rover.state(),
            wheels: vec![WheelMemory::carrying(wheel_load_n); wheels],
            floors: vec![FloorMemory::default(); self.contact_shapes.floor_count()],
            driver: self.driver.unreported(),
            route: RouteProgress::default(),
            clipmap_centre: model.terrain.plan().map_or([0, 0], |plan| plan.centre_of(x_m, y_m)),
            notices: OutOfRangeCounts::default(),
            memories: Vec::new(),
            settings: Default::default(),
        })
    }

    /// Pose with the wheels on the ground: tilted like the plane through the heights under the
    /// wheels, and lifted until no wheel is buried.
    fn standing(&self, ground: &GroundPatch, [x, y]: [f64; 2], yaw_rad: f64) -> Pose {
        let heading = UnitQuaternion::from_euler_angles(0.0, 0.0, yaw_rad);
        let wheels = self.setup.model.wheels();
        let soil_at = |arm: Vector3<f64>| ground.height_m(x + arm.x, y + arm.y).unwrap_or(0.0);
        let under_wheels: Vec<_> = wheels
            .iter()
            .map(|wheel| heading * wheel.centre_in_base_m)
            .map(|arm| Vector3::new(arm.x, arm.y, soil_at(arm)))
            .collect();
        let lean = UnitQuaternion::rotation_between(&Vector3::z(), &plane_normal(&under_wheels)).unwrap_or_default();
        let rotation = lean * heading;
        let height = |wheel: &Wheel| {
            let arm = rotation * wheel.centre_in_base_m;
            soil_at(arm) + wheel.radius_m - arm.z
        };
        let z = wheels.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
        Pose::from_parts(Vector3::new(x, y, z).into(), rotation)
    }
}

impl ObjectKind {
    /// An object with its origin at `z_m` above the ground.
    pub(crate) fn new(id: EntityId, setup: &ObjectSetup, terrain: &Terrain, ruts: &Ruts) -> Self {
        let ObjectSetup { x_m, y_m, z_m, world_from_object: turn, material, .. } = *setup;
        let patch = GroundPatch::of_square(terrain, ruts, [x_m, y_m], terrain.spacing_m());
        let height_m = patch.height_m(x_m, y_m).unwrap_or(0.0) + z_m;
        let world_from_object = Pose::from_parts(Vector3::new(x_m, y_m, height_m).into(), turn);
        let pieces = setup.model.collisions.iter().map(|(pose, shape)| (world_from_object * pose, shape));
        Self {
            name: setup.name.clone(),
            obstacle: Obstacle::new(id.0, pieces),
            reach_m: setup.model.reach_m(),
            bounds: setup.model.bounds(),
            model: Arc::clone(&setup.model),
            material,
            world_from_object,
        }
    }
}

/// The links of a rover whose loads force–torque sensors measure, ascending.
fn loaded_links(setup: &RoverSetup) -> Vec<usize> {
    let sensors = setup.sensors_of::<ForceTorqueSpec>();
    let named = sensors.filter_map(|sensor| setup.model.link_index(&sensor.spec.link));
    let links: BTreeSet<usize> = named.collect();
    links.into_iter().collect()
}

/// Bounding box of each link of a rover, wheels with their treads.
fn link_bounds(rover: &RoverModel) -> Vec<Option<Bounds>> {
    let mut bounds: Vec<_> = rover.links().iter().map(Link::bounds).collect();
    for wheel in rover.wheels() {
        let tread = Bounds::of_half_edges(Vector3::new(wheel.radius_m, 0.5 * wheel.width_m, wheel.radius_m));
        let tread = tread.seen_from(&wheel.link_from_wheel);
        let shapes = bounds[wheel.link];
        bounds[wheel.link] = Some(shapes.map_or(tread, |shapes| shapes.joined(tread)));
    }
    bounds
}

/// Upward normal of the plane z = a x + b y + c nearest to `points` in height (least
/// squares). For points in a line, like the wheels of one axle, the plane is level across the line.
fn plane_normal(points: &[Vector3<f64>]) -> Vector3<f64> {
    if let Some(normal) = normal_along_line(points) {
        return normal;
    }
    let (mut normal_matrix, mut right_side) = (Matrix3::zeros(), Vector3::zeros());
    for point in points {
        let row = Vector3::new(point.x, point.y, 1.0);
        normal_matrix += row * row.transpose();
        right_side += row * point.z;
    }
    let slopes = normal_matrix.lu().solve(&right_side).filter(|slopes| slopes.iter().all(|slope| slope.is_finite()));
    slopes.map_or(Vector3::z(), |slopes| Vector3::new(-slopes.x, -slopes.y, 1.0).normalize())
}

/// Upward normal over points that are in a line seen from above; `None` if they span a plane.
fn normal_along_line(points: &[Vector3<f64>]) -> Option<Vector3<f64>> {
    let middle = points.iter().sum::<Vector3<f64>>() / points.len().max(1) as f64;
    let from_middle = || points.iter().map(|point| point - middle);
    let farthest = from_middle().max_by(|a, b| a.xy().norm().total_cmp(&b.xy().norm()))?;
    let along = farthest.xy().try_normalize(0.0)?;
    let off_m = from_middle().map(|point| along.perp(&point.xy()).abs()).fold(0.0, f64::max);
    if off_m > IN_LINE * farthest.xy().norm() {
        return None;
    }
    let run_m2 = from_middle().map(|point| along.dot(&point.xy()).powi(2)).sum::<f64>();
    let slope = from_middle().map(|point| along.dot(&point.xy()) * point.z).sum::<f64>() / run_m2;
    Some(Vector3::new(-slope * along.x, -slope * along.y, 1.0).normalize())
}

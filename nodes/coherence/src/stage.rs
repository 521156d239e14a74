//! The scene that a tracing node keeps up to date: the ground with its ruts, the
//! rover's parts where they are, the Sun where it stands.

use std::sync::Arc;

use selene_base::{Pose, SimTime};
use selene_scene::{Class, InstanceId, Material, Mesh, Scene, SceneError, Sun, primitives};
use selene_sim::{Scenario, WorldState};
use selene_sky::solar_irradiance_w_m2;
use selene_terrain::Ground;
use selene_vehicle::{Shape, Visual};

use crate::watcher::Interval;

/// A scene and the rover in it.
pub struct Stage {
    scenario: Arc<Scenario>,
    scene: Scene,
    parts: Vec<Part>,
}

/// One visible shape of the rover.
struct Part {
    instance: InstanceId,
    link: usize,
    link_from_shape: Pose,
}

impl Stage {
    /// The scenario's scene on `ground`, at time zero.
    ///
    /// # Errors
    /// When the rover's shapes do not fit into a scene.
    pub fn new(scenario: &Arc<Scenario>, ground: &Ground) -> Result<Self, SceneError> {
        let sun = sun_at(scenario, SimTime::ZERO);
        let mut stage = Self { scenario: Arc::clone(scenario), scene: Scene::new(ground, sun), parts: Vec::new() };
        for (link, body) in scenario.rover.links().iter().enumerate() {
            body.visuals.iter().try_for_each(|visual| stage.add_part(link, visual))?;
        }
        Ok(stage)
    }

    /// The scene as it is now.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Takes over the ground that changed in an interval.
    pub fn take_edits(&mut self, interval: &Interval) {
        if !interval.edits.is_empty() {
            self.scene.apply_edits(&interval.edits);
        }
    }

    /// Moves the rover and the Sun to where they are at `time` between two snapshots.
    pub fn move_to(&mut self, previous: &WorldState, next: &WorldState, time: SimTime) {
        let world_from_shape = |part: &Part| previous.link_at(next, part.link, time) * part.link_from_shape;
        let moves: Vec<_> = self.parts.iter().map(|part| (part.instance, world_from_shape(part))).collect();
        self.scene.move_instances(&moves);
        self.scene.set_sun(sun_at(&self.scenario, time));
    }

    fn add_part(&mut self, link: usize, visual: &Visual) -> Result<(), SceneError> {
        let [r, g, b, _] = visual.rgba;
        // Rec. 709 luminance: the scene is panchromatic.
        let albedo = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let mesh = self.scene.add_mesh(&mesh_of(&visual.shape))?;
        let material = Material::Lambert { albedo };
        let instance = self.scene.add_instance(mesh, &visual.link_from_shape, Class::Rover, &material)?;
        self.parts.push(Part { instance, link, link_from_shape: visual.link_from_shape });
        Ok(())
    }
}

/// The Sun as it stands over the site at simulated `time`.
fn sun_at(scenario: &Scenario, time: SimTime) -> Sun {
    let sun = scenario.sky.sun(scenario.utc.after(time));
    Sun {
        direction_to_sun: sun.unit_enu,
        irradiance_w_m2: solar_irradiance_w_m2(sun.distance_m),
        angular_radius_rad: sun.angular_radius_rad,
    }
}

fn mesh_of(shape: &Shape) -> Mesh {
    match shape {
        Shape::Box { size_m } => primitives::cuboid(*size_m),
        Shape::Cylinder { radius_m, length_m } => primitives::cylinder(*radius_m, *length_m),
        Shape::Sphere { radius_m } => primitives::sphere(*radius_m),
        Shape::Mesh { vertices, triangles } => Mesh { vertices: vertices.clone(), triangles: triangles.clone() },
    }
}

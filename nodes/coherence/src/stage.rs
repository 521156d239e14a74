//! The scene that a tracing node keeps up to date: the ground with its ruts, the
//! rover's parts, its lamps and the loose rocks where they are, Sun and Earth where they
//! stand.

use std::sync::Arc;

use selene_base::{Pose, SimTime};
use selene_scene::{
    Class, Colour, Earth, Flux, HapkeParams, InstanceId, Lamp, Material, Mesh, PrincipledParams, Profile, Scene,
    SceneError, Star, Sun, instance_of_movable, primitives,
};
use selene_sim::{Scenario, WorldState};
use selene_sky::Sky;
use selene_terrain::{Ground, Rock, RockShape};
use selene_vehicle::{FinishSpec, LampSpec, Shape, Visual};

use crate::NodeError;
use crate::history::History;
use crate::watcher::Interval;

/// A scene and the rover in it.
pub struct Stage {
    scenario: Arc<Scenario>,
    ground: Ground,
    scene: Scene,
    parts: Vec<Part>,
    /// In the order of the ground's loose rocks.
    rocks: Vec<InstanceId>,
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
    pub fn new(scenario: &Arc<Scenario>, ground: &Ground) -> Result<Self, NodeError> {
        let sun = sun(&scenario.sky.at(scenario.utc)?);
        let mut stage = Self {
            scenario: Arc::clone(scenario),
            ground: ground.clone(),
            scene: Scene::new(ground, sun),
            parts: Vec::new(),
            rocks: Vec::new(),
        };
        stage.scene.set_surface(&scenario.site);
        stage.turn_sky(SimTime::ZERO)?;
        for (link, body) in scenario.rover.links().iter().enumerate() {
            body.visuals.iter().try_for_each(|visual| stage.add_part(link, visual))?;
        }
        for rock in ground.loose_rocks() {
            if let Some(shape) = ground.rock_shapes().get(rock.shape) {
                stage.add_rock(rock, shape)?;
            }
        }
        Ok(stage)
    }

    /// The scene as it is now.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Takes over the ground that changed in an interval, and goes with its windows.
    pub fn take_ground(&mut self, interval: &Interval) {
        self.ground.apply(&interval.edits);
        let place = interval.next.place;
        match self.ground.surroundings().filter(|_| place != self.ground.place()) {
            Some(surroundings) => {
                let windows = surroundings.vicinity(place);
                self.ground.enter(windows);
                self.scene.set_ground(&self.ground);
            }
            None => self.scene.apply_edits(&self.ground.shown(&interval.edits)),
        }
    }

    /// Moves the rover, its lamps, the loose rocks and the sky's lights to where they are at `time` between
    /// two snapshots.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover `time` or the lamps are too many.
    pub fn move_to(&mut self, previous: &WorldState, next: &WorldState, time: SimTime) -> Result<(), NodeError> {
        let world_from_shape = |part: &Part| previous.link_at(next, part.link, time) * part.link_from_shape;
        let parts = self.parts.iter().map(|part| (part.instance, world_from_shape(part)));
        let rocks = self.rocks.iter().enumerate();
        let rocks = rocks.filter_map(|(i, rock)| Some((*rock, previous.rock_at(next, i, time)?)));
        let moves: Vec<_> = parts.chain(rocks).collect();
        self.scene.move_instances(&moves);
        self.scene.set_lamps(self.lamps(previous, next, time))?;
        self.turn_sky(time)
    }

    /// Has the rover and the loose rocks move as they do in a span of time, see
    /// `Scene::sweep_instances`, with the lamps and the sky's lights as they are at `stamp`. Over a span of
    /// several heartbeats they go evenly from where they are first to where they are last;
    /// before the first snapshot they rest.
    ///
    /// # Errors
    /// When the scenario's kernels do not cover `stamp` or the lamps are too many.
    pub fn move_through(&mut self, history: &History, span: [SimTime; 2], stamp: SimTime) -> Result<(), NodeError> {
        let poses = |at: &dyn Fn(SimTime) -> Option<Pose>| Some([at(span[0])?, at(span[1])?]);
        let part = |part: &Part| {
            let at = |time| Some(history.link_at(part.link, time)? * part.link_from_shape);
            Some((part.instance, poses(&at)?))
        };
        let rock = |(i, rock): (usize, &InstanceId)| Some((*rock, poses(&|time| history.rock_at(i, time))?));
        let moves: Vec<_> =
            self.parts.iter().filter_map(part).chain(self.rocks.iter().enumerate().filter_map(rock)).collect();
        self.scene.sweep_instances(&moves);
        if let Some((previous, next)) = history.around(stamp) {
            self.scene.set_lamps(self.lamps(previous, next, stamp))?;
        }
        self.turn_sky(stamp)
    }

    /// The rover's lamps as bright as the heartbeat's end says.
    fn lamps(&self, previous: &WorldState, next: &WorldState, time: SimTime) -> Vec<Lamp> {
        let lamps = self.scenario.rover.lamps().iter().zip(&next.lamp_levels);
        lamps.map(|(lamp, level)| lamp_at(&lamp.spec, previous.link_at(next, lamp.link, time), *level)).collect()
    }

    fn turn_sky(&mut self, time: SimTime) -> Result<(), NodeError> {
        let sky = self.scenario.sky.at(self.scenario.utc.after(time))?;
        self.scene.set_sun(sun(&sky));
        self.scene.set_earth(Some(earth(&sky)));
        let star = |star: &selene_sky::Star| Star {
            direction: sky.star_enu(star),
            irradiance_w_m2: star.sunlike_irradiance_w_m2(),
        };
        self.scene.set_stars(self.scenario.stars.iter().map(star).collect());
        Ok(())
    }

    fn add_rock(&mut self, rock: &Rock, shape: &RockShape) -> Result<(), SceneError> {
        let vertices = shape.vertices.iter().map(|v| v.map(|c| (f64::from(c) * rock.radius_m) as f32)).collect();
        let mesh = self.scene.add_mesh(&Mesh { vertices, triangles: shape.triangles.clone() })?;
        let material = Material::Hapke(HapkeParams::ROCK.but(&self.scenario.site.surface.rock));
        self.rocks.push(self.scene.add_instance(mesh, &rock.world_from_rock, Class::Rock, &material)?);
        Ok(())
    }

    fn add_part(&mut self, link: usize, visual: &Visual) -> Result<(), SceneError> {
        let [r, g, b, _] = visual.rgba;
        let FinishSpec { metallic, roughness, specular, .. } = self.scenario.rover.finish(&visual.material);
        let mesh = self.scene.add_mesh(&mesh_of(&visual.shape))?;
        let material = Material::Principled(PrincipledParams { base: [r, g, b], metallic, roughness, specular });
        let instance = self.scene.add_instance(mesh, &visual.link_from_shape, Class::Rover, &material)?;
        self.parts.push(Part { instance, link, link_from_shape: visual.link_from_shape });
        Ok(())
    }
}

/// The number that the loose rock at place `index` has in instance images.
#[must_use]
pub fn instance_of_loose_rock(scenario: &Scenario, index: usize) -> u16 {
    let parts: usize = scenario.rover.links().iter().map(|link| link.visuals.len()).sum();
    instance_of_movable(parts + index)
}

/// A lamp as a scene takes it.
fn lamp_at(spec: &LampSpec, world_from_lamp: Pose, level: f64) -> Lamp {
    let flux = match (spec.flux_w, spec.flux_lm) {
        (Some(watts), _) => Flux::Radiant(watts),
        (None, lumens) => Flux::Luminous(lumens.unwrap_or_default()),
    };
    let colour = match (spec.temperature_k, spec.rgb) {
        (Some(kelvin), _) => Colour::Temperature(kelvin),
        (None, Some(bands)) => Colour::Bands(bands),
        (None, None) => Colour::Sunlight,
    };
    Lamp {
        world_from_lamp,
        flux_w: flux.bands_w(colour).map(|band| band * level),
        profile: Profile {
            inner_rad: spec.inner_deg.to_radians(),
            outer_rad: spec.outer_deg.to_radians(),
            falloff: spec.falloff,
        },
        size_m: spec.size_m,
    }
}

/// The Sun as a scene takes it.
fn sun(sky: &Sky) -> Sun {
    Sun {
        direction_to_sun: sky.sun.unit_enu,
        irradiance_w_m2: sky.sun_irradiance_w_m2,
        angular_radius_rad: sky.sun.angular_radius_rad,
    }
}

/// The Earth as a scene takes it: as bright as it is to a camera for visible light.
fn earth(sky: &Sky) -> Earth {
    Earth {
        direction_to_earth: sky.earth.unit_enu,
        irradiance_w_m2: sky.earth_light.sunlike_irradiance_w_m2,
        angular_radius_rad: sky.earth.angular_radius_rad,
        sun_from_earth: sky.earth_light.sun_from_earth_enu,
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

//! Movable bodies of a scene: the visible shapes of rovers and the loose rocks; also objects, which do not move but
//! can be added and removed in the same way.

use std::collections::BTreeMap;

use selene_base::{Pose, SimTime};
use selene_scene::{
    Class, HapkeParams, InstanceId, Label, Material, Mesh, MeshId, PrincipledParams, Scene, SceneError, primitives,
};
use selene_sim::{EntityId, Model, ObjectPose, RockPose, Snapshot};
use selene_vehicle::{FinishSpec, Shape, Visual};

use crate::ObserveError;
use crate::history::History;
use crate::instance::{PARTS_MAX, instance_of_part, instance_of_rock};

/// Instances of a scene, and the entities that they belong to.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    parts: Vec<RoverShape>,
    rocks: Vec<(u32, InstanceId)>,
    /// The entities that the instances belong to.
    present: ExistingEntities,
    /// Meshes of the scene, by the number of the instance that they were made for.
    meshes: BTreeMap<u32, MeshId>,
}

/// The entities that exist: rovers, objects, rocks.
#[derive(Debug, Default, PartialEq, Eq)]
struct ExistingEntities {
    rovers: Vec<EntityId>,
    objects: Vec<EntityId>,
    rocks: Vec<u32>,
}

/// One visible shape of a rover.
#[derive(Debug)]
struct RoverShape {
    instance: InstanceId,
    /// Number in instance images.
    number: u32,
    rover: EntityId,
    link: usize,
    link_from_shape: Pose,
}

impl ExistingEntities {
    /// The entities of a snapshot that the model knows; the model of a new one may arrive a little later.
    fn of(model: &Model, snapshot: &Snapshot) -> Self {
        let rovers = snapshot.rovers.iter().map(|rover| rover.id).filter(|id| model.rovers().contains_key(id));
        let objects = snapshot.objects.iter().map(|object| object.id).filter(|id| model.objects().contains_key(id));
        let rocks = snapshot.loose_rocks.iter().map(|rock| rock.id);
        Self { rovers: rovers.collect(), objects: objects.collect(), rocks: rocks.collect() }
    }
}

impl Bodies {
    /// Whether no entity was added or removed since the scene's instances were made.
    pub(crate) fn are_those_of(&self, model: &Model, snapshot: &Snapshot) -> bool {
        self.present == ExistingEntities::of(model, snapshot)
    }

    /// Replaces all instances of a scene by those of a snapshot.
    pub(crate) fn become_those_of(
        &mut self,
        scene: &mut Scene,
        model: &Model,
        snapshot: &Snapshot,
    ) -> Result<(), ObserveError> {
        scene.clear_movables();
        self.parts.clear();
        self.rocks.clear();
        for rover in &snapshot.rovers {
            self.add_rover(scene, model, rover.id)?;
        }
        for object in &snapshot.objects {
            self.add_object(scene, model, object)?;
        }
        for rock in &snapshot.loose_rocks {
            self.add_rock(scene, model, rock)?;
        }
        self.present = ExistingEntities::of(model, snapshot);
        Ok(())
    }

    /// Poses of all moving instances at both ends of a time span.
    pub(crate) fn moves(&self, history: &History, span: [SimTime; 2]) -> Vec<(InstanceId, [Pose; 2])> {
        let poses = |at: &dyn Fn(SimTime) -> Option<Pose>| Some([at(span[0])?, at(span[1])?]);
        let part = |part: &RoverShape| {
            let at = |time| Some(history.link_at(part.rover, part.link, time)? * part.link_from_shape);
            Some((part.instance, poses(&at)?))
        };
        let rock = |(id, instance): &(u32, InstanceId)| Some((*instance, poses(&|time| history.rock_at(*id, time))?));
        self.parts.iter().filter_map(part).chain(self.rocks.iter().filter_map(rock)).collect()
    }

    /// Poses of the links of moving parts and of rocks at both ends of a time span, by their numbers in instance
    /// images.
    pub(crate) fn poses(&self, history: &History, span: [SimTime; 2]) -> BTreeMap<u32, [Pose; 2]> {
        let poses = |at: &dyn Fn(SimTime) -> Option<Pose>| Some([at(span[0])?, at(span[1])?]);
        let part =
            |part: &RoverShape| Some((part.number, poses(&|time| history.link_at(part.rover, part.link, time))?));
        let rock =
            |(id, _): &(u32, InstanceId)| Some((instance_of_rock(*id), poses(&|time| history.rock_at(*id, time))?));
        self.parts.iter().filter_map(part).chain(self.rocks.iter().filter_map(rock)).collect()
    }

    fn add_rover(&mut self, scene: &mut Scene, model: &Model, id: EntityId) -> Result<(), ObserveError> {
        let Some(kind) = model.rovers().get(&id) else { return Ok(()) };
        let links = kind.model().links().iter().enumerate();
        let visuals = links.flat_map(|(link, body)| body.visuals.iter().map(move |visual| (link, visual)));
        for (number, (link, visual)) in visuals.enumerate() {
            let material = painted(visual, &kind.model().finish(&visual.material));
            let label = label(&kind.setup().name, Class::Rover, id, number)?;
            let instance = self.add_shape(scene, &visual.link_from_shape, visual, &material, label)?;
            let (number, link_from_shape) = (label.number, visual.link_from_shape);
            self.parts.push(RoverShape { instance, number, rover: id, link, link_from_shape });
        }
        Ok(())
    }

    fn add_object(&mut self, scene: &mut Scene, model: &Model, object: &ObjectPose) -> Result<(), ObserveError> {
        let Some(kind) = model.objects().get(&object.id) else { return Ok(()) };
        for (number, (object_from_link, visual)) in kind.model.visuals.iter().enumerate() {
            let pose = object.world_from_object * object_from_link * visual.link_from_shape;
            let label = label(&kind.name, Class::Object, object.id, number)?;
            let paint = || painted(visual, &FinishSpec::paint());
            let material = kind.material.map_or_else(paint, |spec| Material::of(&spec, &HapkeParams::ROCK));
            self.add_shape(scene, &pose, visual, &material, label)?;
        }
        Ok(())
    }

    fn add_rock(&mut self, scene: &mut Scene, model: &Model, rock: &RockPose) -> Result<(), SceneError> {
        let Some(shape) = model.terrain().shapes().get(rock.shape as usize) else { return Ok(()) };
        let number = instance_of_rock(rock.id);
        let mesh = self.mesh(scene, number, || {
            let vertices = shape.vertices.iter().map(|v| v.map(|c| (f64::from(c) * rock.radius_m) as f32)).collect();
            Mesh { vertices, triangles: shape.triangles.clone() }
        })?;
        let material = Material::of(&model.scenario().site.surface.rock, &HapkeParams::ROCK);
        let instance = scene.add_instance(mesh, &rock.world_from_rock, Class::Rock.numbered(number), &material)?;
        self.rocks.push((rock.id, instance));
        Ok(())
    }

    fn add_shape(
        &mut self,
        scene: &mut Scene,
        pose: &Pose,
        visual: &Visual,
        material: &Material,
        label: Label,
    ) -> Result<InstanceId, SceneError> {
        let mesh = self.mesh(scene, label.number, || mesh_of(&visual.shape))?;
        scene.add_instance(mesh, pose, label, material)
    }

    /// The mesh of an instance, made on first use; the scene keeps it even while the instance is absent.
    fn mesh(&mut self, scene: &mut Scene, instance: u32, make: impl FnOnce() -> Mesh) -> Result<MeshId, SceneError> {
        if let Some(mesh) = self.meshes.get(&instance) {
            return Ok(*mesh);
        }
        let mesh = scene.add_mesh(&make())?;
        self.meshes.insert(instance, mesh);
        Ok(mesh)
    }
}

/// The material of a visual: its own colour with a finish.
fn painted(visual: &Visual, finish: &FinishSpec) -> Material {
    let [r, g, b, _] = visual.rgba;
    let FinishSpec { metallic, roughness, specular, near_infrared, radar, .. } = *finish;
    Material::Principled(PrincipledParams { base: [r, g, b], metallic, roughness, specular, near_infrared, radar })
}

fn label(name: &str, class: Class, id: EntityId, part: usize) -> Result<Label, ObserveError> {
    if part < PARTS_MAX {
        return Ok(class.numbered(instance_of_part(id, part)));
    }
    Err(ObserveError::of(name, &format!("it has more than {PARTS_MAX} visible shapes; join some into one mesh")))
}

/// The triangles of a shape, in its own frame.
#[must_use]
pub fn mesh_of(shape: &Shape) -> Mesh {
    match shape {
        Shape::Box { size_m } => primitives::cuboid(*size_m),
        Shape::Cylinder { radius_m, length_m } => primitives::cylinder(*radius_m, *length_m),
        Shape::Sphere { radius_m } => primitives::sphere(*radius_m),
        Shape::Mesh { vertices, triangles } => Mesh { vertices: vertices.clone(), triangles: triangles.clone() },
    }
}

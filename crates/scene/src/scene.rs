//! The scene as plain data: nested height levels, rocks and rover parts as instances of meshes, heaps of grains,
//! materials and lights. Rocks and grains are static; instances added later may move. Tracers only read the scene;
//! version numbers say what changed.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use nalgebra::{Matrix3, UnitQuaternion, Vector3};
use selene_base::Pose;
use selene_base::frames::interpolate;
use selene_terrain::{Clipmap, Edit, Rock, SiteSpec, SurfaceSpec};

use crate::boxes::Solid;
use crate::changes;
use crate::detail::Detail;
use crate::dust::{Dust, Puff};
use crate::grains::{Grain, Heap};
use crate::kernel::FAR;
use crate::kernel::surface::GROUND_CODE;
use crate::lamp::{LAMPS_MAX, Lamp};
use crate::light::{Earth, Star, Sun};
use crate::material::{HapkeParams, Material};
use crate::mesh::Mesh;
use crate::pyramid::Pyramid;
use crate::record::TriangleRecord;
use crate::record::{GlobalsRecord, InstanceRecord, LampRecord, MaterialRecord, MotionRecord, NodeRecord, Records};
use crate::record::{affine_rows, moved};
use crate::shutter_motion::swept_bounds;
use crate::tree::{self, Bounds};
use crate::view::{Class, Label};

/// Most triangles in a leaf of a mesh's tree.
const LEAF_TRIANGLES: usize = 3;

/// Most triangles of a scene: leaves index triangles with 29 bits.
const TRIANGLES_MAX: usize = 1 << 28;

/// Most instances of a scene: leaves index them with 29 bits.
const INSTANCES_MAX: usize = 1 << 28;

/// Code of the first instance: 0 is the sky, 1 the ground.
const FIRST_CODE: u32 = GROUND_CODE + 1;

/// Why the scene rejects something.
#[derive(Debug, thiserror::Error)]
pub enum SceneError {
    /// A vertex is not finite.
    #[error("mesh: vertex {vertex} is not finite; repair the mesh file")]
    Vertex {
        /// Index of the vertex.
        vertex: usize,
    },
    /// A triangle names a vertex that does not exist.
    #[error("mesh: triangle {triangle} names a vertex beyond the {vertices} there are; repair the mesh file")]
    Triangle {
        /// Index of the triangle.
        triangle: usize,
        /// Number of vertices of the mesh.
        vertices: usize,
    },
    /// A grain's centre or radius is invalid.
    #[error("grains: centre and radius of grain {grain} must be finite, and its radius more than 0")]
    Grain {
        /// Index of the grain in its heap.
        grain: usize,
    },
    /// The scene is full.
    #[error("scene: too many {what}: at most {most}")]
    Full {
        /// What there are too many of.
        what: &'static str,
        /// The largest number allowed.
        most: usize,
    },
    /// Another instance already has this number.
    #[error("scene: instance number {0} is taken; numbers must differ")]
    NumberTaken(u32),
}

/// Handle of a mesh in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshId(usize);

/// Handle of a movable instance: its index among the movables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceId(usize);

/// Where a mesh is stored in the common arrays.
#[derive(Clone, Debug)]
struct MeshEntry {
    first_node: u32,
    end_node: u32,
    first_part: u32,
    bounds: Bounds,
}

/// Instances removed from a scene, to be put back later.
struct Instances {
    records: Vec<InstanceRecord>,
    bounds: Vec<Bounds>,
    meshes: Vec<usize>,
    labels: Vec<Label>,
}

/// A function that builds the tree of a mesh.
type Build = fn(&[Bounds], usize, u32, u32) -> (Vec<NodeRecord>, Vec<u32>);

/// Version numbers of the parts that change; a tracer that keeps copies compares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Version of the heights.
    pub heights: u64,
    /// Version of meshes and materials.
    pub shapes: u64,
    /// Version of the instances and their trees.
    pub instances: u64,
}

/// Identity of a scene: a clone gets a new one, so tracers treat it as a different scene.
#[derive(Debug, Default)]
struct SceneId(Arc<()>);

impl Clone for SceneId {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The scene that is traced. Copies share heights until one of them changes.
#[derive(Clone, Debug)]
pub struct Scene {
    token: SceneId,
    pyramid: Pyramid,
    meshes: Vec<MeshEntry>,
    mesh_nodes: Vec<NodeRecord>,
    triangles: Vec<TriangleRecord>,
    instances: Vec<InstanceRecord>,
    /// Bounding box of each instance, in the scene's frame.
    bounds: Vec<Bounds>,
    /// Index of each instance's mesh.
    instance_mesh: Vec<usize>,
    /// Class and number of each instance in images.
    labels: Vec<Label>,
    /// Index of each movable, by its number in images.
    movable_of_number: BTreeMap<u32, usize>,
    /// Pose of each movable at the start and at the end of an image, map frame.
    movables: Vec<[Pose; 2]>,
    /// Motions of the movables; empty while they are at rest.
    motions: Vec<MotionRecord>,
    /// The rocks' tree, then the heaps' tree, then the movables' tree.
    instance_nodes: Vec<NodeRecord>,
    /// Numbers of instances and of nodes that belong to rocks.
    rock_count: usize,
    rock_nodes: usize,
    /// Heaps of grains; their instances follow the rocks, their meshes follow all others.
    heaps: Vec<Heap>,
    /// Numbers of instances and of nodes that belong to rocks and heaps.
    still_count: usize,
    still_nodes: usize,
    materials: Vec<MaterialRecord>,
    /// Each material's radar backscatter, as in `BeamReturn`, which kernels do not use.
    radar: Vec<Option<[f32; 2]>>,
    lamps: Vec<Lamp>,
    /// The lamps that have flux, in the scene's frame.
    lamp_records: Vec<LampRecord>,
    detail: Detail,
    dust: Dust,
    sun: Sun,
    earth: Option<Earth>,
    stars: Vec<Star>,
    shapes_version: u64,
    instances_version: u64,
}

impl Scene {
    /// Creates the scene of a clipmap, its rocks and the Sun; rovers are added later. A rock's number in images is one
    /// more than its number on the site.
    #[must_use]
    pub fn new(clipmap: &Clipmap, sun: Sun) -> Self {
        let materials = [Material::Hapke(HapkeParams::REGOLITH), Material::Hapke(HapkeParams::ROCK)];
        let mut scene = Self {
            token: SceneId::default(),
            pyramid: Pyramid::new(clipmap),
            meshes: Vec::new(),
            mesh_nodes: Vec::new(),
            triangles: Vec::new(),
            instances: Vec::new(),
            bounds: Vec::new(),
            instance_mesh: Vec::new(),
            labels: Vec::new(),
            movable_of_number: BTreeMap::new(),
            movables: Vec::new(),
            motions: Vec::new(),
            instance_nodes: Vec::new(),
            rock_count: 0,
            rock_nodes: 0,
            heaps: Vec::new(),
            still_count: 0,
            still_nodes: 0,
            materials: materials.iter().map(Material::record).collect(),
            radar: materials.iter().map(Material::radar).collect(),
            lamps: Vec::new(),
            lamp_records: Vec::new(),
            detail: Detail::NONE,
            dust: Dust::default(),
            sun,
            earth: None,
            stars: Vec::new(),
            shapes_version: 0,
            instances_version: 0,
        };
        for shape in clipmap.rock_shapes() {
            scene.push_mesh(&Mesh { vertices: shape.vertices.clone(), triangles: shape.triangles.clone() });
        }
        scene.add_rocks(clipmap.rocks());
        scene.add_heaps();
        scene
    }

    /// Replaces the ground by a clipmap whose windows have moved: its levels and its rocks, which have the same shapes.
    /// Movables stay. Tracers treat the result as a new scene.
    pub fn set_ground(&mut self, clipmap: &Clipmap) {
        self.token = SceneId::default();
        self.pyramid.go_to(clipmap);
        let movables = self.take_after(self.still_count);
        self.take_after(0);
        self.add_rocks(clipmap.rocks());
        self.add_heaps();
        self.put_back(movables);
        // The scene's frame moved as well.
        self.place_lamps();
        self.dust = self.dust.placed(self.pyramid.middle_m);
        let moves: Vec<_> =
            self.movables.iter().copied().enumerate().map(|(i, poses)| (InstanceId(i), poses)).collect();
        self.sweep_instances(&moves);
    }

    /// Replaces all heaps of grains; a new scene has none. Every heap's tree is rebuilt.
    ///
    /// # Errors
    /// When a grain is not a valid sphere or the scene is full; the scene then stays unchanged.
    pub fn set_heaps(&mut self, mut heaps: Vec<Heap>) -> Result<(), SceneError> {
        heaps.retain(|heap| !heap.grains.is_empty());
        heaps.iter().try_for_each(Heap::check)?;
        let grains: usize = heaps.iter().map(|heap| heap.grains.len()).sum();
        if self.solid_parts() + grains > TRIANGLES_MAX {
            return Err(SceneError::Full { what: "triangles and grains", most: TRIANGLES_MAX });
        }
        let movables = self.take_after(self.still_count);
        self.take_after(self.rock_count);
        self.drop_heap_meshes();
        self.heaps = heaps;
        self.push_heap_meshes();
        self.add_heaps();
        self.put_back(movables);
        self.rebuild_movables();
        self.shapes_version += 1;
        Ok(())
    }

    /// The heaps of grains.
    #[must_use]
    pub fn heaps(&self) -> &[Heap] {
        &self.heaps
    }

    /// Number of triangles of all meshes except the heaps'.
    fn solid_parts(&self) -> usize {
        let first_heap = self.meshes.get(self.meshes.len() - self.heaps.len());
        first_heap.map_or(self.triangles.len(), |mesh| mesh.first_part as usize)
    }

    fn drop_heap_meshes(&mut self) {
        let first = self.meshes.len() - self.heaps.len();
        if let Some(mesh) = self.meshes.get(first) {
            self.mesh_nodes.truncate(mesh.first_node as usize);
            self.triangles.truncate(mesh.first_part as usize);
        }
        self.meshes.truncate(first);
    }

    fn push_heap_meshes(&mut self) {
        for heap in std::mem::take(&mut self.heaps) {
            let bounds: Vec<_> = heap.grains.iter().map(Grain::bounds).collect();
            let record = |grain: usize| heap.grains[grain].record();
            self.push_parts(&bounds, tree::build_by_code, record);
            self.heaps.push(heap);
        }
    }

    /// Removes and returns all instances from index `first` on.
    fn take_after(&mut self, first: usize) -> Instances {
        Instances {
            records: self.instances.split_off(first),
            bounds: self.bounds.split_off(first),
            meshes: self.instance_mesh.split_off(first),
            labels: self.labels.split_off(first),
        }
    }

    /// Appends removed instances again, with new codes.
    fn put_back(&mut self, taken: Instances) {
        let first = FIRST_CODE + self.instances.len() as u32;
        let coded = taken.records.into_iter().zip(first..);
        self.instances.extend(coded.map(|(record, code)| InstanceRecord { code, ..record }));
        self.bounds.extend(taken.bounds);
        self.instance_mesh.extend(taken.meshes);
        self.labels.extend(taken.labels);
    }

    fn add_heaps(&mut self) {
        let first_mesh = self.meshes.len() - self.heaps.len();
        for (mesh, heap) in (first_mesh..).zip(std::mem::take(&mut self.heaps)) {
            let material = self.material_index(&heap.material);
            self.push_instance(mesh, &heap.world_from_heap, 1.0, Label::GROUND, material);
            // Images show grains as ground.
            if let Some(instance) = self.instances.last_mut() {
                instance.code = GROUND_CODE;
            }
            self.heaps.push(heap);
        }
        self.still_count = self.instances.len();
        self.instance_nodes.truncate(self.rock_nodes);
        let heaps = &self.bounds[self.rock_count..];
        let nodes = instance_tree(heaps, self.rock_nodes as u32, self.rock_count as u32);
        self.instance_nodes.extend(nodes);
        self.still_nodes = self.instance_nodes.len();
    }

    fn add_rocks(&mut self, rocks: &[Rock]) {
        for rock in rocks {
            let label = Class::Rock.numbered(rock.id.saturating_add(1));
            self.push_instance(rock.shape, &rock.world_from_rock, rock.radius_m, label, 1);
        }
        self.rock_count = self.instances.len();
        self.instance_nodes = instance_tree(&self.bounds, 0, 0);
        self.rock_nodes = self.instance_nodes.len();
    }

    /// Adds a mesh for instances to use.
    ///
    /// # Errors
    /// When the mesh is invalid or the scene is full.
    pub fn add_mesh(&mut self, mesh: &Mesh) -> Result<MeshId, SceneError> {
        mesh.check()?;
        if self.triangles.len() + mesh.triangles.len() > TRIANGLES_MAX {
            return Err(SceneError::Full { what: "triangles and grains", most: TRIANGLES_MAX });
        }
        let id = MeshId(self.meshes.len() - self.heaps.len());
        // The heaps' meshes must stay after all others.
        let heaps = self.heaps.clone();
        if !heaps.is_empty() {
            self.set_heaps(Vec::new())?;
        }
        self.push_mesh(mesh);
        if !heaps.is_empty() {
            self.set_heaps(heaps)?;
        }
        self.shapes_version += 1;
        Ok(id)
    }

    /// Adds a movable instance of a mesh at `world_from_object`, labelled `label` in images.
    ///
    /// # Errors
    /// When there are too many instances or another one has the label's number.
    pub fn add_instance(
        &mut self,
        mesh: MeshId,
        world_from_object: &Pose,
        label: Label,
        material: &Material,
    ) -> Result<InstanceId, SceneError> {
        if self.instances.len() >= INSTANCES_MAX {
            return Err(SceneError::Full { what: "instances", most: INSTANCES_MAX });
        }
        if self.instance_numbered(label.number).is_some() {
            return Err(SceneError::NumberTaken(label.number));
        }
        let material = self.material_index(material);
        let id = self.instances.len() - self.still_count;
        self.push_instance(mesh.0, world_from_object, 1.0, label, material);
        self.movable_of_number.insert(label.number, id);
        self.movables.push([*world_from_object; 2]);
        self.rebuild_movables();
        Ok(InstanceId(id))
    }

    /// Removes all movables; meshes and materials stay.
    pub fn clear_movables(&mut self) {
        self.take_after(self.still_count);
        self.movables.clear();
        self.movable_of_number.clear();
        self.rebuild_movables();
    }

    /// Moves one instance to a pose in the map frame.
    pub fn move_instance(&mut self, id: InstanceId, world_from_object: &Pose) {
        self.move_instances(&[(id, *world_from_object)]);
    }

    /// Moves several instances at once, which is cheaper than one by one.
    pub fn move_instances(&mut self, moves: &[(InstanceId, Pose)]) {
        let still: Vec<_> = moves.iter().map(|&(id, pose)| (id, [pose; 2])).collect();
        self.sweep_instances(&still);
    }

    /// Lets several instances move during an image, each from its first pose to its second; see `ShutterMotion`.
    pub fn sweep_instances(&mut self, moves: &[(InstanceId, [Pose; 2])]) {
        for (id, poses) in moves {
            let at = self.still_count + id.0;
            let mesh = &self.meshes[self.instance_mesh[at]];
            let scene_from_object = poses.map(|pose| moved(&pose, self.pyramid.middle_m));
            self.instances[at].object_from_world = affine_rows(&scene_from_object[0].inverse(), 1.0);
            self.bounds[at] = swept_bounds(&scene_from_object, |pose| world_bounds(&mesh.bounds, pose, 1.0));
            self.movables[id.0] = *poses;
        }
        self.rebuild_movables();
    }

    /// Poses of the movables at the start and at the end of an image, map frame, in the order in which they were added.
    #[must_use]
    pub fn movables(&self) -> &[[Pose; 2]] {
        &self.movables
    }

    /// The same poses with the movables' numbers in images.
    pub(crate) fn numbered_movables(&self) -> impl Iterator<Item = (u32, [Pose; 2])> + '_ {
        self.movable_of_number.iter().map(|(number, index)| (*number, self.movables[*index]))
    }

    /// Index of the movable with this number in images.
    pub(crate) fn movable_numbered(&self, number: u32) -> Option<usize> {
        self.movable_of_number.get(&number).copied()
    }

    /// Index of the instance, rock or movable, with this number in images.
    fn instance_numbered(&self, number: u32) -> Option<usize> {
        if let Some(movable) = self.movable_numbered(number) {
            return Some(self.still_count + movable);
        }
        self.labels[..self.rock_count].binary_search_by_key(&number, |label| label.number).ok()
    }

    /// Whether there is dust in the air, which devices do not handle.
    #[must_use]
    pub fn is_dusty(&self) -> bool {
        !self.dust.is_empty()
    }

    /// Code of dust, which kernels do not meet.
    pub(crate) const DUST_CODE: u32 = u32::MAX;

    /// Label of what a kernel has met, from its code.
    #[must_use]
    pub fn label(&self, code: u32) -> Label {
        if code == Self::DUST_CODE {
            return Class::Dust.numbered(0);
        }
        let instance = code.checked_sub(FIRST_CODE).and_then(|index| self.labels.get(index as usize));
        instance.copied().unwrap_or(if code == GROUND_CODE { Label::GROUND } else { Label::SKY })
    }

    /// Diffuse reflectance at each of `NEAR_INFRARED_NM`, 0…1, of what a kernel has met.
    #[must_use]
    pub fn near_infrared(&self, code: u32) -> [f32; 2] {
        self.materials[self.material_of(code)].near_infrared
    }

    /// Radar backscatter, as in `BeamReturn`, of what a kernel has met.
    #[must_use]
    pub fn radar(&self, code: u32) -> Option<[f32; 2]> {
        self.radar[self.material_of(code)]
    }

    /// Index of the material of what a kernel has met; the ground's is the first.
    fn material_of(&self, code: u32) -> usize {
        let instance = code.checked_sub(FIRST_CODE).and_then(|index| self.instances.get(index as usize));
        instance.map_or(0, |instance| instance.material as usize)
    }

    /// The codes of all movable instances of a class whose numbers are in a range, if no other instance has a code
    /// between theirs.
    pub(crate) fn codes_of(&self, class: Class, numbers: &RangeInclusive<u32>) -> Option<Range<u32>> {
        let is_one = |label: &Label| label.class == class && numbers.contains(&label.number);
        let movable = &self.labels[self.still_count..];
        let Some(first) = movable.iter().position(is_one) else { return Some(0..0) };
        let end = first + movable[first..].iter().take_while(|label| is_one(label)).count();
        let code = |index: usize| FIRST_CODE + (self.still_count + index) as u32;
        (!movable[end..].iter().any(is_one)).then_some(code(first)..code(end))
    }

    /// The box of the instance with this number in images, at the middle of an image's time span; none where no
    /// instance has the number.
    #[must_use]
    pub fn solid(&self, number: u32) -> Option<Solid> {
        let at = self.instance_numbered(number)?;
        let (world_from_object, scale) = match at.checked_sub(self.still_count) {
            Some(index) => (interpolate(&self.movables[index][0], &self.movables[index][1], 0.5), 1.0),
            None => self.world_from_rock(at),
        };
        let bounds = &self.meshes[self.instance_mesh[at]].bounds;
        let side = |axis: usize| f64::from(bounds.max[axis] - bounds.min[axis]) * scale;
        let middle = |axis: usize| 0.5 * f64::from(bounds.max[axis] + bounds.min[axis]) * scale;
        let object_from_centre = Pose::translation(middle(0), middle(1), middle(2));
        Some(Solid { world_from_centre: world_from_object * object_from_centre, size_m: [side(0), side(1), side(2)] })
    }

    /// Pose and scale of a rock, recovered from its record.
    fn world_from_rock(&self, at: usize) -> (Pose, f64) {
        let rows = self.instances[at].object_from_world.map(|row| row.map(f64::from));
        let scale = 1.0 / Vector3::new(rows[0][0], rows[0][1], rows[0][2]).norm();
        let object_from_world = Matrix3::from_fn(|row, column| rows[row][column] * scale);
        let rotation = UnitQuaternion::from_matrix(&object_from_world.transpose());
        let origin = rotation * Vector3::new(rows[0][3], rows[1][3], rows[2][3]) * -scale;
        (Pose::from_parts((origin + self.pyramid.middle_m).into(), rotation), scale)
    }

    /// Sets new heights and prints of nodes of the finest level, such as ruts.
    pub fn apply_edits(&mut self, edits: &[Edit]) {
        if !edits.is_empty() {
            self.pyramid.apply(edits);
        }
    }

    /// Replaces the materials of the ground and the rocks; a new scene has mean regolith and rock, and no detail.
    pub fn set_ground_materials(&mut self, regolith: &Material, rock: &Material, detail: Detail) {
        self.materials[0] = regolith.record();
        self.materials[1] = rock.record();
        self.radar[0] = regolith.radar();
        self.radar[1] = rock.radar();
        self.detail = detail;
        self.shapes_version += 1;
    }

    /// Sets the materials and detail of ground and rocks from a site's file.
    pub fn set_surface(&mut self, site: &SiteSpec) {
        let SurfaceSpec { regolith, rock, detail } = &site.surface;
        let detail = Detail {
            deviation_at_1m_m: site.relief.deviation_at_1m_m,
            hurst: site.relief.hurst_below_1m,
            strength: detail.strength,
            mottle: detail.mottle,
            craterlets: detail.craterlets,
        };
        let regolith = Material::of(regolith, &HapkeParams::REGOLITH);
        self.set_ground_materials(&regolith, &Material::of(rock, &HapkeParams::ROCK), detail);
    }

    /// Replaces all lamps; a new scene has none. Lamps without flux stay dark.
    ///
    /// # Errors
    /// When more than `LAMPS_MAX` lamps have flux.
    pub fn set_lamps(&mut self, lamps: Vec<Lamp>) -> Result<(), SceneError> {
        if lamps.iter().filter(|lamp| shines(lamp)).count() > LAMPS_MAX {
            return Err(SceneError::Full { what: "lamps that shine", most: LAMPS_MAX });
        }
        self.lamps = lamps;
        self.place_lamps();
        Ok(())
    }

    /// All lamps, dark ones included.
    #[must_use]
    pub fn lamps(&self) -> &[Lamp] {
        &self.lamps
    }

    /// Replaces all dust in the air; a new scene has none.
    pub fn set_dust(&mut self, puffs: Vec<Puff>) {
        if !(puffs.is_empty() && self.dust.is_empty()) {
            self.dust = Dust::new(puffs, self.pyramid.middle_m);
        }
    }

    /// The dust in the air.
    pub(crate) fn dust(&self) -> &Dust {
        &self.dust
    }

    fn place_lamps(&mut self) {
        let middle_m = self.pyramid.middle_m;
        self.lamp_records = self.lamps.iter().filter(|lamp| shines(lamp)).map(|lamp| lamp.record(middle_m)).collect();
    }

    /// Replaces the Sun.
    pub fn set_sun(&mut self, sun: Sun) {
        self.sun = sun;
    }

    /// The Sun's direction, irradiance and size.
    #[must_use]
    pub fn sun(&self) -> &Sun {
        &self.sun
    }

    /// Replaces the Earth; a new scene has none.
    pub fn set_earth(&mut self, earth: Option<Earth>) {
        self.earth = earth;
    }

    /// Replaces the stars; a new scene has none.
    pub fn set_stars(&mut self, stars: Vec<Star>) {
        self.stars = stars;
    }

    /// The stars of the sky.
    #[must_use]
    pub fn stars(&self) -> &[Star] {
        &self.stars
    }

    /// The Earth, if there is one.
    #[must_use]
    pub fn earth(&self) -> Option<&Earth> {
        self.earth.as_ref()
    }

    /// Discs in the sky: direction of the centre, map frame, and angular radius, rad.
    pub(crate) fn discs(&self) -> impl Iterator<Item = (Vector3<f64>, f64)> + '_ {
        let sun = (self.sun.direction_to_sun, self.sun.angular_radius_rad);
        let earth = self.earth.map(|earth| (earth.direction_to_earth, earth.angular_radius_rad));
        std::iter::once(sun).chain(earth)
    }

    /// The scene as the kernels read it.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        let lights = GlobalsRecord::of_lights(&self.sun, self.earth.as_ref());
        let mut globals = GlobalsRecord {
            level_count: self.pyramid.levels.len() as u32,
            node_count: self.instance_nodes.len() as u32,
            lamp_count: self.lamp_records.len() as u32,
            moving_from: if self.motions.is_empty() { u32::MAX } else { self.still_count as u32 },
            ..lights
        };
        self.detail.write(self.pyramid.spacing_m, self.pyramid.first_post, &mut globals);
        Records {
            globals,
            levels: &self.pyramid.levels,
            heights: &self.pyramid.heights,
            instance_nodes: &self.instance_nodes,
            mesh_nodes: &self.mesh_nodes,
            triangles: &self.triangles,
            instances: &self.instances,
            materials: &self.materials,
            motions: &self.motions,
            shutter: 0.0,
            ground_reach: FAR,
            lamps: &self.lamp_records,
            middle_m: self.pyramid.middle_m,
        }
    }

    /// Version numbers of the parts that change.
    #[must_use]
    pub fn versions(&self) -> Versions {
        Versions { heights: self.pyramid.version(), shapes: self.shapes_version, instances: self.instances_version }
    }

    /// A token unique to this scene, for tracers that keep copies.
    #[must_use]
    pub fn token(&self) -> &Arc<()> {
        &self.token.0
    }

    /// Sorted ranges of `Records::heights` that hold every height changed after heights version `version`; neighbouring
    /// ranges are joined.
    #[must_use]
    pub fn heights_changed_after(&self, version: u64) -> Vec<Range<usize>> {
        changes::height_ranges(&self.pyramid, version)
    }

    fn push_mesh(&mut self, mesh: &Mesh) {
        let corners = |t: usize| mesh.corners(t);
        let bounds: Vec<_> = (0..mesh.triangles.len()).map(|t| Bounds::of_points(corners(t))).collect();
        self.push_parts(&bounds, tree::build, |t| triangle_record(corners(t)));
    }

    /// Adds a mesh of triangles or grains with these bounding boxes.
    fn push_parts(&mut self, bounds: &[Bounds], build: Build, record: impl Fn(usize) -> TriangleRecord) {
        let [first_node, first_part] = [self.mesh_nodes.len() as u32, self.triangles.len() as u32];
        let (nodes, order) = build(bounds, LEAF_TRIANGLES, first_node, first_part);
        self.mesh_nodes.extend(nodes);
        self.triangles.extend(order.iter().map(|&part| record(part as usize)));
        let bounds = bounds.iter().fold(Bounds::NONE, |a, b| a.union(b));
        self.meshes.push(MeshEntry { first_node, end_node: self.mesh_nodes.len() as u32, first_part, bounds });
    }

    fn push_instance(&mut self, mesh: usize, pose: &Pose, scale: f64, label: Label, material: u32) {
        let pose = &moved(pose, self.pyramid.middle_m);
        let entry = &self.meshes[mesh];
        self.instances.push(InstanceRecord {
            object_from_world: object_rows(pose, scale),
            first_node: entry.first_node,
            end_node: entry.end_node,
            material,
            code: FIRST_CODE + self.instances.len() as u32,
        });
        self.bounds.push(world_bounds(&entry.bounds, pose, scale));
        self.instance_mesh.push(mesh);
        self.labels.push(label);
    }

    fn rebuild_movables(&mut self) {
        self.motions.clear();
        if self.movables.iter().any(|[start, end]| start != end) {
            let middle_m = self.pyramid.middle_m;
            self.motions.extend(self.movables.iter().map(|poses| MotionRecord::between(poses, middle_m)));
        }
        self.instance_nodes.truncate(self.still_nodes);
        let movable = &self.bounds[self.still_count..];
        let nodes = instance_tree(movable, self.still_nodes as u32, self.still_count as u32);
        self.instance_nodes.extend(nodes);
        self.instances_version += 1;
    }

    fn material_index(&mut self, material: &Material) -> u32 {
        let (record, radar) = (material.record(), material.radar());
        let mut known = self.materials.iter().zip(&self.radar);
        let known = known.position(|(m, r)| *m == record && *r == radar);
        let index = known.unwrap_or_else(|| {
            self.materials.push(record);
            self.radar.push(radar);
            self.shapes_version += 1;
            self.materials.len() - 1
        });
        index as u32
    }
}

fn shines(lamp: &Lamp) -> bool {
    lamp.flux_w.iter().any(|flux| *flux > 0.0)
}

/// A tree with one instance in each leaf; leaves hold instance indices.
fn instance_tree(bounds: &[Bounds], first_node: u32, first_instance: u32) -> Vec<NodeRecord> {
    let (mut nodes, order) = tree::build(bounds, 1, first_node, 0);
    for node in nodes.iter_mut().filter(|node| node.leaf != 0) {
        node.leaf = (first_instance + order[(node.leaf >> 3) as usize]) << 3 | 1;
    }
    nodes
}

fn triangle_record([a, b, c]: [[f32; 3]; 3]) -> TriangleRecord {
    let edge = |to: [f32; 3]| std::array::from_fn(|i| to[i] - a[i]);
    TriangleRecord { corner: a, radius: 0.0, edge1: edge(b), third: 0.0, edge2: edge(c), pad: 0 }
}

fn object_rows(world_from_object: &Pose, scale: f64) -> [[f32; 4]; 3] {
    affine_rows(&world_from_object.inverse(), 1.0).map(|row| row.map(|x| (f64::from(x) / scale) as f32))
}

/// Bounding box in the scene's frame of a scaled and posed object box.
fn world_bounds(object: &Bounds, pose: &Pose, scale: f64) -> Bounds {
    let corner = |i: usize| {
        let pick = |axis: usize| f64::from(if i >> axis & 1 == 0 { object.min[axis] } else { object.max[axis] });
        let p = pose * nalgebra::Point3::new(pick(0) * scale, pick(1) * scale, pick(2) * scale);
        [p.x as f32, p.y as f32, p.z as f32]
    };
    Bounds::of_points((0..8).map(corner))
}

//! Tests heaps of grains: rays hit the nearest sphere, images show it as ground with its own distance and normal, it
//! casts a shadow, and removing a heap restores the scene.

use crate::common;

use common::{PART, look, sun};
use nalgebra::Vector3;
use selene_base::Pose;
use selene_base::random::{RngExt, stream};
use selene_scene::kernel::{FAR, GROUND, Hit, Ray, bvh};
use selene_scene::{
    CameraFrame, CameraView, Class, CpuTracer, Grain, HapkeParams, Heap, LightSampling, Material, Scene, Tracer,
    TruthFrame, primitives,
};
use selene_terrain::Clipmap;

const RADIUS_M: f32 = 0.004;
/// A few times half a micrometre, the rounding of positions in single precision a few metres from the centre.
const PLACE_TOLERANCE_M: f64 = 5e-6;

fn ground() -> Scene {
    Scene::new(&Clipmap::flat(0.05, 12.0), sun(0.6, 0.0))
}

fn heap(grains: Vec<Grain>) -> Heap {
    let material = Material::Hapke(HapkeParams::REGOLITH);
    Heap { world_from_heap: Pose::translation(0.5, -0.25, 0.0), grains: grains.into(), material }
}

/// A cloud of grains of many sizes over the ground.
fn cloud() -> Vec<Grain> {
    let mut chance = stream(7, "grains");
    let mut share = move || chance.random::<f32>();
    let grain = |_| Grain {
        centre_m: [share() - 0.5, share() - 0.5, 0.05 + 0.3 * share()],
        radius_m: RADIUS_M * (0.5 + share()),
        faces: 0,
    };
    (0..3000).map(grain).collect()
}

fn camera(scene: &Scene, view: &CameraView) -> CameraFrame {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    frame
}

fn view() -> CameraView {
    look([-1.0, -1.2, 0.6], [0.5, -0.25, 0.15], 160, 90)
}

#[test]
fn a_ray_meets_the_nearest_of_all_grains() {
    let mut scene = ground();
    let grains = cloud();
    scene.set_heaps(vec![heap(grains.clone())]).expect("spheres");
    let records = scene.records();
    let nothing = Hit { t: FAR, instance: GROUND, part: 0 };
    let mut met = 0;
    for i in 0..2000u16 {
        let turn = 0.1 * f32::from(i);
        let ray = Ray {
            origin: Vector3::new(0.5 + 2.0 * turn.cos(), -0.25 + 2.0 * turn.sin(), 0.4),
            direction: Vector3::new(-turn.cos(), -turn.sin(), -0.02 - 5e-5 * f32::from(i)),
        };
        let hit = bvh::trace_instances(&records, &ray, nothing);
        let [o, d] = [ray.origin, ray.direction].map(|v| v.cast::<f64>());
        let nearest = grains.iter().filter_map(|grain| {
            let [x, y, z] = grain.centre_m.map(f64::from);
            let to = Vector3::new(x + 0.5, y - 0.25, z) - o;
            let [a, b] = [d.norm_squared(), to.dot(&d)];
            let root = b * b - a * (to.norm_squared() - f64::from(grain.radius_m).powi(2));
            (root >= 0.0).then(|| (b - root.sqrt()) / a)
        });
        let nearest = nearest.fold(f64::from(FAR), f64::min);
        assert!((f64::from(hit.t) - nearest).abs() < 1e-3 || hit.t == FAR, "ray {i}: {} instead of {nearest}", hit.t);
        assert_eq!(hit.t < FAR, nearest < f64::from(FAR), "ray {i}");
        met += usize::from(hit.t < FAR);
    }
    assert!(met > 500, "{met} rays met grains");
}

/// A fragment is what its three pairs of faces leave of its sphere: a ray meets it where it enters the last of the four.
#[test]
fn a_ray_meets_a_fragment_where_it_is_within_all_faces_and_the_sphere() {
    let mut scene = ground();
    let (mut chance, mut met, mut on_faces) = (stream(3, "fragments"), 0, 0);
    let nothing = Hit { t: FAR, instance: GROUND, part: 0 };
    for number in 1..200_u32 {
        let fragment = Grain { centre_m: [0.0, 0.0, 0.4], radius_m: 0.1, faces: number * 7919 };
        scene.set_heaps(vec![heap(vec![fragment])]).expect("a fragment");
        let records = scene.records();
        let part = &records.triangles[records.triangles.len() - 1];
        let [first, second] = [part.edge1, part.edge2].map(|n| Vector3::from(n).cast::<f64>());
        let normals = [first, second, first.cross(&second) * f64::from(part.third)];
        // Each face is between 0.5 and 0.85 radii from the centre.
        assert!(normals.iter().all(|n| (0.0499..0.0851).contains(&(1.0 / n.norm()))), "{normals:?}");
        let centre = Vector3::new(0.5, -0.25, 0.4);
        let from = Vector3::from_fn(|_, _| chance.random::<f32>() - 0.5).normalize();
        let aside = Vector3::from_fn(|_, _| 0.12 * (chance.random::<f32>() - 0.5));
        let ray = Ray { origin: centre.cast::<f32>() + from, direction: aside - from };
        let hit = bvh::trace_instances(&records, &ray, nothing);
        // March along the ray in steps of 10 µm.
        let inside = |t: f64| {
            let p = ray.origin.cast::<f64>() + ray.direction.cast::<f64>() * t - centre;
            p.norm() <= 0.1 && normals.iter().all(|n| n.dot(&p).abs() <= 1.0)
        };
        let first_inside = (0..30_000).map(|i| 0.85 + 1e-5 * f64::from(i)).find(|t| inside(*t));
        assert_eq!(hit.t < FAR, first_inside.is_some(), "fragment {number}");
        let Some(expected) = first_inside else { continue };
        assert!((f64::from(hit.t) - expected).abs() < 3e-5, "fragment {number}: {} instead of {expected}", hit.t);
        let normal = bvh::part_normal(&records, &ray, &hit).cast::<f64>();
        let p = ray.origin.cast::<f64>() + ray.direction.cast::<f64>() * f64::from(hit.t) - centre;
        let face = normals.iter().find(|n| n.dot(&p).abs() > 1.0 - 1e-3);
        let outward = face.map_or(p, |n| n * n.dot(&p)).normalize();
        assert!(normal.dot(&outward) > 0.999 || p.norm() > 0.0999, "fragment {number}: {normal:?}, not {outward:?}");
        met += 1;
        on_faces += usize::from(face.is_some());
    }
    assert!(met > 150 && on_faces > 100, "{met} met, {on_faces} on faces");
}

#[test]
fn images_report_a_grain_as_ground_at_its_own_distance_with_its_own_normal() {
    let mut scene = ground();
    let (centre_m, radius_m) = ([0.0, 0.0, 0.5], 0.1);
    scene.set_heaps(vec![heap(vec![Grain { centre_m, radius_m, faces: 0 }])]).expect("a sphere");
    let eye = Vector3::new(-1.5, -0.25, 0.5);
    let view = look(eye.into(), [0.5, -0.25, 0.5], 81, 81);
    let frame = camera(&scene, &view);
    let mut truth = TruthFrame::default();
    CpuTracer.truth(&scene, &view, &mut truth).expect("traced");
    let middle = 40 * 81 + 40;
    assert_eq!((frame.class[middle], frame.instance[middle]), (Class::Ground as u16, 0));
    assert!((f64::from(frame.depth_m[middle]) - 1.9).abs() < PLACE_TOLERANCE_M, "{}", frame.depth_m[middle]);
    // The normal points toward the camera, in the optical frame.
    let normal = truth.normal[middle];
    assert!((normal[2] + 1.0).abs() < 1e-5, "{normal:?}");
    // The normal points up on the grain's upper half: the optical frame's y points down.
    assert!(truth.normal[middle - 2 * 81][1] < -0.3, "{:?}", truth.normal[middle - 2 * 81]);
}

#[test]
fn a_grain_throws_its_shadow_on_the_ground() {
    let mut scene = ground();
    scene.set_sun(sun(std::f64::consts::FRAC_PI_2, 0.0));
    let straight_down = look([0.5, -1.25, 1.0], [0.5, -0.25, 0.0], 41, 41);
    let view = CameraView { light: LightSampling::POINT, ..straight_down };
    let lit = camera(&scene, &view);
    scene.set_heaps(vec![heap(vec![Grain { centre_m: [0.0, 0.0, 1.5], radius_m: 0.1, faces: 0 }])]).expect("a sphere");
    let shaded = camera(&scene, &view);
    let middle = 20 * 41 + 20;
    assert!(lit.radiance[middle][0] > 0.0 && shaded.radiance[middle][0] == 0.0);
    assert_eq!(lit.depth_m[middle], shaded.depth_m[middle]);
}

#[test]
fn heaps_come_and_go_without_a_trace_and_the_rest_stays() {
    let ball = primitives::sphere(0.1);
    let label = Class::Rover.numbered(PART);
    let paint = Material::Lambert { albedo: 0.5 };
    let pose = Pose::translation(0.3, -0.4, 0.3);
    let mut plain = ground();
    let mesh = plain.add_mesh(&ball).expect("a mesh");
    plain.add_instance(mesh, &pose, label, &paint).expect("room");
    let without = camera(&plain, &view());
    let mut scene = ground();
    scene.set_heaps(vec![heap(cloud()), heap(Vec::new())]).expect("spheres");
    // A mesh that is added after the heap.
    let mesh = scene.add_mesh(&ball).expect("a mesh");
    let id = scene.add_instance(mesh, &Pose::identity(), label, &paint).expect("room");
    scene.move_instance(id, &pose);
    let with = camera(&scene, &view());
    assert!(with.class.contains(&(Class::Rover as u16)) && with.depth_m != without.depth_m);
    scene.set_heaps(Vec::new()).expect("none");
    let again = camera(&scene, &view());
    assert_eq!(again.depth_m, without.depth_m);
    assert_eq!((again.instance, again.radiance), (without.instance, without.radiance));
}

#[test]
fn what_is_no_sphere_is_refused_with_its_number_and_changes_nothing() {
    let mut scene = ground();
    scene.set_heaps(vec![heap(cloud())]).expect("spheres");
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut grains = cloud();
        grains[41].radius_m = bad;
        let refusal = scene.set_heaps(vec![heap(grains)]).expect_err("refused").to_string();
        assert!(refusal.contains("grain 41"), "{refusal}");
    }
    assert_eq!(scene.heaps().len(), 1);
}

//! Tests of whole pictures: edits, moves, thread counts and classes.

use crate::common;

use common::{PART, bumpy_ground, bumpy_height_m, look, sun};
use selene_base::Pose;
use selene_scene::{CameraFrame, CameraView, Class, CpuTracer, Material, Scene, TraceError, Tracer, primitives};
use selene_terrain::{Clipmap, Edit, Node};

fn site() -> Clipmap {
    bumpy_ground(&[(0.05, 150), (0.4, 60)], 40)
}

fn view() -> CameraView {
    look([-3.0, -1.0, bumpy_height_m(-3.0, -1.0) + 1.8], [1.0, 0.5, 0.0], 160, 90)
}

fn picture(scene: &Scene) -> CameraFrame {
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene, &view(), &mut frame).expect("traced");
    frame
}

fn add_ball(scene: &mut Scene, pose: &Pose) -> selene_scene::InstanceId {
    let ball = scene.add_mesh(&primitives::sphere(0.3)).expect("a mesh");
    scene.add_instance(ball, pose, Class::Rover.numbered(PART), &Material::Lambert { albedo: 0.4 }).expect("room")
}

#[test]
fn edits_change_the_picture_as_a_new_scene_does() {
    let mut ground = site();
    let mut scene = Scene::new(&ground, sun(0.2, 1.0));
    let before = picture(&scene);
    let posts = ground.finest().posts;
    let edit = |i: i32| {
        let node = Node { column: 40 + i % 60, row: 60 + i / 10 };
        let height_m = ground.finest().heights_m[node.row as usize * posts + node.column as usize];
        Edit::of(node, height_m + if i % 7 == 0 { 0.2 } else { -0.1 })
    };
    let edits: Vec<_> = (0..400).map(edit).collect();
    scene.apply_edits(&ground.apply(&edits));
    let after = picture(&scene);
    assert!(before != after);
    assert!(after == picture(&Scene::new(&ground, sun(0.2, 1.0))));
}

#[test]
fn a_moved_part_is_seen_where_it_is_now() {
    let [from, to] = [Pose::translation(-1.0, 0.0, 1.0), Pose::translation(-0.5, -0.5, 1.2)];
    let mut moved = Scene::new(&site(), sun(0.2, 1.0));
    let id = add_ball(&mut moved, &from);
    let before = picture(&moved);
    moved.move_instance(id, &to);
    let mut direct = Scene::new(&site(), sun(0.2, 1.0));
    add_ball(&mut direct, &to);
    assert!(before != picture(&moved));
    assert!(picture(&moved) == picture(&direct));
}

#[test]
fn the_picture_is_the_same_for_any_number_of_threads() {
    let scene = Scene::new(&site(), sun(0.2, 1.0));
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| picture(&scene))
    };
    let one = with(1);
    assert!(one == with(2));
    assert!(one == with(4));
}

#[test]
fn a_picture_holds_ground_rocks_rover_and_finite_radiance() {
    let mut scene = Scene::new(&site(), sun(0.2, 1.0));
    add_ball(&mut scene, &Pose::translation(-1.0, 0.0, 1.0));
    let frame = picture(&scene);
    for class in [Class::Ground, Class::Rock, Class::Rover] {
        assert!(frame.class.contains(&(class as u16)), "{class:?} is not seen");
    }
    for (i, &radiance) in frame.radiance.iter().enumerate() {
        assert!(radiance.iter().all(|l| l.is_finite() && *l >= 0.0));
        assert_eq!(frame.class[i] == 0, frame.depth_m[i].is_infinite());
        assert_eq!(frame.class[i] >= 2, frame.instance[i] > 0);
    }
    assert_eq!(frame.instance.iter().max(), Some(&PART), "the ball's own number");
    assert!(frame.instance.iter().filter(|&&number| number < PART).all(|&number| number <= 40), "40 rocks");
}

#[test]
fn depth_is_along_the_optical_axis() {
    let scene = Scene::new(&Clipmap::flat(0.1, 40.0), sun(0.5, 0.0));
    let down = look([0.0, 0.0, 5.0], [0.0, 0.0, 0.0], 64, 64);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(&scene, &down, &mut frame).expect("traced");
    assert!(frame.depth_m.iter().all(|d| (d - 5.0).abs() < 1e-4));
}

#[test]
fn a_view_that_is_no_camera_is_refused() {
    let scene = Scene::new(&Clipmap::flat(0.1, 4.0), sun(0.5, 0.0));
    let refuse = |view: CameraView| {
        let traced = CpuTracer.camera(&scene, &view, &mut CameraFrame::default());
        assert!(matches!(traced, Err(TraceError::View(_))));
    };
    refuse(CameraView { width: 0, ..view() });
    refuse(CameraView { fx_px: f64::NAN, ..view() });
    refuse(CameraView { cy_px: f64::INFINITY, ..view() });
}

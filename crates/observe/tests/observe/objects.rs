//! Tests of objects that a scenario places from a mesh file: they are at their given poses, rovers collide with them,
//! a lidar meets them with the reflectance of their material, and images show their class.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use selene_observe::TracedScene;
use selene_scene::{Beam, BeamReturn, CameraFrame, CameraView, Class, CpuTracer, Tracer, primitives};
use selene_sim::{LoadOptions, Scenario, World};

/// Length, width and height of the boulder's mesh about its middle, m.
const SIZE_M: [f64; 3] = [4.0, 1.0, 0.6];
/// The ground between posts is curved, and depths are `f32`.
const TOLERANCE_M: f64 = 0.01;

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

/// A mesh file that is deleted on drop.
struct Boulder(PathBuf);

impl Boulder {
    fn written(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("selene-objects-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let mesh = primitives::cuboid(SIZE_M);
        let mut text = "solid boulder\n".to_owned();
        for triangle in &mesh.triangles {
            text.push_str("facet normal 0 0 1\nouter loop\n");
            for corner in triangle {
                let [x, y, z] = mesh.vertices[*corner as usize];
                writeln!(text, "vertex {x} {y} {z}").expect("text");
            }
            text.push_str("endloop\nendfacet\n");
        }
        std::fs::write(folder.join("boulder.stl"), text + "endsolid boulder\n").expect("written");
        Self(folder)
    }

    /// A scenario with a rover at the origin and the boulder.
    fn scenario(&self, keys: &str) -> Result<Scenario, String> {
        let text = format!(
            "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
             site: ../site/test_yard.yaml\nsoil: ../soil/lunar.yaml\n\
             rover: {{ file: ../rover/rassor.yaml, x_m: 0, y_m: 0, yaw_deg: 0 }}\n\
             objects:\n- {{name: boulder, file: {}, {keys}}}\n",
            self.0.join("boulder.stl").display()
        );
        Scenario::parse(&text, &config().join("scenario/test.yaml"), &LoadOptions::default()).map_err(|e| e.to_string())
    }

    fn world(&self, keys: &str) -> Result<World, String> {
        World::new(Arc::new(self.scenario(keys)?)).map_err(|e| e.to_string())
    }

    fn traced(&self, keys: &str) -> TracedScene {
        let mut world = self.world(keys).unwrap_or_else(|e| panic!("{e}"));
        let snapshot = world.first_snapshot().expect("a snapshot");
        let viewer = snapshot.rovers[0].id;
        TracedScene::new(world.model(), viewer, &snapshot, &world.state().ruts).expect("a scene")
    }
}

impl Drop for Boulder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The return of a beam from 10 m above the ground at (`x_m`, 0) straight down.
fn from_above(scene: &TracedScene, x_m: f64) -> BeamReturn {
    let height_m = scene.clipmap().height_m(x_m, 0.0).expect("on the site");
    let beam = Beam::new([x_m, 0.0, height_m + 10.0], [0.0, 0.0, -1.0]);
    let mut returns = Vec::new();
    CpuTracer.beams(scene.scene(), &[beam], &mut returns).expect("traced");
    returns[0]
}

#[test]
fn a_boulder_stands_as_the_scenario_turns_it_and_has_its_material() {
    let boulder = Boulder::written("stands");
    for (turn, top_m) in [("yaw_deg: 90", 0.3), ("pitch_deg: 90", 2.0), ("roll_deg: 90", 0.5), ("z_m: 1", 1.3)] {
        let scene = boulder.traced(&format!("x_m: 5, y_m: 0, {turn}, material: {{lambert: {{albedo: 0.05}}}}"));
        let met = from_above(&scene, 5.0);
        assert!((f64::from(met.range_m) - (10.0 - top_m)).abs() < TOLERANCE_M, "{turn}: {met:?}");
        assert_eq!((met.class, met.reflectance), (Class::Object as u16, 0.05), "{turn}");
        assert_eq!(from_above(&scene, 9.0).class, Class::Ground as u16);
    }
}

#[test]
fn images_report_class_and_number_of_what_a_beam_meets() {
    let boulder = Boulder::written("images");
    let scene = boulder.traced("x_m: 5, y_m: 0, material: {w: 0.3}");
    let met = from_above(&scene, 5.0);
    let height_m = scene.clipmap().height_m(5.0, 0.0).expect("on the site");
    let down = nalgebra::UnitQuaternion::from_euler_angles(std::f64::consts::PI, 0.0, 0.0);
    let eye = selene_base::Pose::from_parts([5.0, 0.0, height_m + 10.0].into(), down);
    let mut frame = CameraFrame::default();
    CpuTracer.camera(scene.scene(), &CameraView::pinhole(eye, [65, 65], 1.0), &mut frame).expect("traced");
    let middle = 32 * 65 + 32;
    assert_eq!((frame.class[middle], frame.instance[middle]), (met.class, met.instance));
    assert!(met.class == Class::Object as u16 && met.instance != 0);
}

#[test]
fn without_a_material_a_mesh_is_painted_grey() {
    let met = from_above(&Boulder::written("grey").traced("x_m: 5, y_m: 0"), 5.0);
    assert!((met.reflectance - 0.6).abs() < 1e-6, "{met:?}");
}

#[test]
fn rovers_run_into_a_boulder_as_it_is_turned() {
    let boulder = Boulder::written("turned");
    let reported = boulder.world("x_m: 2, y_m: 0").map(drop).expect_err("it lies across the rover");
    assert!(reported.contains("boulder") && reported.contains("inside"), "{reported}");
    boulder.world("x_m: 2, y_m: 0, pitch_deg: 90").map(drop).expect("it stands before the rover");
}

#[test]
fn a_material_that_is_none_is_refused_with_line_and_range() {
    let boulder = Boulder::written("refused");
    for (keys, parts) in [
        ("x_m: 5, y_m: 0, material: {lambert: {albedo: 2}}", ["line 11", "value 2", "0 to 1"]),
        ("x_m: 5, y_m: 0, material: {lambert: {albedo: 0}, w: 0}", ["line 11", "exactly one of", "principled"]),
        ("x_m: 5, y_m: 0, pitch_deg: 400", ["line 11", "400", "-360 to 360"]),
    ] {
        let reported = boulder.scenario(keys).map(drop).expect_err(keys);
        assert!(parts.iter().all(|part| reported.contains(part)), "{reported}");
    }
}

//! Tests of loose soil in a granular window: sensors see grains at the points, which images and beams report as
//! ground at their own distance with their own normal, the same for any number of threads and for an observer that
//! joins late.

use crate::common;

use std::sync::Arc;

use common::config;
use nalgebra::{Rotation3, UnitQuaternion, Vector3};
use selene_base::{Pose, SimTime};
use selene_observe::{Feed, History, TracedScene};
use selene_scene::{
    Beam, BeamReturn, CameraFrame, CameraView, Class, CpuTracer, Heap, LightSampling, Scene, Tracer, TruthFrame,
};
use selene_sim::{EntityId, LoadOptions, Scenario, Snapshot, World};
use selene_terrain::Node;

const ROVER: EntityId = EntityId(1);
const GRAINS: &str = ", grains: { per_point: 200, diameter_m: 0.004, spread: 1.4, within_m: 4 }";
/// The same in spheres half as wide again: their fragments are about as large as spheres of those are.
const LARGER: &str = ", grains: { per_point: 200, diameter_m: 0.006, spread: 1.4, within_m: 4 }";
const SIZE: [u32; 2] = [64, 36];
/// Rounding of positions and distances in single precision, m.
const PLACE_TOLERANCE_M: f64 = 2e-5;
/// Resulting error of the normal of a grain of two millimetres, except near its limb.
const NORMAL_TOLERANCE: f64 = 0.05;
/// Rays nearer to a grain's limb than this fraction of its radius may pass on either side.
const LIMB: f64 = 0.02;

/// A driving VIPER with its left front wheel in a window; `grains` is the window's YAML for grains.
fn in_a_pit(grains: &str) -> String {
    let window = "{ name: pit, from_m: [0.16, 0.28], to_m: [1.24, 0.94], depth_m: 0.12, spacing_m: 0.03";
    format!("soil: ../soil/lunar.yaml\ngranular: [{window}{grains} }}]\nrover: {{ file: ../rover/viper.yaml }}\n")
}

/// A RASSOR driving over soft soil; `crumbs` is the scenario's YAML for crumbs.
fn on_soft_soil(crumbs: &str) -> String {
    format!("soil: ../soil/soft.yaml\n{crumbs}rover: {{ file: ../rover/rassor.yaml }}\n")
}

fn world(text: &str) -> World {
    let text = format!(
        "name: test\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: ../site/test_yard.yaml\nroute: {{ speed_m_s: 0.1, waypoints_m: [[4, 0]] }}\n{text}"
    );
    let scenario = Scenario::parse(&text, &config().join("scenario/test.yaml"), &LoadOptions::default());
    World::new(Arc::new(scenario.unwrap_or_else(|e| panic!("{e}")))).unwrap_or_else(|e| panic!("{e}"))
}

/// A world after half a second, its last snapshot, and its scene then.
fn driven(text: &str) -> (World, Arc<Snapshot>, TracedScene) {
    let mut world = world(text);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut scene = TracedScene::new(world.model(), ROVER, feed.last(), &world.state().ruts).expect("a scene");
    let mut history = History::new(SimTime::from_nanos(100_000_000));
    for _ in 0..50 {
        let interval = feed.heartbeat(&mut world).expect("goes on");
        history.take(&interval, ROVER);
        scene.take(&interval).expect("taken");
    }
    let reported = Arc::clone(history.latest().expect("published"));
    scene.move_to(&history, reported.time).expect("moved");
    (world, reported, scene)
}

/// A camera ahead of the rover and beside it that looks at its left front wheel.
fn view(scene: &TracedScene) -> CameraView {
    let ground_m = scene.clipmap().height_m(0.75, 0.72).expect("ground");
    let [eye, target] = [Vector3::new(1.0, 0.95, ground_m + 0.2), Vector3::new(0.75, 0.72, ground_m)];
    let forward = (target - eye).normalize();
    let right = forward.cross(&Vector3::z()).normalize();
    let rotation = Rotation3::from_basis_unchecked(&[right, forward.cross(&right), forward]);
    let pose = Pose::from_parts(eye.into(), UnitQuaternion::from_rotation_matrix(&rotation));
    CameraView { light: LightSampling::POINT, ..CameraView::pinhole(pose, SIZE, 1.0) }
}

/// The directions of a view's pixels in the map frame, scaled to one metre along the optical axis.
fn directions(view: &CameraView) -> Vec<Vector3<f64>> {
    let pixel = |n: u32| {
        let [u, v] = [n % view.width, n / view.width].map(f64::from);
        let along = Vector3::new((u - view.cx_px) / view.fx_px, (v - view.cy_px) / view.fy_px, 1.0);
        view.world_from_optical.rotation * along
    };
    (0..view.width * view.height).map(pixel).collect()
}

/// The first intersection of a ray with the grains, as a multiple of its direction, with the normal there; and
/// whether it touches the limb or an edge of a grain that it meets or passes.
fn first_grain(heaps: &[Heap], from_m: &Vector3<f64>, along: &Vector3<f64>) -> (f64, Vector3<f64>, bool) {
    let (mut first, mut touches) = ((f64::INFINITY, Vector3::zeros()), false);
    for (heap, grain) in heaps.iter().flat_map(|heap| heap.grains.iter().map(move |grain| (heap, grain))) {
        let centre_m = heap.world_from_heap.translation.vector + Vector3::from(grain.centre_m).cast::<f64>();
        let (to, radius_m) = (centre_m - from_m, f64::from(grain.radius_m));
        let nearest = to.dot(along) / along.norm_squared();
        let beside = (to - along * nearest).norm() / radius_m;
        touches |= (beside - 1.0).abs() < LIMB;
        if beside >= 1.0 {
            continue;
        }
        let half = radius_m * (1.0 - beside * beside).sqrt() / along.norm();
        let (mut leave, mut enters) = (nearest + half, vec![(nearest - half, None)]);
        for normal in grain.normals().map(|normal| normal.cast::<f64>()) {
            let (speed, apart) = (normal.dot(along), normal.dot(&to));
            let [a, b] = [(apart - 1.0) / speed, (apart + 1.0) / speed];
            leave = leave.min(a.max(b));
            enters.push((a.min(b), Some(normal * -speed.signum())));
        }
        enters.sort_by(|a, b| b.0.total_cmp(&a.0));
        let ((t, face), near) = (enters[0], LIMB * radius_m / along.norm());
        touches |= (leave - t).abs() < near || t < leave && t - enters[1].0 < near;
        if t < leave && t > 0.0 && t < first.0 {
            first = (t, face.unwrap_or(along * t - to).normalize());
        }
    }
    (first.0, first.1, touches)
}

fn images(scene: &Scene, view: &CameraView) -> (CameraFrame, TruthFrame) {
    let (mut frame, mut truth) = (CameraFrame::default(), TruthFrame::default());
    CpuTracer.camera(scene, view, &mut frame).expect("traced");
    CpuTracer.truth(scene, view, &mut truth).expect("traced");
    (frame, truth)
}

fn echoes(scene: &Scene, from_m: &Vector3<f64>, directions: &[Vector3<f64>]) -> Vec<BeamReturn> {
    let beam = |along: &Vector3<f64>| Beam::new((*from_m).into(), along.normalize().cast::<f32>().into());
    let (beams, mut returns) = (directions.iter().map(beam).collect::<Vec<_>>(), Vec::new());
    CpuTracer.beams(scene, &beams, &mut returns).expect("traced");
    returns
}

#[test]
fn images_and_beams_report_grains_as_ground_where_they_are() {
    let (moved, _, with) = driven(&in_a_pit(LARGER));
    let (plain, reported, without) = driven(&in_a_pit(""));
    assert_eq!(moved.state().hash(), plain.state().hash(), "grains are part of the world's state");
    assert!(reported.loose_soil.is_empty() && without.scene().heaps().is_empty());
    let heaps = with.scene().heaps();
    let view = view(&with);
    let (from_m, directions) = (view.world_from_optical.translation.vector, directions(&view));
    let [(seen, truth), (bare, _)] = [with.scene(), without.scene()].map(|scene| images(scene, &view));
    let [hit, missed] = [with.scene(), without.scene()].map(|scene| echoes(scene, &from_m, &directions));
    let mut met = 0;
    for (pixel, along) in directions.iter().enumerate() {
        let (t, normal, touches) = first_grain(heaps, &from_m, along);
        let behind_m = f64::from(bare.depth_m[pixel]);
        if touches || (t - behind_m).abs() < 2.0 * PLACE_TOLERANCE_M {
            continue;
        }
        let depth_m = t.min(behind_m);
        assert!((f64::from(seen.depth_m[pixel]) - depth_m).abs() < PLACE_TOLERANCE_M, "pixel {pixel}: not {depth_m} m");
        if t < behind_m {
            met += 1;
            assert_eq!((seen.class[pixel], seen.instance[pixel]), (Class::Ground as u16, 0), "pixel {pixel}");
            let reported = view.world_from_optical.rotation * Vector3::from(truth.normal[pixel]).cast::<f64>();
            assert!((reported - normal).norm() < NORMAL_TOLERANCE, "pixel {pixel}: {reported} and not {normal}");
            let apart_m = f64::from(hit[pixel].range_m) - t * along.norm();
            assert!(apart_m.abs() < PLACE_TOLERANCE_M && hit[pixel].class == Class::Ground as u16, "beam {pixel}");
        } else {
            assert_eq!(seen.class[pixel], bare.class[pixel], "pixel {pixel}");
            assert_eq!(hit[pixel].range_m, missed[pixel].range_m, "beam {pixel}");
        }
    }
    assert!(met > 40, "{met} pixels show grains");
    assert_ne!(seen.radiance, bare.radiance);
}

/// The bits of all grains.
fn bits(scene: &TracedScene) -> Vec<[u32; 5]> {
    let grains = scene.scene().heaps().iter().flat_map(|heap| heap.grains.iter());
    grains
        .map(|grain| {
            let [x, y, z] = grain.centre_m.map(f32::to_bits);
            [x, y, z, grain.radius_m.to_bits(), grain.faces]
        })
        .collect()
}

/// Whether a new scene of the last snapshot has the same grains, for any number of threads.
fn is_reported_late(world: &World, reported: &Arc<Snapshot>, known: &[[u32; 5]]) -> bool {
    let mut history = History::new(SimTime::from_nanos(1));
    history.push(Arc::clone(reported));
    let (model, ruts) = (world.model(), &world.state().ruts);
    let late = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let mut late = TracedScene::new(model, ROVER, reported, ruts).expect("a scene");
            late.move_to(&history, reported.time).expect("moved");
            bits(&late)
        })
    };
    late(1) == known && late(4) == known
}

#[test]
fn grains_are_the_same_for_any_number_of_threads_and_for_who_joins_late() {
    let (world, reported, scene) = driven(&in_a_pit(GRAINS));
    let known = bits(&scene);
    assert!(known.len() > 500, "{} grains", known.len());
    assert!(is_reported_late(&world, &reported, &known));
}

#[test]
fn crumbs_lie_along_ruts_and_are_the_same_for_any_number_of_threads_and_for_who_joins_late() {
    let crumbs = "crumbs: { per_m2: 20000, diameter_m: 0.004, spread: 1.3, within_m: 3 }\n";
    let (world, reported, scene) = driven(&on_soft_soil(crumbs));
    let (plain, _, without) = driven(&on_soft_soil(""));
    assert_eq!(world.state().hash(), plain.state().hash(), "crumbs are part of the world's state");
    assert!(without.scene().heaps().is_empty());
    let [heap] = scene.scene().heaps() else { panic!("one heap") };
    assert!(heap.grains.len() > 50, "{} crumbs", heap.grains.len());
    let (spacing_m, origin_m) = (scene.clipmap().finest().spacing_m, scene.clipmap().finest().origin_m);
    let first = scene.clipmap().first_node();
    let posts_m: Vec<[f64; 2]> = world
        .state()
        .ruts
        .edits()
        .map(|edit| {
            let node = edit.at();
            let steps = [node.column - first.column, node.row - first.row];
            [0, 1].map(|axis| origin_m[axis] + f64::from(steps[axis]) * spacing_m)
        })
        .collect();
    for grain in heap.grains.iter() {
        let centre_m = heap.world_from_heap.translation.vector + Vector3::from(grain.centre_m).cast::<f64>();
        let ground_m = scene.clipmap().height_m(centre_m.x, centre_m.y).expect("ground");
        assert!(
            (centre_m.z - ground_m).abs() < f64::from(grain.radius_m),
            "a crumb at {centre_m} is not on the ground"
        );
        let apart_m = |post: &[f64; 2]| (centre_m.x - post[0]).hypot(centre_m.y - post[1]);
        // In the square of a post, or downhill from there by at most the side of a square.
        assert!(posts_m.iter().any(|post| apart_m(post) < 1.72 * spacing_m), "a crumb at {centre_m} is in no rut");
    }
    assert!(is_reported_late(&world, &reported, &bits(&scene)));
}

#[test]
fn pebbles_lie_where_nothing_moved_the_ground_as_many_of_each_size_as_their_law_says() {
    let pebbles = "pebbles: { per_m2: 3000, diameter_m: [0.002, 0.02], exponent: 2.5, within_m: 2 }\n";
    let (world, reported, scene) = driven(&on_soft_soil(pebbles));
    let (plain, _, _) = driven(&on_soft_soil(""));
    assert_eq!(world.state().hash(), plain.state().hash(), "pebbles are part of the world's state");
    let [heap] = scene.scene().heaps() else { panic!("one heap") };
    let (spacing_m, origin_m) = (scene.clipmap().finest().spacing_m, scene.clipmap().finest().origin_m);
    let first = scene.clipmap().first_node();
    let moved: std::collections::BTreeSet<_> = world.state().ruts.edits().map(|edit| edit.at()).collect();
    assert!(moved.len() > 20, "{} posts were moved", moved.len());
    for grain in heap.grains.iter() {
        let centre_m = heap.world_from_heap.translation.vector + Vector3::from(grain.centre_m).cast::<f64>();
        let ground_m = scene.clipmap().height_m(centre_m.x, centre_m.y).expect("ground");
        assert!(
            (centre_m.z - ground_m).abs() < f64::from(grain.radius_m) + PLACE_TOLERANCE_M,
            "{centre_m} is not on the ground"
        );
        let steps = [0, 1].map(|axis| (centre_m[axis] - origin_m[axis]) / spacing_m);
        // Only grains for which rounding does not decide to which post they belong.
        if steps.iter().all(|at| (at - at.round()).abs() > 0.01) {
            let node = Node { column: first.column + steps[0] as i32, row: first.row + steps[1] as i32 };
            assert!(!moved.contains(&node), "a pebble at {centre_m} lies in a rut");
        }
    }
    // All within a metre, none at two metres, linear in between: 7/12 of those in the circle.
    let expected = 3000.0 * std::f64::consts::PI * 4.0 * 7.0 / 12.0;
    let count = heap.grains.len() as f64;
    assert!((count / expected - 1.0).abs() < 0.1, "{count} pebbles, {expected} are expected");
    // (2^-2.5 − 10^-2.5) / (1 − 10^-2.5) of them have twice the least diameter or more.
    let larger = heap.grains.iter().filter(|grain| grain.radius_m >= 0.002).count() as f64 / count;
    assert!((larger - 0.1742).abs() < 0.012, "{larger} of them are larger than 4 mm");
    assert!(is_reported_late(&world, &reported, &bits(&scene)));
}

#[test]
fn grains_are_there_near_the_rover_alone_and_of_the_size_that_is_requested() {
    let (_, reported, scene) = driven(&in_a_pit(GRAINS));
    let grains = || scene.scene().heaps().iter().flat_map(|heap| heap.grains.iter());
    let ratio = |grain: &selene_scene::Grain| f64::from(grain.radius_m) / 0.002;
    assert!(grains().all(|grain| (1.4_f64.powi(-3)..=1.4_f64.powi(3)).contains(&ratio(grain))));
    let larger = grains().filter(|grain| ratio(grain) > 1.0).count() as f64 / grains().count() as f64;
    // Larger grains protrude from the ground more often.
    assert!((0.45..0.7).contains(&larger), "{larger} of them are larger than the median");
    let points: usize = reported.loose_soil.iter().map(|soil| soil.points.len()).sum();
    assert!(grains().count() < 200 * points, "the ground hides some");
    let (_, _, far) = driven(&in_a_pit(&GRAINS.replace("within_m: 4", "within_m: 0.1")));
    assert!(far.scene().heaps().is_empty());
}

#[test]
fn single_grains_are_seen_as_they_are() {
    let dem = "dem: { diameter_m: [0.016, 0.03] }";
    let bed =
        format!("{{ name: bed, from_m: [-0.36, -0.3], to_m: [0.54, 0.3], depth_m: 0.06, spacing_m: 0.03, {dem} }}");
    let text = format!("soil: ../soil/gravel.yaml\ngranular: [{bed}]\nrover: {{ file: ../rover/sorato.yaml }}\n");
    let (world, reported, scene) = driven(&text);
    let [heap] = scene.scene().heaps() else { panic!("one heap") };
    let (state, points) = (&world.state().granular[&0], &reported.loose_soil[0].points);
    assert!(heap.grains.len() == points.len() && points.len() > 400, "{} grains are seen", heap.grains.len());
    for (grain, point) in heap.grains.iter().zip(points) {
        let sphere = &state.grains()[state.grains().binary_search_by_key(&point.id, |sphere| sphere.id).expect("one")];
        let apart_m = Vector3::from(grain.centre_m).cast::<f64>() - sphere.position_m;
        assert!(apart_m.amax() < PLACE_TOLERANCE_M, "grain {} is seen {apart_m} beside its place", point.id);
        assert!((f64::from(grain.radius_m) - sphere.radius_m).abs() < 1e-8);
    }
    assert!(is_reported_late(&world, &reported, &bits(&scene)));
}

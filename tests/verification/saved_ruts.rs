//! Driven ground that one run saves and another loads: a drive split into two runs leaves the same ground as one run,
//! and other nodes see it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_coherence::WorldWatcher;
use selene_observe::{Interval, TracedScene};
use selene_ros::in_process::InProcess;
use selene_scene::{Beam, CpuTracer, Tracer};
use selene_sim::{Command, DrivenGround, Fingerprint, LoadOptions, Model, Scenario, Snapshot, StartOptions, World};
use selene_simulation::RunStart;
use selene_terrain::{GroundPatch, Node, Ruts};
use selene_tests::{ROVER, context, model, options, repository_file};
use selene_vehicle::BodyTwist;

/// Map x at which the drive is split in two, m.
const CUT_M: f64 = 3.0;
/// Map x at which the drive ends, m.
const END_M: f64 = 6.5;
/// Limit of the ground compared, m: behind the rear wheels of a rover at the split, and behind soil that slides under
/// it.
const FIRST_HALF_M: f64 = CUT_M - 1.5;
/// Distance between posts, m.
const SPACING_M: f64 = 0.02;

/// The default scenario starting at `x_m` east, without a route.
fn scenario(x_m: f64) -> Scenario {
    let start = StartOptions { x_m: Some(x_m), y_m: Some(0.0), yaw_deg: Some(0.0), z_m: None };
    let options = LoadOptions { start, ..LoadOptions::default() };
    let file = repository_file("config/scenario/polar.yaml");
    let mut scenario = Scenario::load(&file, &options).unwrap_or_else(|error| panic!("{error}"));
    scenario.rovers[0].route = None;
    scenario
}

fn fingerprint(model: &Model) -> Fingerprint {
    Fingerprint::of_ground(&model.scenario().site, model.scenario().seed, model.terrain())
}

/// The world that begins at `x_m` east, on the driven ground of a file.
fn world(x_m: f64, driven: Option<&Path>) -> World {
    let model = model(scenario(x_m));
    let driven = driven.map(|file| DrivenGround::load(file, &fingerprint(&model)).expect("taken"));
    World::begin(model, driven.as_ref()).expect("world")
}

fn save(world: &World, file: &Path) {
    DrivenGround::of(world.state()).save(file, &fingerprint(world.model())).expect("saved");
}

fn x_m(world: &World) -> f64 {
    world.state().rovers[&ROVER].body.world_from_base.translation.x
}

fn drive_to(world: &mut World, to_m: f64) -> Option<Snapshot> {
    let mut last = None;
    while x_m(world) < to_m {
        assert!(world.time() < SimTime::from_secs_f64(60.0), "stuck at {} m", x_m(world));
        world.drive(ROVER, Command::Body(BodyTwist::arc(0.2, 0.0))).expect("there");
        last = Some(world.heartbeat().expect("heartbeat"));
    }
    last
}

fn deepest_m(snapshot: Option<Snapshot>) -> f64 {
    let snapshot = snapshot.expect("driven");
    selene_tests::rover(&snapshot).wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max)
}

/// Bits of a post's height, original soil height and plastic sinkage.
type Post = [Option<u32>; 3];

/// All driven posts west of `x_m`, by row and column.
fn posts(world: &World, x_m: f64) -> BTreeMap<[i32; 2], Post> {
    let mut posts: BTreeMap<[i32; 2], Post> = BTreeMap::new();
    for edit in world.state().ruts.edits() {
        let Node { column, row } = edit.tile_index().node(usize::from(edit.node));
        posts.entry([column, row]).or_default()[0] = Some(edit.height_m.to_bits());
    }
    for known in world.state().soil.nodes() {
        let [initial, plastic, ..] = known.memory.bits();
        let Node { column, row } = known.tile.node(usize::from(known.within));
        let post = posts.entry([column, row]).or_default();
        [post[1], post[2]] = [Some(initial), Some(plastic)];
    }
    let origin_m = world.model().terrain().origin_m()[0];
    posts.retain(|at, _| origin_m + f64::from(at[0]) * SPACING_M < x_m);
    posts
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("selene-saved-ruts-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    folder
}

#[test]
fn a_drive_in_two_runs_leaves_the_first_half_as_a_drive_in_one_does() {
    let folder = folder("drive");
    let file = folder.join("half.ruts");
    let mut one = world(0.0, None);
    let stood_m = deepest_m(drive_to(&mut one, CUT_M));
    save(&one, &file);
    drive_to(&mut one, END_M);

    let mut two = world(CUT_M, Some(&file));
    let loaded = posts(&two, FIRST_HALF_M);
    assert!(loaded.len() > 1000, "a track lies there: {} posts", loaded.len());
    assert!(loaded == posts(&one, FIRST_HALF_M), "what was loaded is what the first run left");
    let stands_m = deepest_m(drive_to(&mut two, CUT_M + 0.01));
    // The rover stands in its rut: sinkage counts from the undisturbed ground, not from the bottom of the rut.
    assert!(stands_m < 1.3 * stood_m && stands_m > 0.7 * stood_m, "{stands_m} m deep, {stood_m} m before");
    drive_to(&mut two, END_M);
    assert!(posts(&two, FIRST_HALF_M) == loaded, "the first half was not pressed anew");
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn driven_ground_of_another_seed_site_or_law_is_refused() {
    let folder = folder("refused");
    let file = folder.join("some.ruts");
    let mut world = world(0.0, None);
    drive_to(&mut world, 0.1);
    save(&world, &file);
    assert!(DrivenGround::load(&file, &fingerprint(world.model())).expect("read") == DrivenGround::of(world.state()));
    let reported = |scenario: Scenario| {
        let own = fingerprint(&model(scenario));
        DrivenGround::load(&file, &own).expect_err("refused").to_string()
    };
    let mut other = scenario(0.0);
    other.site.relief.deviation_at_1m_m *= 1.1;
    let law = reported(other);
    assert!(law.contains("site file: here ") && law.contains("some.ruts"), "{law}");
    let options = LoadOptions { seed: Some(4), ..LoadOptions::default() };
    let path = repository_file("config/scenario/polar.yaml");
    let seed = reported(Scenario::load(&path, &options).expect("loads"));
    assert!(seed.contains("some.ruts") && seed.contains("seed: here 4, there 1"), "{seed}");
    let mut other = scenario(0.0);
    other.site.name = "hadley".to_owned();
    let site = reported(other);
    assert!(site.contains("site: here hadley, there polar"), "{site}");
    std::fs::remove_dir_all(folder).expect("clean");
}

/// Largest difference, m, between rays straight down on the scene and a ground's heights along the tracks behind a
/// rover at x = 0.
fn rays_off_m(scene: &TracedScene, ground: &GroundPatch) -> f64 {
    let places: Vec<[f64; 2]> =
        (0..400).map(|i| [-2.5 + 0.007 * f64::from(i % 200), [0.61, -0.61][i as usize / 200]]).collect();
    let beam = |&[x, y]: &[f64; 2]| Beam::new([x, y, 5.0], [0.0, 0.0, -1.0]);
    let mut returns = Vec::new();
    CpuTracer.beams(scene.scene(), &places.iter().map(beam).collect::<Vec<_>>(), &mut returns).expect("traced");
    let off = |(at, met): (&[f64; 2], &selene_scene::BeamReturn)| {
        let soil_m = ground.height_m(at[0], at[1]).expect("on the ground");
        (met.class == selene_scene::Class::Ground as u16).then(|| (5.0 - f64::from(met.range_m) - soil_m).abs())
    };
    let off: Vec<_> = places.iter().zip(&returns).filter_map(off).collect();
    assert!(off.len() > 200, "rays meet soil: {}", off.len());
    off.into_iter().fold(0.0, f64::max)
}

/// Rays use `f32` over 5 m.
const RAY_TOLERANCE_M: f64 = 1e-5;

#[test]
fn a_node_that_was_not_given_the_ruts_requests_them_and_sees_them() {
    let mut before = world(-3.0, None);
    drive_to(&mut before, 0.0);
    let driven = DrivenGround::of(before.state());
    let model = model(scenario(0.0));
    let ruts = driven.ruts.count();
    assert!(ruts > 4096, "more than one part has ruts: {ruts}");
    let driven_ground = GroundPatch::of_square(model.terrain(), &driven.ruts, [0.0, 0.0], 5.0);
    let plain = World::begin(Arc::clone(&model), None).expect("world").first_snapshot().expect("a snapshot");
    let mut scene = TracedScene::new(&model, ROVER, &plain, &Ruts::default()).expect("scene");
    assert!(rays_off_m(&scene, &driven_ground) > 1e-3, "the tracks are no ground of the site");

    let context = context(Arc::new(InProcess::new()), &model);
    let mut watcher = WorldWatcher::new(&context, "camera").expect("watcher");
    let options = options(SimTime::from_secs_f64(0.1), &["camera"]);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| selene_simulation::run(&context, RunStart::Start(Some(driven)), &options, &stop).expect("runs"));
        let mut reported = 0;
        while let Some(interval) = watcher.next(&stop).expect("watches") {
            let Interval { next, edits, .. } = &interval;
            reported += edits.len();
            scene.take(&interval).expect("room");
            watcher.acknowledge(next.sequence, next.time).expect("published");
        }
        assert!(reported >= ruts, "{reported} of {ruts}");
    });
    let off_m = rays_off_m(&scene, &driven_ground);
    assert!(off_m < RAY_TOLERANCE_M, "{off_m} m");
}

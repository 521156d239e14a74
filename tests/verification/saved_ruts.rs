//! Driven ground saved by one run and taken up by another: a drive in two runs leaves the
//! ground that it would have left in one, and nodes elsewhere see it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use selene_base::SimTime;
use selene_coherence::{Interval, Stage, WorldWatcher};
use selene_ros::in_process::InProcess;
use selene_scene::{Beam, CpuTracer, Tracer};
use selene_sim::{Command, LoadOptions, SavedRuts, Scenario, World};
use selene_simulation::{Pace, SimulationOptions};
use selene_terrain::{Ground, TILE_NODES};
use selene_tests::repository_file;
use selene_vehicle::BodyTwist;

/// Where the drive is cut in two, map x, m.
const CUT_M: f64 = 3.0;
/// Where it ends, m.
const END_M: f64 = 6.5;
/// Behind the rear wheels of a rover at the cut, and of soil that slides under it, m.
const FIRST_HALF_M: f64 = CUT_M - 1.5;
/// From the first window's corner to the map's origin, m.
const CORNER_M: f64 = 30.72;

/// The default scenario from `x_m` east on; it has no sensors, so that nothing but ground is told.
fn scenario(x_m: f64, ruts: Option<PathBuf>) -> Scenario {
    let options = LoadOptions { start: [Some(x_m), Some(0.0), None, Some(0.0)], ruts, ..LoadOptions::default() };
    let file = repository_file("config/scenario/polar.yaml");
    let mut scenario = Scenario::load(&file, &options).unwrap_or_else(|error| panic!("{error}"));
    scenario.route = None;
    scenario
}

fn world(scenario: Scenario) -> World {
    let ground = scenario.generate_ground().unwrap_or_else(|error| panic!("{error}"));
    World::new(Arc::new(scenario), ground).expect("world")
}

fn drive_to(world: &mut World, x_m: f64) {
    while world.world_from_base().translation.x < x_m {
        assert!(world.time() < SimTime::from_secs_f64(60.0), "stuck at {}", world.world_from_base().translation);
        world.drive(Command::Body(BodyTwist::arc(0.2, 0.0)));
        world.heartbeat().expect("heartbeat");
    }
}

/// Height, and the soil's height before and plastic sinkage, of a post, bit for bit.
type Post = [Option<u32>; 3];

/// All posts west of `x_m` that were driven on.
fn posts(world: &World, x_m: f64) -> BTreeMap<[i64; 2], Post> {
    let spacing_m = world.ground().finest().spacing_m;
    let side = TILE_NODES as i64;
    let mut posts: BTreeMap<[i64; 2], Post> = BTreeMap::new();
    for edit in world.ground().all_edits() {
        let node = i64::from(edit.node);
        let at = [i64::from(edit.tile[0]) * side + node % side, i64::from(edit.tile[1]) * side + node / side];
        posts.entry(at).or_default()[0] = Some(edit.height_m.to_bits());
    }
    for ([row, column], tile) in world.soil_memory().pressed() {
        let marked = (0..side * side).filter(|node| tile.marks()[(node / side) as usize] >> (node % side) & 1 == 1);
        for (node, known) in marked.zip(tile.known()) {
            let post = posts.entry([column * side + node % side, row * side + node / side]).or_default();
            [post[1], post[2]] = known.map(|m| Some(m.to_bits()));
        }
    }
    posts.retain(|at, _| at[0] as f64 * spacing_m - CORNER_M < x_m);
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
    let mut one = world(scenario(0.0, None));
    drive_to(&mut one, CUT_M);
    SavedRuts::of(&one).expect("made from a site").save(&file).expect("saved");
    let stood_m = one.first_snapshot().wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    drive_to(&mut one, END_M);

    let mut two = world(scenario(CUT_M, Some(file.clone())));
    let loaded = posts(&two, FIRST_HALF_M);
    assert!(loaded.len() > 1000, "a track lies there: {} posts", loaded.len());
    assert!(loaded == posts(&one, FIRST_HALF_M), "what was loaded is what the first run left");
    drive_to(&mut two, CUT_M + 0.01);
    let stands_m = two.first_snapshot().wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    // In its rut, measured from the ground before anybody came, not a rut's depth below the rut.
    assert!(stands_m < 1.3 * stood_m && stands_m > 0.7 * stood_m, "{stands_m} m deep, {stood_m} m before");
    drive_to(&mut two, END_M);
    assert!(posts(&two, FIRST_HALF_M) == loaded, "the first half was not pressed anew");
    std::fs::remove_dir_all(folder).expect("clean");
}

#[test]
fn driven_ground_of_another_seed_site_or_law_is_refused() {
    let folder = folder("refused");
    let file = folder.join("some.ruts");
    let mut world = world(scenario(0.0, None));
    drive_to(&mut world, 0.1);
    let ruts = SavedRuts::of(&world).expect("made from a site");
    ruts.save(&file).expect("saved");
    assert!(SavedRuts::load(&file).expect("read") == ruts);
    let told = |options: LoadOptions, scenario: &str| {
        let path = repository_file(&format!("config/scenario/{scenario}.yaml"));
        let ruts = Some(file.clone());
        Scenario::load(&path, &LoadOptions { ruts, ..options }).expect_err("refused").to_string()
    };
    let seed = told(LoadOptions { seed: Some(4), ..LoadOptions::default() }, "polar");
    assert!(seed.contains("some.ruts") && seed.contains("seed") && seed.contains("--seed 1"), "{seed}");
    let site = told(LoadOptions::default(), "hadley");
    assert!(site.contains("'polar'") && site.contains("'hadley'"), "{site}");
    let mut other = scenario(0.0, Some(file.clone()));
    other.site.relief.deviation_at_1m_m *= 1.1;
    let law = other.generate_ground().expect_err("another ground").to_string();
    assert!(law.contains("mean heights") && law.contains("some.ruts"), "{law}");
    std::fs::remove_dir_all(folder).expect("clean");
}

/// The largest difference between rays straight down on the stage and a ground's heights along the
/// tracks behind a rover at x = 0, m.
fn rays_off_m(stage: &Stage, ground: &Ground) -> f64 {
    let places: Vec<[f64; 2]> =
        (0..400).map(|i| [-2.5 + 0.007 * f64::from(i % 200), [0.61, -0.61][i as usize / 200]]).collect();
    let beam = |&[x, y]: &[f64; 2]| Beam { origin_m: [x, y, 5.0], direction: [0.0, 0.0, -1.0] };
    let mut returns = Vec::new();
    CpuTracer.beams(stage.scene(), &places.iter().map(beam).collect::<Vec<_>>(), &mut returns).expect("traced");
    let off = |(at, met): (&[f64; 2], &selene_scene::BeamReturn)| {
        let soil_m = ground.height_m(at[0], at[1]).expect("on the ground");
        (met.class == selene_scene::Class::Ground as u16).then(|| (5.0 - f64::from(met.range_m) - soil_m).abs())
    };
    let off: Vec<_> = places.iter().zip(&returns).filter_map(off).collect();
    assert!(off.len() > 200, "rays meet soil: {}", off.len());
    off.into_iter().fold(0.0, f64::max)
}

/// Rays are `f32` over 5 m.
const RAY_TOLERANCE_M: f64 = 1e-5;

fn saved_behind_the_start(file: &Path) {
    let mut before = world(scenario(-3.0, None));
    drive_to(&mut before, 0.0);
    SavedRuts::of(&before).expect("made from a site").save(file).expect("saved");
}

#[test]
fn a_node_that_was_not_given_the_ruts_asks_for_them_and_sees_them() {
    let folder = folder("nodes");
    let file = folder.join("behind.ruts");
    saved_behind_the_start(&file);
    let driven = Arc::new(scenario(0.0, Some(file)));
    let plain = Arc::new(scenario(0.0, None));
    let ruts = driven.ruts.as_ref().expect("given").count();
    assert!(ruts > 4096, "more than one part tells: {ruts}");
    let undriven = plain.generate_ground().expect("ground");
    let driven_ground = driven.generate_ground().expect("ground");
    let mut stage = Stage::new(&plain, &undriven).expect("stage");
    assert!(rays_off_m(&stage, &driven_ground) > 1e-3, "the tracks are no ground of the site");

    let bus = InProcess::new();
    let mut watcher = WorldWatcher::new(&bus, "camera", plain.rover.links().len()).expect("watcher");
    let options = SimulationOptions {
        pace: Pace::Fast,
        duration: Some(SimTime::from_secs_f64(0.1)),
        participants: vec!["camera".to_owned()],
        twist_unstamped: false,
        save_ruts: None,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ground = driven_ground.clone();
        scope.spawn(|| selene_simulation::run(&bus, &driven, ground, &options, &stop).expect("runs"));
        let mut told = 0;
        while let Some(interval) = watcher.next(&stop).expect("watches") {
            let Interval { next, edits, .. } = &interval;
            told += edits.len();
            stage.take_ground(&interval);
            watcher.acknowledge(next.sequence, next.time).expect("told");
        }
        assert!(told >= ruts, "{told} of {ruts}");
    });
    let off_m = rays_off_m(&stage, &driven_ground);
    assert!(off_m < RAY_TOLERANCE_M, "{off_m} m");
    std::fs::remove_dir_all(folder).expect("clean");
}

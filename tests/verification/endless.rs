//! Ground without end: a rover drives out of the first window, and wheels, rays and ground truth still agree on one
//! surface, both there and back at the start.

use std::sync::Arc;

use selene_base::SimTime;
use selene_observe::{Feed, TracedScene};
use selene_scene::{Beam, CpuTracer, Tracer};
use selene_sim::{Command, LoadOptions, Scenario, Snapshot, World};
use selene_terrain::{ClipmapCentre, GroundPatch, Ruts, TILE_NODES};
use selene_tests::{ROVER, repository_file, rover};
use selene_vehicle::BodyTwist;

/// Half of the first window's side minus a margin: anything farther out lies in another window.
const HALF_M: f64 = 15.36;

/// A world with VIPER on the test yard with coarse posts, `x_m` east of its origin.
fn world(x_m: f64) -> World {
    let folder = std::env::temp_dir().join(format!("selene-endless-{}-{x_m}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("folder");
    let config = repository_file("config").canonicalize().expect("config");
    let config = config.display();
    let site = std::fs::read_to_string(repository_file("config/site/test_yard.yaml")).expect("site");
    let site = site.replace("spacing_m: 0.02, side_m: 30.72", "spacing_m: 0.04, side_m: 30.72");
    std::fs::write(folder.join("yard.yaml"), site).expect("write");
    let text = format!(
        "name: endless\nutc: \"2026-11-21T12:00:00Z\"\nseed: 1\ngravity_m_s2: 1.62\nstep_s: 0.001\nheartbeat_s: 0.01\n\
         site: yard.yaml\nsoil: {config}/soil/lunar.yaml\nrover: {{file: {config}/rover/viper.yaml, x_m: {x_m}, y_m: 0, \
         yaw_deg: 0}}\nsensors: []\n",
    );
    let file = folder.join("scenario.yaml");
    std::fs::write(&file, text).expect("write");
    let scenario = Scenario::load(&file, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&folder).expect("clean");
    World::new(Arc::new(scenario)).expect("world")
}

/// Drives until `done`; passes every snapshot to `scene`.
fn drive(
    world: &mut World,
    feed: &mut Feed,
    scene: &mut TracedScene,
    speed_m_s: f64,
    done: impl Fn(&Snapshot) -> bool,
) -> Arc<Snapshot> {
    while !done(feed.last()) {
        world.drive(ROVER, Command::Body(BodyTwist::arc(speed_m_s, 0.0))).expect("there");
        scene.take(&feed.heartbeat(world).expect("heartbeat")).expect("room");
    }
    Arc::clone(feed.last())
}

fn centre(snapshot: &Snapshot) -> ClipmapCentre {
    rover(snapshot).clipmap_centre
}

/// Largest difference, m, between the scene's rays and the world's ground heights, on a grid of positions around
/// (x, y).
fn rays_off_m(world: &World, scene: &TracedScene, x: f64, y: f64) -> f64 {
    let places: Vec<_> = (0..60).flat_map(|i| (0..60).map(move |j| (f64::from(i), f64::from(j)))).collect();
    let at = |&(i, j): &(f64, f64)| [x - 12.0 + 0.4033 * i, y - 12.0 + 0.4057 * j];
    let beam = |place| {
        let [x, y] = at(place);
        Beam::new([x, y, 30.0], [0.0, 0.0, -1.0])
    };
    let mut returns = Vec::new();
    CpuTracer.beams(scene.scene(), &places.iter().map(beam).collect::<Vec<_>>(), &mut returns).expect("traced");
    let ground = GroundPatch::of_square(world.model().terrain(), &world.state().ruts, [x, y], 14.0);
    let off = |(place, met): (&(f64, f64), &selene_scene::BeamReturn)| {
        let [x, y] = at(place);
        let soil_m = ground.height_m(x, y).expect("on the ground");
        // Rays that hit the rover or rocks, which stand on the ground, are left out.
        (met.class == selene_scene::Class::Ground as u16).then(|| (30.0 - f64::from(met.range_m) - soil_m).abs())
    };
    let off: Vec<_> = places.iter().zip(&returns).filter_map(off).collect();
    assert!(off.len() > 3000, "most rays meet soil: {}", off.len());
    off.into_iter().fold(0.0, f64::max)
}

/// Rays use `f32` over some 30 m.
const RAY_TOLERANCE_M: f64 = 1e-5;

#[test]
fn a_rover_drives_on_past_the_first_window_and_finds_its_ruts_again() {
    let mut world = world(0.0);
    let mut feed = Feed::begin(&mut world).expect("begins");
    let mut scene = TracedScene::new(world.model(), ROVER, feed.last(), &Ruts::default()).expect("scene");
    let x = |snapshot: &Snapshot| rover(snapshot).world_from_base().translation.x;
    let out = drive(&mut world, &mut feed, &mut scene, 0.7, |snapshot| x(snapshot) > HALF_M + 6.0);
    assert!(centre(&out) != [0, 0] && scene.clipmap().centre() == centre(&out));
    assert!(!scene.clipmap().finest().contains(-2.0, 0.0));
    let off_m = rays_off_m(&world, &scene, x(&out), 0.0);
    assert!(off_m < RAY_TOLERANCE_M, "{off_m} m at {:?}", centre(&out));
    let ruts = |world: &World| {
        let (edits, terrain) = (world.state().ruts.edits(), world.model().terrain());
        // Tiles that end west of the map's origin.
        let side_m = TILE_NODES as f64 * terrain.spacing_m();
        let east_m = |tile: i16| terrain.origin_m()[0] + (f64::from(tile) + 1.0) * side_m;
        edits.filter(|edit| east_m(edit.tile[0]) <= 0.0).map(|edit| edit.height_m.to_bits()).collect::<Vec<_>>()
    };
    let left_behind = ruts(&world);
    assert!(left_behind.len() > 100, "ruts of the start are kept: {}", left_behind.len());
    assert!(world.state().soil.nodes().count() > 1000, "the soil remembers them");
    let home = drive(&mut world, &mut feed, &mut scene, -0.7, |snapshot| x(snapshot) < 3.0);
    let off_m = rays_off_m(&world, &scene, x(&home), 0.0);
    assert!(off_m < RAY_TOLERANCE_M, "{off_m} m back home");
    assert!(ruts(&world) == left_behind, "ruts behind the start were not driven on again");
    let deepest = rover(&home).wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    assert!(deepest > 0.005, "wheels stand in the soil: {deepest}");
}

/// The driven ground does not depend on when windows were ready, nor on the number of threads.
#[test]
fn the_state_after_several_windows_is_the_same_for_any_number_of_threads() {
    let hash = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let mut world = world(200.0);
            let end = SimTime::from_secs_f64(60.0);
            while world.time() < end {
                world.drive(ROVER, Command::Body(BodyTwist::arc(0.7, 0.02))).expect("there");
                world.heartbeat().expect("heartbeat");
            }
            (world.state().rovers[&ROVER].clipmap_centre, world.state().hash())
        })
    };
    let [one, four] = [1, 4].map(hash);
    assert_eq!(one, four);
    assert!(one.0[0] >= 41, "it went on: {:?}", one.0);
}

//! Ground without end: a rover drives out of the first window, and wheels, rays and truth
//! still meet one surface, here and where it came from.

use std::sync::Arc;

use selene_base::SimTime;
use selene_coherence::{Interval, Stage};
use selene_scene::{Beam, CpuTracer, Tracer};
use selene_sim::{Command, LoadOptions, Scenario, World, WorldState};
use selene_tests::repository_file;
use selene_vehicle::BodyTwist;

/// Half of the first window's side less a margin: farther out there is only another window.
const HALF_M: f64 = 15.36;

/// VIPER on the test yard with coarse posts, `x_m` east of its origin.
fn scenario(x_m: f64) -> Arc<Scenario> {
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
    Arc::new(scenario)
}

/// Drives until `done`; every snapshot is told to `stage`.
fn drive(world: &mut World, stage: &mut Stage, speed_m_s: f64, done: impl Fn(&WorldState) -> bool) -> WorldState {
    let mut previous = world.heartbeat().expect("heartbeat");
    stage.take_ground(&Interval { previous: previous.clone(), next: previous.clone(), edits: previous.edits.clone() });
    while !done(&previous) {
        world.drive(Command::Body(BodyTwist::arc(speed_m_s, 0.0)));
        let next = world.heartbeat().expect("heartbeat");
        let edits = next.edits.clone();
        stage.take_ground(&Interval { previous, next: next.clone(), edits });
        previous = next;
    }
    previous
}

/// The largest difference between heights by rays of the stage and by the world's ground, on a
/// grid of places around (x, y).
fn rays_off_m(world: &World, stage: &Stage, x: f64, y: f64) -> f64 {
    let places: Vec<_> = (0..60).flat_map(|i| (0..60).map(move |j| (f64::from(i), f64::from(j)))).collect();
    let at = |&(i, j): &(f64, f64)| [x - 12.0 + 0.4033 * i, y - 12.0 + 0.4057 * j];
    let beam = |place| {
        let [x, y] = at(place);
        Beam { origin_m: [x, y, 30.0], direction: [0.0, 0.0, -1.0] }
    };
    let mut returns = Vec::new();
    CpuTracer.beams(stage.scene(), &places.iter().map(beam).collect::<Vec<_>>(), &mut returns).expect("traced");
    let off = |(place, met): (&(f64, f64), &selene_scene::BeamReturn)| {
        let [x, y] = at(place);
        let soil_m = world.ground().height_m(x, y).expect("on the ground");
        // Rover and rocks stand above the ground.
        (met.class == selene_scene::Class::Ground as u16).then(|| (30.0 - f64::from(met.range_m) - soil_m).abs())
    };
    let off: Vec<_> = places.iter().zip(&returns).filter_map(off).collect();
    assert!(off.len() > 3000, "most rays meet soil: {}", off.len());
    off.into_iter().fold(0.0, f64::max)
}

/// Rays are `f32` over some 30 m.
const RAY_TOLERANCE_M: f64 = 1e-5;

#[test]
fn a_rover_drives_on_past_the_first_window_and_finds_its_ruts_again() {
    let scenario = scenario(0.0);
    let ground = scenario.generate_ground().expect("ground");
    let mut stage = Stage::new(&scenario, &ground).expect("stage");
    let mut world = World::new(scenario, ground).expect("world");
    let x = |state: &WorldState| state.world_from_base().translation.x;
    let out = drive(&mut world, &mut stage, 0.7, |state| x(state) > HALF_M + 6.0);
    assert!(world.ground().place() != [0, 0] && !world.ground().finest().contains(-2.0, 0.0));
    let off_m = rays_off_m(&world, &stage, x(&out), 0.0);
    assert!(off_m < RAY_TOLERANCE_M, "{off_m} m at {:?}", world.ground().place());
    let ruts = |world: &World| {
        let edits = world.ground().all_edits();
        edits.iter().filter(|edit| edit.tile[0] < 6).map(|edit| edit.height_m.to_bits()).collect::<Vec<_>>()
    };
    let left_behind = ruts(&world);
    assert!(left_behind.len() > 100, "ruts of the start are kept: {}", left_behind.len());
    assert!(world.soil_memory().beyond().count() > 1000, "the soil remembers them");
    let home = drive(&mut world, &mut stage, -0.7, |state| x(state) < 3.0);
    let off_m = rays_off_m(&world, &stage, x(&home), 0.0);
    assert!(off_m < RAY_TOLERANCE_M, "{off_m} m back home");
    assert!(ruts(&world) == left_behind, "ruts behind the start were not driven on again");
    let deepest = home.wheels.iter().map(|wheel| wheel.sinkage_m).fold(0.0, f64::max);
    assert!(deepest > 0.005, "wheels stand in the soil: {deepest}");
}

/// What was driven does not depend on when windows were ready, nor on threads.
#[test]
fn the_state_after_several_windows_is_the_same_for_any_number_of_threads() {
    let hash = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let scenario = scenario(200.0);
            let ground = scenario.generate_ground().expect("ground");
            let mut world = World::new(scenario, ground).expect("world");
            let end = SimTime::from_secs_f64(60.0);
            while world.time() < end {
                world.drive(Command::Body(BodyTwist::arc(0.7, 0.02)));
                world.heartbeat().expect("heartbeat");
            }
            (world.ground().place(), world.hash())
        })
    };
    let [one, four] = [1, 4].map(hash);
    assert_eq!(one, four);
    assert!(one.0[0] >= 41, "it went on: {:?}", one.0);
}

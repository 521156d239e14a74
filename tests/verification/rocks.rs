//! Rocks, loose and fixed, and a rover's body on the ground: sinking, climbing, tipping and falling in the full
//! simulation.

use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_sim::{Command, LooseFromSiteSpec, LooseRockSpec, Model, RoverSnapshot, Scenario, Start, World};
use selene_soil::solid::{self, ConvexSolid, SolidMotion};
use selene_soil::{Conditions, MemoryPatch, PressScratch, SoilContext};
use selene_terrain::{GroundPatch, Level, Rock, RockShape, Terrain};
use selene_tests::{ROVER, model, rover, scenario};
use selene_vehicle::BodyTwist;
use selene_vehicle::contact::LooseRockState;

const MOON_M_S2: f64 = 1.62;

fn rocks_scenario() -> Scenario {
    scenario("curiosity_rocks", None)
}

/// The scenario's rover and soil without its rocks and route.
fn bare(above_m: f64) -> Scenario {
    let mut scenario = rocks_scenario();
    scenario.rovers[0].route = None;
    scenario.loose_rocks.clear();
    scenario.rovers[0].start = Start { x_m: 0.0, y_m: 0.0, z_m: above_m, yaw_rad: 0.0 };
    scenario
}

fn level() -> Level {
    Level::sample([-8.0, -8.0], 0.02, 801, |_, _| 0.0)
}

fn world(scenario: Scenario, terrain: Terrain) -> World {
    selene_tests::world(&Arc::new(Model::on(Arc::new(scenario), terrain).expect("rocks lie on the ground")))
}

fn run(world: &mut World, seconds: f64, command: Option<BodyTwist>) -> RoverSnapshot {
    let end = world.time() + SimTime::from_secs_f64(seconds);
    loop {
        command.into_iter().for_each(|command| world.drive(ROVER, Command::Body(command)).expect("there"));
        let snapshot = world.heartbeat().expect("finite and on the site");
        if world.time() >= end {
            return rover(&snapshot).clone();
        }
    }
}

fn block(size: Vector3<f64>) -> RockShape {
    let corner = |i: u32| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>().component_mul(&size);
    RockShape::hull(&(0..8).map(corner).collect::<Vec<_>>()).expect("a volume")
}

/// Extents of a shape at unit size, m.
fn edges(shape: &RockShape) -> Vector3<f64> {
    Vector3::from([0, 1, 2].map(|i| 2.0 * shape.vertices.iter().map(|v| f64::from(v[i])).fold(0.0, f64::max)))
}

/// A block's edge falls between two rows of nodes: up to half a cell of difference each way.
const FOOTPRINT_TOLERANCE: f64 = 0.06;
const EDGE_M: f64 = 0.42;

/// A model with a cube of `EDGE_M` on level ground, the cube's weight and Bekker's sinkage under it:
/// W / (a² (Kc/b + Kφ)) with 1/b = 2/a and n = 1, lunar soil.
fn cube_on_level_ground() -> (Model, f64, f64) {
    let shape = block(Vector3::new(1.0, 1.0, 1.0));
    let diameter_m = 2.0 * EDGE_M / edges(&shape).x;
    let mut scenario = bare(0.0);
    let (shape_number, density_kg_m3) = (Some(0), 2700.0);
    let cube = LooseRockSpec { x_m: 3.01, y_m: 3.01, diameter_m, shape: shape_number, density_kg_m3, yaw_deg: 0.0 };
    scenario.loose_rocks.push(cube);
    let terrain = Terrain::of_level(level(), Vec::new(), vec![shape]);
    let weight_n = density_kg_m3 * EDGE_M.powi(3) * MOON_M_S2;
    let model = Model::on(Arc::new(scenario), terrain).expect("on the ground");
    (model, weight_n, weight_n / (EDGE_M * EDGE_M * (1.4e3 * 2.0 / EDGE_M + 0.82e6)))
}

/// State of the first loose rock.
fn first_rock(world: &World) -> &LooseRockState {
    world.state().rocks.values().next().expect("a rock")
}

/// The block is lowered slowly enough that only the soil's strength counts.
#[test]
fn a_block_that_is_let_down_slowly_sinks_by_bekker() {
    let (model, weight_n, expected_m) = cube_on_level_ground();
    let (state, _) = model.start(None).expect("starts");
    let mut ground = GroundPatch::of_square(model.terrain(), &state.ruts, [3.01, 3.01], 1.0);
    let rock = model.rocks().values().next().expect("a rock");
    let mut solid = ConvexSolid::new(&model.terrain().shapes()[0], rock.radius_m);
    let soils = &model.scenario().soils;
    let (mut memory, mut scratch) = (MemoryPatch::new(&ground), PressScratch::default());
    let mass_kg = weight_n / MOON_M_S2;
    let conditions = Conditions { dt_s: 1e-3, gravity_m_s2: MOON_M_S2 };
    let mut pose = state.rocks.values().next().expect("a rock").world_from_rock;
    for _ in 0..20_000 {
        solid.place(&pose);
        let mut context = SoilContext { soils, ground: &mut ground, memory: &mut memory, scratch: &mut scratch };
        let still = SolidMotion { linear_m_s: Vector3::zeros(), angular_rad_s: Vector3::zeros(), mass_kg };
        let contact = solid::step(&mut context, &solid, pose.translation.vector, &still, &conditions);
        let missing = 1.0 - contact.expect("a law for solids").wrench.force.z / weight_n;
        if missing.abs() < 1e-3 {
            break;
        }
        pose.translation.z -= 1e-6 * missing.max(0.1);
    }
    let sunk_m = 0.5 * EDGE_M - pose.translation.z;
    println!("sank {:.3} mm, expected {:.3}", sunk_m * 1e3, expected_m * 1e3);
    assert!((sunk_m / expected_m - 1.0).abs() < FOOTPRINT_TOLERANCE, "{sunk_m} {expected_m}");
}

/// A block that is released on plastic soil sinks deeper than that, at most twice as deep (the work of its weight
/// against Bekker's line, without damping), and then sleeps.
#[test]
fn a_loose_block_sinks_under_its_weight_and_comes_to_rest() {
    let (model, weight_n, static_m) = cube_on_level_ground();
    let mut world = selene_tests::world(&Arc::new(model));
    run(&mut world, 6.0, Some(BodyTwist::REST));
    let rock = first_rock(&world);
    let sunk_m = 0.5 * EDGE_M - rock.world_from_rock.translation.z;
    println!("{weight_n:.0} N sank {:.3} mm, slowly {:.3}", sunk_m * 1e3, static_m * 1e3);
    assert!(rock.asleep(), "{:?}", rock.twist);
    let least_m = (1.0 - FOOTPRINT_TOLERANCE) * static_m;
    assert!((least_m..2.0 * static_m).contains(&sunk_m), "{sunk_m} {static_m}");
}

/// The rock is half as high as the wheel's radius, fixed, and lies across the path of the left wheels.
#[test]
fn wheels_climb_a_rock_of_half_their_radius_and_come_down_without_gaining_energy() {
    let shape = block(Vector3::new(1.0, 1.0, 1.0));
    let radius_m = 0.35;
    let half_m = 0.5 * edges(&shape).z * radius_m;
    let at = Pose::translation(1.6, 0.61, 0.125 - half_m);
    let rock = Rock { id: 0, shape: 0, world_from_rock: at, radius_m };
    let mut world = world(bare(0.0), Terrain::of_level(level(), vec![rock], vec![shape]));
    let go = BodyTwist::arc(0.15, 0.0);
    let (mut highest_m, mut fastest_m_s) = (0.0_f64, 0.0_f64);
    let mut last = run(&mut world, 0.5, Some(go));
    while last.world_from_base().translation.x < 3.2 {
        last = run(&mut world, 0.05, Some(go));
        highest_m = highest_m.max(last.world_from_links.iter().map(|link| link.translation.z).fold(0.0, f64::max));
        fastest_m_s = fastest_m_s.max(last.base_twist.linear.norm());
        assert!(world.time() < SimTime::from_secs_f64(60.0), "stuck at {}", last.world_from_base().translation);
    }
    let front_left = last.world_from_base().translation.x;
    println!("over after {} at {front_left:.2} m, at most {fastest_m_s:.2} m/s", world.time());
    // A fall from the rock's top: √(2 g 0.125 m) = 0.64 m/s at the wheel, half of it at the rover's middle.
    assert!(fastest_m_s < 0.15 + 0.64, "{fastest_m_s}");
    let settled = run(&mut world, 3.0, Some(BodyTwist::REST));
    assert!(settled.base_twist.linear.norm() < 0.01);
    assert!((settled.world_from_base().translation.z - 0.25).abs() < 0.03);
}

/// The fall of 100 m ends at 18 m/s.
#[test]
fn a_rover_dropped_from_100_m_stays_finite_and_comes_to_rest() {
    let mut world = world(bare(100.0), Terrain::of_level(level(), Vec::new(), Vec::new()));
    let landed = run(&mut world, 30.0, Some(BodyTwist::REST));
    let at = landed.world_from_base().translation;
    println!("at {} m, {:.2e} m/s", at, landed.base_twist.linear.norm());
    assert!(landed.base_twist.linear.norm() < 0.01, "{:?}", landed.base_twist);
    assert!(at.z.abs() < 1.5 && at.x.hypot(at.y) < 5.0, "{at}");
}

fn driven_hash(threads: usize) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let mut world = selene_tests::world(&model(rocks_scenario()));
        assert_eq!(world.state().rocks.len(), 6);
        let before = first_rock(&world).world_from_rock;
        // The first rock is 1.1 m ahead of the rims of the front wheels.
        run(&mut world, 9.0, None);
        let moved = (first_rock(&world).world_from_rock.translation.vector - before.translation.vector).norm();
        assert!(moved > 1e-3, "nobody touched the first rock");
        world.state().hash()
    })
}

#[test]
fn a_drive_among_loose_rocks_has_the_same_hash_on_one_two_and_four_threads() {
    let one = driven_hash(1);
    assert_eq!(one, driven_hash(2));
    assert_eq!(one, driven_hash(4));
}

/// The speed after 50 ms of free fall, times 1.5.
const THROWN_M_S: f64 = 1.5 * MOON_M_S2 * 0.05;

/// Rocks are generated tilted and half buried. Some loose ones roll into a better position, but the soil around them
/// does not throw them out.
#[test]
fn rocks_of_the_site_that_are_made_loose_are_not_thrown_out_of_their_beds() {
    let mut scenario = scenario("polar", None);
    scenario.rovers[0].route = None;
    scenario.loose_from_site = Some(LooseFromSiteSpec { diameter_min_m: 0.25, diameter_max_m: 0.5 });
    let mut world = selene_tests::world(&model(scenario));
    let loose: Vec<_> = world.state().rocks.keys().copied().collect();
    assert!(loose.len() > 10 && loose.iter().all(|&id| world.model().terrain().is_loosened(id)));
    run(&mut world, 0.05, Some(BodyTwist::REST));
    let fastest = world.state().rocks.values().map(|rock| rock.twist.linear.norm()).fold(0.0, f64::max);
    println!("{} loose, at most {fastest:.3} m/s", loose.len());
    assert!(fastest < THROWN_M_S, "{fastest}");
}

/// A boulder placed on soil rocks to and fro and comes to rest.
#[test]
fn boulders_laid_on_soil_come_to_rest_and_sleep() {
    let mut scenario = rocks_scenario();
    scenario.rovers[0].route = None;
    let mut world = selene_tests::world(&model(scenario));
    let mut awake = 6;
    while awake > 0 && world.time() < SimTime::from_secs_f64(15.0) {
        run(&mut world, 1.0, Some(BodyTwist::REST));
        awake = world.state().rocks.values().filter(|rock| !rock.asleep()).count();
        println!("{awake} awake at {}", world.time());
    }
    assert_eq!(awake, 0);
}

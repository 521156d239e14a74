//! Rocks, loose and fixed, and a rover's body on the ground: sinking, climbing, tipping,
//! falling, in the whole world's step.

use std::sync::Arc;

use nalgebra::Vector3;
use selene_base::{Pose, SimTime};
use selene_sim::{Command, LoadOptions, Scenario, World, WorldState};
use selene_terrain::{Ground, Level, Rock, RockShape};
use selene_tests::repository_file;

const MOON_M_S2: f64 = 1.62;

fn rocks_scenario() -> Scenario {
    let file = repository_file("config/scenario/curiosity_rocks.yaml");
    Scenario::load(&file, &LoadOptions::default()).expect("scenario")
}

/// The scenario's rover and soil without its rocks and route.
fn bare(start: [f64; 4]) -> Scenario {
    let mut scenario = rocks_scenario();
    scenario.route = None;
    scenario.loose_rocks.clear();
    scenario.start = start;
    scenario
}

fn level() -> Level {
    Level::sample([-8.0, -8.0], 0.02, 801, |_, _| 0.0)
}

fn world(scenario: Scenario, ground: Ground) -> World {
    World::new(Arc::new(scenario), ground).expect("world")
}

fn run(world: &mut World, seconds: f64, command: Option<Command>) -> WorldState {
    let end = world.time() + SimTime::from_secs_f64(seconds);
    loop {
        command.into_iter().for_each(|command| world.drive(command));
        let state = world.heartbeat().expect("finite and on the site");
        if world.time() >= end {
            return state;
        }
    }
}

fn block(size: Vector3<f64>) -> RockShape {
    let corner = |i: u32| Vector3::new(i & 1, i >> 1 & 1, i >> 2 & 1).cast::<f64>().component_mul(&size);
    RockShape::hull(&(0..8).map(corner).collect::<Vec<_>>()).expect("a volume")
}

/// A shape's edges at unit size, m.
fn edges(shape: &RockShape) -> Vector3<f64> {
    Vector3::from([0, 1, 2].map(|i| 2.0 * shape.vertices.iter().map(|v| f64::from(v[i])).fold(0.0, f64::max)))
}

/// A block on the nodes of a 2 cm grid covers a node more or less each way.
const FOOTPRINT_TOLERANCE: f64 = 0.1;

/// Bekker: a flat block of weight W and footprint a × b sinks z = W / (a b (Kc/b' + Kφ)),
/// n = 1 and 1/b' = (a + b)/(a b), and there it sleeps.
#[test]
fn a_loose_block_sinks_as_its_weight_demands_and_comes_to_rest() {
    let shape = block(Vector3::new(1.0, 1.0, 1.0));
    let radius_m = 0.21 * 3.0_f64.sqrt();
    let size = edges(&shape) * radius_m;
    let mut ground = Ground::new(vec![level()], Vec::new(), vec![shape]);
    // Off the nodes by half a cell: its edge of 42 cm lies between rows on both sides.
    ground.lay_rock([3.01, 3.01], 0, radius_m, 0.0).expect("on the ground");
    let mut world = world(bare([0.0; 4]), ground);
    run(&mut world, 6.0, Some(Command::STOP));
    let rock = &world.loose_rocks().rocks()[0];
    let sunk_m = 0.5 * size.z - rock.world_from_rock.translation.z;
    let inverse_b = (size.x + size.y) / (size.x * size.y);
    let expected_m = rock.mass_kg * MOON_M_S2 / (size.x * size.y * (1.4e3 * inverse_b + 0.82e6));
    println!("{:.0} kg sank {:.3} mm, expected {:.3}", rock.mass_kg, sunk_m * 1e3, expected_m * 1e3);
    assert!(rock.asleep(), "{:?}", rock.twist);
    assert!((sunk_m / expected_m - 1.0).abs() < FOOTPRINT_TOLERANCE, "{sunk_m} {expected_m}");
}

/// Half of the wheel's radius, fixed, across the way of the left wheels.
#[test]
fn wheels_climb_a_rock_of_half_their_radius_and_come_down_without_gaining_energy() {
    let shape = block(Vector3::new(1.0, 1.0, 1.0));
    let radius_m = 0.35;
    let half_m = 0.5 * edges(&shape).z * radius_m;
    let at = Pose::translation(1.6, 0.61, 0.125 - half_m);
    let rock = Rock { id: 0, shape: 0, world_from_rock: at, radius_m };
    let ground = Ground::new(vec![level()], vec![rock], vec![shape]);
    let mut world = world(bare([0.0; 4]), ground);
    let go = Command { forward_m_s: 0.15, turn_rad_s: 0.0 };
    let (mut highest_m, mut fastest_m_s) = (0.0_f64, 0.0_f64);
    let mut last = run(&mut world, 0.5, Some(go));
    while last.world_from_base().translation.x < 3.2 {
        last = run(&mut world, 0.05, Some(go));
        highest_m = highest_m.max(last.world_from_links.iter().map(|link| link.translation.z).fold(0.0, f64::max));
        fastest_m_s = fastest_m_s.max(last.base_twist.linear.norm());
        assert!(last.time < SimTime::from_secs_f64(60.0), "stuck at {}", last.world_from_base().translation);
    }
    let front_left = last.world_from_base().translation.x;
    println!("over after {} at {front_left:.2} m, at most {fastest_m_s:.2} m/s", last.time);
    // Falling from the rock's top: √(2 g 0.125 m) = 0.64 m/s at the wheel, half at the middle.
    assert!(fastest_m_s < 0.15 + 0.64, "{fastest_m_s}");
    let settled = run(&mut world, 3.0, Some(Command::STOP));
    assert!(settled.base_twist.linear.norm() < 0.01);
    assert!((settled.world_from_base().translation.z - 0.25).abs() < 0.03);
}

/// A fall of 100 m ends at 18 m/s.
#[test]
fn a_rover_dropped_from_100_m_stays_finite_and_comes_to_rest() {
    let ground = Ground::new(vec![level()], Vec::new(), Vec::new());
    let mut world = world(bare([0.0, 0.0, 100.0, 0.0]), ground);
    let landed = run(&mut world, 30.0, Some(Command::STOP));
    let at = landed.world_from_base().translation;
    println!("at {} m, {:.2e} m/s", at, landed.base_twist.linear.norm());
    assert!(landed.base_twist.linear.norm() < 0.01, "{:?}", landed.base_twist);
    assert!(at.z.abs() < 1.5 && at.x.hypot(at.y) < 5.0, "{at}");
}

fn driven_hash(threads: usize) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| {
        let scenario = rocks_scenario();
        let ground = scenario.generate_ground().expect("ground");
        assert_eq!(ground.loose_rocks().len(), 6);
        let mut world = world(scenario, ground);
        let before: Vec<_> = world.loose_rocks().rocks().iter().map(|rock| rock.world_from_rock).collect();
        // The first rock is 1.1 m ahead of the front wheels' rims.
        run(&mut world, 9.0, None);
        let moved =
            (world.loose_rocks().rocks()[0].world_from_rock.translation.vector - before[0].translation.vector).norm();
        assert!(moved > 1e-3, "nobody touched the first rock");
        world.hash()
    })
}

#[test]
fn a_drive_among_loose_rocks_has_the_same_hash_on_one_two_and_four_threads() {
    let one = driven_hash(1);
    assert_eq!(one, driven_hash(2));
    assert_eq!(one, driven_hash(4));
}

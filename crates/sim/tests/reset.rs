//! Tests that a reset world equals the one that began, however often it is reset, and leaks nothing. A test
//! binary of its own, since it measures the process's memory and threads (Linux).

// A test may unwrap.
#![allow(clippy::unwrap_used)]

#[path = "sim/common/mod.rs"]
mod common;
#[path = "../../../tests/src/footprint.rs"]
mod footprint;

use common::{Rover, drive, world, yard};
use footprint::footprint;
use selene_sim::World;

/// Maximum growth of memory in a thousand resets: 262 bytes for each.
const GROWTH_BYTES: usize = 256 << 10;

fn two_rovers_and_a_rock() -> World {
    let rovers = [
        Rover { name: "rear", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "aside", file: "viper", start: [0.0, 4.0, 90.0], waypoints_m: &[[0.0, 8.0]] },
    ];
    world(&yard("lunar", &rovers, "loose_rocks: [{ x_m: 1.0, y_m: 0.3, diameter_m: 0.15 }]"))
}

#[test]
fn a_reset_world_is_the_one_that_began() {
    let mut world = two_rovers_and_a_rock();
    let first = world.state().hash();
    let run = |world: &mut World| {
        drive(world, 20);
        world.state().hash()
    };
    let reset = |world: &mut World, times: usize| {
        for _ in 0..times {
            world.reset();
            assert_eq!(world.state().hash(), first);
            drive(world, 1);
        }
    };
    let after = run(&mut world);
    // Let threads and allocators first take the memory that they keep.
    reset(&mut world, 100);
    let before = footprint();
    reset(&mut world, 1000);
    let now = footprint();
    world.reset();
    assert_eq!(run(&mut world), after);
    assert_eq!(now.threads, before.threads);
    assert!(now.resident_bytes < before.resident_bytes + GROWTH_BYTES, "{before:?} became {now:?}");
}

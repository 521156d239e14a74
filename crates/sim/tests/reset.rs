//! A world that is reset is the one that began, as often as one likes, and leaves nothing behind. Alone
//! in its process, since it looks at the process's memory and threads (Linux).

// A test may unwrap.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Rover, drive, world, yard};
use selene_sim::World;

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
    let first = world.hash();
    let run = |world: &mut World| {
        drive(world, 20);
        world.hash()
    };
    let after = run(&mut world);
    let before = footprint();
    for _ in 0..1000 {
        world.reset();
        assert_eq!(world.hash(), first);
        drive(&mut world, 1);
    }
    world.reset();
    assert_eq!(run(&mut world), after);
    let now = footprint();
    assert_eq!(now.threads, before.threads);
    assert!(now.resident_bytes < before.resident_bytes + (8 << 20), "{before:?} became {now:?}");
}

#[derive(Debug)]
struct Footprint {
    threads: usize,
    resident_bytes: usize,
}

/// Of this process (Linux).
fn footprint() -> Footprint {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    Footprint { threads, resident_bytes: pages * 4096 }
}

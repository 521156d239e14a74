//! A world that is reset is the one that began, as often as one likes, and leaves nothing behind. Alone
//! in its process, since it looks at the process's memory and threads (Linux).

// A test may unwrap.
#![allow(clippy::unwrap_used)]

#[path = "sim/common/mod.rs"]
mod common;

use common::{Rover, drive, world, yard};
use selene_sim::World;

/// By how much memory may grow in a thousand resets: 262 bytes for each.
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
    let first = world.hash();
    let run = |world: &mut World| {
        drive(world, 20);
        world.hash()
    };
    let reset = |world: &mut World, times: usize| {
        for _ in 0..times {
            world.reset();
            assert_eq!(world.hash(), first);
            drive(world, 1);
        }
    };
    let after = run(&mut world);
    // Threads and allocators take what they keep.
    reset(&mut world, 100);
    let before = footprint();
    reset(&mut world, 1000);
    let now = footprint();
    world.reset();
    assert_eq!(run(&mut world), after);
    assert_eq!(now.threads, before.threads);
    assert!(now.resident_bytes < before.resident_bytes + GROWTH_BYTES, "{before:?} became {now:?}");
}

#[derive(Debug)]
struct Footprint {
    threads: usize,
    resident_bytes: usize,
}

/// Of this process (Linux). Pages are counted one by one: what `statm` tells lags behind by some for each core.
fn footprint() -> Footprint {
    let memory = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let resident = memory.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    let resident_kb: usize = resident.trim().trim_end_matches(" kB").parse().unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    Footprint { threads, resident_bytes: resident_kb << 10 }
}

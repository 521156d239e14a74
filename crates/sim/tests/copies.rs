//! Tests that a copy of a state shares its ground with the original: a copy takes little memory when it is made, little
//! more when the world is stepped, and is not changed by that. A test binary of its own, since it measures the memory
//! of the process (Linux).

// A test may unwrap.
#![allow(clippy::unwrap_used)]

#[path = "sim/common/mod.rs"]
mod common;

use std::sync::Arc;

use common::{Rover, drive, parsed, yard};
use selene_sim::{DrivenGround, Model, World};
use selene_soil::{KnownNode, NodeMemory};
use selene_terrain::{Edit, TileIndex};

const COPIES: usize = 20;
/// Maximum new memory of a copy, and of a copy with one heartbeat after it.
const COPY_BYTES: usize = 1 << 20;
/// Number of tiles that were driven on before, far from the rover: those of hundreds of metres of tracks.
const OLD_TILES: i16 = 200;
const NODES_OF_A_TILE: u16 = 64 * 64;

/// Ground that was driven on in all of the old tiles.
fn driven_before() -> DrivenGround {
    let mut driven = DrivenGround::default();
    for row in 0..OLD_TILES {
        let tile = TileIndex { row, column: 100 };
        let edits: Vec<_> = (0..NODES_OF_A_TILE).map(|node| Edit::new(tile, usize::from(node), -0.02)).collect();
        let memory = NodeMemory::new(0.0, 0.02, [7, -7]);
        let nodes: Vec<_> = (0..NODES_OF_A_TILE).map(|within| KnownNode { tile, within, memory }).collect();
        driven.ruts.apply(&edits);
        driven.soil.apply(&nodes);
    }
    driven
}

/// Resident memory of this process (Linux), counted page by page.
fn resident_bytes() -> usize {
    let memory = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let resident = memory.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
    resident.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
fn a_copy_of_a_driven_world_takes_less_than_a_megabyte_and_keeps_its_hash() {
    let viper = Rover { name: "viper", file: "viper", start: [0.0, 0.0, 0.0], waypoints_m: &[[6.0, 0.0]] };
    let text = yard("lunar", &[viper], "").replace("speed_m_s: 0.1", "speed_m_s: 0.2");
    let model = Arc::new(Model::new(Arc::new(parsed(&text).unwrap())).unwrap());
    let mut world = World::begin(model, Some(&driven_before())).unwrap();
    drive(&mut world, 1700);
    let id = world.model().rover_named("viper").unwrap();
    let way_m = world.state().rovers[&id].body.world_from_base.translation.x;
    assert!(way_m > 3.0, "{way_m} m driven");
    let ground_bytes = world.state().ruts.bytes() + world.state().soil.bytes();
    assert!(ground_bytes > 10 * COPY_BYTES, "{ground_bytes} bytes of ground are too few to show anything");

    let hash = world.state().hash();
    let before = resident_bytes();
    let copies = vec![world.state().clone(); COPIES];
    let copied = resident_bytes();
    let each = copied.saturating_sub(before) / COPIES;
    println!("{each} bytes a copy of {ground_bytes} bytes of ground");
    assert!(each < COPY_BYTES, "{each} bytes a copy");

    let mut left_behind = Vec::new();
    for _ in 0..COPIES {
        left_behind.push(world.state().clone());
        drive(&mut world, 1);
    }
    let each = resident_bytes().saturating_sub(copied) / COPIES;
    println!("{each} bytes a copy that the world went on from");
    assert!(each < COPY_BYTES, "{each} bytes a copy that the world went on from");
    assert!(world.state().hash() != hash, "the world went on");
    assert_eq!([copies[0].hash(), left_behind[0].hash()], [hash; 2]);
}

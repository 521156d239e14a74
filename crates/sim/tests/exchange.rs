//! One world in two processes, here two worlds that exchange what they did: what comes of it is what one
//! process makes of it, within what a heartbeat's delay does, and the same bytes every time.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Rover, world, yard};
use selene_sim::{EntityId, Part, Share, Snapshot, World};

/// Ground where both wrote: a rut of one over the other's may be pressed by a heartbeat's way less or more, m.
const GROUND_M: f64 = 2e-3;
/// Part of the driven nodes that may differ by more: their rims.
const RIM_SHARE: f64 = 0.01;
/// Where rovers are after seconds, m: nobody touches anybody.
const POSE_M: f64 = 2e-3;

/// Two rovers whose ways cross: the second comes over the first one's ruts.
fn crossing() -> String {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-0.9, 0.0, 0.0], waypoints_m: &[[3.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [0.2, -2.1, 90.0], waypoints_m: &[[0.2, 3.0]] },
    ];
    yard("lunar", &rovers, "")
}

fn share(world: &World, own: &[&str]) -> Share {
    let own: BTreeSet<EntityId> = own.iter().map(|name| world.model().rover_named(name).unwrap()).collect();
    let ghosts = world.state().rovers.keys().copied().filter(|id| !own.contains(id)).collect();
    Share { ghosts, leads: own.contains(&EntityId(1)) }
}

/// Steps both worlds and puts their parts together, the first's own first or last.
fn beat(worlds: &mut [World; 2], reversed: bool) -> [Snapshot; 2] {
    let snapshots = worlds.each_mut().map(|world| world.heartbeat().unwrap());
    let mut parts: Vec<Part> = worlds.iter().zip(&snapshots).map(|(world, snapshot)| world.part(snapshot)).collect();
    if reversed {
        parts.reverse();
    }
    let mut snapshots = snapshots.into_iter();
    worlds.each_mut().map(|world| world.merge(snapshots.next().unwrap(), &parts))
}

fn two(text: &str) -> [World; 2] {
    [["a"], ["b"]].map(|own| {
        let mut world = world(text);
        let share = share(&world, &own);
        world.set_share(Some(share));
        world
    })
}

fn ground(world: &World) -> BTreeMap<([i16; 2], u16), f32> {
    world.state().ruts.edits().map(|edit| ((edit.tile, edit.node), edit.height_m)).collect()
}

/// Long enough for the second to cross all of the first one's ruts.
const HEARTBEATS: usize = 2900;

#[test]
fn two_rovers_that_cross_in_two_processes_leave_the_ground_of_one() {
    let mut worlds = two(&crossing());
    let mut one = world(&crossing());
    for _ in 0..HEARTBEATS {
        let [a, b] = beat(&mut worlds, false);
        assert_eq!(a, b, "both tell the same");
        one.heartbeat().unwrap();
    }
    let [first, second] = &worlds;
    assert!(first.state().ruts == second.state().ruts && first.state().soil == second.state().soil);
    let (ours, theirs) = (ground(first), ground(&one));
    let crossed = ours.keys().filter(|at| theirs.contains_key(at)).count();
    assert!(crossed > 3000, "ruts lie there: {crossed} nodes");
    let only =
        ours.keys().filter(|at| !theirs.contains_key(at)).chain(theirs.keys().filter(|at| !ours.contains_key(at)));
    let off =
        |(at, height_m): (&([i16; 2], u16), &f32)| theirs.get(at).map(|other| f64::from((height_m - other).abs()));
    let far = ours.iter().filter_map(off).filter(|off_m| *off_m > GROUND_M).count() + only.count();
    println!("{far} of {} nodes differ by more than {GROUND_M} m", ours.len());
    assert!(far as f64 <= RIM_SHARE * ours.len() as f64, "{far} of {} nodes", ours.len());
    for (id, rover) in &one.state().rovers {
        let apart = rover.body.world_from_base.translation.vector
            - first.state().rovers[id].body.world_from_base.translation.vector;
        assert!(apart.norm() < POSE_M, "rover {id}: {apart}");
    }
}

#[test]
fn the_order_in_which_parts_come_changes_no_bit() {
    let [mut one, mut other] = [(); 2].map(|()| two(&crossing()));
    for _ in 0..1200 {
        assert_eq!(beat(&mut one, false), beat(&mut other, true));
    }
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.hash(), other.hash());
    }
}

#[test]
fn a_node_that_two_wrote_has_the_lower_height() {
    let mut worlds = two(&crossing());
    // Until the first one presses ground in a heartbeat.
    let (before, a, mut b) = loop {
        let before = worlds[0].state().clone();
        let snapshots = worlds.each_mut().map(|world| world.heartbeat().unwrap());
        let [a, b] = [0, 1].map(|i| worlds[i].part(&snapshots[i]));
        if before.sequence > 100 && !a.edits.is_empty() {
            break (before, a, b);
        }
        for (world, snapshot) in worlds.iter_mut().zip(snapshots) {
            let _ = world.merge(snapshot, &[a.clone(), b.clone()]);
        }
    };
    let edit = a.edits[0];
    let lower = selene_terrain::Edit { height_m: edit.height_m - 0.01, ..edit };
    b.edits.push(lower);
    for parts in [vec![a.clone(), b.clone()], vec![b, a.clone()]] {
        let mut world = world(&crossing());
        let share = share(&world, &["a"]);
        world.set_share(Some(share));
        world.set_state(before.clone());
        let snapshot = world.heartbeat().unwrap();
        let merged = world.merge(snapshot, &parts);
        let told = merged.edits.iter().find(|told| (told.tile, told.node) == (edit.tile, edit.node)).unwrap();
        assert_eq!(told.height_m, lower.height_m);
        assert_eq!(ground(&world)[&(edit.tile, edit.node)], lower.height_m);
    }
}

#[test]
fn a_rover_that_nobody_steps_any_more_stands_in_the_way() {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-2.2, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [0.0, 0.0, 180.0], waypoints_m: &[[-6.0, 0.0]] },
    ];
    let mut world = world(&yard("lunar", &rovers, ""));
    let share = share(&world, &["a"]);
    let lost = share.ghosts.clone();
    world.set_share(Some(share));
    world.halt(&lost);
    let at = |world: &World, id: u32| world.state().rovers[&EntityId(id)].body.world_from_base.translation.vector;
    let stood = at(&world, 2);
    for _ in 0..2500 {
        let snapshot = world.heartbeat().unwrap();
        let part = world.part(&snapshot);
        let _ = world.merge(snapshot, &[part]);
    }
    assert!((at(&world, 2) - stood).norm() < 1e-12, "it is an obstacle");
    let apart_m = (at(&world, 2) - at(&world, 1)).norm();
    // A drum before each.
    assert!((0.75..2.0).contains(&apart_m), "the other came up to it: {apart_m} m");
    let speed_m_s = world.state().rovers[&EntityId(1)].body.base_twist.linear.norm();
    assert!(speed_m_s < 0.05, "it was stopped: {speed_m_s} m/s");
}

//! Tests of one world in two processes, here two worlds that exchange their parts: the result is that of one
//! process, except for a heartbeat's delay, and the same bytes every time.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::{Rover, world, yard};
use nalgebra::Vector3;
use selene_sim::{EntityId, Model, Part, ProcessShare, Snapshot, State, World};
use selene_soil::{KnownNode, NodeMemory};
use selene_terrain::{Edit, TileIndex};

/// Tolerance without contact and without a node that two press in one heartbeat, so that nothing is late: rounding, m.
const ROUNDING_M: f64 = 1e-6;
/// Tolerance for positions of rovers that feel each other's motion one heartbeat late, m.
const LATE_M: f64 = 5e-3;
/// Long enough for the second of `crossing` to cross all of the first one's ruts.
const HEARTBEATS: usize = 1750;

/// Two rovers whose paths cross: the second drives over the ruts of the first once that has left.
fn crossing() -> String {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-0.9, 0.0, 0.0], waypoints_m: &[[6.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [0.2, -4.0, 90.0], waypoints_m: &[[0.2, 4.0]] },
    ];
    yard("lunar", &rovers, "").replace("speed_m_s: 0.1", "speed_m_s: 0.3")
}

/// Two rovers; the second drives into the side of the first.
fn meeting() -> String {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-0.9, 0.0, 0.0], waypoints_m: &[[3.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [0.2, -2.1, 90.0], waypoints_m: &[[0.2, 3.0]] },
    ];
    yard("lunar", &rovers, "")
}

fn share(world: &World, own: &[&str]) -> ProcessShare {
    let own: BTreeSet<EntityId> = own.iter().map(|name| world.model().rover_named(name).unwrap()).collect();
    let ghosts = world.state().rovers.keys().copied().filter(|id| !own.contains(id)).collect();
    ProcessShare { ghosts, standing: BTreeSet::new(), leads: own.contains(&EntityId(1)) }
}

/// A part as another process reads it.
fn sent(part: &Part) -> Part {
    let read = postcard::from_bytes(&postcard::to_allocvec(part).unwrap()).unwrap();
    assert_eq!(*part, read);
    read
}

/// Steps both worlds and merges in each its own part and that which the other sends, in this or the reversed order; returns
/// the merged snapshots and the parts.
fn beat(worlds: &mut [World; 2], reversed: bool) -> ([Snapshot; 2], [Part; 2]) {
    let snapshots = worlds.each_mut().map(|world| world.heartbeat().unwrap());
    let own = [0, 1].map(|i| worlds[i].part(&snapshots[i]));
    let mut parts = [[own[0].clone(), sent(&own[1])], [sent(&own[0]), own[1].clone()]];
    if reversed {
        parts.iter_mut().for_each(|parts| parts.reverse());
    }
    let mut given = snapshots.into_iter().zip(parts);
    let merged = worlds.each_mut().map(|world| {
        let (snapshot, parts) = given.next().unwrap();
        world.merge(snapshot, &parts)
    });
    (merged, own)
}

fn two(text: &str) -> [World; 2] {
    [["a"], ["b"]].map(|own| {
        let mut world = world(text);
        let share = share(&world, &own);
        world.set_share(Some(share));
        world
    })
}

/// A node: its tile, and its index in the tile.
type NodeAddress = (TileIndex, u16);

fn at(edit: &Edit) -> NodeAddress {
    (edit.tile_index(), edit.node)
}

fn ground(world: &World) -> BTreeMap<NodeAddress, f32> {
    world.state().ruts.edits().map(|edit| (at(&edit), edit.height_m)).collect()
}

fn apart_m(one: &World, other: &World) -> f64 {
    let place = |world: &World, id: &EntityId| world.state().rovers[id].body.world_from_base.translation.vector;
    one.state().rovers.keys().map(|id| (place(one, id) - place(other, id)).norm()).fold(0.0, f64::max)
}

#[test]
fn two_rovers_that_cross_in_two_processes_leave_the_ground_of_one() {
    let mut worlds = two(&crossing());
    let mut one = world(&crossing());
    let mut pressed: [BTreeSet<NodeAddress>; 2] = Default::default();
    for _ in 0..HEARTBEATS {
        let ([a, b], parts) = beat(&mut worlds, false);
        assert_eq!(a, b, "both have the same");
        for (pressed, part) in pressed.iter_mut().zip(&parts) {
            pressed.extend(part.edits.iter().map(at));
        }
        one.heartbeat().unwrap();
        assert!(one.state().contacts.is_empty(), "they touch at {}", one.time());
    }
    let [first, second] = &worlds;
    assert!(first.state().ruts == second.state().ruts && first.state().soil == second.state().soil);
    let (ours, theirs) = (ground(first), ground(&one));
    assert!(ours.keys().eq(theirs.keys()), "{} nodes, {} in one process", ours.len(), theirs.len());
    let off_m = |at: &NodeAddress| f64::from((ours[at] - theirs[at]).abs());
    let crossed: Vec<NodeAddress> = pressed[0].intersection(&pressed[1]).copied().collect();
    let [crossed_m, worst_m] =
        [crossed.iter().map(off_m).fold(0.0, f64::max), ours.keys().map(off_m).fold(0.0, f64::max)];
    println!("{} nodes were pressed by both: {crossed_m} m off; {worst_m} m of all {}", crossed.len(), ours.len());
    assert!(crossed.len() > 100, "both pressed {} nodes", crossed.len());
    assert!(crossed_m < ROUNDING_M && worst_m < ROUNDING_M, "{crossed_m} m where both were, {worst_m} m of all");
    assert!(apart_m(first, &one) < ROUNDING_M, "rovers are {} m apart", apart_m(first, &one));
}

#[test]
fn two_rovers_that_touch_in_two_processes_are_where_they_are_in_one() {
    let mut worlds = two(&meeting());
    let mut one = world(&meeting());
    let mut touching = 0;
    for _ in 0..1500 {
        let ([a, b], _) = beat(&mut worlds, false);
        assert_eq!(a, b, "both have the same");
        one.heartbeat().unwrap();
        touching += usize::from(!one.state().contacts.is_empty());
    }
    assert!(touching > 50, "they touch in {touching} heartbeats");
    println!("rovers that touched in {touching} heartbeats are {} m apart", apart_m(&worlds[0], &one));
    assert!(apart_m(&worlds[0], &one) < LATE_M, "{} m apart", apart_m(&worlds[0], &one));
}

#[test]
fn the_order_in_which_parts_come_changes_no_bit() {
    let [mut one, mut other] = [(); 2].map(|()| two(&crossing()));
    for _ in 0..HEARTBEATS {
        let (reported, reported_by_other) = (beat(&mut one, false).0, beat(&mut other, true).0);
        assert_eq!(reported, reported_by_other);
    }
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.state().hash(), other.state().hash());
    }
}

/// A heartbeat in which the first rover presses ground: the model, the first world's state before it and both parts.
fn pressing() -> (Arc<Model>, State, [Part; 2]) {
    let mut worlds = two(&crossing());
    loop {
        let before = worlds[0].state().clone();
        let (_, parts) = beat(&mut worlds, false);
        if before.sequence > 100 && !parts[0].edits.is_empty() {
            return (Arc::clone(worlds[0].model()), before, parts);
        }
    }
}

/// The first world after that heartbeat with these parts merged, and its snapshot.
fn merged(model: &Arc<Model>, before: &State, parts: &[Part]) -> (World, Snapshot) {
    let mut world = World::begin(Arc::clone(model), None).unwrap();
    let share = share(&world, &["a"]);
    world.set_share(Some(share));
    world.set_state(before.clone());
    let snapshot = world.heartbeat().unwrap();
    let reported = world.merge(snapshot, parts);
    (world, reported)
}

#[test]
fn a_node_that_two_wrote_has_the_lower_height() {
    let (model, before, [a, mut b]) = pressing();
    let edit = a.edits[0];
    // The other process pressed deeper, or less deep.
    for higher_m in [-0.01, 0.01] {
        let of_b = Edit { height_m: edit.height_m + higher_m, ..edit };
        let lower_m = edit.height_m.min(of_b.height_m);
        b.edits.push(of_b);
        for parts in [[a.clone(), b.clone()], [b.clone(), a.clone()]] {
            let (world, reported) = merged(&model, &before, &parts);
            let reported = reported.edits.iter().find(|reported| at(reported) == at(&edit)).unwrap();
            assert_eq!(reported.height_m, lower_m);
            assert_eq!(ground(&world)[&at(&edit)], lower_m);
        }
        b.edits.pop();
    }
}

#[test]
fn of_equal_heights_the_memory_of_least_bits_counts_whoever_comes_first() {
    let (model, before, [a, mut b]) = pressing();
    let known = |edit: &Edit| a.memory.nodes.iter().find(|known| (known.tile, known.within) == at(edit)).copied();
    let (edit, own) = a.edits.iter().find_map(|edit| Some((*edit, known(edit)?))).unwrap();
    let is_other = |known: &KnownNode| (known.tile, known.within) != at(&edit);
    b.memory.nodes.retain(is_other);
    let NodeMemory { initial_m, plastic_m, .. } = own.memory;
    let beside = |bits: u32| NodeMemory::new(f32::from_bits(bits), plastic_m, own.memory.mobilised_units());
    let [less, more] = [initial_m.to_bits() - 1, initial_m.to_bits() + 1].map(beside);
    assert!(less.bits() < own.memory.bits() && own.memory.bits() < more.bits());
    // The other process pressed the node to the same height, or only wrote its memory.
    for (of_b, b_pressed, expected) in [(less, true, less), (more, true, own.memory), (less, false, own.memory)] {
        let mut b = b.clone();
        b.memory.nodes.push(KnownNode { memory: of_b, ..own });
        b.edits.extend(b_pressed.then_some(edit));
        let hashes = [[a.clone(), b.clone()], [b, a.clone()]].map(|parts| {
            let (world, _) = merged(&model, &before, &parts);
            let known = world.state().soil.nodes().find(|known| !is_other(known)).unwrap();
            assert_eq!(known.memory, expected, "the other one pressed it: {b_pressed}");
            assert_eq!(ground(&world)[&at(&edit)], edit.height_m);
            world.state().hash()
        });
        assert_eq!(hashes[0], hashes[1], "the other one pressed it: {b_pressed}");
    }
}

#[test]
fn what_contacts_remember_is_known_to_the_process_that_steps_neither() {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-6.0, 0.0, 0.0], waypoints_m: &[[-3.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [0.2, -2.1, 90.0], waypoints_m: &[[0.2, 3.0]] },
    ];
    let mut worlds = two(&yard("lunar", &rovers, "loose_rocks:\n  - { x_m: 0.2, y_m: -1.0, diameter_m: 0.3 }"));
    let mut touching = 0;
    for _ in 0..900 {
        let _ = beat(&mut worlds, false);
        let [first, second] = &worlds;
        touching += usize::from(!second.state().contacts.is_empty());
        assert!(first.state().contacts == second.state().contacts, "at {}", first.time());
    }
    assert!(touching > 10, "b touches the rock in {touching} heartbeats");
    assert_eq!(worlds[0].state().hash(), worlds[1].state().hash(), "who comes late may take either's state");
}

/// The world of the process of rover a, after the processes of all other rovers were lost.
fn alone_after_a_loss(text: &str) -> World {
    let mut world = world(text);
    let share = share(&world, &["a"]);
    let lost = share.ghosts.clone();
    world.set_share(Some(ProcessShare { standing: lost.clone(), ..share }));
    world.halt(&lost);
    world
}

fn beat_alone(world: &mut World) {
    let snapshot = world.heartbeat().unwrap();
    let part = world.part(&snapshot);
    let _ = world.merge(snapshot, &[part]);
}

#[test]
fn a_rock_that_flies_into_a_rover_that_nobody_steps_comes_to_rest_before_it() {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-8.0, 3.0, 0.0], waypoints_m: &[] },
        Rover { name: "b", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[] },
    ];
    let rock = "loose_rocks:\n  - { x_m: 1.3, y_m: 0, diameter_m: 0.2 }";
    let mut world = alone_after_a_loss(&yard("lunar", &rovers, rock));
    let mut state = world.state().clone();
    let (id, rock) = state.rocks.iter_mut().next().map(|(id, rock)| (*id, rock)).unwrap();
    (rock.twist.linear, rock.still_s) = (Vector3::new(-1.0, 0.0, 0.6), 0.0);
    world.set_state(state);
    let rover = |world: &World| world.state().rovers[&EntityId(2)].clone();
    let (stood, mut touched) = (rover(&world), 0);
    for _ in 0..400 {
        beat_alone(&mut world);
        touched += usize::from(!world.state().contacts.is_empty());
    }
    assert!(touched > 0, "it flies and meets the rover");
    let rock = &world.state().rocks[&id];
    let [x_m, speed_m_s] = [rock.world_from_rock.translation.x, rock.twist.linear.norm()];
    assert!((0.2..1.3).contains(&x_m), "it is at {x_m} m, before the rover");
    assert!(speed_m_s < 0.05, "it lies: {speed_m_s} m/s");
    let stands = rover(&world);
    assert!(stands.body == stood.body && stands.floors == stood.floors, "nothing moves the rover");
}

#[test]
fn a_rover_that_nobody_steps_any_more_stands_in_the_way() {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-2.2, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [0.0, 0.0, 180.0], waypoints_m: &[[-6.0, 0.0]] },
    ];
    let mut world = alone_after_a_loss(&yard("lunar", &rovers, ""));
    let at = |world: &World, id: u32| world.state().rovers[&EntityId(id)].body.world_from_base.translation.vector;
    let stood = at(&world, 2);
    (0..2500).for_each(|_| beat_alone(&mut world));
    assert!((at(&world, 2) - stood).norm() < 1e-12, "it is an obstacle");
    let apart_m = (at(&world, 2) - at(&world, 1)).norm();
    // Each rover has a drum in front.
    assert!((0.75..2.0).contains(&apart_m), "the other came up to it: {apart_m} m");
    let speed_m_s = world.state().rovers[&EntityId(1)].body.base_twist.linear.norm();
    assert!(speed_m_s < 0.05, "it was stopped: {speed_m_s} m/s");
}

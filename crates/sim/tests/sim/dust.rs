//! Tests of the dust that wheels throw: its mass is conserved, it lands where its parabola meets the ground, and it is
//! part of the state like everything else.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeSet;

use common::{Rover, drive, world, yard};
use nalgebra::Vector3;
use selene_base::SimTime;
use selene_sim::{AllowedFolders, DustState, EntityId, ProcessShare, State, World};
use selene_soil::DustParcel;
use selene_terrain::{GroundPatch, TileIndex};

/// Two rovers that start to drive at once, far from one another.
fn two_rovers(soil: &str) -> String {
    let rovers = [
        Rover { name: "a", file: "rassor", start: [-4.0, 0.0, 0.0], waypoints_m: &[[6.0, 0.0]] },
        Rover { name: "b", file: "rassor", start: [4.0, 6.0, 90.0], waypoints_m: &[[4.0, 9.0]] },
    ];
    yard(soil, &rovers, "").replace("speed_m_s: 0.1", "speed_m_s: 0.3")
}

fn assert_mass_is_kept(world: &World) {
    let dust = &world.state().dust;
    assert_eq!(dust.flying_ug() + dust.all_settled_ug(), 0, "at {}", world.time());
}

#[test]
fn mass_only_changes_place_in_every_heartbeat() {
    let mut world = world(&two_rovers("lunar_dust"));
    let (mut thrown, mut most) = (0, 0);
    for _ in 0..150 {
        let snapshot = world.heartbeat().unwrap();
        assert_mass_is_kept(&world);
        assert_eq!(snapshot.dust, world.state().dust.parcels);
        thrown += snapshot.dust.iter().filter(|parcel| parcel.from == snapshot.time).count();
        most = most.max(snapshot.dust.len());
    }
    let gave = world.state().dust.settled_ug.len();
    assert!(thrown > 100 && most > 8 && most < thrown && gave >= 2, "{thrown} thrown, {most} at once, {gave} tiles");
}

#[test]
fn dust_lands_where_its_parabola_meets_the_ground() {
    /// Ground that was driven on after the throw is lower by at most a rut; the rounding of landing times is a
    /// nanosecond.
    const RUT_M: f64 = 0.03;
    let mut world = world(&two_rovers("lunar_dust"));
    drive(&mut world, 100);
    let (model, state) = (world.model(), world.state());
    assert!(!state.dust.parcels.is_empty());
    let mut exact = 0;
    for parcel in &state.dust.parcels {
        let at_m = parcel.place_at_m(parcel.until, model.scenario().gravity_m_s2);
        let ground = GroundPatch::of_square(model.terrain(), &state.ruts, [at_m.x, at_m.y], 0.1);
        let off_m = at_m.z - ground.height_m(at_m.x, at_m.y).unwrap();
        assert!((-1e-6..RUT_M).contains(&off_m), "{off_m} m above the ground");
        exact += usize::from(off_m < 1e-6);
    }
    assert!(4 * exact > state.dust.parcels.len(), "{exact} of {}", state.dust.parcels.len());
}

#[test]
fn soils_throw_none_by_default() {
    let mut world = world(&two_rovers("lunar"));
    drive(&mut world, 60);
    assert!(world.state().dust == Default::default());
}

#[test]
fn a_wheel_in_the_air_throws_none() {
    // They fall by 0.5 m in 0.79 s, with wheels that turn.
    let mut world = world(&two_rovers("lunar_dust").replace("yaw_deg", "z_m: 0.5, yaw_deg"));
    drive(&mut world, 70);
    assert!(world.state().dust == Default::default());
    drive(&mut world, 130);
    assert!(world.state().dust != Default::default());
}

#[test]
fn dust_moves_no_rover_and_no_ground() {
    let [mut with, mut without] = ["lunar_dust", "lunar"].map(|soil| world(&two_rovers(soil)));
    drive(&mut with, 60);
    drive(&mut without, 60);
    assert!(with.state().rovers == without.state().rovers && with.state().ruts == without.state().ruts);
}

#[test]
fn a_run_that_goes_on_from_a_state_throws_the_same_dust() {
    let mut first = world(&two_rovers("lunar_dust"));
    drive(&mut first, 60);
    assert!(!first.state().dust.parcels.is_empty());
    let mut second = world(&two_rovers("lunar_dust"));
    second.set_state(first.state().clone());
    drive(&mut first, 40);
    drive(&mut second, 40);
    assert_eq!(first.state().hash(), second.state().hash());
}

#[test]
fn any_number_of_threads_throws_the_same_dust() {
    let hash = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = world(&two_rovers("lunar_dust"));
            drive(&mut world, 60);
            world.state().hash()
        })
    };
    assert_eq!(hash(1), hash(3));
}

#[test]
fn a_reset_takes_the_dust_away() {
    let mut world = world(&two_rovers("lunar_dust"));
    drive(&mut world, 60);
    world.reset();
    assert!(world.state().dust == Default::default());
}

#[test]
fn a_state_whose_dust_cannot_be_is_refused() {
    let mut world = world(&two_rovers("lunar_dust"));
    drive(&mut world, 60);
    let resume = |state: State| World::resume(world.model(), state, &AllowedFolders::default()).map(drop);
    assert!(world.state().dust.parcels.len() > 1 && world.state().dust.settled_ug.len() > 1);
    assert!(resume(world.state().clone()).is_ok());
    let spoils: [fn(&mut DustState); 6] = [
        |dust| dust.parcels[0].place_m.x = f64::NAN,
        |dust| dust.parcels[0].deviation_m = 0.0,
        |dust| dust.parcels.reverse(),
        |dust| dust.settled_ug.reverse(),
        |dust| dust.settled_ug[0].1 += 1,
        |dust| {
            let flying = dust.parcels[0];
            let filled = std::iter::repeat_n(flying, 16_385);
            *dust = DustState { parcels: filled.collect(), settled_ug: Vec::new() };
            dust.settled_ug.push((TileIndex::default(), -dust.flying_ug()));
        },
    ];
    for (number, spoil) in spoils.into_iter().enumerate() {
        let mut state = world.state().clone();
        spoil(&mut state.dust);
        let reported = resume(state).unwrap_err().to_string();
        assert!(reported.contains("its dust cannot be"), "{number}: {reported}");
    }
}

/// One world in two processes, each with one of the two rovers.
fn in_two_processes() -> [World; 2] {
    [EntityId(1), EntityId(2)].map(|own| {
        let mut world = world(&two_rovers("lunar_dust"));
        let ghosts = world.state().rovers.keys().copied().filter(|id| *id != own).collect();
        world.set_share(Some(ProcessShare { ghosts, standing: BTreeSet::new(), leads: own == EntityId(1) }));
        world
    })
}

#[test]
fn processes_of_one_world_leave_out_the_same_where_there_is_no_room() {
    const ROOM: u32 = 1;
    let mut worlds = in_two_processes();
    let beat = |worlds: &mut [World; 2]| {
        let snapshots = worlds.each_mut().map(|world| world.heartbeat().unwrap());
        let parts = [0, 1].map(|i| worlds[i].part(&snapshots[i]));
        worlds.iter_mut().zip(snapshots).for_each(|(world, snapshot)| drop(world.merge(snapshot, &parts)));
        parts
    };
    (0..30).for_each(|_| drop(beat(&mut worlds)));
    for world in &mut worlds {
        let mut state = world.state().clone();
        let high = |number: u32| DustParcel {
            by: [99, number],
            from: state.time,
            until: state.time + SimTime::from_secs_f64(30.0),
            place_m: Vector3::zeros(),
            velocity_m_s: Vector3::z() * 24.3,
            mass_ug: 1,
            cross_section_m2: 1e-7,
            deviation_m: 0.02,
            spreading_m_s: 0.05,
        };
        let parcels: Vec<DustParcel> = (0..16_384 - ROOM).map(high).collect();
        let settled_ug = vec![(TileIndex::default(), -i64::from(16_384 - ROOM))];
        state.dust = DustState { parcels, settled_ug };
        world.set_state(state);
    }
    let parts = beat(&mut worlds);
    assert!(parts.iter().all(|part| !part.dust.is_empty()), "both throw");
    assert_eq!(worlds[0].state().dust.parcels.len(), 16_384);
    assert!(worlds[0].state().dust == worlds[1].state().dust);
    worlds.iter().for_each(assert_mass_is_kept);
}

#[test]
fn two_processes_have_the_dust_of_one() {
    const ROUNDING_M: f64 = 1e-6;
    let mut one = world(&two_rovers("lunar_dust"));
    let mut several = in_two_processes();
    for _ in 0..80 {
        let alone = one.heartbeat().unwrap();
        let snapshots = several.each_mut().map(|world| world.heartbeat().unwrap());
        let parts = [0, 1].map(|i| several[i].part(&snapshots[i]));
        for (world, snapshot) in several.iter_mut().zip(snapshots) {
            let reported = world.merge(snapshot, &parts);
            assert_eq!(reported.dust.len(), alone.dust.len(), "at {}", reported.time);
            for (parcel, alone) in reported.dust.iter().zip(&alone.dust) {
                let apart_m = (parcel.place_m - alone.place_m).norm();
                assert!(parcel.order() == alone.order() && apart_m < ROUNDING_M, "{parcel:?} and not {alone:?}");
            }
            assert_mass_is_kept(world);
        }
    }
    assert!(!one.state().dust.parcels.is_empty() && several[0].state().dust == several[1].state().dust);
}

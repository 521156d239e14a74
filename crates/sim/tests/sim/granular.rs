//! Tests of a rover on granular soil: the soil carries it, no mass is lost, and the state is complete.

// A test may unwrap.
#![allow(clippy::unwrap_used)]

use crate::common;
use crate::state::{is_leaf, kind_of, parts};

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Rover, drive, parsed, world, yard};
use selene_sim::{DustState, Entity, EntityId, Inputs, Model, Scratch, State, World};
use selene_soil::{DustParcel, SoilSolver, WindowState};

const ROVER: EntityId = EntityId(1);

pub(crate) fn window(name: &str, from_x_m: f64) -> String {
    let to_x_m = from_x_m + 0.9;
    format!("{{ name: {name}, from_m: [{from_x_m}, -0.3], to_m: [{to_x_m}, 0.3], depth_m: 0.12, spacing_m: 0.03 }}")
}

/// Sorato in the middle of the windows, driving ahead.
pub(crate) fn scenario(soil: &str, windows: &[String]) -> String {
    let rover = Rover { name: "rover", file: "sorato", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] };
    yard(soil, &[rover], &format!("granular: [{}]", windows.join(", ")))
}

fn in_a_pit() -> World {
    world(&scenario("lunar", &[window("pit", -0.36)]))
}

fn soil(state: &State) -> &WindowState {
    &state.granular[&0]
}

/// Tolerance between the rover's weight and the mean load over the second half: it still oscillates, and loads are
/// sampled only at heartbeats.
const LOAD_TOLERANCE: f64 = 0.2;

#[test]
fn a_rover_drives_on_points_that_carry_it_and_no_milligram_is_lost() {
    let mut world = in_a_pit();
    let total_mg = soil(world.state()).total_mg();
    let weight_n = world.scenario().rovers[0].model.mass_kg() * 1.62;
    let (mut loads_n, beats) = (0.0, 100);
    for beat in 0..beats {
        let snapshot = world.heartbeat().unwrap();
        let pit = soil(world.state());
        assert!(pit.is_flowing() && pit.points().len() > 1500);
        assert_eq!(pit.posts_mg() + pit.points_mg(), total_mg, "heartbeat {beat}");
        let rover = &snapshot.rovers[0];
        let up = rover.world_from_base().rotation;
        let load_n: f64 = rover.wheels.iter().map(|wheel| (up * wheel.force_n).z).sum();
        loads_n += if beat >= beats / 2 { load_n / f64::from(beats / 2) } else { 0.0 };
        let in_contact = rover.wheels.iter().filter(|wheel| wheel.in_contact).count();
        assert!(beat < beats / 2 || in_contact > 0, "heartbeat {beat}: it flies");
    }
    let at = world.state().rovers[&ROVER].body.world_from_base.translation;
    assert!((0.03..0.12).contains(&at.x) && at.y.abs() < 0.02, "after a second it is at {at}");
    assert!((loads_n / weight_n - 1.0).abs() < LOAD_TOLERANCE, "the soil bears {loads_n} N of {weight_n} N");
}

#[test]
fn a_loose_rock_lies_on_points_as_it_lay_on_the_ground() {
    let rest = format!("loose_rocks: [{{ x_m: 0.4, y_m: 0, diameter_m: 0.2 }}]\ngranular: [{}]", window("pit", -0.36));
    let rover = Rover { name: "rover", file: "sorato", start: [0.0, 0.0, 0.0], waypoints_m: &[] };
    let mut world = world(&yard("lunar", &[rover], &rest));
    let place = |world: &World| world.state().rocks.values().next().unwrap().world_from_rock.translation.vector;
    let before = place(&world);
    drive(&mut world, 60);
    let moved = place(&world) - before;
    assert!(soil(world.state()).is_flowing() && moved.norm() > 0.0, "the soil does not know of it");
    assert!(moved.norm() < 0.03, "it moved by {moved}");
}

#[test]
fn a_rock_that_sleeps_wakes_with_the_window_and_while_a_rover_is_in_it() {
    let rest = format!("loose_rocks: [{{ x_m: 0.4, y_m: 0, diameter_m: 0.2 }}]\ngranular: [{}]", window("pit", -0.36));
    let rover = Rover { name: "rover", file: "sorato", start: [0.0, 0.0, 0.0], waypoints_m: &[] };
    let world = world(&yard("lunar", &[rover], &rest));
    let (mut state, mut scratch) = (world.state().clone(), Scratch::default());
    for is_flowing in [false, true] {
        assert_eq!(soil(&state).is_flowing(), is_flowing);
        state.rocks.values_mut().for_each(|rock| rock.still_s = 60.0);
        world.model().step(&mut state, &Inputs::NONE, &mut scratch).unwrap();
        let still_s = state.rocks.values().next().unwrap().still_s;
        assert!(still_s < 0.1, "still for {still_s} s, the window flowing before: {is_flowing}");
    }
}

#[test]
fn a_world_whose_granular_soil_fails_is_the_one_before_the_step() {
    let [start, apart] = [[0.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
    let rovers = [
        Rover { name: "rover", file: "sorato", start, waypoints_m: &[[4.0, 0.0]] },
        Rover { name: "apart", file: "sorato", start: apart, waypoints_m: &[[4.0, 4.0]] },
    ];
    let mut world = world(&yard("lunar_dust", &rovers, &format!("granular: [{}]", window("pit", -0.36))));
    drive(&mut world, 3);
    let mut state = world.state().clone();
    let mut tree = serde_json::to_value(soil(&state)).unwrap();
    *tree.pointer_mut("/total_mg").unwrap() = (soil(&state).total_mg() + 1).into();
    state.granular.insert(0, serde_json::from_value(tree).unwrap());
    let before = state.clone();
    let failed = world.model().step(&mut state, &Inputs::NONE, &mut Scratch::default()).unwrap_err().to_string();
    assert!(failed.contains("mg of soil; it must have") && failed.contains(&format!("at {}", before.time)), "{failed}");
    assert!((state.time, state.sequence) == (before.time, before.sequence));
    assert!(state.ruts == before.ruts && state.soil == before.soil);
    assert!(state.dust == before.dust, "dust of a step that was not made");
    assert!(state.granular == before.granular && state.contacts == before.contacts);
    let is_same = |id: &EntityId| state.rovers[id].body == before.rovers[id].body;
    assert!(state.rovers.len() == 2 && state.rovers.keys().all(is_same), "one rover is ahead of the other");
}

#[test]
fn soil_that_nobody_is_in_sleeps_and_is_a_height_field_again() {
    let mut world = in_a_pit();
    drive(&mut world, 20);
    let total_mg = soil(world.state()).total_mg();
    assert!(soil(world.state()).is_flowing());
    world.remove(Entity::Rover(ROVER)).unwrap();
    for _ in 0..300 {
        drive(&mut world, 1);
        let pit = soil(world.state());
        assert_eq!(pit.posts_mg() + pit.points_mg(), total_mg);
        if !pit.is_flowing() {
            break;
        }
    }
    assert!(!soil(world.state()).is_flowing(), "it does not come to rest");
    assert_eq!(soil(world.state()).posts_mg(), total_mg);
    let hash = world.state().hash();
    world.reset();
    assert_ne!(world.state().hash(), hash);
    assert!(soil(world.state()).total_mg() == total_mg && !soil(world.state()).is_flowing());
}

#[test]
fn a_saved_state_goes_on_to_the_same_bytes_on_any_number_of_threads() {
    let mut world = in_a_pit();
    drive(&mut world, 15);
    let model = world.model().clone();
    let saved = postcard::to_allocvec(world.state()).unwrap();
    let after = |threads: usize| {
        let mut state: State = postcard::from_bytes(&saved).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for _ in 0..10 {
                model.step(&mut state, &Inputs::NONE, &mut Scratch::default()).unwrap();
            }
        });
        state.hash()
    };
    drive(&mut world, 10);
    assert_eq!([after(1), after(4)], [world.state().hash(); 2]);
}

/// RASSOR as soon as its drum is in the soil.
fn with_a_drum_in_the_soil() -> World {
    let mut world = world(&digging());
    for _ in 0..200 {
        if soil(world.state()).drums().next().is_some() {
            return world;
        }
        drive(&mut world, 1);
    }
    panic!("no drum gets into the soil");
}

/// Checks that the hash knows each part of a world's soil, and that no milligram can be lost or won. `has` are parts
/// that must be there.
fn check_parts(world: &World, has: &[String]) {
    let (state, hash) = (world.state(), world.state().hash());
    let tree = serde_json::to_value(soil(state)).unwrap();
    // One leaf of each kind: of all points, each field of one point.
    let leaves = parts(&tree, "").into_iter().filter(|(_, part)| is_leaf(part));
    let kinds: BTreeMap<String, String> = leaves.map(|(place, _)| (kind_of(&place), place)).collect();
    let is_there = |name: &String| kinds.keys().any(|kind| kind.starts_with(name));
    assert!(has.iter().all(is_there) && kinds.len() > 12, "{:?}", kinds.keys());
    for place in kinds.values() {
        let mut other = tree.clone();
        let leaf = other.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there"));
        *leaf = match (leaf.as_bool(), leaf.as_u64()) {
            (Some(is), _) => (!is).into(),
            (None, Some(whole)) => (whole + 1).into(),
            (None, None) => (leaf.as_f64().unwrap() + 0.5).into(),
        };
        let changed: WindowState = serde_json::from_value(other).unwrap();
        let balances = world.model().windows()[0].balance(&changed).is_ok();
        assert_eq!(balances, !place.contains("_mg"), "{place}");
        let mut another = state.clone();
        another.granular.insert(0, changed);
        assert_ne!(another.hash(), hash, "{place}");
        if !balances {
            let refused = World::resume(world.model(), another, &Default::default()).unwrap_err().to_string();
            assert!(refused.contains("soil was lost"), "{place}: {refused}");
        }
    }
}

#[test]
fn every_part_of_granular_soil_is_hashed_and_what_does_not_fit_is_refused() {
    let world = with_a_drum_in_the_soil();
    let of_point = ["position_m", "velocity_m_s", "affine_s", "stress_pa", "volume_ratio", "mass_mg", "id"];
    let of_point = of_point.map(|name| format!("/flowing/particles/Points/points/*/{name}"));
    let of_drum = ["number", "drum/radius_m", "pose/rotation", "pose/translation"];
    let of_drum = of_drum.map(|name| format!("/flowing/shells/left/*/{name}"));
    check_parts(&world, &[&of_point[..], &of_drum[..]].concat());
    let (state, hash) = (world.state(), world.state().hash());
    let of_another = State { granular: [(1, soil(state).clone())].into(), ..state.clone() };
    assert_ne!(of_another.hash(), hash, "the window's number");
    let gone = State { granular: Default::default(), ..state.clone() };
    assert!(World::resume(world.model(), gone, &Default::default()).is_err());
}

#[test]
fn every_part_of_single_grains_is_hashed() {
    let mut world = world(&on_gravel());
    drive(&mut world, 30);
    let of_grain = ["radius_m", "position_m", "velocity_m_s", "angular_velocity_rad_s"];
    let of_grain = of_grain.map(|name| format!("spheres/spheres/*/{name}"));
    let of_contact = ["sphere", "memory/shear_n", "memory/rolling_n_m", "memory/contact_radius_m"];
    let of_contact = of_contact.map(|name| format!("spheres/contacts/*/{name}"));
    let others = ["masses_mg/*", "bodies/*/number", "bodies/*/smaller_m"].map(str::to_owned);
    let names = [&of_grain[..], &of_contact[..], &others[..]].concat();
    let names: Vec<_> = names.iter().map(|name| format!("/flowing/particles/Grains/{name}")).collect();
    check_parts(&world, &names);
}

#[test]
fn windows_that_cannot_be_are_refused_before_anything_is_made() {
    let refused = |text: &str| Model::new(Arc::new(parsed(text).unwrap())).unwrap_err().to_string();
    let [pit, next, far] = [("pit", -0.36), ("next", 0.5), ("far", 2.0)].map(|(name, x_m)| window(name, x_m));
    let reported = refused(&scenario("lunar", &[pit.clone(), next]));
    assert!(
        reported.contains("test.yaml: line ") && reported.contains("granular[1]: windows 'pit' and 'next' meet"),
        "{reported}"
    );
    let reported = refused(&scenario("soft", std::slice::from_ref(&pit)));
    assert!(reported.contains("'pit': the soil there has no key `crm`"), "{reported}");
    let slow = far.replace("0.03 }", "0.03, exchange_s: 0.003 }");
    let reported = refused(&scenario("lunar", &[slow]));
    assert!(reported.contains("'far': heartbeat_s must be a whole number of its exchange_s"), "{reported}");
    let twice = parsed(&scenario("lunar", &[pit.clone(), window("pit", 3.0)]));
    assert!(twice.unwrap_err().to_string().contains("granular[1].name: two windows are named 'pit'"));
    let large = |name: &str, y_m: f64, depth_m: f64, spacing_m: f64| {
        let to_m = y_m + 0.95;
        format!(
            "{{ name: {name}, from_m: [-4, {y_m}], to_m: [4, {to_m}], depth_m: {depth_m}, spacing_m: {spacing_m} }}"
        )
    };
    let reported = parsed(&scenario("lunar", &[large("a", 0.0, 1.0, 0.005)])).unwrap_err().to_string();
    assert!(reported.contains("test.yaml") && reported.contains("points, 16000000 are allowed"), "{reported}");
    // Each window is small enough, but three of them are not, or not for the CPU.
    let three = |depth_m| [("a", -2.0), ("b", 0.0), ("c", 2.0)].map(|(name, y_m)| large(name, y_m, depth_m, 0.01));
    let reported = refused(&scenario("lunar", &three(1.0)));
    assert!(
        reported.contains("granular: windows have") && reported.contains("points together; 16000000 are allowed"),
        "{reported}"
    );
    let model = Model::new(Arc::new(parsed(&scenario("lunar", &three(0.2))).unwrap())).unwrap();
    let reported = World::begin(Arc::new(model), None).unwrap_err().to_string();
    assert!(reported.contains("4000000 are allowed on the CPU, 16000000 on a GPU (--soil-device gpu)"), "{reported}");
}

/// RASSOR drives ahead, its front drum over a window 1.3 m long: it lowers the arm and digs, raises it, stands
/// from 5.5 to 6.5 s and drives on.
fn digging() -> String {
    let rover = Rover { name: "rassor", file: "rassor", start: [0.0, 0.0, 0.0], waypoints_m: &[] };
    let window = "granular: [{ name: pit, from_m: [0.24, -0.36], to_m: [1.56, 0.36], depth_m: 0.15, spacing_m: 0.03 }]";
    let motions = "    motions:
      - { joints: [front_arm], at_s: [0, 1.2, 4, 5], angles_deg: [0, -18, -18, 10] }
      - { joints: [front_drum], at_s: [0, 0.2, 4.2, 4.4], rates_deg_s: [0, 115, 115, 0] }
      - joints: [front_left_drive, front_right_drive, rear_left_drive, rear_right_drive]
        at_s: [1.2, 1.4, 4, 4.2, 6.5, 7, 20]
        rates_deg_s: [0, 25, 25, 0, 0, 80, 80]
";
    format!("{}{motions}", yard("lunar", &[rover], window))
}

#[test]
fn rassor_digs_and_carries_and_may_not_leave_the_window_with_its_load() {
    let mut world = world(&digging());
    let total_mg = soil(world.state()).total_mg();
    let load_kg = |world: &World| {
        let pit = soil(world.state());
        let window = &world.model().windows()[0];
        let drums: Vec<_> = pit.drums().collect();
        window.loads_kg(pit, &mut SoilSolver::default(), &drums).unwrap().iter().sum::<f64>()
    };
    let mut loads_kg = Vec::new();
    for _ in 0..13 {
        drive(&mut world, 50);
        let pit = soil(world.state());
        assert_eq!(pit.posts_mg() + pit.points_mg(), total_mg);
        loads_kg.push(load_kg(&world));
    }
    // At 5.5 s it stands with its load, and keeps it except for points that still slide over a lip.
    assert!(loads_kg[10] > 0.5, "{loads_kg:?} kg");
    assert!(loads_kg[12] > 0.98 * loads_kg[11], "{loads_kg:?} kg");
    let left = (0..400).find_map(|_| world.heartbeat().err()).expect("it leaves the window").to_string();
    assert!(left.contains("drum 'front_drum_link' of rover 'rassor' leaves granular window 'pit' with"), "{left}");
    assert!(left.contains("kg of soil: make the window larger"), "{left}");
    assert_eq!(soil(world.state()).posts_mg() + soil(world.state()).points_mg(), total_mg);
}

/// A dozer with its front wheels and its blade in a window.
fn dozing(soil: &str) -> String {
    let rover = Rover { name: "dozer", file: "dozer", start: [-3.0, 0.0, 0.0], waypoints_m: &[] };
    let window = "granular: [{ name: yard, from_m: [-0.24, -1.6], to_m: [3, 1.6], depth_m: 0.24, spacing_m: 0.06 }]";
    let motions = "    motions:
      - joints: [front_left_drive, front_right_drive, rear_left_drive, rear_right_drive]
        at_s: [0.2, 0.6]
        rates_deg_s: [0, 120]
      - {joints: [blade_lift], at_s: [0, 1], angles_deg: [0, -6]}
";
    format!("{}{motions}", yard(soil, &[rover], window))
}

#[test]
fn a_blade_and_wheels_throw_dust_in_windows_that_is_the_same_for_any_number_of_threads() {
    let after = |threads: usize, soil: &str| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = world(&dozing(soil));
            drive(&mut world, 160);
            world
        })
    };
    let dusty = after(1, "lunar_dust");
    let DustState { parcels, .. } = &dusty.state().dust;
    let by = |thrower: u32| parcels.iter().filter(move |parcel| parcel.by[0] == thrower);
    let [of_wheels, of_blade] = [by(ROVER.0).count(), by(u32::MAX).count()];
    assert!(of_wheels > 3 && of_blade > 20, "{of_wheels} parcels of wheels, {of_blade} of soil ahead of the blade");
    for DustParcel { place_m: at_m, velocity_m_s, .. } in by(u32::MAX) {
        let is_in = (-0.24..3.0).contains(&at_m.x) && at_m.y.abs() < 1.6 && (-0.1..0.6).contains(&at_m.z);
        assert!(is_in && velocity_m_s.norm() < 2.0, "{at_m} {velocity_m_s}");
    }
    assert_eq!(dusty.state().dust.flying_ug() + dusty.state().dust.all_settled_ug(), 0);
    assert_eq!(after(3, "lunar_dust").state().hash(), dusty.state().hash());
    let clean = after(2, "lunar");
    assert!(clean.state().dust == DustState::default(), "without the key `dust` there is none");
    let (window, dust) = (soil(dusty.state()), &dusty.state().dust);
    let lost_mg = window.total_mg() - window.posts_mg() - window.points_mg();
    assert!(lost_mg > 0 && window.dust_ug() < 0, "{lost_mg} mg, {} µg", window.dust_ug());
    // Posts, points, dust in flight, and dust that landed elsewhere are what the window began with.
    let elsewhere_ug = dust.all_settled_ug() - window.dust_ug();
    assert_eq!(window.soil_ug() + dust.flying_ug() + elsewhere_ug, window.total_mg() as i64 * 1000);
}

#[test]
fn motions_that_no_joint_can_make_are_refused() {
    let refused = |from: &str, to: &str| parsed(&digging().replace(from, to)).unwrap_err().to_string();
    let reported = refused("[front_drum]", "[tail]");
    assert!(reported.contains("motions: ") && reported.contains("\"tail\""), "{reported}");
    let reported = refused("at_s: [0, 1.2, 4, 5]", "at_s: [0, 1.2, 4]");
    assert!(reported.contains("4 angles_deg and 0 rates_deg_s for 3 instants"), "{reported}");
    let reported = refused("at_s: [0, 1.2, 4, 5]", "at_s: [0, 4, 1.2, 5]");
    assert!(reported.contains(": line ") && reported.contains("motions: ") && reported.contains("1.2"), "{reported}");
    let reported = refused("rates_deg_s: [0, 115, 115, 0]", "angles_deg: [0, 115, 115, 0]");
    assert!(reported.contains("velocities"), "{reported}");
}

/// Sorato on a bed of single grains.
fn on_gravel() -> String {
    let rover = Rover { name: "rover", file: "sorato", start: [0.0, 0.0, 0.0], waypoints_m: &[[4.0, 0.0]] };
    let dem = "dem: { diameter_m: [0.016, 0.03] }";
    let bed =
        format!("{{ name: bed, from_m: [-0.36, -0.3], to_m: [0.54, 0.3], depth_m: 0.06, spacing_m: 0.03, {dem} }}");
    yard("gravel", &[rover], &format!("granular: [{bed}]"))
}

#[test]
fn a_rover_drives_on_single_grains_that_carry_it_and_keeps_its_state_in_copies() {
    let mut world = world(&on_gravel());
    let (total_mg, grains) = (soil(world.state()).total_mg(), soil(world.state()).grains().len());
    assert!(grains > 800 && !soil(world.state()).is_flowing(), "{grains} grains");
    let weight_n = world.scenario().rovers[0].model.mass_kg() * 1.62;
    let (mut loads_n, beats) = (0.0, 120);
    let mut half = None;
    for beat in 0..beats {
        let snapshot = world.heartbeat().unwrap();
        let bed = soil(world.state());
        assert!(bed.is_flowing() && bed.grains().len() == grains && bed.points_mg() == total_mg, "heartbeat {beat}");
        assert!(snapshot.loose_soil[0].points.len() > 300, "sensors see the grains");
        let rover = &snapshot.rovers[0];
        let up = rover.world_from_base().rotation;
        let load_n: f64 = rover.wheels.iter().map(|wheel| (up * wheel.force_n).z).sum();
        loads_n += if beat >= beats / 2 { load_n / f64::from(beats / 2) } else { 0.0 };
        if beat == beats / 2 {
            half = Some(world.state().clone());
        }
    }
    let at = world.state().rovers[&ROVER].body.world_from_base.translation;
    assert!((0.03..0.15).contains(&at.x) && at.y.abs() < 0.03, "after 1.2 s it is at {at}");
    assert!((loads_n / weight_n - 1.0).abs() < LOAD_TOLERANCE, "{loads_n} N of {weight_n} N");
    // A state that went through a file goes on as the world did.
    let (model, half) = (world.model(), half.unwrap());
    let bytes = postcard::to_stdvec(&half).unwrap();
    let mut read: State = postcard::from_bytes(&bytes).unwrap();
    let mut scratch = Scratch::default();
    for _ in beats / 2 + 1..beats {
        model.step(&mut read, &Inputs::NONE, &mut scratch).unwrap();
    }
    assert!(read.granular == world.state().granular, "the copy went another way");
}
